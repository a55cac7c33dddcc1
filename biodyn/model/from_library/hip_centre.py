"""Hip joint centre: input of a method, registered methods, and parameter rows that select them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from biodyn.conventions import FloatArray, Side
from biodyn.errors import ModelError
from biodyn.library.registry import Registry
from biodyn.library.tables import load_entry
from biodyn.library.toml_files import is_path, load_table, suggest_name

_TABLE = "body/joint_centres/hip"


@dataclass(frozen=True)
class HipInput:
    """Input of a method for the hip of one side.

    Attributes:
        side: side of the hip.
        pelvis_depth_m: pelvis depth, measured on the skin. pelvis_width_m: distance between the ASIS.
        leg_length_m: distance from ASIS to malleolus. marker_radius_m: distance of the marker centres from the skin.
        asis_trochanter_m: antero-posterior distance ASIS to trochanter; None if it was not measured.
    """

    side: Side
    pelvis_depth_m: float
    pelvis_width_m: float
    leg_length_m: float
    marker_radius_m: float
    asis_trochanter_m: float | None = None


#: (row of parameters, input) -> hip centre (3,) m in the pelvis frame: from the midpoint of the ASIS markers, X anterior, Y up,
#: Z right. Raises ModelError if something is missing.
Centre = Callable[[Mapping[str, Any], HipInput], FloatArray]
#: Function of each method, and the parameters that it reads from a row's `numbers`.
HIP_METHODS: Registry[tuple[Centre, tuple[str, ...]]] = Registry(
    "biodyn.model.from_library.joint_centres", "hip joint centre method", ModelError
)


def register_hip_method(name: str, numbers: tuple[str, ...] = ()) -> Callable[[Centre], Centre]:
    """Return a decorator that registers a function as a method of the hip joint centre; `numbers`: parameters that its rows
    need."""

    def register(centre: Centre) -> Centre:
        HIP_METHODS.add(name, (centre, numbers))
        return centre

    return register


def hip_centre_method_names() -> tuple[str, ...]:
    """Return the names of the library's rows, which are the valid values of `model.hip_centre`."""
    return tuple(load_table(_TABLE))


def hip_regression(name: str) -> dict[str, Any]:
    """Return a parameter row of the library by name, or from a user's TOML file."""
    if is_path(name):
        row = load_entry("hip_centres", name)
    else:
        table = load_table(_TABLE)
        if name not in table:
            raise ModelError(f"Hip centre regression '{name}' does not exist.", suggest_name(name, table))
        row = dict(table[name])
    _method_function(name, row)
    return row


def hip_centre(name: str, given: HipInput) -> FloatArray:
    """Return the hip centre (3,) m in the pelvis frame, computed with the row of this name (or the file of this path)."""
    row = hip_regression(name)
    return _method_function(name, row)(row, given)


def _method_function(name: str, row: Mapping[str, Any]) -> Centre:
    """Return the method of a row; raise ModelError if it does not exist, or if numbers of the row are missing or unknown."""
    implied = "linear_regression" if "x" in row else "newington"
    centre, needed = HIP_METHODS.lookup(row.get("method") or implied)
    numbers = row.get("numbers", {})
    missing = [number for number in needed if number not in numbers]
    if missing:
        raise ModelError(
            f"Hip centre '{name}': {', '.join(missing)} missing in 'numbers'.", "The method needs all of them."
        )
    unknown = next((number for number in numbers if number not in needed), None)
    if unknown is not None:
        raise ModelError(
            f"Hip centre '{name}': the number '{unknown}' does not belong to its method.", suggest_name(unknown, needed)
        )
    return centre
