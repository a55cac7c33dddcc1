"""Positions and orientations of body segments, as markerless systems deliver them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray

_NO_ROTATION = 1e-4  # largest error of R R^T: files of single precision keep 1e-6, of four decimals 1e-4


@dataclass(frozen=True)
class SegmentPoses:
    """Pose of every segment B in every frame, in the frame of the owner (A: laboratory in a file, World after `rotated`).

    Attributes:
        labels: names of the segments, unique, in file order; length S.
        rotations: (T, S, 3, 3) R_AB; its columns are the segment's axes. NaN where the segment was not seen.
        origins: (T, S, 3) m, p_AB of the segment's origin. NaN where it was not seen.
        rate_hz: frames per second.

    Raises ValueError where shapes, labels or rate do not fit each other, or where a matrix is no rotation.
    """

    labels: tuple[str, ...]
    rotations: FloatArray
    origins: FloatArray
    rate_hz: float

    def __post_init__(self) -> None:
        count = len(self.labels)
        if len(set(self.labels)) != count:
            raise ValueError("two segments have one label")
        if self.origins.ndim != 3 or self.origins.shape[1:] != (count, 3):
            raise ValueError(f"origins of {count} segments are (T, {count}, 3), not {self.origins.shape}")
        if self.rotations.shape != (*self.origins.shape, 3):
            raise ValueError(f"rotations are {(*self.origins.shape, 3)}, not {self.rotations.shape}")
        if not (np.isfinite(self.rate_hz) and self.rate_hz > 0.0):
            raise ValueError(f"the rate is {self.rate_hz} Hz")
        seen = self.rotations[np.isfinite(self.rotations).all(axis=(2, 3))]
        error = np.abs(seen @ seen.swapaxes(1, 2) - np.eye(3))
        if (error > _NO_ROTATION).any() or (np.linalg.det(seen) < 0.0).any():
            raise ValueError("a matrix is no right-handed rotation")

    @property
    def frame_count(self) -> int:
        """Number of frames T."""
        return int(self.origins.shape[0])

    @property
    def time_s(self) -> FloatArray:
        """Time of each frame, 0 at the file's first frame; (T,) s."""
        return np.arange(self.frame_count) / self.rate_hz

    def rotated(self, R: FloatArray) -> SegmentPoses:
        """Return the same poses in another frame: every rotation and origin multiplied by R (3, 3) from the left."""
        return replace(self, rotations=R @ self.rotations, origins=self.origins @ R.T)
