"""A walk and its static trial whose labels say nothing, or not enough, named by where their markers are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import MarkerSetError
from biodyn.library.tables import entry_names
from biodyn.model.from_library.label_reading.meanings import read_labels
from biodyn.model.from_library.label_reading.spelling import normalise
from biodyn.model.from_library.marker_set_table import MarkerSet, load_marker_set
from biodyn.model.from_library.markersets import lacking, recognise, set_to_extend
from biodyn.model.from_library.recognition.person import body_of_places, place_names, places_by_label
from biodyn.model.from_library.recognition.unlabelled import Named, Slots, name_points
from biodyn.model.marker_roles import MarkerMapping
from biodyn.recording import Markers, person_is_there

CODE = "markers-named"
_LEAST_KNOWN = 8  # labels that are understood, for the others to be found from them
_MOST_BEYOND = 0.05  # share of the points that no marker of the set explains, one besides
_FRAMES = 7  # of a walk
_AGREE = 3  # of them that must name a marker alike, ...
_AGREE_SHARE = 0.8  # ... and this share of those that name it
_RIGID_M = 0.02  # by which distances inside a segment may differ between static trial and walk, ...
_THERE = 0.8  # share of the markers that walks have which the walk must show
_RIGID_SHARE = 0.8  # ... for this share of them


@dataclass(frozen=True)
class NamedRecordings:
    """Both recordings' markers under the labels of a marker set, what the labels then say, and what was done."""

    walk: Markers
    static: Markers
    points: Mapping[str, FloatArray]
    mapping: MarkerMapping
    notes: tuple[Diagnostic, ...]


def named(
    walk: Markers, static: Markers, points: Mapping[str, FloatArray], marker_set: str, error: MarkerSetError
) -> NamedRecordings:
    """Name the markers of both recordings, in World, by where they are.

    Parameters: `points` (3,) m by label, the static trial's markers as they stand; `marker_set` the settings'; `error` why the
    labels were not understood. Raises MarkerSetError, with what the points say, where they do not tell it clearly.
    """
    labels = tuple(dict.fromkeys(walk.labels + static.labels))
    if len(points) < _LEAST_KNOWN:
        raise error
    both = _completed(points, labels, marker_set)
    if both:
        mapping = _understood(_renamed(labels, both), marker_set)
        if mapping is not None:
            found = (
                replace(walk, labels=_renamed(walk.labels, both)),
                replace(static, labels=_renamed(static.labels, both)),
            )
            moved = {both.get(label, label): point for label, point in points.items()}
            return NamedRecordings(*found, moved, mapping, (_completed_note(both),))
    standing = _wholly(points, marker_set, error)
    meant = dict(standing.labels)
    still = replace(static, labels=_renamed(static.labels, meant))
    moved = {meant.get(label, label): point for label, point in points.items()}
    moving = replace(walk, labels=_renamed(walk.labels, meant))
    if _rigid(moving, moved, standing):
        # markers that the static trial does not wear: the walk alone tells them
        alone = [label for label in walk.labels if label not in points]
        in_walk = (
            {label: name for label, name in _named_walk(walk, standing).items() if label in alone} if alone else {}
        )
        moving = replace(moving, labels=_renamed(moving.labels, in_walk))
    else:
        in_walk = _named_walk(walk, standing)
        moving = replace(walk, labels=_renamed(walk.labels, in_walk))
        if not _rigid(moving, moved, standing):
            raise _refused(error, "its static trial's are told, but the walk's cannot be held against them")
    mapping = _understood(tuple(dict.fromkeys(moving.labels + still.labels)), marker_set)
    if mapping is None:
        raise error
    return NamedRecordings(moving, still, moved, mapping, (_whole_note(standing, mapping),))


def _renamed(labels: Sequence[str], meant: Mapping[str, str]) -> tuple[str, ...]:
    """The labels with other names; one that would then be there twice gives way."""
    new = [meant.get(label, label) for label in labels]
    taken = {normalise(meant[label]) for label in labels if label in meant}
    return tuple(
        f"unnamed {label}" if label not in meant and normalise(label) in taken else name
        for label, name in zip(labels, new, strict=True)
    )


