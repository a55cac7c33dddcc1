"""Registry of the tables of a trial: functions marked with `@table` in the modules of this package."""

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
    """A table of a trial.

    Attributes:
        name: name of the file `tables/<name>.csv` and of the attribute of a result. description: one line.
        make: returns the table of an analysis.
        needs: returns whether an analysis has this table; None = all analyses.
        request: sentence on how to request an optional table.
        when_packed: whether packed results include it; False for a table that can be recomputed from the recording.
        decimals: decimals of its numbers in files. coarser: smaller numbers of decimals, by column.
    """

    name: str
    description: str
    make: Maker
    needs: Needs | None = None
    request: str = ""
    when_packed: bool = True
    decimals: int = DECIMALS
    coarser: Mapping[str, int] = field(default_factory=dict)

    def is_available(self, analysis: TrialAnalysis) -> bool:
        """Return True if an analysis has this table."""
        return self.needs is None or self.needs(analysis)


#: All tables of a trial, by name.
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
    """Return a decorator that registers a function as a table of a trial.

    place: position in the order of tables; for other parameters see `Table`.
    """

    def register(make: Maker) -> Maker:
        TABLES.add(name, Table(name, description, make, needs, request, when_packed, decimals, coarser or {}), place)
        return make

    return register


def available_tables(analysis: TrialAnalysis) -> dict[str, Table]:
    """Return the tables of an analysis by name, in order."""
    return {name: entry for name, entry in TABLES.items() if entry.is_available(analysis)}


def make_table(analysis: TrialAnalysis, name: str) -> pd.DataFrame:
    """Return a table of an analysis by name."""
    return TABLES[name].make(analysis)
