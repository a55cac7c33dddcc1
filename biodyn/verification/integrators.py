"""Forward integration of many windows of a trial at once, with the same step and separate inputs.

Three methods: semi-implicit Euler (v first, then q with the new v, along the manifold), the classical fourth-order
Runge-Kutta method with quaternions normalised after every step, and SciPy's adaptive `solve_ivp`
(DOP853).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import scipy
from scipy.interpolate import BSpline, make_interp_spline

import biodyn.rigid_body as rigid_body
from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import ResultError
from biodyn.geometry.rotations import cross, matrices_from_quaternions, rotate_vectors
from biodyn.processing.dynamics.actuated_motion import ActuatedMotion
from biodyn.processing.signals.derivatives import ConfigurationSpline, fit_configuration_spline
from biodyn.rigid_body import Multibody
from biodyn.rigid_body.coupling.reduced_tree import ReducedTree

# -- equations of motion of a plain tree, or of one whose joints follow coupled coordinates ---------------------------

#: Replayed mechanisms; the first seven position coordinates belong to the free base.
Mechanics: TypeAlias = Multibody | ReducedTree


def has_free_root(mb: Mechanics) -> bool:
    """Return whether the first body, and no other, is on a free joint."""
    if isinstance(mb, ReducedTree):
        return True
    return mb.bodies[0].joint.kind == "free" and sum(body.joint.kind == "free" for body in mb.bodies) == 1


def forward_dynamics(
    mb: Mechanics, q: FloatArray, v: FloatArray, tau: FloatArray, wrenches: FloatArray, bodies: IntArray
) -> FloatArray:
    """Return the accelerations (T, nv)."""
    if isinstance(mb, ReducedTree):
        return mb.forward_dynamics(q, v, tau, wrenches, bodies)
    return rigid_body.forward_dynamics(mb, q, v, tau, wrenches, bodies)


def inverse_dynamics(
    mb: Mechanics, q: FloatArray, v: FloatArray, vdot: FloatArray, wrenches: FloatArray, bodies: IntArray
) -> FloatArray:
    """Return the generalised forces (T, nv)."""
    if isinstance(mb, ReducedTree):
        return mb.inverse_dynamics(q, v, vdot, wrenches, bodies)
    return rigid_body.inverse_dynamics(mb, q, v, vdot, wrenches, bodies)


def mass_matrix(mb: Mechanics, q: FloatArray) -> FloatArray:
    """Return the mass matrix (T, nv, nv)."""
    return mb.mass_matrix(q) if isinstance(mb, ReducedTree) else rigid_body.mass_matrix(mb, q)


def integrate(mb: Mechanics, q: FloatArray, step: FloatArray) -> FloatArray:
    """Return the configurations (T, nq) after steps (T, nv)."""
    return mb.integrate(q, step) if isinstance(mb, ReducedTree) else rigid_body.integrate(mb, q, step)


def difference(mb: Mechanics, q0: FloatArray, q1: FloatArray) -> FloatArray:
    """Return the steps (T, nv) from q0 to q1."""
    return mb.difference(q0, q1) if isinstance(mb, ReducedTree) else rigid_body.difference(mb, q0, q1)


def coordinate_rates(mb: Mechanics, q: FloatArray, v: FloatArray) -> FloatArray:
    """Return dq/dt (T, nq)."""
    return mb.coordinate_rates(q, v) if isinstance(mb, ReducedTree) else rigid_body.coordinate_rates(mb, q, v)


# -- input between the recorded frames ----------------------------------------------------------------------------------
# The residual is applied as an external wrench on the root, about the world origin, in world axes, given in advance like the
# ground reaction. Only joint torques act inside the body then, so external wrenches alone determine its momentum, and only the
# posture drifts. "recorded": torques and wrenches of the frames with cubic splines between them. "recomputed": torques by
# inverse dynamics of the motion's own curve at that instant, so all drift is the error of the integrator, amplified by the
# body.

Torques = Literal["recorded", "recomputed"]
_DEGREE = 3
_BASE = 6  # velocity coordinates of the floating base


@dataclass(frozen=True)
class ReplayInput:
    """Forces and reference motion over one interval of a trial.

    Attributes:
        multibody: the tree. frames: first and last frame (inclusive). times_s: times of the frames.
        curve: the recorded motion at any time.
        forces: spline of [joint torques (nv - 6), residual wrench (6), ground wrenches (K * 6)].
        bodies: (1 + K,) bodies that the wrenches act on, the root first.
        torques: "recorded" or "recomputed".
    """

    multibody: Mechanics
    frames: tuple[int, int]
    times_s: FloatArray
    curve: ConfigurationSpline
    forces: BSpline
    bodies: IntArray
    torques: Torques

    def __call__(self, time_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return tau (N, nv), zero for the base, and wrenches (N, 1 + K, 6) at the times (N,) s."""
        mb = self.multibody
        values = self.forces(time_s)
        tau = np.zeros((len(values), mb.nv))
        tau[:, _BASE:] = values[:, : mb.nv - _BASE]
        wrenches = values[:, mb.nv - _BASE :].reshape(len(values), -1, 6).copy()
        if self.torques == "recomputed":
            q, v, vdot = self.curve(time_s)
            generalised = inverse_dynamics(mb, q, v, vdot, wrenches[:, 1:], self.bodies[1:])
            wrenches[:, 0] = residual_wrench(q, generalised)
            tau[:, _BASE:] = generalised[:, _BASE:]
        return tau, wrenches


