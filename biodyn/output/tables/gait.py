"""Tables of the gait: events, contacts, cycles from 0 to 100 %, spatio-temporal parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import CYCLE_POINTS, SIDE_SIGN, SIDES, STANDARD_GRAVITY_M_S2, FloatArray, Side
from biodyn.model.from_library.skeleton import SkeletonDefinition
from biodyn.output.tables.cycle_checks import Refused, refused
from biodyn.output.tables.registry import table
from biodyn.output.tables.time_series import AXES
from biodyn.processing.dynamics.solve import feet_below
from biodyn.processing.gait import cycles as gait
from biodyn.processing.gait import spatiotemporal as stride
from biodyn.processing.signals.attitude import against_heading, walking_heading


class CycleSignal(NamedTuple):
    """One variable of `gait_cycles` through the trial, and what it takes to know it.

    Attributes:
        variable, unit: as in the table. values: (T,), NaN where not valid.
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


class CycleValues(NamedTuple):
    """One cycle: its k variables, their values (101, k), NaN where not valid, and what was refused as impossible."""

    cycle: gait.GaitCycle
    signals: list[CycleSignal]
    curves: FloatArray
    refused: Refused


_EVENT_COLUMNS = ["time_s", "side", "event", "source", "confidence"]
_CONTACT_COLUMNS = ["plate", "side", "start_s", "end_s", "decision", "reason"]


@table("events", place=80, description="Foot strikes and foot offs, with source and confidence.")
def events(analysis: TrialAnalysis) -> pd.DataFrame:
    """Foot strikes and foot offs with their source and confidence."""
    rows = [(e.time_s, e.side, e.kind, e.source, e.confidence) for e in analysis.events]
    return pd.DataFrame(rows, columns=_EVENT_COLUMNS)


@table("contacts", place=90, description="Every loading of a plate, whose foot it was and why, with the evidence.")
def contacts(analysis: TrialAnalysis) -> pd.DataFrame:
    """Every loading of a plate, what was decided, and the evidence, one column per kind of evidence."""
    evidence = list(dict.fromkeys(key for contact in analysis.contacts for key in contact.evidence))
    rows = [
        (
            c.plate,
            c.side or "",
            c.start_s,
            c.end_s,
            c.decision,
            c.reason,
            *(c.evidence.get(k, np.nan) for k in evidence),
        )
        for c in analysis.contacts
    ]
    return pd.DataFrame(rows, columns=_CONTACT_COLUMNS + evidence)


