"""Time inverse kinematics on the synthetic problems of the reference folder; run by hand.

BIODYN_TEST_REFERENCE=... python benchmarks/ik.py
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from common import Record, reference_vectors, take_turns
from support.reference_vectors import reference_model

from biodyn.rigid_body import Multibody, compile_kernels, difference, inverse_kinematics

REPETITIONS = 20


def gauss_newton_in_pinocchio(mb: Multibody, problem: dict[str, np.ndarray], q: np.ndarray, frames: int) -> float:
    """Return microseconds a frame of a plain Gauss-Newton in Python on Pinocchio's Jacobians, the usual way."""
    import pinocchio as pin
    from support.trees import InPinocchio

    other = InPinocchio(mb)
    model, data = other.model, other.data
    joints = [other.joint_of_body[mb.body_index(body)] for body in problem["marker_body"]]
    moves = np.zeros((len(joints), 1, model.nv))  # which coordinates move which marker
    for m, joint in enumerate(joints):
        for k in model.supports[joint]:
            moves[m, 0, model.idx_vs[k] : model.idx_vs[k] + model.nvs[k]] = 1.0
    at = other.q(q[0])
    start = time.perf_counter()
    for t in range(frames):
        for _ in range(60):
            columns = pin.computeJointJacobians(model, data, at)  # all joints, at the world origin
            R, p = np.array([data.oMi[j].rotation for j in joints]), np.array([data.oMi[j].translation for j in joints])
            x = np.einsum("mij,mj->mi", R, problem["marker_local"]) + p
            J = columns[:3] + np.cross(columns[3:].T[None], x[:, None]).transpose(0, 2, 1)
            J = (J * moves).reshape(-1, model.nv)
            step = np.linalg.solve(J.T @ J, J.T @ (problem["markers"][t] - x).ravel())
            at = pin.integrate(model, at, step)
            if np.abs(step).max() < 1e-8:
                break
    return (time.perf_counter() - start) / frames * 1e6


def main() -> None:
    compile_kernels()
    record = Record("ik")
    folder = reference_vectors() / "ik_synthetic"
    print(
        f"{'problem':10} {'DOF':>4} {'markers':>8} {'us/frame':>9} {'iterations':>11} {'from optimum':>14}   Pinocchio"
    )
    for name in ("lower12", "full22"):
        mb = reference_model(f"{name}_rev")
        problem, optimum = dict(np.load(folder / f"{name}.npz")), np.load(folder / f"{name}_optimum.npz")["q"]
        optimum[:, 3:7] = optimum[:, [6, 3, 4, 5]]
        bodies = np.array([mb.body_index(body) for body in problem["marker_body"]])
        frames, markers = problem["markers"].shape[:2]

        def solve(mb: Multibody = mb, bodies: np.ndarray = bodies, problem: dict[str, np.ndarray] = problem) -> Any:
            weights = np.ones(problem["markers"].shape[1])
            return inverse_kinematics(mb, bodies, problem["marker_local"], problem["markers"], weights)

        fit = solve()
        best = 1e6 * take_turns({name: solve}, REPETITIONS)[name].lowest / frames
        record.add(name, best, "us a frame")
        off = np.degrees(np.abs(difference(mb, fit.q, optimum)).max())
        peer = gauss_newton_in_pinocchio(mb, problem, optimum, 50)
        print(
            f"{name:10} {mb.nv:4d} {markers:8d} {best:9.1f} {fit.iterations.mean():11.2f} {off:10.1e} deg"
            f"   {peer:.0f} us, {peer / best:.0f} x slower"
        )
    record.close()


if __name__ == "__main__":
    main()
