"""Markers that the static trial does not show, put where the other markers of their segment carry them in the walk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.registration import rigid_fit
from biodyn.model.marker_roles import MarkerMapping, MarkerRole
from biodyn.processing.calibration.standing import Standing
from biodyn.recording import Markers

# Three markers hold a segment; they must span this much across their longest line (a pelvis: 10 cm and more).
_LEAST_MARKERS, _LEAST_SPAN_M = 3, 0.04
_LEAST_FRAMES = 10
# How far the others may be from their shape in the static trial, and the marker from its mean place, RMS: with skin that moves
# 5 to 7 mm on a simulated pelvis; beyond this one of them was moved between the recordings.
_MOST_APART_M = 0.015


@dataclass(frozen=True)
class _Place:
    """A marker's place (3,) m in the static trial's World; how far it and its carriers are from rigid, RMS, m."""

    point: FloatArray
    apart_m: float
    carriers: tuple[str, ...]


def with_carried(standing: Standing, walk: Markers, mapping: MarkerMapping) -> Standing:
    """Return the standing person with each marker that only the walk shows, where its segment carries it.

    Of a segment that shows three other markers in both recordings. `walk`: markers in the walk's World, gaps filled. The note
    `marker-carried-over` says how far the segment's markers are from a rigid body.
    """
    places = {
        role.label: (role, place)
        for role in mapping.roles
        if role.label not in standing.points and role.label in walk.labels and not role.soft
        if (place := _place(role, standing.points, walk, mapping)) is not None
    }
    if not places:
        return standing
    return replace(
        standing,
        points=standing.points | {label: place.point for label, (_, place) in places.items()},
        diagnostics=(*standing.diagnostics, *(_note(role, place) for role, place in places.values())),
    )


def _place(
    missing: MarkerRole, points: Mapping[str, FloatArray], walk: Markers, mapping: MarkerMapping
) -> _Place | None:
    carriers = tuple(
        role.label
        for role in mapping.roles
        if role.body == missing.body and role.label in points and role.label in walk.labels and not role.soft
    )
    if len(carriers) < _LEAST_MARKERS:
        return None
    standing = np.stack([points[label] for label in carriers])
    if np.linalg.svd(standing - standing.mean(axis=0), compute_uv=False)[1] < _LEAST_SPAN_M:
        return None
    walking = walk.positions[:, [walk.index(label) for label in (*carriers, missing.label)]]
    walking = walking[np.isfinite(walking).all(axis=(1, 2))]
    if len(walking) < _LEAST_FRAMES:
        return None
    R, p = rigid_fit(standing, walking[:, :-1])  # from the static trial's World into each frame
    back = np.einsum("tji,tmj->tmi", R, walking - p[:, None])
    place = np.median(back[:, -1], axis=0)
    apart = np.concatenate([(back[:, :-1] - standing).reshape(-1, 3), back[:, -1] - place])
    rms = float(np.sqrt(np.mean(np.sum(apart**2, axis=1))))
    return _Place(place, rms, carriers) if rms < _MOST_APART_M else None


def _note(role: MarkerRole, place: _Place) -> Diagnostic:
    return Diagnostic(
        "marker-carried-over",
        "warning",
        f"{role.label} is not in the static trial: it was put where {', '.join(place.carriers)} carry it in the walk (markers of "
        f"{role.body}, {1000 * place.apart_m:.1f} mm RMS off a rigid body).",
        value=place.apart_m,
        limit=_MOST_APART_M,
        unit="m",
        hint="Use a static trial that shows it: skin moves between standing and walking.",
        about=role.label,
    )
