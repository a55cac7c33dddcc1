"""How far measured poses are from the skeleton fitted to them: their origins, and their attitudes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.processing.kinematics.fit import Fit
from biodyn.recording import Markers


@dataclass(frozen=True)
class PoseMisfit:
    """Distances of poses from the skeleton.

    Attributes:
        labels: of the segments (S,). origin_m: (T, S) of their origins. turn_rad: (T, S) angles between the attitudes; NaN where
            a segment was not seen.
    """

    labels: tuple[str, ...]
    origin_m: FloatArray
    turn_rad: FloatArray


def pose_misfit(fit: Fit, points: Markers) -> PoseMisfit:
    """Return the misfit of the poses whose virtual points, as fitted, are `points`."""
    segments = [label.rpartition(".")[0] for label in fit.labels]
    names = tuple(dict.fromkeys(segments))
    groups = np.array([[m for m, segment in enumerate(segments) if segment == name] for name in names])
    places = fit.model.marker_places(fit.link_R_W, fit.link_p_W)
    columns = [points.index(label) for label in fit.labels]
    apart = (points.positions[:, columns] - places)[:, groups]  # (T, S, 4, 3)
    arms = places[:, groups] - places[:, groups].mean(axis=2, keepdims=True)
    # the points are the corners of a tetrahedron: sum (|r|^2 - r r^T) = 2/3 sum |r|^2
    turn = np.cross(arms, apart).sum(axis=2) / (2.0 / 3.0 * np.sum(arms**2, axis=(2, 3)))[..., None]
    return PoseMisfit(
        names, np.asarray(np.linalg.norm(apart.mean(axis=2), axis=2)), np.asarray(np.linalg.norm(turn, axis=2))
    )
