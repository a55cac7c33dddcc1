"""The figures of a trial, one file each: from the values of a trial to the description of a figure.

In: `TrialValues`, that is what a result folder keeps (record, tables, arrays). Out: `Figure`, or None where there is
nothing to draw. A function says with `@figure(name, place, needs, section)` what it is called in `figures/NAME.png` and
`TrialResult.plot(NAME)`, where it stands among the others, of which tables it is made, and which section of the page shows it
(none named: one of its own). Its title and caption are in the description.

A new file in this folder is a new figure; nothing else names it. Figures over the gait cycle need no code at all: an entry
in library/figures/display.toml adds one (`over_cycle.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from biodyn.errors import ResultError
from biodyn.library.registry import Registry
from biodyn.output.figures.curves import TrialValues
from biodyn.output.figures.description import Figure

Describe = Callable[[TrialValues], Figure | None]


@dataclass(frozen=True)
class TrialFigure:
    """What is drawn of a trial, the tables without which there is nothing to draw, the section of the page; "" = its own."""

    describe: Describe
    needs: tuple[str, ...] = ()
    section: str = ""


#: All figures of a trial.
FIGURES: Registry[TrialFigure] = Registry("biodyn.output.figures.trial", "figure", ResultError)


def figure(name: str, place: float, needs: Sequence[str] = (), section: str = "") -> Callable[[Describe], Describe]:
    """Register a figure: its name in files, its place among the others, the tables it is made of, its section of the page."""

    def add(describe: Describe) -> Describe:
        FIGURES.add(name, TrialFigure(describe, tuple(needs), section), place)
        return describe

    return add


def trial_figures(values: TrialValues) -> dict[str, Figure]:
    """Describe every figure that there is of a trial, by name, in their order."""
    found = {}
    for name, entry in FIGURES.items():
        drawn = entry.describe(values) if all(table in values.tables for table in entry.needs) else None
        if drawn is not None:
            found[name] = drawn
    return found


def by_section(names: Iterable[str]) -> dict[str, list[str]]:
    """Sort names of figures by the section of the page that shows them; those under "" have one of their own."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(FIGURES[name].section, []).append(name)
    return found
