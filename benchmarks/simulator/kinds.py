"""Plans of motions other than level walking: running, stairs, a turn, side steps, squats, jumps, crutches ..."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from biodyn.conventions import SIDES, Side, other_side
from simulator.motions import MotionPlan, part
from simulator.person import Body
from simulator.plates import Plate
from simulator.supports import Aid, Foothold

_HALF_STANCE_M = 0.09  # sideways distance of a foot from the middle
_HEEL_TO_PELVIS_M = 0.10  # the pelvis is above the middle of the foot at the middle of its stance
_GAP_M = 0.21  # between the middles of two plates side by side

Keys = dict[str, tuple[tuple[float, float], ...]]


@dataclass(frozen=True)
class Scene:
    """A plan and the plates it is recorded with; `activity` is what a person would call it."""

    name: str
    activity: str
    plan: MotionPlan
    plates: tuple[Plate, ...]


def _steps(
    first: Side,
    strikes: Sequence[float],
    stance_s: float,
    speed_m_s: float,
    plates: Mapping[int, int],
    rise_m: float = 0.0,
) -> tuple[Foothold, ...]:
    """Footholds of steps straight ahead at a speed; `plates`: index of the plate by number of the step."""
    holds = []
    for number, strike in enumerate(strikes):
        side = first if number % 2 == 0 else other_side(first)
        middle = speed_m_s * (strike + 0.5 * stance_s)
        z = _HALF_STANCE_M if side == "r" else -_HALF_STANCE_M
        heel = (middle - _HEEL_TO_PELVIS_M, rise_m * number, z)
        holds.append(Foothold(side, strike, strike + stance_s, heel, plate=plates.get(number)))
    return tuple(holds)


def _knees(footholds: Sequence[Foothold], duration_s: float, swing_rad: float, stance_rad: float) -> Keys:
    """Knee and hip flexion that bend in every swing."""
    keys: Keys = {}
    for side in SIDES:
        own = sorted((f for f in footholds if f.side == side), key=lambda f: f.start_s)
        pairs = [(0.0, stance_rad)]
        for a, b in pairwise(own):
            middle = a.end_s + 0.4 * (b.start_s - a.end_s)
            pairs += [
                (a.end_s - 0.15 * (a.end_s - a.start_s), stance_rad),
                (middle, swing_rad),
                (b.start_s, stance_rad),
            ]
        pairs.append((duration_s + 1.0, stance_rad))
        pairs = [pair for n, pair in enumerate(pairs) if n == 0 or pair[0] > pairs[n - 1][0] + 1e-6]
        keys[part("knee", side)] = tuple(pairs)
        keys[part("hip", side)] = tuple((t, 0.5 * v) for t, v in pairs)
    return keys


def _plates_under(footholds: Sequence[Foothold], count: int) -> tuple[Plate, ...]:
    """A plate under the middle of every foothold that has one."""
    plates: dict[int, Plate] = {}
    for hold in footholds:
        if hold.plate is not None and hold.plate not in plates:
            middle = [h + 0.12 * f for h, f in zip(hold.heel_W, hold.forward, strict=True)]
            plates[hold.plate] = Plate(
                2, middle[0], length_m=0.55, width_m=0.4, height_m=hold.heel_W[1], centre_z_m=middle[2]
            )
    return tuple(plates[number] for number in range(count))


def running(body: Body, speed_m_s: float = 3.3) -> Scene:
    """Running over two plates: stances of 0.24 s, flights of 0.11 s."""
    step, stance = 0.35, 0.24
    strikes = [-0.10 + step * n for n in range(9)]
    holds = _steps("l", strikes, stance, speed_m_s, {2: 0, 3: 1})
    duration = 1.9
    keys = _knees(holds, duration, 1.5, 0.35)
    keys["forward"] = ((0.0, 0.0), (duration, speed_m_s * duration))
    keys["upward"] = ((0.0, -0.05),)
    for arm in SIDES:
        keys[part("elbow", arm)] = ((0.0, 1.2),)
    plan = MotionPlan(duration, holds, keys, calm_bw=1.0, clearance_m=0.22, swing_m=0.10, knot_s=0.035, frame_s=0.01)
    return Scene("running", "running", plan, _plates_under(holds, 2))


def stairs(body: Body) -> Scene:
    """Up four steps of 0.17 m: a plate in the floor, one on the first and one on the second step."""
    speed, rise, step, stance = 0.45, 0.17, 0.68, 0.86
    strikes = [-0.3 + step * n for n in range(6)]
    holds = []
    for number, hold in enumerate(_steps("r", strikes, stance, speed, {1: 0, 2: 1, 3: 2})):
        level = rise * max(number - 1, 0)
        holds.append(replace(hold, heel_W=(hold.heel_W[0], level, hold.heel_W[2])))
    duration = 3.6
    keys = _knees(holds, duration, 1.3, 0.3)
    keys["forward"] = ((0.0, 0.0), (duration, speed * duration))
    up = [(0.0, -0.02)]
    for number, hold in enumerate(holds[1:], start=1):
        up.append((hold.start_s + 0.75 * stance, -0.02 + rise * max(number - 1, 0)))
    keys["upward"] = tuple(pair for pair in up if pair[0] <= duration + 1.0)
    plan = MotionPlan(duration, tuple(holds), keys, clearance_m=0.10, tolerance={"upward": 0.08})
    plates = tuple(replace(p, length_m=0.3) for p in _plates_under(holds, 3))
    return Scene("stairs", "stairs", plan, plates)


def turn(body: Body, angle_rad: float = math.pi / 2.0) -> Scene:
    """Walking with a turn to the left over four steps; plates under the second and the third of them."""
    speed, step, stance = 1.0, 0.56, 0.68
    strikes = [-0.2 + step * n for n in range(8)]
    duration = 4.0
    begin, end = 1.0, 2.9
    times = [0.01 * n for n in range(round(duration * 100) + 120)]
    x, z, path = 0.0, 0.0, []
    for t in times:
        share = min(max((t - begin) / (end - begin), 0.0), 1.0)
        yaw = angle_rad * share * share * (3.0 - 2.0 * share)
        path.append((x, z, yaw))
        x, z = x + 0.01 * speed * math.cos(yaw), z - 0.01 * speed * math.sin(yaw)
    holds = []
    for number, strike in enumerate(strikes):
        side: Side = "r" if number % 2 == 0 else "l"
        px, pz, yaw = path[max(0, min(round(100 * (strike + 0.5 * stance)), len(path) - 1))]
        if strike + 0.5 * stance < 0.0:
            px += speed * (strike + 0.5 * stance)
        out = _HALF_STANCE_M if side == "r" else -_HALF_STANCE_M
        heel = (
            px - _HEEL_TO_PELVIS_M * math.cos(yaw) + out * math.sin(yaw),
            0.0,
            pz + _HEEL_TO_PELVIS_M * math.sin(yaw) + out * math.cos(yaw),
        )
        plate = {2: 0, 3: 1, 4: 2}.get(number)
        holds.append(Foothold(side, strike, strike + stance, heel, yaw, plate=plate))
    keys = _knees(holds, duration, 1.0, 0.15)
    every = range(0, round(duration * 100) + 1, 10)
    keys["forward"] = tuple((0.01 * n, path[n][0]) for n in every)
    keys["sideways"] = tuple((0.01 * n, path[n][1]) for n in every)
    keys["rotation"] = tuple((0.01 * n, path[n][2]) for n in every)
    keys["upward"] = ((0.0, -0.02),)
    plan = MotionPlan(duration, tuple(holds), keys, tolerance={"rotation": 0.25})
    plates = tuple(replace(p, length_m=0.5, width_m=0.5) for p in _plates_under(holds, 3))
    return Scene("turn", "turning", plan, plates)


def side_steps(body: Body) -> Scene:
    """Three steps to the right: the right foot goes, the left one follows."""
    width, duration = 0.32, 4.2
    holds, z, t = [], {"r": _HALF_STANCE_M, "l": -_HALF_STANCE_M}, 0.0
    last: dict[Side, float] = {"r": -1.0, "l": -1.0}
    shift: list[tuple[float, float]] = [(0.0, 0.0)]
    clock = 0.5
    number: dict[Side, int] = {"r": 0, "l": 0}
    plates = {("r", 1): 0, ("l", 1): 1}
    for _ in range(3):
        for side in SIDES:
            holds.append(_flat(side, last[side], clock, z[side], plates.get((side, number[side]))))
            z[side] += width
            number[side] += 1
            last[side] = clock + 0.38
            shift.append((clock + 0.55, 0.5 * (z["r"] + z["l"])))
            clock += 0.58
    for side in SIDES:
        holds.append(_flat(side, last[side], duration + 1.0, z[side], plates.get((side, number[side]))))
    keys: Keys = {"sideways": tuple(shift), "upward": ((t, -0.03),)}
    for side in SIDES:
        keys[part("knee", side)], keys[part("hip", side)] = ((0.0, 0.25),), ((0.0, 0.12),)
    plan = MotionPlan(duration, tuple(sorted(holds, key=lambda h: h.start_s)), keys)
    return Scene("side steps", "other", plan, tuple(replace(p, width_m=0.3) for p in _plates_under(holds, 2)))


def _flat(side: Side, start_s: float, end_s: float, z: float, plate: int | None) -> Foothold:
    return Foothold(side, start_s, end_s, (-0.05, 0.0, z), rolls=False, plate=plate)


def start(body: Body) -> Scene:
    """From standing into walking; plates under the standing feet's first steps."""
    speed, step, stance = 1.1, 0.55, 0.66
    go, duration = 1.2, 3.6
    stand = -0.05
    holds = [
        Foothold("l", -1.0, go + step + 0.1, (stand, 0.0, -_HALF_STANCE_M), plate=0),
        Foothold("r", -1.0, go, (stand, 0.0, _HALF_STANCE_M), plate=1),
    ]
    x = 0.0
    forward = [(0.0, 0.0), (go - 0.3, 0.0)]
    side: Side = "r"
    strike = go + 0.4
    for number in range(5):
        x += 0.5 if number == 0 else speed * step
        out = _HALF_STANCE_M if side == "r" else -_HALF_STANCE_M
        holds.append(
            Foothold(side, strike, strike + stance + 0.04, (x + stand, 0.0, out), plate=2 if number == 0 else None)
        )
        forward.append((strike + 0.5 * stance, x + 0.05))
        strike, side = strike + step, other_side(side)
    keys = _knees(holds, duration, 1.0, 0.12)
    keys["forward"] = tuple(forward)
    keys["upward"] = ((0.0, -0.01), (go, -0.02))
    plan = MotionPlan(duration, tuple(holds), keys)
    return Scene("start", "walking", plan, _halves(_plates_under(holds, 3)))


