"""The figures of a trial, one file each: from the values of a trial to the description of a figure.

In: `TrialValues`, that is what a result folder keeps (record, tables, arrays). Out: `Figure`, or None where there is
nothing to draw. A function says with `@figure(name, place, needs)` what it is called in `figures/NAME.png`, on the page
and in `result.plot(NAME)`, where it stands, and of which tables it is made. Its title and caption stand beside it.

A new file in this folder is a new figure; nothing else names it. Figures over the gait cycle need no code at all: an entry
in library/figures/display.toml adds one (`over_cycle.py`). Who draws them does not matter here: `svg.py` or
`matplotlib_backend.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from biodyn.errors import ResultError
from biodyn.library.registry import Registry
from biodyn.output.figures.description import Figure
from biodyn.output.figures.values import TrialValues

Describe = Callable[[TrialValues], Figure | None]


@dataclass(frozen=True)
class TrialFigure:
    """What is drawn of a trial, and the tables without which there is nothing to draw."""

    describe: Describe
    needs: tuple[str, ...] = ()


_FIGURES: Registry[TrialFigure] = Registry("biodyn.output.figures.trial", "figure", ResultError)


def figure(name: str, place: float, needs: Sequence[str] = ()) -> Callable[[Describe], Describe]:
    """Register a figure: its name in files, its place among the others, the tables of which it is made."""

    def add(describe: Describe) -> Describe:
        _FIGURES.add(name, TrialFigure(describe, tuple(needs)), place)
        return describe

    return add


def trial_figures(values: TrialValues) -> dict[str, Figure]:
    """Describe every figure that there is of a trial, by name, in their order."""
    found = {}
    for name, entry in _FIGURES.items():
        drawn = entry.describe(values) if all(table in values.tables for table in entry.needs) else None
        if drawn is not None:
            found[name] = drawn
    return found
