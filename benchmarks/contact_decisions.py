"""Are contacts decided rightly, whatever feet and plates do? `python benchmarks/contact_decisions.py` (1,000 simulated walks).

People walk at several speeds (markers with noise and moving skin, fitted once a walk); then plates of every awkward kind are laid
under their true steps: a foot across two plates, two feet on one, feet over an edge by up to 12 cm, loads that no foot makes,
plates not at zero, drifting, noisy, turned, moved, and the belts of a treadmill. A foot's force is spread over heel and forefoot;
what lies beside the plates is not measured.

A stance is right where a foot wholly on plates is measured for the time in which it is alone (60 % of its stance), and a foot
that stands elsewhere, or partly, is not measured while more than 15 % of body weight is missing. A walk is right where all its
stances are.
Confident and wrong: a foot is said to be measured while its force is more than 15 % of body weight off for more than 50 ms.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, Walker, parser_of, per_cent, record_session, tell, write_session
from simulator import Person, SimulatedTrial, TrialOptions
from simulator.reaction import foot_wrenches, moved

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side
from biodyn.errors import BiodynError
from biodyn.processing.kinematics.fit import q_kinds
from biodyn.processing.signals.derivatives import motion_from_configuration
from biodyn.processing.signals.filtering import butterworth_lowpass, finite_stretches
from biodyn.recording import ForcePlate
from biodyn.rigid_body import body_poses
from biodyn.settings import Settings
from biodyn.trial.stages import Grounded, Tracked, Trial
from biodyn.trial.steps import STEPS, contacts, run_steps

# The least that the balance of forces can contradict, and longer than the begin and end of a contact are uncertain.
WRONG_SHARE, WRONG_S = 0.15, 0.05
ALONE_SHARE = 0.6
LABORATORY = TrialOptions(forward="-x", noise_mm=1.0, soft_tissue=1.0, plate_types=(2, 2, 2), strides=3.0)

PEOPLE = {
    # The limits were set while looking at these.
    "tuned": (
        Person("Adam", height_m=1.78, mass_kg=74.0, sex="male"),
        Person("Berta", height_m=1.62, mass_kg=58.0, sex="female"),
        Person("Kim", height_m=1.22, mass_kg=24.0, sex="female"),
    ),
    # Nothing was set by these.
    "fresh": (
        Person("Dora", height_m=1.54, mass_kg=49.0, sex="female"),
        Person("Emil", height_m=1.84, mass_kg=81.0, sex="male"),
        Person("Georg", height_m=1.95, mass_kg=104.0, sex="male"),
        Person("Lea", height_m=1.30, mass_kg=27.0, sex="female"),
        Person("Hanna", height_m=1.60, mass_kg=63.0, sex="female", marker_set="plug_in_gait_lower"),
    ),
}
#: Speed and stride time for a body height of 1.75 m; both scale with the root of the height.
GAITS = ((0.8, 1.3), (1.05, 1.18), (1.3, 1.08), (1.5, 1.0), (1.7, 0.94))


@dataclass(frozen=True)
class Base:
    """One fitted walk, and the truth at the plates' rate.

    Attributes:
        state: after inverse kinematics. trial: what was simulated.
        points: per side (Ta, K, 3) m where the foot's force acts in parts, forces: per side (Ta, K) share of each.
        wrench: per side (Ta, 6) about the world origin.
    """

    state: Tracked
    trial: SimulatedTrial
    points: dict[Side, FloatArray]
    shares: dict[Side, FloatArray]
    wrench: dict[Side, FloatArray]

    @property
    def weight_n(self) -> float:
        return self.trial.body.person.mass_kg * STANDARD_GRAVITY_M_S2


def base_walk(person: Person, gait: tuple[float, float], seed: int, folder: Path) -> Base:
    """Simulate, write, read and fit one walk."""
    scale = np.sqrt(person.height_m / 1.75)
    walker = Walker(person, gait[0] * scale, gait[1] * scale, replace(LABORATORY, seed=seed))
    walk = walker.walk()
    static, trial = record_session(person, walker.laboratory, walk)
    path, static_path = write_session(folder, static, trial)
    state = run_steps(Trial(path=path, static_path=static_path, settings=Settings()), STEPS, "inverse kinematics")
    options = trial.options
    analog_s = np.arange(len(trial.components[0])) / options.analog_rate_hz
    start = -options.lead_in * walk.stride_s
    _, shift = _placed(trial)
    offset = np.array([shift, 0.0, 0.0])
    wrench = {side: moved(w, offset) for side, w in foot_wrenches(walk, analog_s + start).items()}
    q, _, _ = walk.motion(analog_s + start)
    q[:, :3] += offset
    R, p = body_poses(trial.body.model.multibody, q)
    points, shares = {}, {}
    for side in SIDES:
        foot = walk.feet[side]
        patches = _patches(foot)
        points[side] = p[:, None, foot.link] + np.einsum("tij,kj->tki", R[:, foot.link], patches)
        shares[side] = _spread(points[side], wrench[side])
    return Base(state, trial, points, shares, wrench)


def _placed(trial: SimulatedTrial) -> tuple[object, float]:
    from simulator.laboratory import place_plates

    assert trial.walk is not None
    return place_plates(trial.walk, trial.options.plates, trial.options.plate_types)


def _patches(foot: object) -> FloatArray:
    """Places on the foot (12, 3) where its force acts: six of the heel, six of the forefoot."""
    back, forward = foot.back, foot.forward  # type: ignore[attr-defined]
    outline = foot.outline  # type: ignore[attr-defined]
    half = len(outline) // 2
    across = outline[half // 2] - outline[-1 - half // 2]
    return np.array(
        [
            back + along * forward + side * across
            for along in (0.05, 0.10, 0.15, 0.72, 0.80, 0.88)
            for side in (-0.25, 0.25)
        ]
    )


def _spread(points: FloatArray, wrench: FloatArray) -> FloatArray:
    """Share (Ta, 12) of the force at each patch: heel and forefoot so that the mean lies at the true centre of pressure."""
    vertical = np.maximum(wrench[:, 4], 1.0)
    cop = np.column_stack([wrench[:, 2], -wrench[:, 0]]) / vertical[:, None]
    heel, toes = points[:, :6].mean(axis=1)[:, ::2], points[:, 6:].mean(axis=1)[:, ::2]
    line = toes - heel
    share = np.clip(np.sum((cop - heel) * line, axis=1) / np.sum(line**2, axis=1), 0.0, 1.0)
    return np.column_stack([np.tile((1.0 - share)[:, None] / 6.0, 6), np.tile(share[:, None] / 6.0, 6)])


# -- plates -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Laid:
    """One plate: corners (4, 3), and what is on it besides the feet (Ta, 6); how its channels are spoilt."""

    corners: FloatArray
    extra: FloatArray | None = None
    spoil: Callable[[FloatArray], FloatArray] | None = None


def rectangle(x0: float, x1: float, z0: float, z1: float, turn: float = 0.0) -> FloatArray:
    """Corners (4, 3) in the format's order of a plate whose z axis points down, turned about the vertical."""
    centre = np.array([0.5 * (x0 + x1), 0.0, 0.5 * (z0 + z1)])
    a, b = 0.5 * (x1 - x0), 0.5 * (z1 - z0)
    local = np.array([[a, 0, b], [-a, 0, b], [-a, 0, -b], [a, 0, -b]])
    c, s = np.cos(turn), np.sin(turn)
    return local @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]]) + centre


