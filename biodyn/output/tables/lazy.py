"""The tables of a result by name, and as attributes of it; each is made or read when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.output.tables.registry import made_table, tables_of


class LazyTables(Mapping[str, pd.DataFrame]):
    """Tables by name: `names` in their order, `make` gives one and is called once for each."""

    def __init__(self, names: Sequence[str], make: Callable[[str], pd.DataFrame]) -> None:
        self._names, self._make = tuple(names), make
        self._made: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return f"<tables {', '.join(self._names)}>"


def trial_tables(analysis: TrialAnalysis) -> LazyTables:
    """Return the tables of an analysis by name."""
    return LazyTables(tuple(tables_of(analysis)), partial(made_table, analysis))


class TableAttributes:
    """A result whose tables are its attributes: `result.joint_torques` is `result.table("joint_torques")`."""

    def table(self, name: str) -> pd.DataFrame:
        """Return a table by name."""
        raise NotImplementedError

    def _table_attributes(self) -> Collection[str]:
        """Names of the tables that are attributes."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> pd.DataFrame:
        # Python asks here for what it did not find, also while a copy has no content yet.
        if name.startswith("_") or name in ("tables", "analysis"):
            raise AttributeError(name)
        known = self._table_attributes()
        if name not in known:
            raise AttributeError(f"the result has no '{name}'; its tables are {', '.join(known)}")
        return self.table(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._table_attributes()})
