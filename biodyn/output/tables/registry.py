"""The list of a trial's tables: a function marked with `@table` in any module of this package is one of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.library.registry import Registry
from biodyn.output.tables.csv import DECIMALS

Maker = Callable[[TrialAnalysis], pd.DataFrame]
Needs = Callable[[TrialAnalysis], bool]


@dataclass(frozen=True)
class Table:
    """One table of a trial.

    Attributes:
        name: of its file `tables/<name>.csv` and of the attribute of a result. description: one line for people.
        make: makes it of an analysis.
        needs: tells whether an analysis has it; None = every one has.
        request: how one that not every analysis has is asked for, a sentence.
        when_packed: whether packed results hold it, too: one that the recording itself gives again, at any time, costs room.
        decimals: of its numbers, as they are written. coarser: fewer of them, by column.
    """

    name: str
    description: str
    make: Maker
    needs: Needs | None = None
    request: str = ""
    when_packed: bool = True
    decimals: int = DECIMALS
    coarser: Mapping[str, int] = field(default_factory=dict)

    def of(self, analysis: TrialAnalysis) -> bool:
        """Whether an analysis has this table."""
        return self.needs is None or self.needs(analysis)


#: Every table that a trial can have, by name.
TABLES: Registry[Table] = Registry("biodyn.output.tables", "table")


def table(
    name: str,
    *,
    place: float,
    description: str,
    needs: Needs | None = None,
    request: str = "",
    when_packed: bool = True,
    decimals: int = DECIMALS,
    coarser: Mapping[str, int] | None = None,
) -> Callable[[Maker], Maker]:
    """Return a decorator that adds a function to the tables of a trial; the function stays as it is.

    Parameters: `place` in the order of all tables; the others see `Table`.
    """

    def add(make: Maker) -> Maker:
        TABLES.add(name, Table(name, description, make, needs, request, when_packed, decimals, coarser or {}), place)
        return make

    return add


def tables_of(analysis: TrialAnalysis) -> dict[str, Table]:
    """Return the tables that an analysis has, by name, in their order."""
    return {name: found for name, found in TABLES.items() if found.of(analysis)}


def made_table(analysis: TrialAnalysis, name: str) -> pd.DataFrame:
    """Return one table of an analysis."""
    return TABLES[name].make(analysis)
