"""Motion of every segment and the forces it asks for, from Newton's and Euler's laws in world axes.

Written to check the recursive algorithms, so it shares nothing with them: no spatial vectors, no link frames, no compiled
kernels; classical velocities and accelerations of points, each segment taken by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.geometry.rotations import apply, axis_angle, cross, matrices_from_quaternions
from biodyn.rigid_body import Multibody


@dataclass(frozen=True)
class SegmentMotion:
    """Every body's motion in World; B bodies, classical (not spatial) accelerations of points.

    Attributes:
        R_WB, p_WB: (T, B, 3, 3), (T, B, 3) m poses.
        omega, alpha: (T, B, 3) angular velocity and acceleration, rad/s, rad/s^2.
        velocity: (T, B, 3) of the body origin, m/s.
        com, com_velocity, com_acceleration: (T, B, 3) of the centre of mass.
        axes: (T, B, 3) direction of a one-axis joint in World, zero for others.
    """

    R_WB: FloatArray
    p_WB: FloatArray
    omega: FloatArray
    alpha: FloatArray
    velocity: FloatArray
    com: FloatArray
    com_velocity: FloatArray
    com_acceleration: FloatArray
    axes: FloatArray


def segment_motion(mb: Multibody, q: FloatArray, v: FloatArray, vdot: FloatArray) -> SegmentMotion:
    """Return the motion of all bodies for q (T, nq), v, vdot (T, nv).

    Raises ModelError for joints other than free (at the root), weld, revolute and prismatic: trees of skeletons have
    no others.
    """
    T, B = len(q), len(mb.bodies)
    R_WB, p_WB = np.empty((B, T, 3, 3)), np.empty((B, T, 3))
    w, alpha, u, a, axes = (np.zeros((B, T, 3)) for _ in range(5))
    for i, body in enumerate(mb.bodies):
        kind, parent = body.joint.kind, int(mb.parents[i])
        at_q, at_v = mb.q_slice(body.name), mb.v_slice(body.name)
        if kind == "free" and parent < 0 and np.array_equal(body.R_PJ, np.eye(3)) and not body.p_PJ.any():
            R = R_WB[i] = matrices_from_quaternions(q[:, at_q][:, 3:])
            p_WB[i] = q[:, at_q][:, :3]
            twist, rate = v[:, at_v], vdot[:, at_v]
            w[i], u[i], alpha[i] = apply(R, twist[:, :3]), apply(R, twist[:, 3:]), apply(R, rate[:, :3])
            # vdot holds the derivatives of body components: the point's acceleration has omega x v besides.
            a[i] = apply(R, rate[:, 3:]) + cross(w[i], u[i])
            continue
        if kind not in ("weld", "revolute", "prismatic") or parent < 0:
            raise ModelError(
                f"Segment motion of body '{body.name}' needs a weld, revolute or prismatic joint, found {kind}."
            )
        R_WP, w_P, alpha_P = R_WB[parent], w[parent], alpha[parent]
        R = R_WP @ body.R_PJ
        r = R_WP @ body.p_PJ  # from the parent's origin to the joint, in World
        w[i], alpha[i] = w_P, alpha_P
        slide = slide_rate = slide_rate_dot = None
        if body.joint.axis is not None:
            axis = np.array(body.joint.axis)
            angle, rate, rate_dot = (x[:, at].reshape(T, 1) for x, at in ((q, at_q), (v, at_v), (vdot, at_v)))
            e = axes[i] = R @ axis
            if kind == "revolute":
                R = R @ axis_angle(axis, angle[:, 0])
                w[i] = w_P + rate * e
                alpha[i] = alpha_P + rate_dot * e + cross(w_P, rate * e)
            else:
                slide, slide_rate, slide_rate_dot = angle * e, rate * e, rate_dot * e
                r = r + slide
        R_WB[i] = R
        p_WB[i] = p_WB[parent] + r
        u[i] = u[parent] + cross(w_P, r)
        a[i] = a[parent] + cross(alpha_P, r) + cross(w_P, cross(w_P, r))
        if slide_rate is not None and slide_rate_dot is not None:
            u[i] += slide_rate
            a[i] += slide_rate_dot + 2.0 * cross(w_P, slide_rate)  # Coriolis
    com_B = np.stack([body.com_m for body in mb.bodies])
    arm = (R_WB @ com_B[:, None, :, None])[..., 0]
    spin = cross(w, arm)
    parts = (
        R_WB,
        p_WB,
        w,
        alpha,
        u,
        p_WB + arm,
        u + spin,
        a + cross(alpha, arm) + cross(w, spin),
        axes,
    )
    return SegmentMotion(*(np.moveaxis(part, 0, 1) for part in parts))


@dataclass(frozen=True)
class SegmentForces:
    """What each body's motion asks for, all (T, B, ...), World axes, moments and momentum about the world origin.

    Attributes:
        inertial: (T, B, 6) rate of the body's momentum [angular; linear], Nm and N.
        weight: (T, B, 6) wrench of gravity.
        energy_rate: (T, B) rate of kinetic plus potential energy, W.
    """

    inertial: FloatArray
    weight: FloatArray
    energy_rate: FloatArray


def segment_forces(mb: Multibody, motion: SegmentMotion) -> SegmentForces:
    """Return Newton's and Euler's demands of every body by itself: m a and d(I omega)/dt, and the rate of its energy."""
    mass = np.array([body.mass_kg for body in mb.bodies])[:, None]
    inertia = np.stack([body.inertia_com for body in mb.bodies])
    loaded = np.flatnonzero(mass[:, 0] > 0.0)
    T, B = motion.com.shape[:2]
    spin_rate = np.zeros((T, B, 3))
    R, w, alpha = motion.R_WB[:, loaded], motion.omega[:, loaded], motion.alpha[:, loaded]
    I_W = R @ inertia[loaded] @ np.swapaxes(R, -1, -2)
    spin_rate[:, loaded] = apply(I_W, alpha) + cross(w, apply(I_W, w))
    force = mass * motion.com_acceleration
    g = np.array(mb.gravity_W)
    weight = np.broadcast_to(mass * g, (T, B, 3))
    return SegmentForces(
        inertial=np.concatenate([spin_rate + cross(motion.com, force), force], axis=-1),
        weight=np.concatenate([cross(motion.com, weight), weight], axis=-1),
        energy_rate=np.sum(
            force * motion.com_velocity + spin_rate * motion.omega - weight * motion.com_velocity, axis=-1
        ),
    )
