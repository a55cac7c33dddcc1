"""Labelling of the points of one frame by position: most probable assignment to a marker set, and ambiguous labels.

Points are assigned one to one to the places of a set so that their probability under the jointed person is largest. Fit and
assignment alternate, starting from several headings. A point that fits no place stays unassigned. Swaps then determine which
labels are ambiguous.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import linear_sum_assignment

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.model.from_library.recognition.articulated_marker_model import (
    JointedPerson,
    PersonFit,
    fit_person,
    person_with_places,
    place_table,
    rotation_about_y,
)

_STARTS = 4
# Volume (m3, at reference height) around the person in which a point that is not a marker of the set may be.
_VOLUME_M3 = 0.6
_MISSING = 4.0  # negative logarithm of the odds that a marker of the set is missing
_CLEAR = 20.0  # least difference in squared Mahalanobis distance to any other labelling
_LIKELY = 20.0  # largest squared Mahalanobis distance of the three coordinates of a marker
_UNASSIGNED = 1e-9  # weight of a place without a point
_LEAST_POINTS = 6


@dataclass(frozen=True)
class MarkerSlots:
    """Places of a marker set: their labels, those usually present in recordings, and those required by the set."""

    set_name: str
    labels: tuple[str, ...]
    places: tuple[str, ...]
    expected: tuple[bool, ...]
    required: tuple[bool, ...]


@dataclass(frozen=True)
class Labelling:
    """Labels of points from their position.

    Attributes:
        set_name: name of the marker set. labels: label in the file -> label of the set, for unambiguous labels.
        ambiguous: label in the file -> second possible label, "" for none of the set.
        unassigned: labels in the file of points that are not in the set.
        fit: fit of the person to the assigned points. is_plausible: True if the fit is within the range of real people.
    """

    set_name: str
    labels: Mapping[str, str]
    ambiguous: tuple[tuple[str, str], ...]
    unassigned: tuple[str, ...]
    fit: PersonFit
    is_plausible: bool


def label_points(
    points: Mapping[str, FloatArray], sets: Sequence[MarkerSlots], fixed: Mapping[str, str] | None = None
) -> Labelling | None:
    """Label points (3,) m in World, Y up, as markers of the most probable set; None if no set fits.

    Args: `fixed`: label -> place of points with known labels.
    """
    names = tuple(points)
    fits = _FitCache(np.stack([points[label] for label in names]) if names else np.zeros((0, 3)))
    starts = []
    for slots in sets:
        person = person_with_places(slots.places)
        known = [
            (names.index(label), slots.places.index(place))
            for label, place in (fixed or {}).items()
            if place in slots.places
        ]
        new_starts = (
            [_fit_to_known_points(person, fits.points, known)]
            if fixed
            else _best_start_parameters(person, fits.points, slots)
        )
        starts += [(score, slots, known, start) for score, start in new_starts]
    starts.sort(key=lambda start: -start[0])
    assignments: list[_Assignment] = []
    for _, slots, known, start in starts[: 2 * _STARTS]:
        assignment = _best_assignment(slots, fits, start, known)
        if assignment is not None:
            assignments.append(assignment)
    if not assignments:
        return None
    assignments.sort(key=lambda assignment: -assignment.score)
    return _unambiguous_labelling(assignments, names, fits)


class _FitCache:
    """Cache of fits of the person to points at places, because the search reaches the same assignment from several starts."""

    def __init__(self, points: FloatArray) -> None:
        self.points = points
        self._known: dict[tuple[tuple[str, ...], tuple[int, ...]], PersonFit] = {}

    def fit_to_places(self, places: tuple[str, ...], indices: IntArray) -> PersonFit:
        """Return the fit of the points with these indices to these places."""
        key = places, tuple(indices.tolist())
        if key not in self._known:
            self._known[key] = fit_person(person_with_places(places), self.points[indices])
        return self._known[key]


def _best_start_parameters(
    person: JointedPerson, points: FloatArray, slots: MarkerSlots
) -> list[tuple[float, FloatArray]]:
    """Return the score and parameters of the best of 24 headings and 3 sizes of a standing person, best first."""
    headings = 24
    mean, variance = person.mean_posture
    expected = np.array(slots.expected)
    usual = expected if expected.sum() >= _LEAST_POINTS else np.ones(len(mean), dtype=bool)
    low, high = points[:, 1].min(), points[:, 1].max()
    starts = []
    for factor in (0.94, 1.0, 1.06):
        scale = float(np.clip(factor * (high - low) / np.ptp(mean[usual, 1]), 0.4, 1.4))
        for heading in np.arange(headings) * 2.0 * np.pi / headings:
            rotated = scale * mean @ rotation_about_y(heading).T
            offset = 0.5 * (
                points.max(axis=0) + points.min(axis=0) - rotated[usual].max(axis=0) - rotated[usual].min(axis=0)
            )
            offset[1] = low - rotated[:, 1].min()
            squared = ((points[:, None] - rotated - offset) ** 2).sum(axis=2) / (variance * scale**2)
            rows, columns, score = _assign_points(
                _log_odds(squared, 3.0 * np.log(variance * scale**2), scale), expected
            )
            weight, target = np.zeros(len(mean)), rotated + offset
            weight[columns], target[columns] = 1.0, points[rows]
            starts.append((score, person.initial_parameters(target, float(heading), scale, weight / variance + 1e-9)))
    starts.sort(key=lambda start: -start[0])
    chosen: list[tuple[float, FloatArray]] = []
    for score, parameters in starts:
        # starts differ by more than 0.08 in the heading parameter (14 degrees)
        if all(abs(parameters - other)[3] > 0.08 for _, other in chosen):
            chosen.append((score, parameters))
    return chosen[:_STARTS]


def _fit_to_known_points(
    person: JointedPerson, points: FloatArray, known: Sequence[tuple[int, int]]
) -> tuple[float, FloatArray]:
    """Return the fit to the points with known places: score and parameters."""
    count = len(person.places)
    weight, target = np.full(count, _UNASSIGNED), np.zeros((count, 3))
    for row, column in known:
        weight[column], target[column] = 1.0, points[row]
    fit = fit_person(person, target, weight=weight)
    return -fit.cost, fit.parameters


def _log_odds(squared: FloatArray, log_determinant: FloatArray, scale: float) -> FloatArray:
    """Return the log odds (M, K) that a point is the marker at a place rather than any point around the person."""
    return -0.5 * (squared + log_determinant + 3.0 * np.log(2.0 * np.pi)) + np.log(_VOLUME_M3 * scale**3)


def _assign_points(log_odds: FloatArray, expected: BoolArray) -> tuple[IntArray, IntArray, float]:
    """Return points (rows) and places (columns) assigned one to one, and the total score."""
    value = np.maximum(log_odds + np.where(expected, _MISSING, 0.0), 0.0)
    rows, columns = linear_sum_assignment(-value)
    is_gain = value[rows, columns] > 0.0
    score = float(value[rows, columns].sum() - _MISSING * expected.sum())
    return rows[is_gain], columns[is_gain], score


@dataclass(frozen=True)
class _Assignment:
    """Points assigned to the places of a marker set: index of the point at each place (-1 = none), the fit, and the score."""

    slots: MarkerSlots
    point_of: IntArray
    fit: PersonFit
    score: float

    @property
    def _filled_slots(self) -> IntArray:
        return np.flatnonzero(self.point_of >= 0)

    @property
    def _empty_slots(self) -> IntArray:
        return np.flatnonzero(self.point_of < 0)

    def places_by_label(self, names: Sequence[str]) -> dict[str, str]:
        """Return the place to which each point is assigned, by label in the file."""
        return {names[self.point_of[k]]: self.slots.places[k] for k in self._filled_slots}

    def with_moves(self, *moves: tuple[int, int]) -> IntArray:
        """Return `point_of` with points moved from places to empty ones."""
        point_of = self.point_of.copy()
        for start, end in moves:
            point_of[end], point_of[start] = point_of[start], -1
        return point_of


def _best_assignment(
    slots: MarkerSlots, fits: _FitCache, parameters: FloatArray, known: Sequence[tuple[int, int]]
) -> _Assignment | None:
    """Alternate fit and assignment until the assignment is constant; then repeat without the points that fit badly."""
    person = person_with_places(slots.places)
    predicted, J = person.linearise_positions(parameters)
    fit = PersonFit(person, predicted, np.full(len(predicted), _UNASSIGNED), parameters, predicted, J, 0.0)
    best: _Assignment | None = None
    for _ in range(3):
        assignment = _refine_assignment(slots, fits, fit, known)
        assignment = assignment if assignment is None or known else _try_swaps(assignment, fits.points)
        if assignment is None or (best is not None and assignment.score < best.score + 0.1):
            break
        best = assignment
        is_likely = assignment.fit.leave_one_out_distances() < _LIKELY
        if is_likely.all():
            break
        weight = np.full(len(slots.places), _UNASSIGNED)
        weight[assignment._filled_slots[is_likely]] = 1.0
        fit = fit_person(person, fits.points[np.maximum(assignment.point_of, 0)], fit.parameters, weight)
    return best


def _refine_assignment(
    slots: MarkerSlots, fits: _FitCache, fit: PersonFit, known: Sequence[tuple[int, int]]
) -> _Assignment | None:
    expected, points = np.array(slots.expected), fits.points
    point_of = np.full(len(slots.places), -1)
    for iteration in range(8):
        squared, log_determinant = fit.squared_mahalanobis_distances(points)
        scale = fit.person.relative_height(fit.parameters)
        if iteration == 0 and fit.weight.max() <= _UNASSIGNED:
            variance = fit.person.mean_posture[1] * scale**2
            squared = ((points[:, None] - fit.predicted) ** 2).sum(axis=2) / variance
            log_determinant = 3.0 * np.log(variance)
        if known:
            rows, columns = np.array(known).T
            squared[rows], squared[:, columns] = 1e6, 1e6  # not available for other assignments
            squared[rows, columns] = 0.0
        rows, columns, _ = _assign_points(_log_odds(squared, log_determinant, scale), expected)
        assigned = np.full(len(slots.places), -1)
        assigned[columns] = rows
        if (assigned == point_of).all():
            break
        point_of = assigned
        if (point_of >= 0).sum() < _LEAST_POINTS:
            return None
        weight = np.where(point_of >= 0, 1.0, _UNASSIGNED)
        fit = fit_person(fit.person, points[np.maximum(point_of, 0)], fit.parameters, weight)
    return _try_moves(_score_assignment(slots, point_of, fits), fits)


def _score_assignment(slots: MarkerSlots, point_of: IntArray, fits: _FitCache) -> _Assignment:
    filled = np.flatnonzero(point_of >= 0)
    fit = fits.fit_to_places(tuple(slots.places[k] for k in filled), point_of[filled])
    mirrored, present = place_table().mirrored, {slots.places[k] for k in filled}
    # markers are usually placed in pairs
    unpaired = sum(mirrored[place] in slots.places and mirrored[place] not in present for place in present)
    missing = int((np.array(slots.expected) & (point_of < 0)).sum()) + 2 * unpaired
    missing += 2 * int((np.array(slots.required) & (point_of < 0)).sum())
    volume = _VOLUME_M3 * fit.person.relative_height(fit.parameters) ** 3
    score = fit.log_likelihood + len(filled) * np.log(volume) - _MISSING * missing
    return _Assignment(slots, point_of, fit, float(score))


def _try_moves(assignment: _Assignment, fits: _FitCache) -> _Assignment:
    """Move points to empty places nearby, on one side or both, if this is more probable."""
    slots = assignment.slots
    for k in assignment._filled_slots.tolist():
        for empty in assignment._empty_slots.tolist():
            if assignment.point_of[k] < 0 or not _confusable_places(slots.places)[k, empty]:
                continue
            candidates = [_score_assignment(slots, assignment.with_moves((k, empty)), fits)]
            mirror, mirror_empty = _mirror_slot(slots, k), _mirror_slot(slots, empty)
            if (
                min(mirror, mirror_empty) >= 0
                and assignment.point_of[mirror] >= 0
                and assignment.point_of[mirror_empty] < 0
            ):
                both = assignment.with_moves((k, empty), (mirror, mirror_empty))
                candidates.append(_score_assignment(slots, both, fits))
            assignment = max(assignment, *candidates, key=lambda candidate: candidate.score)
    return assignment


def _mirror_slot(slots: MarkerSlots, k: int) -> int:
    """Return the index of the same place on the other side, -1 if the set has none."""
    mirrored = place_table().mirrored[slots.places[k]]
    return slots.places.index(mirrored) if mirrored in slots.places and mirrored != slots.places[k] else -1


@cache
def _confusable_places(places: tuple[str, ...]) -> BoolArray:
    """Return a mask (K, K) of places within 0.15 m at reference height, which may be confused."""
    mean, _ = person_with_places(places).mean_posture
    is_close: BoolArray = np.linalg.norm(mean[:, None] - mean, axis=2) < 0.15
    return is_close


def _try_swaps(assignment: _Assignment, points: FloatArray) -> _Assignment:
    """Swap pairs of points while this increases the probability, at most eight times."""
    for _ in range(8):
        gains = assignment.fit.swap_gains()
        i, j = np.unravel_index(int(gains.argmax()), gains.shape)
        if gains[i, j] < 1.0:
            break
        filled = assignment._filled_slots
        point_of = assignment.point_of.copy()
        point_of[filled[[i, j]]] = assignment.point_of[filled[[j, i]]]
        person = assignment.fit.person
        starts = (None, assignment.fit.parameters)
        fit = min((fit_person(person, points[point_of[filled]], start) for start in starts), key=lambda f: f.cost)
        decrease = assignment.fit.cost - fit.cost
        if decrease < 1.0:
            break
        assignment = _Assignment(assignment.slots, point_of, fit, assignment.score + 0.5 * decrease)
    return assignment


def _swappable_pairs(fit: PersonFit) -> list[tuple[int, int]]:
    """Return the pairs of points that fit nearly as well if swapped, also after a rotation of the joint between them."""
    promising = -60.0  # linearised gain above which the person is fitted again
    gains = fit.swap_gains()
    pairs = []
    for i, j in np.argwhere(np.triu(gains > promising, 1)):
        order = np.arange(len(fit.points))
        order[[i, j]] = j, i
        cost = min(fit_person(fit.person, fit.points[order], start).cost for start in (None, fit.parameters))
        if cost - fit.cost < _CLEAR:
            pairs.append((int(i), int(j)))
    return pairs


def _unambiguous_labelling(assignments: Sequence[_Assignment], names: Sequence[str], fits: _FitCache) -> Labelling:
    """Return the best assignment; labels that other assignments with nearly the same score contradict are omitted."""
    best = assignments[0]
    slots, fit = best.slots, best.fit
    place_of = best.places_by_label(names)
    set_label = dict(zip(slots.places, slots.labels, strict=True))
    name_at = {place: name for name, place in place_of.items()}
    places = fit.person.places
    ambiguous: dict[str, str] = {}
    for i, j in _swappable_pairs(fit):
        ambiguous[name_at[places[i]]], ambiguous[name_at[places[j]]] = set_label[places[j]], set_label[places[i]]
    for k in best._filled_slots.tolist():
        for empty in best._empty_slots.tolist():
            if _confusable_places(slots.places)[k, empty]:
                rival = _score_assignment(slots, best.with_moves((k, empty)), fits)
                if best.score - rival.score < 0.25 * _CLEAR:
                    ambiguous[names[best.point_of[k]]] = slots.labels[empty]
    squared = fit.leave_one_out_distances()
    spare = [i for i, name in enumerate(names) if name not in place_of]
    spare_squared = (
        fit.squared_mahalanobis_distances(fits.points[spare])[0] if spare else np.full((1, len(places)), np.inf)
    )
    for i, place in enumerate(places):
        if squared[i] > _LIKELY or spare_squared[:, i].min() < squared[i] + _CLEAR:
            ambiguous.setdefault(name_at[place], "")
    for rival in assignments[1:]:
        if best.score - rival.score < 0.5 * _CLEAR:
            rival_place = rival.places_by_label(names)
            for name, place in place_of.items():
                if rival_place.get(name, place) != place:
                    ambiguous.setdefault(name, "")
    return Labelling(
        set_name=slots.set_name,
        labels={name: set_label[place] for name, place in place_of.items() if name not in ambiguous},
        ambiguous=tuple(ambiguous.items()),
        unassigned=tuple(names[i] for i in spare),
        fit=fit,
        is_plausible=fit.cost < 0.9 * fit.points.size,  # largest cost per coordinate; real people have 0.2 to 0.6
    )
