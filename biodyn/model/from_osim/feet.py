"""The soles of an OpenSim model: rectangles from heel to toes, as long as the model's own feet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.rigid_body import OpenSimModel

# A sole by the distance from heel to toes in the model: behind the heel, before it, half its width; that distance without toes.
_BEHIND, _BEFORE, _HALF_WIDTH = 0.15, 1.45, 0.25
_USUAL_M: Final = 0.18


def sole_outlines(model: OpenSimModel, feet: Mapping[Side, str]) -> dict[Side, FloatArray]:
    """Return outlines (4, 3) m of the soles in the axes of the feet's bodies, heel to toes on one edge and back on the other."""
    resting = model.coupled.body_poses(model.default_configuration()[None])
    parents = [body.parent for body in model.multibody.bodies]
    soles: dict[Side, FloatArray] = {}
    for side, name in feet.items():
        b = model.multibody.body_index(name)
        toes = [
            k
            for k, body in enumerate(model.multibody.bodies)
            if body.parent == name or _before(parents, k, name, model)
        ]
        along = np.array([_USUAL_M, 0.0, 0.0])
        if toes:
            along = resting[0][0, b].T @ (resting[1][0, toes[-1]] - resting[1][0, b])
        length = float(np.linalg.norm(along))
        across = np.cross(along / length, (0.0, 1.0, 0.0)) * _HALF_WIDTH * length
        back, front = -_BEHIND * along, _BEFORE * along
        soles[side] = np.array([back - across, front - across, front + across, back + across])
    return soles


def _before(parents: list[str | None], k: int, name: str, model: OpenSimModel) -> bool:
    """Whether a body hangs on another one through the axes of a joint alone."""
    parent = parents[k]
    while parent is not None and "/" in parent:
        parent = parents[model.multibody.body_index(parent)]
    return parent == name
