"""What the propagation needs of an analysed trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.gait.cycles import gait_cycles
from biodyn.processing.kinematics.fit import Fit, visibility_weights
from biodyn.recording import Contact, GaitEvent, GroundReaction, Markers, PlateWrench


@dataclass(frozen=True)
class TrialInputs:
    """A trial after its inverse dynamics.

    Attributes:
        fit, dynamics, reaction, contacts: of the analysis.
        markers: as fitted (filtered); raw: the same labels with gaps filled, not filtered.
        raw_plates: wrenches at their own rate, not filtered.
        cutoff_hz, force_cutoff_hz, filter_order: of the low-pass filters, 0 = none.
        visibility_ramp_s, weights: of the fit, see `kinematics.fit_markers`.
        stride_s: measured stride time, NaN where there is none.
    """

    fit: Fit
    dynamics: Dynamics
    reaction: GroundReaction
    contacts: Sequence[Contact]
    markers: Markers
    raw: Markers
    raw_plates: Sequence[PlateWrench]
    cutoff_hz: float
    force_cutoff_hz: float
    filter_order: int
    visibility_ramp_s: float
    weights: Mapping[str, float]
    stride_s: float

    @property
    def model(self) -> SubjectModel:
        """The fitted skeleton."""
        return self.fit.model

    @property
    def rate_hz(self) -> float:
        """Frames a second."""
        return self.markers.rate_hz

    def fitted(self, markers: Markers) -> FloatArray:
        """Positions (T, M, 3) of the fitted markers, in the fit's order."""
        return markers.positions[:, [markers.labels.index(label) for label in self.fit.labels]]

    def marker_weights(self, seen: BoolArray) -> FloatArray:
        """Weights (T, M) that the fit gave to the markers seen (T, M)."""
        base = np.array([self.weights.get(marker.label, marker.weight) for marker in self.model.markers])
        return base * visibility_weights(seen, round(self.visibility_ramp_s * self.rate_hz))


def stride_time(events: Sequence[GaitEvent]) -> float:
    """Return the median stride time, s, NaN where no whole stride was seen."""
    durations = [cycle.duration_s for cycle in gait_cycles(events)]
    return float(np.median(durations)) if durations else float("nan")
