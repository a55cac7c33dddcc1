"""Poses, velocities and accelerations of all links, and steps on the configuration manifold.

Outwards (Featherstone 2008, section 5.3, eqs 5.8):
    X_WC = X_WP X_PC(q),   v_C = cXp v_P + S qd,   a_C = cXp a_P + S qdd + v_C x S qd      (a_world = 0)

Steps q (+) d and q1 (-) q0: rotations follow exp and log of SO(3), free joints exp and log of SE(3), so that a step with a
constant body-frame twist is exact (Murray, Li & Sastry 1994, section 2.3; Sola et al. 2018, arXiv:1812.01537, section V).
"""

from __future__ import annotations

import math

from biodyn.kernels.jit import inline, kernel
from biodyn.kernels.lanes import WIDTH, LaneMemory, copy_from_frames, copy_to_frames, load3, load9, store3, store9
from biodyn.kernels.tree import FREE, PRISMATIC, REVOLUTE, SPHERICAL, Tree, joint_motion, joint_pose
from biodyn.kernels.vec3 import add, add_scaled, compose, cross, quaternion_to_matrix, rotate, rotate_back, scale, sub


@inline
def shift_motion(R, p, w_P, u_P):
    """Transform the motion vector (w_P, u_P) of the parent to the origin and axes of the child: cXp [w; u]."""
    return rotate_back(R, w_P), rotate_back(R, add(u_P, cross(w_P, p)))


@kernel
def fill_link_poses(tree, q, R_WB, p_WB, work):
    """Fill R_WB (T, 9 n), row by row, and p_WB (T, 3 n) of the n links for q (T, nq)."""
    n = tree.parent.shape[0]
    R_lanes, p_lanes = work, work[9 * n * WIDTH :]
    q_lanes = work[12 * n * WIDTH :]
    for first in range(0, q.shape[0], WIDTH):
        copy_from_frames(q_lanes, q, first)
        for i in range(n):
            R, p = joint_pose(tree, i, LaneMemory(q_lanes))
            parent = tree.parent[i]
            if parent >= 0:
                R_WP = load9(R_lanes, 9 * parent)
                p = add(rotate(R_WP, p), load3(p_lanes, 3 * parent))
                R = compose(R_WP, R)
            store9(R_lanes, 9 * i, R)
            store3(p_lanes, 3 * i, p)
        copy_to_frames(R_lanes, R_WB, first)
        copy_to_frames(p_lanes, p_WB, first)


@kernel
def fill_link_motion(tree, q, v, vdot, velocity, acceleration, work):
    """Fill velocity and acceleration (T, 6 n), [angular; linear] of the link origins in link axes.

    q (T, nq), v, vdot (T, nv). Spatial acceleration: the linear part lacks omega x v (Featherstone 2008, eq. 2.46).
    """
    n = tree.parent.shape[0]
    nv = v.shape[1]
    v_lanes, vdot_lanes = work[12 * n * WIDTH :], work[(12 * n + nv) * WIDTH :]
    q_lanes = work[(12 * n + 2 * nv) * WIDTH :]
    velocities, accelerations = work, work[6 * n * WIDTH :]
    for first in range(0, q.shape[0], WIDTH):
        copy_from_frames(q_lanes, q, first)
        copy_from_frames(v_lanes, v, first)
        copy_from_frames(vdot_lanes, vdot, first)
        for i in range(n):
            R, p = joint_pose(tree, i, LaneMemory(q_lanes))
            w, u = joint_motion(tree, i, LaneMemory(v_lanes))
            dw, du = joint_motion(tree, i, LaneMemory(vdot_lanes))
            parent = tree.parent[i]
            if parent >= 0:
                w_J, u_J = w, u
                w, u = shift_motion(R, p, load3(velocities, 6 * parent), load3(velocities, 6 * parent + 3))
                w, u = add(w, w_J), add(u, u_J)
                dw_P, du_P = shift_motion(R, p, load3(accelerations, 6 * parent), load3(accelerations, 6 * parent + 3))
                dw = add(add(dw, dw_P), cross(w, w_J))
                du = add(add(du, du_P), add(cross(w, u_J), cross(u, w_J)))
            store3(velocities, 6 * i, w)
            store3(velocities, 6 * i + 3, u)
            store3(accelerations, 6 * i, dw)
            store3(accelerations, 6 * i + 3, du)
        copy_to_frames(velocities, velocity, first)
        copy_to_frames(accelerations, acceleration, first)


