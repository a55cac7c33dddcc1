"""Read the force plates of a C3D file (FORCE_PLATFORM group), in SI units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic, plate_list_text
from biodyn.io.formats.c3d.header import continued_values
from biodyn.io.length_units import PlateUnit
from biodyn.io.name_tables import keep_letters, load_name_table
from biodyn.recording import ForcePlate
from biodyn.recording.plates import CopCorrection, plate_sides

COUNT = 12


def cop_correction(
    number: int, values: FloatArray, dims: list[int], half_sides: FloatArray, unit: float
) -> tuple[CopCorrection | None, tuple[Diagnostic, ...]]:
    """Return the centre-of-pressure correction of plate `number` (None if the file has none), and a finding if it is
    implausible.

    values: (12,) as stored, empty or all 0 without a correction; dims: dimensions of the parameter, which determine the
    order of the values; half_sides: (2,) m of the plate; unit: metres per unit of the corners. Lengths are in mm or in
    the unit of the corners, whichever makes the correction small.
    """
    # Kistler's plates err by up to 30 mm near their sensors; a polynomial in the wrong unit or order gives metres.
    largest_m = 0.05
    mm = 1e-3  # Kistler's coefficients are for millimetres
    if values.size != COUNT or not values.any():
        return None, ()
    by_power = len(dims) >= 2 and dims[0] == 2
    stored = values.reshape(6, 2).T if by_power else values.reshape(2, 6)
    sizes = []
    for length in dict.fromkeys((mm, unit)):
        correction = CopCorrection.from_length_unit(stored, length, half_sides)
        sizes.append(correction.largest_error())
        if sizes[-1] <= largest_m:
            return correction, ()
    size = float(np.nanmin(sizes)) if np.isfinite(sizes).any() else float("inf")
    note = Diagnostic(
        "plate-cop-corrected",
        "warning",
        f"FORCE_PLATFORM:FPCOPPOLY of plate {number} would shift the centre of pressure between the sensors by up to "
        f"{1e3 * size:.3g} mm and is not used.",
        value=size,
        limit=largest_m,
        unit="m",
        hint="Enter the coefficients of the plate's calibration sheet in the capture software and export the trial "
        "again.",
    )
    return None, (note,)


# Number of channels of each C3D plate type. Source: c3d.org manual, BTK; for types 5 to 7 also Visual3D's
# documentation.
_CHANNELS = {1: 6, 2: 6, 3: 8, 4: 6, 5: 8, 6: 12, 7: 8}
# Types with a calibration matrix and the number of its outputs: forces and moments, or one force per sensor.
_CALIBRATED_BY_MATRIX = {4: 6, 5: 6, 6: 12, 7: 8}
# Types with Kistler's four sensors, which have a correction of the centre of pressure.
_CORRECTED_BY_POLYNOMIAL = (3, 7)
_METRES = PlateUnit(1.0, 1.0, 1.0)

Group = Mapping[str, Mapping[str, Any]]


def plate_channels(groups: Mapping[str, Group]) -> list[int]:
    """Return the analog channels (0-based, sorted) to which force plates are connected."""
    return sorted({int(c) - 1 for c in _parameter_values(groups.get("FORCE_PLATFORM", {}), "CHANNEL") if c >= 1})


def read_plates(
    plate_group: Group,
    analog_group: Group,
    samples: FloatArray,
    kept_channels: Sequence[int],
    units: Mapping[int, PlateUnit] | None,
    frame_count: int,
    rate_hz: float,
) -> tuple[tuple[ForcePlate, ...], tuple[Diagnostic, ...]]:
    """Return the plates that are completely described, and a diagnostic for each plate that is not.

    samples: (Ta, C) scaled analog samples of the 0-based channels `kept_channels`. rate_hz: marker frames per second.
    units: length units by plate number; plates without an entry are omitted. None = lengths of all plates are taken as
    metres.
    """
    types = _parameter_values(plate_group, "TYPE")
    used = _parameter_values(plate_group, "USED")
    count = int(used[0]) if used.size else types.size
    if count <= 0 or samples.shape[0] == 0 or frame_count == 0:
        return (), ()
    plates: list[ForcePlate] = []
    diagnostics: list[Diagnostic] = []
    analog_rate_hz = rate_hz * samples.shape[0] / frame_count
    zero = _zero_frames(_parameter_values(plate_group, "ZERO"), frame_count)
    idle = [number for number in range(1, count + 1) if _is_unused_plate(number, plate_group)]
    if idle and len(idle) < count:
        diagnostics.append(_unused_plates_note(idle))
    described = [number for number in range(1, count + 1) if number not in idle or len(idle) == count]
    without_type = [number for number in described if number > types.size]
    if without_type:
        which = f"{without_type[0]} to {without_type[-1]}"
        diagnostics.append(_unreadable_plate_note(which, count, "FORCE_PLATFORM:TYPE does not state its type"))
    for number in described[: len(described) - len(without_type)]:
        unit = _METRES if units is None else units.get(number)
        try:
            plate, notes = _read_plate(number, plate_group, analog_group, samples, kept_channels, unit or _METRES)
        except _IncompletePlateError as problem:
            diagnostics.append(_unreadable_plate_note(str(number), count, str(problem)))
            continue
        if unit is None:
            continue
        diagnostics.extend(notes)
        plates.append(ForcePlate(**plate, rate_hz=analog_rate_hz, zero_frames=zero))
    return tuple(plates), tuple(diagnostics)


def _unreadable_plate_note(which: str, count: int, problem: str) -> Diagnostic:
    return Diagnostic(
        "plate-not-used",
        "warning",
        f"Force plate {which} of {count} is not used: {problem}.",
        hint="Describe the plate completely in the capture software and export the trial again.",
    )


def _is_unused_plate(number: int, group: Group) -> bool:
    """Return whether a plate has neither channels nor corners, as laboratories declare plates that they do not use."""
    corners, types = _values_of_plate(group, "CORNERS", number, 12), _parameter_values(group, "TYPE")
    needed = _CHANNELS.get(int(types[number - 1])) if number <= types.size else None
    return not _stored_channels(number, needed, group) and (corners is None or not np.any(corners))


def _unused_plates_note(numbers: Sequence[int]) -> Diagnostic:
    return Diagnostic(
        "plate-not-used",
        "info",
        f"{plate_list_text(numbers)} {'are' if len(numbers) > 1 else 'is'} declared without channels and corners, and "
        "not used.",
    )


class _IncompletePlateError(Exception):
    """Error for an incompletely described force plate; its text completes the message 'plate 2 is not used: ...'."""


def _parameter_values(group: Group, name: str) -> FloatArray:
    """Return all values of a parameter as floats in storage order; empty if it is missing or a text."""
    values = group.get(name, {}).get("values", [])
    if any(isinstance(value, str) for value in values):
        return np.empty(0)
    return np.asarray(values, dtype=float)


def _values_of_plate(group: Group, name: str, number: int, rows: int) -> FloatArray | None:
    """Return the values (rows,) of one plate: column `number` of a (rows, plates) table stored by columns."""
    values = _parameter_values(group, name)
    column = values[(number - 1) * rows : number * rows]
    return column if column.size == rows else None


def _read_plate(
    number: int, group: Group, analog_group: Group, samples: FloatArray, kept_channels: Sequence[int], unit: PlateUnit
) -> tuple[dict[str, Any], tuple[Diagnostic, ...]]:
    types = _parameter_values(group, "TYPE")
    kind = int(types[number - 1])
    corners = _values_of_plate(group, "CORNERS", number, 12)
    if corners is None or not np.isfinite(corners).all() or np.ptp(corners.reshape(4, 3), axis=0).max() == 0.0:
        raise _IncompletePlateError("FORCE_PLATFORM:CORNERS does not give its four corners")
    origin = _values_of_plate(group, "ORIGIN", number, 3)
    if origin is not None and not np.isfinite(origin).all():
        raise _IncompletePlateError("FORCE_PLATFORM:ORIGIN contains values that are not numbers")
    columns = _channel_columns(number, kind, group, kept_channels)
    labels, units = continued_values(analog_group, "LABELS"), continued_values(analog_group, "UNITS")
    indices = [kept_channels[c] for c in columns]
    channels = samples[:, columns]
    matrix = None
    if kind in _CALIBRATED_BY_MATRIX:
        matrix = _calibration_matrix(number, group, _CALIBRATED_BY_MATRIX[kind], len(columns), unit.moments)
        if not np.isfinite(matrix).all():
            raise _IncompletePlateError("FORCE_PLATFORM:CAL_MATRIX contains values that are not numbers")
    else:
        factors = [
            _channel_factor(kind, place, str(units[i]) if i < len(units) else "", unit.moments)
            for place, i in enumerate(indices)
        ]
        channels = channels * np.asarray(factors)
    corners = corners.reshape(4, 3) * unit.corners
    correction: CopCorrection | None = None
    notes: tuple[Diagnostic, ...] = ()
    if kind in _CORRECTED_BY_POLYNOMIAL and (values := _values_of_plate(group, "FPCOPPOLY", number, COUNT)) is not None:
        dims = [int(d) for d in group["FPCOPPOLY"].get("dims", [])]
        correction, notes = cop_correction(number, values, dims, plate_sides(corners) / 2.0, unit.corners)
    plate = {
        "number": number,
        "type": kind,
        "corners": corners,
        "origin": np.zeros(3) if origin is None else origin * unit.origin,
        "channels": channels,
        "cal_matrix": matrix,
        "cop_correction": correction,
        "channel_labels": tuple(str(labels[i]) if i < len(labels) else "" for i in indices),
    }
    return plate, notes


def _channel_columns(number: int, kind: int, group: Group, kept_channels: Sequence[int]) -> list[int]:
    """Return the columns of `samples` that hold the channels of plate `number`, in the order of the channels of its type.

    Raises _IncompletePlateError if a channel is not declared or not stored.
    """
    needed = _CHANNELS.get(kind)
    wanted = _stored_channels(number, needed, group)
    if needed is not None:
        wanted = wanted[:needed]
        if len(wanted) < needed:
            raise _IncompletePlateError(
                f"FORCE_PLATFORM:CHANNEL lists {len(wanted)} of the {needed} channels of type {kind}"
            )
    missing = [c for c in wanted if c - 1 not in kept_channels]
    if missing:
        raise _IncompletePlateError(f"its analog channel {missing[0]} is not stored or has no scale")
    return [kept_channels.index(c - 1) for c in wanted]


def _stored_channels(number: int, needed: int | None, group: Group) -> list[int]:
    """Return the numbers (from 1) of the analog channels of a plate; `needed`: number of channels of its type, None =
    unknown."""
    dims = [int(d) for d in group.get("CHANNEL", {}).get("dims", [])]
    rows = dims[0] if len(dims) > 1 else needed or 6
    return [int(c) for c in _parameter_values(group, "CHANNEL")[(number - 1) * rows : number * rows] if c > 0]


def _calibration_matrix(number: int, group: Group, outputs: int, inputs: int, metres_per_unit: float) -> FloatArray:
    """Return the calibration matrix (outputs, inputs) from channels to N and, with six outputs, Nm.

    It is stored with the row index fastest (FORCE_PLATFORM:MATRIX_STORE BYCOLUMN, also the default); stored moments are
    in N times the unit of the corners. Some programs store a 12 x 12 matrix, so its shape is read from the file.
    """
    table = group.get("CAL_MATRIX", {})
    dims = [int(d) for d in table.get("dims", [])]
    rows, columns = (dims[0], dims[1]) if len(dims) >= 2 else (outputs, inputs)
    values = _parameter_values(group, "CAL_MATRIX")[(number - 1) * rows * columns : number * rows * columns]
    if values.size != rows * columns or rows < outputs or columns < inputs or not np.any(values):
        raise _IncompletePlateError("FORCE_PLATFORM:CAL_MATRIX does not hold its calibration")
    by_row = [str(v).upper() for v in group.get("MATRIX_STORE", {}).get("values", [])]
    order = "C" if any("ROW" in v for v in by_row) else "F"
    matrix = values.reshape((rows, columns), order=order)[:outputs, :inputs].copy()  # type: ignore[call-overload]
    if outputs == 6:
        matrix[3:] *= metres_per_unit
    return np.asarray(matrix, dtype=float)


def _channel_factor(kind: int, place: int, unit: str, metres_per_unit: float) -> float:
    """Return the factor from the unit of a channel to N, Nm (m for the positions of type 1).

    Without a usable unit, forces are taken as N and moments as N times the unit of the corners, the default of the
    format. A unit of another quantity ("N" for a moment, as some programs write) is not usable.
    """
    position_channels = (3, 4)  # position channels of type 1: centre of pressure
    unit_letters = keep_letters(unit)
    forces_only = kind == 3
    if kind == 1 and place in position_channels:
        return float(load_name_table()["length_units"].get(unit_letters, metres_per_unit))
    if forces_only or place < 3:
        return float(load_name_table()["force_units"].get(unit_letters, 1.0))
    return float(load_name_table()["moment_units"].get(unit_letters, metres_per_unit))


def _zero_frames(zero: FloatArray, frame_count: int) -> tuple[int, int] | None:
    """Return the 0-based inclusive marker frames of the unloaded baseline, by ZERO = [first, last], 1-based; None for [x, 0]."""
    if zero.size < 2:
        return None
    first, last = max(int(zero[0]), 1), int(zero[1])
    return (first - 1, last - 1) if first <= last <= frame_count else None
