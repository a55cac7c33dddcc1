"""Settings of a trial: the sections of a settings TOML.

A processing stage defines its section in `settings.py` of its folder. The sections of the body model, measured poses,
limits, output and report are defined here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from biodyn.errors import SettingsError, printable_text
from biodyn.estimation.settings import EstimationSettings
from biodyn.library.settings_section import (
    Field,
    Section,
    ValidationError,
    field_validator,
    model_validator,
    settings_error,
)
from biodyn.library.subject_record import SubjectRecord
from biodyn.library.tables import entry_names, library_entry
from biodyn.library.toml_files import is_path, parse_setting_entry, read_user_toml, resolve_table_name, suggest_name
from biodyn.model.from_library.user_tables import TableChoice
from biodyn.processing.contacts.settings import ContactSettings
from biodyn.processing.gait.settings import GaitSettings
from biodyn.processing.kinematics.settings import InverseKinematicsSettings
from biodyn.processing.signals.settings import SignalSettings
from biodyn.uncertainty.settings import UncertaintySettings
from biodyn.variables.norms import norm_name_error


class ModelSettings(Section):
    """Settings of the body model that is fitted to the markers."""

    skeleton: str = Field(
        "auto", description="skeleton of the library, a TOML file, or auto: all that the markers determine"
    )
    osim: str | None = Field(
        None,
        description="an OpenSim model (.osim) of the subject instead of the skeleton, with the recording's marker names; "
        "the other settings used are contacts, gait, limits, uncertainty, replay, output and signals.cutoff_hz",
    )
    marker_set: str = Field(
        "auto", description="marker set of the library, a TOML file, or auto: recognised from the labels"
    )
    marker_names: dict[str, str] = Field(
        default_factory=dict,
        description="corrected labels of the recording, label in the file = correct label; two entries exchange two markers",
    )
    geometry: bool = Field(
        True, description="swapped labels are corrected and unlabelled markers labelled by the positions of the markers"
    )
    anthropometry: str = Field(
        "de_leva_dumas", description="table of segment masses, centres and radii of gyration, or a TOML file"
    )
    hip_centre: str = Field("harrington_2007", description="hip joint centre regression, or a TOML file with one")
    fit: Literal["session", "trial", "none"] = Field(
        "trial",
        description="recordings that correct joint centres, axes and marker positions of the static trial: all walks and "
        "functional trials of the subject on that day (session), the walk itself (trial), or none (none)",
    )
    stored_centres: bool = Field(
        False,
        description="use joint centres stored in the file of the static trial; if it has any, they are not corrected by the walk",
    )
    knee: Literal["hinge", "rotation"] = Field(
        "hinge",
        description="rotation: the shank also rotates about its long axis, with a weak prior at the static angle, so that "
        "pivoting is not attributed to the hip; hinge: flexion only, robust against soft tissue motion",
    )
    moment_axes: Literal["fitted", "three_points"] = Field(
        "fitted",
        description="axes of joint moments and forces: of the fitted segments, or of thighs and shanks from joint centre, distal "
        "marker and wand in each frame (three_points); torques, powers and angles do not depend on it",
    )
    foot_flat: bool = Field(True, description="the feet are flat on the floor in the static trial")
    marker_diameter_mm: float = Field(
        14.0, gt=0, le=100, description="diameter of the markers, if the file stores none"
    )


class PoseSettings(Section):
    """Settings for recordings with segment poses from markerless systems."""

    use: Literal["auto", "poses", "markers"] = Field(
        "auto",
        description="data used of a file with both: auto uses the markers if they match a marker set, else the poses",
    )


class QualityLimits(Section):
    """Limits of the checks (OpenSim checklist; Hicks et al. 2015, doi 10.1115/1.4029304)."""

    marker_rms_m: float = Field(0.02, gt=0, description="marker error of the whole fit, RMS, m")
    marker_max_m: float = Field(
        0.04, gt=0, description="largest error of a marker, m; frames of a marker beyond it are excluded"
    )
    physiological_factor: float = Field(
        1.0, gt=0, description="factor on the physiological limits (`variables.toml`); values beyond are not valid"
    )


class OutputSettings(Section):
    """Settings that select the files of a result and their format."""

    figures: bool = Field(True, description="write figures/*.png")
    report: bool = Field(True, description="write report.html")
    tables: Literal["auto", "csv", "packed"] = Field(
        "auto",
        description='"csv": text. "packed": tables, arrays and record in an eighth of the space, the default of studies; every '
        'command and `biodyn.load` read both. "auto": packed for a recording of more than a minute if pyarrow is installed',
    )

    def is_packed(self, duration_s: float, longest_text_s: float = 60.0) -> bool:
        """Return whether the result of a recording of this duration is written in compressed form."""
        if self.tables == "auto":
            return duration_s > longest_text_s and find_spec("pyarrow") is not None
        return self.tables == "packed"


class ReportSettings(Section):
    """Settings of the report: norms, axes and colours of the curves."""

    norms: str = Field(
        "auto",
        description="norms shown with the curves: auto (published norms that match age and speed), a name of norms of "
        "the library, "
        "a TOML file (biodyn norms build), or none",
    )

    axes: Literal["clinical", "auto"] = Field(
        "clinical",
        description="axes of the curves over the cycle: clinical = the same scale of a variable on every page, extended for "
        "larger values; auto = by the curves of the page",
    )
    colors: Literal["colour_blind_safe", "left_red_right_green"] = Field(
        "colour_blind_safe",
        description="colours of the sides: right blue and left vermilion, or left red and right green",
    )

    @field_validator("norms")
    @classmethod
    def _require_known_norms(cls, name: str) -> str:
        problem = norm_name_error(name)
        if problem:
            raise ValueError(printable_text(problem).rstrip("."))
        return name


class Settings(Section):
    """All settings of one trial; its fields are the tables of a settings TOML, and the name of a preset."""

    preset: str | None = Field(
        None,
        description="settings of another program, with lower priority than all other settings: a table of `library/presets/`",
    )
    signals: SignalSettings = SignalSettings()  # type: ignore[call-arg]
    model: ModelSettings = ModelSettings()  # type: ignore[call-arg]
    subject: SubjectRecord = SubjectRecord()  # type: ignore[call-arg]
    poses: PoseSettings = PoseSettings()  # type: ignore[call-arg]
    inverse_kinematics: InverseKinematicsSettings = InverseKinematicsSettings()  # type: ignore[call-arg]
    contacts: ContactSettings = ContactSettings()  # type: ignore[call-arg]
    gait: GaitSettings = GaitSettings()  # type: ignore[call-arg]
    estimation: EstimationSettings = EstimationSettings()  # type: ignore[call-arg]
    limits: QualityLimits = QualityLimits()  # type: ignore[call-arg]
    uncertainty: UncertaintySettings = UncertaintySettings()  # type: ignore[call-arg]
    output: OutputSettings = OutputSettings()  # type: ignore[call-arg]
    report: ReportSettings = ReportSettings()  # type: ignore[call-arg]

    @model_validator(mode="before")
    @classmethod
    def _merge_over_preset(cls, given: Any) -> Any:
        """Return the given entries merged over those of the preset that they name."""
        name = given.get("preset") if isinstance(given, Mapping) else None
        if name is None:
            return given
        if name not in entry_names("presets"):
            near = suggest_name(str(name), entry_names("presets"))
            raise ValueError(f"no preset '{printable_text(str(name))}' exists. {near}".rstrip("."))
        over = dict(given)
        for section, entries in library_entry("presets", name)["settings"].items():
            given_entries = given.get(section, {})
            if isinstance(given_entries, Section):
                given_entries = given_entries.model_dump(exclude_unset=True)
            over[section] = {**entries, **given_entries} if isinstance(given_entries, Mapping) else given_entries
        return over

    @property
    def force_cutoff_hz(self) -> float:
        """Return the cut-off frequency of the plate forces, Hz."""
        return self.signals.force_cutoff_of_settings

    @property
    def table_names(self) -> TableChoice:
        """Return the tables to which the settings refer, by name in the library or by path of a user's file."""
        model = self.model
        skeleton = "full_body" if model.skeleton == "auto" else model.skeleton
        magnitudes = self.uncertainty.magnitudes
        own_norms = self.report.norms if is_path(self.report.norms) else None
        return TableChoice(skeleton, model.marker_set, model.anthropometry, model.hip_centre, magnitudes, own_norms)


