"""What every export holds of a plate: force, moment and centre of pressure; and what is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import COPY_AGAIN
from biodyn.io.format import LARGEST_NUMBER
from biodyn.io.opensim.storage import Storage
from biodyn.io.tables.columns import ForceColumns, PlateColumns
from biodyn.io.tables.force_plates import free_moment, least_load_n, unknown_rows
from biodyn.io.tables.sheet import Sheet

#: Letters of the axes, in the names of columns.
AXES: Final = "xyz"


@dataclass(frozen=True, eq=False)
class ExportedPlates:
    """Plates of an export.

    Attributes:
        table: their numbers in N, m and N m. forces: plates whose corners are not told; plates: those whose corners are.
        notes: what was decided on the way.
    """

    table: Storage
    forces: tuple[ForceColumns, ...] = ()
    plates: tuple[PlateColumns, ...] = ()
    notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, eq=False)
class PlateLoads:
    """Force (T, 3) N, stored moment (T, 3), centre of pressure (T, 3) m, NaN where there is none, of one plate, by its name."""

    name: str
    force: FloatArray
    moment: FloatArray
    pressure: FloatArray

    @property
    def up(self) -> int:
        """Axis along which most force acts."""
        return int(np.argmax(np.nansum(np.abs(self.force), axis=0)))

    def on_person(self, up: FloatArray) -> PlateLoads:
        """The same as the ground's action on the person, where the programs also write what the person does to the plate.

        up: (3,) in the axes of the loads.
        """
        sense = -1.0 if float(np.nansum(self.force @ up)) < 0.0 else 1.0
        return replace(self, force=sense * self.force, moment=sense * self.moment)

    def until(self, row: int) -> PlateLoads:
        """The rows before one."""
        return replace(self, force=self.force[:row], moment=self.moment[:row], pressure=self.pressure[:row])

    @property
    def known(self) -> BoolArray:
        """(T,) rows in which moment and centre of pressure stand."""
        return np.asarray(np.isfinite(self.moment).all(axis=1) & np.isfinite(self.pressure).all(axis=1))

    @property
    def loaded(self) -> BoolArray:
        """(T,) rows of these in which the plate carries more than a tenth of its largest force."""
        size = np.linalg.norm(self.force, axis=1)
        return np.asarray(self.known & (np.nan_to_num(size) > least_load_n(size)))

    @property
    def unknown(self) -> BoolArray:
        """(T,) rows amid loaded ones in which the force or where it acts is not told."""
        return unknown_rows(self.force, self.pressure, least_load_n(np.linalg.norm(self.force, axis=1)))

    def at_pressure(self, up: int) -> tuple[FloatArray, bool]:
        """The moment (T, 3) N m about the centre of pressure, along the axis `up`, and whether the file tells it."""
        found = free_moment(
            np.nan_to_num(self.force), np.nan_to_num(self.moment), np.nan_to_num(self.pressure), self.loaded, up
        )
        moment = np.zeros_like(self.force)
        moment[self.known, up] = found.moment[self.known]
        return moment, found.told


def in_laboratory(
    path: Path,
    plates: Sequence[tuple[PlateLoads, FloatArray]],
    rate_hz: float,
    sha256: str,
    notes: Sequence[Diagnostic] = (),
) -> ExportedPlates:
    """Return plates whose corners are not told, in the laboratory's axes.

    plates: of each its loads on the person and the moment (T, 3) N m about its centre of pressure; sha256: of the file.
    """
    columns = [values for loads, moment in plates for values in (loads.force, loads.pressure, moment)]
    forces = tuple(_force_columns(loads.name) for loads, _ in plates)
    names = tuple(name for one in forces for name in one.columns)
    values = np.hstack(columns) if columns else np.empty((0, 0))
    table = Storage(path, names, np.arange(len(values)) / rate_hz, values, None, sha256=sha256)
    return ExportedPlates(table, forces, notes=tuple(notes))


def _force_columns(plate: str) -> ForceColumns:
    """Return names for the force, the centre of pressure and the free moment of a plate."""
    force, point, moment = (tuple(f"{plate} {what}{axis}" for axis in AXES) for what in ("F", "C", "T"))
    return ForceColumns(plate, None, force, point, moment)


def require_possible(path: Path, sheet: Sheet) -> None:
    """Raise InputFileError where a number is larger than any in a laboratory, N, mm, N mm."""
    largest = float(np.nanmax(np.abs(sheet.values), initial=0.0))
    if largest > LARGEST_NUMBER:
        raise InputFileError(f"'{path.name}' is damaged: its forces hold numbers up to {largest:.1e}.", COPY_AGAIN)


def placed(force: FloatArray, pressure: FloatArray) -> FloatArray:
    """Return centres of pressure (T, 3), NaN where there is no force (T, 3)."""
    acts = np.asarray((np.abs(force) > 0.0).any(axis=1))
    return np.where(acts[:, None], pressure, np.nan)


def not_told(path: Path, plate: str) -> Diagnostic:
    return Diagnostic(
        "free-moment-not-told",
        "warning",
        f"The moments of {plate} in '{path.name}' are about no point that goes with its centre of pressure: its free moment is "
        "taken for 0.",
        hint="Export the trial as C3D, which says what the moments are about.",
    )
