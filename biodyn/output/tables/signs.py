"""Signs of tables: those of the coordinates, in which tables are kept, or the clinical ones, in which figures show them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, get_args

import pandas as pd

from biodyn.conventions import SIDES
from biodyn.errors import ResultError
from biodyn.variables import is_known, variable

#: "coordinates": positive as the model's coordinate is (docs/conventions.md); "clinical": positive as the field says it,
#: the same for both sides (library/variables/variables.toml).
Signs = Literal["clinical", "coordinates"]
CLINICAL: Final[Signs] = "clinical"
COORDINATES: Final[Signs] = "coordinates"

# Tables with a column for every coordinate or joint: how their columns end, and their variables.
_COLUMNS: Final = {"joint_angles": ("_deg", ""), "joint_torques": ("_Nm", "_moment"), "joint_powers": ("_W", "_power")}
_TIDY: Final = "gait_cycles"


def require_signs(signs: str) -> None:
    """Raise ResultError for a word that names no signs."""
    if signs not in get_args(Signs):
        raise ResultError(f"There are no signs '{signs}'.", f"There are {' and '.join(get_args(Signs))}.")


def tell_signs(name: str, table: pd.DataFrame) -> None:
    """Say in `attrs` in which signs a table is kept, and what is positive in them, where it has signs."""
    if name == _TIDY:
        found = [own for own in dict.fromkeys(table["variable"].astype(str)) if is_known(own)]
        positive = {own: variable(own).as_kept().positive for own in found}
    elif name in _COLUMNS:
        positive = {column: variable(own).as_kept().positive for column, own, _ in _known_columns(name, table)}
    else:
        return
    table.attrs.update(signs=COORDINATES, positive=positive)


def in_signs(name: str, table: pd.DataFrame, signs: str) -> pd.DataFrame:
    """Return a table in these signs: itself, or a copy in the clinical ones.

    `attrs` say what is `positive`, by column, in the tidy table of gait cycles by variable. What the library of variables does
    not know (residual, position of the pelvis) stays as it is and is not among them. Columns of the middle of
    the body have the signs of the right side.

    Raises ResultError for other signs, and where the numbers of a table have no clinical signs.
    """
    require_signs(signs)
    if signs == COORDINATES:
        return table
    if name == _TIDY:
        return _tidy(table)
    if name not in _COLUMNS:
        raise ResultError(
            f"The table '{name}' has no clinical signs.", f"Those with are {', '.join((*_COLUMNS, _TIDY))}."
        )
    shown = table.copy()
    known = list(_known_columns(name, table))
    for column, own, side in known:
        shown[column] = variable(own).clinical(side) * table[column]
    shown.attrs.update(signs=CLINICAL, positive={column: variable(own).positive for column, own, _ in known})
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


def _known_columns(name: str, table: pd.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Column, variable and side of what the library of variables knows; the middle of the body counts as right."""
    ending, kind = _COLUMNS[name]
    for column in map(str, table.columns):
        if column.endswith(ending):
            stem = column.removesuffix(ending)
            side = next((side for side in SIDES if stem.endswith(f"_{side}")), "")
            own = (stem.removesuffix(f"_{side}") if side else stem) + kind
            if is_known(own):
                yield column, own, side or SIDES[0]