def stop(body: Body) -> Scene:
    """From walking into standing: `start` run backwards in its plan, heels first."""
    forth = start(body)
    duration = forth.plan.duration_s
    last = max(h.heel_W[0] for h in forth.plan.footholds)

    def mirrored(hold: Foothold) -> Foothold:
        x = last - hold.heel_W[0] - 0.05
        return replace(
            hold, start_s=duration - hold.end_s, end_s=duration - hold.start_s, heel_W=(x, 0.0, hold.heel_W[2])
        )

    holds = tuple(mirrored(hold) for hold in forth.plan.footholds)
    keys = _knees(holds, duration, 1.0, 0.12)
    ahead = [(duration - t, last - x) for t, x in forth.plan.keys["forward"]]
    keys["forward"] = tuple(sorted(ahead))
    keys["upward"] = ((0.0, -0.02), (duration - 1.2, -0.01))
    plan = replace(forth.plan, footholds=holds, keys=keys)
    return Scene("stop", "walking", plan, _halves(_plates_under(holds, 3)))


def _halves(plates: Sequence[Plate]) -> tuple[Plate, ...]:
    """The plates so narrow that two feet beside each other stand on two of them."""
    return tuple(replace(p, width_m=0.17) for p in plates)


def squat(body: Body, repetitions: int = 2) -> Scene:
    """Squats with each foot on its own plate."""
    period, rest = 2.0, 0.7
    duration = repetitions * period + 2.0 * rest
    depth = [(0.0, 0.0)]
    for n in range(repetitions):
        begin = rest + n * period
        depth += [(begin, 0.0), (begin + 0.45 * period, 1.0), (begin + 0.55 * period, 1.0), (begin + period - 0.1, 0.0)]
    depth.append((duration, 0.0))
    keys: Keys = {
        "upward": tuple((t, -0.30 * d) for t, d in depth),
        "tilt": tuple((t, -0.45 * d) for t, d in depth),
        part("trunk"): tuple((t, -0.25 * d) for t, d in depth),
    }
    for side in SIDES:
        keys[part("knee", side)] = tuple((t, 1.6 * d) for t, d in depth)
        keys[part("hip", side)] = tuple((t, 1.5 * d) for t, d in depth)
        keys[part("ankle", side)] = tuple((t, 0.45 * d) for t, d in depth)
        keys[part("shoulder", side)] = tuple((t, 1.2 * d) for t, d in depth)
    plan = MotionPlan(duration, _standing(duration), keys, knot_s=0.08, frame_s=0.04)
    return Scene("squat", "squat", plan, _pair())


