"""A marker that sat elsewhere in the walk than in the static trial: fit without it, and see where it is then.

A moved marker pulls the whole segment along, so its own error stays small and its neighbours' grows. Left out of the fit, the
others agree again, and it stands at a constant distance from its place on the segment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.processing.kinematics import Fit
from biodyn.rigid_body import body_poses, inverse_kinematics
from biodyn.trial import Markers

_FRAMES = 20
_CANDIDATES = 6
# Leaving the marker out must take away this share of the summed squared error ...
_LEAST_SHARE = 0.30
# ... and clearly more than leaving out any other marker does.
_SECOND_BEST = 0.75
# The offset is constant: its spread stays below this share of it.
_SPREAD = 0.6


@dataclass(frozen=True)
class Offset:
    """A marker without which the others fit better: (3,) m in segment axes, its spread m, share of the error it causes."""

    label: str
    body: str
    offset_m: FloatArray
    spread_m: float
    share: float


def moved_marker(fit: Fit, markers: Markers, limit_m: float) -> tuple[Diagnostic, ...]:
    """Name the marker that seems to have moved by more than `limit_m` since the static trial."""
    found = offsets(fit, markers)
    if not found:
        return ()
    first, rest = found[0], found[1:]
    size = float(np.linalg.norm(first.offset_m))
    rivals = [item.share for item in rest]
    if (
        size < limit_m
        or first.spread_m > _SPREAD * size
        or first.share < _LEAST_SHARE
        or (rivals and max(rivals) > _SECOND_BEST * first.share)
    ):
        return ()
    return (
        Diagnostic(
            "marker-moved",
            "warning",
            f"Marker {first.label} sits {1000 * size:.0f} mm from its place on {first.body} in the static trial, constantly "
            f"(spread {1000 * first.spread_m:.0f} mm); without it the other markers' squared error falls by "
            f"{100 * first.share:.0f} %. Nothing was changed.",
            value=size,
            limit=limit_m,
            unit="m",
            hint="It fell off and was stuck on again, or was touched: record a new static trial, or give it the weight 0 "
            "in [inverse_kinematics.marker_weights].",
        ),
    )


def offsets(fit: Fit, markers: Markers) -> list[Offset]:
    """Leave each of the most suspicious markers out in turn; those that relieve the others most come first."""
    model = fit.model
    links, p_LM, weights = model.marker_arrays()
    lower, upper = model.limits()
    columns = [markers.labels.index(marker.label) for marker in model.markers]
    p_WM = markers.positions[:, columns]
    whole = np.flatnonzero(fit.solved)
    if len(whole) < _FRAMES:
        return []
    rows = whole[np.linspace(0, len(whole) - 1, _FRAMES).astype(int)]
    seen = p_WM[rows]
    residual = _residual(fit.link_R_W[rows], fit.link_p_W[rows], links, p_LM, seen)
    base = float(np.nansum(weights * np.nansum(residual**2, axis=2)))
    known = np.isfinite(residual[..., 0])
    enough = known.sum(axis=0) >= _FRAMES // 2
    mean = np.where(known[..., None], residual, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)[:, None]
    pull = np.where(enough, np.linalg.norm(mean, axis=1) * np.sqrt(weights), 0.0)
    found = []
    for column in np.argsort(-pull)[:_CANDIDATES]:
        if pull[column] == 0.0:
            continue
        without = weights.copy()
        without[column] = 0.0
        solution = inverse_kinematics(
            model.multibody, links, p_LM, seen, without, lower, upper, q0=fit.motion.q[rows[0]]
        )
        solved = np.asarray(np.isfinite(solution.q).all(axis=1))
        if solved.sum() < _FRAMES // 2:
            continue
        R, p = body_poses(model.multibody, np.where(solved[:, None], solution.q, model.multibody.neutral()))
        left = _residual(R, p, links, p_LM, seen)
        left[~solved] = np.nan
        cost = float(np.nansum(without * np.nansum(left**2, axis=2)))
        own = left[np.isfinite(left[:, column, 0]), column]
        offset = own.mean(axis=0)
        spread = float(np.sqrt(np.mean(np.sum((own - offset) ** 2, axis=1))))
        marker = model.markers[column]
        found.append(Offset(marker.label, marker.body, offset, spread, 1.0 - cost / base))
    return sorted(found, key=lambda item: item.share, reverse=True)


def _residual(R: FloatArray, p: FloatArray, links: np.ndarray, p_LM: FloatArray, p_WM: FloatArray) -> FloatArray:
    """Measured less model position of each marker in link axes (T, M, 3) m."""
    model = np.einsum("tmij,mj->tmi", R[:, links], p_LM) + p[:, links]
    result: FloatArray = np.einsum("tmji,tmj->tmi", R[:, links], p_WM - model)
    return result
