"""The quiet part of a static trial, averaged; frames of a walk in which a foot stands flat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StaticTrialError
from biodyn.processing.signals.spikes import without_spikes
from biodyn.recording import Markers, quietest_part
from biodyn.recording.stillness import MOVING_RANGE_M, QUIET_RANGE_M, movement_m

#: What tells where joints and markers are on a person's segments: a static trial; a part of another recording in which the
#: person stands quietly; the joint offsets that the laboratory's software stored; the motion of the walk alone; poses of
#: segments, which tell joint centres and axes themselves; or an OpenSim model, which has them.
CalibrationSource: TypeAlias = Literal["static trial", "quiet part", "stored offsets", "walk", "poses", "model"]
#: Each of them in words, where it had to do instead of a static trial.
SOURCE_WORDS: dict[CalibrationSource, str] = {
    "static trial": "a static trial",
    "quiet part": "a part of a recording in which the subject stands",
    "stored offsets": "the joint offsets that the laboratory's software stored, and the walk itself",
    "walk": "the walk itself",
    "poses": "the poses of its segments",
    "model": "an OpenSim model",
}

# A foot is flat while its markers are this near to their own lowest height and most of them rise or fall slower than this, for
# this long; at both ends of that time heel or toes are still on their way.
_LOW_PERCENT = 5.0
_LOW_M = 0.035
_RISING_M_S = 0.08
_MOST_MARKERS = 0.8
_LEAST_FLAT_S = 0.06
_MARGIN_SHARE = 0.2
_LEAST_FRAMES = 10


@dataclass(frozen=True)
class Standing:
    """Mean marker positions (3,) m by label over the quietest window; frames [first, last]; how far markers moved, m.

    Where the walk itself had to tell, the positions are those of an assembled person over all its frames, and `movement_m` is
    how far markers typically are from their mean place on their segment.
    """

    points: dict[str, FloatArray]
    first: int
    last: int
    movement_m: float
    diagnostics: tuple[Diagnostic, ...]


def quiet_standing(markers: Markers, frames: tuple[int, int] | None = None) -> Standing:
    """Average every marker over the half second in which the markers move least, or over the frames (first, last) that are named.

    Markers that are seen at some time but not in that window are averaged over the frames that show them; frames in which one
    jumps away and back do not. Raises StaticTrialError if the subject moves all the time.
    """
    markers = without_spikes(markers)
    p = markers.positions
    seen = np.isfinite(p[..., 0])
    if frames is None:
        quiet = quietest_part(markers)
        first, last, moved = quiet.first, quiet.last, quiet.movement_m
    else:
        first, last = frames
        moved = movement_m(p[first : last + 1])
    moved = moved if np.isfinite(moved) else 0.0
    window = slice(first, last + 1)
    points: dict[str, FloatArray] = {}
    for column, label in enumerate(markers.labels):
        inside = p[window, column][seen[window, column]]
        sample = inside if len(inside) else p[seen[:, column], column]
        if len(sample):
            points[label] = sample.mean(axis=0)
    when = "the quietest half second" if frames is None else "the frames that were named"
    if moved > MOVING_RANGE_M:
        raise StaticTrialError(
            f"Not a static trial: its markers move by {100 * moved:.0f} cm even in {when} "
            f"(expected less than {100 * MOVING_RANGE_M:.0f} cm).",
            "Name a trial in which the subject stands still with --static, or none with --static none.",
        )
    diagnostics: tuple[Diagnostic, ...] = ()
    if moved > QUIET_RANGE_M:
        diagnostics = (
            Diagnostic(
                "static-moves",
                "warning",
                f"The markers move by {1000 * moved:.0f} mm in {when} of the static trial.",
                value=moved,
                limit=QUIET_RANGE_M,
                unit="m",
                hint="Use a trial in which the subject stands still.",
            ),
        )
    return Standing(points, first, last, moved, diagnostics)


def flat_frames(positions: FloatArray, rate_hz: float) -> BoolArray:
    """Return the frames (T,) in which a foot stands flat: all its markers (T, M, 3) are low, and hardly one rises or falls.

    The heel has come down and has not risen yet: the middle of the stance. Where the floor goes (treadmill) does not matter.
    """
    height = positions[..., 1]
    whole = np.isfinite(height).all(axis=1)
    flat = np.zeros(len(height), dtype=bool)
    if np.count_nonzero(whole) < _LEAST_FRAMES:
        return flat
    low = np.all(height - np.percentile(height[whole], _LOW_PERCENT, axis=0) < _LOW_M, axis=1)
    rate = np.abs(np.gradient(height, 1.0 / rate_hz, axis=0))
    still = np.mean(rate < _RISING_M_S, axis=1) >= _MOST_MARKERS
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (whole & low & still).astype(int), [0]])))
    for first, stop in zip(edges[::2], edges[1::2], strict=True):
        margin = round(_MARGIN_SHARE * (stop - first))
        if stop - first >= _LEAST_FLAT_S * rate_hz:
            flat[first + margin : stop - margin] = True
    return flat
