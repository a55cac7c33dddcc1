"""Rigid-body tree as arrays of links in topological order, its joint kinds, and wrenches along the tree.

A joint gives the pose of its link in the parent, R_PC(q) and p_PC(q), and its motion subspace S in link axes (Featherstone 2008,
section 4.4), which is constant for every kind: the apparent derivative of S is zero. Joints with several axes are chains of
one-axis joints with massless links.

| kind      | q                  | v                       | S                     |
|-----------|--------------------|-------------------------|-----------------------|
| WELD      | -                  | -                       | -                     |
| REVOLUTE  | angle              | rate                    | [axis; 0]             |
| PRISMATIC | travel             | rate                    | [0; slide]            |
| SPHERICAL | quaternion w x y z | omega in link axes      | [1; 0]                |
| FREE      | x y z, quaternion  | [omega; v] in link axes | 1                     |

Wrenches are in lane memory; the row of each link starts with its pose in the parent: R (9 fields), p (3).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from biodyn.conventions import FloatArray, IntArray
from biodyn.kernels.array_bundles import register_bundle
from biodyn.kernels.jit import inline
from biodyn.kernels.lanes import (
    WIDTH,
    broadcast_like,
    broadcast_like3,
    broadcast_like9,
    load3,
    load9,
    load_value,
    load_value3,
    sine_cosine,
    store3,
)
from biodyn.kernels.vec3 import (
    add,
    compose,
    cross,
    quaternion_to_matrix,
    rotate,
    rotate_back,
    row3,
    row9,
    select_column,
    sub,
)


@register_bundle
class Tree(NamedTuple):
    """Tree of n links; joint i moves link i, and parents precede their children.

    A link frame is the joint frame after the joint motion: x_P = R_PC(q) x_C + p_PC(q); R_PC = R_PJ and p_PC = p_PJ at q = 0.
    Matrices are stored row by row (9 numbers), symmetric ones as xx xy xz yy yz zz (6 numbers). SI units.
    """

    parent: IntArray  # (n,) index of the parent link, -1 = world
    kind: IntArray  # (n,) joint kind, see the table above
    idx_q: IntArray  # (n,) first coordinate of the joint in q
    idx_v: IntArray  # (n,) first coordinate in v, vdot, tau
    nv: IntArray  # (n,) number of velocity coordinates
    dof_link: IntArray  # (nv,) link of each velocity coordinate
    dof_parent: IntArray  # (nv,) preceding velocity coordinate on the path from the root, -1 = none
    dof_depth: IntArray  # (nv,) number of velocity coordinates before it on the path from the root
    dof_path: IntArray  # (nv, deepest + 1) coordinates on the path to each coordinate by depth, itself last, then -1
    R_PJ: FloatArray  # (n, 9) placement of the joint frame in the parent link
    p_PJ: FloatArray  # (n, 3)
    axis: FloatArray  # (n, 3) angular part of a one-axis joint's motion (unit, or zero: prismatic)
    slide: FloatArray  # (n, 3) linear part of a one-axis joint's motion (zero: revolute)
    p_slide: FloatArray  # (n, 3) R_PJ slide
    R_fixed: FloatArray  # (n, 9) one-axis joint: R_PC = R_fixed + sin(q) R_sin + cos(q) R_cos
    R_sin: FloatArray  # (n, 9)
    R_cos: FloatArray  # (n, 9)
    mass: FloatArray  # (n,) kg
    first_moment: FloatArray  # (n, 3) mass times the centre of mass from the link origin, link axes
    inertia_origin: FloatArray  # (n, 6) about the link origin, link axes, kg m^2
    gravity_W: FloatArray  # (3,) m/s^2


WELD: Final = 0
REVOLUTE: Final = 1
PRISMATIC: Final = 2
SPHERICAL: Final = 3
FREE: Final = 4


@inline
def combine_rotations(fixed, by_sine, by_cosine, s, c):
    """Return fixed + s by_sine + c by_cosine: a rotation about any axis after any fixed rotation, in 18 products."""
    return (
        fixed[0] + s * by_sine[0] + c * by_cosine[0],
        fixed[1] + s * by_sine[1] + c * by_cosine[1],
        fixed[2] + s * by_sine[2] + c * by_cosine[2],
        fixed[3] + s * by_sine[3] + c * by_cosine[3],
        fixed[4] + s * by_sine[4] + c * by_cosine[4],
        fixed[5] + s * by_sine[5] + c * by_cosine[5],
        fixed[6] + s * by_sine[6] + c * by_cosine[6],
        fixed[7] + s * by_sine[7] + c * by_cosine[7],
        fixed[8] + s * by_sine[8] + c * by_cosine[8],
    )


@inline
def joint_pose(tree, i, q):
    """Return (R_PC, p_PC) of link i in its parent; q is LaneMemory or a float array."""
    kind, at = tree.kind[i], tree.idx_q[i]
    R = broadcast_like9(q, row9(tree.R_fixed, i))
    p = broadcast_like3(q, row3(tree.p_PJ, i))
    if kind == REVOLUTE or kind == PRISMATIC:
        s, c = sine_cosine(q, at)
        R = combine_rotations(R, row9(tree.R_sin, i), row9(tree.R_cos, i), s, c)
        if kind == PRISMATIC:
            angle, slide = load_value(q, at), row3(tree.p_slide, i)
            p = (p[0] + angle * slide[0], p[1] + angle * slide[1], p[2] + angle * slide[2])
    elif kind == SPHERICAL or kind == FREE:
        if kind == FREE:
            p = add(p, rotate(row9(tree.R_PJ, i), load_value3(q, at)))
            at += 3
        turn = quaternion_to_matrix(
            load_value(q, at), load_value(q, at + 1), load_value(q, at + 2), load_value(q, at + 3)
        )
        R = compose(row9(tree.R_PJ, i), turn)
    return R, p


@inline
def joint_motion(tree, i, v):
    """Return S v = (angular, linear) of joint i in link axes; v is LaneMemory or a float array."""
    kind, at = tree.kind[i], tree.idx_v[i]
    zero = broadcast_like(v, 0.0)
    angular = (zero, zero, zero)
    linear = (zero, zero, zero)
    if kind == REVOLUTE or kind == PRISMATIC:
        rate = load_value(v, at)
        axis, slide = row3(tree.axis, i), row3(tree.slide, i)
        angular = (rate * axis[0], rate * axis[1], rate * axis[2])
        if kind == PRISMATIC:
            linear = (rate * slide[0], rate * slide[1], rate * slide[2])
    elif kind == SPHERICAL or kind == FREE:
        angular = load_value3(v, at)
        if kind == FREE:
            linear = load_value3(v, at + 3)
    return angular, linear


@inline
def joint_column(tree, i, k, R_WB, p_OB):
    """Return column k of S of joint i as (angular, linear) in world axes at the point O.

    R_WB: rotation of the link; p_OB: origin of the link relative to O, in world axes.
    """
    kind = tree.kind[i]
    if kind == REVOLUTE or kind == PRISMATIC:
        angular = rotate(R_WB, row3(tree.axis, i))
        linear = cross(p_OB, angular)
        if kind == PRISMATIC:
            linear = add(linear, rotate(R_WB, row3(tree.slide, i)))
    else:
        c = k % 3
        angular = select_column(R_WB, c)
        linear = cross(p_OB, angular)
        if k >= 3:
            linear = angular
            angular = sub(angular, angular)
    return angular, linear


@inline
def add_wrench_to_parent(links, here, there, force, n, f):
    """Add the wrench (n, f) of the link in row `here` to that of its parent in row `there`; `force`: field of n, then f."""
    R, p = load9(links, here), load3(links, here + 9)
    f_P = rotate(R, f)
    n_P = add(rotate(R, n), cross(p, f_P))
    store3(links, there + force, add(load3(links, there + force), n_P))
    store3(links, there + force + 3, add(load3(links, there + force + 3), f_P))


@inline
def load_wrench(wrenches, k, first, memory):
    """Return wrench k of frames first .. first + WIDTH - 1 of (T, K, 6) as (moment, force); uses six fields of memory."""
    last = wrenches.shape[0] - 1
    for lane in range(WIDTH):
        row = min(first + lane, last)
        for j in range(6):
            memory[j * WIDTH + lane] = wrenches[row, k, j]
    return load3(memory, 0), load3(memory, 3)


@inline
def subtract_wrench(links, row, force, path, start, end, n, f):
    """Subtract the wrench (n, f) about the world origin from the last link of path[start:end] (links from the root outwards).

    row: number of fields per link; row 0 is that of the world.
    """
    for k in range(start, end):
        here = (path[k] + 1) * row
        R, p = load9(links, here), load3(links, here + 9)
        n = rotate_back(R, sub(n, cross(p, f)))
        f = rotate_back(R, f)
    here = (path[end - 1] + 1) * row + force
    store3(links, here, sub(load3(links, here), n))
    store3(links, here + 3, sub(load3(links, here + 3), f))
