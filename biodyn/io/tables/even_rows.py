"""A table whose rows come at an even rate: those that were dropped are put in, uneven ones moved."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.format import RATES_HZ
from biodyn.io.opensim.storage import Storage, even_rate_hz
from biodyn.io.positions import unseen_as_nan
from biodyn.io.tables.roles import ColumnRoles

#: Of the time between two rows: steps that differ by less from whole ones are those of dropped rows.
_ROUNDED: Final = 0.1
_NEXT: Final = 1.5  # of the usual time between rows: no row was dropped in a shorter one
_MOST_DROPPED: Final = 0.5  # of all rows; else the rate is another one


def even_rows(table: Storage) -> tuple[float, FloatArray, tuple[Diagnostic, ...]]:
    """Return rows per second, their even times (T,) s, and a note where those of the table are not even.

    Raises InputFileError where there are fewer than two rows, or as many per second as no camera takes.
    """
    times = table.time_s
    if len(times) < 2:
        raise InputFileError(f"'{table.path.name}' holds {len(times)} row: no motion.")
    mean_hz = (len(times) - 1) / float(times[-1] - times[0])
    if not RATES_HZ[0] <= mean_hz <= RATES_HZ[1]:
        raise InputFileError(f"'{table.path.name}' has {mean_hz:.3g} rows per second: no motion is recorded like that.")
    even_hz = even_rate_hz(times)
    if even_hz is not None:
        return even_hz, times, ()
    whole = _with_dropped(times)
    if whole is not None:
        return (*whole, (_dropped_note(table, *whole),))
    steps = np.diff(times)
    note = Diagnostic(
        "rows-uneven",
        "warning",
        f"The rows of '{table.path.name}' are {steps.min():.4g} to {steps.max():.4g} s apart: read at {mean_hz:.6g} rows per "
        "second, between them linearly.",
        value=float(steps.max()),
        unit="s",
    )
    return mean_hz, times[0] + np.arange(len(times)) / mean_hz, (note,)


def at_rows(table: Storage, roles: ColumnRoles, rows: FloatArray) -> Storage:
    """Return the table at other times (T,) s, between its rows linearly; a marker is not seen where a neighbour lacks it.

    Where rows were dropped the others stand as they are, and no marker is seen in those.
    """
    if rows is table.time_s:
        return table
    values = table.values.copy()
    of_markers = [table.names.index(name) for columns in roles.markers.values() for name in columns]
    points = values[:, of_markers].reshape(len(values), -1, 3)
    values[:, of_markers] = unseen_as_nan(points).reshape(len(values), -1)
    even = np.column_stack([np.interp(rows, table.time_s, column) for column in values.T])
    if len(rows) > len(table.time_s):  # some were dropped: each of the others lies beside one of the even rows
        even[:, of_markers] = np.nan
        even[np.round((table.time_s - rows[0]) / (rows[1] - rows[0])).astype(int)] = values
    return replace(table, time_s=rows, values=even)


def _with_dropped(times: FloatArray) -> tuple[float, FloatArray] | None:
    """Rate and times of all rows where the steps between those that are there are whole ones; None where they are not."""
    steps = np.diff(times)
    step_s = float(steps[steps < _NEXT * np.median(steps)].mean())  # times are rounded: one step tells less than all
    counts = np.round(steps / step_s)
    place = np.concatenate([[0.0], np.cumsum(counts)])
    if counts.min() < 1.0 or len(times) < (1.0 - _MOST_DROPPED) * place[-1]:
        return None
    step_s = float(np.polyfit(place, times - times[0], 1)[0])
    rate_hz = float(round(1.0 / step_s))
    for hz in (rate_hz, 1.0 / step_s):
        if hz > 0.0 and np.abs(times[0] + place / hz - times).max() * hz <= _ROUNDED:
            return hz, times[0] + np.arange(int(place[-1]) + 1) / hz
    return None


def _dropped_note(table: Storage, rate_hz: float, rows: FloatArray) -> Diagnostic:
    count = len(rows) - len(table.time_s)
    return Diagnostic(
        "rows-dropped",
        "info",
        f"'{table.path.name}' lacks {count} of {len(rows)} rows at {rate_hz:g} per second: no marker is seen there; forces and "
        "coordinates go on linearly.",
        value=float(count),
        unit="rows",
    )
