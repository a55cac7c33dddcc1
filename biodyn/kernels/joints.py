"""The joint kinds, known here and nowhere else among the kernels (Featherstone 2008, section 4.4).

A joint gives the pose of its link in the parent, R_PC(q) and p_PC(q), and its motion subspace S in link axes, which
is constant for every kind: the apparent derivative of S is zero. Joints with several axes are chains of one-axis
joints (built in rigid_body/multibody.py), so these five kinds are enough.

| kind      | q                | v                       | S                          |
|-----------|------------------|-------------------------|----------------------------|
| WELD      | -                | -                       | -                          |
| REVOLUTE  | angle            | rate                    | [axis; 0]                  |
| SCREW     | angle or travel  | rate                    | [axis; slide]              |
| SPHERICAL | quaternion w x y z | omega in link axes    | [1; 0]                     |
| FREE      | x y z, quaternion  | [omega; v] in link axes | 1                        |
"""

from __future__ import annotations

from typing import Final

from biodyn.kernels.jit import inline
from biodyn.kernels.lanes import constant, constant3, constant9, sine_cosine, value, value3
from biodyn.kernels.vec3 import add, compose, cross, quaternion_to_matrix, rotate, row3, row9, select_column, sub

WELD: Final = 0
REVOLUTE: Final = 1
SCREW: Final = 2  # prismatic or helical
SPHERICAL: Final = 3
FREE: Final = 4


@inline
def turned(fixed, by_sine, by_cosine, s, c):
    """Return fixed + s by_sine + c by_cosine: a rotation about any axis behind any placement, in 18 products."""
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
    R = constant9(q, row9(tree.R_fixed, i))
    p = constant3(q, row3(tree.p_PJ, i))
    if kind == REVOLUTE or kind == SCREW:
        s, c = sine_cosine(q, at)
        R = turned(R, row9(tree.R_sin, i), row9(tree.R_cos, i), s, c)
        if kind == SCREW:
            angle, slide = value(q, at), row3(tree.p_slide, i)
            p = (p[0] + angle * slide[0], p[1] + angle * slide[1], p[2] + angle * slide[2])
    elif kind == SPHERICAL or kind == FREE:
        if kind == FREE:
            p = add(p, rotate(row9(tree.R_PJ, i), value3(q, at)))
            at += 3
        turn = quaternion_to_matrix(value(q, at), value(q, at + 1), value(q, at + 2), value(q, at + 3))
        R = compose(row9(tree.R_PJ, i), turn)
    return R, p


@inline
def joint_motion(tree, i, v):
    """Return S v = (angular, linear) of joint i in link axes; v is LaneMemory or a float array."""
    kind, at = tree.kind[i], tree.idx_v[i]
    zero = constant(v, 0.0)
    angular = (zero, zero, zero)
    linear = (zero, zero, zero)
    if kind == REVOLUTE or kind == SCREW:
        rate = value(v, at)
        axis, slide = row3(tree.axis, i), row3(tree.slide, i)
        angular = (rate * axis[0], rate * axis[1], rate * axis[2])
        if kind == SCREW:
            linear = (rate * slide[0], rate * slide[1], rate * slide[2])
    elif kind == SPHERICAL or kind == FREE:
        angular = value3(v, at)
        if kind == FREE:
            linear = value3(v, at + 3)
    return angular, linear


@inline
def joint_column(tree, i, k, R_WB, p_OB):
    """Return column k of S of joint i as (angular, linear) in world axes at the point O.

    R_WB: the link's rotation; p_OB: the link's origin from O in world axes.
    """
    kind = tree.kind[i]
    if kind == REVOLUTE or kind == SCREW:
        angular = rotate(R_WB, row3(tree.axis, i))
        linear = cross(p_OB, angular)
        if kind == SCREW:
            linear = add(linear, rotate(R_WB, row3(tree.slide, i)))
    else:
        c = k % 3
        angular = select_column(R_WB, c)
        linear = cross(p_OB, angular)
        if k >= 3:
            linear = angular
            angular = sub(angular, angular)
    return angular, linear
