"""Compile the kernels before they are needed, and tell whether that will take a while."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.kernels import aba, crba, energetics, id_derivatives, ik, kinematics, manifold, rnea, storage
from biodyn.kernels.jit import is_cached
from biodyn.kernels.watch import COMPILING, tell
from biodyn.rigid_body.algorithms import (
    body_poses,
    difference,
    energies,
    forward_dynamics,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    joint_jacobians,
    mass_matrix,
)
from biodyn.rigid_body.joint import Body, Joint
from biodyn.rigid_body.marker_fit import inverse_kinematics
from biodyn.rigid_body.multibody import Multibody


def trial_kernels() -> tuple[Any, ...]:
    """Return the kernels that the analysis of a trial calls: these and no others, a test watches."""
    return (
        ik.inverse_kinematics,
        rnea.inverse_dynamics,
        aba.forward_dynamics,
        crba.mass_matrix,
        crba.joint_columns,
        id_derivatives.inverse_dynamics_derivatives,
        kinematics.poses,
        energetics.whole_body,
        manifold.difference,
    )


def is_compiled() -> bool:
    """Tell whether the kernels of a trial are compiled for this processor already, in memory or on disk."""
    return all(kernel.signatures or is_cached(kernel) for kernel in trial_kernels())


def _tiny() -> tuple[Multibody, FloatArray, FloatArray]:
    """Return a model of two bodies and one frame of its state."""
    inertia = 0.01 * np.eye(3)
    foot = Body("foot", "trunk", Joint("revolute", (0.0, 0.0, 1.0)), mass_kg=1.0, inertia_com=inertia)
    trunk = Body("trunk", None, Joint("free"), mass_kg=1.0, inertia_com=inertia)
    mb = Multibody((trunk, foot))
    return mb, mb.neutral()[None], np.zeros((1, mb.nv))


def compile_kinematics() -> None:
    """Compile, or load, what the fit of markers and the differentiation of its motion need."""
    mb, q, _ = _tiny()
    p_BM = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]])
    inverse_kinematics(mb, np.array([0, 0, 0, 0, 1]), p_BM, p_BM[None], np.ones(5))
    body_poses(mb, q)
    difference(mb, q, q)


def compile_dynamics() -> None:
    """Compile, or load, what forces, momentum, energies and the bands of the torques need."""
    mb, q, v = _tiny()
    wrenches = np.zeros((1, 1, 6))
    inverse_dynamics(mb, q, v, v, wrenches, [1])
    forward_dynamics(mb, q, v, v, wrenches, [1])
    mass_matrix(mb, q)
    joint_jacobians(mb, q)
    inverse_dynamics_derivatives(mb, q, v, v, wrenches, [1])
    energies(mb, q, v)


def warm_up() -> None:
    """Compile, or load from disk, the kernels of a trial by running each on one frame of a tiny model.

    Where there is a second processor, half of the first compilation runs there, in a process of its own that leaves its
    result on disk; should that fail, this process does it.
    """
    helper = None
    kept = storage.storage().writable is not None
    if kept and not is_compiled() and (os.cpu_count() or 1) > 1 and sys.executable:
        tell(COMPILING)
        command = f"from {__name__} import compile_dynamics; compile_dynamics()"
        quiet = subprocess.DEVNULL
        helper = subprocess.Popen([sys.executable, "-c", command], stdin=quiet, stdout=quiet, stderr=quiet)
    compile_kinematics()
    if helper is not None:
        helper.wait()
    compile_dynamics()
