"""Trajectories of markers, or of points that stand for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray

# The person is there while this share of the markers is seen that are seen at best.
_THERE_SHARE = 0.5


@dataclass(frozen=True)
class Markers:
    """Trajectories of the physical markers, or of virtual points set about the poses of segments.

    Attributes:
        labels: cleaned marker labels (subject prefix stripped), unique, in file order; length M.
        positions: (T, M, 3) m; NaN where the marker was not seen. Frame: as the owner says (laboratory in a
            `Recording` fresh from a file, World after `Recording.rotated`).
        rate_hz: frames per second.
        virtual: nobody measured them: they are points of segments whose poses were measured (`SegmentPoses.as_points`).
    """

    labels: tuple[str, ...]
    positions: FloatArray
    rate_hz: float
    virtual: bool = False

    @property
    def frame_count(self) -> int:
        """Number of frames T."""
        return int(self.positions.shape[0])

    @property
    def time_s(self) -> FloatArray:
        """Time of each frame, 0 at the file's first frame; (T,) s."""
        return np.arange(self.frame_count) / self.rate_hz

    def index(self, label: str) -> int:
        """Column of a marker; KeyError if it is not there."""
        try:
            return self.labels.index(label)
        except ValueError:
            raise KeyError(label) from None

    def rotated(self, R: FloatArray) -> Markers:
        """Return the same markers with every position multiplied by R (3, 3)."""
        return replace(self, positions=self.positions @ R.T)


def person_is_there(seen: BoolArray) -> BoolArray:
    """Frames (T,) in which at least half as many markers are `seen` (T, M) as at best; the others are an empty volume."""
    count = seen.sum(axis=1)
    return np.asarray(count >= max(_THERE_SHARE * count.max(initial=0), 1))
