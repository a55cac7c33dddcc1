"""Spatio-temporal parameters of each gait cycle, and the signals of a trial.

Definitions follow Perry & Burnfield (2010) and Winter (2009): a step is attributed to the foot that strikes at its end. Lengths
are measured between the heels, each at its strike, along the displacement of the pelvis during the cycle, so that the sum of
the two step lengths is the stride length.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from biodyn.conventions import AXES, SIDE_SIGN, STANDARD_GRAVITY_M_S2, FloatArray, Side, other_side, without_side
from biodyn.geometry.rotations import cross
from biodyn.model.body_model import SubjectModel
from biodyn.model.skeleton import SkeletonDefinition
from biodyn.processing.contacts.foot_motion import GaitPoints
from biodyn.processing.contacts.plate_loads import FootForces
from biodyn.processing.dynamics.inverse_dynamics import Dynamics
from biodyn.processing.gait.cycles import GaitCycle
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.recording import GroundReaction

# Part of stance with a flat foot, in which its direction is measured.
FOOT_FLAT_STANCE = (0.25, 0.6)


@dataclass(frozen=True)
class StrideParameters:
    """Parameters of one cycle; NaN where an event or a position is missing.

    Attributes:
        stride_time_s, stride_length_m, speed_m_s, cadence_steps_min: values of the stride.
        step_time_s, step_length_m: from the opposite strike to the strike that ends the cycle.
        step_width_m: transverse distance of the heels in this step; negative if the feet cross. stance_percent, swing_percent,
        single_support_percent, double_support_percent: percentages of the stride time; double support is the sum of its two
            phases, of which `initial_double_support_percent` follows the first strike of the cycle.
        toe_out_rad: angle between the heel-to-toe line and the direction of progression while the foot is flat; toe-out
            positive.
        contact_time_s: time from the strike to the foot off of the same side.
        flight_time_s: time from this foot off to the next opposite strike, in running; NaN if the stances overlap.
    """

    stride_time_s: float
    stride_length_m: float
    speed_m_s: float
    cadence_steps_min: float
    step_time_s: float
    step_length_m: float
    step_width_m: float
    stance_percent: float
    swing_percent: float
    single_support_percent: float
    double_support_percent: float
    initial_double_support_percent: float
    toe_out_rad: float
    contact_time_s: float
    flight_time_s: float


def stride_parameters(
    cycle: GaitCycle,
    heel_W: Mapping[Side, FloatArray],
    toe_W: Mapping[Side, FloatArray],
    pelvis_W: FloatArray,
    rate_hz: float,
) -> StrideParameters:
    """Return the parameters of one cycle from heels, toes (second metatarsal) and pelvis centre (T, 3) m in World.

    In a cycle with a turn, lengths and width are measured along and across the line between the two footprints of the stride
    (Huxham et al. 2006, 10.1016/j.gaitpost.2005.01.001), and toe-out relative to the displacement during the stance of the
    foot.
    """
    # Least change of foot direction between strikes in a turn (SD 2 to 3 degrees in straight walking).
    turning_rad = math.radians(15.0)
    side, duration, foot_W = cycle.side, cycle.duration_s, toe_W[cycle.side] - heel_W[cycle.side]

    def displacement(points_W: FloatArray, start_s: float, end_s: float) -> FloatArray:
        return _position_at(points_W, end_s, rate_hz) - _position_at(points_W, start_s, rate_hz)

    stride = displacement(heel_W[side], cycle.start_s, cycle.end_s)
    turns = _foot_turn_rad(cycle, foot_W, rate_hz) > turning_rad
    forward = _unit_direction(stride if turns else displacement(pelvis_W, cycle.start_s, cycle.end_s))
    local = _unit_direction(displacement(pelvis_W, cycle.start_s, cycle.off_s)) if turns else forward
    ahead, local = _relative_directions(foot_W, cycle, forward, local, rate_hz)
    right = cross(ahead, (0.0, 1.0, 0.0))
    opposite_heel = _position_at(heel_W[other_side(side)], cycle.opposite_strike_s, rate_hz)
    step = _position_at(heel_W[side], cycle.end_s, rate_hz) - opposite_heel
    stride_length = float(stride @ forward)
    stance = 100.0 * (cycle.off_s - cycle.start_s) / duration
    initial = 100.0 * (cycle.opposite_off_s - cycle.start_s) / duration
    single = 100.0 * (cycle.opposite_strike_s - cycle.opposite_off_s) / duration
    # Running has no double support.
    walked = cycle.start_s < cycle.opposite_off_s < cycle.opposite_strike_s < cycle.off_s
    flight = cycle.opposite_strike_s - cycle.off_s
    return StrideParameters(
        stride_time_s=duration,
        stride_length_m=stride_length,
        speed_m_s=stride_length / duration,
        cadence_steps_min=120.0 / duration,
        step_time_s=cycle.end_s - cycle.opposite_strike_s,
        step_length_m=float(step @ forward),
        step_width_m=float(step @ right) * SIDE_SIGN[side],
        stance_percent=stance,
        swing_percent=100.0 - stance,
        single_support_percent=single if walked else math.nan,
        double_support_percent=stance - single if walked else math.nan,
        initial_double_support_percent=initial if walked else math.nan,
        toe_out_rad=_toe_out_angle(cycle, foot_W, local, cross(local, (0.0, 1.0, 0.0)), rate_hz),
        contact_time_s=cycle.off_s - cycle.start_s,
        flight_time_s=flight if flight > 0.0 else math.nan,
    )


def compute_spatiotemporal_parameters(
    cycles: Sequence[GaitCycle],
    heel_W: Mapping[Side, FloatArray],
    toe_W: Mapping[Side, FloatArray],
    pelvis_W: FloatArray,
    rate_hz: float,
    floor_velocity_W: Sequence[float] | FloatArray = (0.0, 0.0, 0.0),
) -> tuple[StrideParameters, ...]:
    """Return the parameters of every cycle, in the order of `cycles`.

    On a treadmill `floor_velocity_W` (3,) m/s is the belt velocity (`foot_motion.floor_velocity`), so that lengths and the
    direction of progression are relative to the belt.
    """
    travelled = np.arange(len(pelvis_W))[:, None] / rate_hz * np.asarray(floor_velocity_W, dtype=np.float64)
    heel_W = {side: points - travelled for side, points in heel_W.items()}
    toe_W = {side: points - travelled for side, points in toe_W.items()}
    pelvis_W = pelvis_W - travelled
    return tuple(stride_parameters(cycle, heel_W, toe_W, pelvis_W, rate_hz) for cycle in cycles)


def progression_angle(
    foot_W: FloatArray, cycle: GaitCycle, pelvis_W: FloatArray, rate_hz: float, floor_velocity_W: FloatArray
) -> FloatArray:
    """Return the foot progression angle (T,) rad of the foot of a cycle, toe out positive.

    This is the second angle of the Cardan sequence Z-Y-X (pitch, progression, roll) of the foot relative to axes along the
    walking direction, as in the norm data (Schwartz 2008) and Plug-in Gait: ``asin(foot . sideways)`` for the unit vectors
    `foot_W` (T, 3) from heel to toe. Unlike the projection on the floor, which `toe_out_rad` uses while the foot is flat, it
    does not change when the heel rises. The walking direction is the displacement of the pelvis (T, 3) m relative to the floor
    during the cycle.
    """
    forward = _unit_direction(cycle_displacement(cycle, pelvis_W, rate_hz, floor_velocity_W))
    outward = SIDE_SIGN[cycle.side] * cross(forward, (0.0, 1.0, 0.0))
    return np.asarray(np.arcsin(np.clip(foot_W @ outward, -1.0, 1.0)))


def cycle_displacement(
    cycle: GaitCycle, pelvis_W: FloatArray, rate_hz: float, floor_velocity_W: FloatArray
) -> FloatArray:
    """Return the displacement (3,) m of the pelvis (T, 3) relative to the floor during the cycle; NaN if unknown."""
    displacement = _position_at(pelvis_W, cycle.end_s, rate_hz) - _position_at(pelvis_W, cycle.start_s, rate_hz)
    return displacement - cycle.duration_s * np.asarray(floor_velocity_W)


def _position_at(points: FloatArray, time_s: float, rate_hz: float) -> FloatArray:
    """Return the position (3,) at a time between two frames; NaN outside the recording or next to a gap."""
    frame = time_s * rate_hz
    # tolerance for rounding of frame times
    if math.isfinite(frame) and abs(frame - round(frame)) < 1e-6:
        frame = float(round(frame))
    if not 0.0 <= frame <= len(points) - 1:
        return np.full(3, np.nan)
    low = math.floor(frame)
    share = frame - low
    return points[low] if share == 0.0 else (1.0 - share) * points[low] + share * points[low + 1]


def _unit_direction(displacement: FloatArray) -> FloatArray:
    horizontal = displacement * (1.0, 0.0, 1.0)
    length = np.linalg.norm(horizontal)
    return horizontal / length if length > 0.0 else np.full(3, np.nan)


def _foot_turn_rad(cycle: GaitCycle, foot_W: FloatArray, rate_hz: float) -> float:
    """Return the angle between the directions of the foot at the two strikes of a cycle; 0 if unknown."""
    first, second = (_unit_direction(_position_at(foot_W, time_s, rate_hz)) for time_s in (cycle.start_s, cycle.end_s))
    return float(np.nan_to_num(np.arccos(np.clip(first @ second, -1.0, 1.0))))


def _relative_directions(
    foot_W: FloatArray, cycle: GaitCycle, forward: FloatArray, local: FloatArray, rate_hz: float
) -> tuple[FloatArray, FloatArray]:
    """Return the directions (3,) of stride (`forward`) and stance (`local`) for the toe-out angle.

    Both are reversed if the person walks backwards relative to the foot, and NaN if sideways.
    """
    # A foot rotated by more than this (60 degrees) does not move along its direction.
    sideways_cosine = 0.5
    rows = slice(math.ceil(cycle.start_s * rate_hz), math.floor(cycle.end_s * rate_hz) + 1)
    mean = _unit_direction(np.nan_to_num(foot_W[rows]).mean(axis=0) if rows.stop > rows.start else np.zeros(3))
    along = float(mean @ forward)
    if not np.isfinite(along) or along > sideways_cosine:
        return forward, local
    if along < -sideways_cosine:
        return -forward, -local
    return np.full(3, np.nan), np.full(3, np.nan)


def _toe_out_angle(
    cycle: GaitCycle, foot_W: FloatArray, forward: FloatArray, right: FloatArray, rate_hz: float
) -> float:
    begin, end = (cycle.start_s + share * (cycle.off_s - cycle.start_s) for share in FOOT_FLAT_STANCE)
    if not math.isfinite(begin + end):
        return math.nan
    rows = foot_W[math.ceil(begin * rate_hz) : math.floor(end * rate_hz) + 1]
    known = rows[np.isfinite(rows).all(axis=1)]
    if not len(known):
        return math.nan
    mean = known.mean(axis=0)
    return math.atan2(float(mean @ right) * SIDE_SIGN[cycle.side], float(mean @ forward))


@dataclass(frozen=True)
class TrialMechanics:
    """Input of the variables: motion, ground reaction and torques of one trial.

    Attributes:
        model: scaled skeleton. fit: result of inverse kinematics. base_angles: (T, 3) tilt, list and rotation of the root, rad.
        points: motion of heels, toes, soles and pelvis. reaction: wrenches on the feet. dynamics: torques and joint loads.
        mass_kg: body mass, by which loads are divided. rate_hz: marker rate.
        plate_rate_forces: forces on the feet at the rate of the plates; None if they are known only at the marker frames.
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
    """Time series of one variable of the gait cycle, and the quantities on which it depends.

    Attributes:
        variable, unit: name and unit as in the table `gait_cycles`. values: (T,), NaN where not valid.
        kind: "angle" depends on the pose; "base" and "heading" also on the walking direction of the cycle (`values` are
            relative to World X); "load" also on the contacts of the feet distal to the segment; "ground" on the contact of the
            foot.
        body: segment of the joint, "" for the ground. coordinate: column of the free coordinates, -1 if none.
    """

    variable: str
    unit: str
    values: FloatArray
    kind: Literal["angle", "base", "heading", "load", "ground"]
    body: str
    coordinate: int = -1


