"""The tables of a result by name, and as attributes of it; each is made or read when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.library.load import nearest
from biodyn.output.tables.columns import tell_meaning
from biodyn.output.tables.registry import made_table, tables_of
from biodyn.output.tables.signs import COORDINATES, OwnNames, Signs, in_signs, tell_signs

# Of a larger table that is only written no copy stays: minutes of walking have hundreds of megabytes of tables.
_MOST_KEPT_CELLS = 4_000_000


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

    def to_write(self, name: str) -> pd.DataFrame:
        """Return the table `name` for somebody who needs it once: a large one that nobody asked for before is not kept."""
        if name in self._made:
            return self._made[name]
        table = self._make(name)
        if table.size <= _MOST_KEPT_CELLS:
            self._made[name] = table
        return table

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __repr__(self) -> str:
        return f"<tables {', '.join(self._names)}>"

    def _ipython_key_completions_(self) -> list[str]:
        """What a notebook offers between the brackets."""
        return list(self._names)


class ToldTables(LazyTables):
    """The tables of a result as people take them: their `attrs` say what they are, and a wrong name what was meant."""

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self:
            raise KeyError(f"{name}: there is no such table. {nearest(name, self)}")
        return self._make(name)  # the result keeps it


def trial_tables(analysis: TrialAnalysis) -> LazyTables:
    """Return the tables of an analysis by name."""
    return LazyTables(tuple(tables_of(analysis)), partial(made_table, analysis))


class TableAttributes:
    """A result whose tables are its attributes: `result.joint_torques` is `result.table("joint_torques")`."""

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """Every table there is, by name, made or read when it is first asked for; `attrs` as of `table`."""
        return ToldTables(tuple(self._kept), self.table)

    @property
    def _kept(self) -> Mapping[str, pd.DataFrame]:
        """The tables without words about them, as the program itself uses them."""
        raise NotImplementedError

    def table(self, name: str, signs: Signs = COORDINATES) -> pd.DataFrame:
        """Return a table by name, in the signs in which it is kept, or in the clinical ones of the figures.

        `attrs` of the table say what it is: `table`, `about`, `units` by column, `signs` and what is `positive` in them where it
        has any. Raises ResultError for a name that there is not, and for signs that a table has not.
        """
        table = self._table(name)
        if "table" not in table.attrs:  # not before: attrs are copied with every column that is taken from a table
            tell_meaning(name, table)
            tell_signs(name, table, self._own_names())
        return in_signs(name, table, signs, self._own_names())

    def _own_names(self) -> OwnNames:
        """What the coordinates of an imported model are; empty where they have the library's names and signs."""
        return {}

    def _table(self, name: str) -> pd.DataFrame:
        """A table by name, one and the same each time; ResultError where there is none."""
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
            raise AttributeError(f"the result has no '{name}'; its tables are {', '.join(self.tables)}")
        return self.table(name)

    def __dir__(self) -> list[str]:
        """What tab completion offers: of the tables those there are."""
        return sorted({*super().__dir__(), *self.tables})
