"""Fit of the skeleton to a walk, with attachment of additional markers and exclusion of outliers; motion and forces of
segments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import ModelError
from biodyn.geometry.points import lengths
from biodyn.geometry.rotations import cross, matrices_from_axis_angle, matrices_from_quaternions, rotate_vectors
from biodyn.library.tables import segment_title
from biodyn.model.body_model import (
    PLACED_WHILE_STANDING,
    AttachedMarker,
    SubjectModel,
    find_joint_centre_point,
    with_assumed_coordinates,
)
from biodyn.model.body_model import with_markers as with_attached
from biodyn.processing.kinematics.least_squares import fit_skeleton_to_markers
from biodyn.processing.kinematics.settings import InverseKinematicsSettings
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.kinematics.visibility import outlier_frames, relocate_soft_markers
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.signal_preparation import TrialSignals, replace_markers
from biodyn.recording import Markers
from biodyn.rigid_body import Multibody
from biodyn.rigid_body.marker_fit import UNDETERMINED


@dataclass(frozen=True)
class SegmentMotion:
    """Motion of all B bodies in World, with classical (not spatial) accelerations of points.

    Attributes:
        R_WB, p_WB: (T, B, 3, 3), (T, B, 3) m poses.
        omega, alpha: (T, B, 3) angular velocity and acceleration, rad/s, rad/s^2.
        velocity: (T, B, 3) velocity of the body origin, m/s.
        com, com_velocity, com_acceleration: (T, B, 3) position, velocity and acceleration of the centre of mass.
        axes: (T, B, 3) direction of a one-axis joint in World, zero for others.
    """

    R_WB: FloatArray
    p_WB: FloatArray
    omega: FloatArray
    alpha: FloatArray
    velocity: FloatArray
    com: FloatArray
    com_velocity: FloatArray
    com_acceleration: FloatArray
    axes: FloatArray


def segment_motion(mb: Multibody, q: FloatArray, v: FloatArray, vdot: FloatArray) -> SegmentMotion:
    """Return the motion of all bodies for q (T, nq), v, vdot (T, nv).

    Raises ModelError for joints other than free (at the root), weld, revolute and prismatic, which do not occur in skeletons.
    """
    T, B = len(q), len(mb.bodies)
    R_WB, p_WB = np.empty((B, T, 3, 3)), np.empty((B, T, 3))
    w, alpha, u, a, axes = (np.zeros((B, T, 3)) for _ in range(5))
    for i, body in enumerate(mb.bodies):
        kind, parent = body.joint.kind, int(mb.parents[i])
        at_q, at_v = mb.q_slice(body.name), mb.v_slice(body.name)
        if kind == "free" and parent < 0 and np.array_equal(body.R_PJ, np.eye(3)) and not body.p_PJ.any():
            R = R_WB[i] = matrices_from_quaternions(q[:, at_q][:, 3:])
            p_WB[i] = q[:, at_q][:, :3]
            twist, rate = v[:, at_v], vdot[:, at_v]
            w[i] = rotate_vectors(R, twist[:, :3])
            u[i] = rotate_vectors(R, twist[:, 3:])
            alpha[i] = rotate_vectors(R, rate[:, :3])
            # vdot contains derivatives of body components; the acceleration of the point also has the term omega x v.
            a[i] = rotate_vectors(R, rate[:, 3:]) + cross(w[i], u[i])
            continue
        if kind not in ("weld", "revolute", "prismatic") or parent < 0:
            raise ModelError(
                f"Segment motion of body '{body.name}' needs a weld, revolute or prismatic joint, found {kind}."
            )
        R_WP, w_P, alpha_P = R_WB[parent], w[parent], alpha[parent]
        R = R_WP @ body.R_PJ
        r = R_WP @ body.p_PJ  # from the parent's origin to the joint, in World
        w[i], alpha[i] = w_P, alpha_P
        slide = slide_rate = slide_rate_dot = None
        if body.joint.axis is not None:
            axis = np.array(body.joint.axis)
            angle, rate, rate_dot = (x[:, at].reshape(T, 1) for x, at in ((q, at_q), (v, at_v), (vdot, at_v)))
            e = axes[i] = R @ axis
            if kind == "revolute":
                R = R @ matrices_from_axis_angle(axis, angle[:, 0])
                w[i] = w_P + rate * e
                alpha[i] = alpha_P + rate_dot * e + cross(w_P, rate * e)
            else:
                slide, slide_rate, slide_rate_dot = angle * e, rate * e, rate_dot * e
                r = r + slide
        R_WB[i] = R
        p_WB[i] = p_WB[parent] + r
        u[i] = u[parent] + cross(w_P, r)
        a[i] = a[parent] + cross(alpha_P, r) + cross(w_P, cross(w_P, r))
        if slide_rate is not None and slide_rate_dot is not None:
            u[i] += slide_rate
            a[i] += slide_rate_dot + 2.0 * cross(w_P, slide_rate)  # Coriolis
    com_B = np.stack([body.com_m for body in mb.bodies])
    arm = (R_WB @ com_B[:, None, :, None])[..., 0]
    spin = cross(w, arm)
    parts = (R_WB, p_WB, w, alpha, u, p_WB + arm, u + spin, a + cross(alpha, arm) + cross(w, spin), axes)
    return SegmentMotion(*(np.moveaxis(part, 0, 1) for part in parts))


def segment_forces(mb: Multibody, motion: SegmentMotion) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the forces required by the motion of each body, m a and d(I omega)/dt, its weight, and the rate of its energy.

    Returns:
        Rate of change of momentum and weight (T, B, 6), [moment; force] about the world origin in world axes, and the rate of
        kinetic and potential energy (T, B), W.
    """
    mass = np.array([body.mass_kg for body in mb.bodies])[:, None]
    inertia = np.stack([body.inertia_com for body in mb.bodies])
    loaded = np.flatnonzero(mass[:, 0] > 0.0)
    T, B = motion.com.shape[:2]
    spin_rate = np.zeros((T, B, 3))
    R, w, alpha = motion.R_WB[:, loaded], motion.omega[:, loaded], motion.alpha[:, loaded]
    I_W = R @ inertia[loaded] @ np.swapaxes(R, -1, -2)
    spin_rate[:, loaded] = rotate_vectors(I_W, alpha) + cross(w, rotate_vectors(I_W, w))
    force = mass * motion.com_acceleration
    g = np.array(mb.gravity_W)
    weight = np.broadcast_to(mass * g, (T, B, 3))
    energy_rate = np.sum(force * motion.com_velocity + spin_rate * motion.omega - weight * motion.com_velocity, axis=-1)
    return (
        np.concatenate([spin_rate + cross(motion.com, force), force], axis=-1),
        np.concatenate([cross(motion.com, weight), weight], axis=-1),
        energy_rate,
    )


