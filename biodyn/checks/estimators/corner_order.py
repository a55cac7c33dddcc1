"""Corners of a plate that the file lists the wrong way round: the order in which the plate agrees with feet and body.

C3D lists corners so that the plate's z axis points down. Where they run the other way round, z points up, and x and y are
exchanged or one of them is turned round, with the channels of a plate whose z points down. Some laboratories have z up by
design; so the axis only asks the question, and the judges of `plate_faults` answer it: in which order does the centre of
pressure run along the footprint, and do force and moment move the body as it was seen to move?
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.checks.estimators.evidence import Evidence
from biodyn.checks.estimators.plate_faults import REMAINING, SOUND, mismatch, undone
from biodyn.checks.estimators.units import force_ratio
from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic, plates_in_words
from biodyn.processing.signals.orientation import z_points_up
from biodyn.recording import ForcePlate, PlateWrench

# Mismatch of some sound plates under shod or hardly marked feet (two of nineteen shared walks).
_LIKE_SOUND = 2.0 * SOUND
# Against the sign of one moment, which leaves only the small sideways force wrong and does not say why z points up: on 72 shared
# walks listed the other way round the right order left .01 to .95 of what the best such fault did, and never more.
_OF_FAULT = 0.8
# The corners 1, 2, 3, 4 the other way round, beginning with each of them.
_BACKWARDS = ((0, 3, 2, 1), (1, 0, 3, 2), (2, 1, 0, 3), (3, 2, 1, 0))


@dataclass(frozen=True)
class _Listing:
    """One way to list the corners: in which order, and whether their two horizontal coordinates change places."""

    order: tuple[int, int, int, int]
    exchanged: bool = False

    def of(self, plate: ForcePlate, R_WL: FloatArray) -> ForcePlate:
        """The plate (World) with its corners listed so."""
        corners = plate.corners[list(self.order)]
        if self.exchanged:
            up = int(np.argmax(np.abs(R_WL[1])))
            level = [axis for axis in range(3) if axis != up]
            in_laboratory = corners @ R_WL
            in_laboratory[:, level] = in_laboratory[:, level[::-1]]
            corners = in_laboratory @ R_WL.T
        return replace(plate, corners=corners)

    @property
    def words(self) -> str:
        if self.exchanged:
            return "with the two horizontal coordinates of each corner exchanged"
        return f"in the order {', '.join(str(corner + 1) for corner in self.order)}"


_LISTINGS = (*(_Listing(order) for order in _BACKWARDS), _Listing((0, 1, 2, 3), exchanged=True))


def corners_in_order(
    evidence: Evidence,
    plates: Sequence[ForcePlate],
    wrench_of: Callable[[ForcePlate], PlateWrench],
    R_WL: FloatArray,
) -> tuple[tuple[ForcePlate, ...], tuple[Diagnostic, ...]]:
    """Return the plates (World) with their corners as the format lists them, and what was corrected.

    One listing holds for all plates whose z axis points up. They are corrected where it all but makes a sound plate of one and a
    better one of each that a step tells of, no other listing comes near, and no other fault explains as much.
    `wrench_of` reads a plate: filtered, at the marker rate. `R_WL` turns laboratory axes into World.
    """
    up = [n for n, plate in enumerate(plates) if z_points_up(plate)]
    judged = [n for n in up if mismatch(evidence, n, evidence.plates[n]) is not None]
    if not judged:
        return tuple(plates), ()
    now = np.array([_total(evidence, n, evidence.plates[n]) for n in judged])
    totals = np.array([[_total(evidence, n, wrench_of(way.of(plates[n], R_WL))) for way in _LISTINGS] for n in judged])
    faults = [
        [_total(evidence, n, plate) for fault, plate in undone(evidence.plates[n]) if not fault.z_up] for n in judged
    ]
    best, *others = np.argsort(totals.sum(axis=0))
    then = totals[:, best]
    other, fault = totals[:, others].sum(axis=0).min(), np.sum(faults, axis=0).min()
    if then.min() > _LIKE_SOUND or (then > REMAINING * now).any():
        return tuple(plates), ()
    if then.sum() > REMAINING * other or then.sum() > _OF_FAULT * fault:
        return tuple(plates), ()
    listing = _LISTINGS[best]
    corrected = tuple(listing.of(plate, R_WL) if n in up else plate for n, plate in enumerate(plates))
    means = tuple(total / len(judged) for total in (now.sum(), then.sum(), min(other, fault)))
    return corrected, (_note([plates[n].number for n in up], listing, means),)


def with_weight_of_plates(evidence: Evidence) -> Evidence:
    """Return the evidence of a body whose mass nobody gave with the mass that the vertical forces of the plates ask for."""
    ratio = abs(force_ratio(evidence))
    if not np.isfinite(ratio):
        return evidence
    return replace(evidence, required=ratio * evidence.required, weight_n=ratio * evidence.weight_n)


def _total(evidence: Evidence, number: int, plate: PlateWrench) -> float:
    found = mismatch(evidence, number, plate)
    return float("inf") if found is None else found.total


def _note(numbers: Sequence[int], listing: _Listing, means: tuple[float, ...]) -> Diagnostic:
    before, after, nearest = means
    several = len(numbers) > 1
    return Diagnostic(
        "plate-corners-corrected",
        "warning",
        f"{plates_in_words(numbers)} {'have' if several else 'has'} a z axis that points up, by the order of "
        f"{'their' if several else 'its'} corners in the file; in C3D it points "
        f"down. The corners are used {listing.words}, which lowers the mismatch with feet and body from {before:.1f} to "
        f"{after:.1f} (mean square in usual deviations); nothing else lowers it below {nearest:.1f}.",
        value=before,
        limit=SOUND,
        hint="Correct FORCE_PLATFORM:CORNERS in the export settings: seen from above they run clockwise.",
        about=", ".join(map(str, numbers)),
    )
