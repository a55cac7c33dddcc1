"""Markers that are not where the static trial put them: on soft parts, exchanged, or moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.kinematics.fit import Fit
from biodyn.recording import Markers

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
