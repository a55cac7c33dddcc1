"""Markers that come and go: weights that fade beside gaps, and coordinates carried over frames that show none of them."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import binary_dilation

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.rigid_body.marker_fit import MIN_MARKERS

# The bridge's pull: as strong as a marker of weight 1 at a lever of 10 cm, weak against any that sees the coordinate well.
_BRIDGE_WEIGHT = 0.01


def visibility_weights(seen: BoolArray, ramp_frames: int) -> FloatArray:
    """Weights (T, M) in 0-1 that fall to 0 towards the edges of a gap over `ramp_frames`; 1 far from gaps.

    The ends of the trial are no gap, nor are frames without enough markers for a pose: there nobody remains whom the
    others could kick by leaving. The fade is a raised cosine: its slope is 0 at both ends.
    """
    frames = len(seen)
    if ramp_frames < 1:
        return seen.astype(float)
    gone = np.where(seen.sum(axis=1) < MIN_MARKERS, np.inf, 0.0)
    distance = np.full(seen.shape, np.inf)
    count = np.full(seen.shape[1], np.inf)
    for t in range(frames):  # frames since the last gap
        count = np.where(seen[t], count + 1.0, gone[t])
        distance[t] = count
    count = np.full(seen.shape[1], np.inf)
    for t in range(frames - 1, -1, -1):
        count = np.where(seen[t], count + 1.0, gone[t])
        distance[t] = np.minimum(distance[t], count)
    phase = np.clip(distance / (ramp_frames + 1.0), 0.0, 1.0)
    return np.where(seen, 0.5 - 0.5 * np.cos(np.pi * phase), 0.0)


def bridge(model: SubjectModel, q: FloatArray, unseen: BoolArray, ramp_frames: int) -> tuple[FloatArray, FloatArray]:
    """Return a prior that carries coordinates over frames in which no marker sees them.

    The prior is the fit itself where the coordinate is seen, and a monotone cubic between both sides where it is not
    (widened by the ramp, so that it joins smoothly); before the first and after the last sight it holds still. Returned:
    prior weights (nv,) and q_prior (T, nq). A coordinate that is never seen gets no prior.
    """
    q_prior = np.where(np.isfinite(q), q, model.multibody.neutral())
    weights = np.zeros(model.multibody.nv)
    frames = np.arange(len(q))
    for column, coordinate in enumerate(model.coordinates):
        gone = unseen[:, column] | ~np.isfinite(q[:, coordinate.q_index])
        if not unseen[:, column].any() or gone.all():
            continue
        wide = binary_dilation(gone, iterations=max(ramp_frames, 1))
        known = ~(wide if not wide.all() else gone)
        curve = np.full(len(q), np.nan)
        if known.sum() > 1:
            curve = PchipInterpolator(frames[known], q[known, coordinate.q_index], extrapolate=False)(frames)
        inside = np.isfinite(curve)
        curve[~inside] = np.interp(frames[~inside], frames[known], q[known, coordinate.q_index])
        q_prior[~known, coordinate.q_index] = curve[~known]
        weights[coordinate.v_index] = _BRIDGE_WEIGHT
    return weights, q_prior


def long_stretches(unseen: BoolArray, longest_frames: int) -> BoolArray:
    """Return the stretches of `unseen` (T, C) that are longer than allowed or reach an end of the trial."""
    lost = np.zeros_like(unseen)
    for column in np.flatnonzero(unseen.any(axis=0)):
        for first, stop in finite_stretches(unseen[:, column]):
            if stop - first > longest_frames or first == 0 or stop == len(unseen):
                lost[first:stop, column] = True
    return lost