def attach_markers_by_motion(
    fit: Fit, markers: Markers, candidates: Mapping[str, str | None], weight: float
) -> tuple[tuple[AttachedMarker, ...], list[Diagnostic]]:
    """Attach each marker that is missing in the static trial to the segment with which it moves.

    candidates: segment of each label in the marker set, or None if unknown. Unknown markers are attached to the segment
    relative to which they move least, if this movement is within the limit.
    """
    # Largest movement of an attached marker relative to its segment.
    attachment_limit_m = 0.02
    model = fit.model
    bodies = [model.skeleton.root.name, *(body.definition.name for body in model.moving_segments)]
    extra: list[AttachedMarker] = []
    notes: list[Diagnostic] = []
    for label, named in candidates.items():
        p = markers.positions[:, markers.labels.index(label)]
        frames = np.isfinite(p[:, 0]) & fit.solved
        if frames.sum() < 10:
            continue
        best: tuple[float, str, FloatArray] | None = None
        possible = [str(named)] if named in bodies else bodies
        for body, (R, origin) in zip(possible, fit.body_poses(*possible), strict=True):
            local = np.einsum("tji,tj->ti", R[frames], p[frames] - origin[frames])
            place = np.median(local, axis=0)
            spread = float(np.sqrt(np.mean(np.sum((local - place) ** 2, axis=1))))
            if best is None or spread < best[0]:
                best = (spread, body, place)
        if best is None:
            continue
        spread, body_name, place = best
        if spread > attachment_limit_m:
            notes.append(
                Diagnostic(
                    "marker-not-used",
                    "info",
                    f"Marker {label} is not used, because it moves relative to every segment (least: "
                    f"{1000 * spread:.0f} mm relative to the {segment_title(body_name)}).",
                    value=spread,
                    limit=attachment_limit_m,
                    unit="m",
                    about=label,
                )
            )
            continue
        carrier = next(b for b in model.bodies if b.definition.name == body_name)
        inside = None if named in bodies else find_joint_centre_point(label, place, carrier, model)
        if inside is not None:
            notes.append(inside)
            continue
        extra.append(AttachedMarker(label, body_name, place, weight, "attached by its movement"))
        notes.append(
            Diagnostic(
                "marker-attached",
                "info",
                f"Marker {label} moves with the {segment_title(body_name)} (within {1000 * spread:.0f} mm) and was attached "
                f"to it with weight {weight:g}.",
                value=spread,
                unit="m",
                about=label,
            )
        )
    return tuple(extra), notes


