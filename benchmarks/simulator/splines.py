"""A motion of any kind as splines: its state at any time, and the least-squares search for the one that physics allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import LinAlgError, solveh_banded

from biodyn.conventions import FloatArray

DEGREE = 5  # accelerations without kinks
_ORDERS = 4  # value and three derivatives
# Steps of the numeric derivatives in y, its rate and its acceleration: rad or m, and per second.
_STEPS = (1e-6, 1e-5, 1e-4)

#: Residuals (F, m) of F frames whose rows y, yd, ydd (F, ny) are given, and which of the problem's frames they are (F,).
Residuals = Callable[[tuple[FloatArray, FloatArray, FloatArray], np.ndarray], FloatArray]


@dataclass(frozen=True)
class SplineMotion:
    """A motion whose curve values are splines over equidistant knots.

    Attributes:
        coefficients: (n, ny), columns as in `curves`. knot_s: distance of the knots; the first is at 0.
    """

    coefficients: FloatArray
    knot_s: float

    @property
    def duration_s(self) -> float:
        """Time over which the motion is defined."""
        return (len(self.coefficients) - DEGREE) * self.knot_s

    def rows(self, time_s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the curve values (T, ny) and their time derivatives at the times (T,) s."""
        bases = basis(time_s, len(self.coefficients), self.knot_s)
        return bases[0] @ self.coefficients, bases[1] @ self.coefficients, bases[2] @ self.coefficients


def basis(time_s: FloatArray, count: int, knot_s: float) -> FloatArray:
    """Return the values of `count` basis functions and their first three derivatives (4, T, count) at the times (T,)."""
    knots = knot_s * (np.arange(count + DEGREE + 1) - DEGREE)
    spline = BSpline(knots, np.eye(count), DEGREE)
    return np.stack([spline.derivative(order)(time_s) if order else spline(time_s) for order in range(_ORDERS)])


def coefficients_for(values: FloatArray, time_s: FloatArray, count: int, knot_s: float) -> FloatArray:
    """Return the coefficients (count, ny) of the splines nearest to values (T, ny) at the times (T,)."""
    B = basis(time_s, count, knot_s)[0]
    return np.asarray(np.linalg.solve(B.T @ B + 1e-9 * np.eye(count), B.T @ values))


@dataclass(frozen=True)
class SplineProblem:
    """Least squares over the coefficients of splines.

    Attributes:
        time_s: (F,) s of the frames in which residuals are asked for. residuals: of the frames.
        reference: (F, ny) curve values wanted; tolerance: (ny,) that costs one unit.
        rough: (ny,) third derivative that costs one unit.
        count, knot_s: of the splines.
    """

    time_s: FloatArray
    residuals: Residuals
    reference: FloatArray
    tolerance: FloatArray
    rough: FloatArray
    count: int
    knot_s: float

    def solve(self, iterations: int = 40, gain: float = 1e-4) -> tuple[FloatArray, float]:
        """Return the coefficients (count, ny) with the least cost, and the cost (Levenberg-Marquardt, banded)."""
        B = basis(self.time_s, self.count, self.knot_s)
        first = np.minimum((self.time_s / self.knot_s + 1e-9).astype(int), self.count - DEGREE - 1)
        x = coefficients_for(self.reference, self.time_s, self.count, self.knot_s)
        damping, cost = 1e-3, self._cost(x, B)
        for _ in range(iterations):
            band, gradient = self._normal(x, B, first)
            while damping < 1e8:
                damped = band.copy()
                damped[0] += damping * (band[0] + 1e-9)
                try:
                    step = solveh_banded(damped, gradient, lower=True)
                except LinAlgError:
                    damping *= 4.0
                    continue
                tried = x - step.reshape(x.shape)
                tried_cost = self._cost(tried, B)
                if tried_cost < cost:
                    break
                damping *= 4.0
            else:
                break
            better = (cost - tried_cost) / cost
            x, cost, damping = tried, tried_cost, max(damping / 5.0, 1e-9)
            if better < gain:
                break
        return x, cost

    def _cost(self, x: FloatArray, B: FloatArray) -> float:
        y, yd, ydd, yddd = (B[order] @ x for order in range(_ORDERS))
        physics = self.residuals((y, yd, ydd), np.arange(len(y)))
        prior, rough = (y - self.reference) / self.tolerance, yddd / self.rough
        return float((physics**2).sum() + (prior**2).sum() + (rough**2).sum())

    def _normal(self, x: FloatArray, B: FloatArray, first: np.ndarray) -> tuple[FloatArray, FloatArray]:
        """Lower band of J^T J and the gradient J^T r; the unknowns in the order basis function, column."""
        rows = [B[order] @ x for order in range(_ORDERS)]
        frames, ny = rows[0].shape
        here = np.arange(frames)
        r = self.residuals((rows[0], rows[1], rows[2]), here)
        partial = np.stack([self._partial(rows, order, r) for order in range(3)])  # (3, F, m, ny)
        support = DEGREE + 1
        width = support * ny
        band = np.zeros((width, x.size))
        gradient = np.zeros(x.size)
        for t in range(frames):
            b = B[:, t, first[t] : first[t] + support]  # (4, support)
            J = np.einsum("omj,os->msj", partial[:, t], b[:3]).reshape(-1, width)
            H = J.T @ J
            g = J.T @ r[t]
            for order, target, scale in ((0, self.reference[t], self.tolerance), (3, 0.0, self.rough)):
                outer = np.outer(b[order], b[order])
                H += np.kron(outer, np.diag(1.0 / scale**2))
                g += np.outer(b[order], (rows[order][t] - target) / scale**2).reshape(-1)
            at = first[t] * ny
            gradient[at : at + width] += g
            for k in range(width):
                band[: width - k, at + k] += H[k:, k]
        return band, gradient

    def _partial(self, rows: list[FloatArray], order: int, r: FloatArray) -> FloatArray:
        """Derivative (F, m, ny) of the residuals in y (order 0), its rate or its acceleration, by forward differences."""
        frames, ny = rows[0].shape
        step = _STEPS[order]
        moved = [np.tile(values, (ny, 1, 1)) for values in rows[:3]]
        moved[order] += step * np.eye(ny)[:, None, :]
        y, yd, ydd = (values.reshape(-1, ny) for values in moved)
        changed = self.residuals((y, yd, ydd), np.tile(np.arange(frames), ny))
        return (np.asarray(changed.reshape(ny, frames, -1)) - r).transpose(1, 2, 0) / step
