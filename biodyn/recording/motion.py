"""Dataclasses of a motion: marker trajectories, segment poses, joint coordinates, and configurations of a multibody model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from biodyn.conventions import BoolArray, FloatArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Markers:
    """Trajectories of physical markers, or of virtual points on segments with measured poses.

    Attributes:
        labels: cleaned marker labels (subject prefix stripped), unique, in file order; length M.
        positions: (T, M, 3) m; NaN if the marker was not visible. Axes: laboratory in a `Recording` as read from a file, World
            after `Recording.rotated`.
        rate_hz: frames per second.
        virtual: whether they are virtual points of measured segment poses (`SegmentPoses.as_points`).
    """

    labels: tuple[str, ...]
    positions: FloatArray
    rate_hz: float
    virtual: bool = False

    @property
    def frame_count(self) -> int:
        """Return the number of frames T."""
        return int(self.positions.shape[0])

    @property
    def time_s(self) -> FloatArray:
        """Return the time (T,) s of each frame, 0 at the first frame of the file."""
        return np.arange(self.frame_count) / self.rate_hz

    def to_frame(self) -> pd.DataFrame:
        """Return a table: time_s, then LABEL_x, LABEL_y, LABEL_z of each marker, m."""
        import pandas as pd

        columns = [f"{label}_{axis}" for label in self.labels for axis in "xyz"]
        frame = pd.DataFrame(self.positions.reshape(self.frame_count, -1), columns=columns)
        frame.insert(0, "time_s", self.time_s)
        return frame

    def index(self, label: str) -> int:
        """Return the index of a marker in `labels`; KeyError if the label is unknown."""
        try:
            return self.labels.index(label)
        except ValueError:
            raise KeyError(label) from None

    def select_frames(self, first: int, stop: int) -> Markers:
        """Return the frames from `first` to before `stop`."""
        return replace(self, positions=self.positions[first:stop])

    def rotated(self, R: FloatArray) -> Markers:
        """Return the same markers with every position multiplied by R (3, 3)."""
        return replace(self, positions=self.positions @ R.T)

    def with_spelling_of(self, others: tuple[str, ...]) -> Markers:
        """Return the markers with labels spelled as in `others` (R_Asis, RAsis and R.ASIS are the same label)."""
        if set(self.labels) <= set(others):
            return self
        counts = [Counter(map(normalised_label, labels)) for labels in (others, self.labels)]
        spelled = {normalised_label(label): label for label in others if counts[0][normalised_label(label)] == 1}
        labels = tuple(
            label
            if label in others or counts[1][normalised_label(label)] > 1
            else spelled.get(normalised_label(label), label)
            for label in self.labels
        )
        return replace(self, labels=labels)


def normalised_label(label: str) -> str:
    """Return the letters and digits of a label in lower case."""
    return "".join(character for character in label if character.isalnum()).casefold()


def is_person_visible(seen: BoolArray) -> BoolArray:
    """Return a mask (T,) of the frames that show the person.

    seen: (T, M) whether each marker is visible. At least half of the largest number of visible markers is required.
    """
    # Least number of visible markers while the person is present, as a fraction of the largest number in any frame.
    there_share = 0.5
    count = seen.sum(axis=1)
    return np.asarray(count >= max(there_share * count.max(initial=0), 1))


# Corners of a regular tetrahedron about the origin, with which a fit weights rotations about all axes equally.
_CORNERS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])


@dataclass(frozen=True)
class SegmentPoses:
    """Poses of segments B in axes A (laboratory as read from a file, World after `rotated`).

    Attributes:
        labels: names of the segments, unique, in file order; length S.
        rotations: (T, S, 3, 3) R_AB; the columns are the axes of the segment. NaN if the segment was not visible.
        origins: (T, S, 3) m, p_AB of the origin of the segment. NaN if it was not visible.
        rate_hz: frames per second.
        reliability: (T, S) as stored, None if the file has none.
        landmarks: segment label and position (3,) m in segment axes of every landmark in the file.
    """

    labels: tuple[str, ...]
    rotations: FloatArray
    origins: FloatArray
    rate_hz: float
    reliability: FloatArray | None = None
    landmarks: Mapping[str, tuple[str, FloatArray]] = field(default_factory=dict)

    @property
    def frame_count(self) -> int:
        """Return the number of frames T."""
        return int(self.origins.shape[0])

    @property
    def time_s(self) -> FloatArray:
        """Return the time (T,) s of each frame, 0 at the first frame of the file."""
        return np.arange(self.frame_count) / self.rate_hz

    def pose(self, label: str) -> tuple[FloatArray, FloatArray]:
        """Return R_AB (T, 3, 3) and p_AB (T, 3) m of a segment; KeyError if the label is unknown."""
        if label not in self.labels:
            raise KeyError(label)
        at = self.labels.index(label)
        return self.rotations[:, at], self.origins[:, at]

    def select_frames(self, first: int, stop: int) -> SegmentPoses:
        """Return the frames from `first` to before `stop`."""
        reliability = None if self.reliability is None else self.reliability[first:stop]
        rotations, origins = self.rotations[first:stop], self.origins[first:stop]
        return replace(self, rotations=rotations, origins=origins, reliability=reliability)

    def rotated(self, R: FloatArray) -> SegmentPoses:
        """Return the same poses in another frame: every rotation and origin multiplied by R (3, 3) from the left."""
        return replace(self, rotations=R @ self.rotations, origins=self.origins @ R.T)

    def as_points(self, half_m: float, labels: Collection[str]) -> Markers:
        """Return four virtual points on each segment of `labels`: tetrahedron corners of a cube with edge 2 `half_m` about its
        origin.

        A fit to them weights origins and rotations as 4 |dp|^2 + 8 half_m^2 |dtheta|^2 for small errors.
        """
        columns = [i for i, label in enumerate(self.labels) if label in labels]
        R, p = self.rotations[:, columns, None], self.origins[:, columns, None]
        points = p + (R @ (half_m * _CORNERS)[..., None])[..., 0]
        names = tuple(point_label(self.labels[i], k) for i in columns for k in range(len(_CORNERS)))
        return Markers(names, points.reshape(self.frame_count, -1, 3), self.rate_hz, virtual=True)


def point_label(segment: str, corner: int) -> str:
    """Return the label of a virtual point of a segment."""
    return f"{segment}.{corner + 1}"


def virtual_point_positions(half_m: float) -> FloatArray:
    """Return the positions (4, 3) m of the virtual points of a segment in its axes."""
    return half_m * _CORNERS


CoordinateUnit = Literal["rad", "m", "1"]


@dataclass(frozen=True)
class Coordinates:
    """Generalised coordinates of a model over time.

    They refer to the model with which they were computed, including its ground frame, and are unchanged by a rotation of the
    laboratory axes.

    Attributes:
        labels: names of the coordinates, unique, in file order; length C.
        values: (T, C) in `units`; NaN if a coordinate is unknown.
        units: unit of each coordinate: "rad", "m", or "1" for none.
        rate_hz: frames per second.
    """

    labels: tuple[str, ...]
    values: FloatArray
    units: tuple[CoordinateUnit, ...]
    rate_hz: float

    @property
    def frame_count(self) -> int:
        """Return the number of frames T."""
        return int(self.values.shape[0])

    @property
    def time_s(self) -> FloatArray:
        """Return the time (T,) s of each frame, 0 at the first frame of the file."""
        return np.arange(self.frame_count) / self.rate_hz

    def select_frames(self, first: int, stop: int) -> Coordinates:
        """Return the frames from `first` to before `stop`."""
        return replace(self, values=self.values[first:stop])

    def column(self, label: str) -> FloatArray:
        """Return the values (T,) of one coordinate; KeyError if the label is unknown."""
        if label not in self.labels:
            raise KeyError(label)
        column: FloatArray = self.values[:, self.labels.index(label)]
        return column


@dataclass(frozen=True)
class Motion:
    """Configuration-space motion of a multibody model.

    Attributes:
        time_s: (T,) s.
        q: (T, nq) [x y z, qw qx qy qz, coordinates ...] m and rad.
        v: (T, nv) [omega_B, v_B, coordinate rates ...]: the base part is the body-frame twist, rad/s and m/s.
        vdot: (T, nv) time derivative of the components of v (for the base the spatial acceleration in body axes).
    """

    time_s: FloatArray
    q: FloatArray
    v: FloatArray
    vdot: FloatArray
