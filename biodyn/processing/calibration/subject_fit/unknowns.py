"""What the fit may change, as one vector: joint centres, postures, axial rotation offsets, places of markers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.static_figure import StaticFigure
from biodyn.processing.calibration.subject_fit.priors import Priors

# Free rotations of a joint whose axes do not matter to where the markers can be.
_BALL = 3
# A light marker's error against that of its segment's heaviest.
_MOST_SPREAD = 2.0
# Mirrored through the sagittal plane X-Y.
_MIRROR = (1.0, 1.0, -1.0)


@dataclass(frozen=True)
class Unknowns:
    """The layout of the vector theta (P,), m and rad; zero is the model of the static trial.

    Attributes:
        start: the standing person as the static trial has it; shifts are along the axes that the parents have there.
        centres, postures: by segment, the first of its three places. turns: by segment, its place.
        markers: by marker of the model, the first of its three places; these come last.
        covariance: (P, P) of the prior.
        marker_m: (M,) standard deviation of the error of each of the model's markers; infinite where it has no weight.
        soft: labels of markers whose place on the segment the static trial does not tell.
    """

    start: StaticFigure
    centres: Mapping[str, int]
    postures: Mapping[str, int]
    turns: Mapping[str, int]
    markers: Mapping[str, int]
    covariance: FloatArray
    marker_m: FloatArray
    soft: frozenset[str]

    @property
    def count(self) -> int:
        """P."""
        return len(self.covariance)

    @property
    def of_joints(self) -> int:
        """How many of them, the first, move whole segments."""
        return min(self.markers.values(), default=self.count)

    @cached_property
    def information(self) -> FloatArray:
        """(P, P) of the prior."""
        return np.asarray(np.linalg.inv(self.covariance), dtype=np.float64)

    @cached_property
    def sd(self) -> FloatArray:
        """Standard deviations (P,) of the prior."""
        return np.sqrt(np.diag(self.covariance))

    def shift(self, theta: FloatArray, name: str) -> FloatArray:
        """Shift (3,) m of a joint centre in the axes of its parent in the static trial."""
        at = self.centres[name]
        return theta[at : at + 3]

    def figure(self, theta: FloatArray) -> StaticFigure:
        """The standing person for theta."""
        shifts = {name: self.start.R_WB[self.start.parent[name]] @ self.shift(theta, name) for name in self.centres}
        return self.start.moved(shifts, {name: float(theta[at]) for name, at in self.turns.items()})

    def posture_shifts(self, theta: FloatArray) -> dict[str, FloatArray]:
        """Shift (3,) m of segments against their parents, in the parents' axes."""
        return {name: theta[at : at + 3] for name, at in self.postures.items()}

    def marker_shifts(self, theta: FloatArray) -> dict[str, FloatArray]:
        """Shift (3,) m of markers in the axes of their segments."""
        return {label: theta[at : at + 3] for label, at in self.markers.items()}


def unknowns_of(model: SubjectModel, soft: frozenset[str], priors: Priors) -> Unknowns:
    """Return what can be asked of a model: centres between segments that both carry markers, and all markers with weight.

    Axes turn where the segment's far end is a hinge that both sides see. The covariance is that of the intrinsic scatter; what
    misplaced markers add is the business of `placement`.
    """
    marked = {marker.body for marker in model.markers}
    free = Counter(coordinate.body for coordinate in model.coordinates)
    jointed = [d.name for d in (body.definition for body in model.moving) if d.name in marked and d.parent in marked]
    start = StaticFigure.of(model)
    sd: list[float] = []

    def place(sizes: list[float]) -> int:
        sd.extend(sizes)
        return len(sd) - len(sizes)

    centres = {name: place(priors.centre_m[name].tolist()) for name in jointed if name in priors.centre_m}
    turns = {
        name: place([priors.turn_rad[name]])
        for name in jointed
        if name in priors.turn_rad and start.far_end.get(name) in jointed and free[start.far_end[name]] < _BALL
    }
    postures = {
        name: place([priors.posture_m[name]] * 3)
        for name in jointed
        if name in priors.posture_m and name in model.refined_centres
    }
    marker_m = _marker_errors(model, priors)
    markers = {
        marker.label: place([priors.soft_m if marker.label in soft else priors.offset_share * error] * 3)
        for marker, error in zip(model.markers, marker_m.tolist(), strict=True)
        if np.isfinite(error)
    }
    covariance = np.diag(np.square(sd))
    for right, left in pairs(centres):
        for axis, sign in enumerate(_MIRROR):
            i, j = centres[right] + axis, centres[left] + axis
            covariance[i, j] = covariance[j, i] = sign * priors.symmetry * sd[i] * sd[j]
    for right, left in pairs(turns):
        i, j = turns[right], turns[left]
        covariance[i, j] = covariance[j, i] = -priors.symmetry * sd[i] * sd[j]
    return Unknowns(start, centres, postures, turns, markers, covariance, marker_m, soft)


def _marker_errors(model: SubjectModel, priors: Priors) -> FloatArray:
    """Standard deviation (M,) m of each marker's error along an axis; infinite where the fit gives it no weight."""
    largest: dict[str, float] = {}
    for marker in model.markers:
        largest[marker.body] = max(marker.weight, largest.get(marker.body, 0.0))
    return np.array(
        [
            priors.marker_m[m.body] * min((largest[m.body] / m.weight) ** 0.5, _MOST_SPREAD)
            if m.weight > 0.0 and m.body in priors.marker_m
            else np.inf
            for m in model.markers
        ]
    )


def pairs(names: Mapping[str, int]) -> list[tuple[str, str]]:
    """Right and left of those that are there on both sides."""
    bare = [name.removesuffix("_r") for name in names if name.endswith("_r")]
    return [(f"{name}_r", f"{name}_l") for name in bare if f"{name}_l" in names]
