"""Which of several possible static trials a walk belongs to: stored joint offsets, marker distances, then names.

A static serves the walks that were recorded with the same markers in the same places. Evidence are
joint offsets that the laboratory's software stored in both, and the distances of markers within segments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.recording import Markers
from biodyn.recording.stillness import median_over_frames
from biodyn.session.words import static_table

Offsets = Literal["same", "unknown", "different"]
_ORDER: tuple[Offsets, ...] = ("same", "unknown", "different")
# Replaced markers are off by millimetres: a difference larger than this is another placement, whatever is stored ...
_OTHER_PLACEMENT_M = 0.002
# ... and by this much is a better one: the median over the pairs is itself known to a few tenths of a millimetre.
_NEARER_M = 0.0005
# Two statics clearly differ where the distance between two markers of a segment does by this much, in so many pairs.
_OTHER_PLACE_M = 0.004
_FEWEST_PAIRS = 3


@dataclass(frozen=True)
class StaticCandidate:
    """One possible static trial of a walk.

    Attributes:
        path: the file. score: of name, place and header. reasons: for it, in words.
        rejected: why it is not used, "" if it is possible.
        called_static: its name, folder or header calls it a static trial.
        offsets: whether its stored joint offsets equal the walk's.
        doubt: words in its name that may name another person. same_name: it stores the walk's subject name.
        strange: its header rejects it: another person or day, other markers, damaged.
        distance_m: median difference of the marker distances within segments from the walk's, None if unknown.
        pairs_m: the differences, (P,) m, static minus walk, of the same pairs for all compared trials.
        labels: of its markers.
    """

    path: Path
    score: float
    reasons: tuple[str, ...] = ()
    rejected: str = ""
    called_static: bool = False
    offsets: Offsets = "unknown"
    doubt: str = ""
    same_name: bool = False
    strange: bool = False
    distance_m: float | None = None
    pairs_m: FloatArray = field(default_factory=lambda: np.zeros(0))
    labels: frozenset[str] = frozenset()


def compared_offsets(walk: Mapping[str, float], static: Mapping[str, float]) -> Offsets:
    """Compare the stored joint offsets of a walk and a static trial (by name, rad)."""
    least_offsets = 2  # one equal number may be chance
    shared = walk.keys() & static.keys()
    if len(shared) < least_offsets:
        return "unknown"
    limit = float(static_table()["same_rad"])
    return "same" if all(abs(walk[key] - static[key]) <= limit for key in shared) else "different"


def choose(possible: Sequence[StaticCandidate]) -> tuple[StaticCandidate, str, tuple[Diagnostic, ...]]:
    """Return the static trial that belongs to the walk, of one or more, the reason ("" for a single one), and notes.

    Trials with clearly different marker positions are excluded first; then equal stored offsets decide, then nearer markers, then
    names and places, then the order given, which is said.
    """
    same_score = 0.1  # of names and places
    if len(possible) == 1:
        return possible[0], "", ()
    nearest = min((p.distance_m for p in possible if p.distance_m is not None), default=None)
    remaining = [p for p in possible if _within(p, nearest, _OTHER_PLACEMENT_M)]
    remaining = [p for p in remaining if not any(_is_nearer(q, p) for q in remaining)] or remaining
    why = _by_distance(possible, remaining)
    best = min(_ORDER.index(p.offsets) for p in remaining)
    fitting = [p for p in remaining if _ORDER.index(p.offsets) == best]
    if len(fitting) < len(remaining):
        why = _by_offsets(fitting[0], [p for p in remaining if p not in fitting])
    nearest = min((p.distance_m for p in fitting if p.distance_m is not None), default=None)
    near = [p for p in fitting if _within(p, nearest, _NEARER_M)]
    why = _by_distance(fitting, near) or why
    top = max(p.score for p in near)
    named = [p for p in near if top - p.score <= same_score]
    if len(named) < len(near):
        why = f"named and placed nearest to the walk among {len(near)} with equally good markers"
    chosen = named[0]
    return chosen, why, (*_alike(named), *_contradicted(chosen, possible))


def _within(candidate: StaticCandidate, nearest: float | None, slack_m: float) -> bool:
    return nearest is None or candidate.distance_m is None or candidate.distance_m <= nearest + slack_m


def _is_nearer(a: StaticCandidate, b: StaticCandidate) -> bool:
    """Return whether the walk has the distances of the first wherever the two statics clearly differ.

    Markers of the feet that were put on again over shoes leave the median over the whole body as it was.
    """
    other_posture_m = 0.05  # more than this a marker put on again does not move: the arms are held differently
    if a.pairs_m.shape != b.pairs_m.shape:
        return False
    difference = np.abs(a.pairs_m - b.pairs_m)
    apart = (difference > _OTHER_PLACE_M) & (difference < other_posture_m)
    if apart.sum() < _FEWEST_PAIRS:
        return False
    mine, theirs = (float(np.median(np.abs(p.pairs_m[apart]))) for p in (a, b))
    return mine < 0.5 * theirs


def _by_distance(before: Sequence[StaticCandidate], after: Sequence[StaticCandidate]) -> str:
    out = [p for p in before if p not in after]
    if not out:
        return ""
    smallest = min((p.distance_m for p in after if p.distance_m is not None), default=None)
    others = ", ".join(f"{_mm(p.distance_m)} in {p.path.name}" for p in out)
    if smallest is not None and any(p.distance_m is not None and p.distance_m <= smallest for p in out):
        return f"its markers agree with the walk where the static trials differ, unlike {', '.join(p.path.name for p in out)}"
    return f"marker distances within segments agree to {_mm(smallest)}, against {others}"


def _by_offsets(fitting: StaticCandidate, others: Sequence[StaticCandidate]) -> str:
    listed = ", ".join(p.path.name for p in others)
    if fitting.offsets == "same":
        return f"its stored joint offsets are the walk's, unlike {listed}"
    return f"the stored joint offsets of {listed} are not the walk's"


def _alike(named: Sequence[StaticCandidate]) -> tuple[Diagnostic, ...]:
    """Return the note on equally suitable static trials, a warning if they may give other calibrations."""
    if len(named) < 2:
        return ()
    first, *others = named
    listed = ", ".join(f"{p.path.name} ({_mm(p.distance_m)})" for p in others)
    may_differ = any(p.labels != first.labels or p.distance_m is None for p in named)
    return (
        Diagnostic(
            "static-doubtful",
            "warning" if may_differ else "info",
            f"{first.path.name} ({_mm(first.distance_m)} from the walk's marker distances) and {listed} belong to the walk "
            f"equally well; {first.path.name} is used.",
            value=first.distance_m,
            limit=_NEARER_M,
            unit="m",
            hint="Name the one to use with --static, or in study.toml.",
        ),
    )


def _contradicted(chosen: StaticCandidate, possible: Sequence[StaticCandidate]) -> tuple[Diagnostic, ...]:
    """Return the warning that stored offsets and markers favour different trials."""
    named = [p for p in possible if p.offsets == "same"]
    if chosen.offsets == "same" or not named:
        return ()
    return (
        Diagnostic(
            "static-doubtful",
            "warning",
            f"{chosen.path.name} is used: its marker distances are {_mm(chosen.distance_m)} from the walk's, against "
            f"{named[0].path.name} {_mm(named[0].distance_m)}, although the walk stores the joint offsets of the latter.",
            value=named[0].distance_m,
            limit=_OTHER_PLACEMENT_M,
            unit="m",
            hint="Markers were probably put on again. Name the static trial to use with --static if this is wrong.",
        ),
    )


def _mm(value_m: float | None) -> str:
    return "unknown" if value_m is None else f"{1000.0 * value_m:.2f} mm"


def typical_motion_m(markers: Markers) -> float:
    """Return the median over the markers of the largest range of a coordinate, m; 0 for a single frame."""
    seen = np.isfinite(markers.positions[..., 0]).any(axis=0)
    if markers.frame_count < 2 or not seen.any():
        return 0.0
    positions = markers.positions[:, seen]
    ranges = np.nanmax(positions, axis=0) - np.nanmin(positions, axis=0)
    return float(np.median(ranges.max(axis=1)))


def body_difference_m(walk: Markers, static: Markers) -> float | None:
    """Return the median difference of the distances between rigidly moving markers of the walk, m.

    None where fewer than three such pairs are in both.
    """
    return typical_difference_m(pair_differences_m(walk, static))


def typical_difference_m(pairs_m: FloatArray) -> float | None:
    """Return the median of the sizes of differences, None where they are fewer than three."""
    sizes = np.abs(pairs_m[np.isfinite(pairs_m)])
    return float(np.median(sizes)) if sizes.size >= _FEWEST_PAIRS else None


def pair_differences_m(walk: Markers, static: Markers, shared: Sequence[Markers] = ()) -> FloatArray:
    """Return static minus walk of the distances between rigidly moving markers of the walk, (P,) m; NaN where unseen.

    Only markers that the recordings `shared` hold too count: the pairs are the same for all statics of one `shared`, whichever is
    asked for, and their numbers can be compared.
    """
    rigid_m = 0.008  # spread of a distance within a segment during walking
    others = [set(markers.labels) for markers in (static, *shared)]
    common = [label for label in walk.labels if all(label in labels for labels in others)]
    frames = walk.positions[:: max(1, walk.frame_count // 40)]
    moving = frames[:, [walk.index(label) for label in common]]
    standing = median_over_frames(static.positions[:, [static.index(label) for label in common]])
    first, second = np.triu_indices(len(common), k=1)
    distance = np.linalg.norm(moving[:, first] - moving[:, second], axis=2)
    enough = np.isfinite(distance).sum(axis=0) >= min(5, len(frames))
    if not enough.any():
        return np.zeros(0)
    distance, first, second = distance[:, enough], first[enough], second[enough]
    rigid = np.nanstd(distance, axis=0) < rigid_m
    difference: FloatArray = np.linalg.norm(standing[first] - standing[second], axis=1)
    return (difference - median_over_frames(distance))[rigid]
