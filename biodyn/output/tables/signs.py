"""Signs of tables: those of the coordinates, in which tables are kept, or the clinical ones, in which figures show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, get_args

import pandas as pd

from biodyn.conventions import SIDES, without_side
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
