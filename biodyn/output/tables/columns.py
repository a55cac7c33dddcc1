"""What the columns of a result's tables mean: unit and words of each, and both of a whole table in `DataFrame.attrs`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import pandas as pd

from biodyn.library.load import load_table
from biodyn.output.tables.registry import TABLES


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