def replay_inputs(actuated: ActuatedMotion, torques: Torques) -> tuple[ReplayInput, ...]:
    """Return the input of every interval of frames with known motion and forces; raise ResultError if none exists."""
    mb = actuated.mechanics
    if not has_free_root(mb):
        raise ResultError("A replay needs a body with one free-floating base.")
    bodies = np.concatenate([[0], actuated.wrench_bodies]).astype(np.int64)
    inputs = []
    for first, stop, start, end in actuated.known_stretches():
        rows = slice(start, end)
        q, tau = actuated.q[rows], actuated.tau[rows]
        wrenches = actuated.wrenches[rows].reshape(end - start, -1)
        forces = np.concatenate([tau[:, _BASE:], residual_wrench(q, tau), wrenches], axis=1)
        inputs.append(
            ReplayInput(
                multibody=mb,
                frames=(start, end - 1),
                times_s=actuated.time_s[rows],
                # all consecutive solved frames, as for v and vdot, so that the curve passes through them
                curve=fit_configuration_spline(actuated.time_s[first:stop], actuated.q[first:stop]),
                forces=make_interp_spline(actuated.time_s[rows], forces, k=_DEGREE),
                bodies=bodies,
                torques=torques,
            )
        )
    if not inputs:
        raise ResultError("No interval of the trial has motion and torques for a replay.")
    return tuple(inputs)


def residual_wrench(q: FloatArray, tau: FloatArray) -> FloatArray:
    """Return the generalised force of the base as a wrench (T, 6) about the world origin in world axes."""
    R, p = matrices_from_quaternions(q[:, 3:7]), q[:, :3]
    force = rotate_vectors(R, tau[:, 3:6])
    return np.concatenate([rotate_vectors(R, tau[:, :3]) + cross(p, force), force], axis=1)


# -- integration --------------------------------------------------------------------------------------------------------

Method = Literal["euler", "rk4", "solve_ivp"]
METHODS: tuple[Method, ...] = ("euler", "rk4", "solve_ivp")