def _understood(labels: Sequence[str], marker_set: str) -> MarkerMapping | None:
    try:
        return recognise(tuple(dict.fromkeys(labels)), marker_set)
    except MarkerSetError:
        return None


@cache
def slots_of(name: str) -> Slots:
    """The places of a marker set of the library, or of a TOML file by its path."""
    marker_set = load_marker_set(name)
    known, by_label = set(place_names()), places_by_label()
    either = {key for group in marker_set.requires if len(group) > 1 for key in group}
    needed = {key for group in marker_set.requires if len(group) == 1 for key in group}
    rows: dict[str, tuple[str, bool, bool]] = {}
    for entry in marker_set.entries:
        place = entry.landmark if entry.landmark in known else next(
            (by_label[key] for key in entry.keys if key in by_label), ""
        )  # fmt: skip
        if place and entry.weight > 0.0:
            rows.setdefault(
                place,
                (
                    entry.keys[0],
                    not entry.static_only and either.isdisjoint(entry.keys),
                    not needed.isdisjoint(entry.keys),
                ),
            )
    labels, expected, required = zip(*rows.values(), strict=True) if rows else ((), (), ())
    return Slots(name, labels, tuple(rows), expected, required)


def _candidates(marker_set: str) -> list[Slots]:
    """Sets with markers of their own: a dictionary of names says nothing of which of them a laboratory uses."""
    names = entry_names("markersets") if marker_set == "auto" else (marker_set,)
    return [slots_of(name) for name in names if load_marker_set(name).requires]


# -- some labels known ----------------------------------------------------------------------------------------------------


def _completed(points: Mapping[str, FloatArray], labels: Sequence[str], marker_set: str) -> dict[str, str]:
    """Labels that nobody knows -> labels that the nearest set lacks, where the other markers tell it."""
    nearest: MarkerSet = set_to_extend(labels) if marker_set == "auto" else load_marker_set(marker_set)
    slots = slots_of(nearest.name if marker_set == "auto" else marker_set)
    by_label = dict(zip((normalise(label) for label in slots.labels), slots.places, strict=True))
    fixed: dict[str, str] = {}
    for label in points:
        entry = nearest.find(label)
        place = entry and (entry.landmark or by_label.get(entry.keys[0], ""))
        if place and place in slots.places and place not in fixed.values():
            fixed[label] = place
    if len(fixed) < _LEAST_KNOWN or len({body_of_places()[place] for place in fixed.values()}) < 3:
        return {}
    found = name_points(points, [slots], fixed)
    if found is None or not found.usual:
        return {}
    open_places = len(lacking(nearest, labels))
    return {
        label: meant
        for label, meant in found.labels.items()
        if label not in fixed and not _known(label) and len(lacking(nearest, (*labels, meant))) < open_places
    }


def _known(label: str) -> bool:
    return any(load_marker_set(name).find(label) is not None for name in entry_names("markersets")) or bool(
        read_labels((label,)).points
    )


# -- no label known -------------------------------------------------------------------------------------------------------


def _wholly(points: Mapping[str, FloatArray], marker_set: str, error: MarkerSetError) -> Named:
    found = name_points(points, _candidates(marker_set))
    if found is None:
        raise error
    if is_claimed(found, len(points)):
        against = _against_labels(found)
        if against:
            raise _refused(error, f"it would be at odds with their labels ({', '.join(against)})")
        return found
    title = load_marker_set(found.set_name).title
    if not _explains(found, len(points)):
        off = 1000.0 * float(np.linalg.norm(found.fit.points - found.fit.predicted, axis=1).mean())
        raise _refused(
            error,
            f"the nearest set, {title}, explains {len(points) - len(found.beyond)} of {len(points)}, which lie {off:.0f} mm "
            "from where a person would have them",
        )
    open_ = ", ".join(f"{label} (or {other})" if other else label for label, other in found.open)
    raise _refused(error, f"they look like {title}, but it cannot be told which is which of {open_ or 'those missing'}")


def is_claimed(found: Named, points: int) -> bool:
    """Whether a naming of so many points is clear enough to be used: nearly all explained, and all that the set must have."""
    return _explains(found, points) and _understood(tuple(found.labels.values()), found.set_name) is not None