def on_plate(base: Base, corners: FloatArray, velocity: float) -> FloatArray:
    """The feet's wrench (Ta, 6) on a plate: the parts of each foot's force whose places lie on it."""
    total = np.zeros_like(base.wrench["r"])
    for side in SIDES:
        inside = _inside(base.points[side], corners, velocity, base.trial.options.analog_rate_hz)
        total += _part(base.wrench[side], base.points[side], base.shares[side] * inside)
    return total


def _inside(points: FloatArray, corners: FloatArray, velocity: float, rate_hz: float) -> BoolArray:
    """Which places (Ta, K) lie on the plate; `velocity` (m/s) carries them backwards."""
    centre = corners.mean(axis=0)
    x, z = 0.5 * (corners[0] - corners[1]), 0.5 * (corners[0] - corners[3])
    back = velocity * np.arange(len(points)) / rate_hz
    local = points - centre - back[:, None, None] * np.array([1.0, 0.0, 0.0])
    return np.asarray((np.abs(local @ x) <= x @ x) & (np.abs(local @ z) <= z @ z))


def _part(wrench: FloatArray, points: FloatArray, shares: FloatArray) -> FloatArray:
    """Part of a foot's wrench: all of it where all shares are there, else forces at their places.

    The whole wrench keeps its own centre of pressure; a part is moved by as much as its places differ from all of them.
    """
    known = shares.sum(axis=1)
    total = np.full(len(shares), 1.0)
    scale = known / total
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(known[:, None] > 0, (shares[..., None] * points).sum(axis=1) / known[:, None], 0.0)
    vertical = np.maximum(wrench[:, 4], 1.0)
    cop = np.column_stack([wrench[:, 2] / vertical, np.zeros(len(wrench)), -wrench[:, 0] / vertical])
    mean[:, 1] = 0.0
    step = np.where((known < 0.999)[:, None], mean - cop, 0.0)
    part = scale[:, None] * wrench
    part[:, :3] += np.cross(step, part[:, 3:])
    return part


