"""Subject record: data on the person and the recording, from `subject.toml` next to the recordings and the section [subject].

Every command uses this record to scale the body, to select norms, and for the head of reports. Entries in the settings replace
of subject.toml, which replace the data stored in the recordings.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from biodyn.conventions import SIDES
from biodyn.errors import SubjectError
from biodyn.library.entry_faults import first_fault
from biodyn.library.settings_section import BeforeValidator, Field, Section, ValidationError
from biodyn.library.toml_files import UserFile, read_user_toml

RECORD_NAME: Final = "subject.toml"


def _expand_to_sides(value: Any) -> Any:
    """Return a single number as a measure of both sides; other values are unchanged."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return dict.fromkeys(SIDES, value) if is_number else value


def _as_text(value: Any) -> Any:
    """Return a TOML date as text; other values are unchanged."""
    return value.isoformat() if isinstance(value, date) else value


_OneSide = Literal["r", "l"]
_BySide = BeforeValidator(_expand_to_sides)
_Line = Annotated[Annotated[str, Field(min_length=1, max_length=200)] | None, BeforeValidator(_as_text)]
_Date = Annotated[Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] | None, BeforeValidator(_as_text)]
_SIDE_WORDS: Final = {"r": "right", "l": "left"}


class SubjectRecord(Section):
    """Data on the subject and the recording, which replace those in the files. A single number of a measure is used for both
    sides."""

    name: _Line = Field(None, description="name or code; omitted = as in the file")
    age_years: float | None = Field(
        None,
        ge=0,
        le=120,
        description="age at the recording, for the selection of norms; omitted = from `birth_date`, else as in the file",
    )
    birth_date: _Date = Field(None, description="date of birth, YYYY-MM-DD; with `date` it determines the age")
    sex: Literal["male", "female"] | None = Field(
        None, description="row of the anthropometric table; omitted = as in the file, else the mean of both"
    )
    height_m: float | None = Field(
        None, gt=0, description="body height, m; omitted = as in the file, else estimated from the legs"
    )
    mass_kg: float | None = Field(
        None, gt=0, description="body mass, kg; omitted = as in the file, else measured on the plates"
    )
    diagnosis: _Line = Field(None, description="diagnosis, for the head of the report")
    side: Annotated[Literal["right", "left", "both"] | None, BeforeValidator(lambda v: _SIDE_WORDS.get(str(v), v))] = (
        Field(None, description="affected side")
    )
    orthosis: _Line = Field(None, description="orthoses, prostheses, walking aids, shoes; or `none`")
    date: _Line = Field(None, description="date of the recording, in the form YYYY-MM-DD if it determines the age")
    laboratory: _Line = Field(None, description="laboratory of the recording")
    session: _Line = Field(None, description="session or visit")
    condition: _Line = Field(None, description="condition of the recording, such as barefoot")
    question: _Line = Field(None, description="clinical question")
    knee_width_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=30, le=250)]], _BySide] = Field(
        default_factory=dict,
        description="distance between both epicondyles of the knee, mm; or by side, { r = 104, l = 106 }",
    )
    ankle_width_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=20, le=150)]], _BySide] = Field(
        default_factory=dict, description="distance between both malleoli, mm; or by side"
    )
    leg_length_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=250, le=1400)]], _BySide] = Field(
        default_factory=dict,
        description="distance from the anterior iliac spine to the medial malleolus, mm; or by side; used by some "
        "hip centres and for the dimensionless speed",
    )
    inter_asis_distance_mm: float | None = Field(
        None,
        ge=80,
        le=500,
        description="distance between both anterior iliac spines, mm; omitted = as in the file, else from the markers",
    )
    asis_trochanter_distance_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=10, le=200)]], _BySide] = Field(
        default_factory=dict,
        description="antero-posterior distance from the anterior iliac spine to the trochanter, mm; or by side; used by the "
        "hip centre davis_1991",
    )
    foot_width_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=30, le=200)]], _BySide] = Field(
        default_factory=dict, description="width of the foot at the metatarsal heads, mm; or by side"
    )
    elbow_width_mm: Annotated[dict[_OneSide, Annotated[float, Field(ge=20, le=200)]], _BySide] = Field(
        default_factory=dict, description="distance between both epicondyles of the elbow, mm; or by side"
    )

    @property
    def measures(self) -> dict[str, float]:
        """Return the given body measures, m, by name (`library/body/measures.toml`), e.g. knee_width_r, inter_asis_distance."""
        measures: dict[str, float] = {}
        for entry, value in self:
            name = entry.removesuffix("_mm")
            if isinstance(value, Mapping):
                measures |= {f"{name}_{side}": 1e-3 * width for side, width in value.items()}
            elif value is not None and name != entry:
                measures[name] = 1e-3 * value
        return measures

    @property
    def age(self) -> float | None:
        """Age at the recording, years, given or from the dates of birth and recording; None if unknown."""
        if self.age_years is not None or self.birth_date is None or self.date is None:
            return self.age_years
        try:
            days = (date.fromisoformat(self.date) - date.fromisoformat(self.birth_date)).days
        except ValueError:
            return None
        year_days = 365.25
        return days / year_days if days >= 0 else None


def subject_record_file(recording: Path) -> UserFile | None:
    """Return the subject.toml in the folder of a recording, or in the folder above it; None if absent.

    Raises SubjectError for a file that cannot be read, and for an unknown or invalid entry.
    """
    folder = recording.absolute().parent
    path = next((place / RECORD_NAME for place in (folder, folder.parent) if (place / RECORD_NAME).is_file()), None)
    if path is None:
        return None
    file = read_user_toml(path, "subject record", SubjectError)
    try:
        SubjectRecord.model_validate(file.content)
    except ValidationError as error:
        fault = first_fault(error, SubjectRecord, {})
        raise SubjectError(f"Entry '{fault.key}' of '{path}' is not valid: {fault.problem}.", fault.hint) from error
    return file
