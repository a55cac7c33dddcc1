"""Detection of swapped labels in one frame by fitting a person to permuted labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment

from biodyn.conventions import FloatArray
from biodyn.model.from_library.recognition.articulated_marker_model import (
    PersonFit,
    fit_person,
    fit_person_robustly,
    person_with_places,
    place_table,
)

# Least decrease of the cost (squared Mahalanobis distance) for a swap; swaps of correct labels of real people gained less.
_LEAST_GAIN = 30.0

Order = tuple[int, ...]  # for each label the index of its point


@dataclass(frozen=True)
class Swap:
    """Permutation of labels in one recording that corrects a swap.

    Attributes:
        corrections: label in the file -> correct label.
        before_m, after_m: mean distance of these markers from their position on the fitted person, as labelled and corrected.
    """

    corrections: Mapping[str, str]
    before_m: float
    after_m: float

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels in the file that are permuted."""
        return tuple(self.corrections)


@dataclass(frozen=True)
class SwapSearch:
    """Swapped labels of one frame.

    Attributes:
        swaps: unambiguous swaps. ambiguous: labels that do not fit, but for which several permutations are nearly equivalent.
        labels: labels of the points to which a person was fitted; empty if there were too few points.
    """

    swaps: tuple[Swap, ...] = ()
    ambiguous: tuple[Swap, ...] = ()
    labels: tuple[str, ...] = ()


def find_swaps(points: Mapping[str, FloatArray], places: Mapping[str, str]) -> SwapSearch:
    """Return the swapped labels of points (3,) m in World, Y up; `places`: place (`PlaceTable.names`) of each label."""
    labels = _usable_labels(points, places)
    if not labels:
        return SwapSearch()
    search = _GreedySwapSearch(labels, places, np.stack([points[label] for label in labels]))
    search.run()
    return SwapSearch(*search.result(), labels)


def swap_gain(points: Mapping[str, FloatArray], places: Mapping[str, str], first: str, second: str) -> float:
    """Return the decrease of the cost if two labels are swapped and all others are kept.

    If one of them has no place, only the point of the other is compared. NaN if there are too few points.
    """
    labels = _usable_labels(points, places)
    if not {first, second} & set(labels) or not {first, second} <= set(points):
        return float("nan")
    person = person_with_places(tuple(places[label] for label in labels))
    swapped = {**points, first: points[second], second: points[first]}
    cost, swapped_cost = (
        fit_person(person, np.stack([frame[label] for label in labels])).cost for frame in (points, swapped)
    )
    return float(cost - swapped_cost)


def _usable_labels(points: Mapping[str, FloatArray], places: Mapping[str, str]) -> tuple[str, ...]:
    """Return the labels with a place and a point; none if they are fewer than 8, or on fewer than 3 segments."""
    labels = tuple(label for label in places if label in points and np.isfinite(points[label]).all())
    bodies = place_table().body
    return labels if len(labels) >= 8 and len({bodies[places[label]] for label in labels}) >= 3 else ()


