"""Every default of the program, once. A settings TOML overrides any of it; functions take the numbers they use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from biodyn.errors import SettingsError
from biodyn.library.faults import first_fault, found
from biodyn.library.load import beside, is_path, read_user_toml
from biodyn.model.from_library.user_tables import TableChoice


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


class SignalSettings(_Section):
    """Filtering and gap filling."""

    cutoff_hz: float = Field(
        6.0, ge=0, le=1000, description="low-pass cut-off of markers, Hz, at least 1; 0 switches the filter off"
    )
    force_cutoff_hz: float | None = Field(
        None,
        ge=0,
        le=1000,
        description="cut-off of the plate forces, Hz, at least 1; 0 = off; omitted = the same as the markers",
    )
    filter_order: Literal[2, 4, 6, 8] = Field(
        4, description="total order of the zero-lag (two-pass) Butterworth filter"
    )
    spline_gap_s: float = Field(0.1, ge=0, le=10, description="longest gap filled by a spline, s")
    rigid_gap_s: float = Field(0.5, ge=0, le=10, description="longest gap filled from the segment's other markers, s")

    @field_validator("cutoff_hz", "force_cutoff_hz")
    @classmethod
    def _off_or_walking(cls, hz: float | None) -> float | None:
        # the slowest walkers make a stride in 2 s, and a stride has several harmonics
        if hz is not None and 0.0 < hz < 1.0:
            raise ValueError(
                f"expected 0 (no filter) or a number from 1 to 1000, found {hz:g}: "
                "below 1 Hz the filter takes away the walk itself"
            )
        return hz


class ModelSettings(_Section):
    """Which body the markers are fitted to."""

    skeleton: str = Field(
        "auto", description="skeleton of the library, a TOML file, or auto: all that the markers determine"
    )
    marker_set: str = Field(
        "auto", description="marker set of the library, a TOML file, or auto: recognised from the labels"
    )
    anthropometry: str = Field(
        "de_leva_1996", description="table of segment masses, centres and radii of gyration, or a TOML file"
    )
    hip_centre: str = Field("harrington_2007", description="hip joint centre regression, or a TOML file with one")
    sex: Literal["male", "female", "mean"] | None = Field(
        None, description="row of the anthropometric table; omitted = the file's, else the mean of both"
    )
    foot_flat: bool = Field(True, description="the feet stand flat in the static trial")
    marker_diameter_mm: float = Field(14.0, gt=0, le=100, description="used where the file does not tell")


class InverseKinematicsSettings(_Section):
    """The least-squares fit of the skeleton to the markers."""

    tolerance: float = Field(
        1e-8, ge=1e-12, le=0.01, description="largest coordinate change of the last step, rad or m"
    )
    max_iterations: int = Field(60, ge=1, le=10_000, description="most iterations per frame")
    visibility_ramp_s: float = Field(
        0.15, ge=0, le=5, description="a marker's weight fades over this time beside a gap, s"
    )
    marker_weights: dict[str, Annotated[float, Field(ge=0, le=1e6)]] = Field(
        default_factory=dict, description="weights by marker label, over the set's"
    )


class ContactSettings(_Section):
    """When a plate is loaded and whose foot it is."""

    threshold_n: float = Field(20.0, gt=0, le=1000, description="vertical force that counts as contact, N")
    min_contact_s: float = Field(0.1, gt=0, le=10, description="shortest loading that is a foot contact, s")
    max_foot_distance_m: float = Field(
        0.05, gt=0, le=1, description="centre of pressure may lie this far outside the foot outline, m"
    )
    plate_margin_m: float = Field(
        0.0, ge=0, le=1, description="the foot outline must lie this far inside the plate's edge, m"
    )


class GaitSettings(_Section):
    """Events and cycles."""

    events: Literal["auto", "plate", "kinematic", "file"] = Field(
        "auto", description="source of the events; auto: plate, else kinematic, else file"
    )


class QualityLimits(_Section):
    """Limits of the checks; OpenSim checklist and Hicks et al. 2015, doi 10.1115/1.4029304."""

    marker_rms_m: float = Field(0.02, gt=0, description="marker error of the whole fit, RMS, m")
    marker_max_m: float = Field(
        0.04, gt=0, description="largest error of a marker, m; one that is farther off is excluded in those frames"
    )
    residual_force_fraction: float = Field(
        0.05, gt=0, description="residual force, RMS, share of the peak ground force"
    )
    residual_moment_fraction: float = Field(
        0.01, gt=0, description="residual moment, RMS, share of peak ground force x height of the centre of mass"
    )
    centre_of_mass_m: float = Field(
        # whole-body centres of mass from two published tables of segments differ by 0.3-1.2 cm in the same walk, and sound
        # walks show 0.2-2.2 cm: docs/validation.md
        0.02,
        ge=0,
        description="how far the body's centre of mass may lie from where the table puts it: widens the limit of the "
        "residual moment by this times body weight, m",
    )
    fitted_share: float = Field(
        0.9, gt=0, le=1, description="share of the frames over the plates that must have a pose and accelerations"
    )
    mass_mismatch_fraction: float = Field(
        0.03, gt=0, description="body mass vs. force plates in the measured motion, share of weight"
    )
    # Below what the sound recordings named in library/checks/checks.toml show by themselves, nothing can be told from nothing.
    plate_shift_m: float = Field(0.015, gt=0, description="a plate seems moved from here on, m")
    time_offset_s: float = Field(0.016, gt=0, description="markers and forces seem not synchronised from here on, s")
    marker_shift_m: float = Field(
        0.015, gt=0, description="a marker seems moved since the static trial from here on, m"
    )
    pressure_outside_m: float = Field(0.03, gt=0, description="centre of pressure outside the foot outline, m")
    baseline_n: float = Field(10.0, gt=0, description="vertical force of an unloaded plate, N")
    physiological_factor: float = Field(
        default=1.0,
        gt=0,
        description="multiple of the physiological limits (`variables.toml`); values beyond are not valid",
    )


class ReplaySettings(_Section):
    """Forward dynamics with the recorded torques (`biodyn replay`)."""

    windows_s: tuple[Annotated[float, Field(ge=0.001, le=60)], ...] = Field(
        (0.05, 0.1, 0.2, 0.3, 0.5), min_length=1, max_length=50, strict=False, description="lengths of windows, s"
    )
    start_every_s: float = Field(0.02, ge=0.001, le=60, description="a window starts this often, s")
    method: Literal["euler", "rk4", "solve_ivp"] = Field(
        "rk4", description="integrator: semi-implicit Euler, Runge-Kutta of fourth order, or adaptive"
    )
    step_s: float = Field(0.0025, ge=1e-5, le=0.1, description="longest step of an integrator with fixed steps, s")
    angle_deg: float = Field(1.0, gt=0, description="a replay within this angle and position counts as on the motion")
    position_m: float = Field(0.01, gt=0, description="distance of the pelvis that counts as on the motion, m")
    feedback_hz: float = Field(
        # an error of a standing foot doubles in 10-20 ms: a feedback below some 10 Hz cannot hold it
        20.0,
        gt=0,
        le=1000,
        description="bandwidth of the tracked replay's feedback, Hz",
    )
    rest_s: float = Field(0.5, ge=0.01, le=60, description="duration of the rest case, s")
    animation: bool = Field(True, description="draw the replay as an animation beside the recorded motion")


class UncertaintySettings(_Section):
    """Bands of the joint torques; the magnitudes of the errors are data, `library/uncertainty/magnitudes.toml`."""

    compute: bool = Field(True, description="compute the bands of the torques; roughly doubles the time per trial")
    magnitudes: str | None = Field(None, description="a TOML file laid out like the library's; omitted = the library's")
    scale: dict[
        Literal["marker_noise", "soft_tissue", "joint_centres", "inertias", "centre_of_pressure", "cutoff"],
        Annotated[float, Field(ge=0, le=100)],
    ] = Field(default_factory=dict, description="factors on the standard deviations by source; 0 leaves one out")

    @field_validator("magnitudes")
    @classmethod
    def _is_a_toml_file(cls, name: str | None) -> str | None:
        if name is not None and not is_path(name):
            raise ValueError(f"expected the path of a TOML file (*.toml), found {found(name)}")
        return name


class VariationSettings(_Section):
    """Levels of `biodyn run --vary`; hip centres and anthropometric tables are all those of the library."""

    cutoff_hz: tuple[Annotated[float, Field(ge=1, le=1000)], ...] = Field(
        (4.0, 5.0, 6.0, 8.0, 10.0, 15.0),
        max_length=50,
        strict=False,
        description="cut-offs of markers and forces alike, Hz",
    )
    marker_weight_powers: dict[str, Annotated[float, Field(ge=-5, le=5)]] = Field(
        default_factory=lambda: {"all equal": 0.0, "contrast squared": 2.0},
        description="name of a level and the power that every marker's weight is raised to",
    )


class OutputSettings(_Section):
    """What is written."""

    figures: bool = Field(True, description="write figures/*.png")
    report: bool = Field(True, description="write report.html")
    figure_dpi: int = Field(110, ge=40, le=600, description="resolution of the figures, dots an inch")


class Settings(_Section):
    """All settings of one trial; section names are the tables of a settings TOML."""

    signals: SignalSettings = SignalSettings()  # type: ignore[call-arg]
    model: ModelSettings = ModelSettings()  # type: ignore[call-arg]
    inverse_kinematics: InverseKinematicsSettings = InverseKinematicsSettings()  # type: ignore[call-arg]
    contacts: ContactSettings = ContactSettings()  # type: ignore[call-arg]
    gait: GaitSettings = GaitSettings()  # type: ignore[call-arg]
    limits: QualityLimits = QualityLimits()  # type: ignore[call-arg]
    uncertainty: UncertaintySettings = UncertaintySettings()  # type: ignore[call-arg]
    variation: VariationSettings = VariationSettings()  # type: ignore[call-arg]
    replay: ReplaySettings = ReplaySettings()  # type: ignore[call-arg]
    output: OutputSettings = OutputSettings()  # type: ignore[call-arg]

    @property
    def force_cutoff_hz(self) -> float:
        """Cut-off applied to the plate forces, Hz."""
        forces = self.signals.force_cutoff_hz
        return self.signals.cutoff_hz if forces is None else forces

    @property
    def tables(self) -> TableChoice:
        """The tables that are named, of the library or of the user's own."""
        model = self.model
        skeleton = "full_body" if model.skeleton == "auto" else model.skeleton
        magnitudes = self.uncertainty.magnitudes
        return TableChoice(skeleton, model.marker_set, model.anthropometry, model.hip_centre, magnitudes)


