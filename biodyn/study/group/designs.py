"""Which comparisons the data of a study allow: pairs of conditions in the same people, groups of different people.

One subject is one observation in each condition. With several groups, conditions are compared within each group, and
groups within each condition, so that no comparison mixes both; the mixed model looks at both at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from biodyn.study.group.observations import Cell
from biodyn.study.group.options import AnalysisOptions

Kind = Literal["paired", "independent", "repeated anova", "anova", "regression"]
Factor = Literal["condition", "group", "predictor"]


@dataclass(frozen=True)
class Design:
    """One comparison.

    Attributes:
        kind: how. factor: of what.
        within: the level of the other factor it is made in, "" where that has one level only.
        levels: that are compared; for a pair the effect is the second minus the first.
        rows: for each level the rows of the cells. For kinds within people, row i of every level is the same subject.
    """

    kind: Kind
    factor: Factor
    within: str
    levels: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]

    @property
    def same_people(self) -> bool:
        """Whether every level is measured in the same subjects."""
        return self.kind in ("paired", "repeated anova")

    @property
    def family(self) -> str:
        """Tests that are corrected together: all of a kind and factor."""
        return f"{self.kind}, {self.factor}"

    @property
    def label(self) -> str:
        """The comparison in words."""
        names = [named(level) for level in self.levels]
        if self.kind == "regression":
            return names[0]
        return f"{names[1]} - {names[0]}" if len(names) == 2 else ", ".join(names)


@dataclass(frozen=True)
class Designs:
    """What is compared, and sentences about what is not and why."""

    designs: tuple[Design, ...]
    notes: tuple[str, ...]


def designs_of(cells: Sequence[Cell], options: AnalysisOptions) -> Designs:
    """Return the comparisons that options and data allow; `cells` one per subject, condition and group."""
    conditions = _levels([cell.condition for cell in cells], options.conditions)
    groups = _levels([cell.group for cell in cells], options.groups)
    found: list[Design] = []
    notes: list[str] = []
    if options.tests == ():
        return Designs((), ("No comparisons were asked for.",))
    if wants(options, "paired", "anova"):
        for group in groups if len(conditions) > 1 else ():
            rows = _rows(cells, "condition", conditions, group)
            found += _within_people(rows, group if len(groups) > 1 else "", options, notes)
    if wants(options, "independent", "anova"):
        for condition in conditions if len(groups) > 1 else ():
            rows = _rows(cells, "group", groups, condition)
            found += _between_people(rows, condition if len(conditions) > 1 else "", options, notes)
    if options.predictor is not None and wants(options, "regression"):
        found += _regressions(cells, conditions, options, notes)
    elif len(conditions) < 2 and len(groups) < 2:
        notes.append("Nothing is compared: all trials have one condition and one group.")
    return Designs(tuple(found), tuple(notes))


def wants(options: AnalysisOptions, *tests: str) -> bool:
    """Whether one of these kinds of tests is to be made."""
    return options.tests == "auto" or any(test in options.tests for test in tests)


def named(level: str) -> str:
    """A condition or group in words, also that of trials that have none."""
    return level or "(no name)"


def _levels(found: Sequence[str], chosen: Sequence[str] | None) -> list[str]:
    levels = list(dict.fromkeys(found))
    return levels if chosen is None else [level for level in chosen if level in levels]


def _rows(cells: Sequence[Cell], factor: Factor, levels: Sequence[str], within: str) -> dict[str, dict[str, int]]:
    """Row by subject for each level of a factor, within one level of the other."""
    other = "group" if factor == "condition" else "condition"
    return {
        level: {
            cell.subject: row
            for row, cell in enumerate(cells)
            if getattr(cell, factor) == level and getattr(cell, other) == within
        }
        for level in levels
    }


def _within_people(
    rows: dict[str, dict[str, int]], within: str, options: AnalysisOptions, notes: list[str]
) -> list[Design]:
    found: list[Design] = []
    measured = [level for level, own in rows.items() if own]
    if len(measured) < 2:
        return found
    where = f" in group {within}" if within else ""
    listed = ", ".join(named(level) for level in measured)
    shared = {pair: [s for s in rows[pair[0]] if s in rows[pair[1]]] for pair in combinations(measured, 2)}
    enough = {pair: both for pair, both in shared.items() if len(both) >= options.least_subjects}
    if not enough:
        most = max(len(both) for both in shared.values())
        notes.append(
            f"Conditions are not compared{where}: no two of {listed} were measured in the same {options.least_subjects} "
            f"subjects or more (at most {most})."
        )
        return found
    complete = [subject for subject in rows[measured[0]] if all(subject in rows[level] for level in measured)]
    if len(measured) > 2 and wants(options, "anova"):
        if len(complete) >= options.least_subjects:
            found.append(_design("repeated anova", "condition", within, measured, rows, complete))
        else:
            notes.append(
                f"No repeated-measures analysis of variance of {listed}{where}: {_people(len(complete))} measured in all of "
                f"them, {options.least_subjects} are needed."
            )
    for (first, second), both in shared.items() if wants(options, "paired") else ():
        if (first, second) in enough:
            found.append(_design("paired", "condition", within, [first, second], rows, both))
        else:
            notes.append(
                f"{named(second)} is not compared with {named(first)}{where}: {_people(len(both))} measured in both, "
                f"{options.least_subjects} are needed."
            )
    return found


def _between_people(
    rows: dict[str, dict[str, int]], within: str, options: AnalysisOptions, notes: list[str]
) -> list[Design]:
    found: list[Design] = []
    where = f" in condition {within}" if within else ""
    enough = [level for level, own in rows.items() if len(own) >= options.least_subjects]
    for level in rows:
        if level not in enough:
            notes.append(
                f"Group {named(level)} is not compared{where}: {_people(len(rows[level]))} measured, "
                f"{options.least_subjects} are needed."
            )
    shared = [s for a, b in combinations(enough, 2) for s in rows[a] if s in rows[b]]
    if shared:
        notes.append(
            f"Groups are not compared{where}: {shared[0]} belongs to more than one, so they are not independent."
        )
        return found
    if len(enough) > 2 and wants(options, "anova"):
        found.append(Design("anova", "group", within, tuple(enough), tuple(tuple(rows[x].values()) for x in enough)))
    for pair in combinations(enough, 2) if wants(options, "independent") else ():
        found.append(Design("independent", "group", within, pair, tuple(tuple(rows[x].values()) for x in pair)))
    return found


def _regressions(
    cells: Sequence[Cell], conditions: Sequence[str], options: AnalysisOptions, notes: list[str]
) -> list[Design]:
    """One a condition: everything of a subject on its own predictor, all groups together."""
    found: list[Design] = []
    least = options.least_subjects + 1  # a line takes one parameter more than a mean
    for condition in conditions:
        own = [(row, cell.subject) for row, cell in enumerate(cells) if cell.condition == condition]
        within = condition if len(conditions) > 1 else ""
        if len(own) >= least and len({subject for _, subject in own}) == len(own):
            rows = (tuple(row for row, _ in own),)
            found.append(Design("regression", "predictor", within, (str(options.predictor),), rows))
        else:
            notes.append(
                f"No regression on {options.predictor} in condition {named(condition)}: {_people(len(own))} "
                f"measured, {least} are needed, each in one group."
            )
    return found


def _design(
    kind: Kind,
    factor: Factor,
    within: str,
    levels: Sequence[str],
    rows: dict[str, dict[str, int]],
    subjects: Sequence[str],
) -> Design:
    return Design(
        kind, factor, within, tuple(levels), tuple(tuple(rows[level][s] for s in subjects) for level in levels)
    )


def _people(count: int) -> str:
    return {0: "no subject was", 1: "one subject was"}.get(count, f"{count} subjects were")
