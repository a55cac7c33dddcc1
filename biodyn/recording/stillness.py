"""Part of a recording with the least marker movement (quiet standing), and size of this movement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.points import lengths
from biodyn.recording.motion import Markers

#: Duration over which the movement is evaluated, s; standing people sway by millimetres in this time.
QUIET_S = 0.5
#: Largest movement of the markers in quiet standing ...
QUIET_RANGE_M = 0.03
#: ... and in any standing.
MOVING_RANGE_M = 0.1
# Number of pieces (half seconds) of a preview, and frames per piece.
_PIECES = 60
_SAMPLES = 6


@dataclass(frozen=True)
class QuietPart:
    """Frames [first, last] with the least marker movement, and this movement, m (inf if no marker is visible)."""

    first: int
    last: int
    movement_m: float


def quiet_length(frame_count: int, rate_hz: float) -> int:
    """Return the number of frames in half a second, at most `frame_count`."""
    return min(frame_count, max(1, round(QUIET_S * rate_hz)))


def quiet_starts(frame_count: int, rate_hz: float) -> range:
    """Return the first frames of the compared half seconds, in steps of 0.1 s."""
    length = quiet_length(frame_count, rate_hz)
    return range(0, frame_count - length + 1, max(1, length // 5))


def quietest_part(markers: Markers) -> QuietPart:
    """Return the first half second with the least marker movement (`movement_m`).

    Only parts with at least half of the markers of the part with most markers are compared.
    """
    length = quiet_length(markers.frame_count, markers.rate_hz)
    starts = quiet_starts(markers.frame_count, markers.rate_hz)
    parts = np.moveaxis(sliding_window_view(markers.positions, length, axis=0)[:: starts.step], -1, 1)
    best, movement = _find_quietest_part(*_part_movements(parts))
    return QuietPart(starts[best], starts[best] + length - 1, movement)


def movement_m(positions: FloatArray) -> float:
    """Return the median over the markers of the diagonal (m) of the bounding box of each trajectory.

    `positions` (T, M, 3) m. Only markers that are visible in all frames are used; inf if there are none.
    """
    return float(_part_movements(positions[None])[0][0])


def _part_movements(parts: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Return the marker movement (P,) m in parts (P, T, M, 3) m, and a mask (P, M) of the markers visible in all frames."""
    visible: BoolArray = np.asarray(np.isfinite(parts[..., 0]).all(axis=1))
    reach = lengths(parts.max(axis=1) - parts.min(axis=1))
    median = median_over_frames(np.where(visible, reach, np.nan).T)
    return np.where(visible.any(axis=1), median, np.inf), visible


def _find_quietest_part(movements_m: FloatArray, visible: BoolArray) -> tuple[int, float]:
    """Return the index and the movement (m) of the quietest part."""
    least_shown = 0.5  # share of the markers in the part with most markers
    count = visible.sum(axis=1)
    comparable = np.where(count < least_shown * count.max(), np.inf, movements_m)
    best = int(np.argmin(comparable))
    return best, float(comparable[best])


@dataclass(frozen=True)
class Preview:
    """Short pieces evenly distributed over a recording, sufficient to distinguish standing from moving.

    Attributes:
        markers: positions (P * F, M, 3) m of the frames of all pieces in succession; `rate_hz` of the recording.
        starts: (P,) first frame of every piece in the recording. piece_frames: F, frames sampled over half a second.
        frame_count: frames of the recording. step: recording frames between two sampled frames.
    """

    markers: Markers
    starts: tuple[int, ...]
    piece_frames: int
    frame_count: int
    step: int

    def piece_positions(self) -> FloatArray:
        """Return the positions (P, F, M, 3) m of every piece."""
        return self.markers.positions.reshape(len(self.starts), self.piece_frames, -1, 3)

    @cached_property
    def _movements(self) -> tuple[FloatArray, BoolArray]:
        return _part_movements(self.piece_positions())

    @property
    def movements_m(self) -> FloatArray:
        """Return the movement of the markers in every piece, (P,) m; inf if no marker is visible in all its frames."""
        return self._movements[0]

    def quietest_piece(self) -> QuietPart:
        """Return the piece with the least marker movement, in frames of the recording."""
        best, movement = _find_quietest_part(*self._movements)
        return QuietPart(self.starts[best], self.starts[best] + (self.piece_frames - 1) * self.step, movement)

    def quiet_markers(self) -> Markers:
        """Return the markers in the quietest piece; markers not visible in it are taken from the whole preview.

        The result has one frame: the median position of each marker, m; NaN if it is never visible.
        """
        positions = median_over_frames(self.piece_positions()[_find_quietest_part(*self._movements)[0]])
        unseen = ~np.isfinite(positions[:, 0])
        positions[unseen] = median_over_frames(self.markers.positions[:, unseen])
        return Markers(self.markers.labels, positions[None], self.markers.rate_hz)


def preview_frames(frame_count: int, rate_hz: float) -> tuple[tuple[int, ...], int, int]:
    """Return the first frames of the pieces, the frames per piece, and the step between sampled frames."""
    length = quiet_length(frame_count, rate_hz)
    step = max(1, (length - 1) // (_SAMPLES - 1))
    samples = (length - 1) // step + 1
    starts: Sequence[int] = quiet_starts(frame_count, rate_hz)
    if len(starts) > _PIECES:
        starts = [starts[i] for i in np.linspace(0, len(starts) - 1, _PIECES).round().astype(int)]
    return tuple(starts), samples, step


def make_preview(markers: Markers) -> Preview:
    """Return the preview of a recording that was already read."""
    starts, samples, step = preview_frames(markers.frame_count, markers.rate_hz)
    frames = [start + step * i for start in starts for i in range(samples)]
    some = Markers(markers.labels, markers.positions[frames], markers.rate_hz)
    return Preview(some, starts, samples, markers.frame_count, step)


def median_over_frames(values: FloatArray) -> FloatArray:
    """Return the median over the first axis ignoring NaN (NaN if all are); same result as `numpy.nanmedian` but much faster."""
    ordered = np.sort(values, axis=0)  # NaN are sorted last
    count = np.isfinite(ordered).sum(axis=0)
    if count.size and count.min() == len(ordered):
        return 0.5 * (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2])
    low, high = np.maximum((count - 1) // 2, 0)[None], np.maximum(count // 2, 0)[None]
    middle = 0.5 * (
        np.take_along_axis(ordered, low, axis=0)[0] + np.take_along_axis(ordered, high % len(ordered), axis=0)[0]
    )
    median: FloatArray = np.where(count > 0, middle, np.nan)
    return median
