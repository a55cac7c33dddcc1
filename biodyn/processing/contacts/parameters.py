"""Parameters of the plate contacts: the section [contacts] of the settings."""

from __future__ import annotations

from typing import Literal

from biodyn.library.section import Field, Section


class ContactOverride(Section):
    """One load of one plate, decided by the user."""

    plate: int = Field(ge=1, description="number of the plate in the file")
    from_s: float = Field(ge=0, strict=False, description="when the load begins, or from where on it is meant, s")
    until_s: float | None = Field(None, gt=0, strict=False, description="where it ends; omitted = with the load, s")
    side: Literal["left", "right", "none"] = Field(description="whose foot it is; none = nobody's")


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
    balance_fraction: float = Field(
        0.1,
        ge=0,
        le=1,
        description="plates that carry what the motion of the whole body needs within this share of body weight support a "
        "contact over the plate's edge; 0 = the balance of forces is not asked",
    )
    override: tuple[ContactOverride, ...] = Field(
        (),
        max_length=1000,
        strict=False,
        description="contacts set by the user: `{plate, from_s, side}`, `until_s` optional",
    )
