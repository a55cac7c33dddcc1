"""The rigid-body tree as the kernels see it: a NamedTuple of arrays, links in topological order."""

from __future__ import annotations

from typing import NamedTuple

from biodyn.conventions import FloatArray, IntArray
from biodyn.kernels.bundle import bundle


@bundle
class Tree(NamedTuple):
    """n links, link i moved by joint i; every parent comes before its children.

    A link frame is the joint frame after the joint motion: x_P = R_PC(q) x_C + p_PC(q), at q = 0 R_PJ and p_PJ.
    Matrices are stored row by row (9), symmetric ones as xx xy xz yy yz zz (6). SI units.
    """

    parent: IntArray  # (n,) index of the parent link, -1 = world
    kind: IntArray  # (n,) joint kind, see joints.py
    idx_q: IntArray  # (n,) first coordinate of the joint in q
    idx_v: IntArray  # (n,) first coordinate in v, vdot, tau
    nv: IntArray  # (n,) number of velocity coordinates
    dof_link: IntArray  # (nv,) link each velocity coordinate belongs to
    dof_parent: IntArray  # (nv,) velocity coordinate next towards the root, -1 = none
    dof_depth: IntArray  # (nv,) number of velocity coordinates before it on the path from the root
    dof_path: IntArray  # (nv, deepest + 1) the coordinate at each depth on the path to it, itself the last, then -1
    dof_blocks: IntArray  # where blocks of WIDTH numbers of M, row by row, begin that hold related coordinates
    R_PJ: FloatArray  # (n, 9) placement of the joint frame in the parent link
    p_PJ: FloatArray  # (n, 3)
    axis: FloatArray  # (n, 3) angular part of a one-axis joint's motion (unit, or zero: prismatic)
    slide: FloatArray  # (n, 3) linear part of a one-axis joint's motion (zero: revolute)
    p_slide: FloatArray  # (n, 3) R_PJ slide
    R_fixed: FloatArray  # (n, 9) one-axis joint: R_PC = R_fixed + sin(q) R_sin + cos(q) R_cos
    R_sin: FloatArray  # (n, 9)
    R_cos: FloatArray  # (n, 9)
    mass: FloatArray  # (n,) kg
    com: FloatArray  # (n, 3) p_BBcm, m
    inertia_com: FloatArray  # (n, 6) about the centre of mass, link axes, kg m^2
    first_moment: FloatArray  # (n, 3) mass * com
    inertia_origin: FloatArray  # (n, 6) about the link origin
    gravity_W: FloatArray  # (3,) m/s^2
