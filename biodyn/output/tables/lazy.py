"""The tables of a result by name, and as attributes of it; each is made or read when it is first asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final, Literal, get_args

import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDES, without_side
from biodyn.errors import ResultError
from biodyn.library.load import load_table, nearest
from biodyn.output.tables.registry import TABLES, made_table, tables_of
from biodyn.variables import is_known, variable

# -- Meaning and units of columns -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """One column: its name, its unit ("" where it has none) and what it means."""

    name: str
    unit: str
    meaning: str


@cache
def described(table: str, column: str) -> Column:
    """Return unit and meaning of a column of a table (`library/formats/columns.toml`)."""
    for match, tables, unit, meaning in _patterns():
        found = match.fullmatch(column)
        if found and (not tables or table in tables):
            groups = ("", *(group or "" for group in found.groups()))
            return Column(column, unit.format(*groups), meaning.format(*groups).replace("_", " ").strip())
    return Column(column, "", column)


@cache
def _patterns() -> list[tuple[re.Pattern[str], tuple[str, ...], str, str]]:
    return [
        (re.compile(entry["match"]), tuple(entry.get("tables", ())), entry.get("unit", ""), entry["meaning"])
        for entry in load_table("formats/columns")["column"]
    ]


def tell_meaning(name: str, table: pd.DataFrame) -> None:
    """Say in `attrs` of a table what it is: `table` (its name), `about` (a sentence) and `units`, by column.

    In the tidy table of gait cycles the units are those of the variables too.
    """
    columns = [described(name, str(column)) for column in table.columns]
    units = {column.name: column.unit for column in columns if column.unit}
    if {"variable", "unit"} <= set(table.columns):
        pairs = table[["variable", "unit"]].drop_duplicates()
        units |= dict(zip(pairs["variable"].astype(str), pairs["unit"].astype(str), strict=True))
    about = TABLES[name].description if name in TABLES else ""
    table.attrs.update(table=name, about=about, units=units)


#: "coordinates": positive as the model's coordinate is (docs/conventions.md); "clinical": positive as the field says it,
#: the same for both sides (library/variables/variables.toml).
Signs = Literal["clinical", "coordinates"]
CLINICAL: Final[Signs] = "clinical"
COORDINATES: Final[Signs] = "coordinates"

# Tables with a column for every coordinate or joint: how their columns end, and their variables.
_COLUMNS: Final = {"joint_angles": ("_deg", ""), "joint_torques": ("_Nm", "_moment"), "joint_powers": ("_W", "_power")}
_TIDY: Final = "gait_cycles"
_PARTS: Final = "joint_torque_parts"  # tidy, too: a row a coordinate

#: What the coordinates of an imported model are, as `run.json` says it (model, variables): {name: variable, side, sign to the
#: variable's}. Empty where coordinates have the names and signs of the library.
OwnNames = Mapping[str, Mapping[str, Any]]


def require_signs(signs: str) -> None:
    """Raise ResultError for a word that names no signs."""
    if signs not in get_args(Signs):
        raise ResultError(f"There are no signs '{signs}'.", f"There are {' and '.join(get_args(Signs))}.")


def tell_signs(name: str, table: pd.DataFrame, own_names: OwnNames) -> None:
    """Say in `attrs` in which signs a table is kept, and what is positive in them, where it has signs."""
    if name == _TIDY:
        found = [own for own in dict.fromkeys(table["variable"].astype(str)) if is_known(own)]
        positive = {own: variable(own).as_kept().positive for own in found}
    elif name in (*_COLUMNS, _PARTS):
        known = _known(name, table, own_names)
        positive = {
            column: variable(own).as_kept().positive if sign > 0.0 else variable(own).as_kept().negative
            for column, own, _, sign in known
        }
    else:
        return
    table.attrs.update(signs=COORDINATES, positive=positive)


def in_signs(name: str, table: pd.DataFrame, signs: str, own_names: OwnNames) -> pd.DataFrame:
    """Return a table in these signs: itself, or a copy in the clinical ones.

    `attrs` say what is `positive`, by column, in the tidy tables by variable or coordinate. What the library of variables does
    not know (residual, position of the pelvis) stays as it is and is not among them. Columns of the middle of
    the body have the signs of the right side.

    Raises ResultError for other signs, and where the numbers of a table have no clinical signs.
    """
    require_signs(signs)
    if signs == COORDINATES:
        return table
    if name == _TIDY:
        return _tidy(table)
    if name not in (*_COLUMNS, _PARTS):
        raise ResultError(
            f"The table '{name}' has no clinical signs.", f"Those with are {', '.join((*_COLUMNS, _PARTS, _TIDY))}."
        )
    known = list(_known(name, table, own_names))
    factors = {column: variable(own).clinical(side) * sign for column, own, side, sign in known}
    if name == _PARTS:
        rows = table["coordinate"].astype(str).map(lambda coordinate: factors.get(coordinate, 1.0)).to_numpy()
        shown = table.assign(value=table["value"] * rows)
    else:
        shown = table.copy()
        for column, factor in factors.items():
            shown[column] = factor * table[column]
    shown.attrs.update(signs=CLINICAL, positive={column: variable(own).positive for column, own, _, _ in known})
    return shown


def _tidy(table: pd.DataFrame) -> pd.DataFrame:
    names, sides = table["variable"].astype(str), table["side"].astype(str)
    factors: dict[tuple[str, str], float] = {
        (own, side): variable(own).clinical(side) for own in names.unique() for side in SIDES
    }
    shown = table.assign(value=table["value"] * [factors[key] for key in zip(names, sides, strict=True)])
    positive = {own: variable(own).positive for own in names.unique() if is_known(own)}
    shown.attrs.update(signs=CLINICAL, positive=positive)
    return shown


def _known(name: str, table: pd.DataFrame, own_names: OwnNames) -> Iterator[tuple[str, str, str, float]]:
    """Column or coordinate, variable, side and factor to the variable's sign of what the library of variables knows.

    The middle of the body counts as right. Joints, unlike coordinates, have the library's names in every model.
    """
    ending, kind = ("", "_moment") if name == _PARTS else _COLUMNS[name]
    columns = table["coordinate"].unique() if name == _PARTS else table.columns
    for column in map(str, columns):
        if not column.endswith(ending):
            continue
        stem, sign = column.removesuffix(ending), 1.0
        if own_names and kind != "_power":
            entry = own_names.get(stem)
            if entry is None:
                continue
            own, side, sign = str(entry["variable"]), str(entry["side"]), float(entry["sign"])
        else:
            side = next((side for side in SIDES if stem.endswith(f"_{side}")), "")
            own = without_side(stem, side)
        if is_known(own + kind):
            yield column, own + kind, side or SIDES[0], sign


# Of a larger table that is only written no copy stays: minutes of walking have hundreds of megabytes of tables.
_MOST_KEPT_CELLS = 4_000_000


# -- Tables by name -------------------------------------------------------------------------------------------------


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
