"""Every check of the input data of one trial, and what probably caused what it finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.checks.evidence import residual as base_residual
from biodyn.checks.evidence.evidence import Evidence, centre_of_mass, gather
from biodyn.checks.evidence.labels import exchanged_markers
from biodyn.checks.evidence.mass import mass_mismatch, walking_mass_kg
from biodyn.checks.evidence.moved_marker import moved_marker
from biodyn.checks.evidence.plate_faults import SOUND, mismatch, plate_faults, plates_swapped
from biodyn.checks.evidence.plate_moved import estimate_shift, plate_moved
from biodyn.checks.evidence.residual import ResidualLimits, ResidualRules, residual_beyond
from biodyn.checks.evidence.sides import CLEAR, handedness, sides_exchanged
from biodyn.checks.evidence.signals import (
    LIMIT_SHARE,
    SPIKE_M,
    filters_differ,
    gaps_left,
    hot_spots,
    joint_limits,
    jumps,
    long_gaps,
    marker_rms,
    pressure_beside_sole,
    rests,
    spikes,
)
from biodyn.checks.evidence.time_offset import estimate_offset, time_offset
from biodyn.checks.evidence.units import LARGEST_FACTOR, force_ratio, force_unit, moment_ratio, moment_unit
from biodyn.checks.evidence.unseen import unseen_wrench
from biodyn.checks.evidence.zero import empty_level, not_zeroed, removed_level_n, unremoved
from biodyn.conventions import STANDARD_GRAVITY_M_S2
from biodyn.diagnostics import Diagnostic


def data_checks(analysis: TrialAnalysis) -> tuple[Diagnostic, ...]:
    """Check markers, plates and subject against each other; causes first, what follows from them last.

    Where a cause was found, checks that would only see its consequences are left out. Nothing is corrected.
    """
    settings, limits = analysis.settings, analysis.settings.limits
    rate_hz = analysis.recording.markers.rate_hz
    bodies = {marker.label: marker.body for marker in analysis.model.markers}
    bodies |= {role.label: role.body for role in analysis.mapping.roles if role.label not in bodies}
    parents = {body.definition.name: body.definition.parent for body in analysis.model.bodies}
    root = analysis.model.skeleton.root.name
    midline = [body.definition.name for body in analysis.model.bodies if not body.definition.side]

    landmarks = {role.landmark: role.label for role in analysis.mapping.roles if role.landmark}
    walk, standing = analysis.recording.markers, analysis.static.points
    sides = sides_exchanged(walk, standing, landmarks, bodies, midline or [root])
    if sides:  # the skeleton is its own mirror image: all else that could be found follows from that
        return sides
    labels = exchanged_markers(walk, standing, bodies, parents)
    evidence = body_against_plates(analysis)
    units = force_unit(evidence)
    zero = not_zeroed(analysis.plates, analysis.points.sole, rate_hz, evidence.weight_n, limits.baseline_n)
    still_there = unremoved(zero)
    causes = [*units, *labels, *still_there]
    moved: tuple[Diagnostic, ...] = ()
    if not labels:
        soft = {role.label for role in analysis.mapping.roles if role.soft}
        moved = moved_marker(analysis.fit, walk, standing, soft, limits.marker_shift_m)
    if not causes:
        # Where a channel or an axis is wrong, the centre of pressure says nothing about units or places any more.
        causes += plates_swapped(evidence) or moment_unit(evidence) or plate_faults(evidence)
        causes += time_offset(evidence, limits.time_offset_s)
        causes += moved
        if not causes:  # a marker of a foot moves the footprint as well
            causes += plate_moved(evidence, limits.plate_shift_m)
    else:
        causes += moved
    causes += [note for note in zero if note not in still_there]
    if not units and not still_there:
        # A person stands on the plate through a static trial: its zero cannot be found there.
        standing_kg = None if zero else analysis.static.plates_mass_kg
        causes += mass_mismatch(evidence, standing_kg, limits.mass_mismatch_fraction)
    causes += filters_differ(settings.signals.cutoff_hz, settings.force_cutoff_hz)
    long = long_gaps(analysis.gaps, rate_hz, settings.signals.rigid_gap_s, measured_span(analysis))
    causes += gaps_left(analysis.gaps, gap_labels(analysis), rate_hz, settings.signals.spline_gap_s, long)
    causes += spikes(walk)
    causes += pressure_beside_sole(analysis.contacts, rate_hz, limits.pressure_outside_m)
    causes += hot_spots(analysis.fit, limits.marker_rms_m)
    causes += joint_limits(analysis.fit)
    causes += residual_beyond(analysis.dynamics, residual_limits(analysis))
    return tuple(causes)


def body_against_plates(analysis: TrialAnalysis) -> Evidence:
    """The evidence that the checks of the plates share."""
    settings = analysis.settings
    return gather(
        analysis.fit,
        analysis.points,
        analysis.dynamics,
        analysis.plates,
        analysis.contacts,
        analysis.recording.markers.rate_hz,
        settings.contacts.threshold_n,
        analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2,
        0.5 / settings.force_cutoff_hz if settings.force_cutoff_hz else 0.0,
    )


def residual_limits(analysis: TrialAnalysis) -> ResidualLimits:
    """Limits of the base residual of this trial: see `checks.evidence.residual`."""
    limits = analysis.settings.limits
    return base_residual.residual_limits(
        analysis.dynamics,
        analysis.reaction,
        centre_of_mass(analysis.fit),
        analysis.plates,
        unseen_wrench(analysis.fit, analysis.recording.markers.rate_hz),
        analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2,
        ResidualRules(limits.residual_force_fraction, limits.residual_moment_fraction, limits.centre_of_mass_m),
    )


def measured_span(analysis: TrialAnalysis) -> tuple[int, int] | None:
    """First and last frame in which a foot stands on ground that was measured, None where none does."""
    reaction = analysis.reaction
    rows = np.flatnonzero(
        np.any([reaction.measured[side] & reaction.on_floor[side] for side in reaction.measured], axis=0)
    )
    return (int(rows[0]), int(rows[-1])) if len(rows) else None


def gap_labels(analysis: TrialAnalysis) -> tuple[str, ...]:
    """Labels that the marker numbers of `analysis.gaps` mean."""
    labels = analysis.recording.markers.labels
    return tuple(label for label in labels if analysis.mapping.role(label) or label in analysis.mapping.unknown)


# -- the numbers behind "nothing was found" ----------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """A number and the limit a finding needs it to pass, SI; NaN where there was nothing to measure."""

    value: float
    limit: float


def data_measures(analysis: TrialAnalysis) -> dict[str, Measure]:
    """The measured number of every check of `library/checks/data_checks.toml` that has one, by its key."""
    if not analysis.plates:
        return _of_markers(analysis)
    evidence = body_against_plates(analysis)
    return _of_markers(analysis) | _of_plates(analysis, evidence) | _of_residual(analysis)


def _of_markers(analysis: TrialAnalysis) -> dict[str, Measure]:
    limits, rate_hz = analysis.settings.limits, analysis.recording.markers.rate_hz
    static = analysis.static.points
    points = {r.landmark: static[r.label] for r in analysis.mapping.roles if r.landmark and r.label in static}
    rms, fit = marker_rms(analysis.fit), analysis.fit
    left = [(gap.last - gap.first + 1) / rate_hz for gap in analysis.gaps if gap.method == "left"]
    return {
        "sides": Measure(min(handedness(points).values(), default=np.nan), -CLEAR),
        "marker_error": Measure(float(rms.max(initial=0.0)), limits.marker_rms_m),
        "gap": Measure(max(left, default=0.0), analysis.settings.signals.spline_gap_s),
        "spike": Measure(float(jumps(analysis.recording.markers).max(initial=0.0)), SPIKE_M),
        "joint_limit": Measure(
            max((float(rests(fit, c).mean()) for c in fit.model.coordinates), default=0.0), LIMIT_SHARE
        ),
        "filters": Measure(analysis.settings.force_cutoff_hz, analysis.settings.signals.cutoff_hz),
    }


def _of_plates(analysis: TrialAnalysis, evidence: Evidence) -> dict[str, Measure]:
    limits = analysis.settings.limits
    levels = [removed_level_n(plate) for plate in analysis.plates]
    found = [empty_level(plate, analysis.points.sole, evidence.rate_hz) for plate in analysis.plates]
    levels += [level.force_n for level in found if level is not None]
    off = [mismatch(evidence, number, plate) for number, plate in enumerate(evidence.plates)]
    shift, offset, mass = estimate_shift(evidence), estimate_offset(evidence), walking_mass_kg(evidence)
    stated = evidence.weight_n / STANDARD_GRAVITY_M_S2
    beside = [c.evidence.get("cop_distance_95_m", np.nan) for c in analysis.contacts if c.decision == "assigned"]
    return {
        "force_unit": Measure(force_ratio(evidence), LARGEST_FACTOR),
        "moment_unit": Measure(moment_ratio(evidence), LARGEST_FACTOR),
        "zero": Measure(max(levels, key=abs, default=np.nan), limits.baseline_n),
        "plate_axes": Measure(max((value.total for value in off if value is not None), default=np.nan), SOUND),
        "plate_place": Measure(np.nan if shift is None else float(np.linalg.norm(shift.shift_m)), limits.plate_shift_m),
        "time_offset": Measure(np.nan if offset is None else offset.late_s, limits.time_offset_s),
        "mass": Measure(np.nan if mass is None else mass / stated - 1.0, limits.mass_mismatch_fraction),
        "pressure": Measure(float(max(beside, default=np.nan)), limits.pressure_outside_m),
    }


def _of_residual(analysis: TrialAnalysis) -> dict[str, Measure]:
    dynamics, limits = analysis.dynamics, residual_limits(analysis)
    return {
        "residual_force": Measure(_rms(dynamics.residual_force), limits.force_n),
        "residual_moment": Measure(_rms(dynamics.residual_moment), limits.moment_nm),
    }


def _rms(vectors: np.ndarray) -> float:
    known = vectors[np.isfinite(vectors).all(axis=1)]
    return float(np.sqrt(np.mean(np.sum(known**2, axis=1)))) if len(known) else float("nan")
