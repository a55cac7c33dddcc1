"""What is done in a recording, by its markers alone: standing, moving one leg, moving in place, travelling.

Told from a glimpse of the recording, without labels: no vocabulary of markers can be wrong here. Feet are the markers that
are lowest while the person stands quietest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io import read_glimpse
from biodyn.recording import Glimpse, QuietPart
from biodyn.recording.stillness import MOVING_RANGE_M, QUIET_RANGE_M, movement_m

MotionKind = Literal["standing", "one_leg", "in_place", "travelling"]

_TRAVEL_M = 0.5  # typical range of the markers: further than anybody gets without a step or two
_SWAY_M = 0.06  # typical range of a marker while standing; swaying heads reach 0.03 m in three seconds
_FOOT_STAYS_M, _FOOT_MOVES_M = 0.05, 0.12
_FEET_SHARE = 0.25  # of the markers: the lowest
_FEWEST_MARKERS = 4  # fewer are a wand or a calibration frame, no person
_LONG_STILL = 0.3  # of the recording: who steps into place and stands as long as this came to stand


@dataclass(frozen=True)
class MotionFacts:
    """What is done in a recording.

    Attributes:
        kind: "standing" all the time, or long after stepping into place; "one_leg": one foot stands while the other moves,
            without travel; "in_place": anything else without travel; "travelling".
        quiet: the half second in which the markers move least.
        typical_m: median over the markers of the largest range of a coordinate, m. still_share: of the recording.
    """

    kind: MotionKind
    quiet: QuietPart
    typical_m: float
    still_share: float

    @property
    def stands(self) -> bool:
        """True where the quietest half second can calibrate: the person stands still in it.

        Who travels may only move as people do who stand; who stays may sway more.
        """
        limit = QUIET_RANGE_M if self.kind == "travelling" else MOVING_RANGE_M
        return self.quiet.movement_m <= limit

    def sentence(self) -> str:
        """What is done, for people."""
        quiet = f"the markers move by {1000.0 * self.quiet.movement_m:.0f} mm in the quietest half second"
        done = {
            "standing": "the person stands still",
            "one_leg": "one foot stands while the other leg moves",
            "in_place": "the person moves without travelling",
            "travelling": f"the person travels {self.typical_m:.1f} m",
        }[self.kind]
        return f"{done}; {quiet}"


def motion_facts(glimpse: Glimpse) -> MotionFacts | None:
    """Return what is done, None where the markers are too few to be a person's."""
    positions = glimpse.markers.positions
    seen = np.isfinite(positions[..., 0]).any(axis=0)
    if seen.sum() < _FEWEST_MARKERS:
        return None
    positions = positions[:, seen]
    quiet = glimpse.quietest()
    reach = np.nanmax(positions, axis=0) - np.nanmin(positions, axis=0)
    ranges = reach.max(axis=1)
    typical = float(np.median(ranges))
    still = float(np.mean([movement_m(piece) <= QUIET_RANGE_M for piece in glimpse.pieces()]))
    kind = _kind(quiet, typical, still, _feet(glimpse.quiet_markers().positions[0, seen], reach))
    return MotionFacts(kind, quiet, typical, still)


def _kind(quiet: QuietPart, typical: float, still: float, feet: FloatArray) -> MotionKind:
    if typical > _TRAVEL_M:
        return "travelling"
    if quiet.movement_m <= QUIET_RANGE_M and typical <= _SWAY_M and (feet <= _FOOT_STAYS_M).all():
        return "standing"
    if typical <= _FOOT_MOVES_M * 2.0 and feet.min() <= _FOOT_STAYS_M and feet.max() >= _FOOT_MOVES_M:
        return "one_leg"
    stepped_into_place = feet.min() > _FOOT_STAYS_M
    if quiet.movement_m <= QUIET_RANGE_M and still >= _LONG_STILL and stepped_into_place:
        return "standing"
    return "in_place"


def _feet(standing: FloatArray, reach: FloatArray) -> FloatArray:
    """Ranges of the lowest markers, m: (M, 3) places while standing, (M, 3) what each coordinate ranges over."""
    known = np.isfinite(standing[:, 0])
    standing, reach = standing[known], reach[known]
    if not len(standing):
        return np.zeros(1)
    span = standing.max(axis=0) - standing.min(axis=0)
    up = int(np.argmax(span))  # a standing person is longest upwards
    height = standing[:, up]
    # the floor is the laboratory's zero: the end of the body that is nearer to it
    from_floor = height - height.min() if abs(height.min()) <= abs(height.max()) else height.max() - height
    lowest = np.argsort(from_floor)[: max(_FEWEST_MARKERS, round(_FEET_SHARE * len(height)))]
    ranges: FloatArray = reach[lowest].max(axis=1)
    return ranges


def motion_of(path: Path) -> MotionFacts | None:
    """Return what is done in a file, None where its markers cannot be read or are too few."""
    try:
        return motion_facts(glimpse_of_file(path))
    except (InputFileError, OSError):
        return None


def glimpse_of_file(path: Path) -> Glimpse:
    """Return the glimpse of a file, remembered for the next who asks; InputFileError as for `read_glimpse`."""
    known = path.stat()
    return _glimpse(path, known.st_size, known.st_mtime_ns)


@lru_cache(maxsize=128)
def _glimpse(path: Path, size: int, changed_ns: int) -> Glimpse:
    return read_glimpse(path)
