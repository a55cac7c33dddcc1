"""Many windows of a trial forward in time at once: the same step for all of them, each with its own inputs.

Three methods: semi-implicit Euler (v first, then q with the new v, along the manifold), the classical fourth-order
Runge-Kutta method with quaternions brought back to unit length after every step, and SciPy's adaptive `solve_ivp`
(DOP853).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.integrate import solve_ivp

from biodyn.conventions import FloatArray, IntArray
from biodyn.verification.mechanics import coordinate_rates, forward_dynamics, integrate
from biodyn.verification.replay_input import ReplayInput

Method = Literal["euler", "rk4", "solve_ivp"]
METHODS: tuple[Method, ...] = ("euler", "rk4", "solve_ivp")
# A body that turns this fast has left the recorded motion for good; going on would only overflow.
_LOST_RAD_S = 300.0

#: Torques added at frame (W,), q (W, nq), v (W, nv), reference q and v: (W, nv).
Feedback = Callable[[IntArray, FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class Windows:
    """Replayed windows: q (W, L + 1, nq), v (W, L + 1, nv) at the frames from each start; NaN where over or lost.

    starts: (W,) first frame of each window, counted from the stretch's first. evaluations: of the equations of motion for
    all windows together.
    """

    starts: IntArray
    q: FloatArray
    v: FloatArray
    evaluations: int


def replay_windows(
    stretch: ReplayInput,
    starts: IntArray,
    length: int,
    method: Method = "rk4",
    steps: int = 4,
    rtol: float = 1e-8,
    feedback: Feedback | None = None,
    offset: FloatArray | None = None,
) -> Windows:
    """Integrate forward dynamics from the recorded state of each start over `length` frames.

    Args:
        starts: (W,) frames counted from the stretch's first. Windows end at the stretch's last frame.
        steps: of equal length a frame (euler, rk4). rtol: of solve_ivp, absolute tolerance a hundredth of it.
        feedback: torques added to the recorded ones.
        offset: (nv,) step off the recorded state at the start (to see whether a feedback brings it back).
    """
    mb, last = stretch.multibody, len(stretch.times_s) - 1
    starts = np.asarray(starts, dtype=np.int64)
    q, v, _ = stretch.reference(stretch.times_s[starts])
    if offset is not None:
        q = integrate(mb, q, np.broadcast_to(offset, v.shape).copy())
    all_q = np.full((len(starts), length + 1, mb.nq), np.nan)
    all_v = np.full((len(starts), length + 1, mb.nv), np.nan)
    all_q[:, 0], all_v[:, 0] = q, v
    stepper = _Stepper(stretch, method, steps, rtol, feedback)
    evaluations = 0
    for frame in range(length):
        alive = np.flatnonzero((starts + frame < last) & np.isfinite(all_q[:, frame]).all(axis=1))
        if not len(alive):
            break
        q, v, count = stepper(starts[alive] + frame, all_q[alive, frame], all_v[alive, frame])
        evaluations += count
        lost = ~(np.abs(v).max(axis=1) < _LOST_RAD_S)  # NaN is lost too
        q[lost], v[lost] = np.nan, np.nan
        all_q[alive, frame + 1], all_v[alive, frame + 1] = q, v
    return Windows(starts, all_q, all_v, evaluations)


@dataclass(frozen=True)
class _Stepper:
    """One frame forward for many windows."""

    stretch: ReplayInput
    method: Method
    steps: int
    rtol: float
    feedback: Feedback | None

    def __call__(self, frames: IntArray, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray, int]:
        start = self.stretch.times_s[frames]
        if self.method == "solve_ivp":
            return self._adaptive(frames, start, q, v)
        # Inputs of the whole frame at once: a call costs more than the numbers.
        h = float(np.diff(self.stretch.times_s[:2])[0]) / self.steps
        nodes = self.steps * (2 if self.method == "rk4" else 1) + 1
        instants = start[:, None] + np.linspace(0.0, self.steps * h, nodes)
        inputs = _Inputs(self.stretch, frames, instants, self.feedback)
        step = self._euler if self.method == "euler" else self._rk4
        for k in range(self.steps):
            q, v = step(inputs, k, h, q, v)
        return q, v, self.steps * (1 if self.method == "euler" else 4) * len(frames)

    def _euler(self, inputs: _Inputs, k: int, h: float, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        v = v + h * inputs.acceleration(k, q, v)
        return integrate(self.stretch.multibody, q, h * v), v

    def _rk4(self, inputs: _Inputs, k: int, h: float, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        mb = self.stretch.multibody
        q1, v1 = coordinate_rates(mb, q, v), inputs.acceleration(2 * k, q, v)
        qa, va = q + 0.5 * h * q1, v + 0.5 * h * v1
        q2, v2 = coordinate_rates(mb, qa, va), inputs.acceleration(2 * k + 1, qa, va)
        qa, va = q + 0.5 * h * q2, v + 0.5 * h * v2
        q3, v3 = coordinate_rates(mb, qa, va), inputs.acceleration(2 * k + 1, qa, va)
        qa, va = q + h * q3, v + h * v3
        q4, v4 = coordinate_rates(mb, qa, va), inputs.acceleration(2 * k + 2, qa, va)
        q = q + h / 6.0 * (q1 + 2.0 * q2 + 2.0 * q3 + q4)
        return unit_quaternion(q), v + h / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)

    def _adaptive(
        self, frames: IntArray, start: FloatArray, q: FloatArray, v: FloatArray
    ) -> tuple[FloatArray, FloatArray, int]:
        mb, shape = self.stretch.multibody, (len(q), -1)

        def f(s: float, x: FloatArray) -> FloatArray:
            state = x.reshape(shape)
            q, v = state[:, : mb.nq].copy(), state[:, mb.nq :].copy()
            inputs = _Inputs(self.stretch, frames, start[:, None] + s, self.feedback)
            return np.concatenate([coordinate_rates(mb, q, v), inputs.acceleration(0, q, v)], axis=1).ravel()

        span = float(np.diff(self.stretch.times_s[:2])[0])
        solution = solve_ivp(
            f,
            (0.0, span),
            np.concatenate([q, v], axis=1).ravel(),
            method="DOP853",
            rtol=self.rtol,
            atol=0.01 * self.rtol,
        )
        state = solution.y[:, -1].reshape(shape)
        if not solution.success:
            state = np.full_like(state, np.nan)
        return unit_quaternion(state[:, : mb.nq].copy()), state[:, mb.nq :].copy(), solution.nfev * len(q)


class _Inputs:
    """Forces on W windows at instants (W, N)."""

    def __init__(self, stretch: ReplayInput, frames: IntArray, instants: FloatArray, feedback: Feedback | None) -> None:
        windows, nodes = instants.shape
        tau, wrenches = stretch(instants.ravel())
        self.stretch, self.frames, self.feedback = stretch, frames, feedback
        self.tau = tau.reshape(windows, nodes, -1)
        self.wrenches = wrenches.reshape(windows, nodes, -1, 6)
        if feedback is not None:
            q, v, _ = stretch.reference(instants.ravel())
            self.q, self.v = q.reshape(windows, nodes, -1), v.reshape(windows, nodes, -1)

    def acceleration(self, node: int, q: FloatArray, v: FloatArray) -> FloatArray:
        """Accelerations (W, nv) in the state q, v with the inputs of a node."""
        tau = self.tau[:, node]
        if self.feedback is not None:
            tau = tau + self.feedback(self.frames, q, v, self.q[:, node], self.v[:, node])
        return forward_dynamics(self.stretch.multibody, q, v, tau, self.wrenches[:, node], self.stretch.bodies)


def unit_quaternion(q: FloatArray) -> FloatArray:
    """Bring the base's quaternion (W, nq) back to unit length, in place."""
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    return q
