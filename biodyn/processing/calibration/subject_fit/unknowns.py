"""What the fit may change, as one vector: joint centres, postures, axial rotation offsets, places of markers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.static_figure import StaticFigure
from biodyn.processing.calibration.subject_fit.priors import Priors


@dataclass(frozen=True)
class Unknowns:
    """The layout of the vector theta (P,), m and rad; zero is the model of the static trial.

    Attributes:
        start: the standing person as the static trial has it; shifts are along the axes that the parents have there.
        centres, postures: by segment, the first of its three places. turns: by segment, its place.
        markers: by marker of the model, the first of its three places.
        sd: (P,) of the prior.
    """

    start: StaticFigure
    centres: Mapping[str, int]
    postures: Mapping[str, int]
    turns: Mapping[str, int]
    markers: Mapping[str, int]
    sd: FloatArray

    @property
    def count(self) -> int:
        """P."""
        return len(self.sd)

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
    """Return what can be asked of a model: centres between segments that both carry markers, and all markers with weight."""
    marked = {marker.body for marker in model.markers}
    moving = [body.definition for body in model.moving]
    jointed = [d.name for d in moving if d.name in marked and d.parent in marked]
    sd: list[float] = []

    def place(sizes: list[float]) -> int:
        sd.extend(sizes)
        return len(sd) - len(sizes)

    centres = {name: place(priors.centre_m[name].tolist()) for name in jointed if name in priors.centre_m}
    postures = {
        name: place([priors.posture_m[name]] * 3)
        for name in jointed
        if name in priors.posture_m and name in model.refined_centres
    }
    turns = {name: place([priors.turn_rad]) for name in model.uncertain_turns if name in marked}
    markers = {}
    for marker in model.markers:
        if marker.weight > 0.0:
            size = priors.soft_m if marker.label in soft else priors.offset_share * priors.marker_m / marker.weight**0.5
            markers[marker.label] = place([size] * 3)
    return Unknowns(StaticFigure.of(model), centres, postures, turns, markers, np.array(sd))