def track_skeleton(
    model: SubjectModel, signals: TrialSignals, settings: InverseKinematicsSettings, outlier_limit_m: float
) -> tuple[Fit, TrialSignals, list[Diagnostic]]:
    """Fit the skeleton to a walk; return the fit (with its model), the signals used, and findings.

    A marker farther than `outlier_limit_m` from its position on the skeleton may be an outlier. Outliers are detected in
    recorded positions, before a filter spreads a jump. They are excluded, gaps are filled and markers smoothed again, and the
    fit is repeated until no outliers remain.
    """
    # Largest number of rounds of outlier detection, because large outliers hide smaller ones.
    most_rounds = 6
    if settings.unseen_segments == "carried":
        model = with_assumed_coordinates(model)
    fit = fit_skeleton_to_markers(model, signals, settings)
    settled, notes = _attach_walk_markers(fit, signals)
    notes = [*_unused_weight_note(settings.marker_weights, signals.markers), *notes]
    if settled is not model:
        fit = fit_skeleton_to_markers(settled, signals, settings)
    outliers: dict[str, dict[int, float]] = {}
    for _ in range(most_rounds):
        error = _recorded_error(fit, signals.recorded)
        outlier = outlier_frames(error, outlier_limit_m)
        if not outlier.any():
            break
        positions = signals.recorded.positions.copy()
        for column in np.flatnonzero(outlier.any(axis=0)):
            label, frames = fit.labels[column], np.flatnonzero(outlier[:, column])
            positions[frames, signals.recorded.labels.index(label)] = np.nan
            outliers.setdefault(label, {}).update(zip(frames.tolist(), error[frames, column].tolist(), strict=True))
        signals = replace_markers(signals, replace(signals.recorded, positions=positions))
        fit = fit_skeleton_to_markers(fit.model, signals, settings)
    longest = signals.settings.rigid_gap_s * signals.recorded.rate_hz
    notes += [
        _outlier_note(label, np.array(sorted(frames)), max(frames.values()), outlier_limit_m, longest)
        for label, frames in outliers.items()
    ]
    notes += [*_undetermined_root_notes(fit, signals), *_assumed_motion_note(fit.model)]
    return fit, signals, notes


def _recorded_error(fit: Fit, recorded: Markers) -> FloatArray:
    """Return the distance (T, M) m of recorded markers from their position on the fitted skeleton, NaN where not visible."""
    columns = [recorded.labels.index(label) for label in fit.labels]
    return lengths(recorded.positions[:, columns] - fit.marker_positions())


def _attach_walk_markers(fit: Fit, signals: TrialSignals) -> tuple[SubjectModel, list[Diagnostic]]:
    """Move soft markers to their positions in the walk, attach markers missing in the static trial, and verify assumed
    attachments."""
    # Weight of a marker that is attached by its movement.
    attached_weight = 0.3
    markers, mapping = signals.markers, signals.mapping
    attached = {marker.label: marker for marker in fit.model.markers}
    guessed = {label for label, marker in attached.items() if marker.source == PLACED_WHILE_STANDING}
    unattached: dict[str, str | None] = {}
    for label in markers.labels:
        role = mapping.role(label)
        if label in guessed:
            unattached[label] = None
        elif label not in {*attached, *fit.model.computed_points} and (role is None or role.weight > 0.0):
            unattached[label] = role.body if role else None
    model = relocate_soft_markers(fit, markers, mapping)
    if not unattached:
        return model, []
    extra, notes = attach_markers_by_motion(fit, markers, unattached, attached_weight)
    agreed = {
        marker.label for marker in extra if marker.label in guessed and attached[marker.label].body == marker.body
    }
    extra = tuple(marker for marker in extra if marker.label not in agreed)
    # An assumed attachment is replaced if the movement contradicts it.
    verified = tuple(marker for marker in model.markers if marker.label not in guessed - agreed)
    notes = [note for note in notes if note.about not in agreed]
    return with_attached(replace(model, markers=verified), extra), notes


