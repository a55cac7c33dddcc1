"""Settings of the plate contacts: the section [contacts]."""

from __future__ import annotations

from typing import Literal

from biodyn.library.settings_section import Field, Section


class Correction(Section):
    """Base of the entries by which a user corrects the automatic decisions for one recording."""

    reason: str | None = Field(None, max_length=400, description="why")


class ContactOverride(Correction):
    """Entry that assigns one load of one plate to a foot, instead of the automatic decision."""

    plate: int = Field(ge=1, description="number of the plate in the file")
    from_s: float = Field(ge=0, strict=False, description="start of the load, or of the assigned part, s")
    until_s: float | None = Field(
        None, gt=0, strict=False, description="end of the assigned part, s; omitted = end of the load"
    )
    side: Literal["left", "right", "none"] = Field(description="foot that applied the load; none = no foot")


class ContactSettings(Section):
    """Contact threshold of the plates, and loads that the user assigns to a foot."""

    threshold_n: float = Field(20.0, gt=0, le=1000, description="vertical force that counts as contact, N")
    override: tuple[ContactOverride, ...] = Field(
        (),
        max_length=1000,
        strict=False,
        description="contacts set by the user: `{plate, from_s, side}`, `until_s` optional",
    )
