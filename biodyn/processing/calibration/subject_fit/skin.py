"""Skin that slides over the bone as the neighbouring joints bend: the same way in every stride, and in every trial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.processing.calibration.subject_fit.derivatives import Posed
from biodyn.processing.calibration.subject_fit.priors import Priors
from biodyn.processing.calibration.subject_fit.unknowns import Unknowns


@dataclass(frozen=True)
class Skin:
    """Markers that slide in proportion to angles: c (S, 3) m/rad, S slides, axes of their segments, all beside zero.

    Attributes:
        marker, coordinate: (S,) indices of the model's marker and coordinate of each.
        static_rad: (S,) of the coordinate, where no marker is off its place.
        covariance: (3 S, 3 S) of the prior; the markers of a segment slide together in part.
    """

    marker: tuple[int, ...]
    coordinate: tuple[int, ...]
    static_rad: FloatArray
    covariance: FloatArray

    @property
    def count(self) -> int:
        """Of unknown numbers, 3 S."""
        return len(self.covariance)

    def jacobian(self, model: SubjectModel, q: FloatArray, at: Posed) -> FloatArray:
        """Return (T, M, 3, 3 S): how far the markers move in World for one unit of each slide."""
        J = np.zeros((len(q), len(model.markers), 3, self.count))
        columns = [c.q_index for c in model.coordinates]
        for k, (i, c) in enumerate(zip(self.marker, self.coordinate, strict=True)):
            bent = q[:, columns[c]] - self.static_rad[k]
            J[:, i, :, 3 * k : 3 * k + 3] = at.R_WB[model.markers[i].body] * bent[:, None, None]
        return J


def skin_of(model: SubjectModel, unknowns: Unknowns, priors: Priors) -> Skin:
    """Return the slides of the markers that the fit places, with the flexion of the joints at both ends of their segment."""
    static = model.static_configuration(np.eye(3), np.zeros(3))
    bends: dict[str, list[int]] = {}
    for index, c in enumerate(model.coordinates):
        definition = next(body.definition for body in model.bodies if body.definition.name == c.body)
        if definition.rotations and definition.rotations[0].coordinate == c.name:
            for segment in (definition.name, definition.parent):
                bends.setdefault(segment, []).append(index)
    marker, coordinate, sizes = [], [], []
    for i, one in enumerate(model.markers):
        if one.label in unknowns.markers and one.body in priors.skin_m_rad:
            for index in bends.get(one.body, ()):
                marker.append(i)
                coordinate.append(index)
                sizes.append(priors.skin_m_rad[one.body])
    sd = np.array(sizes)
    bodies = [model.markers[i].body for i in marker]
    together = np.array(
        [
            [priors.skin_common * (bodies[a] == bodies[b] and coordinate[a] == coordinate[b]) for b in range(len(sd))]
            for a in range(len(sd))
        ]
    ).reshape(len(sd), len(sd))
    np.fill_diagonal(together, 1.0)
    columns = [c.q_index for c in model.coordinates]
    return Skin(
        tuple(marker),
        tuple(coordinate),
        static[[columns[c] for c in coordinate]],
        np.kron(together * np.outer(sd, sd), np.eye(3)),
    )
