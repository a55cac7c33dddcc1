"""The variables of a gait cycle through a whole trial, one side at a time: angles, moments, powers, ground reaction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from biodyn.conventions import AXES, SIDE_SIGN, STANDARD_GRAVITY_M_S2, FloatArray, Side, without_side
from biodyn.model.body_model import SubjectModel
from biodyn.model.skeleton import SkeletonDefinition
from biodyn.processing.contacts.at_plate_rate import FootForces
from biodyn.processing.contacts.feet import GaitPoints
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.kinematics.fit import Fit
from biodyn.recording import GroundReaction


@dataclass(frozen=True)
class WalkedTrial:
    """What the variables are computed from: motion, ground reaction and torques of one trial.

    Attributes:
        model: the scaled skeleton; fit: inverse kinematics; base_angles: (T, 3) tilt, list, rotation of the root, rad.
        points: heels, toes, soles and pelvis; reaction: wrenches on the feet; dynamics: torques and joint loads.
        mass_kg: of the body, by which loads are divided; rate_hz: of the frames.
        plate_rate_forces: the forces on the feet at the plates' own rate; None where they are known at the frames alone.
    """

    model: SubjectModel
    fit: Fit
    base_angles: FloatArray
    points: GaitPoints
    reaction: GroundReaction
    dynamics: Dynamics
    mass_kg: float
    rate_hz: float
    plate_rate_forces: FootForces | None = None


@dataclass(frozen=True)
class CycleSignal:
    """One variable of the gait cycle through the trial, and what it takes to know it.

    Attributes:
        variable, unit: as in the table `gait_cycles`. values: (T,), NaN where not valid.
        kind: "angle" needs the pose, "base" and "heading" also count from the walking direction of the cycle (`values`: from
            World X, to tell where they are known), "load" needs the contacts of the feet beyond the segment too, "ground"
            the own foot's.
        body: segment whose joint it belongs to, "" for the ground; coordinate: column of the free coordinates, -1 if none.
    """

    variable: str
    unit: str
    values: FloatArray
    kind: Literal["angle", "base", "heading", "load", "ground"]
    body: str
    coordinate: int = -1


def cycle_signals(walk: WalkedTrial, side: Side) -> Iterator[CycleSignal]:
    """Yield the variables of one side and of the middle of the body."""
    model, dynamics, mass = walk.model, walk.dynamics, walk.mass_kg
    root = model.skeleton.root
    for i, name in enumerate(root.base_rotations):
        yield CycleSignal(name, "deg", np.rad2deg(walk.base_angles[:, i]), "base", root.name)
    mine = [(i, c) for i, c in enumerate(model.coordinates) if c.side in ("", side)]
    values = walk.fit.values
    for i, c in mine:
        angle = c.sign * (np.rad2deg(values[:, i]) if c.turns else values[:, i])
        yield CycleSignal(c.plain, "deg" if c.turns else "m", angle, "angle", c.body, i)
    if side in walk.points.heel:
        sideways = np.rad2deg(np.arcsin(np.clip(SIDE_SIGN[side] * walk.points.long_axis(side)[:, 2], -1.0, 1.0)))
        yield CycleSignal("foot_progression", "deg", sideways, "heading", model.sole_body[side])
    for i, c in mine:
        torque = c.sign * dynamics.torques[:, i] / mass
        yield CycleSignal(f"{c.plain}_moment", "Nm/kg" if c.turns else "N/kg", torque, "load", c.body, i)
    for body, load in zip(model.moving, dynamics.joints, strict=True):
        if load.side not in ("", side):
            continue
        segment = body.definition.name
        mirror = SIDE_SIGN[side] if load.side else 1.0
        for i, (axis, sign) in enumerate(zip(AXES, (mirror, mirror, 1.0), strict=True)):
            moment = sign * load.moment["jcs"][:, i] / mass
            yield CycleSignal(f"{load.joint}_jcs_moment_{axis}", "Nm/kg", moment, "load", segment)
        yield CycleSignal(f"{load.joint}_power", "W/kg", load.power / mass, "load", segment)
    if side in walk.reaction.wrench:
        for i, axis in enumerate(AXES):
            force = walk.reaction.as_measured.wrench[side][:, 3 + i] / (mass * STANDARD_GRAVITY_M_S2)
            yield CycleSignal(f"ground_force_{axis}", "BW", force, "ground", "")


def variables_of(skeleton: SkeletonDefinition) -> tuple[str, ...]:
    """Names of all variables that `cycle_signals` can yield with a skeleton; a trial may lack some of them."""
    root = skeleton.root
    angles = list(root.base_rotations)
    joints: dict[str, None] = {}
    for body in skeleton.bodies:
        angles += [without_side(step.coordinate, body.side) for step in body.rotations if step.coordinate is not None]
        if body.parent:
            joints[without_side(body.joint, body.side)] = None
    moments = [f"{name}_moment" for name in angles[len(root.base_rotations) :]]
    loads = [name for j in joints for name in (*(f"{j}_jcs_moment_{axis}" for axis in AXES), f"{j}_power")]
    ground = [f"ground_force_{axis}" for axis in AXES]
    return tuple(dict.fromkeys((*angles, "foot_progression", *moments, *loads, *ground)))
