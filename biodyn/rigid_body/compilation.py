"""Compile the kernels before they are needed, and tell whether that will take a while."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.kernels import (
    aba,
    crba,
    energetics,
    id_derivatives,
    ik,
    kinematics,
    manifold,
    normal,
    recursion,
    rnea,
    storage,
    text,
)
from biodyn.kernels import regressor as regressors
from biodyn.kernels.jit import is_cached
from biodyn.kernels.watch import COMPILING, tell
from biodyn.rigid_body.algorithms import (
    body_poses,
    difference,
    energies,
    forward_dynamics,
    integrate,
    inverse_dynamics,
    inverse_dynamics_derivatives,
    joint_jacobians,
    mass_matrix,
    regressor,
)
from biodyn.rigid_body.joint import Body, Joint
from biodyn.rigid_body.marker_fit import inverse_kinematics
from biodyn.rigid_body.multibody import Multibody
from biodyn.threads import may_start_python, processors, start_python

Progress = Callable[[str], None]
_MOST_HELPERS: Final = 3  # the longest piece of work is a third of all
_PATIENCE_S: Final = 120.0  # several times what all kernels take; a helper that is stuck then is given up


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
        manifold.integrate,
        normal.add_rows,
        normal.add_weighted,
        normal.spread_rows,
        regressors.regressor,
        normal.marker_equations,
        normal.marker_columns,
        recursion.factorise_band,
        recursion.solve_factorised,
        recursion.filter_both_ways,
        text.rows,
    )


def is_compiled() -> bool:
    """Tell whether kernels of a trial that run on this processor are compiled already, in memory or on disk."""
    return all(kernel.signatures or is_cached(kernel) for kernel in trial_kernels())


def _tiny() -> tuple[Multibody, FloatArray, FloatArray]:
    """Return a model of two bodies and one frame of its state."""
    inertia = 0.01 * np.eye(3)
    foot = Body("foot", "trunk", Joint("revolute", (0.0, 0.0, 1.0)), mass_kg=1.0, inertia_com=inertia)
    trunk = Body("trunk", None, Joint("free"), mass_kg=1.0, inertia_com=inertia)
    mb = Multibody((trunk, foot))
    return mb, mb.neutral()[None], np.zeros((1, mb.nv))


def _work() -> dict[str, Callable[[], object]]:
    """Return what compiles, or loads, the kernels of a trial, the longest first; each piece may run in its own process."""
    mb, q, v = _tiny()
    p_BM = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]])
    loads = np.zeros((1, 1, 6))
    return {
        "fit": lambda: inverse_kinematics(mb, np.array([0, 0, 0, 0, 1]), p_BM, p_BM[None], np.ones(5)),  # poses, too
        "derivatives": lambda: inverse_dynamics_derivatives(mb, q, v, v, loads, [1]),
        "forward": lambda: forward_dynamics(mb, q, v, v, loads, [1]),
        "inverse": lambda: inverse_dynamics(mb, q, v, v, loads, [1]),
        "mass": lambda: mass_matrix(mb, q),
        "energies": lambda: energies(mb, q, v),
        "columns": lambda: joint_jacobians(mb, q),
        "marker equations": lambda: _marker_equations(mb, q),
        "normal equations": lambda: _normal_equations(mb.nv),
        "regressor": lambda: regressor(mb, q, v, v),
        "difference": lambda: difference(mb, q, q),
        "integrate": lambda: integrate(mb, q, v),
        "poses": lambda: body_poses(mb, q),
        "recursions": _recursions,
        "text": _text,
    }


def _normal_equations(n: int) -> None:
    """Add equations of n unknowns at one knot."""
    band, places, square, one, first = np.zeros((n, n)), np.arange(n), np.zeros((1, n, n)), np.ones(1), np.arange(1)
    normal.add_rows(band, n, 0, np.zeros((1, 1, 1, n)), places, np.zeros((1, n)))
    normal.add_weighted(band, 0, one, square)
    room = np.empty((1, 1, 1, 1)), np.empty((3, 1))
    normal.spread_rows(square, square, square, (0, 1), first, first, np.ones((3, 1)), one, one[None], *room)


def _recursions() -> None:
    """Solve a band system of one unknown, and filter one sample."""
    band, curves, work = np.ones((1, 1)), np.ones((1, 1)), np.empty((1 + recursion.FILTER_ROWS, recursion.LANES))
    recursion.factorise_band(band)
    recursion.solve_factorised(band, curves, np.empty((1, 1)), work)
    recursion.filter_both_ways(curves, np.ones((1, 4)), work)


def _text() -> None:
    """Write a table of one number."""
    numbers, codes, order = np.zeros((1, 1)), np.zeros((0, 1), dtype=np.int64), np.zeros(1, dtype=np.int64)
    room = np.empty(2 + text.NUMBER_WIDTH, dtype=np.uint8)
    text.rows(numbers, 0, codes, order, np.empty(0, dtype=np.uint8), np.zeros(1, dtype=np.int64), room)


def _marker_equations(mb: Multibody, q: FloatArray) -> None:
    """Sum the equations of one marker on the root."""
    paths, lengths, one = np.arange(mb.nv)[None], np.array([mb.nv]), np.zeros((1, 1))
    square, pull, work = np.zeros((1, mb.nv, mb.nv)), np.zeros((1, mb.nv)), np.zeros((mb.nv, 3))
    joints, (R, p), links = joint_jacobians(mb, q), body_poses(mb, q), np.array([0])
    at = np.zeros((1, 3))
    normal.marker_equations(joints, R, p, links, at, paths, lengths, one, at[None], square, pull, work)
    normal.marker_columns(joints, at[None], np.ones((1, mb.nv)), np.empty((1, 1, 3, mb.nv)))


def load_compiled(*pieces: str) -> None:
    """Load kernels by their names in `_work`, where that needs no compilation."""
    if is_compiled():
        work = _work()
        for piece in pieces:
            work[piece]()


def warm_up(progress: Progress | None = None) -> None:
    """Compile, or load from disk, the kernels of a trial by running each on one frame of a tiny model.

    Where there are more processors, processes of their own compile a share and leave it on disk: each takes the next piece
    that nobody took. What they did not do, this process does. `progress` hears how far this is.
    """
    if storage.storage().writable is not None and not is_compiled():
        tell(COMPILING)
        with tempfile.TemporaryDirectory(prefix="biodyn-compiling-") as taken, _helpers(taken) as helpers:
            compile_share(taken, progress)
            for helper in helpers:
                with suppress(subprocess.TimeoutExpired):
                    helper.wait(_PATIENCE_S)
    for call in _work().values():
        call()


def compile_share(taken: str, progress: Progress | None = None) -> None:
    """Compile what no process took before; `taken` is the folder where each says what it took."""
    work = _work()
    for name, call in work.items():
        try:
            Path(taken, name).touch(exist_ok=False)
        except FileExistsError:
            continue
        if progress is not None:
            progress(f"compiling kernels, {len(os.listdir(taken))} of {len(work)}")
        call()


def help_compile(taken: str) -> None:
    """Compile a share in a process of its own, which ends where the one that started it has: standard input is closed then."""
    Thread(target=_end_with_starter, daemon=True).start()
    compile_share(taken)


def _end_with_starter() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


@contextmanager
def _helpers(taken: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes that compile a share each; none is left behind."""
    count = min(_MOST_HELPERS, processors() - 1) if may_start_python() else 0
    code = f"from {__name__} import help_compile; help_compile({taken!r})"
    quiet = subprocess.DEVNULL
    started: list[subprocess.Popen[bytes]] = []
    try:
        with suppress(OSError):  # no further process is allowed: this one does the rest
            for _ in range(count):
                started.append(start_python(code, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet))
        yield started
    finally:
        for helper in started:
            if helper.poll() is None:
                helper.kill()
                helper.wait()
            if helper.stdin is not None:
                helper.stdin.close()