def _standing(duration_s: float, *breaks: float) -> tuple[Foothold, ...]:
    """Both feet on their plates; `breaks` are pairs of take-off and landing."""
    edges = (-1.0, *breaks, duration_s + 1.0)
    return tuple(
        _flat(side, a, b, 0.14 if side == "r" else -0.14, 0 if side == "r" else 1)
        for side in ("r", "l")
        for a, b in zip(edges[::2], edges[1::2], strict=True)
    )


def _pair() -> tuple[Plate, ...]:
    return tuple(Plate(2, 0.06, length_m=0.6, width_m=0.4, centre_z_m=z) for z in (_GAP_M, -_GAP_M))


def jump(body: Body, flight_s: float = 0.42) -> Scene:
    """A countermovement jump: take-off from two plates, landing on them."""
    dip, off = 0.9, 1.55
    land, duration = off + flight_s, off + flight_s + 1.2
    rise = 9.81 * flight_s**2 / 8.0
    keys: Keys = {"upward": ((0.0, 0.0), (0.6, 0.0), (dip + 0.35, -0.28), (off, 0.07), (off + 0.5 * flight_s, 0.07 + rise),
                             (land, 0.05), (land + 0.25, -0.22), (duration - 0.2, -0.02), (duration, -0.02))}  # fmt: skip
    bend = (
        (0.0, 0.0),
        (0.6, 0.0),
        (dip + 0.35, 1.0),
        (off, 0.0),
        (land, 0.12),
        (land + 0.25, 0.8),
        (duration - 0.2, 0.05),
    )
    keys["tilt"] = tuple((t, -0.45 * d) for t, d in bend)
    for side in SIDES:
        keys[part("knee", side)] = tuple((t, 1.5 * d) for t, d in bend)
        keys[part("hip", side)] = tuple((t, 1.4 * d) for t, d in bend)
        keys[part("ankle", side)] = (*((t, 0.4 * d) for t, d in bend[:3]), (off, -0.5), (land, -0.4),
                                       *((t, 0.4 * d) for t, d in bend[5:]))  # fmt: skip
    holds = tuple(replace(h, rolls=False) for h in _standing(duration, off, land))
    plan = MotionPlan(duration, tuple(_on_toes(h, off, land) for h in holds), keys, calm_bw=1.0, knot_s=0.04, frame_s=0.01,
                      tolerance={"upward": 0.15}, clearance_m=rise)  # fmt: skip
    return Scene("jump", "jump", plan, _pair())


