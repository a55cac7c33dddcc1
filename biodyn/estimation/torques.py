"""The torques that an estimate holds smooth: which, where they are known, and how fast each of them may change.

Muscles do not change their torque at once. How fast they do is the movement's own: a runner's hip changes its torque ten times
as fast as that of one who walks slowly, and his ankle a fifth as fast as his hip.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.estimation.sizes import knot_step
from biodyn.estimation.strikes import kinds_of
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.solve import Loads
from biodyn.rigid_body import inverse_dynamics
from biodyn.rigid_body.jacobians import on_path
from biodyn.uncertainty.inputs import TrialInputs

# A joint that carries more of the body's mass than this is one of the trunk.
_MUCH = 0.15
# Four fifths of the changes of a random walk lie within 1.28 of their standard deviation; strikes are among the others.
_SHARE, _DEVIATIONS = 0.8, 1.2816
# Fewer second differences than this tell nothing.
_LEAST_CHANGES = 20
# Torques about an axis that hardly moves change by this at least, Nm/kg per s^1.5.
_LEAST_ROUGHNESS = 1.0
# The slope of a torque may change (as a random walk) by this factor times the usual change in the filtered motion.
_ROUGHNESS = 2.0


@dataclass(frozen=True)
class SmoothTorques:
    """Torques that are held smooth.

    Attributes:
        places: (R,) in v. known: (T, R) where the loads tell them.
        change_nm: (R,) standard deviation of the second difference of each from knot to knot, Nm; infinite = no limit.
    """

    places: IntArray
    known: BoolArray
    change_nm: FloatArray


def smooth_torques(inputs: TrialInputs, loads: Loads) -> SmoothTorques:
    """Return the torques of legs and trunk, and how fast they change in the motion as it was fitted.

    Both sides count as one torque. One that is never known long enough may change as it likes: nothing is asked of it.
    """
    model = inputs.model
    places = torque_places(model)
    known = _known(model, loads, places)
    change = np.full(len(places), np.inf)
    if len(places):
        step = knot_step(inputs.rate_hz)
        knot_s = step / inputs.rate_hz
        least = _LEAST_ROUGHNESS * model.mass_kg * knot_s**1.5
        differences = _second_differences(inputs, loads, places, known, step)
        kinds = kinds_of(model, places).number
        for columns in (np.flatnonzero(kinds == kind) for kind in np.unique(kinds)):
            own = differences[:, columns][np.isfinite(differences[:, columns])]
            if len(own) >= _LEAST_CHANGES:
                usual = float(np.quantile(own, _SHARE)) / _DEVIATIONS
                change[columns] = max(_ROUGHNESS * usual, least)
    return SmoothTorques(places, known, change)


def torque_places(model: SubjectModel) -> IntArray:
    """Return the places in v of the legs' coordinates, and of those that carry much of the body (the trunk)."""
    mb = model.multibody
    soles = [on_path(mb, model.frames[body].link) for body in model.sole_body.values()]
    carried = np.zeros(mb.nv)
    for link, body in enumerate(mb.bodies):
        carried += on_path(mb, link) * body.mass_kg
    heavy = carried > _MUCH * mb.total_mass_kg
    moving = np.array([c.v_index for c in (*model.coordinates, *model.assumed)], dtype=np.int64)
    chosen = np.any([*soles, heavy], axis=0)
    return np.array([at for at in moving if chosen[at]], dtype=np.int64)


def _known(model: SubjectModel, loads: Loads, places: IntArray) -> BoolArray:
    """Where (T, R) each torque is known; assumed coordinates where the whole body is in balance."""
    columns = {coordinate.v_index: i for i, coordinate in enumerate(model.coordinates)}
    result = np.zeros((len(loads.balanced), len(places)), dtype=bool)
    for row, at in enumerate(places.tolist()):
        result[:, row] = loads.torque_valid[:, columns[at]] if at in columns else loads.balanced
    return result


def _second_differences(inputs: TrialInputs, loads: Loads, places: IntArray, known: BoolArray, step: int) -> FloatArray:
    """Sizes (K - 2, R) of the second differences of the torques from knot to knot, Nm; NaN where one is not known."""
    motion = inputs.fit.motion
    moving = np.isfinite(motion.vdot).all(axis=1)
    tau = np.full((len(motion.q), len(places)), np.nan)
    q, v, vdot = (part[moving] for part in (motion.q, motion.v, motion.vdot))
    tau[moving] = inverse_dynamics(inputs.model.multibody, q, v, vdot, loads.wrenches[moving], loads.links)[:, places]
    return np.asarray(np.abs(np.diff(np.where(known, tau, np.nan)[::step], 2, axis=0)))
