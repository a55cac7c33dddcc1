"""Plates that are described twice: the same plate again, or two together as one, as software adds them for its own use.

Each load would count twice. What tells them: they lie where others lie, and read what those read together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.diagnostics import Diagnostic, plates_in_words
from biodyn.io.plate_loading import normal_force
from biodyn.recording import ForcePlate

# A plate that reads less than this at all times tells nothing; forces that differ by less than this share of themselves (RMS) are
# one force.
_LOADED_N, _ALIKE = 100.0, 0.01
# A surface within this distance of another one, along the normal, is the same.
_HEIGHT_M = 0.05


def without_repeated(plates: Sequence[ForcePlate]) -> tuple[tuple[ForcePlate, ...], tuple[Diagnostic, ...]]:
    """Return the plates without those that repeat others, and what was left out; a later plate repeats an earlier one."""
    kept, notes = list(plates), []
    for plate in reversed(plates):
        own = normal_force(plate)
        if own is None or np.abs(own).max(initial=0.0) < _LOADED_N:
            continue
        within = [other for other in kept if other is not plate and _covers(plate, other)]
        forces = [normal_force(other) for other in within]
        known = [force for force in forces if force is not None and len(force) == len(own)]
        if not within or len(known) < len(forces):
            continue
        if np.sqrt(np.mean((own - np.sum(known, axis=0)) ** 2)) < _ALIKE * np.sqrt(np.mean(own**2)):
            kept.remove(plate)
            notes.append(_note(plate.number, [other.number for other in within]))
    return tuple(kept), tuple(notes)


def _covers(plate: ForcePlate, other: ForcePlate) -> bool:
    """Whether the middle of the other plate lies on this one."""
    x, y = plate.corners[0] - plate.corners[1], plate.corners[0] - plate.corners[3]
    away = other.corners.mean(axis=0) - plate.corners.mean(axis=0)
    inside = all(abs(float(away @ side)) < 0.5 * float(side @ side) for side in (x, y))
    normal = np.cross(x, y)
    return inside and abs(float(away @ normal)) < _HEIGHT_M * float(np.linalg.norm(normal))


def _note(number: int, others: Sequence[int]) -> Diagnostic:
    which = plates_in_words(others)
    same = f"{which} again" if len(others) == 1 else f"{which} together"
    return Diagnostic(
        "plate-repeated",
        "info",
        f"Plate {number} is {same[:1].lower()}{same[1:]}: it lies there and reads the same force. It is left out.",
        about=f"plate {number}",
    )
