"""Parameters of the plate contacts: the section [contacts] of the settings."""

from __future__ import annotations

from biodyn.library.section import Field, Section


class ContactSettings(Section):
    """When a plate is loaded and whose foot it is."""

    threshold_n: float = Field(20.0, gt=0, le=1000, description="vertical force that counts as contact, N")
    min_contact_s: float = Field(0.1, gt=0, le=10, description="shortest loading that is a foot contact, s")
    max_foot_distance_m: float = Field(
        0.05, gt=0, le=1, description="centre of pressure may lie this far outside the foot outline, m"
    )
    plate_margin_m: float = Field(
        0.0, ge=0, le=1, description="the foot outline must lie this far inside the plate's edge, m"
    )
