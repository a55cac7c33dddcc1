"""Markers that nobody named: which marker of which set each point of one instant is, and where that cannot be told.

Points go to the places of a set one to one, so that they are most probable under the jointed person (fitted and assigned in
turn, from several headings); a point that no place explains stays without one. What remains open is found by exchanging.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import linear_sum_assignment

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.model.from_library.recognition.person import (
    JointedPerson,
    PersonFit,
    fit_person,
    mirrored_places,
    person_with,
)

_HEADINGS = 24
_SIZES = (0.94, 1.0, 1.06)
_STARTS = 4
_APART = 0.08  # between the headings of two starts, in the unit of the parameter: 14 degrees
_ROUNDS = 8
# A point that is no marker of the set may be anywhere about the person, in this volume at reference height, m3.
_ABOUT_M3 = 0.6
_MISSING = 4.0  # logarithm of how improbable it is that a marker of the set is not there
_CLEAR = 20.0  # squared distance by which any other naming must be worse
_MAYBE = 60.0  # the same, linearised: below it the person is fitted again
_LIKELY = 20.0  # squared distance of a marker's three coordinates
_FAINT = 1e-9  # weight of a place without a point
_NEVER = 1e6
_LEAST = 6  # points
_SECOND_THOUGHTS = 3
_EXCHANGES = 8
_CLOSE_M = 0.15  # between places that may be taken for each other, at reference height
_USUAL = 0.9  # squared distance per coordinate of all markers; people have 0.2 to 0.6


@dataclass(frozen=True)
class Slots:
    """The places of a marker set: names for them, which of them recordings usually have, and which the set requires."""

    set_name: str
    labels: tuple[str, ...]
    places: tuple[str, ...]
    expected: tuple[bool, ...]
    required: tuple[bool, ...]


@dataclass(frozen=True)
class Named:
    """Points named by where they are.

    Attributes:
        set_name: of the marker set. labels: point's own label -> label of the set, those that are clear.
        open: own labels of points that could be named otherwise, with the other name, "" where it is none of the set.
        lacking: labels that the set has in every recording and no point has. beyond: own labels of points that are no
            marker of the set.
        score: logarithm of how much more probable the points are as markers of the set than as points anywhere.
        fit: of the person to the points that got a place; usual: whether people have been seen to fit so well.
    """

    set_name: str
    labels: Mapping[str, str]
    open: tuple[tuple[str, str], ...]
    lacking: tuple[str, ...]
    beyond: tuple[str, ...]
    score: float
    fit: PersonFit
    usual: bool


def name_points(
    points: Mapping[str, FloatArray], sets: Sequence[Slots], fixed: Mapping[str, str] | None = None
) -> Named | None:
    """Name points (3,) m in World, Y up, as markers of the most probable of the sets; None where none comes near.

    `fixed`: own label -> place, of points whose labels are known.
    """
    own = tuple(points)
    seen = np.stack([points[label] for label in own]) if own else np.zeros((0, 3))
    tried = []
    for slots in sets:
        person = person_with(slots.places)
        starts = [_fixed_start(person, own, seen, slots, fixed)] if fixed else _starts(person, seen, slots)
        tried += [(score, slots, start) for score, start in starts]
    tried.sort(key=lambda one: -one[0])
    found: list[_Naming] = []
    fits = _Fits(seen)
    for _, slots, start in tried[: 2 * _STARTS]:
        solved = _assigned(slots, own, fits, start, fixed or {})
        if solved is not None:
            found.append(solved)
    if not found:
        return None
    found.sort(key=lambda one: -one.score)
    return _judged(found, own, fits)


class _Fits:
    """The person fitted to points at places, each naming once: several starts and sets come to the same ones."""

    def __init__(self, seen: FloatArray) -> None:
        self.seen = seen
        self._known: dict[tuple[tuple[str, ...], tuple[int, ...]], PersonFit] = {}

    def of(self, places: tuple[str, ...], points: IntArray) -> PersonFit:
        """Return the fit of the points of these indices at these places."""
        key = places, tuple(points.tolist())
        if key not in self._known:
            self._known[key] = fit_person(person_with(places), self.seen[points])
        return self._known[key]


def _starts(person: JointedPerson, seen: FloatArray, slots: Slots) -> list[tuple[float, FloatArray]]:
    """The headings and sizes from which the points look most like a standing person."""
    mean, spread = person.standing
    expected = np.array(slots.expected)
    usual = expected if expected.sum() >= _LEAST else np.ones(len(mean), dtype=bool)
    low, high = seen[:, 1].min(), seen[:, 1].max()
    found = []
    for factor in _SIZES:
        size = float(np.clip(factor * (high - low) / np.ptp(mean[usual, 1]), 0.4, 1.4))
        for heading in np.arange(_HEADINGS) * 2.0 * np.pi / _HEADINGS:
            c, s = np.cos(heading), np.sin(heading)
            turned = size * mean @ np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])
            place = 0.5 * (seen.max(axis=0) + seen.min(axis=0) - turned[usual].max(axis=0) - turned[usual].min(axis=0))
            place[1] = low - turned[:, 1].min()
            squared = ((seen[:, None] - turned - place) ** 2).sum(axis=2) / (spread * size**2)
            gain = _gain(squared, 3.0 * np.log(spread * size**2), size)
            rows, columns, score = _best(gain, expected)
            weight = np.zeros(len(mean))
            target = turned + place
            weight[columns], target[columns] = 1.0, seen[rows]
            parameters = person.laid(target, float(heading), size, weight / spread + 1e-9)
            found.append((score, parameters))
    found.sort(key=lambda one: -one[0])
    chosen: list[tuple[float, FloatArray]] = []
    for score, parameters in found:
        if all(abs(parameters - other)[3] > _APART for _, other in chosen):
            chosen.append((score, parameters))
    return chosen[:_STARTS]


def _fixed_start(
    person: JointedPerson, own: Sequence[str], seen: FloatArray, slots: Slots, fixed: Mapping[str, str]
) -> tuple[float, FloatArray]:
    weight, target = np.full(len(slots.places), _FAINT), np.zeros((len(slots.places), 3))
    for label, place in fixed.items():
        if place in slots.places:
            k = slots.places.index(place)
            weight[k], target[k] = 1.0, seen[own.index(label)]
    fit = fit_person(person, target, weight=weight)
    return -fit.cost, fit.parameters


def _gain(squared: FloatArray, volume: FloatArray, size: float) -> FloatArray:
    """(M, K) logarithm of how much more probable a point is as a marker at a place than as a point anywhere."""
    return -0.5 * (squared + volume + 3.0 * np.log(2.0 * np.pi)) + np.log(_ABOUT_M3 * size**3)


def _best(gain: FloatArray, expected: BoolArray) -> tuple[IntArray, IntArray, float]:
    """Points (rows) and places (columns) one to one, and the score of all."""
    value = np.maximum(gain + np.where(expected, _MISSING, 0.0), 0.0)
    rows, columns = linear_sum_assignment(-value)
    kept = value[rows, columns] > 0.0
    score = float(value[rows, columns].sum() - _MISSING * expected.sum())
    return rows[kept], columns[kept], score


@dataclass(frozen=True)
class _Naming:
    """Points at the places of a set: the point of each place (-1 for none), the fit to them, and the score."""

    slots: Slots
    taken: IntArray
    fit: PersonFit
    score: float

    def by_label(self, own: Sequence[str]) -> dict[str, str]:
        return {own[self.taken[k]]: self.slots.places[k] for k in np.flatnonzero(self.taken >= 0)}


def _assigned(
    slots: Slots, own: Sequence[str], fits: _Fits, parameters: FloatArray, fixed: Mapping[str, str]
) -> _Naming | None:
    """Fit and assign in turn until nothing changes; then once more without the points that fit badly."""
    person = person_with(slots.places)
    known = [(own.index(label), slots.places.index(place)) for label, place in fixed.items() if place in slots.places]
    predicted, J = person.linearised(parameters)
    fit = PersonFit(person, predicted, np.full(len(predicted), _FAINT), parameters, predicted, J, 0.0)
    best: _Naming | None = None
    for _ in range(_SECOND_THOUGHTS):
        naming = _settled(slots, fits, fit, known)
        naming = naming if naming is None or known else _polished(naming, fits.seen)
        if naming is None or (best is not None and naming.score < best.score + 0.1):
            break
        best = naming
        off, _ = naming.fit.alone()
        worn = np.flatnonzero(naming.taken >= 0)
        weight = np.full(len(slots.places), _FAINT)
        weight[worn[off < _LIKELY]] = 1.0
        if (off < _LIKELY).all():
            break
        fit = fit_person(person, fits.seen[np.maximum(naming.taken, 0)], fit.parameters, weight)
    return best


def _lone(slots: Slots, worn: IntArray) -> int:
    """Places of one side without that of the other: laboratories put such markers on in pairs."""
    mirrored, there = mirrored_places(), {slots.places[k] for k in worn}
    return sum(mirrored[place] in slots.places and mirrored[place] not in there for place in there)


def _moved(naming: _Naming, fits: _Fits) -> _Naming:
    """Points moved to empty places near their own, of one side or both, where that is likelier."""
    slots = naming.slots
    for k in np.flatnonzero(naming.taken >= 0):
        for empty in np.flatnonzero(naming.taken < 0):
            if naming.taken[k] < 0 or not _are_close(slots, int(k), int(empty)):
                continue
            one = naming.taken.copy()
            one[empty], one[k] = one[k], -1
            tried = [_scored(slots, one, fits)]
            across = [_other_side(slots, int(i)) for i in (k, empty)]
            if across[0] >= 0 and across[1] >= 0 and naming.taken[across[0]] >= 0 and naming.taken[across[1]] < 0:
                both = one.copy()
                both[across[1]], both[across[0]] = both[across[0]], -1
                tried.append(_scored(slots, both, fits))
            naming = max(naming, *tried, key=lambda found: found.score)
    return naming


def _other_side(slots: Slots, k: int) -> int:
    """The place of the other side, -1 where the set has none."""
    across = mirrored_places()[slots.places[k]]
    return slots.places.index(across) if across in slots.places and across != slots.places[k] else -1


def _are_close(slots: Slots, one: int, other: int) -> bool:
    return bool(_close_places(slots.places)[one, other])


@cache
def _close_places(places: tuple[str, ...]) -> BoolArray:
    """(K, K) places that may be taken for each other."""
    mean, _ = person_with(places).standing
    close: BoolArray = np.linalg.norm(mean[:, None] - mean, axis=2) < _CLOSE_M
    return close


def _polished(naming: _Naming, seen: FloatArray) -> _Naming:
    """Exchange two points while that makes them more probable."""
    for _ in range(_EXCHANGES):
        gains = naming.fit.exchange_gains()
        i, j = np.unravel_index(int(gains.argmax()), gains.shape)
        if gains[i, j] < 1.0:
            break
        worn = np.flatnonzero(naming.taken >= 0)
        taken = naming.taken.copy()
        taken[worn[[i, j]]] = naming.taken[worn[[j, i]]]
        starts = (None, naming.fit.parameters)
        fit = min(
            (fit_person(naming.fit.person, seen[taken[worn]], start) for start in starts), key=lambda one: one.cost
        )
        gained = naming.fit.cost - fit.cost
        if gained < 1.0:
            break
        naming = _Naming(naming.slots, taken, fit, naming.score + 0.5 * gained)
    return naming


def _settled(slots: Slots, fits: _Fits, fit: PersonFit, known: Sequence[tuple[int, int]]) -> _Naming | None:
    expected, seen = np.array(slots.expected), fits.seen
    taken = np.full(len(slots.places), -1)
    for round_ in range(_ROUNDS):
        squared, volume = fit.to_places(seen)
        if round_ == 0 and fit.weight.max() <= _FAINT:
            spread = fit.person.standing[1] * fit.person.size_of(fit.parameters) ** 2
            squared, volume = ((seen[:, None] - fit.predicted) ** 2).sum(axis=2) / spread, 3.0 * np.log(spread)
        if known:
            rows, columns = np.array(known).T
            squared[rows], squared[:, columns] = _NEVER, _NEVER
            squared[rows, columns] = 0.0
        rows, columns, _ = _best(_gain(squared, volume, fit.person.size_of(fit.parameters)), expected)
        new = np.full(len(slots.places), -1)
        new[columns] = rows
        if (new == taken).all():
            break
        taken = new
        if (taken >= 0).sum() < _LEAST:
            return None
        weight = np.where(taken >= 0, 1.0, _FAINT)
        fit = fit_person(fit.person, seen[np.maximum(taken, 0)], fit.parameters, weight)
    return _moved(_scored(slots, taken, fits), fits)


def _scored(slots: Slots, taken: IntArray, fits: _Fits) -> _Naming:
    worn = np.flatnonzero(taken >= 0)
    last = fits.of(tuple(slots.places[k] for k in worn), taken[worn])
    size = last.person.size_of(last.parameters)
    missing = int((np.array(slots.expected) & (taken < 0)).sum()) + 2 * _lone(slots, worn)
    missing += 2 * int((np.array(slots.required) & (taken < 0)).sum())
    score = last.log_likelihood + len(worn) * np.log(_ABOUT_M3 * size**3) - _MISSING * missing
    return _Naming(slots, taken, last, float(score))


def _rivals(fit: PersonFit) -> list[tuple[int, int]]:
    """Pairs of points that could as well stand for each other; also where the person would have to turn a limb for it."""
    gains = fit.exchange_gains()
    rivals = []
    for i, j in np.argwhere(np.triu(gains > -_MAYBE, 1)):
        order = np.arange(len(fit.points))
        order[[i, j]] = j, i
        other = min(fit_person(fit.person, fit.points[order], start).cost for start in (None, fit.parameters))
        if other - fit.cost < _CLEAR:
            rivals.append((int(i), int(j)))
    return rivals


def _elsewhere(naming: _Naming, fits: _Fits) -> list[tuple[int, int]]:
    """Places whose point could as well be at an empty one nearby: (place, empty place)."""
    found = []
    for k in np.flatnonzero(naming.taken >= 0):
        for empty in np.flatnonzero(naming.taken < 0):
            if _are_close(naming.slots, int(k), int(empty)):
                taken = naming.taken.copy()
                taken[empty], taken[k] = taken[k], -1
                if naming.score - _scored(naming.slots, taken, fits).score < 0.25 * _CLEAR:
                    found.append((int(k), int(empty)))
    return found


def _judged(found: Sequence[_Naming], own: Sequence[str], fits: _Fits) -> Named:
    """The best naming without what other namings contradict that are nearly as good."""
    best = found[0]
    slots, fit = best.slots, best.fit
    meant = best.by_label(own)
    name = dict(zip(slots.places, slots.labels, strict=True))
    label_of = {place: own_label for own_label, place in meant.items()}
    places = fit.person.places
    doubtful: dict[str, str] = {}
    for i, j in _rivals(fit):
        one, other = places[i], places[j]
        doubtful[label_of[one]], doubtful[label_of[other]] = name[other], name[one]
    for k, empty in _elsewhere(best, fits):
        doubtful[own[best.taken[k]]] = slots.labels[empty]
    off, _ = fit.alone()
    spare = [i for i, label in enumerate(own) if label not in meant]
    squared = fit.to_places(fits.seen[spare])[0] if spare else np.full((1, len(places)), np.inf)
    for i, place in enumerate(places):
        if off[i] > _LIKELY or squared[:, i].min() < off[i] + _CLEAR:
            doubtful.setdefault(label_of[place], "")
    for rival in found[1:]:
        if best.score - rival.score < 0.5 * _CLEAR:
            other_places = rival.by_label(own)
            for label, place in meant.items():
                if other_places.get(label, place) != place:
                    doubtful.setdefault(label, "")
    clear = {label: name[place] for label, place in meant.items() if label not in doubtful}
    lacking = tuple(
        label
        for label, point, expected in zip(slots.labels, best.taken, slots.expected, strict=True)
        if expected and point < 0
    )
    usual = fit.cost < _USUAL * fit.points.size
    beyond = tuple(own[i] for i in spare)
    return Named(slots.set_name, clear, tuple(doubtful.items()), lacking, beyond, best.score, fit, usual)
