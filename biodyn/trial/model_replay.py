"""The motion of a trial on an OpenSim model as it is replayed: in the model's free coordinates below a floating root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError, ResultError
from biodyn.output.store.names import MODEL_NAME
from biodyn.processing.dynamics.actuated import ActuatedMotion
from biodyn.rigid_body import OpenSimModel
from biodyn.rigid_body.coupling.floating import floating_tree
from biodyn.rigid_body.coupling.reduced import ReducedTree, require_rates
from biodyn.rigid_body.osim.document import document_of
from biodyn.rigid_body.osim.model import model_element, model_of

# A locked coordinate that moves by more (rad, m) was given, and is replayed like the others.
_STILL = 1e-9


@dataclass(frozen=True)
class ModelReplay:
    """What is replayed: the motion with its forces, and the place in q and in v of every free coordinate, by name."""

    actuated: ActuatedMotion
    coordinates: Mapping[str, tuple[int, int]]


def model_motion(arrays: Mapping[str, np.ndarray], stored: ActuatedMotion, model_file: bytes) -> ModelReplay:
    """Return the motion of a result on a model in its free coordinates; ResultError where it cannot be replayed."""
    model = model_of(model_element(document_of(model_file, MODEL_NAME), MODEL_NAME))
    tree = floating_tree(model.coupled)
    if tree is None:
        raise ResultError("The model has several bodies on ground: its motion is not replayed forwards.")
    names, coupled = model.independent()
    try:
        require_rates(coupled.layers)
    except ModelError as error:
        raise ResultError(str(error)) from error
    all_names = [str(name) for name in arrays["own_coordinates"]]
    q = arrays["own_q"][:, [all_names.index(name) for name in names]]
    v = arrays["own_v"][:, [all_names.index(name) for name in names]]
    vdot = arrays["own_vdot"][:, [all_names.index(name) for name in names]]
    known = np.isfinite(q).all(axis=1)
    free = _free(model, names, q[known])
    places = np.array([names.index(name) for name in free], dtype=np.int64)
    held = np.nanmean(q[known], axis=0)
    reduced = ReducedTree(tree, coupled.layers, free, places, held)
    moved = np.hstack([stored.q[:, :7], q[:, places]])
    speeds = np.hstack([stored.v[:, :6], v[:, places]])
    actuated = replace(
        stored,
        multibody=tree.multibody,
        reduced=reduced,
        q=moved,
        v=speeds,
        vdot=np.hstack([stored.vdot[:, :6], vdot[:, places]]),
        tau=_forces(reduced, moved, speeds, stored.tau),
    )
    return ModelReplay(actuated, {name: (7 + k, 6 + k) for k, name in enumerate(free)})


def _free(model: OpenSimModel, names: tuple[str, ...], q: FloatArray) -> tuple[str, ...]:
    """Coordinates that move: not those between root and ground, whose motion is the base's, nor those locked and still."""
    own = {c.name: c for c in model.coordinates}
    still = dict(zip(names, np.ptp(q, axis=0) < _STILL, strict=True))
    return tuple(
        name
        for name in names
        if not own[name].to_ground and not ((own[name].locked or own[name].prescribed) and still[name])
    )


def _forces(reduced: ReducedTree, q: FloatArray, v: FloatArray, tau: FloatArray) -> FloatArray:
    """The forces (T, nv) along the free coordinates of those along the joints of the tree."""
    found = np.full_like(v, np.nan)
    rows = np.flatnonzero(np.isfinite(q).all(axis=1) & np.isfinite(tau).all(axis=1))
    _, _, G, _ = reduced.tree_state(q[rows], v[rows])
    found[rows] = reduced.of_tree(tau[rows], G)
    return found
