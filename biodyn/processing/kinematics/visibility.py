"""Markers that come and go: weights that fade beside gaps, and coordinates carried over frames that show none of them."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator, make_interp_spline
from scipy.ndimage import binary_closing, binary_dilation, distance_transform_edt

from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.rotations import continuous_quaternions
from biodyn.model.body_model import SubjectModel
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.gaps import NEIGHBOURS
from biodyn.rigid_body.marker_fit import MIN_MARKERS

#: The bridge's pull: as strong as a marker of weight 1 at a lever of 10 cm, weak against any that sees the coordinate well.
BRIDGE_WEIGHT = 0.01
#: Over frames that see the coordinate badly: about as strong as what they still tell.
STEADYING_WEIGHT = 0.04**2
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
        weights[coordinate.v_index] = BRIDGE_WEIGHT if carried else STEADYING_WEIGHT
    return weights, q_prior


def steadied(bad: BoolArray, rate_hz: float) -> FloatArray:
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
