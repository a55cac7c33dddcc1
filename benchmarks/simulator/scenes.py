"""Recordings of motions other than level walking over ground, with their truth; and walks on a treadmill."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from biodyn.conventions import SIDES, FloatArray, Side
from biodyn.geometry.rotations import matrices_from_quaternions
from biodyn.recording import GaitEvent
from simulator.kinds import Scene
from simulator.motions import PlannedMotion, support_wrenches
from simulator.plates import Plate
from simulator.reaction import REFERENCE_M_S, foot_wrenches, gait_events
from simulator.skin import soft_tissue
from simulator.trial import SimulatedTrial, TrialOptions, recorded
from simulator.walking import Walk
from simulator.wobble import swinging


def record_scene(scene: Scene, solved: PlannedMotion, options: TrialOptions) -> SimulatedTrial:
    """Return the recording of a solved scene; strides and plates of the options are not looked at, the speed for wobble only."""
    body, plan = solved.body, scene.plan
    ratio = round(options.analog_rate_hz / options.rate_hz)
    frames = round(plan.duration_s * options.rate_hz)
    analog_s = np.arange(frames * ratio) / options.analog_rate_hz
    time_s = analog_s[::ratio]
    motion = solved.motion(time_s)
    at_analog, left = support_wrenches(solved, analog_s)
    stand_on = [*(hold.plate for hold in plan.footholds), *(aid.plate for aid in plan.aids)]
    on_plates = [
        np.sum([at_analog[:, n] for n, own in enumerate(stand_on) if own == plate], axis=0)
        for plate in range(len(scene.plates))
    ]
    feet = {side: np.zeros((frames, 6)) for side in SIDES}
    measured = {side: np.ones(frames, dtype=bool) for side in SIDES}
    for column, hold in enumerate(plan.footholds):
        own = at_analog[::ratio, column]
        feet[hold.side] += own
        if hold.plate is None:
            measured[hold.side] &= ~(np.abs(own).max(axis=1) > 0.0)
    others: dict[str, FloatArray] = {}
    for column, aid in enumerate(plan.aids, start=len(plan.footholds)):
        others[aid.body] = others.get(aid.body, np.zeros((frames, 6))) + at_analog[::ratio, column]
    if solved.impacts is not None:
        # what no foot can carry in flight, some newtons, the air has to
        others[body.model.bodies[0].definition.name] = left[::ratio]
    skin = None
    if options.soft_tissue:
        skin = options.soft_tissue * soft_tissue(body, motion[0], time_s / 1.1, options.seed)
    if options.wobble and solved.impacts is not None:
        hard = options.wobble * options.speed_m_s / REFERENCE_M_S
        struck = [(s.side, s.time_s, hard * solved.impacts.size(s.number)) for s in solved.strikes()]
        shaken = swinging(body, time_s, struck, options.seed)
        skin = shaken if skin is None else skin + shaken
    return recorded(
        body=body,
        options=options,
        kind="walk",
        walk=None,
        time_s=time_s,
        motion=motion,
        wrench=feet,
        measured=measured,
        skin=skin,
        plates=scene.plates,
        on_plates=on_plates,
        events=_events(scene, frames / options.rate_hz),
        others=others,
    )


def _events(scene: Scene, duration_s: float) -> tuple[GaitEvent, ...]:
    events = [
        GaitEvent(time_s, hold.side, kind, "file")  # type: ignore[arg-type]
        for hold in scene.plan.footholds
        for time_s, kind in ((hold.start_s, "foot_strike"), (hold.end_s, "foot_off"))
        if 0.0 <= time_s < duration_s
    ]
    return tuple(sorted(events, key=lambda event: event.time_s))


def with_labels(trial: SimulatedTrial, labels: Collection[str]) -> SimulatedTrial:
    """The trial with some of its markers only."""
    keep = [column for column, label in enumerate(trial.labels) if label in labels]
    return replace(
        trial,
        labels=tuple(trial.labels[column] for column in keep),
        markers=trial.markers[:, keep],
        bone_markers=trial.bone_markers[:, keep],
    )


def record_treadmill(walk: Walk, options: TrialOptions, split: bool = True) -> SimulatedTrial:
    """Return a walk on a treadmill: the body stays, the belts move backwards; each belt is a plate.

    The same forces as over ground, for the belts' speed is constant. `split`: a belt for each foot, else one for both.
    """
    start = -options.lead_in * walk.stride_s
    ratio = round(options.analog_rate_hz / options.rate_hz)
    frames = round(options.strides * walk.stride_s * options.rate_hz)
    analog_s = start + np.arange(frames * ratio) / options.analog_rate_hz
    time_s = analog_s[::ratio]
    back = np.array([-walk.speed_m_s, 0.0, 0.0])
    motion = _carried(walk.motion(time_s), time_s, back)
    at_analog = {
        side: _follow(wrench, np.outer(analog_s, back)) for side, wrench in foot_wrenches(walk, analog_s).items()
    }
    if split:
        plates = tuple(Plate(2, 0.0, length_m=1.8, width_m=0.5, centre_z_m=z) for z in (0.25, -0.25))
        on_plates = [at_analog[side] for side in SIDES]
    else:
        plates = (Plate(2, 0.0, length_m=1.8, width_m=1.0),)
        on_plates = [at_analog["r"] + at_analog["l"]]
    wrench: Mapping[Side, FloatArray] = {side: values[::ratio] for side, values in at_analog.items()}
    return recorded(
        body=walk.body,
        options=options,
        kind="walk",
        walk=walk,
        time_s=time_s - start,
        motion=motion,
        wrench=wrench,
        measured={side: np.full(frames, split) for side in SIDES},
        skin=None,
        plates=plates,
        on_plates=on_plates,
        events=gait_events(walk, start, frames / options.rate_hz),
    )


def _carried(
    motion: tuple[FloatArray, FloatArray, FloatArray], time_s: FloatArray, velocity: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The motion seen from a frame that the velocity (3,) m/s is added to."""
    q, v, vdot = (values.copy() for values in motion)
    R = matrices_from_quaternions(q[:, 3:7])
    own = np.einsum("tji,j->ti", R, velocity)
    q[:, :3] += np.outer(time_s, velocity)
    v[:, 3:6] += own
    vdot[:, 3:6] -= np.cross(v[:, :3], own)
    return q, v, vdot


def _follow(wrench: FloatArray, offset: FloatArray) -> FloatArray:
    """The wrench (T, 6) about the world origin after everything was moved by an offset (T, 3) of its own."""
    force = wrench[:, 3:]
    return np.hstack([wrench[:, :3] + np.cross(offset, force), force])
