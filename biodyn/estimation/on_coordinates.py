"""One estimate of motion and inertias for a model of the user's own.

Its coordinates, or the markers they were fitted to, are measurements with an error that is alike for some time, the balance of
the whole body with the measured forces another; the trunk's mass centre and the bodies' masses are unknowns with priors. The
motion sought deviates from a smooth one by a quintic spline; Gauss-Newton over all rows at once finds it together with the
inertias. OpenSim's residual reduction (Delp et al. 2007, doi 10.1109/TBME.2007.901024) answers the same question by tracking
forwards in time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.estimation.noise_model import FORCE_SD_N, KNOTS_HZ, MOMENT_SD_NM
from biodyn.estimation.problem import DEGREE, Knots, Path
from biodyn.estimation.settings import EstimationSettings
from biodyn.estimation.solver import CholeskyFactor, NormalEquations
from biodyn.estimation.terms import THIRD, on_coefficients, third_differences, used_weights
from biodyn.rigid_body import Multibody
from biodyn.rigid_body.coupling.coupled import CoupledMultibody, FollowedMarkers

_SAMPLE_S = 0.01  # errors are stated for a hundredth of a second
# Errors in a hundredth of a second: of a given coordinate, rad and m, and of a marker of weight 1 that it was fitted to, m.
COORDINATE_SD_RAD, COORDINATE_SD_M, COORDINATE_MARKER_SD_M = 0.02, 0.01, 0.005
# Deviations from given coordinates, and from coordinates fitted to markers, that swing faster count as unlikely, Hz.
_DEVIATION_HZ, _MARKER_DEVIATION_HZ = 3.0, 8.0
# Prior standard deviations: of the trunk's mass centre along an axis, m, and of each body's mass, share.
CENTRE_SD_M, MASS_SD_SHARE = 0.015, 0.02
_MOST_STEPS = 20
_STEP = 1e-6  # of differences, rad and m: half the digits of a double
_INERTIA_STEP = 1e-3  # in standard deviations; the residual is linear in masses, nearly so in centres
_HALVINGS = 6
_LIGHTEST = 0.1  # of the mass given: no search goes beyond
_MOST_ROWS = 20_000  # of one call: memory stays small
_MOST_MARKED = 1_000  # the same of derivatives of markers
# Beside markers, how many times the error of a given coordinate one may have that they leave open.
_UNMEASURED = 5.0
_ENOUGH = 1e-3  # a step that lowers the sum of squares by less of it is the last


@dataclass(frozen=True, eq=False)
class FittedMarkers:
    """What the markers say of a motion that was fitted to them: how they move with it, and where the fit had them.

    A pose is as certain as the markers that it was fitted to make it: its error has the precision J^T W J of the fit. Where the
    markers lie apart from the fit, limits of coordinates and constant misfit included, is no reason to move.

    Attributes:
        followed: the markers; weights (T, M), 0 in frames that were not fitted. places: (T, M, 3) m where the fit had them.
        pulls: (n,) weights of tasks of coordinates, beside the summed weight of the markers. given: (T, n) that were fitted.
    """

    followed: FollowedMarkers
    places: FloatArray
    pulls: FloatArray
    given: FloatArray


@dataclass(frozen=True, eq=False)
class CoordinateProblem:
    """A motion of T rows at an even rate.

    Attributes:
        body: reached through coordinates none of which follows another. given: its motion, (T, n) rad, m. rate_hz: of rows.
        rotational: (n,) coordinates in rad. free: (n,) coordinates that may deviate. root: (r,) those of the joint to ground.
        wrenches: (T, K, 6) about the world origin on `wrench_bodies` (K,), None = none. balanced: (T,) rows with known forces.
        markers: that the motion was fitted to; None = the coordinates themselves were measured.
    """

    body: CoupledMultibody
    given: Path
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
    """What explains coordinates and forces best.

    Attributes:
        path: the motion. body: with the changed inertias.
        mass_factors: (B,) of the bodies. centre_shift_m: (3,) of the mass centre of body `trunk` in its own axes.
        steps: Gauss-Newton steps taken; settled: whether the last of them hardly changed anything.
    """

    path: Path
    body: CoupledMultibody
    mass_factors: FloatArray
    centre_shift_m: FloatArray
    trunk: int
    steps: int
    settled: bool


def estimate_coordinates(problem: CoordinateProblem, settings: EstimationSettings) -> CoordinateEstimate:
    """Return the motion and the inertias that explain given coordinates and measured forces best together."""
    step = max(1, round(problem.rate_hz / KNOTS_HZ))
    search = _Search(problem, settings, Knots(len(problem.given.q), step, problem.rate_hz))
    c = np.zeros((search.knots.count, int(problem.free.sum())))
    p = np.zeros(search.inertias.count)
    cost, taken, settled = search.cost(c, p), 0, False
    while taken < _MOST_STEPS and not settled:
        dc, dp = search.step(c, p)
        for halving in range(_HALVINGS):
            share = 0.5**halving
            lower = search.cost(c + share * dc, p + share * dp)
            if lower < cost:
                break
        else:
            settled = True
            break
        c, p, taken = c + share * dc, p + share * dp, taken + 1
        settled, cost = bool(cost - lower <= _ENOUGH * cost), lower
    unknowns = search.inertias
    return CoordinateEstimate(
        search.path(c),
        unknowns.changed(problem.body, p),
        unknowns.mass_factors(p),
        unknowns.centre_shift_m(p),
        unknowns.trunk,
        taken,
        settled,
    )


@dataclass(frozen=True)
class _Inertias:
    """Unknowns of standard deviation 1: the place of the trunk's mass centre, then the mass of every body that has one."""

    trunk: int
    heavy: tuple[int, ...]
    bodies: int
    centre_sd_m: float
    mass_sd: float

    @property
    def count(self) -> int:
        return 3 + len(self.heavy)

    def centre_shift_m(self, p: FloatArray) -> FloatArray:
        return self.centre_sd_m * p[:3]

    def mass_factors(self, p: FloatArray) -> FloatArray:
        factors = np.ones(self.bodies)
        factors[list(self.heavy)] += self.mass_sd * p[3:]
        return factors

    def changed(self, body: CoupledMultibody, p: FloatArray) -> CoupledMultibody:
        """The body with these inertias; a segment's inertia grows with its mass."""
        factors, shift = self.mass_factors(p), self.centre_shift_m(p)
        bodies = [
            replace(
                one,
                mass_kg=one.mass_kg * factors[k],
                inertia_com=one.inertia_com * factors[k],
                com_m=one.com_m + shift if k == self.trunk else one.com_m,
            )
            for k, one in enumerate(body.multibody.bodies)
        ]
        return replace(body, multibody=Multibody(tuple(bodies), body.multibody.gravity_W))


