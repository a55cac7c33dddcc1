"""About which point the moments of an archive's plates are: the centre of pressure, or the origin of World.

Archives hold both, as their sources did, and do not say which. On a floor a foot can press and shear but not pull, so the
moment about the centre of pressure is vertical: what is left of it across decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.io.b3d.archive import ArchivedTrial
from biodyn.io.tables.columns import ForceColumns

_LOADED_N = 50.0  # below it centres of pressure say little
_VERTICAL = 1  # y is up
# A moment across the floor that is larger than this cannot be noise of a plate, Nm.
_MOST_ACROSS_NM = 5.0


@dataclass(frozen=True, eq=False)
class ArchivedForces:
    """Ground forces of a trial as columns of a table.

    Attributes:
        columns: (T,) each, by name, N, m and Nm, points and moments about them. roles: which columns are one force.
        notes: what was decided.
    """

    columns: Mapping[str, FloatArray]
    roles: tuple[ForceColumns, ...]
    notes: tuple[Diagnostic, ...]


def forces_of(trial: ArchivedTrial) -> ArchivedForces:
    """Return the ground forces of a trial, one for each plate that is ever loaded, with moments about the centre of pressure."""
    columns: dict[str, FloatArray] = {}
    roles: list[ForceColumns] = []
    notes: list[Diagnostic] = []
    for k in range(trial.plates.shape[1]):
        point, moment, force = (np.nan_to_num(trial.plates[:, k, part]) for part in range(3))
        if not (np.abs(force[:, _VERTICAL]) > _LOADED_N).any():
            continue
        about = about_which_point(point, moment, force)
        if about == "origin":
            moment = moment - np.cross(point, force)
            notes.append(_note(trial, k, "info", "about the origin of the laboratory: moved to the centre of pressure"))
        elif about is None:
            moment = moment * np.eye(3)[_VERTICAL]
            notes.append(
                _note(
                    trial, k, "warning", "about neither centre of pressure nor origin: only its vertical part is used"
                )
            )
        names = [tuple(f"{k + 1}_ground_{form}{axis}" for axis in "xyz") for form in ("force_v", "force_p", "torque_")]
        for three, values in zip(names, (force, point, moment), strict=True):
            columns.update(zip(three, values.T, strict=True))
        roles.append(ForceColumns(str(k + 1), None, *names))
    return ArchivedForces(columns, tuple(roles), tuple(notes))


def about_which_point(
    point: FloatArray, moment: FloatArray, force: FloatArray
) -> Literal["centre of pressure", "origin"] | None:
    """Return about which point (T, 3) moments of (T, 3) forces with centres of pressure (T, 3) are; None = about neither."""
    loaded = np.abs(force[:, _VERTICAL]) > _LOADED_N
    across = [0, 2]
    at_centre = moment[loaded][:, across]
    at_origin = (moment - np.cross(point, force))[loaded][:, across]
    sizes = [float(np.median(np.linalg.norm(part, axis=1))) for part in (at_centre, at_origin)]
    if min(sizes) > _MOST_ACROSS_NM:
        return None
    return "centre of pressure" if sizes[0] <= sizes[1] else "origin"


def _note(trial: ArchivedTrial, plate: int, severity: Literal["info", "warning"], what: str) -> Diagnostic:
    text = f"The moments of force plate {plate + 1} in '{trial.name}' are {what}."
    return Diagnostic("archive-moments", severity, text, limit=_MOST_ACROSS_NM, unit="Nm")