def _unused_weight_note(weights: Mapping[str, float], markers: Markers) -> list[Diagnostic]:
    """Return a finding about weights of missing markers. It is not an error, because a settings file may be used for many
    trials."""
    unknown = [label for label in weights if label not in markers.labels]
    if not unknown:
        return []
    return [
        Diagnostic(
            "marker-weights",
            "warning",
            f"The settings contain weights of markers that are not in the walk: {', '.join(unknown)}.",
            hint=f"The markers of the walk are {', '.join(markers.labels)}.",
        )
    ]


def _undetermined_root_notes(fit: Fit, signals: TrialSignals) -> list[Diagnostic]:
    """Return findings about frames in which the visible markers do not determine the root, which are bridged or excluded."""
    is_open, rate_hz, limit_s = fit.status == UNDETERMINED, signals.recorded.rate_hz, signals.settings.spline_gap_s
    root, notes = fit.model.skeleton.root.name, []
    for rows, is_left in ((is_open & fit.solved, False), (is_open & ~fit.solved, True)):
        stretches = finite_stretches(rows)
        if not stretches:
            continue
        first, last = stretches[0][0], stretches[-1][1] - 1
        longest_s = max(stop - start for start, stop in stretches) / rate_hz
        what = (
            "these frames have no motion and no torques"
            if is_left
            else f"they were bridged by a spline (up to {limit_s:g} s)"
        )
        notes.append(
            Diagnostic(
                "root-undetermined",
                "warning" if is_left else "info",
                f"In {int(rows.sum())} frames ({first}-{last}, the longest stretch {longest_s:.2f} s) the visible "
                f"markers do not determine the orientation of the {root}: {what}.",
                value=longest_s,
                limit=limit_s,
                unit="s",
                frames=(first, last),
                hint=f"Fill the gaps of the markers of {root}, trunk and thighs in the capture software, or cut the trial.",
                about=root,
            )
        )
    return notes


def _assumed_motion_note(model: SubjectModel) -> list[Diagnostic]:
    """Return a finding about segments with assumed motion, because they have no markers."""
    bodies = list(dict.fromkeys(coordinate.body for coordinate in model.assumed))
    if not bodies:
        return []
    share = (
        sum(body.inertia.mass for body in model.bodies if body.definition.name in model.locked_segments) / model.mass_kg
    )
    return [
        Diagnostic(
            "assumed-motion",
            "info",
            f"The motion of {', '.join(map(segment_title, bodies))} is not measured (no markers). It is assumed that trunk and "
            "head are upright and face along the walk, and that the arms swing opposite to the legs. This affects the pelvis "
            "residual and the centre of mass. It does not affect leg torques of a filtered motion, and those of an "
            "estimate only slightly.",
            value=share,
            unit="of body mass",
            hint='Add markers, or fix the segments to their parents: inverse_kinematics.unseen_segments = "fixed".',
        )
    ]


def _frame_count_text(frames: IntArray) -> str:
    return f"{len(frames)} frames ({frames[0]}-{frames[-1]})" if len(frames) > 1 else f"frame {frames[0]}"


def _outlier_note(label: str, frames: IntArray, worst_m: float, limit_m: float, longest_frames: float) -> Diagnostic:
    """Return a finding about an outlier, of severity "info" if it was excluded for at most `longest_frames`."""
    return Diagnostic(
        "marker-strays",
        "warning" if len(frames) > longest_frames else "info",
        f"Marker {label} is up to {1000 * worst_m:.0f} mm from its position on the segment in "
        f"{_frame_count_text(frames)} and was excluded from the fit in these frames.",
        value=worst_m,
        limit=limit_m,
        unit="m",
        frames=(int(frames[0]), int(frames[-1])),
        hint="Check for swapped labels, a marker that was moved after the calibration, or a ghost marker.",
        about=label,
    )
