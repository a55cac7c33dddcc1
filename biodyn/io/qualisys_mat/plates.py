"""Force plates of a measurement; one that cannot be used leaves the others and the markers as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.io.files import EXPORT_AGAIN
from biodyn.io.matlab import MatlabError, Record
from biodyn.io.plate_exports.loads import PlateLoads, placed
from biodyn.io.qualisys_mat.fields import number, numbers, possible_rate, records
from biodyn.io.tables.columns import METRES, unlike_a_plate

_SAID: Final = {0: "local", 1: "world"}


@dataclass(frozen=True, eq=False)
class _Plate:
    loads: PlateLoads
    corners: FloatArray
    said: str
    rate_hz: float


@dataclass(frozen=True, eq=False)
class MeasuredPlates:
    """Force plates of one measurement.

    Attributes:
        plates: of each its loads and corners (4, 3) m. said: whose axes the loads are in, "" where it is not said.
            rate_hz: of the samples. notes: on plates that are left out.
    """

    plates: tuple[tuple[PlateLoads, FloatArray], ...]
    said: str
    rate_hz: float
    notes: tuple[Diagnostic, ...]


def plates_of(path: Path, stored: Record, frame_hz: float) -> MeasuredPlates:
    """Return the plates that measured at one rate for one time; `frame_hz` frames a second."""
    found: list[_Plate] = []
    notes: list[Diagnostic] = []
    for name, record in _named(stored):
        try:
            plate = _plate(name, record, frame_hz)
            if plate is not None:
                _require_alike(found[:1], plate)
                found.append(plate)
        except MatlabError as error:
            text = f"Of '{path.name}' {name} is not used: {error}."
            notes.append(Diagnostic("forces-unusable", "warning", text, hint=EXPORT_AGAIN))
    rows = min((len(plate.loads.force) for plate in found), default=0)
    said = {plate.said for plate in found}
    return MeasuredPlates(
        tuple((plate.loads.until(rows), plate.corners) for plate in found),
        said.pop() if len(said) == 1 else "",
        found[0].rate_hz if found else frame_hz,
        tuple(notes),
    )


def _named(stored: Record) -> Iterator[tuple[str, Record]]:
    return ((f"plate {count}", record) for count, record in enumerate(records(stored, "Force"), start=1))


def _require_alike(first: Sequence[_Plate], plate: _Plate) -> None:
    """Raise MatlabError where a plate was sampled at another rate, or for another time, than the first."""
    for other in first:
        samples, others = len(plate.loads.force), len(other.loads.force)
        if plate.rate_hz != other.rate_hz or abs(samples - others) > 1:
            raise MatlabError(
                f"it has {samples} samples at {plate.rate_hz:g} per second, {other.loads.name} {others} at {other.rate_hz:g}"
            )


def _plate(name: str, stored: Record, frame_hz: float) -> _Plate | None:
    """One plate, None where it did not measure; MatlabError where it is none."""
    if not numbers(stored, "Force", None, None).size:
        return None
    force, moment, pressure = (numbers(stored, what, 3, None).T for what in ("Force", "Moment", "COP"))
    if not len(force) == len(moment) == len(pressure):
        raise MatlabError("force, moment and COP differ in their samples")
    corners = METRES["mm"] * numbers(stored, "ForcePlateLocation", 4, 3)
    wrong = unlike_a_plate(corners) if np.isfinite(corners).all() else "they are no numbers"
    if wrong:
        raise MatlabError(f"its corners are none of a plate: {wrong}")
    per_frame = number(stored, "SamplingFactor", 1.0)
    return _Plate(
        PlateLoads(name, force, moment, placed(force, METRES["mm"] * pressure)),
        corners,
        _SAID.get(int(number(stored, "ForcePlateOrientation", -1.0)), ""),
        possible_rate(number(stored, "Frequency", frame_hz * per_frame)),
    )