class _Search:
    """Cost and Gauss-Newton step of one problem; the balance is counted in its standard deviations."""

    def __init__(self, problem: CoordinateProblem, settings: EstimationSettings, knots: Knots) -> None:
        self.problem, self.knots = problem, knots
        self.free = np.flatnonzero(problem.free)
        masses = np.array([body.mass_kg for body in problem.body.multibody.bodies])
        self.inertias = _Inertias(
            int(np.argmax(masses)),
            tuple(np.flatnonzero(masses > 0.0).tolist()),
            len(masses),
            CENTRE_SD_M,
            MASS_SD_SHARE,
        )
        sample = problem.rate_hz * _SAMPLE_S  # rows in which a hundredth of a second is measured
        turning = problem.rotational[self.free]
        sd = np.where(turning, COORDINATE_SD_RAD, COORDINATE_SD_M)
        self.kept = knots.step / sample / sd**2
        self.marked = 1.0 / (sample * COORDINATE_MARKER_SD_M**2)
        marked = problem.markers is not None
        fastest_hz = _MARKER_DEVIATION_HZ if marked else _DEVIATION_HZ
        self.smooth = self.kept / ((2.0 * np.pi * fastest_hz) ** 3 * knots.knot_s**3) ** 2
        if marked:
            self.kept = self.kept / _UNMEASURED**2
        by_axis = np.where(problem.rotational[problem.root], MOMENT_SD_NM, FORCE_SD_N)
        self.scale = problem.balanced[:, None] / (by_axis * np.sqrt(sample))

    def path(self, c: FloatArray) -> Path:
        """The motion with deviation c (count, n free)."""
        given, moved = self.problem.given, self.knots.values(c)
        found = []
        for before, change in zip((given.q, given.v, given.vdot), moved, strict=True):
            after = before.copy()
            after[:, self.free] += change
            found.append(after)
        return Path(*found)

    def residual(self, path: Path, body: CoupledMultibody) -> FloatArray:
        """(T, r) generalised forces of the joint to ground, in standard deviations."""
        problem = self.problem
        tau = body.inverse_dynamics(path.q, path.v, path.vdot, problem.wrenches, problem.wrench_bodies)
        return np.asarray(tau[:, problem.root] * self.scale)

    def cost(self, c: FloatArray, p: FloatArray) -> float:
        """Sum of squares of everything, each in its standard deviation; infinite where a body would weigh next to nothing."""
        if self.inertias.mass_factors(p).min() < _LIGHTEST:
            return float("inf")
        path = self.path(c)
        rest = self.residual(path, self.inertias.changed(self.problem.body, p))
        place = self.knots.values(c)[0][:: self.knots.step]
        third = third_differences(c)
        priors = (self.kept * place**2).sum() + (self.smooth * third**2).sum() + (p**2).sum()
        return float((rest**2).sum() + priors + self._misplaced(path))

    def step(self, c: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The Gauss-Newton step of the deviation (count, n free) and of the inertias."""
        knots, path, body = self.knots, self.path(c), self.inertias.changed(self.problem.body, p)
        rest = self.residual(path, body)
        normal = NormalEquations(knots.count, DEGREE, len(self.free))
        place = knots.values(c)[0][:: knots.step]
        own = np.broadcast_to(self.kept, place.shape)
        normal.add_diagonal(0, used_weights(knots.weights[0][0]), own, -own * place)
        third = third_differences(c)
        own = np.broadcast_to(self.smooth, third.shape)
        normal.add_diagonal(0, THIRD, own, -own * third)
        self._add_markers(normal, path)
        by_inertia = self._by_inertia(path, p, rest)
        both = np.zeros((knots.count, len(self.free), self.inertias.count))
        parts = self._by_motion(path, body, rest)
        for offset in range(knots.step):
            frames = slice(offset, None, knots.step)
            rows = on_coefficients(knots, [part[frames] for part in parts], offset)
            normal.add_rows(0, rows, -rest[frames])
            for s in range(rows.shape[2]):
                both[s : s + len(rows)] += np.einsum("trn,trp->tnp", rows[:, :, s], by_inertia[frames])
        square = np.einsum("trp,trq->pq", by_inertia, by_inertia) + np.eye(self.inertias.count)
        pull = -np.einsum("trp,tr->p", by_inertia, rest) - p
        factor = CholeskyFactor(normal)
        alone, through = factor.solve(normal.right), factor.solve(both)
        flat, crossed = both.reshape(-1, len(p)), through.reshape(-1, len(p))
        dp = np.linalg.solve(square - flat.T @ crossed, pull - flat.T @ alone.ravel())
        return alone - through @ dp, dp

    def _misplaced(self, path: Path) -> float:
        """Sum of squares of the markers' way from where the fit had them, and of pulled coordinates' from theirs."""
        markers = self.problem.markers
        if markers is None:
            return 0.0
        away = markers.followed.positions(self.problem.body, path.q) - markers.places
        weights = markers.followed.weights
        pulled = ((path.q - markers.given) ** 2 @ markers.pulls) @ weights.sum(axis=1)
        return float(self.marked * (np.einsum("tm,tmi,tmi->", weights, away, away) + pulled))

    def _add_markers(self, normal: NormalEquations, path: Path) -> None:
        """Add what the markers say: of the linearised way each makes with the coordinates."""
        markers, knots = self.problem.markers, self.knots
        if markers is None:
            return
        frames, n = len(path.q), len(self.free)
        square, pull = np.empty((frames, n, n)), np.empty((frames, n))
        pulls = np.asarray(markers.pulls[self.free])
        for start in range(0, frames, _MOST_MARKED):
            at = slice(start, start + _MOST_MARKED)
            one = replace(markers.followed, weights=markers.followed.weights[at])
            J = one.by_coordinates(self.problem.body, path.q[at])[..., self.free]
            away = markers.places[at] - one.positions(self.problem.body, path.q[at])
            weighted = self.marked * one.weights[:, :, None, None] * J
            total = self.marked * one.weights.sum(axis=1)[:, None] * pulls
            flat = J.reshape(len(J), -1, n)
            square[at] = weighted.reshape(flat.shape).transpose(0, 2, 1) @ flat
            square[at, range(n), range(n)] += total
            pull[at] = np.einsum("tmik,tmi->tk", weighted, away)
            pull[at] += total * (markers.given[at] - path.q[at])[:, self.free]
        for offset in range(knots.step):
            rows = slice(offset, None, knots.step)
            normal.add_weighted(0, used_weights(knots.weights[0][offset]), square[rows], pull[rows])

    def _by_motion(self, path: Path, body: CoupledMultibody, rest: FloatArray) -> list[FloatArray]:
        """Derivatives (T, r, n free) of the residual by place, rate and acceleration of the free coordinates.

        The residual is linear in accelerations and quadratic in rates: differences are exact there but for rounding.
        """
        rows = len(rest)
        at_once = max(1, _MOST_ROWS // rows)
        found = [np.empty((*rest.shape, len(self.free))) for _ in range(3)]
        for order, part in enumerate(found):
            step = _STEP if order == 0 else 1.0
            for first in range(0, len(self.free), at_once):
                columns = self.free[first : first + at_once]
                sides = [self._changed(path, body, order, columns, sign * step) for sign in (1.0, -1.0)]
                part[:, :, first : first + len(columns)] = (sides[0] - sides[1]).transpose(1, 2, 0) / (2.0 * step)
        return found

    def _changed(self, path: Path, body: CoupledMultibody, order: int, columns: IntArray, step: float) -> FloatArray:
        """The residual (C, T, r) with one of the columns (C,) of place (order 0), rate or acceleration changed by a step."""
        problem, count = self.problem, len(columns)
        parts = [np.tile(values, (count, 1, 1)) for values in (path.q, path.v, path.vdot)]
        parts[order][np.arange(count), :, columns] += step
        wrenches = problem.wrenches
        loads = None if wrenches is None else np.tile(wrenches, (count, 1, 1))
        flat = [part.reshape(-1, part.shape[2]) for part in parts]
        tau = body.inverse_dynamics(flat[0], flat[1], flat[2], loads, problem.wrench_bodies)
        return np.asarray(tau[:, problem.root].reshape(count, len(path.q), -1) * self.scale)

    def _by_inertia(self, path: Path, p: FloatArray, rest: FloatArray) -> FloatArray:
        """Derivatives (T, r, P) by the unknowns of the inertias."""
        found = np.empty((*rest.shape, len(p)))
        for k in range(len(p)):
            ahead = p.copy()
            ahead[k] += _INERTIA_STEP
            found[:, :, k] = (
                self.residual(path, self.inertias.changed(self.problem.body, ahead)) - rest
            ) / _INERTIA_STEP
        return found