def _on_toes(hold: Foothold, off_s: float, land_s: float) -> Foothold:
    return replace(hold, toes_at_end=hold.end_s == off_s, toes_at_start=hold.start_s == land_s)


def hop(body: Body, hops: int = 3, flight_s: float = 0.24) -> Scene:
    """Hops on the right leg, on one plate; the left foot stays in the air."""
    stance, rest = 0.34, 0.8
    take_offs = [rest + n * (stance + flight_s) for n in range(hops)]
    edges = [-1.0, *(t for off in take_offs for t in (off, off + flight_s)), 99.0]
    duration = take_offs[-1] + flight_s + rest
    rise = 9.81 * flight_s**2 / 8.0
    up = [(0.0, -0.02), (rest - 0.45, -0.02), (rest - 0.2, -0.1)]
    for off in take_offs:
        up += [
            (off, 0.03),
            (off + 0.5 * flight_s, 0.03 + rise),
            (off + flight_s, 0.03),
            (off + flight_s + 0.5 * stance, -0.08),
        ]
    up.append((duration, -0.03))
    keys: Keys = {
        "upward": tuple(up),
        "sideways": ((0.0, 0.06),),
        part("knee", "l"): ((0.0, 1.4),),
        part("hip", "l"): ((0.0, 0.5),),
        part("knee", "r"): ((0.0, 0.4),),
        part("hip", "r"): ((0.0, 0.3),),
        part("ankle", "r"): ((0.0, 0.15),),
    }
    holds = [
        replace(_flat("r", a, b, 0.06, 0), toes_at_end=b < 90.0, toes_at_start=a > 0.0)
        for a, b in zip(edges[::2], edges[1::2], strict=True)
    ]
    # The left foot never stands: a stance long before the trial tells where it hangs.
    holds.append(Foothold("l", -9.0, -8.0, (-0.30, 0.30, -0.10), rolls=False))
    plan = MotionPlan(
        duration, tuple(holds), keys, calm_bw=1.0, knot_s=0.035, frame_s=0.01, clearance_m=rise, swing_m=1.0,
        tolerance={"upward": 0.15, part("ankle", "l"): 0.1},
    )  # fmt: skip
    return Scene("hop", "jump", plan, (Plate(2, 0.06, length_m=0.6, width_m=0.5, centre_z_m=0.06),))


