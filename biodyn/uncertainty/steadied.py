"""Coordinates that the fit steadies where a leg's posture hides them: where, and how strongly.

Where a straight knee hides how the thigh is turned, the fit pulls the hip's rotation towards a curve through the frames on both
sides (`processing.kinematics.visibility.bridge`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.observability import badly_seen
from biodyn.processing.kinematics.visibility import STEADYING_WEIGHT, steadied
from biodyn.processing.signals.filtering import finite_stretches


@dataclass(frozen=True)
class Stretch:
    """Frames first .. stop - 1 in which the coordinate at `place` in v is steadied by the pull (stop - first,)."""

    place: int
    first: int
    stop: int
    pull: FloatArray

    @property
    def sides(self) -> tuple[int, int]:
        """The last frame before it and the first one behind it."""
        return self.first - 1, self.stop


def stretches_of(
    model: SubjectModel, lever: FloatArray, steady_lever_m: float, rate_hz: float, moving: BoolArray
) -> tuple[Stretch, ...]:
    """Return the stretches that the fit steadies, for levers (T, C) m with all markers seen; moving: (T,) frames with a pose."""
    shares = steadied(badly_seen(model, lever, steady_lever_m), rate_hz)
    found = []
    for column in np.flatnonzero(shares.any(axis=0)):
        for first, stop in finite_stretches(shares[:, column] > 0.0):
            if first > 0 and stop < len(shares) and moving[first - 1 : stop + 1].all():
                pull = STEADYING_WEIGHT * shares[first:stop, column]
                found.append(Stretch(model.coordinates[column].v_index, first, stop, pull))
    return tuple(found)


def pulls(stretches: Sequence[Stretch], frames: int, nv: int) -> FloatArray:
    """Return the pull (T, nv) on each coordinate."""
    result = np.zeros((frames, nv))
    for one in stretches:
        result[one.first : one.stop, one.place] = one.pull
    return result