class _GreedySwapSearch:
    """Greedy search for the order of labels with the lowest cost of the fitted person, starting from the order in the file."""

    def __init__(self, labels: Sequence[str], places: Mapping[str, str], points: FloatArray) -> None:
        self.labels, self.places, self.points = labels, places, points
        self.fit = fit_person(person_with_places(tuple(places[label] for label in labels)), points)
        self.order: Order = tuple(range(len(labels)))
        self.rivals: list[tuple[float, Order]] = []

    def run(self) -> None:
        """Swap labels as long as a swap clearly decreases the cost of the fitted person."""
        for _ in range(12):
            candidates = sorted(self._candidate_fits(), key=lambda candidate: candidate[0].cost)
            if not candidates or self.fit.cost - candidates[0][0].cost < _LEAST_GAIN:
                break
            self.rivals = [(fit.cost, order) for fit, order in candidates[1:]]
            self.fit, self.order = candidates[0]
        self._simplify_order()

    def _candidate_fits(self) -> list[tuple[PersonFit, Order]]:
        """Return fits of the four most promising swaps of two labels.

        If none of them fits a person, permutations of more labels are fitted as well.
        """
        gains = self.fit.swap_gains()
        pairs = sorted(combinations(range(len(self.labels)), 2), key=lambda pair: -gains[pair])
        candidates = []
        for i, j in pairs[:4]:
            if gains[i, j] > 0.5 * _LEAST_GAIN:
                order = list(self.order)
                order[i], order[j] = order[j], order[i]
                candidates.append((self._fit_order(tuple(order)), tuple(order)))
        if self._is_poor_fit(self.fit) and all(self._is_poor_fit(fit) for fit, _ in candidates):
            known = {self.order, *(order for _, order in candidates)}
            more = dict.fromkeys((self._robust_order(), *self._mirrored_orders(self.order)))
            candidates += [(self._fit_order(order), order) for order in more if order not in known]
        return candidates

    def _is_poor_fit(self, fit: PersonFit) -> bool:
        return fit.cost > 0.8 * self.points.size  # largest cost per coordinate; real people have 0.2 to 0.6

    def _fit_order(self, order: Order) -> PersonFit:
        points = self.points[list(order)]
        fit = fit_person(self.fit.person, points, self.fit.parameters)
        if not self._is_poor_fit(fit):
            return fit
        # the fit may not converge from the previous solution, which was fitted to wrong labels
        return min(fit, fit_person(self.fit.person, points), key=lambda candidate: candidate.cost)

    def _robust_order(self) -> Order:
        """Assign every point to the nearest place of a person fitted robustly."""
        fit = fit_person_robustly(self.fit.person, self.points[list(self.order)])
        distances, _ = fit.squared_mahalanobis_distances(self.points)
        _, columns = linear_sum_assignment(distances.T)
        return tuple(int(column) for column in columns)

    def _mirrored_orders(self, start: Order) -> Iterator[Order]:
        """Yield the orders with both sides of the whole body, or of a part of it, swapped."""
        table = place_table()
        by_place = {self.places[label]: i for i, label in enumerate(self.labels)}
        for parts in table.parts:
            order = list(start)
            for i, label in enumerate(self.labels):
                place = self.places[label]
                if table.body[place] in parts:
                    order[i] = start[by_place.get(table.mirrored[place], i)]
            yield tuple(order)

    def _simplify_order(self) -> None:
        """Undo changes that gain little, in favour of the order in the file or the nearest swap of whole sides."""
        in_file = tuple(range(len(self.labels)))
        simple = min(
            (in_file, *self._mirrored_orders(in_file)),
            key=lambda order: sum(a != b for a, b in zip(order, self.order, strict=True)),
        )
        for i, point in enumerate(simple):
            if self.order[i] == point:
                continue
            order = list(self.order)
            order[order.index(point)], order[i] = order[i], point
            fit = self._fit_order(tuple(order))
            if fit.cost - self.fit.cost < _LEAST_GAIN:
                self.fit, self.order = fit, tuple(order)

    def result(self) -> tuple[tuple[Swap, ...], tuple[Swap, ...]]:
        """Return the unambiguous and the ambiguous swaps."""
        plausible = 15.0  # largest squared Mahalanobis distance of the three coordinates of a marker after the swap
        clear: list[Swap] = []
        ambiguous: list[Swap] = []
        squared = self.fit.leave_one_out_distances()
        for cycle in _permutation_cycles(self.order):
            predicted = self.fit.predicted[list(cycle)]
            before = np.linalg.norm(self.points[list(cycle)] - predicted, axis=1).mean()
            after = np.linalg.norm(self.fit.points[list(cycle)] - predicted, axis=1).mean()
            swap = Swap({self.labels[self.order[i]]: self.labels[i] for i in cycle}, float(before), float(after))
            is_clear = squared[list(cycle)].max() < plausible and not self._is_ambiguous(cycle)
            (clear if is_clear else ambiguous).append(swap)
        return tuple(clear), tuple(ambiguous)

    def _is_ambiguous(self, cycle: Sequence[int]) -> bool:
        """Return whether another order of the labels in a cycle has nearly the same cost (difference below 15)."""
        return any(
            cost - self.fit.cost < 15.0 and any(order[i] != self.order[i] for i in cycle) for cost, order in self.rivals
        )


def _permutation_cycles(order: Order) -> list[tuple[int, ...]]:
    """Return the cycles of a permutation, without fixed points."""
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