def _against_labels(found: Named) -> list[str]:
    """Names, beside labels that mean another marker of the set, where most labels mean what the places say: one is missing."""
    known = load_marker_set(found.set_name)
    both = [(label, known.find(label), name, known.find(name)) for label, name in found.labels.items()]
    odd = [f"{label} as {name}" for label, own, name, entry in both if own is not None and own is not entry]
    return odd if 2 * len(odd) < sum(own is not None for _, own, _, _ in both) else []


def _explains(found: Named, points: int) -> bool:
    return len(found.beyond) <= 1 + _MOST_BEYOND * points and found.usual


def _refused(error: MarkerSetError, why: str) -> MarkerSetError:
    return MarkerSetError(f"{error.message} Where the markers are does not name them either: {why}.", error.hint)


def _rigid(walk: Markers, points: Mapping[str, FloatArray], standing: Named) -> bool:
    """Whether the named markers keep their distances inside the segments, and the walk has nearly all of them."""
    bodies = body_of_places()
    slots = slots_of(standing.set_name)
    place = dict(zip(slots.labels, slots.places, strict=True))
    expected = {label for label, usual in zip(slots.labels, slots.expected, strict=True) if usual}
    wanted = [label for label in standing.labels.values() if label in expected]
    there = [label for label in standing.labels.values() if label in walk.labels]
    kept = []
    for i, one in enumerate(there):
        for other in there[i + 1 :]:
            if bodies[place[one]] == bodies[place[other]]:
                apart = walk.positions[:, walk.index(one)] - walk.positions[:, walk.index(other)]
                length = float(np.nanmedian(np.linalg.norm(apart, axis=1)))
                kept.append(abs(length - float(np.linalg.norm(points[one] - points[other]))) < _RIGID_M)
    return (
        len(expected.intersection(there)) >= _THERE * len(wanted)
        and bool(kept)
        and float(np.mean(kept)) >= _RIGID_SHARE
    )


def _named_walk(walk: Markers, standing: Named) -> dict[str, str]:
    """Names of the walk's points where several frames agree and none contradicts."""
    seen = np.isfinite(walk.positions[..., 0])
    there = person_is_there(seen)
    often = [i for i in range(len(walk.labels)) if there.any() and seen[there, i].mean() > 0.5]
    rows = np.flatnonzero(seen[:, often].all(axis=1)) if often else np.zeros(0, dtype=int)
    if not len(rows):
        return {}
    votes: dict[str, Counter[str]] = {}
    slots = slots_of(standing.set_name)
    for row in rows[np.linspace(0, len(rows) - 1, _FRAMES).round().astype(int)]:
        found = name_points({walk.labels[i]: walk.positions[row, i] for i in often}, [slots])
        for label, name in found.labels.items() if found is not None else ():
            votes.setdefault(label, Counter())[name] += 1
    most = {label: count.most_common(1)[0] for label, count in votes.items()}
    clear = {
        label: name
        for label, (name, times) in most.items()
        if times >= _AGREE and times >= _AGREE_SHARE * votes[label].total()
    }
    twice = {name for name, times in Counter(clear.values()).items() if times > 1}
    return {label: name for label, name in clear.items() if name not in twice}


# -- what is said ---------------------------------------------------------------------------------------------------------


def _whole_note(found: Named, mapping: MarkerMapping) -> Diagnostic:
    off = float(np.linalg.norm(found.fit.points - found.fit.predicted, axis=1).mean())
    names = ", ".join(f"{label} is {meant}" for label, meant in found.labels.items())
    left = f" Not named, for it cannot be told: {', '.join(label for label, _ in found.open)}." if found.open else ""
    return Diagnostic(
        CODE,
        "warning",
        f"The labels name no marker set; by where the markers are they are {mapping.title}: {names}. They lie "
        f"{1000 * off:.0f} mm on average from where a person of this size has them.{left}",
        value=off,
        unit="m",
        hint="Check the names, and label the markers in the capture software.",
    )


def _completed_note(meant: Mapping[str, str]) -> Diagnostic:
    names = ", ".join(f"{label} is {name}" for label, name in meant.items())
    return Diagnostic(
        CODE,
        "warning",
        f"Labels that no marker set knows, named by where their markers are: {names}.",
        hint="Check the names, and correct these labels in the capture software.",
        about=next(iter(meant)),
    )
