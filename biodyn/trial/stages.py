"""The stages of an analysis: each stage contains the values of the previous stage and adds its own.

A step of `steps` takes a stage and returns the next one; stages are immutable. `next_stage` creates the next stage,
`dataclasses.replace` a stage with other values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, TypeVar

from biodyn.analysis import StaticFacts, SubjectFacts, TrialAnalysis
from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import SubjectError, printable_text
from biodyn.estimation.summary import EstimateSummary
from biodyn.model.body_model import SubjectModel
from biodyn.model.from_library.scaling import SubjectScaling
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.processing.calibration.standing_posture import CalibrationSource, StandingPosture
from biodyn.processing.calibration.subject_fit.fit_result import SubjectFit
from biodyn.processing.calibration.subject_measurements import MassEstimate, find_age, find_stored_height, leg_length
from biodyn.processing.contacts.foot_motion import GaitPoints
from biodyn.processing.contacts.ground_reaction import ContactDecisions
from biodyn.processing.contacts.plate_loads import LoadWithoutFoot
from biodyn.processing.dynamics.inverse_dynamics import Dynamics
from biodyn.processing.gait.activity import Activity
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.signals.signal_preparation import TrialSignals
from biodyn.processing.signals.world_frame import WorldFrame
from biodyn.recording import Contact, GaitEvent, GroundReaction, Recording
from biodyn.settings import Settings
from biodyn.trial.request import TrialRequest
from biodyn.trial.trial_files import TrialFiles
from biodyn.uncertainty.propagation_inputs import PoseErrors, TrialInputs
from biodyn.uncertainty.torque_bands import TorqueUncertainty


@dataclass(frozen=True)
class Calibration:
    """Data for scaling the skeleton.

    Attributes:
        source: kind of recording.
        standing: the standing subject, measured or assembled from the walk.
        joint_offsets_rad: known offsets of the wands from the planes of their joints, rad, by name.
        is_seen: whether the standing subject was recorded.
    """

    source: CalibrationSource
    standing: StandingPosture
    joint_offsets_rad: Mapping[str, float]
    is_seen: bool = True


class Body(Protocol):
    """Interface of the analysis steps that depend on the measurement: markers on a library skeleton, or segment poses."""

    @property
    def supports_joint_centre_fit(self) -> bool:
        """Return whether the joint centres of the static trial can be corrected by a fit to the walk."""

    @property
    def has_outliers(self) -> bool:
        """Return whether points far from the fitted skeleton are measurement errors."""

    def require_supported_settings(self, settings: Settings) -> None:
        """Raise SettingsError for settings that this body does not support."""

    def orient_recordings(self, trial: LoadedTrial) -> OrientedTrial:
        """Return the stage with both recordings rotated to World axes."""

    def label_markers(self, trial: OrientedTrial) -> LabelledTrial:
        """Return the stage with the role of each marker in the model."""

    def scale_model(self, trial: PreparedTrial) -> ScaledTrial:
        """Return the stage with the model scaled to the subject."""

    def landmark_roles(self, mapping: MarkerMapping) -> tuple[MarkerRole, ...]:
        """Return the roles of those markers that are on anatomical landmarks."""

    def pose_errors(self, trial: ScaledTrial) -> PoseErrors | None:
        """Return the errors of measured poses; None for measured markers."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LoadedTrial(TrialRequest):
    """First stage: the recordings of a trial as read.

    Attributes:
        walk, static: recordings in laboratory axes; from `OrientedTrial` on each in its own World axes. body: see `Body`.
    """

    files: TrialFiles
    walk: Recording
    static: Recording
    body: Body

    @property
    def rate_hz(self) -> float:
        """Return the frame rate of the markers, Hz."""
        return self.walk.markers.rate_hz