# -- scenes: what is laid under the steps -------------------------------------------------------------------------------

Scene = Callable[[Base, np.random.Generator], list[Laid]]


def _steps(base: Base) -> list[tuple[Side, FloatArray]]:
    """Side and sole (K, 3) of the three steps in the middle of their stance."""
    trial = base.trial
    assert trial.walk is not None
    soles = []
    for number in range(3):
        side = SIDES[number % 2]
        at = (0.5 * number + 0.25 + trial.options.lead_in) * trial.walk.stride_s
        frame = round(at * trial.options.analog_rate_hz)
        soles.append((side, base.points[side][frame]))
    return soles


def _around(sole: FloatArray, front: float, back: float, beside: float, turn: float = 0.0) -> FloatArray:
    """A plate that reaches so far (m) beyond the foot; patches end 12 % before its tip and 5 % before its heel."""
    length = 1.2 * np.ptp(sole[:, 0])
    x0, x1 = sole[:, 0].min() - 0.06 * length, sole[:, 0].max() + 0.14 * length
    z = sole[:, 2].mean()
    return rectangle(x0 - back, x1 + front, z - beside, z + beside, turn)


def whole(base: Base, rng: np.random.Generator) -> list[Laid]:
    """A plate under each of three steps, turned by up to 10 degrees."""
    return [Laid(_around(sole, 0.1, 0.1, 0.2, np.radians(rng.uniform(-10, 10)))) for _, sole in _steps(base)]


def cross(base: Base, rng: np.random.Generator) -> list[Laid]:
    """The second foot across two plates that meet."""
    steps = _steps(base)
    first, second, third = (_around(sole, 0.1, 0.1, 0.2) for _, sole in steps)
    seam = rng.uniform(steps[1][1][:, 0].min(), steps[1][1][:, 0].max())
    x0, x1, z0, z1 = second[:, 0].min(), second[:, 0].max(), second[:, 2].min(), second[:, 2].max()
    return [
        Laid(first),
        Laid(rectangle(x0, seam, z0, z1)),
        Laid(rectangle(seam, x1, z0, z1)),
        Laid(third),
    ]