def work_size(tree: Tree) -> int:
    """Return the size of the array `work` of the kernels of this file."""
    n, nv = tree.parent.shape[0], tree.dof_link.shape[0]
    return (12 * n + 3 * nv + n) * WIDTH


@inline
def quaternion_product(a, b):
    """Return the product of two quaternions w x y z."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@inline
def rotate_quaternion(w, x, y, z, r):
    """Return the unit quaternion (w x y z) exp(r) of a rotation followed by the rotation vector r in its own axes."""
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    angle = math.sqrt(square)
    # sin(angle / 2) / angle, or its series if the quotient would lose digits
    s = 0.5 - square / 48.0 if angle < 1e-4 else math.sin(0.5 * angle) / angle
    a = quaternion_product((w, x, y, z), (math.cos(0.5 * angle), s * r[0], s * r[1], s * r[2]))
    norm = 1.0 / math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3])
    return (a[0] * norm, a[1] * norm, a[2] * norm, a[3] * norm)


@inline
def rotation_vector(w0, x0, y0, z0, w1, x1, y1, z1):
    """Return log(R0^T R1), the rotation vector with an angle of at most pi."""
    w, x, y, z = quaternion_product((w0, -x0, -y0, -z0), (w1, x1, y1, z1))
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    s = math.sqrt(x * x + y * y + z * z)
    factor = 2.0 / w if s < 1e-10 * w else 2.0 * math.atan2(s, w) / s
    return (factor * x, factor * y, factor * z)


@inline
def _exponential_coefficients(r):
    """Return (1 - cos a) / a^2 and (a - sin a) / a^3 of the angle a = |r|."""
    square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2]
    if square < 1e-4:
        return 0.5 - square / 24.0 + square * square / 720.0, 1.0 / 6.0 - square / 120.0 + square * square / 5040.0
    angle = math.sqrt(square)
    return (1.0 - math.cos(angle)) / square, (angle - math.sin(angle)) / (square * angle)


@inline
def _logarithm_coefficient(square):
    """Return (1 - (a/2) cot(a/2)) / a^2 of the squared angle."""
    if square < 1e-4:
        return 1.0 / 12.0 + square / 720.0 + square * square / 30240.0
    half = 0.5 * math.sqrt(square)
    return (1.0 - half * math.cos(half) / math.sin(half)) / square


@inline
def inverse_left_jacobian(r):
    """Return J^-1 with log(exp(-d) exp(r)) = r - J^-1 d: 1 - [r]/2 + c [r]^2 (Sola et al. 2018, eq. 146)."""
    x, y, z = r
    c = _logarithm_coefficient(x * x + y * y + z * z)
    return (
        1.0 - c * (y * y + z * z),
        0.5 * z + c * x * y,
        -0.5 * y + c * x * z,
        -0.5 * z + c * x * y,
        1.0 - c * (x * x + z * z),
        0.5 * x + c * y * z,
        0.5 * y + c * x * z,
        -0.5 * x + c * y * z,
        1.0 - c * (x * x + y * y),
    )


@kernel
def integrate(tree, q, step, result):
    """Fill result (T, nq) = q (+) step for q (T, nq), step (T, nv) = v dt."""
    for t in range(q.shape[0]):
        for i in range(tree.parent.shape[0]):
            kind, a, b = tree.kind[i], tree.idx_q[i], tree.idx_v[i]
            if kind == REVOLUTE or kind == PRISMATIC:
                result[t, a] = q[t, a] + step[t, b]
            elif kind == SPHERICAL or kind == FREE:
                r = (step[t, b], step[t, b + 1], step[t, b + 2])
                if kind == FREE:
                    u = (step[t, b + 3], step[t, b + 4], step[t, b + 5])
                    # V u = u + (1 - cos a)/a^2 r x u + (a - sin a)/a^3 r x (r x u)
                    c1, c2 = _exponential_coefficients(r)
                    ru = cross(r, u)
                    shift = add(u, add(scale(ru, c1), scale(cross(r, ru), c2)))
                    R = quaternion_to_matrix(q[t, a + 3], q[t, a + 4], q[t, a + 5], q[t, a + 6])
                    p = add((q[t, a], q[t, a + 1], q[t, a + 2]), rotate(R, shift))
                    result[t, a], result[t, a + 1], result[t, a + 2] = p
                    a += 3
                turned = rotate_quaternion(q[t, a], q[t, a + 1], q[t, a + 2], q[t, a + 3], r)
                result[t, a], result[t, a + 1], result[t, a + 2], result[t, a + 3] = turned


@kernel
def difference(tree, q0, q1, step):
    """Fill step (T, nv) such that q0 (+) step = q1; q0, q1 (T, nq). Rotation angles are at most pi."""
    for t in range(q0.shape[0]):
        for i in range(tree.parent.shape[0]):
            kind, a, b = tree.kind[i], tree.idx_q[i], tree.idx_v[i]
            if kind == REVOLUTE or kind == PRISMATIC:
                step[t, b] = q1[t, a] - q0[t, a]
            elif kind == SPHERICAL or kind == FREE:
                at = a + 3 if kind == FREE else a
                w, x, y, z = q0[t, at], q0[t, at + 1], q0[t, at + 2], q0[t, at + 3]
                r = rotation_vector(w, x, y, z, q1[t, at], q1[t, at + 1], q1[t, at + 2], q1[t, at + 3])
                step[t, b], step[t, b + 1], step[t, b + 2] = r
                if kind == FREE:
                    shift = sub((q1[t, a], q1[t, a + 1], q1[t, a + 2]), (q0[t, a], q0[t, a + 1], q0[t, a + 2]))
                    shift = rotate_back(quaternion_to_matrix(w, x, y, z), shift)
                    # V^-1 m = m - r x m / 2 + (1 - (a/2) cot(a/2)) / a^2  r x (r x m)
                    c = _logarithm_coefficient(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
                    rm = cross(r, shift)
                    u = add_scaled(add_scaled(shift, rm, -0.5), cross(r, rm), c)
                    step[t, b + 3], step[t, b + 4], step[t, b + 5] = u


@kernel
def coordinate_rates(tree, q, v, rates):
    """Fill rates (T, nq) = dq/dt for q (T, nq), v (T, nv)."""
    for t in range(q.shape[0]):
        for i in range(tree.parent.shape[0]):
            kind, a, b = tree.kind[i], tree.idx_q[i], tree.idx_v[i]
            if kind == REVOLUTE or kind == PRISMATIC:
                rates[t, a] = v[t, b]
            elif kind == SPHERICAL or kind == FREE:
                at = a + 3 if kind == FREE else a
                turn = (q[t, at], q[t, at + 1], q[t, at + 2], q[t, at + 3])
                rate = quaternion_product(turn, (0.0, 0.5 * v[t, b], 0.5 * v[t, b + 1], 0.5 * v[t, b + 2]))
                rates[t, at], rates[t, at + 1], rates[t, at + 2], rates[t, at + 3] = rate
                if kind == FREE:
                    R = quaternion_to_matrix(turn[0], turn[1], turn[2], turn[3])
                    shift = rotate(R, (v[t, b + 3], v[t, b + 4], v[t, b + 5]))
                    rates[t, a], rates[t, a + 1], rates[t, a + 2] = shift
