"""Compile the kernels before they are needed, and report whether compilation is pending."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.kernels import linear_algebra, recursive_filters, table_text
from biodyn.kernels.jit import CACHE_FOLDER, FOLDER_VARIABLE
from biodyn.rigid_body.dynamics import (
    forward_dynamics,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    mass_matrix,
    regressor,
)
from biodyn.rigid_body.kinematics import body_poses, difference, integrate, joint_jacobians
from biodyn.rigid_body.marker_fit import inverse_kinematics
from biodyn.rigid_body.multibody import Body, Joint, Multibody

Progress = Callable[[str], None]
_COMPLETE: Final = "complete"  # a file in the cache folder; it shows that the cache contains all kernels of a trial


def is_compiled() -> bool:
    """Return whether the kernels of a trial are already compiled, in this process or on disk."""
    return bool(linear_algebra.add_rows.signatures) or (
        CACHE_FOLDER is not None and (CACHE_FOLDER / _COMPLETE).exists()
    )


def compilation_note() -> str:
    """Return a sentence which states that kernels are being compiled, which takes time; "" if they are already compiled."""
    if is_compiled():
        return ""
    if CACHE_FOLDER is None:
        return (
            f"The kernels are compiled in every run, because no cache folder is writable. Set {FOLDER_VARIABLE} to "
            "a writable folder."
        )
    return f"Compiling the kernels of this command; they are stored in '{CACHE_FOLDER}' for later runs."


def _tiny_model() -> tuple[Multibody, FloatArray, FloatArray]:
    """Return a model of two bodies and its state in one frame."""
    inertia = 0.01 * np.eye(3)
    foot = Body("foot", "trunk", Joint("revolute", (0.0, 0.0, 1.0)), mass_kg=1.0, inertia_com=inertia)
    trunk = Body("trunk", None, Joint("free"), mass_kg=1.0, inertia_com=inertia)
    mb = Multibody((trunk, foot))
    return mb, mb.neutral_q()[None], np.zeros((1, mb.nv))


def _compilation_tasks() -> dict[str, Callable[[], object]]:
    """Return the functions that compile or load the kernels of a trial, by description."""
    mb, q, v = _tiny_model()
    p_BM = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]])
    loads = np.zeros((1, 1, 6))
    return {
        # includes poses
        "fit": lambda: inverse_kinematics(mb, np.array([0, 0, 0, 0, 1]), p_BM, p_BM[None], np.ones(5)),
        "derivatives": lambda: inverse_dynamics_derivatives(mb, q, v, v, loads, [1]),
        "forward": lambda: forward_dynamics(mb, q, v, v, loads, [1]),
        "inverse": lambda: inverse_dynamics(mb, q, v, v, loads, [1]),
        "mass": lambda: mass_matrix(mb, q),
        "columns": lambda: joint_jacobians(mb, q),
        "marker equations": lambda: _run_marker_equations(mb, q),
        "normal equations": lambda: _run_normal_equations(mb.nv),
        "regressor": lambda: regressor(mb, q, v, v),
        "difference": lambda: difference(mb, q, q),
        "integrate": lambda: integrate(mb, q, v),
        "poses": lambda: body_poses(mb, q),
        "filter": _run_filter,
        "banded": lambda: linear_algebra.solve_banded(np.ones((1, 1)), np.ones((1, 1))),
        "text": _run_table_writer,
    }


def _run_normal_equations(n: int) -> None:
    """Assemble the normal equations of n unknowns at one knot, to compile the kernels for them."""
    band, places, square, one, first = np.zeros((n, n)), np.arange(n), np.zeros((1, n, n)), np.ones(1), np.arange(1)
    linear_algebra.add_rows(band, n, 0, np.zeros((1, 1, 1, n)), places, np.zeros((1, n)))
    linear_algebra.add_weighted_products(band, 0, one, square)
    room = np.empty((1, 1, 1, 1)), np.empty((3, 1))
    linear_algebra.fill_spline_coefficient_rows(
        square, square, square, (0, 1), first, first, np.ones((3, 1)), one, one[None], *room
    )


def _run_filter() -> None:
    """Filter one sample, to compile the kernel for it."""
    work = np.empty((1 + recursive_filters.FILTER_ROWS, recursive_filters.LANES))
    recursive_filters.filter_zero_phase(np.ones((1, 1)), np.ones((1, 4)), work)


def _run_table_writer() -> None:
    """Write a table that contains one number, to compile the kernel for it."""
    numbers, codes, order = np.zeros((1, 1)), np.zeros((0, 1), dtype=np.int64), np.zeros(1, dtype=np.int64)
    room = np.empty(2 + table_text.NUMBER_WIDTH, dtype=np.uint8)
    table_text.write_rows(numbers, 0, codes, order, np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64), room)


def _run_marker_equations(mb: Multibody, q: FloatArray) -> None:
    """Assemble the equations of one marker on the root, to compile the kernels for them."""
    paths, lengths, one = np.arange(mb.nv)[None], np.array([mb.nv]), np.zeros((1, 1))
    square, pull, work = np.zeros((1, mb.nv, mb.nv)), np.zeros((1, mb.nv)), np.zeros((mb.nv, 3))
    joints, (R, p), links = joint_jacobians(mb, q), body_poses(mb, q), np.array([0])
    at = np.zeros((1, 3))
    linear_algebra.fill_marker_equations(joints, R, p, links, at, paths, lengths, one, at[None], square, pull, work)
    linear_algebra.fill_marker_jacobians(joints, at[None], np.ones((1, mb.nv)), np.empty((1, 1, 3, mb.nv)))


def compile_kernels(progress: Progress | None = None) -> None:
    """Compile, or load from disk, the kernels of a trial by running each on one frame of a tiny model.

    progress: function that is called with a description of each group of kernels that is compiled.
    """
    compiled = is_compiled()
    for name, call in _compilation_tasks().items():
        if progress is not None and not compiled:
            progress(f"compiling kernels ({name})")
        call()
    if CACHE_FOLDER is not None:
        with suppress(OSError):  # the cache folder may be complete and read-only
            (CACHE_FOLDER / _COMPLETE).touch()
