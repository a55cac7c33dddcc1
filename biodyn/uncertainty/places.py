"""One standard deviation of where the joints and the ends of the segments are, by the same errors as the bands of the torques.

An error moves the fitted configuration by a step xi (`fit_response`), and a point of the body by J xi; an error of the model
itself (a joint centre) moves it besides, at the same configuration. Of the covariance of a point, the largest extent is kept: in
any one direction it is uncertain by no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.uncertainty.error_sources import Fitted

#: Within 80 ms these change by little.
RATE_HZ = 12.5


@dataclass(frozen=True, eq=False)
class PlaceUncertainty:
    """Standard deviations of the points of a `StickFigure`.

    Attributes:
        frames: (K,) numbers of the frames for which they are known.
        sd_m: (K, 2 B) m, joints first, in the direction in which each is least certain.
    """

    frames: IntArray
    sd_m: FloatArray


@dataclass(eq=False)
class Places:
    """Gathers the uncertainty of the points of a fitted tree; of every so many frames."""

    fitted: Fitted
    every: int
    frames: list[IntArray] = field(default_factory=list)
    sd_m: list[FloatArray] = field(default_factory=list)

    def wanted(self, frames: IntArray) -> IntArray:
        """Which of the frames (T,), by their places, are to be known."""
        return np.flatnonzero(frames % self.every == 0)

    def add(
        self,
        frames: IntArray,
        q: FloatArray,
        by_errors: Sequence[tuple[FloatArray, FloatArray]],
        steps: FloatArray,
        models: Mapping[int, tuple[float, Fitted]],
    ) -> None:
        """Add frames (K,) with q (K, nq).

        Parameters:
            by_errors: steps (K, nv, N) of the configuration a unit of each error, and the errors' variances (K or 1, N).
            steps: (K, nv, P) of one standard deviation each of P parameters.
            models: those that are parameters of the model, by their column: how many of its steps make a standard deviation, and
                the model after one step.
        """
        own = self.fitted
        J = own.figure.jacobians(own.tree, q)
        wide = J.reshape(len(q), -1, J.shape[3])
        covariance = np.zeros((*J.shape[:3], 3))
        for columns, variance in by_errors:
            moved = (wide @ columns).reshape(*J.shape[:3], -1)
            covariance += (moved * variance[:, None, None]) @ moved.transpose(0, 1, 3, 2)
        moved = (wide @ steps).reshape(*J.shape[:3], -1)
        here = own.figure.at(own.tree, q)
        for column, (factor, other) in models.items():
            moved[..., column] += factor * (other.figure.at(other.tree, q) - here)
        covariance += moved @ moved.transpose(0, 1, 3, 2)
        self.frames.append(frames)
        self.sd_m.append(largest_extent(covariance))


def found_places(places: Places) -> PlaceUncertainty | None:
    """Return what was gathered; None where nothing was."""
    if not places.frames:
        return None
    return PlaceUncertainty(np.concatenate(places.frames), np.concatenate(places.sd_m))


def largest_extent(covariance: FloatArray) -> FloatArray:
    """Return the standard deviations (...) along the first principal axes of covariances (..., 3, 3)."""
    return np.sqrt(np.maximum(np.linalg.eigvalsh(covariance)[..., -1], 0.0))
