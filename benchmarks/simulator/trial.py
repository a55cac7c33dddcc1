"""One simulated trial: what the laboratory's devices would have recorded, and the truth behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import SIDES, BoolArray, FloatArray, Side
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.recording import GaitEvent
from biodyn.rigid_body import body_poses, inverse_dynamics
from simulator import feet as contact
from simulator.laboratory import place_plates
from simulator.person import Body, Person, embody
from simulator.plates import Plate
from simulator.reaction import foot_wrenches, gait_events, moved, stance_of, walk_strikes
from simulator.skin import hide, marker_labels, marker_positions, soft_tissue
from simulator.tables import load_data
from simulator.walking import Walk, required_wrench, solve_walk
from simulator.wobble import swinging

_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


@dataclass(frozen=True)
class TrialOptions:
    """How a trial is made; the defaults are a noise-free walk over three plates.

    Attributes:
        speed_m_s, stride_s: of the walk.
        strides: length of the recording in gait cycles; lead_in: cycles before the first measured contact.
        rate_hz, analog_rate_hz: frames and analog samples per second, the latter a multiple of the former.
        static_s: duration of a static trial.
        plate_types: one plate for each measured contact, in order; the first is under the right foot.
        plates: fixed plates instead; the walk starts where its steps meet them best.
        forward, up: laboratory axes along World X (direction of travel) and Y, e.g. "-x" and "+z".
        noise_mm: standard deviation of white marker noise. soft_tissue: 0 = markers on bone, 1 = realistic.
        wobble: 0 = nothing shakes the skin, 1 = soft tissue swings after a foot strike.
        smoothed_hz: cut-off of a low-pass filter that the laboratory's software applied to the markers; 0 = none.
        gaps: hidden stretches of markers; longest_gap_s.
        force_noise_n: standard deviation of white noise on the force channels (moments: a twentieth in Nm);
        force_offset_n: size of the plates' constant offsets. force_gain: standard deviation of the plates' gain errors, share;
            gain_factors: on it, one for each plate.
        seed: of everything random.
    """

    speed_m_s: float = 1.3
    stride_s: float = 1.1
    strides: float = 2.7
    lead_in: float = 0.7
    rate_hz: float = 100.0
    analog_rate_hz: float = 1000.0
    static_s: float = 1.5
    plate_types: tuple[int, ...] = (2, 2, 2)
    plates: tuple[Plate, ...] = ()
    forward: str = "+x"
    up: str = "+z"
    noise_mm: float = 0.0
    soft_tissue: float = 0.0
    wobble: float = 0.0
    smoothed_hz: float = 0.0
    gaps: int = 0
    longest_gap_s: float = 0.25
    force_noise_n: float = 0.0
    force_offset_n: float = 0.0
    force_gain: float = 0.0
    gain_factors: tuple[float, ...] = ()
    seed: int = 1

    @property
    def R_LW(self) -> FloatArray:
        """Rotation from World to laboratory axes (3, 3)."""
        x, y = (np.array(_AXES[name[-1]]) * (-1.0 if name[0] == "-" else 1.0) for name in (self.forward, self.up))
        return np.column_stack([x, y, np.cross(x, y)])


@dataclass(frozen=True)
class SimulatedTrial:
    """A trial and its truth; everything in World (X forward, Y up, Z right), SI.

    Attributes:
        body, options, kind: who, how, "walk" or "static"; walk: the periodic motion behind a walk.
        time_s: (T,) s, 0 at the first frame. q, v, vdot, tau: the true motion and generalised forces along v; the first six
            of tau are the base residual, zero to round-off.
        wrench: per foot (T, 6) F_Wo_W, plates or floor. measured: per foot (T,) bool, the foot is in the air or on a plate.
        labels, markers: (T, M, 3) m as the cameras saw them; bone_markers: without skin movement, noise and gaps.
        plates: the plates; components: per plate (Ta, 6) N, Nm at the sensor, noise and offset included.
        events: true foot strikes and foot offs within the trial.
    """

    body: Body
    options: TrialOptions
    kind: str
    walk: Walk | None
    time_s: FloatArray
    q: FloatArray
    v: FloatArray
    vdot: FloatArray
    tau: FloatArray
    wrench: Mapping[Side, FloatArray]
    measured: Mapping[Side, BoolArray]
    labels: tuple[str, ...]
    markers: FloatArray
    bone_markers: FloatArray
    plates: tuple[Plate, ...]
    components: tuple[FloatArray, ...]
    events: tuple[GaitEvent, ...]


def simulate_trial(
    person: Person, options: TrialOptions, kind: str = "walk", walk: Walk | None = None
) -> SimulatedTrial:
    """Simulate a "walk" or the "static" trial of the same session (same plates); pass a solved `walk` to save seconds."""
    if walk is None:
        walk = solve_walk(embody(person), options.speed_m_s, options.stride_s)
    plates, shift = place_plates(walk, options.plates, options.plate_types)
    return standing(walk.body, options, plates) if kind == "static" else _walking(walk, options, plates, shift)


def session(person: Person, options: TrialOptions) -> tuple[SimulatedTrial, SimulatedTrial]:
    """Return the static trial and the walk of one person in one laboratory."""
    walk = solve_walk(embody(person), options.speed_m_s, options.stride_s)
    return simulate_trial(person, options, "static", walk), simulate_trial(person, options, "walk", walk)


# -- walking --------------------------------------------------------------------------------------------------------


def _walking(walk: Walk, options: TrialOptions, plates: tuple[Plate, ...], shift: float) -> SimulatedTrial:
    start = -options.lead_in * walk.stride_s
    frames = round(options.strides * walk.stride_s * options.rate_hz)
    ratio = round(options.analog_rate_hz / options.rate_hz)
    analog_s = start + np.arange(frames * ratio) / options.analog_rate_hz
    time_s = analog_s[::ratio]
    offset = np.array([shift, 0.0, 0.0])

    q, v, vdot = walk.motion(time_s)
    q[:, :3] += offset
    at_analog = {side: moved(wrench, offset) for side, wrench in foot_wrenches(walk, analog_s).items()}
    wrench = {side: values[::ratio] for side, values in at_analog.items()}
    on_plates, measured = [], {side: np.ones(frames, dtype=bool) for side in SIDES}
    for side in SIDES:
        measured[side] &= ~(np.abs(wrench[side]).max(axis=1) > 0.0)
    for number in range(len(plates)):
        side = SIDES[number % 2]
        here = stance_of(walk, analog_s, number)
        on_plates.append(np.where(here[:, None], at_analog[side], 0.0))
        measured[side] |= here[::ratio]
    phase = time_s / walk.stride_s
    skin = options.soft_tissue * soft_tissue(walk.body, q, phase, options.seed) if options.soft_tissue else None
    if options.wobble:
        struck = walk_strikes(walk, time_s)
        shaken = swinging(walk.body, time_s, struck, options.seed)
        skin = options.wobble * shaken if skin is None else skin + options.wobble * shaken
    return recorded(
        body=walk.body,
        options=options,
        kind="walk",
        walk=walk,
        time_s=time_s - start,
        motion=(q, v, vdot),
        wrench=wrench,
        measured=measured,
        skin=skin,
        plates=plates,
        on_plates=on_plates,
        events=gait_events(walk, start, frames / options.rate_hz),
    )


# -- standing -------------------------------------------------------------------------------------------------------


def standing(body: Body, options: TrialOptions, plates: tuple[Plate, ...]) -> SimulatedTrial:
    """Both feet on the first plate, nothing moves."""
    frames = round(options.static_s * options.rate_hz)
    ratio = round(options.analog_rate_hz / options.rate_hz)
    model = body.model
    feet = contact.standing_feet(model, body.static_q, load_data("gait")["foot"])
    q = np.tile(body.static_q, (frames, 1))
    R, p = body_poses(model.multibody, q[:1])
    soles_W = {s: contact.points_in_world(R[:, f.link], p[:, f.link], f.outline)[0] for s, f in feet.items()}
    ends = np.concatenate([points[:, 0] for points in soles_W.values()])
    offset = plates[0].centre_W - np.array([0.5 * (ends.min() + ends.max()), 0.0, 0.0])
    q[:, :3] += offset
    still = np.zeros((frames, model.multibody.nv))
    total = required_wrench(model, q, still, still)
    middle = {side: np.tile(points.mean(axis=0) + offset, (frames, 1)) for side, points in soles_W.items()}
    right, left = contact.shared(total, np.full(frames, 0.5), middle["r"], middle["l"], 0.0)
    return recorded(
        body=body,
        options=options,
        kind="static",
        walk=None,
        time_s=np.arange(frames) / options.rate_hz,
        motion=(q, still, still.copy()),
        wrench={"r": right, "l": left},
        measured={side: np.ones(frames, dtype=bool) for side in SIDES},
        skin=None,
        plates=plates,
        on_plates=[np.repeat(total, ratio, axis=0) * (number == 0) for number in range(len(plates))],
        events=(),
    )


# -- devices --------------------------------------------------------------------------------------------------------


def recorded(
    *,
    body: Body,
    options: TrialOptions,
    kind: str,
    walk: Walk | None,
    time_s: FloatArray,
    motion: tuple[FloatArray, FloatArray, FloatArray],
    wrench: Mapping[Side, FloatArray],
    measured: Mapping[Side, BoolArray],
    skin: FloatArray | None,
    plates: tuple[Plate, ...],
    on_plates: list[FloatArray],
    events: tuple[GaitEvent, ...],
    others: Mapping[str, FloatArray] | None = None,
) -> SimulatedTrial:
    """Return what the devices record of a motion (q, v, vdot) with its wrenches on the feet, and the truth.

    on_plates: per plate the wrench (Ta, 6) on it. skin: (T, M, 3) m movement of the markers in segment axes.
    others: wrenches (T, 6) on other segments, by their names (a crutch in a hand).
    """
    model = body.model
    q, v, vdot = motion
    others = others or {}
    tau = inverse_dynamics(
        model.multibody,
        q,
        v,
        vdot,
        wrenches=np.stack([*(wrench[side] for side in SIDES), *others.values()], axis=1),
        wrench_bodies=[model.frames[name].link for name in (*(model.sole_body[side] for side in SIDES), *others)],
    )
    rng = np.random.default_rng([options.seed, kind == "static", round(1000 * options.speed_m_s)])
    bone = marker_positions(body, q)
    seen = bone if skin is None else marker_positions(body, q, skin)
    if options.noise_mm:
        seen = seen + rng.normal(scale=1e-3 * options.noise_mm, size=seen.shape)
    if options.smoothed_hz:
        seen = butterworth_lowpass(seen, options.rate_hz, options.smoothed_hz)
    if options.gaps and kind == "walk":
        seen = hide(seen, options.gaps, round(options.longest_gap_s * options.rate_hz), rng)
    components = []
    factors = np.resize(options.gain_factors or (1.0,), len(plates))
    gains = 1.0 + options.force_gain * factors * np.random.default_rng([options.seed, 17]).normal(size=len(plates))
    for plate, on_plate, gain in zip(plates, on_plates, gains, strict=True):
        clean = gain * plate.components(on_plate)
        noise = options.force_noise_n * rng.normal(size=clean.shape) + options.force_offset_n * rng.normal(size=(1, 6))
        components.append(clean + noise * np.array([1.0, 1.0, 1.0, 0.05, 0.05, 0.05]))
    labels = marker_labels(body)
    kept = [i for i, label in enumerate(labels) if body.outfit is None or body.outfit.seen_in(label, kind)]
    return SimulatedTrial(
        body=body,
        options=options,
        kind=kind,
        walk=walk,
        time_s=time_s,
        q=q,
        v=v,
        vdot=vdot,
        tau=tau,
        wrench=wrench,
        measured=measured,
        labels=tuple(labels[i] for i in kept),
        markers=seen[:, kept],
        bone_markers=bone[:, kept],
        plates=plates,
        components=tuple(components),
        events=events,
    )
