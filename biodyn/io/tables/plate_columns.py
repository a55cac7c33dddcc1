"""Force plates whose six components stand in columns of a table: what a column map says of them, and plates of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io.opensim.storage import Storage
from biodyn.recording import ForcePlate

METRES = {"m": 1.0, "cm": 0.01, "mm": 0.001}
_TYPE = 2  # six channels: force, moment
_LOADED_N = 50.0
# Where a person stands a plate presses back within this of its middle: belts of treadmills are the longest.
_FARTHEST_M = 5.0
_SIDES_M = (0.1, 4.0)


@dataclass(frozen=True, eq=False)
class PlateColumns:
    """The columns of one force plate.

    Attributes:
        force, moment: three columns each, N and `newton_metres` times N m. axes: of both, the plate's or the laboratory's.
        corners: (4, 3) m, one after the other around the plate; in its own axes as C3D files order them, +x+y, -x+y, -x-y, +x-y.
        about: (3,) m point of the moments: from the sensor's origin to the middle of the surface in the plate's axes, a place in
            the laboratory's; None = the middle of the surface.
    """

    force: tuple[str, ...]
    moment: tuple[str, ...]
    corners: FloatArray
    axes: Literal["plate", "laboratory"] = "plate"
    about: FloatArray | None = None
    newton_metres: float = 1.0

    @property
    def columns(self) -> tuple[str, ...]:
        """All its columns."""
        return (*self.force, *self.moment)


def plate_of_map(entry: Mapping[str, Any], force: tuple[str, ...], moment: tuple[str, ...]) -> PlateColumns:
    """Return the columns of an entry [[plates]] of a column map, whose form is checked."""
    metres = METRES[entry.get("length", "m")]
    about = entry.get("about")
    return PlateColumns(
        force,
        moment,
        metres * np.array(entry["corners"], dtype=np.float64),
        entry.get("axes", "plate"),
        None if about is None else metres * np.array(about, dtype=np.float64),
        1e-3 if entry.get("moments") == "Nmm" else 1.0,
    )


def measured_plates(
    table: Storage, plates: Sequence[PlateColumns], at_s: FloatArray, rate_hz: float, first: int
) -> tuple[ForcePlate, ...]:
    """Return the plates at the times (S,) s of the table's clock, `rate_hz` of them a second; numbered from `first`.

    Between rows channels are interpolated linearly. Raises InputFileError where corners are no plate, or moments no moments.
    """
    return tuple(
        ForcePlate(
            number=number,
            type=_TYPE,
            corners=plate.corners,
            origin=plate.about if plate.axes == "plate" and plate.about is not None else np.zeros(3),
            channels=_channels(table, plate, number, at_s),
            rate_hz=rate_hz,
            channel_labels=plate.columns,
        )
        for number, plate in enumerate(plates, start=first)
    )


def _channels(table: Storage, plate: PlateColumns, number: int, at_s: FloatArray) -> FloatArray:
    """(S, 6) force and moment in the plate's axes, N and N m."""
    R_LP = _axes(table, plate, number)
    F, M = (np.column_stack([table.column(name) for name in names]) for names in (plate.force, plate.moment))
    M = M * plate.newton_metres
    _require_moments(table, plate, F, M)
    if plate.axes == "laboratory":
        middle = plate.corners.mean(axis=0)
        about = middle if plate.about is None else plate.about
        F, M = F @ R_LP, (M + np.cross(about - middle, F)) @ R_LP
    return np.column_stack([np.interp(at_s, table.time_s, column) for column in np.hstack([F, M]).T])


def unlike_a_plate(corners: FloatArray) -> str:
    """Return why four corners (4, 3) m are none of a plate, "" where they are."""
    sides = 0.5 * np.array([np.linalg.norm(side) for side in _sides(corners)])
    # of a rectangle both diagonals share their middle
    bent = np.abs(corners[0] + corners[2] - (corners[1] + corners[3])).max()
    if ((sides > _SIDES_M[0]) & (sides < _SIDES_M[1])).all() and bent <= 0.1 * sides.max():
        return ""
    return (
        f"its sides would be {sides[0]:.3g} and {sides[1]:.3g} m, the middles of its diagonals {bent / 2:.3g} m apart"
    )


def _sides(c: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Twice the sides (3,) along the x and the y axis of a plate."""
    return (c[0] - c[1]) + (c[3] - c[2]), (c[0] - c[3]) + (c[1] - c[2])


def _axes(table: Storage, plate: PlateColumns, number: int) -> FloatArray:
    """R_LP (3, 3) of a plate; InputFileError where its corners are none."""
    wrong = unlike_a_plate(plate.corners)
    if wrong:
        raise InputFileError(
            f"The corners of plate {number} of '{table.path.name}' are none of a plate: {wrong}.",
            "Give the four corners one after the other around the plate, and their unit: length = 'mm'.",
        )
    x, y = _sides(plate.corners)
    x = x / np.linalg.norm(x)
    z = np.cross(x, y / np.linalg.norm(y))
    z = z / np.linalg.norm(z)
    return np.column_stack([x, np.cross(z, x), z])


def _require_moments(table: Storage, plate: PlateColumns, F: FloatArray, M: FloatArray) -> None:
    """Raise InputFileError where moments are too large for the forces: N mm that are called N m."""
    size = np.linalg.norm(F, axis=1)
    loaded = np.isfinite(size) & (size > _LOADED_N) & np.isfinite(M).all(axis=1)
    if not loaded.any():
        return
    away = np.zeros(3) if plate.about is None else plate.about
    arm = float(np.median(np.linalg.norm(M[loaded], axis=1) / size[loaded]))
    if arm > _FARTHEST_M + float(np.linalg.norm(away)):
        raise InputFileError(
            f"The moments {plate.moment[0]} ... of '{table.path.name}' would act {arm:.3g} m from the plate.",
            "Say their unit in the column map: moments = 'Nmm'.",
        )