def without_corrections(settings: Settings) -> Settings:
    """Return the settings without corrections of one recording: markers, contacts, events and cycles."""
    sections: dict[str, dict[str, Any]] = {
        "model": {"marker_names": {}},
        "contacts": {"override": ()},
        "gait": {"override": (), "leave_out": ()},
    }
    return settings.model_copy(
        update={name: getattr(settings, name).model_copy(update=entries) for name, entries in sections.items()}
    )


#: Entries that may name a user's own table: (section, entry).
TABLE_ENTRIES = (
    ("model", "skeleton"),
    ("model", "marker_set"),
    ("model", "anthropometry"),
    ("model", "hip_centre"),
    ("uncertainty", "magnitudes"),
    ("report", "norms"),
)
#: These entries, and the entry that may name an OpenSim model.
PATH_ENTRIES = (*TABLE_ENTRIES, ("model", "osim"))


def settings_from(
    source: Settings | dict[str, Any] | str | Path | None, preset: str | None = None, entries: Sequence[str] = ()
) -> Settings:
    """Return validated settings from None (all defaults), a dict, a TOML path or Settings.

    `preset`: name of a table of `library/presets/`, which replaces the preset of the source; other entries of the source
    take precedence over the preset. `entries`: "section.key=value" with the highest precedence, later ones first. Table paths
    in a TOML file are relative to it; paths in a dict or an entry are relative to the current folder.
    Raises SettingsError naming the offending entry.
    """
    if isinstance(source, Settings):
        source = source if preset is None and not entries else source.model_dump(exclude_unset=True)
    if source is None:
        source = {}
    if isinstance(source, Settings):
        return source
    origin = "the settings"
    if isinstance(source, (str, Path)):
        file = read_user_toml(source, "settings file", SettingsError, "Give --settings an existing TOML file.")
        origin = f"'{source}'"
        source = resolve_table_paths(file.content, file.path)
    if preset is not None:
        source = {**source, "preset": preset}
    if entries:
        plain = {k: v.model_dump(exclude_unset=True) if isinstance(v, Section) else v for k, v in source.items()}
        source = merge_tables(plain, *parse_entries(entries))
    try:
        return Settings.model_validate(source)
    except ValidationError as error:
        raise settings_error(error, Settings, origin) from error


