"""Joint estimate of motion and inertias for an OpenSim model.

The measurements, which have correlated errors, are its coordinates (or the markers to which they were fitted) and the balance
of the whole body with the measured forces. The mass centre of the trunk and the masses of the bodies are unknowns with priors.
The motion is the given one plus a quintic spline, estimated together with the inertias by Gauss-Newton steps over all rows.
OpenSim's residual reduction (Delp et al. 2007, doi 10.1109/TBME.2007.901024) solves the same problem by tracking forwards in
time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.estimation.estimation_problem import DEGREE, StretchMotion, UniformSpline
from biodyn.estimation.noise_model import FORCE_SD_N, FRAME_S, KNOTS_HZ, MOMENT_SD_NM
from biodyn.estimation.normal_equation_terms import (
    THIRD,
    derivatives_by_coefficients,
    nonzero_weights,
    third_differences,
)
from biodyn.estimation.solver import CholeskyFactor, NormalEquations
from biodyn.rigid_body import Multibody
from biodyn.rigid_body.coupling.coupled_multibody import BLOCK, STEP, CoupledMultibody, TrackedMarkers

#: Errors in a hundredth of a second of a given coordinate (rad and m), and of a fitted marker of weight 1 (m).
COORDINATE_SD_RAD, COORDINATE_SD_M, COORDINATE_MARKER_SD_M = 0.02, 0.01, 0.005
#: Prior standard deviations of the trunk's mass centre along each axis (m), and of the mass of each body (relative).
CENTRE_SD_M, MASS_SD_SHARE = 0.015, 0.02


@dataclass(frozen=True, eq=False)
class FittedMarkers:
    """Markers to which a motion was fitted.

    The error of a pose has the precision J^T W J of the fit. Residuals of the markers, e.g. due to limits of coordinates, have
    no effect.

    Attributes:
        followed: tracked markers, with weights (T, M), 0 in frames without a fit. places: (T, M, 3) m fitted positions.
        target_weights: (n,) weights of coordinate tasks relative to the sum of marker weights. given: (T, n) fitted coordinates.
    """

    followed: TrackedMarkers
    places: FloatArray
    target_weights: FloatArray
    given: FloatArray


@dataclass(frozen=True, eq=False)
class CoordinateProblem:
    """Estimation problem of a motion with T equally spaced rows.

    Attributes:
        body: model with independent coordinates only. given: motion (T, n), rad and m. rate_hz: rows per second.
        rotational: (n,) mask of coordinates in rad. free: (n,) mask of unknown coordinates. root: (r,) coordinates of the joint
            to ground.
        wrenches: (T, K, 6) about the world origin on `wrench_bodies` (K,); None = none. balanced: (T,) rows with known forces.
        markers: markers of the fit; None if the coordinates were measured directly.
    """

    body: CoupledMultibody
    given: StretchMotion
    rate_hz: float
    rotational: BoolArray
    free: BoolArray
    root: IntArray
    wrenches: FloatArray | None
    wrench_bodies: Sequence[int]
    balanced: BoolArray
    markers: FittedMarkers | None = None


@dataclass(frozen=True, eq=False)
class CoordinateEstimate:
    """Motion and inertias that best fit coordinates and forces.

    Attributes:
        path: estimated motion. body: model with the estimated inertias.
        mass_factors: (B,) factors of the body masses. centre_shift_m: (3,) shift of the mass centre of `trunk` in its axes.
        steps: number of Gauss-Newton steps. settled: True if the iteration converged, i.e. if the last step hardly changed the
        cost.
    """

    path: StretchMotion
    body: CoupledMultibody
    mass_factors: FloatArray
    centre_shift_m: FloatArray
    trunk: int
    steps: int
    settled: bool


def estimate_coordinates(problem: CoordinateProblem) -> CoordinateEstimate:
    """Estimate the motion and the inertias that best fit given coordinates and measured forces.

    A step is halved at most five times to reduce the cost. The iteration ends when a step reduces the cost by less than a
    thousandth.
    """
    most_steps, halvings, least_decrease = 20, 6, 1e-3
    step = max(1, round(problem.rate_hz / KNOTS_HZ))
    search = _GaussNewtonSearch(problem, UniformSpline(len(problem.given.q), step, problem.rate_hz))
    c = np.zeros((search.knots.coefficient_count, int(problem.free.sum())))
    p = np.zeros(search.inertias.count)
    cost, steps, settled = search.cost(c, p), 0, False
    while steps < most_steps and not settled:
        dc, dp = search.step(c, p)
        for halving in range(halvings):
            share = 0.5**halving
            lower = search.cost(c + share * dc, p + share * dp)
            if lower < cost:
                break
        else:
            settled = True
            break
        c, p, steps = c + share * dc, p + share * dp, steps + 1
        settled, cost = bool(cost - lower <= least_decrease * cost), lower
    unknowns = search.inertias
    body, factors = unknowns.change_body(problem.body, p), unknowns.mass_factors(p)
    return CoordinateEstimate(search.path(c), body, factors, unknowns.centre_shift_m(p), unknowns.trunk, steps, settled)


@dataclass(frozen=True)
class _Inertias:
    """Unknown inertial parameters in units of their prior SD: position of the mass centre of the trunk, then the mass of each
    body."""

    trunk: int
    heavy: tuple[int, ...]
    bodies: int

    @property
    def count(self) -> int:
        return 3 + len(self.heavy)

    def centre_shift_m(self, p: FloatArray) -> FloatArray:
        return CENTRE_SD_M * p[:3]

    def mass_factors(self, p: FloatArray) -> FloatArray:
        factors = np.ones(self.bodies)
        factors[list(self.heavy)] += MASS_SD_SHARE * p[3:]
        return factors

    def change_body(self, body: CoupledMultibody, p: FloatArray) -> CoupledMultibody:
        """Return the body with inertial parameters p; the inertia of a segment is scaled with its mass."""
        factors, shift = self.mass_factors(p), self.centre_shift_m(p)
        bodies = [
            replace(
                each,
                mass_kg=each.mass_kg * factors[k],
                inertia_com=each.inertia_com * factors[k],
                com_m=each.com_m + shift if k == self.trunk else each.com_m,
            )
            for k, each in enumerate(body.multibody.bodies)
        ]
        return replace(body, multibody=Multibody(tuple(bodies), body.multibody.gravity_W))


class _GaussNewtonSearch:
    """Cost of an estimation problem and its Gauss-Newton steps; the force balance is divided by its standard deviation."""

    def __init__(self, problem: CoordinateProblem, knots: UniformSpline) -> None:
        self.problem, self.knots = problem, knots
        self.free = np.flatnonzero(problem.free)
        masses = np.array([body.mass_kg for body in problem.body.multibody.bodies])
        self.inertias = _Inertias(int(np.argmax(masses)), tuple(np.flatnonzero(masses > 0.0).tolist()), len(masses))
        sample = problem.rate_hz * FRAME_S  # number of rows in a hundredth of a second
        turning = problem.rotational[self.free]
        sd = np.where(turning, COORDINATE_SD_RAD, COORDINATE_SD_M)
        self.precision = knots.step / sample / sd**2
        self.marked = 1.0 / (sample * COORDINATE_MARKER_SD_M**2)
        marked = problem.markers is not None
        # cut-offs above which updates of coordinates fitted to markers, and of given coordinates, are unlikely
        fastest_hz = 8.0 if marked else 3.0
        self.smooth = self.precision / ((2.0 * np.pi * fastest_hz) ** 3 * knots.knot_s**3) ** 2
        if marked:  # coordinates that the markers do not determine have five times the error of given ones
            self.precision = self.precision / 5.0**2
        by_axis = np.where(problem.rotational[problem.root], MOMENT_SD_NM, FORCE_SD_N)
        self.scale = problem.balanced[:, None] / (by_axis * np.sqrt(sample))

    def path(self, c: FloatArray) -> StretchMotion:
        """Return the motion after the trajectory update with spline coefficients c (count, n free)."""
        given, update = self.problem.given, self.knots.evaluate(c)
        parts = [part.copy() for part in (given.q, given.v, given.vdot)]
        for part, change in zip(parts, update, strict=True):
            part[:, self.free] += change
        return StretchMotion(*parts)

    def residual(self, path: StretchMotion, body: CoupledMultibody) -> FloatArray:
        """Return the generalised forces (T, r) of the joint to ground, in standard deviations."""
        problem = self.problem
        tau = body.inverse_dynamics(path.q, path.v, path.vdot, problem.wrenches, problem.wrench_bodies)
        return np.asarray(tau[:, problem.root] * self.scale)

    def cost(self, c: FloatArray, p: FloatArray) -> float:
        """Return the sum of squares of all terms in their SDs; infinite if a body loses 90 % of its mass."""
        if self.inertias.mass_factors(p).min() < 0.1:
            return float("inf")
        path = self.path(c)
        residual = self.residual(path, self.inertias.change_body(self.problem.body, p))
        place = self.knots.evaluate(c)[0][:: self.knots.step]
        third = third_differences(c)
        priors = (self.precision * place**2).sum() + (self.smooth * third**2).sum() + (p**2).sum()
        return float((residual**2).sum() + priors + self._marker_cost(path))

    def step(self, c: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the Gauss-Newton step of the spline coefficients (count, n free) and of the inertial parameters."""
        knots, path, body = self.knots, self.path(c), self.inertias.change_body(self.problem.body, p)
        residual = self.residual(path, body)
        normal = NormalEquations(knots.coefficient_count, DEGREE, len(self.free))
        place = knots.evaluate(c)[0][:: knots.step]
        weights = np.broadcast_to(self.precision, place.shape)
        normal.add_diagonal(0, nonzero_weights(knots.weights[0][0]), weights, -weights * place)
        third = third_differences(c)
        weights = np.broadcast_to(self.smooth, third.shape)
        normal.add_diagonal(0, THIRD, weights, -weights * third)
        self._add_marker_terms(normal, path)
        by_inertia = self._residual_derivatives_by_inertia(path, p, residual)
        both = np.zeros((knots.coefficient_count, len(self.free), self.inertias.count))
        parts = self._residual_derivatives_by_motion(path, body, residual)
        for offset in range(knots.step):
            frames = slice(offset, None, knots.step)
            rows = derivatives_by_coefficients(knots, [part[frames] for part in parts], offset)
            normal.add_rows(0, rows, -residual[frames])
            for s in range(rows.shape[2]):
                both[s : s + len(rows)] += np.einsum("trn,trp->tnp", rows[:, :, s], by_inertia[frames])
        square = np.einsum("trp,trq->pq", by_inertia, by_inertia) + np.eye(self.inertias.count)
        gradient = -np.einsum("trp,tr->p", by_inertia, residual) - p
        factor = CholeskyFactor(normal)
        alone, through = factor.solve(normal.right), factor.solve(both)
        flat, crossed = both.reshape(-1, len(p)), through.reshape(-1, len(p))
        dp = np.linalg.solve(square - flat.T @ crossed, gradient - flat.T @ alone.ravel())
        return alone - through @ dp, dp

    def _marker_cost(self, path: StretchMotion) -> float:
        """Return the weighted sum of squared displacements of the markers from their fitted positions.

        It includes the squared changes of coordinates with tasks.
        """
        markers = self.problem.markers
        if markers is None:
            return 0.0
        change = markers.followed.positions(self.problem.body, path.q) - markers.places
        weights = markers.followed.weights
        tasks = ((path.q - markers.given) ** 2 @ markers.target_weights) @ weights.sum(axis=1)
        return float(self.marked * (np.einsum("tm,tmi,tmi->", weights, change, change) + tasks))

    def _add_marker_terms(self, normal: NormalEquations, path: StretchMotion) -> None:
        """Add the terms of the marker errors to the normal equations, linearised in the coordinates."""
        markers, knots = self.problem.markers, self.knots
        if markers is None:
            return
        frames, n = len(path.q), len(self.free)
        square, gradient = np.empty((frames, n, n)), np.empty((frames, n))
        target_weights, followed, most_frames = np.asarray(markers.target_weights[self.free]), markers.followed, 1_000
        for start in range(0, frames, most_frames):
            at = slice(start, start + most_frames)
            weights = followed.weights[at]
            J = followed.jacobians(self.problem.body, path.q[at])[..., self.free]
            change = markers.places[at] - followed.positions(self.problem.body, path.q[at])
            weighted = self.marked * weights[:, :, None, None] * J
            total = self.marked * weights.sum(axis=1)[:, None] * target_weights
            flat = J.reshape(len(J), -1, n)
            square[at] = weighted.reshape(flat.shape).transpose(0, 2, 1) @ flat
            square[at, range(n), range(n)] += total
            gradient[at] = np.einsum("tmik,tmi->tk", weighted, change)
            gradient[at] += total * (markers.given[at] - path.q[at])[:, self.free]
        for offset in range(knots.step):
            rows = slice(offset, None, knots.step)
            normal.add_weighted_terms(0, nonzero_weights(knots.weights[0][offset]), square[rows], gradient[rows])

    def _residual_derivatives_by_motion(
        self, path: StretchMotion, body: CoupledMultibody, residual: FloatArray
    ) -> list[FloatArray]:
        """Return the derivatives (T, r, n free) of the residual with respect to position, rate and acceleration of the free
        coordinates.

        The residual is linear in accelerations and quadratic in rates, so that these finite differences are exact up to
        rounding.
        """
        at_once = max(1, BLOCK // len(residual))
        derivatives = [np.empty((*residual.shape, len(self.free))) for _ in range(3)]
        for order, part in enumerate(derivatives):
            step = STEP if order == 0 else 1.0
            for first in range(0, len(self.free), at_once):
                columns = self.free[first : first + at_once]
                sides = [self._residual_after_change(path, body, order, columns, sign * step) for sign in (1.0, -1.0)]
                part[:, :, first : first + len(columns)] = (sides[0] - sides[1]).transpose(1, 2, 0) / (2.0 * step)
        return derivatives

    def _residual_after_change(
        self, path: StretchMotion, body: CoupledMultibody, order: int, columns: IntArray, step: float
    ) -> FloatArray:
        """Return the residual (C, T, r) after changing one column (C,) of position (order 0), rate (1) or acceleration (2) by a
        step."""
        problem, count = self.problem, len(columns)
        parts = [np.tile(values, (count, 1, 1)) for values in (path.q, path.v, path.vdot)]
        parts[order][np.arange(count), :, columns] += step
        wrenches = problem.wrenches
        loads = None if wrenches is None else np.tile(wrenches, (count, 1, 1))
        flat = [part.reshape(-1, part.shape[2]) for part in parts]
        tau = body.inverse_dynamics(flat[0], flat[1], flat[2], loads, problem.wrench_bodies)
        return np.asarray(tau[:, problem.root].reshape(count, len(path.q), -1) * self.scale)

    def _residual_derivatives_by_inertia(self, path: StretchMotion, p: FloatArray, residual: FloatArray) -> FloatArray:
        """Return derivatives (T, r, P) of the residual by the inertia unknowns, in which it is (nearly) linear."""
        derivatives, step = np.empty((*residual.shape, len(p))), 1e-3
        for k in range(len(p)):
            ahead = p.copy()
            ahead[k] += step
            changed = self.inertias.change_body(self.problem.body, ahead)
            derivatives[:, :, k] = (self.residual(path, changed) - residual) / step
        return derivatives
