"""Exchanged labels in one instant: which labels must change place for the points to be those of a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment

from biodyn.conventions import FloatArray
from biodyn.model.from_library.recognition.person import (
    PersonFit,
    body_of_places,
    fit_person,
    mirrored_places,
    parts_with_sides,
    person_with,
    robust_fit,
)

# Fewer points, or points of fewer segments, say too little of a person.
_LEAST_POINTS = 8
_LEAST_BODIES = 3
# Squared distances, in standard deviations: correct labels of real people never gained by an exchange.
LEAST_GAIN = 30.0
_RUNNER_UP = 15.0  # another exchange that gains nearly as much leaves it open which one it was
_PLAUSIBLE = 15.0  # of a marker's three coordinates after the exchange
_TRIED = 4  # exchanges that are fitted of those that promise most
_STEPS = 12
_LOOKS_ODD = 0.8  # squared distance per coordinate above which more than single pairs is tried; people have 0.2 to 0.6

Order = tuple[int, ...]  # for each label the point that it belongs to


@dataclass(frozen=True)
class Exchange:
    """Labels that carry each other's marker.

    Attributes:
        moved: label as it is -> label as it ought to be.
        before_m, after_m: mean distance of these markers from where the body has them, as labelled and mended.
        gain: by how much the squared distance of the whole body falls, in standard deviations.
    """

    moved: Mapping[str, str]
    before_m: float
    after_m: float
    gain: float

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels concerned."""
        return tuple(self.moved)


@dataclass(frozen=True)
class Judged:
    """What the points of one instant say about their labels.

    Attributes:
        exchanges: that make a person of the points. unclear: that would, but so would others.
        fit: of the person to the points with all exchanges made, None where there were too few points to judge.
        labels: of the points of the fit.
    """

    exchanges: tuple[Exchange, ...] = ()
    unclear: tuple[Exchange, ...] = ()
    fit: PersonFit | None = None
    labels: tuple[str, ...] = ()


def judge(points: Mapping[str, FloatArray], places: Mapping[str, str]) -> Judged:
    """Judge labelled points (3,) m in World, Y up: `places` says which place (`person.place_names`) a label marks."""
    labels = _telling(points, places)
    if not labels:
        return Judged()
    seen = np.stack([points[label] for label in labels])
    search = _Search(labels, places, seen, _as_labelled(labels, places, seen))
    search.run()
    exchanges, unclear = search.result()
    return Judged(exchanges, unclear, search.fit, labels)


def exchange_gain(points: Mapping[str, FloatArray], places: Mapping[str, str], one: str, other: str) -> float:
    """By how much two labels would fit better exchanged, all others as they are: squared distance in standard deviations.

    One of them may mark no place: then the other's point is judged alone. NaN where the points say too little of a person.
    """
    labels = _telling(points, places)
    if not {one, other} & set(labels) or not {one, other} <= set(points):
        return float("nan")
    costs = []
    for seen in (points, {**points, one: points[other], other: points[one]}):
        costs.append(_as_labelled(labels, places, np.stack([seen[label] for label in labels])).cost)
    return float(costs[0] - costs[1])


def _telling(points: Mapping[str, FloatArray], places: Mapping[str, str]) -> tuple[str, ...]:
    """The labels with a place and a point; none where these are too few for a person."""
    labels = tuple(label for label in places if label in points and np.isfinite(points[label]).all())
    bodies = body_of_places()
    enough = len(labels) >= _LEAST_POINTS and len({bodies[places[label]] for label in labels}) >= _LEAST_BODIES
    return labels if enough else ()


def _as_labelled(labels: Sequence[str], places: Mapping[str, str], seen: FloatArray) -> PersonFit:
    return fit_person(person_with(tuple(places[label] for label in labels)), seen)


