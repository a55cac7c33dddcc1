"""Quantities of a trial shared by several checks, each computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.estimators import residual as base_residual
from biodyn.checks.estimators.causes import Cause, Disagreement, find_causes, wrench_change_by_delay
from biodyn.checks.estimators.plate_evidence import (
    PlateEvidence,
    centre_of_mass,
    collect_evidence,
    largest_effect,
    required_wrench,
)
from biodyn.checks.estimators.plate_faults import find_swapped_plates
from biodyn.checks.estimators.plate_height import FootMarkers, floor_tilt, report_tilted_markers
from biodyn.checks.estimators.plate_signals import BASELINE_N, find_silent_channels, find_unloaded_forces
from biodyn.checks.estimators.residual import ResidualLimits, unobserved_segments_wrench_sd
from biodyn.checks.estimators.signals import find_long_gaps
from biodyn.checks.estimators.synchronisation import TIME_OFFSET_S, TimeOffset, estimate_offset, report_time_offset
from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.rotations import matrices_from_axis_angle
from biodyn.library.toml_files import load_table
from biodyn.processing.contacts.plate_loads import LoadWithoutFoot, loads_without_foot
from biodyn.processing.gait.events import plate_events
from biodyn.processing.gait.kinematic_events import kinematic_events
from biodyn.processing.signals.gaps import Gap, distance_from_median
from biodyn.processing.signals.signal_preparation import plate_channel_contributions
from biodyn.recording import Markers, is_person_visible
from biodyn.settings import QualityLimits, Settings
from biodyn.uncertainty.propagation_inputs import load_magnitudes, stride_time

#: Text of the marker checks for imported motion.
NO_MARKERS = "Not applicable, because the motion was given as coordinates without markers."


@dataclass(frozen=True)
class TrialFacts:
    """Analysis of a trial and derived quantities."""

    analysis: TrialAnalysis

    @property
    def settings(self) -> Settings:
        """Settings of the analysis."""
        return self.analysis.settings

    @property
    def limits(self) -> QualityLimits:
        """Section [limits] of the settings."""
        return self.analysis.settings.limits

    @property
    def markers(self) -> Markers:
        """Recorded markers in World."""
        return self.analysis.recording.markers

    @property
    def rate_hz(self) -> float:
        """Marker rate, Hz."""
        return self.markers.rate_hz

    @property
    def has_markers(self) -> bool:
        """Whether markers or poses were recorded (False for imported coordinates)."""
        return self.analysis.imported is None or bool(self.analysis.fit.labels)

    @property
    def weight_n(self) -> float:
        """Body weight (N) for the mass used."""
        return self.analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2

    @cached_property
    def bodies(self) -> Mapping[str, str]:
        """Segment of every marker, by label."""
        bodies = {marker.label: marker.body for marker in self.analysis.model.markers}
        return bodies | {role.label: role.body for role in self.analysis.mapping.roles if role.label not in bodies}

    @cached_property
    def parents(self) -> Mapping[str, str]:
        """Parent of every segment."""
        return {body.definition.name: body.definition.parent for body in self.analysis.model.bodies}

    @cached_property
    def landmarks(self) -> Mapping[str, str]:
        """Marker label of every measured landmark."""
        return {role.landmark: role.label for role in self.analysis.mapping.roles if role.landmark}

    @cached_property
    def gap_labels(self) -> tuple[str, ...]:
        """Labels for the marker numbers in `analysis.gaps`."""
        mapping = self.analysis.mapping
        return tuple(label for label in self.markers.labels if mapping.role(label) or label in mapping.unknown)

    @cached_property
    def marker_jumps(self) -> FloatArray:
        """Distance (T, M) m of every recorded marker from the median of neighbouring frames, computed in the signals step."""
        known = self.analysis.propagation
        jump_m = None if known is None else known.signals.jump_m
        return distance_from_median(self.markers) if jump_m is None else jump_m

    @cached_property
    def foot_markers(self) -> Mapping[Side, FootMarkers]:
        """Markers of each foot, by side."""
        feet: dict[Side, FootMarkers] = {}
        ankle = load_table("checks/checks")["plate_height"]["ankle"]
        for side in SIDES:
            sole = self.analysis.model.sole_body.get(side)
            if sole is None:
                continue
            bodies = {sole, *(body for body, parent in self.parents.items() if parent == sole)}
            labels = tuple(label for label, body in self.bodies.items() if body in bodies)
            feet[side] = labels, self.landmarks.get(f"{ankle}_{side}", "")
        return feet

    # -- frames and gaps --------------------------------------------------------------------------------------------

    @cached_property
    def measured_span(self) -> tuple[int, int] | None:
        """First and last frame with measured ground contact; None if none exists."""
        reaction = self.analysis.reaction
        rows = np.flatnonzero(
            np.any([reaction.measured[side] & reaction.on_floor[side] for side in reaction.measured], axis=0)
        )
        return (int(rows[0]), int(rows[-1])) if len(rows) else None

    @cached_property
    def long_gaps(self) -> list[Gap]:
        """Gaps during measured contacts that are too long to be bridged by other markers.

        Labels without data are ignored.
        """
        limit_s, end = self.settings.signals.rigid_gap_s, len(self.markers.time_s) - 1
        gaps = [gap for gap in self.analysis.gaps if gap.first > 0 or gap.last < end]
        return find_long_gaps(gaps, self.rate_hz, limit_s, self.measured_span, self.frames_without_person)

    @cached_property
    def frames_without_person(self) -> BoolArray:
        """Frames (T,) without a person: most markers are missing at once, and no plate is loaded."""
        markers, mapping = self.markers, self.analysis.mapping
        is_body_marker = [mapping.role(label) is not None for label in markers.labels]
        absent = ~is_person_visible(np.isfinite(markers.positions[:, is_body_marker, 0]))
        for contact in self.analysis.contacts:
            first, last = (round(time_s * self.rate_hz) for time_s in (contact.start_s, contact.end_s))
            absent[max(first, 0) : last + 1] = False
        return absent

    # -- plates -----------------------------------------------------------------------------------------------------

    @cached_property
    def evidence(self) -> PlateEvidence | None:
        """Data for comparing the body with the plates; None without plates."""
        return collect_trial_evidence(self.analysis) if self.analysis.plates else None

    @cached_property
    def offset_findings(self) -> tuple[Diagnostic, ...]:
        """Findings about offsets of unloaded plates, both removed and remaining."""
        soles = self.analysis.points.sole
        return find_unloaded_forces(self.analysis.plates, soles, self.rate_hz, self.weight_n, BASELINE_N)

    @cached_property
    def other_loads(self) -> tuple[LoadWithoutFoot, ...]:
        """Plate loads applied while no foot was near the plate; they are not part of the balance of body and plates."""
        analysis = self.analysis
        return loads_without_foot(analysis.contacts, analysis.plates, self.rate_hz, analysis.subject.mass_kg)

    @cached_property
    def swapped_plates_findings(self) -> tuple[Diagnostic, ...]:
        """Findings about pairs of plates with exchanged channels."""
        return () if self.evidence is None else find_swapped_plates(self.evidence)

    @cached_property
    def disagreement(self) -> Disagreement | None:
        """Differences between motion, feet and plates, from which the causes are estimated; None without plates."""
        return None if self.evidence is None else Disagreement(self.evidence)

    @cached_property
    def causes(self) -> tuple[tuple[Cause, ...], ...]:
        """Causes of the disagreement between motion, feet and plates: see `find_causes`."""
        return () if self.disagreement is None else find_causes(self.disagreement, self.channel_wrenches)

    @cached_property
    def channel_shares(self) -> Mapping[int, FloatArray]:
        """Contribution (C, T, 6) of each channel to the wrench of its plate, by index of plates with steps; empty if unknown."""
        inputs, plates = self.analysis.propagation, self.analysis.recording.plates
        if self.evidence is None or inputs is None or len(inputs.signals.plates) != len(plates):
            return {}
        used = {step.plate for step in self.evidence.steps}
        return {n: plate_channel_contributions(inputs.signals, plates[n]) for n in used}

    def channel_wrenches(self, number: int) -> Mapping[str, FloatArray]:
        """Return the contribution (T, 6) of each channel to the wrench of a plate (index), by label; empty if unknown."""
        if not self.channel_shares:
            return {}
        labels, shares = self.analysis.recording.plates[number].channel_labels, self.channel_shares[number]
        names = [(labels[k] if k < len(labels) else "") or f"number {k + 1}" for k in range(len(shares))]
        return dict(zip(names, shares, strict=True))

    @cached_property
    def silent_channels(self) -> tuple[tuple[int, int], ...]:
        """Channels of loaded plates without signal: indices of plate and channel."""
        if self.evidence is None or not self.channel_shares:
            return ()
        return find_silent_channels(self.evidence, self.channel_shares.__getitem__)

    @cached_property
    def time_offset(self) -> TimeOffset | None:
        """Delay and relative size of the forces compared with the motion of the body; None if not determined."""
        return None if self.evidence is None else estimate_offset(self.evidence)

    @cached_property
    def delay_findings(self) -> tuple[Diagnostic, ...]:
        """Finding about forces that are early or late."""
        return report_time_offset(self.time_offset, TIME_OFFSET_S, self.events_late_s, self.effect_of_delay)

    def effect_of_cause(self, cause: Cause) -> float:
        """Return the RMS change of joint moments, Nm/kg, by a cause; NaN if it changes no force."""
        if self.evidence is None:
            return np.nan
        return largest_effect(self.analysis.fit, self.evidence, cause.corrected_wrenches(self.evidence))

    @cached_property
    def tilt_findings(self) -> tuple[Diagnostic, ...]:
        """Finding about markers that are tilted relative to the plates."""
        evidence, analysis = self.evidence, self.analysis
        if evidence is None or not self.has_markers or not analysis.activity.steps:
            return ()
        points = analysis.points.filter_for_steps(self.rate_hz, analysis.cutoff_hz)
        tilt_rad = floor_tilt(points, evidence.plates, self.rate_hz)
        R = matrices_from_axis_angle(np.array([0.0, 0.0, 1.0]), tilt_rad)
        rotated = {n: plate.rotated(R).wrench for n, plate in enumerate(evidence.plates)}
        return report_tilted_markers(tilt_rad, largest_effect(analysis.fit, evidence, rotated))

    def effect_of_delay(self, late_s: float) -> float:
        """Return the RMS change of joint moments, Nm/kg, caused by a delay of the forces."""
        if self.evidence is None:
            return np.nan
        plates = {n: plate.wrench for n, plate in enumerate(self.evidence.plates)}
        shifted = {n: wrench + wrench_change_by_delay(wrench, -late_s * self.rate_hz) for n, wrench in plates.items()}
        return largest_effect(self.analysis.fit, self.evidence, shifted)

    def effect_of_gains(self) -> float:
        """Return the RMS change of joint moments, Nm/kg, if each plate is scaled to the vertical force of the motion.

        Only complete steps in single support determine the scale of a plate.
        """
        if self.evidence is None:
            return np.nan
        scaled = {}
        for n, plate in enumerate(self.evidence.plates):
            steps = [step for step in self.evidence.steps if step.plate == n and step.fully_measured]
            rows = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(step.single_support for step in steps)]))
            if len(rows):
                scaled[n] = plate.wrench / (plate.wrench[rows, 4].sum() / self.evidence.required[rows, 4].sum())
        return largest_effect(self.analysis.fit, self.evidence, scaled)

    @cached_property
    def events_late_s(self) -> float:
        """Median delay (s) of events on plates relative to kinematic events; NaN if its accuracy is unknown."""
        # Largest time between two records of the same event.
        same_s = 0.1
        analysis = self.analysis
        if not analysis.activity.is_walking:
            return np.nan
        points = analysis.points.filter_for_steps(self.rate_hz, analysis.cutoff_hz)
        moved = kinematic_events(points, self.rate_hz, analysis.activity.direction, True)
        measured = plate_events(analysis.contacts, len(self.markers.time_s) / self.rate_hz, 1.0 / self.rate_hz)
        moved_s = np.array([event.time_s for event in moved])
        late_s = [
            plate.time_s - event.time_s
            for plate in measured
            if plate.kind == "foot_strike"
            for event in (moved[k] for k in np.flatnonzero(np.abs(moved_s - plate.time_s) < same_s))
            if event.time_difference_s(plate) < same_s
        ]
        return float(np.median(late_s)) if late_s else np.nan

    @cached_property
    def unexplained_loads(self) -> tuple[LoadWithoutFoot, ...]:
        """Loads without a foot, except those explained by a wrong centre of pressure of a faulty plate.

        A plate that agrees with the body after correction of its fault has no other load.
        """
        if self.evidence is None or self.swapped_plates_findings:
            return ()
        plates = self.evidence.plates
        at_fault = {plates[plate].number for plate, _ in self.silent_channels}
        at_fault |= {
            plates[n].number
            for best, *_ in self.causes
            if best.candidate.kind in ("fault", "faults", "rotation", "gain")
            for n in best.candidate.units[0][0]
        }
        return tuple(plate for plate in self.other_loads if plate.plate not in at_fault)

    @cached_property
    def residual_limits(self) -> ResidualLimits:
        """Limits of the base residual."""
        return residual_limits(self.analysis)


def collect_trial_evidence(analysis: TrialAnalysis) -> PlateEvidence:
    """Return the evidence shared by the checks of the plates.

    The soles of an OpenSim model are assumed rectangles, which may end before the toes, so that a foot in contact may appear to
    be off the ground. Body and plates of such models are compared only in frames with measured contacts of both feet.
    """
    assumed_sole_sd_m = 0.05  # ends of the rectangles relative to those of the feet
    evidence = collect_evidence(
        analysis.fit,
        analysis.points.filter_for_steps(analysis.recording.markers.rate_hz, analysis.cutoff_hz),
        required_wrench(analysis.fit, analysis.dynamics),
        analysis.plates,
        analysis.contacts,
        analysis.recording.markers.rate_hz,
        analysis.settings.contacts.threshold_n,
        analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2,
        0.5 / analysis.force_cutoff_hz if analysis.force_cutoff_hz else 0.0,
        analysis.activity.direction == "forwards",
    )
    if analysis.imported is None:
        return evidence
    known = evidence.complete & np.isfinite(analysis.dynamics.residual_force[:, 0])
    return replace(evidence, complete=known, sole_sd_m=assumed_sole_sd_m)


def residual_limits(analysis: TrialAnalysis) -> ResidualLimits:
    """Return the limits of the base residual of a trial: see `checks.estimators.residual`."""
    return base_residual.residual_limits(
        analysis.dynamics,
        analysis.reaction,
        centre_of_mass(analysis.fit),
        analysis.plates,
        unobserved_segments_wrench_sd(
            analysis.fit,
            analysis.dynamics,
            load_magnitudes(analysis.settings.uncertainty.magnitudes),
            stride_time(analysis.events),
            analysis.recording.markers.rate_hz,
        ),
        analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2,
    )
