"""Count what a kernel does for one frame: it runs as Python, without compilation, on numbers that count.

    NUMBA_DISABLE_JIT=1 python -m common.counting MODEL          (in benchmarks/; started by rigid_body.py; prints JSON)

Lane memory holds one frame. An addition, subtraction, product or quotient of numbers that depend on the frame is one
operation; what depends on the model only is not counted. Transports are numbers between lane memory and registers. The
results are held against the compiled kernel's, so what is counted is what is timed.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from support.reference_vectors import reference

import biodyn.kernels
from biodyn.conventions import FloatArray
from biodyn.kernels import dynamics, lanes
from biodyn.rigid_body.argument_checks import checked_wrenches
from biodyn.rigid_body.dynamics import subtree_mass

WIDTH = lanes.WIDTH


class Tally:
    """Operations and transports so far."""

    operations = 0
    transports = 0


class Counted:
    """A number that depends on the frame."""

    __slots__ = ("x",)

    def __init__(self, x: float) -> None:
        self.x = float(x)

    def __neg__(self) -> Counted:
        return Counted(-self.x)


def _operator(compute: Callable[[float, float], float]) -> tuple[Callable[..., Counted], Callable[..., Counted]]:
    def forward(a: Counted, b: Counted | float) -> Counted:
        Tally.operations += 1
        return Counted(compute(a.x, b.x if isinstance(b, Counted) else b))

    def reflected(a: Counted, b: float) -> Counted:
        Tally.operations += 1
        return Counted(compute(b, a.x))

    return forward, reflected


Counted.__add__, Counted.__radd__ = _operator(lambda a, b: a + b)
Counted.__sub__, Counted.__rsub__ = _operator(lambda a, b: a - b)
Counted.__mul__, Counted.__rmul__ = _operator(lambda a, b: a * b)
Counted.__truediv__, Counted.__rtruediv__ = _operator(lambda a, b: a / b)


def _load(memory: Any, at: int) -> Counted:
    Tally.transports += 1
    return memory[at]


def _store(memory: Any, at: int, number: Counted) -> None:
    Tally.transports += 1
    memory[at] = number


def _fill(memory: Any, frames: FloatArray, first: int) -> None:
    for j, x in enumerate(frames[first]):
        memory[j * WIDTH] = Counted(x)
    Tally.transports += 2 * frames.shape[1]


def _drain(memory: Any, frames: FloatArray, first: int) -> None:
    frames[first] = [memory[j * WIDTH].x for j in range(frames.shape[1])]
    Tally.transports += 2 * frames.shape[1]


def _value(memory: Any, j: int) -> Counted:
    return _load(memory.data, j * WIDTH)


def _by_quadrant(shifted: Counted, sine: Counted, cosine: Counted) -> tuple[Counted, Counted]:
    """Return (sin, cos) of an angle from those of its remainder."""
    turn = int(shifted.x - lanes._SHIFT) % 4
    s, c = ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))[turn]
    return s, c


_STAND_INS: dict[Any, Any] = {
    lanes.load: _load,
    lanes.store: _store,
    lanes.broadcast: Counted,
    lanes.load_value: _value,
    lanes.broadcast_like: lambda memory, x: x,
    lanes.sine_cosine: lambda memory, j: lanes.lanes_sine_cosine(_value(memory, j)),
    lanes._select_by_quadrant: _by_quadrant,
    lanes.copy_from_frames: _fill,
    lanes.prefetch_frames: lambda frames, first: None,
    lanes.copy_to_frames: _drain,
}


def _replace() -> None:
    """Put the stand-ins into every module of the kernels that uses what they stand for."""
    for found in pkgutil.iter_modules(biodyn.kernels.__path__):
        module = importlib.import_module(f"biodyn.kernels.{found.name}")
        for name, value in list(vars(module).items()):
            for original, stand_in in _STAND_INS.items():
                if value is original:
                    setattr(module, name, stand_in)


def _memory(numbers: int) -> Any:
    memory = np.empty(numbers, dtype=object)
    memory[:] = [Counted(0.0) for _ in range(numbers)]
    return memory


def count(name: str) -> dict[str, dict[str, Any]]:
    """Return operations, transports and result of each task for the first frame of a reference model.

    Forward dynamics is given the torques of inverse dynamics, both with the first two wrenches.
    """
    mb, ref = reference(name)
    tree, masses = mb.tree, subtree_mass(mb.tree)
    q, v, vdot = (np.ascontiguousarray(ref[key][:1]) for key in ("q", "v", "a"))
    loads = checked_wrenches(mb, 1, np.ascontiguousarray(ref["wrenches"][:1, :2]), ref["ext_link_index"][:2])
    unused = np.empty((0, tree.parent.shape[0], 6))
    out = {task: np.zeros((1, n)) for task, n in (("i", mb.nv), ("f", mb.nv), ("m", mb.nv**2), ("j", 6 * mb.nv))}
    calls: dict[str, tuple[Callable[[], None], FloatArray]] = {
        "inverse dynamics": (
            lambda: dynamics.inverse_dynamics(
                tree, q, v, vdot, *loads, out["i"], unused, _memory(dynamics.work_size(tree))
            ),
            out["i"],
        ),
        "forward dynamics": (
            lambda: dynamics.forward_dynamics(
                tree, q, v, out["i"], *loads, out["f"], _memory(dynamics.forward_dynamics_work_size(tree))
            ),
            out["f"],
        ),
        "mass matrix": (
            lambda: dynamics.mass_matrix(tree, masses, q, out["m"], _memory(dynamics.work_size(tree, mb.nv**2))),
            out["m"],
        ),
        "joint Jacobians": (
            lambda: dynamics.joint_columns(tree, q, out["j"], _memory(dynamics.work_size(tree, 6 * mb.nv))),
            out["j"],
        ),
    }
    counts: dict[str, dict[str, Any]] = {}
    for task, (call, result) in calls.items():
        Tally.operations = Tally.transports = 0
        call()
        counts[task] = {
            "operations": Tally.operations,
            "transports": Tally.transports,
            "result": result[0].tolist(),
        }
    return counts


if __name__ == "__main__":
    _replace()
    print(json.dumps(count(sys.argv[1])))
