"""Forward dynamics with the recorded torques, open loop and with feedback, compared with the recorded motion.

A walking body is unstable (Runge et al. 1995, IEEE Trans Biomed Eng 42:1158): forward dynamics without feedback diverges from
the recorded motion even if the torques are correct. Therefore an open-loop replay restarts from the recorded state at many
instants and measures the drift after each window length; a tracked replay adds feedback torques that keep the body on the
recorded motion and should be small relative to the recorded torques.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.errors import SettingsError
from biodyn.processing.dynamics.actuated_motion import ActuatedMotion
from biodyn.verification.integrators import (
    METHODS,
    Feedback,
    Mechanics,
    Method,
    ReplayedWindows,
    ReplayInput,
    Torques,
    difference,
    mass_matrix,
    replay_inputs,
    replay_windows,
)

_BASE = 6  # velocity coordinates of the floating base


@dataclass(frozen=True)
class Deviation:
    """Distance of replayed from recorded motion, one row per window and one column per frame; NaN if diverged or ended.

    Attributes:
        starts: (W,) first frame (of the trial). measured: (W, L + 1) whether the ground reaction was measured since the start.
        inside: (W, L + 1) whether the window is within its interval (a NaN inside means: diverged).
        joint_rad: largest error of any joint angle; coordinate: its velocity index. position_m, orientation_rad:
        errors of the base.
    """

    starts: IntArray
    measured: BoolArray
    inside: BoolArray
    joint_rad: FloatArray
    coordinate: IntArray
    position_m: FloatArray
    orientation_rad: FloatArray

    def is_within_limits(self, angle_rad: float, position_m: float) -> BoolArray:
        """Return (W, L + 1) whether the replay has stayed within these limits since its start."""
        # NaN compares false
        now = (self.joint_rad <= angle_rad) & (self.orientation_rad <= angle_rad) & (self.position_m <= position_m)
        return np.logical_and.accumulate(now, axis=1)


@dataclass(frozen=True)
class DriftRow:
    """Drift in all windows of one length: median and maximum over windows of the largest deviation within each window.

    Attributes:
        ground: "measured" (known under every foot during the whole window) or "all" (the residual compensates unknown forces).
        lost: number of diverged windows; medians and largest values of these are NaN.
        coordinate: velocity index of the joint angle that drifted most (among windows not lost).
        within: share of windows that stayed within the tolerance.
    """

    torques: Torques
    window_s: float
    ground: str
    windows: int
    lost: int
    joint_median_deg: float
    joint_worst_deg: float
    position_median_cm: float
    position_worst_cm: float
    orientation_median_deg: float
    orientation_worst_deg: float
    coordinate: int
    within: float


@dataclass(frozen=True)
class OpenLoopReplay:
    """Open-loop replay of one trial with one kind of torques.

    Attributes:
        torques: "recorded" or "recomputed". deviation: deviation in every window. rows: one row per window length.
        prediction_horizon_s, median_horizon_s: longest window for which all, and half, of the windows stay within the
        tolerance.
        doubling_s: time in which a small deviation doubles (median), NaN if it does not grow.
    """

    torques: Torques
    deviation: Deviation
    rows: tuple[DriftRow, ...]
    prediction_horizon_s: float
    median_horizon_s: float
    doubling_s: float


def replay_open_loop(
    actuated: ActuatedMotion,
    torques: Torques,
    windows_s: Sequence[float],
    *,
    method: Method,
    steps: int,
    start_every_s: float,
    angle_rad: float,
    position_m: float,
) -> OpenLoopReplay:
    """Replay windows that start at regular intervals of the trial, all windows at once."""
    length = round(max(windows_s) * actuated.rate_hz)
    every = max(round(start_every_s * actuated.rate_hz), 1)
    deviations = []
    for stretch in replay_inputs(actuated, torques):
        starts = np.arange(0, len(stretch.times_s) - 1, every)
        deviations.append(compute_deviation(actuated, stretch, replay_windows(stretch, starts, length, method, steps)))
    whole = _concatenate_deviations(deviations)
    rows = tuple(
        row
        for window_s in windows_s
        for ground in ("measured", "all")
        if (row := _drift_row(whole, torques, window_s, ground, actuated.rate_hz, angle_rad, position_m)) is not None
    )
    within = whole.is_within_limits(angle_rad, position_m)
    return OpenLoopReplay(
        torques,
        whole,
        rows,
        prediction_horizon_s=_horizon_frames(within, whole.inside, 1.0) / actuated.rate_hz,
        median_horizon_s=_horizon_frames(within, whole.inside, 0.5) / actuated.rate_hz,
        doubling_s=_doubling_time(whole, actuated.rate_hz),
    )


def compute_deviation(actuated: ActuatedMotion, stretch: ReplayInput, windows: ReplayedWindows) -> Deviation:
    """Return the deviation of replayed windows from the recorded motion."""
    first, last = stretch.frames
    mb = actuated.mechanics
    W, L = windows.q.shape[:2]
    at = windows.starts[:, None] + np.arange(L)
    inside = at <= last - first
    frames = np.minimum(first + at, last)
    step = difference(mb, actuated.q[frames].reshape(-1, mb.nq), windows.q.reshape(-1, mb.nq)).reshape(W, L, mb.nv)
    joints = np.abs(step[..., _BASE:])
    return Deviation(
        starts=first + windows.starts,
        measured=np.logical_and.accumulate(actuated.measured[frames] & inside, axis=1),
        inside=inside,
        joint_rad=joints.max(axis=-1),
        coordinate=_BASE + np.argmax(np.nan_to_num(joints), axis=-1),
        position_m=np.linalg.norm(windows.q[..., :3] - actuated.q[frames][..., :3], axis=-1),
        orientation_rad=np.linalg.norm(step[..., :3], axis=-1),
    )


@dataclass(frozen=True)
class TrackedReplay:
    """Replay of one interval with feedback.

    Attributes:
        frames: first and last frame. q: (N, nq) replayed configurations. deviation: deviation of the single window.
        feedback: (N, nv) torques added; for the base [moment; force] in body axes. recorded: (N, nv) torques, zero for
            the base.
    """

    frames: tuple[int, int]
    q: FloatArray
    deviation: Deviation
    feedback: FloatArray
    recorded: FloatArray


def replay_with_feedback(
    actuated: ActuatedMotion,
    *,
    method: Method,
    steps: int,
    bandwidth_hz: float,
) -> tuple[TrackedReplay, ...]:
    """Replay every interval from its first to its last frame with feedback.

    The feedback is tau_f = M(q) (w^2 e + 2 w edot), e = recorded - replayed, w = 2 pi bandwidth: a critically damped spring
    for every coordinate. At the base it adds to the residual.
    """
    results = []
    for stretch in replay_inputs(actuated, "recorded"):
        first, last = stretch.frames
        law = feedback_law(actuated.mechanics, actuated.q[first : last + 1], bandwidth_hz)
        window = replay_windows(stretch, np.zeros(1, dtype=np.int64), last - first, method, steps, feedback=law)
        q, v = window.q[0], window.v[0]
        frames = np.arange(last - first + 1)
        q_ref, v_ref, _ = stretch.curve(stretch.times_s)
        tau = actuated.tau[first : last + 1].copy()
        tau[:, :_BASE] = 0.0
        results.append(
            TrackedReplay(
                stretch.frames, q, compute_deviation(actuated, stretch, window), law(frames, q, v, q_ref, v_ref), tau
            )
        )
    return tuple(results)


def feedback_law(mb: Mechanics, q: FloatArray, bandwidth_hz: float) -> Feedback:
    """Return the feedback of `replay_with_feedback` for configurations q (N, nq); inertia is constant over each frame."""
    inertia = mass_matrix(mb, q)
    stiffness = (2.0 * np.pi * bandwidth_hz) ** 2
    damping = 2.0 * 2.0 * np.pi * bandwidth_hz  # critical damping: no overshoot

    def feedback_torques(
        frames: IntArray, q: FloatArray, v: FloatArray, q_ref: FloatArray, v_ref: FloatArray
    ) -> FloatArray:
        push = stiffness * difference(mb, q, q_ref) + damping * (v_ref - v)
        torque: FloatArray = (inertia[frames] @ push[..., None])[..., 0]
        return torque

    return feedback_torques


def _concatenate_deviations(parts: Sequence[Deviation]) -> Deviation:
    names = ("starts", "measured", "inside", "joint_rad", "coordinate", "position_m", "orientation_rad")
    return Deviation(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _drift_row(
    deviation: Deviation,
    torques: Torques,
    window_s: float,
    ground: str,
    rate_hz: float,
    angle_rad: float,
    position_m: float,
) -> DriftRow | None:
    end = round(window_s * rate_hz)
    if end >= deviation.inside.shape[1]:
        return None
    rows = deviation.measured[:, end] if ground == "measured" else deviation.inside[:, end]
    if not rows.any():
        return None
    values = []
    for part in (deviation.joint_rad, deviation.position_m, deviation.orientation_rad):
        largest = np.max(np.where(np.isnan(part[rows, : end + 1]), np.inf, part[rows, : end + 1]), axis=1)
        values += [x if np.isfinite(x) else np.nan for x in (float(np.median(largest)), float(largest.max()))]
    joint, position, orientation = values[:2], values[2:4], values[4:]
    return DriftRow(
        torques,
        window_s,
        ground,
        windows=int(rows.sum()),
        lost=int(np.isnan(deviation.joint_rad[rows, end]).sum()),
        joint_median_deg=float(np.degrees(joint[0])),
        joint_worst_deg=float(np.degrees(joint[1])),
        position_median_cm=100.0 * position[0],
        position_worst_cm=100.0 * position[1],
        orientation_median_deg=float(np.degrees(orientation[0])),
        orientation_worst_deg=float(np.degrees(orientation[1])),
        coordinate=_most_drifted_coordinate(deviation, rows, end),
        within=float(deviation.is_within_limits(angle_rad, position_m)[rows, end].mean()),
    )


def _most_drifted_coordinate(deviation: Deviation, rows: BoolArray, end: int) -> int:
    sizes = np.nan_to_num(deviation.joint_rad[rows, : end + 1])
    return int(deviation.coordinate[rows, : end + 1].flat[int(np.argmax(sizes))])


def _horizon_frames(within: BoolArray, inside: BoolArray, share: float) -> int:
    """Return the largest number of frames after which at least this share of the windows is within the tolerance."""
    count = inside.sum(axis=0)
    share_within = np.where(count > 0, (within & inside).sum(axis=0) / np.maximum(count, 1), 0.0)
    failed = np.flatnonzero(share_within < share)
    possible = int(np.flatnonzero(count > 0)[-1])
    return min(int(failed[0]) - 1, possible) if len(failed) else possible


def _doubling_time(deviation: Deviation, rate_hz: float) -> float:
    """Return the doubling time of small joint errors from the slope of their median logarithm."""
    low, high = np.radians(1e-3), np.radians(1.0)
    size = np.where(deviation.inside & (deviation.joint_rad > 0.0), deviation.joint_rad, np.nan)
    logs = np.log(size)
    growth = []
    for row in logs:
        usable = np.flatnonzero((row > np.log(low)) & (row < np.log(high)))
        if len(usable) >= 3:
            growth.append(np.polyfit(usable / rate_hz, row[usable], 1)[0])
    rate = float(np.median(growth)) if growth else float("nan")
    return float(np.log(2.0) / rate) if rate > 0.0 else float("nan")


# -- every replay of one trial ------------------------------------------------------------------------------------------

_TORQUES: tuple[Torques, ...] = ("recorded", "recomputed")


@dataclass(frozen=True)
class ReplayOptions:
    """Options of a replay.

    Attributes:
        method: integrator, semi-implicit Euler ("euler"), Runge-Kutta of fourth order ("rk4") or DOP853 ("solve_ivp").
        windows_s: lengths of the windows; start_every_s: interval between their starts. step_s: longest fixed step.
        angle_deg, position_m: tolerance of a replay: joint angle, and distance of the pelvis from the recorded motion.
        feedback_hz: bandwidth of the tracked replay; at least 10 Hz, because errors of a stance foot double in 10-20 ms.

    Raises SettingsError for an unknown integrator.
    """

    method: Method = "rk4"
    windows_s: tuple[float, ...] = (0.05, 0.1, 0.2, 0.3, 0.5)
    start_every_s: float = 0.02
    step_s: float = 0.0025
    angle_deg: float = 1.0
    position_m: float = 0.01
    feedback_hz: float = 20.0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise SettingsError(f"There is no integrator '{self.method}'.", f"Integrators: {', '.join(METHODS)}.")


def replay_trial(
    actuated: ActuatedMotion, options: ReplayOptions, say: Callable[[str], None]
) -> tuple[dict[str, OpenLoopReplay], tuple[TrackedReplay, ...]]:
    """Integrate forward dynamics with the torques and ground wrenches of a trial; `say` is called with the name of each step.

    Returns the open-loop replay by kind of torques, and the replay with feedback, one part per interval.
    """
    steps = max(math.ceil(1.0 / (actuated.rate_hz * options.step_s) - 1e-9), 1)
    walk: dict[str, OpenLoopReplay] = {}
    for torques in _TORQUES:
        say(f"replaying windows with {torques} torques")
        walk[torques] = replay_open_loop(
            actuated,
            torques,
            options.windows_s,
            method=options.method,
            steps=steps,
            start_every_s=options.start_every_s,
            angle_rad=math.radians(options.angle_deg),
            position_m=options.position_m,
        )
    say("replaying under feedback")
    return walk, replay_with_feedback(actuated, method=options.method, steps=steps, bandwidth_hz=options.feedback_hz)
