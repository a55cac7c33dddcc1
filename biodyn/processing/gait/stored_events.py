"""Gait events that a file stores, held against those of plates and movement: some name the other foot, or another moment.

An operator's slip, a recording cropped without its events, sides exchanged with the labels. Between a strike and the next foot
off that plates or movement show of a foot, within one stride, there is no room for another event of that foot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from biodyn.conventions import other_side
from biodyn.diagnostics import Diagnostic
from biodyn.recording import EventKind, GaitEvent

# Beside the first or the last event that is known of a foot, as a share of the stride: neither stance nor swing is shorter
# (double support, which an event of the other foot would make of it, is a tenth), nor are two events of one kind nearer.
_SHORTEST_PHASE, _SHORTEST_STRIDE = 0.2, 0.75
# So many, and so large a share of those that cannot be, say what was exchanged.
_FEWEST, _MOST = 2, 0.75
_NAMED = 6  # times that are listed
_OPPOSITE: dict[EventKind, EventKind] = {"foot_strike": "foot_off", "foot_off": "foot_strike"}


def possible_events(
    stored: Sequence[GaitEvent], found: Sequence[GaitEvent], stride_s: float, same_s: float, asked_for: bool = False
) -> tuple[list[GaitEvent], tuple[Diagnostic, ...]]:
    """Return the stored events that can be true beside those of plates and movement, and a warning that names the others.

    Args:
        stored: of the file. found: of plates and movement; of a foot in turn a strike and an off, where none was missed.
        stride_s: usual stride, s; 0 = not known, then all stay.
        same_s: two records of one event lie closer than this.
        asked_for: the user wants the file's events and no others: all stay, and the warning says so.
    """
    wrong = [event for event in stored if _apart_s(event, found) >= same_s and _impossible(event, found, stride_s)]
    if not wrong:
        return list(stored), ()
    kept = list(stored) if asked_for else [event for event in stored if event not in wrong]
    return kept, (_note(wrong, len(stored), found, same_s, asked_for),)


def _apart_s(event: GaitEvent, found: Sequence[GaitEvent]) -> float:
    """Time to the nearest of its like among those that were found, s; infinite where there is none."""
    return min((event.apart_s(other) for other in found), default=math.inf)


def _impossible(event: GaitEvent, found: Sequence[GaitEvent], stride_s: float) -> bool:
    """Whether what was found of its foot leaves no room for a stored event."""
    own = sorted((other for other in found if other.side == event.side), key=lambda other: other.time_s)
    before = next((other for other in reversed(own) if other.time_s <= event.time_s), None)
    after = next((other for other in own if other.time_s > event.time_s), None)
    if before is not None and after is not None:
        return before.kind != after.kind and after.time_s - before.time_s < stride_s
    beside = before or after
    if beside is None:
        return False
    least = _SHORTEST_STRIDE if beside.kind == event.kind else _SHORTEST_PHASE
    return abs(event.time_s - beside.time_s) < least * stride_s


def _note(
    wrong: Sequence[GaitEvent], count: int, found: Sequence[GaitEvent], same_s: float, asked_for: bool
) -> Diagnostic:
    """Name the stored events that cannot be, and what they seem to be."""
    other_foot = [replace(event, side=other_side(event.side)) for event in wrong]
    other_kind = [replace(event, kind=_OPPOSITE[event.kind]) for event in wrong]
    off_s = {
        " Each is one of the other foot: right and left seem exchanged.": _distance_s(other_foot, found, same_s),
        " Each is of the other kind: foot strikes and foot offs seem exchanged.": _distance_s(
            other_kind, found, same_s
        ),
    }
    guess = min(off_s, key=lambda name: off_s[name])
    told = math.isfinite(off_s[guess])
    done = "are used, as gait.events = 'file' asks" if asked_for else "are left out"
    other = "'auto' leaves them out" if asked_for else "'file' takes the events of the file, and no others"
    times = ", ".join(f"{event.time_s:.2f}" for event in wrong[:_NAMED]) + (" ..." if len(wrong) > _NAMED else "")
    return Diagnostic(
        "gait-events-exchanged" if told else "gait-events-contradicted",
        "warning",
        f"{len(wrong)} of {count} gait events of the file cannot be beside those of plates and movement ({times} s) and "
        f"{done}.{guess if told else ''}",
        value=float(len(wrong)),
        limit=0.0,
        hint=f"Look at them in the capture software; gait.events = {other}.",
    )


def _distance_s(events: Sequence[GaitEvent], found: Sequence[GaitEvent], same_s: float) -> float:
    """How far the events usually lie from their like among those that were found, s; infinite where too few have one."""
    off_s = [_apart_s(event, found) for event in events]
    near_s = [value for value in off_s if value < same_s]
    return float(np.median(near_s)) if len(near_s) >= max(_FEWEST, _MOST * len(events)) else math.inf