def double(base: Base, rng: np.random.Generator) -> list[Laid]:
    """Two steps, or all three, on one plate."""
    steps = _steps(base)
    count = int(rng.integers(2, 4))
    every = np.concatenate([sole for _, sole in steps[:count]])
    laid = [Laid(_around(every, 0.08, 0.08, 0.35))]
    return laid + [Laid(_around(sole, 0.1, 0.1, 0.2)) for _, sole in steps[count:]]


def partial(base: Base, rng: np.random.Generator) -> list[Laid]:
    """The second foot over an edge by up to 12 cm, in front, behind or beside."""
    steps = _steps(base)
    laid = [Laid(_around(sole, 0.1, 0.1, 0.2)) for _, sole in steps]
    over = rng.uniform(0.0, 0.12)
    where = rng.integers(3)
    sole = steps[1][1]
    if where == 2:
        z0 = sole[:, 2].min() + 0.5 * over
        laid[1] = Laid(rectangle(sole[:, 0].min() - 0.15, sole[:, 0].max() + 0.15, z0, z0 + 0.4))
    else:
        laid[1] = Laid(_around(sole, -over if where == 0 else 0.1, -over if where == 1 else 0.1, 0.2))
    return laid


def sole_error(base: Base, rng: np.random.Generator) -> list[Laid]:
    """The second foot's sole ends up to 3 cm beyond the plate, but carries nothing there."""
    steps = _steps(base)
    laid = [Laid(_around(sole, 0.1, 0.1, 0.2)) for _, sole in steps]
    sole = steps[1][1]
    front = bool(rng.integers(2))
    x0, x1 = sole[:, 0].min() - 0.005, sole[:, 0].max() + 0.005
    laid[1] = Laid(
        rectangle(x0 - 0.15 if front else x0, x1 if front else x1 + 0.15, sole[0, 2] - 0.2, sole[0, 2] + 0.2)
    )
    return laid


def stray(base: Base, rng: np.random.Generator) -> list[Laid]:
    """Somebody steps on a plate: an empty one beside, or the one of a step."""
    laid = whole(base, rng)
    steps = _steps(base)
    n = len(base.wrench["r"])
    time = np.arange(n) / base.trial.options.analog_rate_hz
    begin, length = rng.uniform(0.0, time[-1] - 0.3), rng.uniform(0.15, 0.8)
    load = rng.uniform(100.0, 700.0) * np.sin(np.pi * np.clip((time - begin) / length, 0.0, 1.0)) ** 0.5
    load[(time < begin) | (time > begin + length)] = 0.0
    at = steps[1][1].mean(axis=0) + [rng.uniform(-0.1, 0.1), 0.0, rng.choice([-1, 1]) * rng.uniform(0.5, 0.9)]
    force = np.outer(load, [0.0, 1.0, 0.0])
    wrench = np.hstack([np.cross(np.tile(at * [1, 0, 1], (n, 1)), force), force])
    return [*laid, Laid(rectangle(at[0] - 0.3, at[0] + 0.3, at[2] - 0.2, at[2] + 0.2), extra=wrench)]


def _spoilt(change: Callable[[FloatArray, np.random.Generator], FloatArray]) -> Scene:
    def scene(base: Base, rng: np.random.Generator) -> list[Laid]:
        laid = whole(base, rng)
        empty = rectangle(8.0, 8.6, -0.2, 0.2)
        return [replace(one, spoil=lambda c: change(c, rng)) for one in [*laid, Laid(empty)]]

    scene.__doc__ = change.__doc__
    return scene


def _noise(channels: FloatArray, sd_n: float, rng: np.random.Generator) -> FloatArray:
    return sd_n * rng.normal(size=channels.shape) * np.array([1.0, 1.0, 1.0, 0.05, 0.05, 0.05])


