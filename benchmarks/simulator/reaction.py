"""The wrench on each foot of a walk at any time, and when the feet are down."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import SIDES, BoolArray, FloatArray, Side
from biodyn.recording import GaitEvent
from biodyn.rigid_body import body_poses
from simulator import feet as contact
from simulator.impacts import walked_strikes
from simulator.tables import load_data
from simulator.walking import Walk, required_wrench

REFERENCE_M_S = 1.3  # at which the sizes of what a strike does are given


def foot_wrenches(walk: Walk, time_s: FloatArray) -> dict[Side, FloatArray]:
    """Return the wrench on each foot (T, 6) about the world origin at the times (T,) s, 0 = a right foot strike.

    The two sum to what the motion needs. Impacts are the leading foot's alone; both share the rest.
    """
    q, v, vdot = walk.motion(time_s)
    total = required_wrench(walk.body.model, q, v, vdot)
    R, p = body_poses(walk.body.model.multibody, q)
    if walk.impacts is None:
        return shared_by_feet(walk, time_s, total, R, p)
    struck = {side: np.zeros_like(total) for side in SIDES}
    for strike in walked_strikes(time_s, walk.stride_s, 0.0, walk.impacts.end_s):
        foot = walk.feet[strike.side]
        struck[strike.side] += walk.impacts.load(strike, time_s, walk.stance * walk.stride_s, foot, R, p)
    carried = shared_by_feet(walk, time_s, total - sum(struck.values()), R, p)
    return {side: carried[side] + struck[side] for side in SIDES}


def shared_by_feet(
    walk: Walk, time_s: FloatArray, total: FloatArray, R: FloatArray, p: FloatArray
) -> dict[Side, FloatArray]:
    """Split a total wrench (T, 6) between the feet as a smooth walk does; R, p: poses of the links."""
    half = np.mod(time_s / walk.stride_s, 0.5)  # since the last strike
    right_leads = np.mod(time_s / walk.stride_s, 1.0) < 0.5
    gait = load_data("gait")
    table = gait["foot"]
    wanted: dict[tuple[Side, str], FloatArray] = {}
    for side in SIDES:
        foot = walk.feet[side]
        for role, own in (("lead", half), ("rear", half + 0.5)):
            local = foot.back + contact.pressure_share(own / walk.stance, table)[:, None] * foot.forward
            point = p[:, foot.link] + np.einsum("tij,tj->ti", R[:, foot.link], local)
            wanted[side, role] = point * (1.0, 0.0, 1.0)
    share = contact.taken_over(half / walk.double_support)
    pick = right_leads[:, None]
    lead_point = np.where(pick, wanted["r", "lead"], wanted["l", "lead"])
    rear_point = np.where(pick, wanted["l", "rear"], wanted["r", "rear"])
    lead, rear = contact.shared(total, share, lead_point, rear_point, gait["ground"]["push"])
    rear[share >= 1.0] = 0.0  # what round-off leaves of the foot in the air
    return {"r": np.where(pick, lead, rear), "l": np.where(pick, rear, lead)}


def stance_of(walk: Walk, time_s: FloatArray, number: int) -> BoolArray:
    """Mask of the times in which stance `number` lasts."""
    since = time_s / walk.stride_s - 0.5 * number
    return np.asarray((since >= 0.0) & (since <= walk.stance))


def walk_strikes(walk: Walk, time_s: FloatArray) -> list[tuple[Side, float, float]]:
    """Return side, time (s, 0 = a right strike) and size of the foot strikes in and shortly before the times (T,)."""
    return [
        (
            strike.side,
            strike.time_s,
            (1.0 if walk.impacts is None else walk.impacts.size(strike.number)) * walk.speed_m_s / REFERENCE_M_S,
        )
        for strike in walked_strikes(time_s, walk.stride_s, 0.0, walk.stride_s)
    ]


def moved(wrench: FloatArray, offset: FloatArray) -> FloatArray:
    """The wrench about the world origin after everything was moved by `offset`."""
    force = wrench[:, 3:]
    return np.hstack([wrench[:, :3] + np.cross(offset, force), force])


def gait_events(walk: Walk, start: float, duration: float) -> tuple[GaitEvent, ...]:
    """Return the strikes and offs of a recording that begins at the walk's time `start` and lasts `duration` s."""
    events = []
    steps_per_s = 2.0 / walk.stride_s
    for number in range(int(start * steps_per_s) - 3, int((start + duration) * steps_per_s) + 2):
        side = SIDES[number % 2]
        strike = 0.5 * number * walk.stride_s - start
        for time, kind in ((strike, "foot_strike"), (strike + walk.stance * walk.stride_s, "foot_off")):
            if 0.0 <= time < duration:
                events.append(GaitEvent(time, side, kind, "file"))  # type: ignore[arg-type]
    return tuple(sorted(events, key=lambda event: event.time_s))
