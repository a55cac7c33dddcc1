"""Plates that are described twice: the same plate again, or two together as one, as software adds them for its own use.

Each load would count twice. What tells them: they lie where others lie, and read what those read together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic, plates_in_words
from biodyn.recording import ForcePlate

# Types whose third channel, or third output of the matrix, is the force along the normal; of type 3 the last four are its parts.
_WITH_FORCE, _FOUR_PARTS = (1, 2, 4, 5), 3
# A plate that reads less than this at all times tells nothing; forces that differ by less than this share of themselves (RMS) are
# one force.
_LOADED_N, _ALIKE = 100.0, 0.01
# A surface within this distance of another one, along the normal, is the same.
_HEIGHT_M = 0.05


def without_repeated(plates: Sequence[ForcePlate]) -> tuple[tuple[ForcePlate, ...], tuple[Diagnostic, ...]]:
    """Return the plates without those that repeat others, and what was left out; a later plate repeats an earlier one."""
    kept, notes = list(plates), []
    for plate in reversed(plates):
        own = _normal_force(plate)
        if own is None or np.abs(own).max(initial=0.0) < _LOADED_N:
            continue
        within = [other for other in kept if other is not plate and _covers(plate, other)]
        forces = [_normal_force(other) for other in within]
        known = [force for force in forces if force is not None and len(force) == len(own)]
        if not within or len(known) < len(forces):
            continue
        if np.sqrt(np.mean((own - np.sum(known, axis=0)) ** 2)) < _ALIKE * np.sqrt(np.mean(own**2)):
            kept.remove(plate)
            notes.append(_note(plate.number, [other.number for other in within]))
    return tuple(kept), tuple(notes)


def _normal_force(plate: ForcePlate) -> FloatArray | None:
    """Force (Ta,) N along the plate's normal; None where its channels do not hold it or hold no number."""
    outputs = plate.outputs
    if plate.type == _FOUR_PARTS:
        force = outputs[:, 4:8].sum(axis=1)
    elif plate.type in _WITH_FORCE:
        force = outputs[:, 2]
    else:
        return None
    return force if np.isfinite(force).all() else None


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
