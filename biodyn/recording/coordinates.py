"""Joint coordinates that were computed elsewhere, as OpenSim's motion files hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray

CoordinateUnit = Literal["rad", "m", "1"]


@dataclass(frozen=True)
class Coordinates:
    """Generalised coordinates of a model over time.

    They belong to the model that they were computed with, the ground frame of that model included: another laboratory
    frame does not change them.

    Attributes:
        labels: names of the coordinates, unique, in file order; length C.
        values: (T, C) in `units`; NaN where a coordinate is not known.
        units: of each coordinate: "rad", "m", or "1" where it has none.
        rate_hz: frames per second.

    Raises ValueError where shapes, labels, units or rate do not fit each other.
    """

    labels: tuple[str, ...]
    values: FloatArray
    units: tuple[CoordinateUnit, ...]
    rate_hz: float

    def __post_init__(self) -> None:
        count = len(self.labels)
        if len(set(self.labels)) != count:
            raise ValueError("two coordinates have one label")
        if self.values.ndim != 2 or self.values.shape[1] != count:
            raise ValueError(f"values of {count} coordinates are (T, {count}), not {self.values.shape}")
        if len(self.units) != count or not {*self.units} <= {"rad", "m", "1"}:
            raise ValueError(f"{count} coordinates need as many units of rad, m or 1, not {self.units}")
        if not (np.isfinite(self.rate_hz) and self.rate_hz > 0.0):
            raise ValueError(f"the rate is {self.rate_hz} Hz")

    @property
    def frame_count(self) -> int:
        """Number of frames T."""
        return int(self.values.shape[0])

    @property
    def time_s(self) -> FloatArray:
        """Time of each frame, 0 at the file's first frame; (T,) s."""
        return np.arange(self.frame_count) / self.rate_hz

    def column(self, label: str) -> FloatArray:
        """Values of one coordinate, (T,); KeyError if it is not there."""
        if label not in self.labels:
            raise KeyError(label)
        column: FloatArray = self.values[:, self.labels.index(label)]
        return column