def offset(channels: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Not at zero by 5 to 60 N, moments by up to 20 Nm."""
    level = np.concatenate(
        [rng.uniform(-10, 10, 2), [rng.uniform(5, 60) * rng.choice([-1, 1])], rng.uniform(-20, 20, 3)]
    )
    return channels + level + _noise(channels, 1.0, rng)


def drift(channels: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Drifting by up to 40 N over the recording."""
    line = rng.uniform(-20.0, 20.0) + rng.uniform(-40.0, 40.0) * np.linspace(0.0, 1.0, len(channels))
    return channels + np.outer(line, [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]) + _noise(channels, 1.0, rng)


def noisy(channels: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Noise of 1 to 8 N."""
    return channels + _noise(channels, rng.uniform(1.0, 8.0), rng)


def belts(base: Base, rng: np.random.Generator) -> list[Laid]:
    """A treadmill with two belts, seam between the feet."""
    middle = float(np.mean([sole[:, 2].mean() for _, sole in _steps(base)[:2]]))
    x = base.points["r"][:, :, 0].mean()
    return [
        Laid(rectangle(x - 20, x + 20, middle + 0.002, middle + 0.6)),
        Laid(rectangle(x - 20, x + 20, middle - 0.6, middle - 0.002)),
    ]


#: name -> (scene, how often in 25, carried by a belt)
SCENES: dict[str, tuple[Scene, int, bool]] = {
    "whole": (whole, 2, False),
    "across two plates": (cross, 3, False),
    "two feet on a plate": (double, 4, False),
    "over the edge": (partial, 5, False),
    "sole over the edge": (sole_error, 2, False),
    "stray loads": (stray, 3, False),
    "not at zero": (_spoilt(offset), 2, False),
    "drifting": (_spoilt(drift), 1, False),
    "noisy": (_spoilt(noisy), 1, False),
    "two belts": (belts, 2, True),
}


# -- judging ------------------------------------------------------------------------------------------------------------


def state_with(base: Base, laid: list[Laid], velocity: float) -> tuple[Tracked, dict[Side, FloatArray]]:
    """The fitted walk on these plates, and each foot's missing share of body weight (Ta,) there."""
    rate_hz = base.trial.options.analog_rate_hz
    n = len(base.wrench["r"])
    back = np.outer(velocity * np.arange(n) / rate_hz, [1.0, 0.0, 0.0])
    plates = []
    carried = {side: np.zeros(n) for side in SIDES}
    for number, one in enumerate(laid, start=1):
        wrench = on_plate(base, one.corners, velocity)
        for side in SIDES:
            carried[side] += (base.shares[side] * _inside(base.points[side], one.corners, velocity, rate_hz)).sum(
                axis=1
            )
        wrench = wrench if one.extra is None else wrench + one.extra
        wrench = np.hstack([wrench[:, :3] - np.cross(back, wrench[:, 3:]), wrench[:, 3:]])
        plates.append(_stored(number, one, wrench, rate_hz))
    state = replace(base.state, walk=replace(base.state.walk, plates=tuple(plates)), notes=())
    if velocity:
        state = _carried_back(state, velocity)
    missing = {side: (1.0 - np.minimum(carried[side], 1.0)) * base.wrench[side][:, 4] / base.weight_n for side in SIDES}
    return state, missing


def _stored(number: int, one: Laid, wrench: FloatArray, rate_hz: float) -> ForcePlate:
    """A type 2 plate whose sensors lie in its surface."""
    c = one.corners
    x, y = c[0] - c[1], c[0] - c[3]
    x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    R = np.column_stack([x, y, np.cross(x, y)])
    centre = c.mean(axis=0)
    moment = wrench[:, :3] - np.cross(centre, wrench[:, 3:])
    channels = np.hstack([wrench[:, 3:] @ R, moment @ R])
    if one.spoil is not None:
        channels = one.spoil(channels)
    return ForcePlate(number, 2, c, np.zeros(3), channels, rate_hz)


def _carried_back(state: Tracked, velocity: float) -> Tracked:
    """The walk on a belt: all that stands in World moves backwards."""
    fit = state.fit
    time_s = fit.motion.time_s
    back = np.outer(velocity * time_s, [1.0, 0.0, 0.0])
    q = fit.motion.q.copy()
    q[:, :3] -= back
    motion = motion_from_configuration(time_s, q, q_kinds(fit.model))
    return replace(state, fit=replace(fit, motion=motion, link_p_W=fit.link_p_W - back[:, None]))


@dataclass
class Tally:
    """Walks: how many, right, confident and wrong, refused; and double supports on one plate."""

    walks: int = 0
    right: int = 0
    wrong: int = 0
    stances: int = 0
    stances_right: int = 0
    examples: list[str] = field(default_factory=list)
    split_errors: list[FloatArray] = field(default_factory=list)
    split_z: list[FloatArray] = field(default_factory=list)


def judge(base: Base, laid: list[Laid], velocity: float, tally: Tally, name: str) -> None:
    """Run the step and hold it against the truth."""
    tally.walks += 1
    tracked, missing = state_with(base, laid, velocity)
    try:
        state = contacts(tracked)
    except BiodynError as error:
        tally.examples.append(f"{name}: {error}")
        return
    options = base.trial.options
    ratio, hz = round(options.analog_rate_hz / options.rate_hz), options.rate_hz
    frames = len(state.fit.reliable)
    sure = np.zeros(frames, dtype=bool)
    edge = round(0.15 * hz)
    sure[edge : frames - edge] = True
    right, wrong = True, []
    back = np.outer(velocity * np.arange(len(base.wrench["r"])) / options.analog_rate_hz, [1.0, 0.0, 0.0])
    for side in SIDES:
        world = base.wrench[side]
        world = np.hstack([world[:, :3] - np.cross(back, world[:, 3:]), world[:, 3:]])
        cutoff = state.signals.force_cutoff_hz
        true = butterworth_lowpass(world, options.analog_rate_hz, cutoff)[::ratio][:frames]
        lost = butterworth_lowpass(missing[side][:, None], options.analog_rate_hz, cutoff)[::ratio, 0][:frames]
        known = state.reaction.measured[side] & sure
        off = np.linalg.norm(np.where(known[:, None], state.reaction.wrench[side][:, 3:] - true[:, 3:], 0.0), axis=1)
        bad = off > WRONG_SHARE * base.weight_n
        if any((stop - first) / hz > WRONG_S for first, stop in finite_stretches(bad)):
            wrong.append(f"{side} {np.count_nonzero(bad) / hz:.2f} s, up to {off.max():.0f} N")
        stood = base.wrench[side][::ratio][:frames, 4] > 0.05 * base.weight_n
        for first, stop in finite_stretches(np.asarray(stood)):
            if not sure[first:stop].all():
                continue
            tally.stances += 1
            if lost[first:stop].max() < 0.02:
                good = known[first:stop].mean() >= ALONE_SHARE
            else:
                good = not any(
                    (b - a) / hz > WRONG_S
                    for a, b in finite_stretches(known[first:stop] & (lost[first:stop] > WRONG_SHARE))
                )
            tally.stances_right += bool(good)
            right &= bool(good)
            if not good:
                words = "; ".join(
                    f"{c.plate} {c.start_s:.2f}-{c.end_s:.2f} {c.side} {c.decision}: {c.reason}" for c in state.contacts
                )
                tally.examples.append(
                    f"{name}: {side} {first / hz:.2f}-{stop / hz:.2f} s, lost {lost[first:stop].max():.2f} | {words}"
                )
        _split(base, state, side, true, tally)
    right &= not wrong
    tally.right += right
    tally.wrong += bool(wrong)
    if wrong:
        tally.examples.append(f"{name}: WRONG {'; '.join(wrong)}")


def _split(base: Base, state: Grounded, side: Side, true: FloatArray, tally: Tally) -> None:
    """Errors, and errors in standard deviations, of a foot's force while it shares a plate."""
    mass = base.weight_n / STANDARD_GRAVITY_M_S2
    for load in state.reaction.shared:
        if load.side != side or not len(load.sd):
            continue
        rows = slice(load.first_frame, load.first_frame + load.sd.shape[1])
        sd = np.sqrt((load.sd**2).sum(axis=0))[:, 3:]
        here = (sd[:, 1] > 0.3 * sd[:, 1].max()) & state.reaction.measured[side][rows]
        error = (state.reaction.wrench[side][rows] - true[rows])[here, 3:]
        if len(error):
            tally.split_errors.append(error / mass)
            tally.split_z.append(error / sd[here])


def walks(group: str, count: int, folder: Path) -> Iterator[tuple[str, str, Base, list[Laid], float]]:
    """`count` walks: every person at every speed, on every kind of plates."""
    people = PEOPLE[group]
    rounds = max(round(count / (25 * len(people) * len(GAITS))), 1)
    made = 0
    for index, person in enumerate(people):
        for speed, gait in enumerate(GAITS):
            for seed in range(rounds):
                base = base_walk(person, gait, 100 * index + 10 * speed + seed, folder)
                for name, (scene, often, on_belt) in SCENES.items():
                    for number in range(often):
                        if made == count:
                            return
                        made += 1
                        rng = np.random.default_rng([index, speed, seed, number, list(SCENES).index(name), len(group)])
                        assert base.trial.walk is not None
                        velocity = base.trial.walk.speed_m_s if on_belt else 0.0
                        yield name, f"{person.name} {gait[0]} {number}", base, scene(base, rng), velocity


def main() -> None:
    """Print a row per kind of plates, and the sums."""
    parser = parser_of(__doc__, people=("fresh", "tuned"), count=1000, only="")
    parser.add_argument("--examples", action="store_true", help="show what went wrong")
    arguments = parser.parse_args()
    table: dict[str, Tally] = defaultdict(Tally)
    record, watch = Record("contact_decisions", vars(arguments)), Stopwatch()
    with tempfile.TemporaryDirectory() as name:
        for kind, which, base, laid, velocity in walks(arguments.people, arguments.count, Path(name)):
            if arguments.only in kind:
                judge(base, laid, velocity, table[kind], which)
    tell(f"{'plates':<22} walks   right  confident and wrong  stances right")
    for kind, tally in table.items():
        tell(
            f"{kind:<22} {tally.walks:>5} {per_cent(tally.right, tally.walks):>6.1f}% "
            f"{per_cent(tally.wrong, tally.walks):>19.1f}% {per_cent(tally.stances_right, tally.stances):>13.1f}%"
        )
        if arguments.examples:
            tell("\n".join(f"    {line}" for line in tally.examples))
    total = sum(t.walks for t in table.values())
    record.add("walks right", per_cent(sum(t.right for t in table.values()), total), "% of the walks, larger is better")
    stances = sum(t.stances for t in table.values())
    record.add(
        "stances right",
        per_cent(sum(t.stances_right for t in table.values()), stances),
        "% of the stances, larger is better",
    )
    record.add("confident and wrong", per_cent(sum(t.wrong for t in table.values()), total), "% of the walks")
    errors = [e for t in table.values() for e in t.split_errors]
    if errors:
        error = np.concatenate(errors)
        z = np.concatenate([e for t in table.values() for e in t.split_z])
        for axis, text in enumerate(("anterior-posterior", "vertical", "mediolateral")):
            record.add(f"two feet on a plate, {text}", float(np.sqrt(np.mean(error[:, axis] ** 2))), "N/kg RMS")
            record.add(
                f"two feet on a plate, {text}, within 2 SD",
                per_cent(np.sum(np.abs(z[:, axis]) < 2), len(z)),
                "%, larger is better",
            )
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
