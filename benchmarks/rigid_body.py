"""Time the rigid-body algorithms against Pinocchio and MuJoCo in one run, single thread; run by hand.

    BIODYN_TEST_REFERENCE=... python benchmarks/rigid_body.py [frames ...]

Pinocchio's own native batch loops with one thread (rneaInParallel, abaInParallel); where it has none (mass matrix,
Jacobians) a loop of Python calls, whose overhead of about 0.5 us a call is its own. MuJoCo where it is installed: the
fewest of its C functions that give the result, called from Python at some 0.2 us a call. Both sides take turns, and
the best of several turns counts. At the end, chains of 10 to 80 bodies: the cost a body should not grow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pinocchio as pin
from common import Record, reference_vectors, take_turns
from support.reference_vectors import MODELS, reference
from support.trees import InPinocchio, random_state, random_tree

from biodyn.rigid_body import forward_dynamics, inverse_dynamics, mass_matrix, warm_up
from biodyn.rigid_body.jacobians import joint_jacobians

try:
    import mujoco
except ImportError:
    mujoco = None

TURNS = 7


def fastest(calls: dict[str, Callable[[], object]], frames: int) -> dict[str, float]:
    """Return microseconds a frame of each call's best turn."""
    return {name: 1e6 * timing.lowest / frames for name, timing in take_turns(calls, TURNS).items()}


def mujoco_calls(name: str, frames: int) -> dict[str, Callable[[], object]]:
    """Return MuJoCo's minimal pipelines for inverse and forward dynamics on one state, as often as there are frames."""
    folder = reference_vectors() / "rigid_body"
    model = mujoco.MjModel.from_xml_path(str(folder / f"{name}.mjcf.xml"))
    data = mujoco.MjData(model)
    data.qvel[:], data.qacc[:] = 0.1, 0.2
    result, solved = np.zeros(model.nv), np.zeros((1, model.nv))

    def inverse() -> None:
        for _ in range(frames):
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, 1, result)

    def forward() -> None:
        for _ in range(frames):
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_makeM(model, data)
            mujoco.mj_factorM(model, data)
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, 0, result)
            mujoco.mj_solveM(model, data, solved, result[None])

    return {"inverse dynamics": inverse, "forward dynamics": forward}


def one(name: str, frames: int, record: Record) -> None:
    """Print the figures of one model."""
    mb, ref = reference(name)
    times = -(-frames // len(ref["q"]))
    q, v, a, tau = (np.tile(ref[key], (times, 1))[:frames] for key in ("q", "v", "a", "tau_ext"))
    loads, bodies = np.tile(ref["wrenches"][:, :2], (times, 1, 1))[:frames], ref["ext_link_index"][:2]
    other = InPinocchio(mb)
    model, data, order = other.model, other.data, other.order()
    q_pin, v_pin, a_pin, tau_pin = other.q(q), v[:, order], a[:, order], tau[:, order]
    pool = pin.ModelPool(model, 1)
    columns = [np.asfortranarray(x.T) for x in (q_pin, v_pin, a_pin, tau_pin)]
    result = np.asfortranarray(np.empty((mb.nv, frames)))
    few = range(min(frames, 2000))
    M = mass_matrix(mb, q[: len(few)])
    J = joint_jacobians(mb, q[: len(few)])

    def each(function: Callable[..., object], *arguments: np.ndarray) -> Callable[[], None]:
        def loop() -> None:
            for t in few:
                function(model, data, *(x[t] for x in arguments))

        return loop

    whole = {
        "inverse dynamics": lambda: inverse_dynamics(mb, q, v, a, loads, bodies),
        "inverse dynamics, Pinocchio": lambda: pin.rneaInParallel(1, pool, *columns[:3], result),
        "forward dynamics": lambda: forward_dynamics(mb, q, v, tau, loads, bodies),
        "forward dynamics, Pinocchio": lambda: pin.abaInParallel(1, pool, columns[0], columns[1], columns[3], result),
    }
    some = {
        "mass matrix": lambda: mass_matrix(mb, q[: len(few)], out=M),
        "mass matrix, Pinocchio": each(pin.crba, q_pin),
        "joint Jacobians": lambda: joint_jacobians(mb, q[: len(few)], out=J),
        "joint Jacobians, Pinocchio": each(pin.computeJointJacobians, q_pin),
    }
    if mujoco is not None:
        peers = {f"{key}, MuJoCo": call for key, call in mujoco_calls(name, len(few)).items()}
        some.update(peers)
    best = fastest(whole, frames) | fastest(some, len(few))
    for key in ("inverse dynamics", "forward dynamics", "mass matrix", "joint Jacobians"):
        text = f"{name:12} {frames:7d} {key:17} {best[key]:7.2f} us"
        record.add(f"{name}, {frames} frames, {key}", best[key], "us")
        for peer in ("Pinocchio", "MuJoCo"):
            if f"{key}, {peer}" in best:
                theirs = best[f"{key}, {peer}"]
                text += f"   {peer} {theirs:6.2f} us ({theirs / best[key]:4.1f} x)"
        print(text)


def growth(frames: int = 2000) -> None:
    """Print the cost a body of chains of growing length."""
    for count in (10, 20, 40, 80):
        mb = random_tree(1, count, kinds=("revolute",))
        q, v, vdot = random_state(mb, 1, frames)
        best = fastest(
            {
                "inverse": lambda mb=mb, q=q, v=v, a=vdot: inverse_dynamics(mb, q, v, a),
                "forward": lambda mb=mb, q=q, v=v, a=vdot: forward_dynamics(mb, q, v, a),
            },
            frames,
        )
        each = {key: 1e3 * value / count for key, value in best.items()}
        print(f"{count:3d} bodies: inverse {each['inverse']:5.1f}, forward dynamics {each['forward']:5.1f} ns a body")


def main() -> None:
    warm_up()
    counts = [int(x) for x in sys.argv[1:]] or [1000, 100_000]
    record = Record("rigid_body", {"frames": counts})
    for frames in counts:
        for name in MODELS:
            one(name, frames, record)
    growth()
    record.close()


if __name__ == "__main__":
    main()
