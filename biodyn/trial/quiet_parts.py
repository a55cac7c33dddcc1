"""A person who stands quietly for a moment in another of their trials, where nobody recorded a static trial."""

from __future__ import annotations

from dataclasses import dataclass

from biodyn.io import read_many
from biodyn.recording import Markers, Recording, quietest_part
from biodyn.recording.stillness import QUIET_RANGE_M
from biodyn.session import StaticSearch
from biodyn.session.static_choice import body_difference_m
from biodyn.session.statics import DOUBTFUL_BODY_M, SAME_BODY_M

# Recordings read in full; a person's trials begin and end alike, so the nearest ones tell.
_MOST_READS = 4
_LEAST_SECONDS = 0.4  # an instant at rest is no standing


@dataclass(frozen=True)
class QuietPart:
    """A recording in which the person of the walk stands quietly, and what spoke for it, without a full stop."""

    recording: Recording
    why: str


def is_quiet_somewhere(markers: Markers) -> bool:
    """Return whether the markers rest for half a second somewhere in a recording."""
    part = quietest_part(markers)
    return part.movement_m <= QUIET_RANGE_M and (part.last - part.first + 1) / markers.rate_hz >= _LEAST_SECONDS


def quiet_part_elsewhere(search: StaticSearch) -> QuietPart | None:
    """Return the quietest part of the same person's other recordings that a search for a static trial looked at, or None."""
    likely = [candidate for candidate in search.candidates if not candidate.strange]
    likely.sort(key=lambda one: -one.score)
    # markers sit where they sit in the walk: the distances within segments agree as those of one session do
    limits = [DOUBTFUL_BODY_M if one.doubt else SAME_BODY_M for one in likely[:_MOST_READS]]
    found = []
    for limit, read in zip(limits, read_many([one.path for one in likely[:_MOST_READS]]), strict=True):
        if not isinstance(read, Recording) or read.motion.markers is None or not is_quiet_somewhere(read.markers):
            continue
        difference = body_difference_m(search.walk.markers, read.markers)
        if difference is not None and difference <= limit:
            found.append((quietest_part(read.markers).movement_m, difference, read))
    if not found:
        return None
    moved, difference, recording = min(found, key=lambda item: item[0])
    why = (
        f"no static trial was found, but the same person stands in {recording.path.name}: markers move by "
        f"{1000 * moved:.0f} mm there, their distances within segments agree to {1000 * difference:.2g} mm"
    )
    return QuietPart(recording, why)
