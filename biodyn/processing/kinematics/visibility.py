"""Markers that come and go: weights that fade beside gaps, and coordinates carried over frames that show none of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from scipy.interpolate import PchipInterpolator, make_interp_spline
from scipy.ndimage import binary_closing, binary_dilation, distance_transform_edt

from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.rotations import continuous_quaternions
from biodyn.model.body_model import SubjectModel
from biodyn.model.marker_roles import MarkerMapping
from biodyn.model.observability import LEAST_LEVER_M, through_frames
from biodyn.processing.kinematics.fit import Fit
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.gaps import NEIGHBOURS
from biodyn.recording import Markers
from biodyn.rigid_body.coupling.coupled import CoupledMultibody
from biodyn.rigid_body.coupling.followed import FollowedMarkers
from biodyn.rigid_body.marker_fit import MIN_MARKERS, UNDETERMINED, InverseKinematics

#: The bridge's pull: as strong as a marker of weight 1 at a lever of 10 cm, weak against any that sees the coordinate well.
BRIDGE_WEIGHT = 0.01
#: Over frames that see the coordinate badly: about as strong as what they still tell.
REGULARISING_WEIGHT = 0.04**2
# An angle that goes astray begins and ends beside the frames that see it badly, and faster than a joint turns in walking.
_BESIDE_BAD_S = 0.08
_ASTRAY_RAD_S = 7.0
_LONGEST_ASTRAY_S = 0.2
#: Numbers of the root in q and in v.
ROOT_Q, ROOT_V = 7, 6


def visibility_weights(seen: BoolArray, ramp_frames: int) -> FloatArray:
    """Weights (T, M) in 0-1 that fall to 0 towards the edges of a gap over `ramp_frames`; 1 far from gaps.

    The ends of the trial are no gap, nor are frames without enough markers for a pose: there nobody remains whom the
    others could kick by leaving. The fade is a raised cosine: its slope is 0 at both ends.
    """
    if ramp_frames < 1 or seen.all():
        return seen.astype(float)
    # where a marker is gone from a frame without enough of them, the gap is none
    gone = np.where(seen.sum(axis=1) < MIN_MARKERS, np.inf, 0.0)
    distance = np.minimum(_since_gap(seen, gone), _since_gap(seen[::-1], gone[::-1])[::-1])
    phase = np.clip(distance / (ramp_frames + 1.0), 0.0, 1.0)
    return np.where(seen, 0.5 - 0.5 * np.cos(np.pi * phase), 0.0)


def _since_gap(seen: BoolArray, gone: FloatArray) -> FloatArray:
    """Frames since the last frame (T, M) in which a marker was not seen, and what is `gone` (T,) there; inf before any."""
    at = np.arange(len(seen))
    last = np.maximum.accumulate(np.where(seen, -1, at[:, None]), axis=0)
    return np.where(last < 0, np.inf, at[:, None] - last + gone[last])


def astray(model: SubjectModel, q: FloatArray, bad: BoolArray, rate_hz: float) -> BoolArray:
    """Add to the frames `bad` (T, C) those in which such a coordinate leaps, and what lies between two leaps.

    Astray the lever may be long again: with the thigh turned by 40 degrees the knee bends the other way, and the markers of the
    shank seem to tell it well.
    """
    found = bad.copy()
    close = np.ones(max(round(_LONGEST_ASTRAY_S * rate_hz), 1), dtype=bool)
    for column in np.flatnonzero(bad.any(axis=0)):
        rate = np.gradient(q[:, model.coordinates[column].q_index]) * rate_hz if len(q) > 1 else np.zeros(len(q))
        leaps = bad[:, column] | (np.abs(np.nan_to_num(rate)) > _ASTRAY_RAD_S)
        found[:, column] = leaps | binary_closing(leaps, close)
    return found


def bridge(
    model: SubjectModel, q: FloatArray, unseen: BoolArray, bad: BoolArray, ramp_frames: int, rate_hz: float
) -> tuple[FloatArray, FloatArray]:
    """Return a prior that carries coordinates over frames in which no marker sees them, or which see them badly (T, C).

    The prior is the fit itself where the coordinate is seen, and a monotone cubic between both sides where it is not
    (widened, so that it joins smoothly); before the first and after the last sight it holds still. Returned:
    prior weights (nv,) and q_prior (T, nq). A coordinate that is never seen gets no prior; one that is not seen at times is
    carried over those frames alone. Where nothing on one side tells how to go on, what is seen badly is left as it was fitted.
    """
    beside = max(round(_BESIDE_BAD_S * rate_hz), 1)
    q_prior = np.where(np.isfinite(q), q, model.multibody.neutral())
    weights = np.zeros(model.multibody.nv)
    frames = np.arange(len(q))
    for column, coordinate in enumerate(model.coordinates):
        carried = bool(unseen[:, column].any())
        pulled = unseen[:, column] if carried else _between(bad[:, column], 2 * beside)
        gone = pulled | ~np.isfinite(q[:, coordinate.q_index])
        if not pulled.any() or gone.all():
            continue
        wide = binary_dilation(gone, iterations=max(ramp_frames, 1) if carried else beside)
        known = ~(wide if not wide.all() else gone)
        curve = np.full(len(q), np.nan)
        if known.sum() > 1:
            curve = PchipInterpolator(frames[known], q[known, coordinate.q_index], extrapolate=False)(frames)
        inside = np.isfinite(curve)
        curve[~inside] = np.interp(frames[~inside], frames[known], q[known, coordinate.q_index])
        share = np.ones(len(q)) if carried else _faded(gone, beside)
        mixed = (1.0 - share) * q_prior[:, coordinate.q_index] + share * curve
        q_prior[~known, coordinate.q_index] = mixed[~known]
        weights[coordinate.v_index] = BRIDGE_WEIGHT if carried else REGULARISING_WEIGHT
    return weights, q_prior


def regularised_shares(bad: BoolArray, rate_hz: float) -> FloatArray:
    """Return the shares (T, C), 0 to 1, of the pull with which `bridge` steadies coordinates in frames that see them badly."""
    beside = max(round(_BESIDE_BAD_S * rate_hz), 1)
    shares = np.zeros(bad.shape)
    for column in np.flatnonzero(bad.any(axis=0)):
        pulled = _between(bad[:, column], 2 * beside)
        if pulled.any():
            shares[:, column] = _faded(pulled, beside)
    return shares


def bridge_root(q: FloatArray, is_open: BoolArray) -> tuple[float, FloatArray]:
    """Return a prior that carries the root over frames (T,) in which the markers leave it open, as `bridge` does coordinates.

    q: (T, nq), NaN where nothing is known. Returned: the prior's weight, and the root's part (T, 7) of q_prior: cubic splines
    through the frames on both sides, a quaternion's divided by its length.
    """
    known = np.asarray(np.isfinite(q).all(axis=1))
    result = np.where(known[:, None], q[:, :ROOT_Q], np.eye(ROOT_Q)[3])
    result[known, 3:] = continuous_quaternions(result[known, 3:])
    sure = np.flatnonzero(known & ~is_open)
    for first, stop in finite_stretches(is_open):
        place = np.searchsorted(sure, first)
        beside = sure[max(place - NEIGHBOURS, 0) : place + NEIGHBOURS]
        degree = 3 if len(beside) > 3 else 1  # one frame on each side at least
        result[first:stop] = make_interp_spline(beside, result[beside], k=degree)(np.arange(first, stop))
    result[:, 3:] /= np.linalg.norm(result[:, 3:], axis=1, keepdims=True)
    return BRIDGE_WEIGHT, result


def _between(bad: BoolArray, frames: int) -> BoolArray:
    """The stretches of `bad` (T,) with at least so many frames before and behind them."""
    kept = bad.copy()
    for first, stop in finite_stretches(bad):
        if first < frames or len(bad) - stop < frames:
            kept[first:stop] = False
    return kept


def _faded(bad: BoolArray, frames: int) -> FloatArray:
    """Share (T,) of the bridge: 1 in the frames `bad`, fading to 0 beside them, so that no acceleration jumps."""
    phase = np.clip(distance_transform_edt(~bad) / (frames + 1.0), 0.0, 1.0)
    return np.asarray(0.5 + 0.5 * np.cos(np.pi * phase))


def long_stretches(unseen: BoolArray, longest_frames: int) -> BoolArray:
    """Return the stretches of `unseen` (T, C) that are longer than allowed or reach an end of the trial."""
    lost = np.zeros_like(unseen)
    for column in np.flatnonzero(unseen.any(axis=0)):
        for first, stop in finite_stretches(unseen[:, column]):
            if stop - first > longest_frames or first == 0 or stop == len(unseen):
                lost[first:stop, column] = True
    return lost


# The fit's own limit: of its own curvature, what is left to a coordinate when all others may follow (`kernels.coupled_ik`).
_DETERMINED: Final = 1e-5
_RIDGE: Final = 1e-10
# Frames looked at: which coordinates are open changes with the markers seen, and hardly within a walk.
_MOST_FRAMES: Final = 20
_RIDGE_M2: Final = 1e-8
_JUDGED_EVERY_S: Final = 0.04


def undetermined(
    coupled: CoupledMultibody,
    markers: FollowedMarkers,
    solution: InverseKinematics,
    free: BoolArray,
    pulls: FloatArray,
) -> tuple[int, ...]:
    """Return the places of the coordinates that are open in some of the frames that the fit calls undetermined, one at least.

    free: (n,) coordinates that may move. pulls: (n,) weights of their tasks, as `fit_coordinates` has them.
    """
    frames = np.flatnonzero(solution.status == UNDETERMINED)
    found: set[int] = set()
    looked_at = frames[:: max(1, len(frames) // _MOST_FRAMES)]
    for t, J in zip(looked_at, markers.by_coordinates(coupled, solution.q[looked_at])[..., free], strict=True):
        H = np.einsum("m,mik,mil->kl", markers.weights[t], J, J)
        H += np.diag(pulls[free]) * markers.weights[t].sum()
        found |= set(np.flatnonzero(free)[_open(H)].tolist())
    return tuple(sorted(found))


def root_open(
    coupled: CoupledMultibody,
    markers: FollowedMarkers,
    q: FloatArray,
    free: BoolArray,
    pulls: FloatArray,
    turns: BoolArray,
    rate_hz: float,
) -> BoolArray:
    """Return the frames (T,) of q (T, n) in which the markers seen leave open how a body that hangs on ground is turned.

    As `model.observability.root_unseen`, for an imported model; turns: (n,) coordinates that turn such a body. None where all
    markers together leave it as open.
    """
    visible = markers.weights > 0.0
    turning = np.flatnonzero(turns[free])
    if visible.all() or not len(turning):
        return np.zeros(len(q), dtype=np.bool_)
    weights = np.minimum(markers.weights.max(axis=0), 1.0)

    def judge(q: FloatArray, visible: BoolArray) -> FloatArray:
        J = markers.by_coordinates(coupled, q)[..., free]
        found = []
        for shown in (visible, np.ones_like(visible)):
            H = np.einsum("tm,tmik,tmil->tkl", shown * weights, J, J)
            covariance = np.linalg.inv(H + np.diag(pulls[free] + _RIDGE_M2))
            worst = np.linalg.eigvalsh(covariance[:, turning[:, None], turning])[:, -1]
            found.append(1.0 / np.sqrt(worst))
        return np.stack(found, axis=1)

    lever = through_frames(judge, q, visible, max(round(_JUDGED_EVERY_S * rate_hz), 1))
    return np.asarray((lever[:, 0] < LEAST_LEVER_M) & ~(lever[:, 1] < LEAST_LEVER_M))


def _open(H: FloatArray) -> BoolArray:
    """Coordinates (n,) whose curvature H (n, n) vanishes when the others follow; where none does, the one that keeps least of it.

    The fit judges by the exact curvature, which the markers' distances from their places can make smaller than this.
    """
    own = np.diag(H)
    moves = own > 0.0
    result = ~moves
    scale = np.sqrt(own[moves])
    relative = H[np.ix_(moves, moves)] / scale[:, None] / scale + _RIDGE * np.eye(len(scale))
    left = 1.0 / np.diag(np.linalg.inv(relative))
    result[moves] = left < _DETERMINED
    if not result.any():
        result[np.flatnonzero(moves)[np.argmin(left)]] = True
    return result


# Of a frame's candidates those count that are off by this share of the worst one's distance.
_NEARLY_WORST = 0.6


def relocate_soft_markers(fit: Fit, markers: Markers, mapping: MarkerMapping) -> SubjectModel:
    """Put the markers that ride on soft parts where the walk has them on their segment (median over the frames).

    The model itself comes back where there is none of them.
    """
    model = fit.model
    soft = {role.label for role in mapping.roles if role.soft}
    moved = []
    for marker in model.markers:
        if marker.label in soft:
            R, p = fit.body_pose(marker.body)
            seen = markers.positions[:, markers.labels.index(marker.label)]
            local = np.einsum("tji,tj->ti", R, seen - p)
            known = np.isfinite(local).all(axis=1)
            if known.sum() >= 10:
                marker = replace(marker, p_BM=np.median(local[known], axis=0), source="walk")
        moved.append(marker)
    if all(new is old for new, old in zip(moved, model.markers, strict=True)):
        return model
    return replace(model, markers=tuple(moved))


def outlier_frames(error: FloatArray, limit_m: float) -> BoolArray:
    """Frames (T, M) in which a marker is not where the static trial put it: exchanged, mislabelled, a phantom, or moved.

    `error` (T, M) m is its distance from its place on the fitted skeleton, NaN where unseen.

    Off means farther than `limit_m` and well beyond (2.5 times) its own usual (median) error. A marker whose usual error
    exceeds `limit_m` sits elsewhere and is off in all frames; one that is off in more than a fifth of its frames without
    that is a sign of a wrong model, and its error stays in the account. One wrong marker pulls others along: of a frame's
    candidates only those are outliers that are nearly as far off as the worst.
    """
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
    return np.asarray(candidates & (np.nan_to_num(error) >= _NEARLY_WORST * worst))
