"""Every check of the input data of one trial, and what probably caused what it finds."""

from __future__ import annotations

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import STANDARD_GRAVITY_M_S2
from biodyn.diagnostics import Diagnostic
from biodyn.processing.data_checks.evidence import Evidence, gather
from biodyn.processing.data_checks.labels import exchanged_markers
from biodyn.processing.data_checks.mass import mass_mismatch
from biodyn.processing.data_checks.moved_marker import moved_marker
from biodyn.processing.data_checks.plate_faults import plate_faults, plates_swapped
from biodyn.processing.data_checks.plate_moved import plate_moved
from biodyn.processing.data_checks.residual import residual_beyond, residual_limits, unseen_share
from biodyn.processing.data_checks.sides import sides_exchanged
from biodyn.processing.data_checks.signals import (
    filters_differ,
    gaps_left,
    hot_spots,
    joint_limits,
    pressure_beside_sole,
    spikes,
)
from biodyn.processing.data_checks.time_offset import time_offset
from biodyn.processing.data_checks.units import force_unit, moment_unit
from biodyn.processing.data_checks.zero import not_zeroed, unremoved


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
    causes += gaps_left(analysis.gaps, gap_labels(analysis), rate_hz, settings.signals.spline_gap_s)
    causes += spikes(walk)
    causes += pressure_beside_sole(analysis.contacts, rate_hz, limits.pressure_outside_m)
    causes += hot_spots(analysis.fit, limits.marker_rms_m)
    causes += joint_limits(analysis.fit)
    residual = residual_limits(
        analysis.dynamics,
        analysis.reaction,
        evidence.centre_of_mass,
        analysis.plates,
        limits.residual_force_fraction,
        limits.residual_moment_fraction,
    )
    causes += residual_beyond(
        analysis.dynamics, residual, limits.residual_force_n, limits.residual_moment_nm, unseen_share(analysis.model)
    )
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


def gap_labels(analysis: TrialAnalysis) -> tuple[str, ...]:
    """Labels that the marker numbers of `analysis.gaps` mean."""
    labels = analysis.recording.markers.labels
    return tuple(label for label in labels if analysis.mapping.role(label) or label in analysis.mapping.unknown)