def crutches(body: Body) -> Scene:
    """Walking with two crutches: one tip beside the foot on its plate, the next alone on a plate of its own."""
    speed, step, stance = 0.7, 0.7, 0.9
    strikes = [-0.3 + step * n for n in range(6)]
    holds = _steps("r", strikes, stance, speed, {2: 0, 3: 1})
    duration = 3.6
    keys = _knees(holds, duration, 0.9, 0.15)
    keys["forward"] = ((0.0, 0.0), (duration, speed * duration))
    keys["upward"] = ((0.0, -0.02),)
    aids = []
    for number, hold in enumerate(holds[1:5], start=1):
        side = other_side(hold.side)
        z = 0.42 if side == "r" else -0.42
        tip = (hold.heel_W[0] + 0.12, 0.0, z)
        aids.append(Aid(part("hand", side), hold.start_s + 0.05, hold.end_s - 0.1, tip, plate={2: 2, 3: 1}.get(number)))
    under = list(_plates_under(holds, 2))
    # The second foot's plate is wide enough for the crutch of the other side.
    tip = aids[2].tip_W
    under[1] = replace(under[1], width_m=0.9, centre_z_m=0.5 * (holds[3].heel_W[2] + tip[2]))
    own = aids[1].tip_W
    under.append(Plate(2, own[0], length_m=0.3, width_m=0.3, centre_z_m=own[2]))
    plan = MotionPlan(duration, holds, keys, aids=tuple(aids))
    return Scene("crutches", "walking", plan, tuple(under))


def backwards(body: Body) -> Scene:
    """Walking backwards over two plates."""
    speed, step, stance = -0.8, 0.6, 0.76
    strikes = [-0.3 + step * n for n in range(7)]
    holds = tuple(replace(h, rolls=False) for h in _steps("r", strikes, stance, speed, {2: 0, 3: 1}))
    duration = 3.6
    keys = _knees(holds, duration, 0.8, 0.2)
    keys["forward"] = ((0.0, 0.0), (duration, speed * duration))
    keys["upward"] = ((0.0, -0.03),)
    return Scene("backwards", "other", MotionPlan(duration, holds, keys), _plates_under(holds, 2))


#: Every scene by its name.
SCENES: Mapping[str, Callable[[Body], Scene]] = {
    "running": running,
    "stairs": stairs,
    "turn": turn,
    "side steps": side_steps,
    "start": start,
    "stop": stop,
    "squat": squat,
    "jump": jump,
    "hop": hop,
    "crutches": crutches,
    "backwards": backwards,
}
