"""The complete analysis of one trial as plain values, the input of tables, figures and the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Check, Diagnostic, Verdict
from biodyn.estimation.summary import EstimateSummary
from biodyn.library.toml_files import UserFile
from biodyn.model.body_model import SubjectModel
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.calibration.standing_posture import SOURCE_WORDS, CalibrationSource
from biodyn.processing.calibration.subject_fit.fit_result import SubjectFit
from biodyn.processing.contacts.foot_motion import GaitPoints
from biodyn.processing.contacts.plate_loads import FootForces, forces_at_plate_rate
from biodyn.processing.dynamics.inverse_dynamics import Dynamics
from biodyn.processing.dynamics.opensim_inverse_dynamics import ModelMotion
from biodyn.processing.gait.activity import WALKING, Activity
from biodyn.processing.gait.cycle_values import CycleValues, compute_cycle_values
from biodyn.processing.gait.cycles import GaitCycle, find_gait_cycles
from biodyn.processing.gait.spatiotemporal import StrideParameters, TrialMechanics, compute_spatiotemporal_parameters
from biodyn.processing.kinematics.skeleton_fit import Fit, PoseMisfit, compute_pose_misfit
from biodyn.processing.signals.emg import MuscleActivity, muscle_activity
from biodyn.processing.signals.gaps import Gap
from biodyn.processing.signals.signal_preparation import FILTERED, MethodChoice, select_method
from biodyn.recording import Contact, GaitEvent, GroundReaction, PlateCalibration, PlateWrench, Recording
from biodyn.settings import Settings
from biodyn.uncertainty.propagation_inputs import TrialInputs
from biodyn.uncertainty.torque_bands import TorqueUncertainty
from biodyn.verification.consistency import Consistency


@dataclass(frozen=True)
class SubjectFacts:
    """Data on the subject, and a text on the source of each number."""

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
        source: kind of recording, a static trial or its substitute.
        path, sha256, reason: its file, and the reason for its choice.
        first, last: averaged frames (0-based, inclusive); movement_m: marker movement during these frames.
        points: mean marker positions (3,) m by label, in World axes aligned with the standing subject.
        plates_mass_kg: mass measured by the plates; None if the subject did not stand on them.
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
        """Return a sentence on the recording from which the model was calibrated, and the reason."""
        if self.source == "static trial":
            return f"{self.path.name} is used as the static trial: {self.reason}."
        if self.source == "model":
            return f"The body model is {self.path.name}: {self.reason}."
        if self.source == "poses":
            return f"No static trial is needed: {self.reason[:1].lower()}{self.reason[1:]}."
        why = self.reason.rstrip(".")
        return f"No static trial is used ({why}): the model was calibrated from {SOURCE_WORDS[self.source]}."


@dataclass(frozen=True, eq=False)
class ImportedModelData:
    """Additional data of a trial on an imported model.

    Attributes:
        motion: motion in the coordinates of the model. record: additional entries of run.json.
        model_file: the .osim file of the model as used. motion_file: .mot file of its coordinates if they were estimated.
    """

    motion: ModelMotion
    record: Mapping[str, Any]
    model_file: bytes
    motion_file: bytes | None = None


class SharedCycles:
    """Cache of the last computed gait cycles and their inputs, shared by copies of an analysis."""

    def __init__(self) -> None:
        self.inputs: tuple[object, ...] = ()
        self.cycles: tuple[CycleValues, ...] = ()

    def get_or_compute(
        self, inputs: tuple[object, ...], compute: Callable[[], tuple[CycleValues, ...]]
    ) -> tuple[CycleValues, ...]:
        """Return the cycles for these inputs, from the cache if the inputs are unchanged."""
        if len(inputs) != len(self.inputs) or any(a is not b for a, b in zip(inputs, self.inputs, strict=True)):
            self.cycles, self.inputs = compute(), inputs
        return self.cycles


@dataclass(frozen=True, repr=False)
class TrialAnalysis:
    """The complete analysis of one walking trial.

    Attributes:
        recording: the walk in World (X forward, Y up, Z right).
        R_WL: (3, 3) constant rotation from the laboratory frame to World; world_reason: text on its determination.
        mapping: recognised marker set.
        gaps: filled gaps, methods of filling, and remaining gaps.
        subject_fit: changes of the static trial's model fitted to the walk; None without a fit.
        model: the scaled skeleton; fit: inverse kinematics; base_angles: (T, 3) tilt, list, rotation of the root, rad.
        plates: filtered plate wrenches at the marker rate, World.
        contacts: foot contacts on plates. reaction: wrenches on the feet.
        points: heels, toes, soles and pelvis of the fitted skeleton.
        dynamics: torques, joint loads, residual.
        events: gait events of both sides, sorted by time.
        activity: recognised activity; without steps no gait cycles exist.
        diagnostics: all findings.
        timings: duration of each step, s.
        propagation: sensitivities from which the torque bands are computed; uncertainty: the bands, None if disabled.
        estimate: summary of the estimate of motion and forces; None if the fitted motion is used.
        variations: analyses of the same walk with other settings, if requested.
        user_files: settings and tables of the user, as read.
        plate_calibration: calibration applied to the plates of the recording; None without one.
        consistency: numerical consistency checks of every frame; data_checks: results of the checks of the recording;
            verdict: verdict of the trial with the checks of its result. All are None if only torques were requested
            (`checks.verdict`).
        imported: additional data of an imported model; None for biodyn's model.
        contractions: largest EMG envelope (mV) in maximal contractions of the session, and its file, by label of the channel.
        shared_cycles: cache of `cycles`, shared with analyses that differ only in findings and verdict.
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
    imported: ImportedModelData | None = None
    contractions: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    shared_cycles: SharedCycles = field(default_factory=SharedCycles, compare=False)

    def __repr__(self) -> str:
        return (
            f"<analysis of '{self.recording.path.name}': {len(self.time_s)} frames, {len(self.model.markers)} markers, "
            f"{self.model.multibody.nv} degrees of freedom, {self.verdict.status if self.verdict else 'not judged'}>"
        )

    @property
    def time_s(self) -> FloatArray:
        """Return the time of each frame (T,) s, 0 at the file's first frame."""
        return self.recording.markers.time_s

    @property
    def method(self) -> MethodChoice:
        """Return the method of processing markers and forces, with the reason if it was chosen automatically."""
        if self.propagation is not None:
            return self.propagation.signals.method
        chosen = select_method(self.settings.signals, self.recording.uses_poses)
        return FILTERED if chosen.reason and chosen.is_estimate and self.estimate is None else chosen

    @property
    def cutoff_hz(self) -> float:
        """Return the cut-off frequency of the markers, Hz, set or chosen automatically; 0 = no filter."""
        return (
            self.settings.signals.marker_cutoff_of_settings if self.propagation is None else self.propagation.cutoff_hz
        )

    @property
    def force_cutoff_hz(self) -> float:
        """Return the cut-off frequency of the plate forces, Hz; 0 = no filter."""
        if self.estimate is not None:
            return self.estimate.force_cutoff_hz
        return self.settings.force_cutoff_hz if self.propagation is None else self.propagation.force_cutoff_hz

    @property
    def has_forces(self) -> bool:
        """Return whether ground forces were measured; always true for biodyn's model, which requires them."""
        return self.imported is None or bool(self.plates) or bool(self.imported.record.get("loads"))

    @property
    def before_estimate(self) -> TrialAnalysis:
        """Return the analysis before the joint estimate of motion and forces, in which faults of the recording are visible."""
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
        """Return the distances of measured poses from the skeleton; None if markers were measured."""
        if self.static.source != "poses" or self.propagation is None:
            return None
        return compute_pose_misfit(self.fit, self.propagation.markers)

    @cached_property
    def plate_rate_forces(self) -> FootForces | None:
        """Return the ground reaction at the plate sampling rate; None without a contact, or if a file assigns the forces to
        feet."""
        if self.propagation is None:
            return None
        signals = self.propagation.signals
        return forces_at_plate_rate(
            self.contacts,
            signals.raw_plates,
            self.reaction.full_bandwidth_reaction,
            self.recording.markers.rate_hz,
            threshold_n=self.settings.contacts.threshold_n,
            order=signals.settings.filter_order,
        )

    @property
    def gait_inputs(self) -> TrialMechanics:
        """Return the quantities from which the variables of the gait cycles are computed."""
        return TrialMechanics(
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
    def emg(self) -> tuple[MuscleActivity, ...]:
        """Return the EMG of each muscle in the analog channels of the recording; empty without such channels."""
        return () if self.recording.read_analog is None else muscle_activity(self.recording.analog)

    @cached_property
    def cycles(self) -> tuple[CycleValues, ...]:
        """Return all variables over 0-100 % of each gait cycle, right cycles first; NaN if not valid."""
        factor = self.settings.limits.physiological_factor
        inputs = (
            *(self.fit, self.model, self.base_angles, self.points, self.reaction, self.dynamics, self.subject.mass_kg),
            *(self.recording, self.contacts, self.propagation, self.settings, self.events, self.activity),
        )
        return self.shared_cycles.get_or_compute(
            inputs, lambda: compute_cycle_values(self.gait_inputs, self.gait_events, factor)
        )

    @cached_property
    def strides(self) -> tuple[tuple[GaitCycle, StrideParameters], ...]:
        """Return all gait cycles with their spatio-temporal parameters, right cycles first."""
        cycles, points, rate_hz = find_gait_cycles(self.gait_events), self.points, self.recording.markers.rate_hz
        parameters = compute_spatiotemporal_parameters(
            cycles, points.heel, points.toe, points.pelvis, rate_hz, floor_velocity_W=points.floor_velocity
        )
        return tuple(zip(cycles, parameters, strict=True))

    @property
    def gait_events(self) -> tuple[GaitEvent, ...]:
        """Return the events that bound gait cycles; empty without steps (a jump has a take-off and a landing, but no cycle)."""
        return self.events if self.activity.steps else ()


@dataclass(frozen=True)
class Variation:
    """Analysis of the walk with one factor changed: the factor, the name of its level, and the result."""

    factor: str
    level: str
    analysis: TrialAnalysis
