"""Visibility of markers: fading weights, bridges over unobserved coordinates, outliers and undetermined coordinates."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
import scipy
from scipy.interpolate import PchipInterpolator, make_interp_spline

from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.rotations import continuous_quaternions
from biodyn.model.body_model import SubjectModel
from biodyn.model.marker_roles import MarkerMapping
from biodyn.model.observability import LEAST_LEVER_M, evaluate_in_blocks
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.gaps import NEIGHBOURS
from biodyn.recording import Markers
from biodyn.rigid_body.coupling.coupled_multibody import CoupledMultibody, TrackedMarkers
from biodyn.rigid_body.marker_fit import MIN_MARKERS, UNDETERMINED, InverseKinematics

#: Weight of a bridge: that of a marker of weight 1 at a lever arm of 10 cm, small compared to well placed markers.
BRIDGE_WEIGHT = 0.01
#: Weight in poorly determined frames, about as large as the remaining information.
REGULARISING_WEIGHT = 0.04**2
# A jump starts and ends next to poorly determined frames, and is faster than any joint in walking.
_MARGIN_S = 0.08
#: Number of entries of the root in q and in v.
ROOT_Q, ROOT_V = 7, 6


# Time over which the weight of a marker fades next to a gap, s: the pose does not jump if a marker appears (docs/methods.md).
VISIBILITY_RAMP_S = 0.15


def visibility_weights(seen: BoolArray, ramp_frames: int) -> FloatArray:
    """Return weights (T, M) that decrease from 1 to 0 over `ramp_frames` before a gap, and increase likewise after it.

    The ends of the trial and frames without enough markers for a pose do not count as gaps, because no other marker is
    affected. The fade is a raised cosine with zero slope at both ends.
    """
    if ramp_frames < 1 or seen.all():
        return seen.astype(float)
    # frames without enough markers do not count as gaps
    gone = np.where(seen.sum(axis=1) < MIN_MARKERS, np.inf, 0.0)
    distance = np.minimum(_frames_since_gap(seen, gone), _frames_since_gap(seen[::-1], gone[::-1])[::-1])
    phase = np.clip(distance / (ramp_frames + 1.0), 0.0, 1.0)
    return np.where(seen, 0.5 - 0.5 * np.cos(np.pi * phase), 0.0)


def _frames_since_gap(seen: BoolArray, gone: FloatArray) -> FloatArray:
    """Return the number of frames (T, M) since the last frame in which a marker was not visible; infinite if there is none.

    gone: (T,) number that is added for this frame.
    """
    at = np.arange(len(seen))
    last = np.maximum.accumulate(np.where(seen, -1, at[:, None]), axis=0)
    return np.where(last < 0, np.inf, at[:, None] - last + gone[last])


def add_jump_frames(model: SubjectModel, q: FloatArray, bad: BoolArray, rate_hz: float) -> BoolArray:
    """Add to the poorly determined frames `bad` (T, C) those in which the coordinate jumps, and the frames between two jumps.

    After a jump a coordinate may appear well determined: with a hip rotated by 40 degrees the knee bends in another plane, and
    the lever arm of the shank markers is long.
    """
    jump_rad_s = 7.0
    longest_jump_s = 0.2
    extended = bad.copy()
    close = np.ones(max(round(longest_jump_s * rate_hz), 1), dtype=bool)
    for column in np.flatnonzero(bad.any(axis=0)):
        rate = np.gradient(q[:, model.coordinates[column].q_index]) * rate_hz if len(q) > 1 else np.zeros(len(q))
        leaps = bad[:, column] | (np.abs(np.nan_to_num(rate)) > jump_rad_s)
        extended[:, column] = leaps | scipy.ndimage.binary_closing(leaps, close)
    return extended


def bridge_prior(
    model: SubjectModel, q: FloatArray, unseen: BoolArray, bad: BoolArray, ramp_frames: int, rate_hz: float
) -> tuple[FloatArray, FloatArray]:
    """Return a prior that interpolates coordinates over frames in which they are unobserved (`unseen`) or poorly determined
    (`bad`), both (T, C).

    The prior is the fit itself in determined frames and a monotone cubic between them (widened, so that it joins smoothly). It
    is constant before the first and after the last determined frame. Returns prior weights (nv,) and q_prior (T, nq). A
    coordinate that is never determined has no prior. A coordinate that is sometimes unobserved is bridged over those frames
    only. A poorly determined coordinate next to an end of the trial is unchanged.
    """
    margin = max(round(_MARGIN_S * rate_hz), 1)
    q_prior = np.where(np.isfinite(q), q, model.multibody.neutral_q())
    weights = np.zeros(model.multibody.nv)
    frames = np.arange(len(q))
    for column, coordinate in enumerate(model.coordinates):
        unobserved = bool(unseen[:, column].any())
        pulled = unseen[:, column] if unobserved else _interior_stretches(bad[:, column], 2 * margin)
        gone = pulled | ~np.isfinite(q[:, coordinate.q_index])
        if not pulled.any() or gone.all():
            continue
        wide = scipy.ndimage.binary_dilation(gone, iterations=max(ramp_frames, 1) if unobserved else margin)
        known = ~(wide if not wide.all() else gone)
        curve = np.full(len(q), np.nan)
        if known.sum() > 1:
            curve = PchipInterpolator(frames[known], q[known, coordinate.q_index], extrapolate=False)(frames)
        inside = np.isfinite(curve)
        curve[~inside] = np.interp(frames[~inside], frames[known], q[known, coordinate.q_index])
        share = np.ones(len(q)) if unobserved else _fade_edges(gone, margin)
        mixed = (1.0 - share) * q_prior[:, coordinate.q_index] + share * curve
        q_prior[~known, coordinate.q_index] = mixed[~known]
        weights[coordinate.v_index] = BRIDGE_WEIGHT if unobserved else REGULARISING_WEIGHT
    return weights, q_prior


def regularisation_shares(bad: BoolArray, rate_hz: float) -> FloatArray:
    """Return the shares (T, C), 0 to 1, of the weight with which `bridge_prior` regularises poorly determined coordinates."""
    margin = max(round(_MARGIN_S * rate_hz), 1)
    shares = np.zeros(bad.shape)
    for column in np.flatnonzero(bad.any(axis=0)):
        pulled = _interior_stretches(bad[:, column], 2 * margin)
        if pulled.any():
            shares[:, column] = _fade_edges(pulled, margin)
    return shares


def root_bridge_prior(q: FloatArray, is_open: BoolArray) -> tuple[float, FloatArray]:
    """Return a prior that bridges the root over frames (T,) in which the markers do not determine it.

    q: (T, nq), NaN where unknown. Returns the weight of the prior, and the part (T, 7) of the root in q_prior: cubic splines
    through the frames on both sides, with normalised quaternions.
    """
    known = np.asarray(np.isfinite(q).all(axis=1))
    result = np.where(known[:, None], q[:, :ROOT_Q], np.eye(ROOT_Q)[3])
    result[known, 3:] = continuous_quaternions(result[known, 3:])
    sure = np.flatnonzero(known & ~is_open)
    for first, stop in finite_stretches(is_open):
        place = np.searchsorted(sure, first)
        neighbours = sure[max(place - NEIGHBOURS, 0) : place + NEIGHBOURS]
        degree = 3 if len(neighbours) > 3 else 1  # at least one frame on each side
        result[first:stop] = make_interp_spline(neighbours, result[neighbours], k=degree)(np.arange(first, stop))
    result[:, 3:] /= np.linalg.norm(result[:, 3:], axis=1, keepdims=True)
    return BRIDGE_WEIGHT, result


def _interior_stretches(bad: BoolArray, frames: int) -> BoolArray:
    """Return the stretches of the mask `bad` (T,) that have at least `frames` frames before and after them, as a mask."""
    inner = bad.copy()
    for first, stop in finite_stretches(bad):
        if first < frames or len(bad) - stop < frames:
            inner[first:stop] = False
    return inner


def _fade_edges(bad: BoolArray, frames: int) -> FloatArray:
    """Return the weight (T,) of the bridge: 1 in the frames `bad`, fading smoothly to 0 next to them."""
    phase = np.clip(scipy.ndimage.distance_transform_edt(~bad) / (frames + 1.0), 0.0, 1.0)
    return np.asarray(0.5 + 0.5 * np.cos(np.pi * phase))


def long_unobserved_stretches(unseen: BoolArray, longest_frames: int) -> BoolArray:
    """Return a mask (T, C) of the stretches of `unseen` that are longer than `longest_frames` or at an end of the trial."""
    lost = np.zeros_like(unseen)
    for column in np.flatnonzero(unseen.any(axis=0)):
        for first, stop in finite_stretches(unseen[:, column]):
            if stop - first > longest_frames or first == 0 or stop == len(unseen):
                lost[first:stop, column] = True
    return lost


# Interval at which frames are examined.
_JUDGED_EVERY_S: Final = 0.04


def undetermined_coordinates(
    coupled: CoupledMultibody, markers: TrackedMarkers, solution: InverseKinematics, free: BoolArray, tasks: FloatArray
) -> tuple[int, ...]:
    """Return the indices of the coordinates that are undetermined in some UNDETERMINED frame of the fit, at least one.

    free: (n,) coordinates that may move. tasks: (n,) weights of their tasks, as in `fit_coordinates`.
    """
    # Number of examined frames. Undetermined coordinates depend on the visible markers and rarely change within a walk.
    most_frames = 20
    frames = np.flatnonzero(solution.status == UNDETERMINED)
    indices: set[int] = set()
    looked_at = frames[:: max(1, len(frames) // most_frames)]
    for t, J in zip(looked_at, markers.jacobians(coupled, solution.q[looked_at])[..., free], strict=True):
        H = np.einsum("m,mik,mil->kl", markers.weights[t], J, J)
        H += np.diag(tasks[free]) * markers.weights[t].sum()
        indices |= set(np.flatnonzero(free)[_least_determined_coordinates(H)].tolist())
    return tuple(sorted(indices))


def undetermined_rotations(
    coupled: CoupledMultibody,
    markers: TrackedMarkers,
    q: FloatArray,
    free: BoolArray,
    tasks: FloatArray,
    turns: BoolArray,
    rate_hz: float,
) -> BoolArray:
    """Return the frames (T,) of q (T, n) in which the visible markers do not determine the rotation of a body joined to ground.

    Equivalent to `model.observability.undetermined_root` for an OpenSim model. turns: (n,) coordinates that rotate such a body.
    Returns no frames if even all markers together do not determine the rotation.
    """
    ridge_m2 = 1e-8
    visible = markers.weights > 0.0
    turning = np.flatnonzero(turns[free])
    if visible.all() or not len(turning):
        return np.zeros(len(q), dtype=np.bool_)
    weights = np.minimum(markers.weights.max(axis=0), 1.0)

    def rotation_lever_arms(q: FloatArray, visible: BoolArray) -> FloatArray:
        J = markers.jacobians(coupled, q)[..., free]
        levers = []
        for shown in (visible, np.ones_like(visible)):
            H = np.einsum("tm,tmik,tmil->tkl", shown * weights, J, J)
            covariance = np.linalg.inv(H + np.diag(tasks[free] + ridge_m2))
            worst = np.linalg.eigvalsh(covariance[:, turning[:, None], turning])[:, -1]
            levers.append(1.0 / np.sqrt(worst))
        return np.stack(levers, axis=1)

    lever = evaluate_in_blocks(rotation_lever_arms, q, visible, max(round(_JUDGED_EVERY_S * rate_hz), 1))
    return np.asarray((lever[:, 0] < LEAST_LEVER_M) & ~(lever[:, 1] < LEAST_LEVER_M))


def _least_determined_coordinates(H: FloatArray) -> BoolArray:
    """Return the coordinates (n,) whose curvature (matrix H) vanishes if the others adapt, or else the one with the least
    curvature.

    The fit itself uses the exact curvature, which can be smaller due to marker residuals.
    """
    # Limit of the fit: relative curvature of a coordinate that remains if all others adapt (`kernels.coupled_coordinates`).
    determined = 1e-5
    ridge = 1e-10
    curvature = np.diag(H)
    moves = curvature > 0.0
    result = ~moves
    scale = np.sqrt(curvature[moves])
    relative = H[np.ix_(moves, moves)] / scale[:, None] / scale + ridge * np.eye(len(scale))
    remaining = 1.0 / np.diag(np.linalg.inv(relative))
    result[moves] = remaining < determined
    if not result.any():
        result[np.flatnonzero(moves)[np.argmin(remaining)]] = True
    return result


def relocate_soft_markers(fit: Fit, markers: Markers, mapping: MarkerMapping) -> SubjectModel:
    """Move markers on soft parts to their median position on the segment in the walk.

    A model without such markers is returned unchanged.
    """
    model = fit.model
    soft = {role.label for role in mapping.roles if role.soft}
    bodies = dict.fromkeys(marker.body for marker in model.markers if marker.label in soft)
    poses = dict(zip(bodies, fit.body_poses(*bodies), strict=True)) if bodies else {}
    markers_now = []
    for marker in model.markers:
        if marker.label in soft:
            R, p = poses[marker.body]
            seen = markers.positions[:, markers.labels.index(marker.label)]
            local = np.einsum("tji,tj->ti", R, seen - p)
            known = np.isfinite(local).all(axis=1)
            if known.sum() >= 10:
                marker = replace(marker, p_BM=np.median(local[known], axis=0), source="walk")
        markers_now.append(marker)
    if all(new is old for new, old in zip(markers_now, model.markers, strict=True)):
        return model
    return replace(model, markers=tuple(markers_now))


def outlier_frames(error: FloatArray, limit_m: float) -> BoolArray:
    """Return the outliers (T, M): markers that are exchanged, mislabelled, ghosts, or moved since the static trial.

    error: (T, M) m distance from the position on the fitted skeleton, NaN where not visible.

    A candidate is farther than `limit_m` and 2.5 times its median error from its position. A marker with a median error above
    `limit_m` is a candidate in all frames. Other markers that are candidates in more than a fifth of their frames indicate a
    wrong model and are kept. Because one wrong marker affects the errors of others, only the candidates with nearly the largest
    error in a frame are outliers.
    """
    # Fraction of the largest error in a frame above which other candidates are outliers, too.
    nearly_worst = 0.6
    seen = np.isfinite(error)
    usual = np.zeros(error.shape[1])
    whole = seen.all(axis=0)
    usual[whole] = np.median(error[:, whole], axis=0)
    for m in np.flatnonzero(~whole & seen.any(axis=0)):
        usual[m] = np.median(error[seen[:, m], m])
    off = seen & (np.nan_to_num(error) > np.maximum(limit_m, 2.5 * usual))
    rare = off.sum(axis=0) <= 0.2 * np.maximum(seen.sum(axis=0), 1)
    candidates = (off & rare) | (seen & (usual > limit_m))
    worst = np.where(candidates, np.nan_to_num(error), 0.0).max(axis=1, keepdims=True)
    return np.asarray(candidates & (np.nan_to_num(error) >= nearly_worst * worst))
