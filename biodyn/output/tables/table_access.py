"""The tables of a result by name and as attributes, computed or read on first use, with meaning, units and signs of columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import product
from typing import Any, Final, Literal, NamedTuple, get_args

import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDES, without_side
from biodyn.errors import ResultError
from biodyn.library.toml_files import load_table, suggest_name
from biodyn.output.tables.registry import TABLES, available_tables, make_table
from biodyn.variables import is_known_variable, variable

# -- Meaning and units of columns -----------------------------------------------------------------------------------


class Column(NamedTuple):
    """A column of a table: name, unit ("" for none) and meaning."""

    name: str
    unit: str
    meaning: str


@cache
def column_description(table: str, column: str) -> Column:
    """Return unit and meaning of a column of a table (`library/formats/columns.toml`)."""
    for pattern, tables, unit, meaning in _column_patterns():
        match = pattern.fullmatch(column)
        if match and (not tables or table in tables):
            groups = ("", *(group or "" for group in match.groups()))
            return Column(column, unit.format(*groups), meaning.format(*groups).replace("_", " ").strip())
    return Column(column, "", column)


@cache
def _column_patterns() -> list[tuple[re.Pattern[str], tuple[str, ...], str, str]]:
    return [
        (re.compile(entry["match"]), tuple(entry.get("tables", ())), entry.get("unit", ""), entry["meaning"])
        for entry in load_table("formats/columns")["column"]
    ]


def set_meaning(name: str, table: pd.DataFrame) -> None:
    """Set `attrs` of a table: `table` (its name), `about` (a sentence) and `units`, by column.

    Units of the tidy table of gait cycles are also by variable.
    """
    units = {str(column): column_description(name, str(column)).unit for column in table.columns}
    units = {column: unit for column, unit in units.items() if unit}
    if {"variable", "unit"} <= set(table.columns):
        pairs = table[["variable", "unit"]].drop_duplicates()
        units |= dict(zip(pairs["variable"].astype(str), pairs["unit"].astype(str), strict=True))
    about = TABLES[name].description if name in TABLES else ""
    table.attrs.update(table=name, about=about, units=units)


#: "coordinates": signs of the coordinates of the model (docs/conventions.md); "clinical": signs of the clinical convention,
#: equal for both sides (library/variables/variables.toml).
Signs = Literal["clinical", "coordinates"]
CLINICAL: Final[Signs] = "clinical"
COORDINATES: Final[Signs] = "coordinates"

# Tables with a column per coordinate or joint: suffixes of their columns and variables.
_COLUMNS: Final = {"joint_angles": ("_deg", ""), "joint_torques": ("_Nm", "_moment"), "joint_powers": ("_W", "_power")}
_CYCLES: Final = "gait_cycles"
_PARTS: Final = "joint_torque_parts"  # tidy, with a column of coordinates

#: Coordinates of an imported model in `run.json` (model, variables): {name: variable, side, sign}. Empty for models of the
#: library.
CoordinateVariables = Mapping[str, Mapping[str, Any]]


def require_signs(signs: str) -> None:
    """Raise ResultError for an unknown sign convention."""
    if signs not in get_args(Signs):
        raise ResultError(f"'{signs}' is not a sign convention.", f"Use {' or '.join(get_args(Signs))}.")


def set_signs(name: str, table: pd.DataFrame, imported: CoordinateVariables) -> None:
    """Set `attrs` of a stored table: sign convention, and the meaning of positive values by column, variable or coordinate."""
    if name == _CYCLES:
        names = [curve for curve in map(str, table["variable"].unique()) if is_known_variable(curve)]
        positive = {curve: variable(curve).with_table_signs().positive for curve in names}
    elif name in (*_COLUMNS, _PARTS):
        positive = {
            column: variable(base).with_table_signs().positive
            if sign > 0.0
            else variable(base).with_table_signs().negative
            for column, base, _, sign in _signed_columns(name, table, imported)
        }
    else:
        return
    table.attrs.update(signs=COORDINATES, positive=positive)


def convert_signs(name: str, table: pd.DataFrame, signs: str, imported: CoordinateVariables) -> pd.DataFrame:
    """Return a table in a sign convention: the table itself, or a copy in clinical signs.

    `attrs` hold the meaning of `positive` values. Unknown variables (residual, position of the pelvis) are unchanged. Columns
    of midline variables have the signs of the right side. Raises ResultError for unknown signs and for tables without them.
    """
    require_signs(signs)
    if signs == COORDINATES:
        return table
    if name == _CYCLES:
        names, sides = table["variable"].astype(str), table["side"].astype(str)
        by_curve: dict[tuple[str, str], float] = {}
        for curve, side in product(names.unique(), SIDES):
            by_curve[curve, side] = variable(curve).clinical_factor(side)
        converted = table.assign(value=table["value"] * [by_curve[key] for key in zip(names, sides, strict=True)])
        positive = {curve: variable(curve).positive for curve in names.unique() if is_known_variable(curve)}
        converted.attrs.update(signs=CLINICAL, positive=positive)
        return converted
    if name not in (*_COLUMNS, _PARTS):
        raise ResultError(
            f"The table '{name}' has no clinical signs.",
            f"Tables with signs: {', '.join((*_COLUMNS, _PARTS, _CYCLES))}.",
        )
    known = list(_signed_columns(name, table, imported))
    factors = {column: variable(base).clinical_factor(side) * sign for column, base, side, sign in known}
    if name == _PARTS:
        rows = table["coordinate"].astype(str).map(lambda coordinate: factors.get(coordinate, 1.0)).to_numpy()
        converted = table.assign(value=table["value"] * rows)
    else:
        converted = table.copy()
        for column, factor in factors.items():
            converted[column] = factor * table[column]
    converted.attrs.update(signs=CLINICAL, positive={column: variable(base).positive for column, base, _, _ in known})
    return converted


def _signed_columns(
    name: str, table: pd.DataFrame, imported: CoordinateVariables
) -> Iterator[tuple[str, str, str, float]]:
    """Yield column or coordinate, variable, side and factor to the sign of the variable, for known variables.

    Midline variables have the right side. Joints have the names of the library in all models, coordinates need not.
    """
    suffix, kind = ("", "_moment") if name == _PARTS else _COLUMNS[name]
    columns = table["coordinate"].unique() if name == _PARTS else table.columns
    for column in map(str, columns):
        if not column.endswith(suffix):
            continue
        stem, sign = column.removesuffix(suffix), 1.0
        if imported and kind != "_power":
            entry = imported.get(stem)
            if entry is None:
                continue
            base, side, sign = str(entry["variable"]), str(entry["side"]), float(entry["sign"])
        else:
            side = next((side for side in SIDES if stem.endswith(f"_{side}")), "")
            base = without_side(stem, side)
        if is_known_variable(base + kind):
            yield column, base + kind, side or SIDES[0], sign


# -- Tables by name -------------------------------------------------------------------------------------------------


class LazyTables(Mapping[str, pd.DataFrame]):
    """Tables by name in the order of `names`, returned by `make` on first use, and stored unless `store` is False."""

    def __init__(self, names: Sequence[str], make: Callable[[str], pd.DataFrame], store: bool = True) -> None:
        self._names, self._make, self._store = tuple(names), make, store
        self._made: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self._names:
            raise KeyError(f"'{name}' is not a table. {suggest_name(name, self)}")
        if name in self._made:
            return self._made[name]
        table = self._make(name)
        if self._store:
            self._made[name] = table
        return table

    def table_used_once(self, name: str, max_cells: int = 1_000_000) -> pd.DataFrame:
        """Return a table that is used once; it is not kept in memory if it has more than `max_cells` cells."""
        table = self._made[name] if name in self._made else self._make(name)
        if table.size <= max_cells:
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
        """Return the keys that a notebook suggests."""
        return list(self._names)


def table_used_once(tables: Mapping[str, pd.DataFrame], name: str) -> pd.DataFrame:
    """Return a table by name that is used once; a large one of `LazyTables` is not kept in memory."""
    return tables.table_used_once(name) if isinstance(tables, LazyTables) else tables[name]


def trial_tables(analysis: TrialAnalysis) -> LazyTables:
    """Return the tables of an analysis by name."""
    return LazyTables(tuple(available_tables(analysis)), partial(make_table, analysis))


class TableAttributes:
    """A result with its tables as attributes: `result.joint_torques` is `result.table("joint_torques")`."""

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """All tables by name, made or read on first use; `attrs` as in `table`."""
        return LazyTables(tuple(self._lazy_tables), self.table, store=False)

    @property
    def _lazy_tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables without `attrs`, for use in the program."""
        raise NotImplementedError

    def table(self, name: str, signs: Signs = COORDINATES) -> pd.DataFrame:
        """Return a table by name, in the signs of the coordinates or in the clinical signs of the figures.

        `attrs` of the table: `table`, `about`, `units` by column, `signs`, and the meaning of `positive` values. Raises
        ResultError for an unknown table, and for signs that a table does not have.
        """
        table = self._read_table(name)
        if "table" not in table.attrs:  # set only for users, because attrs are copied with every column
            set_meaning(name, table)
            set_signs(name, table, self._coordinate_variables())
        return convert_signs(name, table, signs, self._coordinate_variables())

    def _coordinate_variables(self) -> CoordinateVariables:
        """Return the variables of the coordinates of an imported model; empty for models of the library."""
        return {}

    def _read_table(self, name: str) -> pd.DataFrame:
        """Return a table by name, the same object each time; ResultError if missing."""
        raise NotImplementedError

    def _table_attributes(self) -> Collection[str]:
        """Return the names of the tables that are attributes."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> pd.DataFrame:
        # called for missing attributes, also while a copy is being created
        if name.startswith("_") or name in ("tables", "analysis"):
            raise AttributeError(name)
        if name not in self._table_attributes():
            raise AttributeError(f"the result has no '{name}'; its tables are {', '.join(self.tables)}")
        return self.table(name)

    def __dir__(self) -> list[str]:
        """Return the names for tab completion, with the available tables."""
        return sorted({*super().__dir__(), *self.tables})
