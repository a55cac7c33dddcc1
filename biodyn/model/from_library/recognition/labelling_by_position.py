"""Labelling of the markers of a walk and its static trial by position, if their labels are missing or unknown."""

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
from biodyn.model.from_library.label_reading.label_resolution import read_labels
from biodyn.model.from_library.label_reading.spelling import normalise
from biodyn.model.from_library.marker_set_table import load_marker_set
from biodyn.model.from_library.markersets import missing_labels, nearest_marker_set, recognise_marker_set
from biodyn.model.from_library.recognition.articulated_marker_model import place_table
from biodyn.model.from_library.recognition.point_labelling import Labelling, MarkerSlots, label_points
from biodyn.model.marker_roles import MarkerMapping
from biodyn.recording import Markers, is_person_visible

_LEAST_KNOWN = 8  # least number of known labels from which the others can be determined


@dataclass(frozen=True)
class LabelledRecordings:
    """Markers of a walk and its static trial with correct labels.

    Attributes:
        points: (3,) m by label in the static trial. mapping: roles of the labels.
        notes: findings about changes of labels and their reasons.
        all_sides: True if left and right of the whole body were swapped in every recording in which this can be determined.
    """

    walk: Markers
    static: Markers
    points: Mapping[str, FloatArray]
    mapping: MarkerMapping
    notes: tuple[Diagnostic, ...]
    all_sides: bool = False


def label_recordings(
    walk: Markers, static: Markers, points: Mapping[str, FloatArray], marker_set: str, error: MarkerSetError
) -> LabelledRecordings:
    """Label the markers of both recordings, in World, by their position.

    Args: `points` (3,) m by label, mean positions in the static trial; `marker_set` setting; `error` raised for the labels.
    Raises MarkerSetError, with the reason, if the positions are ambiguous.
    """
    labels = tuple(dict.fromkeys(walk.labels + static.labels))
    if len(points) < _LEAST_KNOWN:
        raise error
    completed = _missing_labels(points, labels, marker_set)
    if completed:
        mapping = _mapping_from_labels(_rename_labels(labels, completed), marker_set)
        if mapping is not None:
            return LabelledRecordings(
                replace(walk, labels=_rename_labels(walk.labels, completed)),
                replace(static, labels=_rename_labels(static.labels, completed)),
                {completed.get(label, label): point for label, point in points.items()},
                mapping,
                (_completed_note(completed),),
            )
    labelling = _label_all_points(points, marker_set, error)
    names = dict(labelling.labels)
    new_static = replace(static, labels=_rename_labels(static.labels, names))
    new_points = {names.get(label, label): point for label, point in points.items()}
    new_walk = replace(walk, labels=_rename_labels(walk.labels, names))
    if _do_distances_agree(new_walk, new_points, labelling):
        # markers that are only in the walk
        only_walk = [label for label in walk.labels if label not in points]
        in_walk = _walk_labels(walk, labelling) if only_walk else {}
        in_walk = {label: name for label, name in in_walk.items() if label in only_walk}
        new_walk = replace(new_walk, labels=_rename_labels(new_walk.labels, in_walk))
    else:
        new_walk = replace(walk, labels=_rename_labels(walk.labels, _walk_labels(walk, labelling)))
        if not _do_distances_agree(new_walk, new_points, labelling):
            raise _refusal_error(error, "the static trial is unambiguous, but distances in the walk disagree with it")
    mapping = _mapping_from_labels(tuple(dict.fromkeys(new_walk.labels + new_static.labels)), marker_set)
    if mapping is None:
        raise error
    return LabelledRecordings(new_walk, new_static, new_points, mapping, (_labelled_note(labelling, mapping),))


