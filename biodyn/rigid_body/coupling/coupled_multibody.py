"""A multibody with coordinates defined in one or more layers above its joints, and the fit of these coordinates to markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.errors import ModelError
from biodyn.kernels.coupled_coordinates import FitTargets, FrameMemory, coupled_inverse_kinematics
from biodyn.kernels.inverse_kinematics import MarkerFitProblem
from biodyn.rigid_body.argument_checks import checked_array
from biodyn.rigid_body.coupling.coordinate_functions import (
    CoordinateMap,
    CoordinateMapValues,
    evaluation_memory,
    kernel_functions,
)
from biodyn.rigid_body.dynamics import inverse_dynamics, mass_matrix
from biodyn.rigid_body.kinematics import body_poses
from biodyn.rigid_body.marker_fit import MIN_MARKERS, InverseKinematics, allocate_fit_memory, checked_markers
from biodyn.rigid_body.multibody import Multibody

#: Number of frames processed at once, which bounds the memory for long motions.
BLOCK = 20_000


@dataclass(frozen=True, eq=False)
class CoupledMultibody:
    """A tree of one-axis joints, driven by the coordinates of one or more layers.

    Attributes:
        multibody: the underlying tree with coordinates z.
        layers: coordinate maps from the coordinates q of the top layer down to z.
    """

    multibody: Multibody
    layers: tuple[CoordinateMap, ...]

    @property
    def nq(self) -> int:
        """Number of coordinates of the top layer, equal to the number of speeds."""
        return self.layers[0].nq

    def with_layer(self, layer: CoordinateMap) -> CoupledMultibody:
        """Return the same multibody with another layer of coordinates on top."""
        return CoupledMultibody(self.multibody, (layer, *self.layers))

    def configuration(self, q: ArrayLike) -> FloatArray:
        """Return the joint coordinates z (T, nz), rad or m, for the top-layer coordinates q (T, nq)."""
        z = checked_array(q, (None, self.nq), "q")
        for layer in self.layers:
            z = layer.evaluate(z).z
        return z

    def motion(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the joint coordinates z, their rates and accelerations (T, nz) for q, v and vdot (T, nq) of the top layer."""
        z, zdot, zddot, _ = self._evaluate_layers(*self._checked_top_state(q, v, vdot))
        return z, zdot, zddot

    def inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        vdot: ArrayLike,
        wrenches: ArrayLike | None = None,
        wrench_bodies: Sequence[int] | IntArray | None = None,
    ) -> FloatArray:
        """Return the generalised forces tau (T, nq), N m or N, along the top-layer coordinates.

        wrenches (T, K, 6) act on the bodies `wrench_bodies` (K,), about the world origin, as for `inverse_dynamics`.
        """
        top, speeds, accelerations = self._checked_top_state(q, v, vdot)
        loads = None if wrenches is None else checked_array(wrenches, (len(top), None, 6), "wrenches")
        tau = np.empty_like(top)
        for start in range(0, len(top), BLOCK):
            at = slice(start, start + BLOCK)
            z, zdot, zddot, evaluated = self._evaluate_layers(top[at], speeds[at], accelerations[at])
            forces = inverse_dynamics(
                self.multibody, z, zdot, zddot, None if loads is None else loads[at], wrench_bodies
            )
            for layer in reversed(evaluated):
                forces = layer.map_forces(forces)
            tau[at] = forces
        return tau

    def mass_matrix(self, q: ArrayLike) -> FloatArray:
        """Return the mass matrix M (T, nq, nq) = G^T M_z G along the coordinates q of the top layer."""
        z = checked_array(q, (None, self.nq), "q")
        G: FloatArray | None = None
        for layer in self.layers:
            evaluated = layer.evaluate(z)
            z, below = evaluated.z, evaluated.jacobian()
            G = below if G is None else below @ G
        M = mass_matrix(self.multibody, z)
        return M if G is None else G.transpose(0, 2, 1) @ M @ G

    def inverse_dynamics_by_two_algorithms(
        self,
        q: ArrayLike,
        v: ArrayLike,
        vdot: ArrayLike,
        wrenches: ArrayLike | None = None,
        wrench_bodies: Sequence[int] | IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return tau (T, nq) from inverse dynamics, and from mass matrix times acceleration plus bias forces.

        Arguments as for `inverse_dynamics`. All frames are processed at once; pass a long motion in blocks.
        """
        top, speeds, accelerations = self._checked_top_state(q, v, vdot)
        z, zdot, zddot, evaluated = self._evaluate_layers(top, speeds, accelerations)
        by_velocity, by_acceleration = np.zeros_like(accelerations), accelerations
        for layer in evaluated:
            by_velocity = layer.map_speeds(by_velocity) + layer.bias
            by_acceleration = layer.map_speeds(by_acceleration)
        tau = inverse_dynamics(self.multibody, z, zdot, zddot, wrenches, wrench_bodies)
        other = inverse_dynamics(self.multibody, z, zdot, by_velocity, wrenches, wrench_bodies)
        other += (mass_matrix(self.multibody, z) @ by_acceleration[..., None])[..., 0]
        for layer in reversed(evaluated):
            tau, other = layer.map_forces(tau), layer.map_forces(other)
        return tau, other

    def body_poses(self, q: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return R_WB (T, B, 3, 3) and p_WB (T, B, 3) of the bodies of `multibody`."""
        return body_poses(self.multibody, self.configuration(q))

    def _checked_top_state(
        self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        top = checked_array(q, (None, self.nq), "q")
        return top, checked_array(v, top.shape, "v"), checked_array(vdot, top.shape, "vdot")

    def _evaluate_layers(
        self, q: FloatArray, v: FloatArray, vdot: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, list[CoordinateMapValues]]:
        evaluated = []
        for layer in self.layers:
            at = layer.evaluate(q, v)
            q, v, vdot = at.z, at.map_speeds(v), at.map_speeds(vdot) + at.bias
            evaluated.append(at)
        return q, v, vdot, evaluated


#: Step of finite differences, rad or m: half the digits of a double.
STEP: Final = 1e-6


@dataclass(frozen=True, eq=False)
class TrackedMarkers:
    """Markers to be tracked: bodies (M,), positions (M, 3) m on the bodies, weights (T, M), 0 if a marker is not visible."""

    bodies: IntArray
    places: FloatArray
    weights: FloatArray

    def positions(self, coupled: CoupledMultibody, q: FloatArray) -> FloatArray:
        """Return the marker positions (T, M, 3) m in the configurations q (T, n)."""
        result = np.empty((len(q), len(self.bodies), 3))
        for start in range(0, len(q), BLOCK):
            at = slice(start, start + BLOCK)
            R, p = coupled.body_poses(q[at])
            result[at] = np.einsum("tmij,mj->tmi", R[:, self.bodies], self.places) + p[:, self.bodies]
        return result

    def jacobians(self, coupled: CoupledMultibody, q: FloatArray) -> FloatArray:
        """Return the derivatives (T, M, 3, n) of the marker positions with respect to the coordinates q (T, n)."""
        frames, n = q.shape
        result = np.empty((frames, len(self.bodies), 3, n))
        for k in range(n):
            step = np.zeros(n)
            step[k] = STEP
            result[..., k] = (self.positions(coupled, q + step) - self.positions(coupled, q - step)) / (2.0 * STEP)
        return result


def fit_coordinates(
    coupled: CoupledMultibody,
    marker_body: ArrayLike,
    p_BM: ArrayLike,
    p_WM: ArrayLike,
    weights: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    starts: ArrayLike,
    base: BoolArray,
    target_weights: ArrayLike,
    targets: ArrayLike,
) -> InverseKinematics:
    """Fit the coordinates q (n,) of the top layer to all visible markers of every frame by weighted nonlinear least squares.

    Args:
        marker_body, p_BM, p_WM, weights: as for `rigid_body.inverse_kinematics`: (M,), (M, 3) m, (T, M, 3) m, (M,) or (T, M).
        lower, upper: (n,) or (T, n) limits, rad or m; a coordinate with equal limits is given.
        starts: (K, n) initial configurations of the first frame and of frames after a failed one; the best result is used.
        base: (n,) coordinates that place the whole body; in these frames they are fitted first.
        target_weights, targets: weights c (n,) and targets (n,) or (T, n): W sum_j c_j (q - targets)_j^2 is added to the
        cost, where W is the sum of the weights of the visible markers. These are the coordinate tasks of OpenSim, which
        divides marker weights by their sum.

    Each frame starts from the previous one. Raises ModelError for wrong shapes, unknown bodies or negative weights.
    """
    tolerance = 1e-8  # a frame has converged if no coordinate would change by more, rad or m
    max_iterations = 100
    body, places, recorded, shares = checked_markers(coupled.multibody, marker_body, p_BM, p_WM, weights)
    tree, n, frames = coupled.multibody.tree, coupled.nq, len(recorded)
    goal = FitTargets(
        lower=_coordinate_rows(lower, n, frames, "lower"),
        upper=_coordinate_rows(upper, n, frames, "upper"),
        target_weights=checked_array(target_weights, (n,), "target_weights"),
        targets=_coordinate_rows(targets, n, frames, "targets"),
        starts=checked_array(starts, (None, n), "starts"),
        base=np.ascontiguousarray(base, dtype=np.bool_),
    )
    laws = kernel_functions(coupled.layers)
    evaluated, room = evaluation_memory(laws), _working_memory(n)
    work = allocate_fit_memory(tree, coupled.multibody.nq, len(places))
    result = InverseKinematics.allocate(frames, n, len(places))
    nothing, none = np.zeros(0), np.zeros((0, 0))
    links = body.astype(np.int64)
    for start in range(0, frames, BLOCK):
        at = slice(start, start + BLOCK)
        problem = MarkerFitProblem(
            links, places, recorded[at], _select_rows(shares, at), nothing, nothing, nothing, none, none
        )
        part = goal._replace(
            lower=_select_rows(goal.lower, at), upper=_select_rows(goal.upper, at), targets=_select_rows(goal.targets, at),
            starts=goal.starts if start == 0 or not np.isfinite(result.cost[start - 1]) else goal.starts[:0],
        )  # fmt: skip
        coupled_inverse_kinematics(
            tree, problem, laws, part, tolerance, max_iterations, MIN_MARKERS, work, evaluated, room,
            result.q[at], result.marker_error[at], result.cost[at], result.iterations[at], result.status[at],
        )  # fmt: skip
    return result


def _coordinate_rows(values: ArrayLike, n: int, frames: int, name: str) -> FloatArray:
    """Return one number per coordinate as (1, n), or as (T, n) if the numbers vary; infinity is valid, NaN is not."""
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if rows.shape not in ((1, n), (frames, n)) or np.isnan(rows).any():
        raise ModelError(f"{name} must have shape ({n},) or ({frames}, {n}), found {rows.shape}.")
    return np.ascontiguousarray(rows)


def _select_rows(rows: FloatArray, at: slice) -> FloatArray:
    return rows if len(rows) == 1 else rows[at]


def _working_memory(n: int) -> FrameMemory:
    return FrameMemory(
        q=np.zeros(n),
        trial=np.zeros(n),
        best=np.zeros(n),
        hessian=np.zeros((n, n)),
        factors=np.zeros((n, n)),
        force=np.zeros(n),
        right=np.zeros(n),
        step=np.zeros(n),
        pinned=np.zeros(n, dtype=np.bool_),
    )