class _Search:
    """Steps from the labels as they are to those that fit best."""

    def __init__(self, labels: Sequence[str], places: Mapping[str, str], seen: FloatArray, fit: PersonFit) -> None:
        self.labels, self.places, self.seen = labels, places, seen
        self.as_labelled = self.fit = fit
        self.order: Order = tuple(range(len(labels)))
        self.rivals: list[tuple[float, Order]] = []

    def run(self) -> None:
        """Go on while an exchange makes the points clearly more like a person."""
        for _ in range(_STEPS):
            tried = sorted(self._tried(), key=lambda one: one[0].cost)
            if not tried or self.fit.cost - tried[0][0].cost < LEAST_GAIN:
                break
            self.rivals = [(fit.cost, order) for fit, order in tried[1:]]
            self.fit, self.order = tried[0]
        self._undo_what_gains_nothing()

    def _tried(self) -> list[tuple[PersonFit, Order]]:
        """Pairs that promise most; where none makes a person of the points, also what moves more than two labels."""
        gains = self.fit.exchange_gains()
        pairs = sorted(combinations(range(len(self.labels)), 2), key=lambda pair: -gains[pair])
        tried = []
        for i, j in pairs[:_TRIED]:
            if gains[i, j] > 0.5 * LEAST_GAIN:
                order = list(self.order)
                order[i], order[j] = order[j], order[i]
                tried.append((self._fitted(tuple(order)), tuple(order)))
        if self._is_odd(self.fit) and all(self._is_odd(fit) for fit, _ in tried):
            known = {self.order, *(order for _, order in tried)}
            more = dict.fromkeys((self._robust(), *self._parts(self.order)))
            tried += [(self._fitted(order), order) for order in more if order not in known]
        return tried

    def _is_odd(self, fit: PersonFit) -> bool:
        return fit.cost > _LOOKS_ODD * self.seen.size

    def _fitted(self, order: Order) -> PersonFit:
        points = self.seen[list(order)]
        fit = fit_person(self.fit.person, points, self.fit.parameters)
        # wrong labels may have drawn the person to a place from which there is no way back
        return min(fit, fit_person(self.fit.person, points), key=lambda one: one.cost) if self._is_odd(fit) else fit

    def _robust(self) -> Order:
        """Every point to the label whose place it is nearest to, of a person fitted to the greater part of the points."""
        fit = robust_fit(self.fit.person, self.seen[list(self.order)])
        distances, _ = fit.to_places(self.seen)
        _, columns = linear_sum_assignment(distances.T)
        return tuple(int(column) for column in columns)

    def _parts(self, start: Order) -> Iterator[Order]:
        """Both sides of the whole body or a part of it exchanged."""
        mirrored, bodies = mirrored_places(), body_of_places()
        by_place = {self.places[label]: i for i, label in enumerate(self.labels)}
        for parts in parts_with_sides():
            order = list(start)
            for i, label in enumerate(self.labels):
                place = self.places[label]
                if bodies[place] in parts:
                    order[i] = start[by_place.get(mirrored[place], i)]
            yield tuple(order)

    def _undo_what_gains_nothing(self) -> None:
        """Of two orders that fit, that of the files is the likelier, or that of whole sides where it is nearly that.

        Labels get the points back that they have in it, where that costs little.
        """
        as_labelled = tuple(range(len(self.labels)))
        simple = min(
            (as_labelled, *self._parts(as_labelled)),
            key=lambda order: sum(a != b for a, b in zip(order, self.order, strict=True)),
        )
        for i, wanted in enumerate(simple):
            if self.order[i] == wanted:
                continue
            order = list(self.order)
            order[order.index(wanted)], order[i] = order[i], wanted
            fit = self._fitted(tuple(order))
            if fit.cost - self.fit.cost < LEAST_GAIN:
                self.fit, self.order = fit, tuple(order)

    def result(self) -> tuple[tuple[Exchange, ...], tuple[Exchange, ...]]:
        """The exchanges that are clear, and those that are not."""
        clear: list[Exchange] = []
        unclear: list[Exchange] = []
        off, _ = self.fit.alone()
        for cycle in _cycles(self.order):
            order = list(self.order)
            for i in cycle:
                order[i] = i
            gain = self._fitted(tuple(order)).cost - self.fit.cost
            places = self.fit.predicted[list(cycle)]
            before = np.linalg.norm(self.seen[list(cycle)] - places, axis=1).mean()
            after = np.linalg.norm(self.fit.points[list(cycle)] - places, axis=1).mean()
            moved = {self.labels[self.order[i]]: self.labels[i] for i in cycle}
            exchange = Exchange(moved, float(before), float(after), gain)
            (clear if off[list(cycle)].max() < _PLAUSIBLE and not self._rivalled(cycle) else unclear).append(exchange)
        return tuple(clear), tuple(unclear)

    def _rivalled(self, cycle: Sequence[int]) -> bool:
        """Whether another order of these labels fits nearly as well."""
        return any(
            cost - self.fit.cost < _RUNNER_UP and any(order[i] != self.order[i] for i in cycle)
            for cost, order in self.rivals
        )


def _cycles(order: Order) -> list[tuple[int, ...]]:
    """The cycles of a permutation that move something."""
    cycles, done = [], set()
    for start in range(len(order)):
        cycle, i = [], start
        while i not in done:
            done.add(i)
            cycle.append(i)
            i = order[i]
        if len(cycle) > 1:
            cycles.append(tuple(cycle))
    return cycles
