"""What a file says of the subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class SubjectParameters:
    """What the file itself says of the subject; None or a missing key where it is silent. SI units.

    `file`: name of the file beside it that says so, "" where it is the recording's own.

    Keys of `measures` (metres unless named otherwise) are the names of the measures of
    `library/body/measures.toml`, e.g. ``knee_width_r``, ``leg_length_l``, ``marker_diameter``.
    """

    name: str = ""
    mass_kg: float | None = None
    height_m: float | None = None
    sex: Literal["male", "female"] | None = None
    measures: Mapping[str, float] = field(default_factory=dict)
    file: str = ""
    age_years: float | None = None
