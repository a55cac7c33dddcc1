"""The hip joint centre: what a method may use, the methods there are, and the rows of numbers that name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.errors import ModelError
from biodyn.library.load import is_path, load_table, nearest
from biodyn.library.registry import Registry
from biodyn.library.tables import load_entry

_TABLE = "body/joint_centres/hip"
#: The method of a row that does not name one, by an entry that it has.
_IMPLIED = {"x": "linear_regression", "newington": "newington"}


@dataclass(frozen=True, eq=False)
class FunctionalTrial:
    """Markers of pelvis and thigh while the thigh is moved about the hip.

    Attributes:
        pelvis_W: (T, P, 3) m in World, NaN where not seen; `pelvis_standing_W` (P, 3) m: the same markers in the static trial.
        thigh_W: (T, M, 3) m in World, NaN where not seen.
    """

    pelvis_W: FloatArray
    pelvis_standing_W: FloatArray
    thigh_W: FloatArray


@dataclass(frozen=True, eq=False)
class HipInput:
    """What a method may use for the hip of one side.

    Attributes:
        side: of the hip.
        pelvis_depth_m, pelvis_width_m, leg_length_m: of the skin over the bone (depth), between the ASIS, ASIS to malleolus.
        marker_radius_m: the markers' centres lie this far in front of the skin.
        asis_trochanter_m: ASIS to trochanter, front-back; None where it was not measured.
        points_W: (3,) m in World by landmark, those that a marker marks in the static trial.
        R_WP, p_WP: pelvis axes (X anterior, Y up, Z right) and the middle of the ASIS markers in the static trial, World.
        trial: in which the thigh moves about the hip; None where there is none.
    """

    side: Side
    pelvis_depth_m: float
    pelvis_width_m: float
    leg_length_m: float
    marker_radius_m: float
    asis_trochanter_m: float | None = None
    points_W: Mapping[str, FloatArray] = field(default_factory=dict)
    R_WP: FloatArray = field(default_factory=lambda: np.eye(3))
    p_WP: FloatArray = field(default_factory=lambda: np.zeros(3))
    trial: FunctionalTrial | None = None

    def in_pelvis(self, p_W: FloatArray) -> FloatArray:
        """Points (..., 3) of World in the pelvis frame."""
        return (p_W - self.p_WP) @ self.R_WP


#: (row of numbers, input) -> the hip's centre (3,) m in the pelvis frame: from the middle of the ASIS markers, X anterior, Y up,
#: Z right. Raises ModelError with what it lacks, in a sentence.
Centre = Callable[[Mapping[str, Any], HipInput], FloatArray]


@dataclass(frozen=True)
class HipMethod:
    """A method: its function, the numbers it reads in a row's `numbers`, and whether it needs a trial of its own."""

    centre: Centre
    numbers: tuple[str, ...] = ()
    needs_trial: bool = False


HIP_METHODS: Registry[HipMethod] = Registry(
    "biodyn.model.from_library.joint_centres", "hip joint centre method", ModelError
)


def hip_method(name: str, numbers: tuple[str, ...] = (), needs_trial: bool = False) -> Callable[[Centre], Centre]:
    """Return a decorator that adds a method under a name."""

    def add(centre: Centre) -> Centre:
        HIP_METHODS.add(name, HipMethod(centre, numbers, needs_trial))
        return centre

    return add


def hip_centre_names() -> tuple[str, ...]:
    """Names of the library's rows: what `model.hip_centre` may say."""
    return tuple(load_table(_TABLE))


def static_hip_centre_names() -> tuple[str, ...]:
    """Names of the rows whose method needs the static trial alone."""
    return tuple(name for name in hip_centre_names() if not _method(name, hip_regression(name)).needs_trial)


def hip_regression(name: str) -> dict[str, Any]:
    """Return a row: the library's by name, or a user's own TOML file that holds one."""
    if is_path(name):
        row = load_entry("hip_centres", name)
    else:
        table = load_table(_TABLE)
        if name not in table:
            raise ModelError(f"Hip centre regression '{name}' is not known.", nearest(name, table))
        row = dict(table[name])
    _method(name, row)
    return row


def hip_centre(name: str, given: HipInput) -> FloatArray:
    """Return the centre (3,) m of a hip in the pelvis frame, by the row of that name (or the user's own, by path)."""
    row = hip_regression(name)
    return _method(name, row).centre(row, given)


def _method(name: str, row: Mapping[str, Any]) -> HipMethod:
    """The method of a row; ModelError where there is none of that name, or the row lacks a number or has one too many."""
    method = HIP_METHODS.named(row.get("method") or next(_IMPLIED[entry] for entry in _IMPLIED if entry in row))
    numbers = row.get("numbers", {})
    lacking = [number for number in method.numbers if number not in numbers]
    if lacking:
        raise ModelError(
            f"Hip centre '{name}': 'numbers' lacks {', '.join(lacking)}.", "The method reads each of them."
        )
    strange = next((number for number in numbers if number not in method.numbers), None)
    if strange is not None:
        raise ModelError(
            f"Hip centre '{name}': there is no number '{strange}' in its method.", nearest(strange, method.numbers)
        )
    return method