#: Torques added at frame (W,), q (W, nq), v (W, nv), reference q and v: (W, nv).
Feedback = Callable[[IntArray, FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class ReplayedWindows:
    """Replayed windows: q (W, L + 1, nq), v (W, L + 1, nv) in the frames from each start; NaN after the end or if diverged.

    starts: (W,) first frame of each window, counted from the first of the interval.
    """

    starts: IntArray
    q: FloatArray
    v: FloatArray


def replay_windows(
    stretch: ReplayInput,
    starts: IntArray,
    length: int,
    method: Method = "rk4",
    steps: int = 4,
    feedback: Feedback | None = None,
) -> ReplayedWindows:
    """Integrate forward dynamics from the recorded state of each start over `length` frames.

    Args:
        starts: (W,) frames counted from the first frame of the interval. Windows end at its last frame.
        steps: number of equal steps per frame (euler, rk4). feedback: torques added to the recorded ones.
    """
    # a body that rotates faster has diverged from the recorded motion; continuing would overflow
    lost_rad_s = 300.0
    mb, last = stretch.multibody, len(stretch.times_s) - 1
    starts = np.asarray(starts, dtype=np.int64)
    q, v, _ = stretch.curve(stretch.times_s[starts])
    all_q = np.full((len(starts), length + 1, mb.nq), np.nan)
    all_v = np.full((len(starts), length + 1, mb.nv), np.nan)
    all_q[:, 0], all_v[:, 0] = q, v
    stepper = _Stepper(stretch, method, steps, feedback)
    for frame in range(length):
        alive = np.flatnonzero((starts + frame < last) & np.isfinite(all_q[:, frame]).all(axis=1))
        if not len(alive):
            break
        q, v = stepper(starts[alive] + frame, all_q[alive, frame], all_v[alive, frame])
        lost = ~(np.abs(v).max(axis=1) < lost_rad_s)  # NaN also counts as diverged
        q[lost], v[lost] = np.nan, np.nan
        all_q[alive, frame + 1], all_v[alive, frame + 1] = q, v
    return ReplayedWindows(starts, all_q, all_v)


@dataclass(frozen=True)
class _Stepper:
    """Integrates many windows over one frame."""

    stretch: ReplayInput
    method: Method
    steps: int
    feedback: Feedback | None

    def __call__(self, frames: IntArray, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        start = self.stretch.times_s[frames]
        if self.method == "solve_ivp":
            return self._adaptive_step(frames, start, q, v)
        # inputs of the whole frame at once, because a call costs more than the computation
        h = float(np.diff(self.stretch.times_s[:2])[0]) / self.steps
        nodes = self.steps * (2 if self.method == "rk4" else 1) + 1
        instants = start[:, None] + np.linspace(0.0, self.steps * h, nodes)
        inputs = _WindowInputs(self.stretch, frames, instants, self.feedback)
        step = self._euler_step if self.method == "euler" else self._rk4_step
        for k in range(self.steps):
            q, v = step(inputs, k, h, q, v)
        return q, v

    def _euler_step(
        self, inputs: _WindowInputs, k: int, h: float, q: FloatArray, v: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        v = v + h * inputs.acceleration(k, q, v)
        return integrate(self.stretch.multibody, q, h * v), v

    def _rk4_step(
        self, inputs: _WindowInputs, k: int, h: float, q: FloatArray, v: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        mb = self.stretch.multibody
        q1, v1 = coordinate_rates(mb, q, v), inputs.acceleration(2 * k, q, v)
        qa, va = q + 0.5 * h * q1, v + 0.5 * h * v1
        q2, v2 = coordinate_rates(mb, qa, va), inputs.acceleration(2 * k + 1, qa, va)
        qa, va = q + 0.5 * h * q2, v + 0.5 * h * v2
        q3, v3 = coordinate_rates(mb, qa, va), inputs.acceleration(2 * k + 1, qa, va)
        qa, va = q + h * q3, v + h * v3
        q4, v4 = coordinate_rates(mb, qa, va), inputs.acceleration(2 * k + 2, qa, va)
        q = q + h / 6.0 * (q1 + 2.0 * q2 + 2.0 * q3 + q4)
        return normalise_base_quaternion(q), v + h / 6.0 * (v1 + 2.0 * v2 + 2.0 * v3 + v4)

    def _adaptive_step(
        self, frames: IntArray, start: FloatArray, q: FloatArray, v: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        mb, shape = self.stretch.multibody, (len(q), -1)

        def state_derivative(s: float, x: FloatArray) -> FloatArray:
            state = x.reshape(shape)
            q, v = state[:, : mb.nq].copy(), state[:, mb.nq :].copy()
            inputs = _WindowInputs(self.stretch, frames, start[:, None] + s, self.feedback)
            return np.concatenate([coordinate_rates(mb, q, v), inputs.acceleration(0, q, v)], axis=1).ravel()

        span = float(np.diff(self.stretch.times_s[:2])[0])
        solution = scipy.integrate.solve_ivp(
            state_derivative,
            (0.0, span),
            np.concatenate([q, v], axis=1).ravel(),
            method="DOP853",
            rtol=1e-8,
            atol=1e-10,
        )
        state = solution.y[:, -1].reshape(shape)
        if not solution.success:
            state = np.full_like(state, np.nan)
        return normalise_base_quaternion(state[:, : mb.nq].copy()), state[:, mb.nq :].copy()


class _WindowInputs:
    """Forces on W windows at instants (W, N)."""

    def __init__(self, stretch: ReplayInput, frames: IntArray, instants: FloatArray, feedback: Feedback | None) -> None:
        windows, nodes = instants.shape
        tau, wrenches = stretch(instants.ravel())
        self.stretch, self.frames, self.feedback = stretch, frames, feedback
        self.tau = tau.reshape(windows, nodes, -1)
        self.wrenches = wrenches.reshape(windows, nodes, -1, 6)
        if feedback is not None:
            q, v, _ = stretch.curve(instants.ravel())
            self.q, self.v = q.reshape(windows, nodes, -1), v.reshape(windows, nodes, -1)

    def acceleration(self, node: int, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the accelerations (W, nv) in the state q, v with the inputs of a node."""
        tau = self.tau[:, node]
        if self.feedback is not None:
            tau = tau + self.feedback(self.frames, q, v, self.q[:, node], self.v[:, node])
        return forward_dynamics(self.stretch.multibody, q, v, tau, self.wrenches[:, node], self.stretch.bodies)


def normalise_base_quaternion(q: FloatArray) -> FloatArray:
    """Normalise the quaternion of the base in q (W, nq), in place."""
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    return q
