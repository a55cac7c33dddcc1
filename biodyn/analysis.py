"""Everything one trial's analysis found, as plain values; tables, figures and the report are made from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Check, Diagnostic, Verdict
from biodyn.estimation.summary import EstimateSummary
from biodyn.library.load import UserFile
from biodyn.model.body_model import SubjectModel
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.calibration.standing import SOURCE_WORDS, CalibrationSource
from biodyn.processing.calibration.subject_fit.result import SubjectFit
from biodyn.processing.contacts.feet import GaitPoints
from biodyn.processing.contacts.loading import FootForces, forces_at_plate_rate
from biodyn.processing.dynamics.imported import ModelMotion
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.gait.activity import WALKING, Activity
from biodyn.processing.gait.cycle_values import CycleValues, cycle_values
from biodyn.processing.gait.cycles import GaitCycle, gait_cycles
from biodyn.processing.gait.spatiotemporal import StrideParameters, WalkedTrial, spatiotemporal
from biodyn.processing.kinematics.fit import Fit, PoseMisfit, pose_misfit
from biodyn.processing.signals.gaps import Gap
from biodyn.processing.signals.prepare import FILTERED, MethodChoice, select_method
from biodyn.recording import Contact, GaitEvent, GroundReaction, PlateCalibration, PlateWrench, Recording
from biodyn.settings import Settings
from biodyn.uncertainty.bands import TorqueUncertainty
from biodyn.uncertainty.inputs import TrialInputs
from biodyn.verification.consistency import Consistency


@dataclass(frozen=True)
class SubjectFacts:
    """Who walked, and where each number came from (plain words for the reader)."""

    name: str
    mass_kg: float
    mass_source: str
    height_m: float
    height_source: str
    sex: str
    sex_source: str
    age_years: float | None = None
    age_source: str = "not known"
    leg_length_m: float | None = None
    leg_length_source: str = "not known"


@dataclass(frozen=True)
class StaticFacts:
    """The static trial, or its substitute.

    Attributes:
        source: what it is: a static trial, or what had to do instead.
        path, sha256, reason: its file, and why it was taken.
        first, last: frames averaged (0-based, inclusive); movement_m: of the markers meanwhile.
        points: (3,) m by label, mean marker positions in the standing subject's own World axes.
        plates_mass_kg: what the plates carried meanwhile; None where the subject did not stand on them.
    """

    path: Path
    sha256: str
    reason: str
    first: int
    last: int
    movement_m: float
    points: Mapping[str, FloatArray] = field(default_factory=dict)
    plates_mass_kg: float | None = None
    source: CalibrationSource = "static trial"

    @property
    def sentence(self) -> str:
        """What the model was calibrated from, and why, in a sentence."""
        if self.source == "static trial":
            return f"{self.path.name} is used as the static trial: {self.reason}."
        if self.source == "model":
            return f"{self.path.name} is the body: {self.reason}."
        if self.source == "poses":
            return f"No static trial is needed: {self.reason[:1].lower()}{self.reason[1:]}."
        why = self.reason.rstrip(".")
        return f"No static trial is used ({why}): the model was calibrated from {SOURCE_WORDS[self.source]}."


@dataclass(frozen=True, eq=False)
class Imported:
    """What a trial on an imported model has besides.

    Attributes:
        motion: in the coordinates of the model. record: entries of run.json that only such a trial has, or has more of.
        model_file: the .osim file of the model as it was used. motion_file: .mot of its coordinates where they were estimated.
    """

    motion: ModelMotion
    record: Mapping[str, Any]
    model_file: bytes
    motion_file: bytes | None = None


@dataclass(eq=False, repr=False)
class SharedCycles:
    """The gait cycles that copies of an analysis share: those last computed, and what they were computed from."""

    inputs: tuple[object, ...] = ()
    cycles: tuple[CycleValues, ...] = ()

    def of(self, inputs: tuple[object, ...], compute: Callable[[], tuple[CycleValues, ...]]) -> tuple[CycleValues, ...]:
        """Return the cycles of these inputs, from the cache if they are unchanged."""
        if len(inputs) != len(self.inputs) or any(a is not b for a, b in zip(inputs, self.inputs, strict=True)):
            self.cycles, self.inputs = compute(), inputs
        return self.cycles


@dataclass(frozen=True, repr=False)
class TrialAnalysis:
    """The whole analysis of one walk.

    Attributes:
        recording: the walk in World (X forward, Y up, Z right).
        R_WL: (3, 3) constant rotation from the laboratory frame to World; world_reason says how it was found.
        mapping: recognised marker set.
        gaps: what was filled, how, and what was left.
        subject_fit: what the walk changed of the static trial's model; None where nothing was fitted.
        model: the scaled skeleton; fit: inverse kinematics; base_angles: (T, 3) tilt, list, rotation of the root, rad.
        plates: filtered plate wrenches at the marker rate, World.
        contacts: of feet on plates. reaction: wrenches on the feet.
        points: heels, toes, soles and pelvis of the fitted skeleton.
        dynamics: torques, joint loads, residual.
        events: gait events of both sides, sorted by time.
        activity: of the person; without steps, gait cycles do not exist.
        diagnostics: everything noticed on the way.
        timings: seconds a step.
        propagation: what the bands of the torques are computed from; uncertainty: the bands, None if switched off.
        estimate: summary of the estimate of motion and forces; None if the fitted motion is used.
        variations: the same walk analysed with other choices, where they were asked for.
        user_files: settings and tables of the user's own that were used, as they were read.
        plate_calibration: applied to the plates of the recording; None without one.
        consistency: the numerical consistency checks of every frame; data_checks: what the checks of the recording measured
            and found; verdict: of the trial, with the checks of its result. None where only torques were asked for
            (`checks.examine`, `checks.judge`).
        imported: what an imported model has of its own; None on biodyn's model.
        shared_cycles: what `cycles` takes from an analysis that differs in findings and verdict alone.
    """

    recording: Recording
    static: StaticFacts
    settings: Settings
    subject: SubjectFacts
    R_WL: FloatArray
    world_reason: str
    mapping: MarkerMapping
    gaps: tuple[Gap, ...]
    model: SubjectModel
    fit: Fit
    base_angles: FloatArray
    plates: tuple[PlateWrench, ...]
    contacts: tuple[Contact, ...]
    reaction: GroundReaction
    points: GaitPoints
    dynamics: Dynamics
    events: tuple[GaitEvent, ...]
    diagnostics: tuple[Diagnostic, ...]
    timings: Mapping[str, float]
    activity: Activity = WALKING
    subject_fit: SubjectFit | None = None
    propagation: TrialInputs | None = None
    uncertainty: TorqueUncertainty | None = None
    estimate: EstimateSummary | None = None
    variations: tuple[Variation, ...] = ()
    user_files: tuple[UserFile, ...] = ()
    plate_calibration: PlateCalibration | None = None
    consistency: Consistency | None = None
    data_checks: tuple[Check, ...] = ()
    verdict: Verdict | None = None
    imported: Imported | None = None
    shared_cycles: SharedCycles = field(default_factory=SharedCycles, compare=False)

    def __repr__(self) -> str:
        return (
            f"<analysis of '{self.recording.path.name}': {len(self.time_s)} frames, {len(self.model.markers)} markers, "
            f"{self.model.multibody.nv} degrees of freedom, {self.verdict.status if self.verdict else 'not judged'}>"
        )

    @property
    def time_s(self) -> FloatArray:
        """Time of each frame (T,) s, 0 at the file's first frame."""
        return self.recording.markers.time_s

    @property
    def method(self) -> MethodChoice:
        """What became of markers and forces, and why where the settings leave it to the trial."""
        if self.propagation is not None:
            return self.propagation.signals.method
        chosen = select_method(self.settings.signals, self.recording.on_poses)
        return FILTERED if chosen.reason and chosen.is_estimate and self.estimate is None else chosen

    @property
    def cutoff_hz(self) -> float:
        """Cut-off of the markers, Hz, 0 = none, from the settings or chosen automatically."""
        return self.settings.signals.markers_hz if self.propagation is None else self.propagation.cutoff_hz

    @property
    def force_cutoff_hz(self) -> float:
        """Cut-off of the plate forces, Hz, 0 = none."""
        if self.estimate is not None:
            return self.estimate.force_cutoff_hz
        return self.settings.force_cutoff_hz if self.propagation is None else self.propagation.force_cutoff_hz

    @property
    def has_forces(self) -> bool:
        """Whether ground forces were measured at all: always on biodyn's model, which needs them."""
        return self.imported is None or bool(self.plates) or bool(self.imported.record.get("loads"))

    @property
    def as_fitted(self) -> TrialAnalysis:
        """The analysis before motion and forces became one estimate: what a fault of the recording shows in."""
        if self.estimate is None:
            return self
        raw = self.estimate
        return replace(
            self,
            model=raw.raw_fit.model,
            fit=raw.raw_fit,
            dynamics=raw.raw_dynamics,
            reaction=raw.raw_reaction,
            estimate=None,
        )

    @cached_property
    def pose_misfit(self) -> PoseMisfit | None:
        """How far measured poses are from the skeleton; None where markers were measured."""
        if self.static.source != "poses" or self.propagation is None:
            return None
        return pose_misfit(self.fit, self.propagation.markers)

    @cached_property
    def plate_rate_forces(self) -> FootForces | None:
        """Ground reaction at the rate of the plates; None without a foot on a plate, or if a file assigns the forces to feet."""
        if self.propagation is None:
            return None
        signals = self.propagation.signals
        return forces_at_plate_rate(
            self.contacts,
            signals.raw_plates,
            self.reaction.as_measured,
            self.recording.markers.rate_hz,
            threshold_n=self.settings.contacts.threshold_n,
            order=signals.settings.filter_order,
        )

    @property
    def walked(self) -> WalkedTrial:
        """What the variables of the gait cycles are computed from."""
        return WalkedTrial(
            self.model,
            self.fit,
            self.base_angles,
            self.points,
            self.reaction,
            self.dynamics,
            self.subject.mass_kg,
            self.recording.markers.rate_hz,
            self.plate_rate_forces,
        )

    @cached_property
    def cycles(self) -> tuple[CycleValues, ...]:
        """Every variable over 0-100 % of each gait cycle, right cycles first; NaN where not valid."""
        factor = self.settings.limits.physiological_factor
        inputs = (
            *(self.model, self.fit, self.base_angles, self.points, self.reaction, self.dynamics, self.subject.mass_kg),
            *(self.recording, self.contacts, self.propagation, self.settings, self.events, self.activity),
        )
        return self.shared_cycles.of(inputs, lambda: cycle_values(self.walked, self.gait_events, factor))

    @cached_property
    def strides(self) -> tuple[tuple[GaitCycle, StrideParameters], ...]:
        """Every gait cycle, right ones first, with its spatio-temporal parameters."""
        cycles, points, rate_hz = gait_cycles(self.gait_events), self.points, self.recording.markers.rate_hz
        parameters, _ = spatiotemporal(
            cycles, points.heel, points.toe, points.pelvis, rate_hz, floor_velocity_W=points.floor_velocity
        )
        return tuple(zip(cycles, parameters, strict=True))

    @property
    def gait_events(self) -> tuple[GaitEvent, ...]:
        """Events that bound gait cycles; none without steps (a jump has a take-off and a landing, but not a cycle)."""
        return self.events if self.activity.steps else ()


@dataclass(frozen=True)
class Variation:
    """The walk analysed with one choice made otherwise: the factor, its level in words, and what came out."""

    factor: str
    level: str
    analysis: TrialAnalysis
