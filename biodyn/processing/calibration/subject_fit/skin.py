"""Skin that slides over the bone as the neighbouring joints bend: the same way in every stride, and in every trial."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from biodyn.conventions import FloatArray, IntArray
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

    @cached_property
    def information(self) -> FloatArray:
        """(3 S, 3 S) of the prior."""
        return np.asarray(np.linalg.inv(self.covariance), dtype=np.float64)

    def of_marker(self, model: SubjectModel, i: int, q: FloatArray, at: Posed) -> tuple[IntArray, FloatArray]:
        """Return the numbers (c,) of the unknowns that move marker i, and how far one unit of each does in World (T, 3, c)."""
        slides = [k for k, marker in enumerate(self.marker) if marker == i]
        if not slides:
            return np.zeros(0, dtype=np.int64), np.zeros((len(q), 3, 0))
        R = at.R_WB[model.markers[i].body]
        angles = [model.coordinates[self.coordinate[k]].q_index for k in slides]
        bent = q[:, angles] - self.static_rad[slides]
        moved = R[:, :, None, :] * bent[:, None, :, None]
        numbers = (3 * np.array(slides)[:, None] + np.arange(3)).ravel()
        return numbers, moved.reshape(len(q), 3, -1)


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