def _rename_labels(labels: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the labels with new names; another label that is equal to a new name is also renamed."""
    new = [names.get(label, label) for label in labels]
    taken = {normalise(names[label]) for label in labels if label in names}
    return tuple(
        f"unnamed {label}" if label not in names and normalise(label) in taken else name
        for label, name in zip(labels, new, strict=True)
    )


def _mapping_from_labels(labels: Sequence[str], marker_set: str) -> MarkerMapping | None:
    try:
        return recognise_marker_set(tuple(dict.fromkeys(labels)), marker_set)
    except MarkerSetError:
        return None


@cache
def marker_slots(name: str) -> MarkerSlots:
    """Return the places of a marker set of the library, or of a TOML file by its path."""
    marker_set, table = load_marker_set(name), place_table()
    alternatives = {key for group in marker_set.requires if len(group) > 1 for key in group}
    required = {key for group in marker_set.requires if len(group) == 1 for key in group}
    rows: dict[str, tuple[str, bool, bool]] = {}
    for entry in marker_set.entries:
        by_label = (table.by_label[key] for key in entry.keys if key in table.by_label)
        place = entry.landmark if entry.landmark in table.body else next(by_label, "")
        if place and entry.weight > 0.0:
            is_expected = not entry.static_only and alternatives.isdisjoint(entry.keys)
            rows.setdefault(place, (entry.keys[0], is_expected, not required.isdisjoint(entry.keys)))
    labels, expected, is_required = zip(*rows.values(), strict=True) if rows else ((), (), ())
    return MarkerSlots(name, labels, tuple(rows), expected, is_required)


# -- some labels known ----------------------------------------------------------------------------------------------------


def _missing_labels(points: Mapping[str, FloatArray], labels: Sequence[str], marker_set: str) -> dict[str, str]:
    """Return {unknown label: missing label of the nearest set} for the markers that are identified by the positions of the
    others."""
    nearest = nearest_marker_set(labels) if marker_set == "auto" else load_marker_set(marker_set)
    slots = marker_slots(nearest.name if marker_set == "auto" else marker_set)
    by_label = dict(zip((normalise(label) for label in slots.labels), slots.places, strict=True))
    fixed: dict[str, str] = {}
    for label in points:
        entry = nearest.find(label)
        place = entry and (entry.landmark or by_label.get(entry.keys[0], ""))
        if place and place in slots.places and place not in fixed.values():
            fixed[label] = place
    if len(fixed) < _LEAST_KNOWN or len({place_table().body[place] for place in fixed.values()}) < 3:
        return {}
    labelling = label_points(points, [slots], fixed)
    if labelling is None or not labelling.is_plausible:
        return {}
    missing = len(missing_labels(nearest, labels))
    return {
        label: name
        for label, name in labelling.labels.items()
        if label not in fixed and not _is_known_label(label) and len(missing_labels(nearest, (*labels, name))) < missing
    }


def _is_known_label(label: str) -> bool:
    return any(load_marker_set(name).find(label) is not None for name in entry_names("markersets")) or bool(
        read_labels((label,)).points
    )


# -- no label known -------------------------------------------------------------------------------------------------------


def _label_all_points(points: Mapping[str, FloatArray], marker_set: str, error: MarkerSetError) -> Labelling:
    # a set without required markers is a dictionary of labels rather than a placement protocol
    names = entry_names("markersets") if marker_set == "auto" else (marker_set,)
    labelling = label_points(points, [marker_slots(name) for name in names if load_marker_set(name).requires])
    if labelling is None:
        raise error
    if is_conclusive(labelling, len(points)):
        conflicts = _conflicts_with_labels(labelling)
        if conflicts:
            raise _refusal_error(error, f"they contradict the labels ({', '.join(conflicts)})")
        return labelling
    title = load_marker_set(labelling.set_name).title
    if not _explains_points(labelling, len(points)):
        raise _refusal_error(
            error,
            f"the nearest set, {title}, explains {len(points) - len(labelling.unassigned)} of {len(points)} markers, which are "
            f"{1000.0 * _mean_distance_m(labelling):.0f} mm from their expected position on the body",
        )
    ambiguous = ", ".join(f"{label} (or {other})" if other else label for label, other in labelling.ambiguous)
    raise _refusal_error(error, f"they resemble {title}, but these are ambiguous: {ambiguous or 'the missing ones'}")


def is_conclusive(labelling: Labelling, count: int) -> bool:
    """Return whether nearly all of `count` points are assigned and all required markers of the set are present."""
    return (
        _explains_points(labelling, count)
        and _mapping_from_labels(tuple(labelling.labels.values()), labelling.set_name) is not None
    )


def _explains_points(labelling: Labelling, count: int) -> bool:
    """Return whether all points are assigned, except for at most one point and 5 % of the others."""
    return len(labelling.unassigned) <= 1 + 0.05 * count and labelling.is_plausible


def _conflicts_with_labels(labelling: Labelling) -> list[str]:
    """Return the labels that contradict the identified positions, if most labels of the set agree with them."""
    marker_set = load_marker_set(labelling.set_name)
    entries = [(label, marker_set.find(label), name, marker_set.find(name)) for label, name in labelling.labels.items()]
    conflicts = [
        f"{label} as {name}" for label, known, name, entry in entries if known is not None and known is not entry
    ]
    return conflicts if 2 * len(conflicts) < sum(known is not None for _, known, _, _ in entries) else []


def _mean_distance_m(labelling: Labelling) -> float:
    return float(np.linalg.norm(labelling.fit.points - labelling.fit.predicted, axis=1).mean())


def _refusal_error(error: MarkerSetError, reason: str) -> MarkerSetError:
    return MarkerSetError(
        f"{error.message} The markers could also not be identified by position: {reason}.", error.hint
    )


def _do_distances_agree(walk: Markers, points: Mapping[str, FloatArray], labelling: Labelling) -> bool:
    """Return whether the walk confirms the labels of the static trial.

    It must have 80 % of the markers, and 80 % of the distances within segments must agree within 20 mm.
    """
    slots, bodies = marker_slots(labelling.set_name), place_table().body
    body = {label: bodies[place] for label, place in zip(slots.labels, slots.places, strict=True)}
    expected = {label for label, is_expected in zip(slots.labels, slots.expected, strict=True) if is_expected}
    in_static = expected.intersection(labelling.labels.values())
    present = [label for label in labelling.labels.values() if label in walk.labels]
    agree = []
    for i, first in enumerate(present):
        for second in present[i + 1 :]:
            if body[first] == body[second]:
                difference = walk.positions[:, walk.index(first)] - walk.positions[:, walk.index(second)]
                distance = float(np.nanmedian(np.linalg.norm(difference, axis=1)))
                agree.append(abs(distance - float(np.linalg.norm(points[first] - points[second]))) < 0.02)
    return len(expected.intersection(present)) >= 0.8 * len(in_static) and bool(agree) and float(np.mean(agree)) >= 0.8


def _walk_labels(walk: Markers, labelling: Labelling) -> dict[str, str]:
    """Return the labels on which at least three and 80 % of seven frames of the walk agree."""
    seen = np.isfinite(walk.positions[..., 0])
    present = is_person_visible(seen)
    often = [i for i in range(len(walk.labels)) if present.any() and seen[present, i].mean() > 0.5]
    rows = np.flatnonzero(seen[:, often].all(axis=1)) if often else np.zeros(0, dtype=int)
    if not len(rows):
        return {}
    votes: dict[str, Counter[str]] = {}
    slots = marker_slots(labelling.set_name)
    for row in rows[np.linspace(0, len(rows) - 1, 7).round().astype(int)]:
        frame = label_points({walk.labels[i]: walk.positions[row, i] for i in often}, [slots])
        for label, name in frame.labels.items() if frame is not None else ():
            votes.setdefault(label, Counter())[name] += 1
    winners = {label: count.most_common(1)[0] for label, count in votes.items()}
    clear = {
        label: name for label, (name, count) in winners.items() if count >= 3 and count >= 0.8 * votes[label].total()
    }
    repeated = {name for name, count in Counter(clear.values()).items() if count > 1}
    return {label: name for label, name in clear.items() if name not in repeated}


# -- findings -------------------------------------------------------------------------------------------------------------


def _labelled_note(labelling: Labelling, mapping: MarkerMapping) -> Diagnostic:
    distance = _mean_distance_m(labelling)
    names = ", ".join(f"{label} is {name}" for label, name in labelling.labels.items())
    ambiguous = ", ".join(label for label, _ in labelling.ambiguous)
    return Diagnostic(
        "markers-named",
        "warning",
        f"The labels match no marker set. The markers were identified by position as {mapping.title}: {names}. "
        f"Their mean distance from the expected positions on a person of this size is {1000 * distance:.0f} mm."
        + (f" Not identified, because ambiguous: {ambiguous}." if ambiguous else ""),
        value=distance,
        unit="m",
        hint="Check the names, and label the markers in the capture software.",
    )


def _completed_note(names: Mapping[str, str]) -> Diagnostic:
    listed = ", ".join(f"{label} is {name}" for label, name in names.items())
    return Diagnostic(
        "markers-named",
        "warning",
        f"Markers with unknown labels were identified by position: {listed}.",
        hint="Check these names, and correct the labels in the capture software.",
        about=next(iter(names)),
    )