def with_subject_record(settings: Settings, stored: Mapping[str, Any], given: Mapping[str, Any]) -> Settings:
    """Merge subject records: given values (not None) take precedence over the settings, and these over stored values."""
    over = {name: value for name, value in given.items() if value is not None}
    if not stored and not over:
        return settings
    try:
        record = SubjectRecord.model_validate({**stored, **settings.subject.model_dump(exclude_unset=True), **over})
    except ValidationError as error:
        raise settings_error(error, SubjectRecord, "the subject record") from error
    return settings.model_copy(update={"subject": record})


def parse_entries(entries: Sequence[str]) -> tuple[dict[str, Any], ...]:
    """Return the tables that "section.key=value" entries define; raise SettingsError for an invalid entry."""
    return tuple(parse_setting_entry(entry, SettingsError) for entry in entries)


def merge_tables(*tables: Mapping[str, Any]) -> dict[str, Any]:
    """Merge tables entry by entry; later tables take precedence."""
    result: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            below = result.get(key)
            result[key] = (
                merge_tables(below, value) if isinstance(below, dict) and isinstance(value, Mapping) else value
            )
    return result


def resolve_table_paths(content: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return the settings of `file` with paths of tables made absolute; in the file they are relative to it."""
    return map_table_paths(content, lambda path: resolve_table_name(path, file))


def map_table_paths(content: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return settings, validated or not, with `change` applied to every path of a user's table."""
    settings = dict(content)
    for section, entry in PATH_ENTRIES:
        table = settings.get(section)
        name = table.get(entry) if isinstance(table, Mapping) else None
        if isinstance(table, Mapping) and isinstance(name, str) and is_path(name):
            settings[section] = {**table, entry: change(name)}
    return settings