def cycle_signals(walk: TrialMechanics, side: Side) -> Iterator[CycleSignal]:
    """Yield the time series of all gait variables of one side and of the midline."""
    model, dynamics, mass = walk.model, walk.dynamics, walk.mass_kg
    root = model.skeleton.root
    for i, name in enumerate(root.base_rotations):
        yield CycleSignal(name, "deg", np.rad2deg(walk.base_angles[:, i]), "base", root.name)
    coordinates = [(i, c) for i, c in enumerate(model.coordinates) if c.side in ("", side)]
    values = walk.fit.values
    for i, c in coordinates:
        angle = c.sign * (np.rad2deg(values[:, i]) if c.turns else values[:, i])
        yield CycleSignal(c.gait_variable, "deg" if c.turns else "m", angle, "angle", c.body, i)
    if side in walk.points.heel:
        sideways = np.rad2deg(np.arcsin(np.clip(SIDE_SIGN[side] * walk.points.long_axis(side)[:, 2], -1.0, 1.0)))
        yield CycleSignal("foot_progression", "deg", sideways, "heading", model.sole_body[side])
    for i, c in coordinates:
        torque = c.sign * dynamics.torques[:, i] / mass
        yield CycleSignal(f"{c.gait_variable}_moment", "Nm/kg" if c.turns else "N/kg", torque, "load", c.body, i)
    for body, load in zip(model.moving_segments, dynamics.joints, strict=True):
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
            force = walk.reaction.full_bandwidth_reaction.wrench[side][:, 3 + i] / (mass * STANDARD_GRAVITY_M_S2)
            yield CycleSignal(f"ground_force_{axis}", "BW", force, "ground", "")


def variable_names(skeleton: SkeletonDefinition) -> tuple[str, ...]:
    """Return the names of all variables that `cycle_signals` can yield for a skeleton; a trial may lack some of them."""
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
