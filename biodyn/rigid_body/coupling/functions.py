"""Scalar functions of coordinates with their first and second derivatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.interpolate import PPoly, make_interp_spline
from scipy.linalg import solve_banded

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError

#: A value (T,), its gradient (m, T), its Hessian (m, m, T); None = zero everywhere.
Derivatives = tuple[FloatArray, FloatArray, FloatArray | None]


class Function(Protocol):
    """A function of m coordinates over frames."""

    @property
    def arguments(self) -> int:
        """How many coordinates it takes, m."""
        ...

    def at(self, x: FloatArray) -> Derivatives:
        """Value, gradient and Hessian at x (m, T)."""
        ...


@dataclass(frozen=True)
class Linear:
    """sum_i slopes_i x_i + offset; without slopes a constant."""

    slopes: tuple[float, ...]
    offset: float = 0.0

    @property
    def arguments(self) -> int:
        """How many coordinates it takes."""
        return len(self.slopes)

    def at(self, x: FloatArray) -> Derivatives:
        """Value, gradient and (zero) Hessian at x (m, T)."""
        slopes = np.array(self.slopes)
        value = np.full(x.shape[1], self.offset) + slopes @ x
        return value, np.repeat(slopes[:, None], x.shape[1], axis=1), None


@dataclass(frozen=True, eq=False)
class Piecewise:
    """Polynomials between knots, and beyond them the Taylor polynomial of degree `beyond` about the first and last knot."""

    pieces: PPoly
    beyond: int = 1
    arguments: int = 1

    def at(self, x: FloatArray) -> Derivatives:
        """Value, slope and curvature at x (1, T)."""
        first, last = float(self.pieces.x[0]), float(self.pieces.x[-1])
        inside = np.clip(x[0], first, last)
        away = x[0] - inside
        f, df, ddf = (self.pieces(inside, nu=n) for n in range(3))
        out = away != 0.0
        if out.any():
            h, at = away[out], inside[out]
            taylor = [self.pieces(at, nu=n) if n <= self.beyond else np.zeros_like(at) for n in range(3)]
            f[out] = taylor[0] + h * taylor[1] + 0.5 * h**2 * taylor[2]
            df[out] = taylor[1] + h * taylor[2]
            ddf[out] = taylor[2]
        return f, df[None], ddf[None, None]


@dataclass(frozen=True)
class Polynomial:
    """A polynomial of one coordinate; coefficients from the highest power down to the constant."""

    coefficients: tuple[float, ...]
    arguments: int = 1

    def at(self, x: FloatArray) -> Derivatives:
        """Value, slope and curvature at x (1, T)."""
        p = np.poly1d(self.coefficients)
        return p(x[0]), p.deriv()(x[0])[None], p.deriv(2)(x[0])[None, None]


@dataclass(frozen=True)
class Sine:
    """amplitude sin(omega x + phase) + offset."""

    amplitude: float
    omega: float
    phase: float
    offset: float
    arguments: int = 1

    def at(self, x: FloatArray) -> Derivatives:
        """Value, slope and curvature at x (1, T)."""
        turn = self.omega * x[0] + self.phase
        f = self.amplitude * np.sin(turn)
        slope = self.amplitude * self.omega * np.cos(turn)
        return f + self.offset, slope[None], (-(self.omega**2) * f)[None, None]


@dataclass(frozen=True)
class EllipsoidPoint:
    """One component of the point radii * n on an ellipsoid, n the third axis after turns x[0] about X, then x[1] about Y.

    n = (sin b, -sin a cos b, cos a cos b): the translation of the ellipsoid joint of Seth et al. 2010
    (doi:10.1007/s11071-010-9717-3).
    """

    radius: float
    component: int
    arguments: int = 2

    def at(self, x: FloatArray) -> Derivatives:
        """Value, gradient and Hessian at x (2, T), rad; m."""
        sa, ca, sb, cb = np.sin(x[0]), np.cos(x[0]), np.sin(x[1]), np.cos(x[1])
        zero = np.zeros_like(sa)
        if self.component == 0:
            f, by, second = sb, (zero, cb), (zero, zero, -sb)
        elif self.component == 1:
            f, by, second = -sa * cb, (-ca * cb, sa * sb), (sa * cb, ca * sb, sa * cb)
        else:
            f, by, second = ca * cb, (-sa * cb, -ca * sb), (-ca * cb, sa * sb, -ca * cb)
        aa, ab, bb = second
        hessian = np.array([[aa, ab], [ab, bb]])
        return self.radius * f, self.radius * np.array(by), self.radius * hessian


@dataclass(frozen=True, eq=False)
class Scaled:
    """A function times a number."""

    function: Function
    factor: float

    @property
    def arguments(self) -> int:
        """How many coordinates it takes."""
        return self.function.arguments

    def at(self, x: FloatArray) -> Derivatives:
        """Value, gradient and Hessian at x (m, T)."""
        f, df, ddf = self.function.at(x)
        return self.factor * f, self.factor * df, None if ddf is None else self.factor * ddf


def piecewise_linear(x: FloatArray, y: FloatArray) -> Piecewise:
    """Return straight lines between points (n,), the first and last one going on beyond them."""
    x, y = _knots(x, y, 2)
    return Piecewise(PPoly(np.array([np.diff(y) / np.diff(x), y[:-1]]), x))


def cubic_spline(x: FloatArray, y: FloatArray) -> Piecewise:
    """Return the cubic spline whose third derivatives at the ends are those of the cubics through the four end points.

    Beyond the knots it goes on in straight lines. Forsythe, Malcolm, Moler 1977, Computer Methods for Mathematical
    Computations, section 4.4: the spline of SIMM, from which OpenSim has it.
    """
    x, y = _knots(x, y, 2)
    n, h = len(x), np.diff(x)
    slope = np.diff(y) / h
    if n == 2:
        return piecewise_linear(x, y)
    # unknowns: sixths of the second derivatives
    band, right = np.zeros((3, n)), np.zeros(n)
    band[1, 1:-1] = 2.0 * (h[:-1] + h[1:])
    band[0, 2:], band[2, :-2] = h[1:], h[:-1]
    right[1:-1] = np.diff(slope)
    band[1, [0, -1]], band[0, 1], band[2, -2] = -1.0, 1.0, 1.0
    if n > 3:
        second = np.diff(slope) / (x[2:] - x[:-2])
        third = np.diff(second) / (x[3:] - x[:-3])
        right[0], right[-1] = h[0] * third[0], -h[-1] * third[-1]
    sixth = solve_banded((1, 1), band, right)
    first = slope - h * (2.0 * sixth[:-1] + sixth[1:])
    return Piecewise(PPoly(np.array([np.diff(sixth) / h, 3.0 * sixth[:-1], first, y[:-1]]), x))


def natural_spline(x: FloatArray, y: FloatArray, degree: int) -> Piecewise:
    """Return the natural interpolating spline of odd degree 2m - 1: derivatives m to 2m - 2 vanish at the ends.

    Beyond the knots it is the polynomial of degree m - 1 that continues it. Woltring 1986,
    doi:10.1016/0141-1195(86)90098-7, for measurements without error.
    """
    m = (degree + 1) // 2
    x, y = _knots(x, y, 2 * m)
    ends: Any = [(order, 0.0) for order in range(m, 2 * m - 1)]  # the stubs know one condition an end
    spline: Any = make_interp_spline(x, y, k=degree, bc_type=(ends, ends))
    return Piecewise(PPoly.from_spline(spline), beyond=m - 1)


def _knots(x: FloatArray, y: FloatArray, least: int) -> tuple[FloatArray, FloatArray]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.shape != y.shape or len(x) < least or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ModelError(
            f"A function through points needs at least {least} finite x and as many y; found {len(x)} and {len(y)}."
        )
    if (np.diff(x) <= 0.0).any():
        raise ModelError("A function through points needs x that increase.")
    return x, y