#: Entries that may name a user's own table: (section, entry).
TABLE_ENTRIES = (
    ("model", "skeleton"),
    ("model", "marker_set"),
    ("model", "anthropometry"),
    ("model", "hip_centre"),
    ("uncertainty", "magnitudes"),
)


def settings_from(source: Settings | dict[str, Any] | str | Path | None) -> Settings:
    """Return validated settings from nothing (all defaults), a dict, a TOML path or Settings.

    Tables named in a TOML file lie relative to it, those in a dict relative to the current folder.
    Raises SettingsError naming the offending entry.
    """
    if source is None:
        return Settings()
    if isinstance(source, Settings):
        return source
    origin = "the settings"
    if isinstance(source, (str, Path)):
        file = read_user_toml(source, "settings file", SettingsError, "Give --settings an existing TOML file.")
        origin = f"'{source}'"
        source = tables_beside(file.content, file.path)
    try:
        return Settings.model_validate(source)
    except ValidationError as error:
        raise invalid_entry(error, Settings, origin) from error


def tables_beside(content: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return the settings that stand in `file`, the paths of tables in them made absolute: they are relative to it."""
    return with_table_paths(content, lambda path: beside(path, file))


def with_table_paths(content: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return settings, checked or not, with every path of a user's own table changed."""
    settings = dict(content)
    for section, entry in TABLE_ENTRIES:
        table = settings.get(section)
        name = table.get(entry) if isinstance(table, Mapping) else None
        if isinstance(table, Mapping) and isinstance(name, str) and is_path(name):
            settings[section] = {**table, entry: change(name)}
    return settings


def invalid_entry(error: ValidationError, model: type[BaseModel], origin: str, below: str = "") -> SettingsError:
    """Return the error that names the first offending entry, and the nearest known ones for an unknown name.

    `origin` names the file, `below` the table of it that was validated, "" for the whole.
    """
    fault = first_fault(error, model)
    where = ".".join(filter(None, (below, fault.key)))
    return SettingsError(f"Entry '{where}' of {origin} is not valid: {fault.problem}.", fault.hint)