@dataclass(frozen=True, eq=False, kw_only=True)
class OrientedTrial(LoadedTrial):
    """Second stage: the recordings rotated to World. centres: stored joint centres of the static trial, if they are used."""

    world: WorldFrame
    centres: tuple[MarkerRole, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledTrial(OrientedTrial):
    """Third stage: the recordings, and the role of each marker in the model."""

    mapping: MarkerMapping


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedTrial(LabelledTrial):
    """Filtered markers and plates; later stages remove outliers and the offsets of the plates from `signals`."""

    signals: TrialSignals


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaledTrial(PreparedTrial):
    """Model scaled to the subject.

    Attributes:
        plates_mass: mass on the plates in the static trial. mass: body mass; None before `SolvedTrial` if only strides
            determine it.
        model_notes: findings about the model.
        subject_fit: changes of the model by the fit to the walk or its session; None without a fit.
    """

    calibrated: Calibration
    plates_mass: MassEstimate | None = None
    mass: MassEstimate | None
    scaling: SubjectScaling
    model: SubjectModel
    model_notes: tuple[Diagnostic, ...] = ()
    subject_fit: SubjectFit | None = None

    @property
    def mass_kg(self) -> float | None:
        """Return the body mass, kg; None if it is unknown at this stage."""
        return None if self.mass is None else self.mass.mass_kg

    @property
    def standing(self) -> StandingPosture:
        """Return the posture and marker positions of the standing subject."""
        return self.calibrated.standing


@dataclass(frozen=True, eq=False, kw_only=True)
class TrackedTrial(ScaledTrial):
    """Joint angles of the skeleton fitted to the markers. base_angles: (T, 3) tilt, list, rotation of the root, rad."""

    fit: Fit
    base_angles: FloatArray


@dataclass(frozen=True, eq=False, kw_only=True)
class TrialWithContacts(TrackedTrial):
    """Contacts of the feet, gait events, and ground reaction of each foot.

    Attributes:
        decided: contacts of the feet with the plates. other_loads: loads on the plates without a foot.
        kinematic_events: foot strikes and foot offs determined from the movement alone. event_notes: findings about the events.
    """

    points: GaitPoints
    decided: ContactDecisions
    other_loads: tuple[LoadWithoutFoot, ...]
    contacts: tuple[Contact, ...]
    activity: Activity
    kinematic_events: tuple[GaitEvent, ...]
    reaction: GroundReaction
    events: tuple[GaitEvent, ...] = ()
    event_notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class SolvedTrial(TrialWithContacts):
    """Joint torques and their uncertainty.

    Attributes:
        propagation: inputs of the uncertainty bands. uncertainty: the uncertainty bands.
        estimate: summary of the estimate of motion and forces; fit, model, dynamics and reaction are then its results.
    """

    dynamics: Dynamics
    propagation: TrialInputs
    estimate: EstimateSummary | None = None
    uncertainty: TorqueUncertainty | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class CheckedTrial(SolvedTrial):
    """Last stage: the complete analysis with the results of the checks and the verdict."""

    analysis: TrialAnalysis


_Stage = TypeVar("_Stage", bound=TrialRequest)


def next_stage(trial: TrialRequest, stage: type[_Stage], **values: Any) -> _Stage:
    """Return the next stage of a trial: all values of the stage before it, with `values` added."""
    names = {entry.name for entry in fields(stage)}
    return stage(**{**{name: value for name, value in vars(trial).items() if name in names}, **values})


def make_analysis(trial: SolvedTrial, timings: Mapping[str, float] | None = None) -> TrialAnalysis:
    """Return the analysis of a solved trial, with the seconds of its steps."""
    if isinstance(trial, CheckedTrial):
        return replace(trial.analysis, timings=timings or {})
    return TrialAnalysis(
        recording=trial.walk,
        static=_static_facts(trial),
        settings=trial.settings,
        subject=_subject_facts(trial),
        R_WL=trial.world.R_WL,
        world_reason=trial.world.reason,
        mapping=trial.mapping,
        gaps=trial.signals.gaps,
        plates=trial.signals.plates,
        diagnostics=trial.notes,
        timings=timings or {},
        **{name: getattr(trial, name) for name in _AS_THEY_ARE},
    )


# Values of a solved trial that have the same name in its analysis.
_AS_THEY_ARE = (
    *("model", "fit", "base_angles", "contacts", "reaction", "points", "dynamics", "events", "activity", "subject_fit"),
    *("propagation", "uncertainty", "estimate", "user_files", "plate_calibration"),
)


def _static_facts(trial: SolvedTrial) -> StaticFacts:
    recording = trial.static if trial.calibrated.is_seen else trial.walk
    return StaticFacts(
        path=recording.path,
        source=trial.calibrated.source,
        sha256=recording.sha256,
        reason=trial.files.why,
        first=trial.standing.first,
        last=trial.standing.last,
        movement_m=trial.standing.movement_m,
        points=trial.standing.points,
        plates_mass_kg=None if trial.plates_mass is None else trial.plates_mass.mass_kg,
    )


def _subject_facts(trial: SolvedTrial) -> SubjectFacts:
    walk, static, mass = trial.walk, trial.static, trial.mass
    if mass is None:
        raise SubjectError("The body mass is unknown.", "Give it with --mass.")
    given = trial.settings.subject
    height_source = "given by the user" if given.height_m is not None else find_stored_height((walk, static))[1]
    if given.sex:
        sex_source = "given by the user"
    elif walk.subject.sex or static.subject.sex:
        sex_source = "stored in the file"
    else:
        sex_source = "unknown: mean of both sexes"
    points = trial.standing.points
    roles = trial.body.landmark_roles(trial.mapping)
    landmarks = {role.landmark: points[role.label] for role in roles if role.label in points}
    age = find_age(given.age, (walk, static))
    leg = leg_length(given.measures, (walk, static), landmarks)
    name = given.name or walk.subject.name or static.subject.name or printable_text(walk.path.stem)
    model = trial.model
    return SubjectFacts(
        name, mass.mass_kg, mass.source, model.height_m, height_source, model.sex, sex_source, *age, *leg
    )
