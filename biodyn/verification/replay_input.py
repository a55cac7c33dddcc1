"""Input of the forward dynamics between the recorded frames: torques, ground wrenches and the base residual at any time.

The residual is applied as what it is, an external wrench: on the root, about the world origin, in world axes, given in
advance like the ground reaction. Nothing but the joint torques then acts inside the body, so the whole body's momentum
follows from the external wrenches alone, and what drifts is the posture.

Two ways to fill the time between frames:
- recorded: torques and wrenches of the frames, cubic splines between them: what the result folder says, no more;
- recomputed: wrenches as before, torques from inverse dynamics of the motion's own curve at that instant. The curve then
  solves the equations of motion exactly, and all drift is the integrator's error, amplified by the body's instability.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from biodyn.conventions import FloatArray, IntArray
from biodyn.errors import ResultError
from biodyn.geometry.rotations import apply, cross, matrices_from_quaternions
from biodyn.processing.dynamics.actuated import ActuatedMotion
from biodyn.processing.signals.derivatives import ConfigurationSpline, configuration_spline
from biodyn.verification.mechanics import Mechanics, centre_of_mass, floats, inverse_dynamics

Torques = Literal["recorded", "recomputed"]
_DEGREE = 3
_BASE = 6  # velocity coordinates of the floating base


@dataclass(frozen=True)
class ReplayInput:
    """Forces and reference motion over one stretch of a trial.

    Attributes:
        multibody: the tree. frames: first and last frame (inclusive). times_s: theirs.
        curve: the recorded motion at any time.
        forces: spline of [joint torques (nv - 6), residual wrench (6), ground wrenches (K * 6)].
        bodies: (1 + K,) bodies that the wrenches act on, the root first.
        torques: recorded or recomputed.
    """

    multibody: Mechanics
    frames: tuple[int, int]
    times_s: FloatArray
    curve: ConfigurationSpline
    forces: BSpline
    bodies: IntArray
    torques: Torques

    def reference(self, time_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, v, vdot of the recorded motion at the times (N,) s."""
        return self.curve(time_s)

    def __call__(self, time_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return tau (N, nv), zero for the base, and wrenches (N, 1 + K, 6) at the times (N,) s."""
        mb = self.multibody
        values = self.forces(time_s)
        tau = np.zeros((len(values), mb.nv))
        tau[:, _BASE:] = values[:, : mb.nv - _BASE]
        wrenches = values[:, mb.nv - _BASE :].reshape(len(values), -1, 6).copy()
        if self.torques == "recomputed":
            q, v, vdot = self.curve(time_s)
            found = inverse_dynamics(mb, q, v, vdot, wrenches[:, 1:], self.bodies[1:])
            wrenches[:, 0] = residual_wrench(q, found)
            tau[:, _BASE:] = found[:, _BASE:]
        return tau, wrenches


def replay_inputs(actuated: ActuatedMotion, torques: Torques) -> tuple[ReplayInput, ...]:
    """Return the input for every stretch of frames with known motion and forces; ResultError if there is none."""
    mb, kinds = actuated.mechanics, actuated.coordinate_kinds()
    if not floats(mb):
        raise ResultError("A replay needs a body with one free-floating base.")
    bodies = np.concatenate([[0], actuated.wrench_bodies]).astype(np.int64)
    found = []
    for first, stop, start, end in actuated.stretches():
        rows = slice(start, end)
        q, tau = actuated.q[rows], actuated.tau[rows]
        wrenches = actuated.wrenches[rows].reshape(end - start, -1)
        forces = np.concatenate([tau[:, _BASE:], residual_wrench(q, tau), wrenches], axis=1)
        found.append(
            ReplayInput(
                multibody=mb,
                frames=(start, end - 1),
                times_s=actuated.time_s[rows],
                # The whole run of solved frames, as when v and vdot were made: the curve passes through them again.
                curve=configuration_spline(actuated.time_s[first:stop], actuated.q[first:stop], kinds),
                forces=make_interp_spline(actuated.time_s[rows], forces, k=_DEGREE),
                bodies=bodies,
                torques=torques,
            )
        )
    if not found:
        raise ResultError("No stretch of the trial has motion and torques to replay.")
    return tuple(found)


def residual_wrench(q: FloatArray, tau: FloatArray) -> FloatArray:
    """Return the base's generalised force as a wrench (T, 6) about the world origin in world axes."""
    R, p = matrices_from_quaternions(q[:, 3:7]), q[:, :3]
    force = apply(R, tau[:, 3:6])
    return np.concatenate([apply(R, tau[:, :3]) + cross(p, force), force], axis=1)


def resting(actuated: ActuatedMotion, duration_s: float) -> ActuatedMotion:
    """Return the body standing still for a while in the posture of the first known frame: the rest case of a replay.

    The feet share the weight, which acts straight below the centre of mass, so the residual is zero; the torques hold the
    posture. A standing body is in balance, but not stably.
    """
    known = np.flatnonzero(actuated.known)
    if not len(known):
        raise ResultError("No frame of the trial has motion and torques to replay.")
    mb = actuated.mechanics
    frames = max(round(duration_s * actuated.rate_hz), 1) + 1
    q = np.repeat(actuated.q[known[:1]], frames, axis=0)
    still = np.zeros((frames, mb.nv))
    support = -mb.total_mass_kg * np.array(mb.gravity_W)
    wrench = np.concatenate([np.cross(centre_of_mass(mb, q[:1])[0], support), support])
    feet = len(actuated.wrench_bodies)
    wrenches = np.broadcast_to(wrench / max(feet, 1), (frames, feet, 6)).copy()
    tau = inverse_dynamics(mb, q, still, still, wrenches, actuated.wrench_bodies)
    return replace(
        actuated,
        time_s=np.arange(frames) / actuated.rate_hz,
        q=q,
        v=still,
        vdot=still,
        tau=tau,
        wrenches=wrenches,
        measured=np.ones(frames, dtype=bool),
    )