@table("gait_cycles", place=100, description="Every variable over 0-100 % of each cycle, tidy.")
def gait_cycles(analysis: TrialAnalysis) -> pd.DataFrame:
    """Angles, moments, powers and ground reaction over 0-100 % of every cycle, tidy; NaN where not valid.

    Variables of the cycle's own side and of the middle of the body, named without side: coordinates in deg, those of the
    pelvis against the walking direction of the cycle (`joint_angles` has them against World),
    `foot_progression` (Cardan angle of the foot against the walking direction, toe out positive) in deg,
    `<coordinate>_moment` (generalised torque) and `<joint>_jcs_moment_{x,y,z}` in Nm/kg, `<joint>_power` in W/kg,
    `ground_force_{x,y,z}` (World axes, on the own foot) in body weights. The moments about jcs x and y are signed
    alike for both sides: x adduction, y internal rotation; z is rotation towards hip flexion, knee extension, ankle
    dorsiflexion on both. What no person can walk (`variables.toml`) is not valid, nor the loads that depend on it.
    """
    names: dict[str, int] = {}
    units: dict[str, int] = {}
    values, name_codes, unit_codes, numbers, sides = [], [], [], [], []
    for cycle, own, curves, _ in cycle_values(analysis):
        values.append(curves.T.reshape(-1))
        name_codes.append(np.repeat([names.setdefault(s.variable, len(names)) for s in own], CYCLE_POINTS))
        unit_codes.append(np.repeat([units.setdefault(s.unit, len(units)) for s in own], CYCLE_POINTS))
        numbers.append(np.full(curves.size, cycle.number + 1))
        sides.append(np.full(curves.size, SIDES.index(cycle.side)))
    value = _joined(values)
    return pd.DataFrame(
        {
            "cycle": _joined(numbers).astype(np.int64),
            "side": pd.Categorical.from_codes(_joined(sides).astype(np.int64), categories=pd.Index(SIDES)),
            "percent": np.tile(np.linspace(0.0, 100.0, CYCLE_POINTS), len(value) // CYCLE_POINTS),
            "variable": pd.Categorical.from_codes(
                _joined(name_codes).astype(np.int64), categories=pd.Index(list(names))
            ),
            "value": value,
            "unit": pd.Categorical.from_codes(_joined(unit_codes).astype(np.int64), categories=pd.Index(list(units))),
        }
    )


def cycle_values(analysis: TrialAnalysis) -> Iterator[CycleValues]:
    """Yield the cycles in the order of the table `gait_cycles`, with what of them is invalid."""
    cycles = gait.gait_cycles(analysis.events)
    rate_hz = analysis.recording.markers.rate_hz
    feet = feet_below(analysis.model, [side for side in analysis.reaction.wrench if side in analysis.model.sole_body])
    signals = {side: list(cycle_signals(analysis, side)) for side in {cycle.side for cycle in cycles}}
    stacked = {side: np.column_stack([signal.values for signal in own]) for side, own in signals.items()}
    for cycle in cycles:
        own = signals[cycle.side]
        curves = gait.normalise(stacked[cycle.side], rate_hz, cycle.start_s, cycle.end_s)
        base = [column for column, signal in enumerate(own) if signal.kind == "base"]
        curves[:, base] = np.rad2deg(_base_curves(analysis, cycle))[:, : len(base)]
        for column in (i for i, signal in enumerate(own) if signal.kind == "heading"):
            curves[:, column] = gait.normalise(_progression(analysis, cycle), rate_hz, cycle.start_s, cycle.end_s)
        found = refused(own, curves, feet, cycle.side, analysis.settings.limits.physiological_factor)
        curves[:, list(found.reasons)] = np.nan
        yield CycleValues(cycle, own, curves, found)


def _base_curves(analysis: TrialAnalysis, cycle: gait.GaitCycle) -> FloatArray:
    """Tilt, list and rotation (101, 3) rad of the root against the walking direction of one cycle."""
    rate_hz = analysis.recording.markers.rate_hz
    R_WB, _ = analysis.fit.body_pose(analysis.model.skeleton.root.name)
    low, high = max(math.floor(cycle.start_s * rate_hz), 0), math.ceil(cycle.end_s * rate_hz) + 1
    travel = stride.travel(cycle, analysis.points.pelvis, rate_hz, analysis.points.floor_velocity)
    heading = walking_heading(travel, R_WB[low:high])
    angles = against_heading(R_WB, heading, rate_hz, around=slice(low, high))
    return gait.normalise(angles, rate_hz, cycle.start_s, cycle.end_s)


@table("spatiotemporal", place=110, description="Times, lengths and speeds of the steps, a row a cycle.")
def spatiotemporal(analysis: TrialAnalysis) -> pd.DataFrame:
    """One row per cycle: its times, and the parameters of the stride with their units in the names."""
    cycles = gait.gait_cycles(analysis.events)
    points = analysis.points
    parameters, _ = stride.spatiotemporal(
        cycles,
        points.heel,
        points.toe,
        points.pelvis,
        analysis.recording.markers.rate_hz,
        floor_velocity_W=points.floor_velocity,
    )
    rows = []
    for cycle, found in zip(cycles, parameters, strict=True):
        row: dict[str, object] = {
            "side": cycle.side,
            "cycle": cycle.number + 1,
            "start_s": cycle.start_s,
            "foot_off_s": cycle.off_s,
            "end_s": cycle.end_s,
        }
        for name, value in asdict(found).items():
            if name.endswith("_rad"):
                row[name.removesuffix("_rad") + "_deg"] = np.rad2deg(value)
            else:
                row[name] = value
        rows.append(row)
    columns = ["side", "cycle", "start_s", "foot_off_s", "end_s", *stride_columns()]
    return pd.DataFrame(rows, columns=columns)


def stride_columns() -> tuple[str, ...]:
    """Names of the parameters of the stride in `spatiotemporal`."""
    return tuple(name.replace("_rad", "_deg") for name in stride.StrideParameters.__dataclass_fields__)


def cycle_signals(analysis: TrialAnalysis, side: Side) -> Iterator[CycleSignal]:
    """Yield the variables of one side and of the middle of the body."""
    model, dynamics, mass = analysis.model, analysis.dynamics, analysis.subject.mass_kg
    root = model.skeleton.root
    for i, name in enumerate(root.base_rotations):
        yield CycleSignal(name, "deg", np.rad2deg(analysis.base_angles[:, i]), "base", root.name)
    mine = [(i, c) for i, c in enumerate(model.coordinates) if c.side in ("", side)]
    for i, c in mine:
        angle = np.rad2deg(analysis.fit.motion.q[:, c.q_index])
        yield CycleSignal(without_side(c.name, c.side), "deg", angle, "angle", c.body, i)
    if side in analysis.points.heel:
        sideways = np.rad2deg(np.arcsin(np.clip(SIDE_SIGN[side] * analysis.points.long_axis(side)[:, 2], -1.0, 1.0)))
        yield CycleSignal("foot_progression", "deg", sideways, "heading", model.sole_body[side])
    for i, c in mine:
        name = f"{without_side(c.name, c.side)}_moment"
        yield CycleSignal(name, "Nm/kg", dynamics.torques[:, i] / mass, "load", c.body, i)
    for body, load in zip(model.moving, dynamics.joints, strict=True):
        if load.side not in ("", side):
            continue
        segment = body.definition.name
        mirror = SIDE_SIGN[side] if load.side else 1.0
        for i, (axis, sign) in enumerate(zip(AXES, (mirror, mirror, 1.0), strict=True)):
            moment = sign * load.moment["jcs"][:, i] / mass
            yield CycleSignal(f"{load.joint}_jcs_moment_{axis}", "Nm/kg", moment, "load", segment)
        yield CycleSignal(f"{load.joint}_power", "W/kg", load.power / mass, "load", segment)
    if side in analysis.reaction.wrench:
        for i, axis in enumerate(AXES):
            force = analysis.reaction.wrench[side][:, 3 + i] / (mass * STANDARD_GRAVITY_M_S2)
            yield CycleSignal(f"ground_force_{axis}", "BW", force, "ground", "")


def _progression(analysis: TrialAnalysis, cycle: gait.GaitCycle) -> FloatArray:
    points, rate_hz = analysis.points, analysis.recording.markers.rate_hz
    return np.rad2deg(
        stride.foot_progression(points.long_axis(cycle.side), cycle, points.pelvis, rate_hz, points.floor_velocity)
    )


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


def without_side(name: str, side: str) -> str:
    """Name of a coordinate without the side it ends with."""
    return name.removesuffix(f"_{side}") if side else name


def _joined(parts: list[FloatArray]) -> FloatArray:
    return np.concatenate(parts) if parts else np.empty(0)
