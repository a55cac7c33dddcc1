"""Coordinates z = f(q) of a tree: scalar functions, a layer of them, and all layers as a list for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.interpolate import PPoly, make_interp_spline
from scipy.linalg import solve_banded

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.kernels import coupled as kinds
from biodyn.kernels.coupled import Laws, Passed

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
    """Return the cubic spline with third derivatives at the ends as of the cubics through the four end points.

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


@dataclass(frozen=True, eq=False)
class Term:
    """z[out] = function(q[sources])."""

    out: int
    sources: tuple[int, ...]
    function: Function


@dataclass(frozen=True, eq=False)
class CoordinateMap:
    """z (T, nz) from q (T, nq) and their rates.

    Attributes:
        nq, nz: how many coordinates are above and beneath.
        same: pairs (out, source) of coordinates that pass unchanged.
        terms: the others; every z has exactly one entry in `same` or `terms`.
        turning: per triple of q (angles about body-fixed X, Y, Z) with three speeds that are the angular velocity in the axes
            of the parent: the index of the first.
    """

    nq: int
    nz: int
    same: tuple[tuple[int, int], ...] = ()
    terms: tuple[Term, ...] = ()
    turning: tuple[int, ...] = ()

    def at(self, q: FloatArray, v: FloatArray | None = None) -> Layer:
        """Evaluate the functions at q (T, nq), and with speeds v (T, nq) what multiplies speeds twice."""
        frames = len(q)
        z, bias = np.empty((frames, self.nz)), np.zeros((frames, self.nz))
        turns = {first: _rates_of_angles(q[:, first : first + 3]) for first in self.turning}
        qdot = None if v is None else _turned(turns, v)
        columns = np.ascontiguousarray(q.T)
        gradients = []
        for out, source in self.same:
            z[:, out] = columns[source]
        for term in self.terms:
            sources = list(term.sources)
            value, gradient, hessian = term.function.at(columns[sources])
            z[:, term.out] = value
            gradients.append(gradient)
            if qdot is not None and hessian is not None:
                rates = qdot[:, sources].T
                bias[:, term.out] = np.einsum("ijt,it,jt->t", hessian, rates, rates)
        layer = Layer(self, z, gradients, turns, bias)
        if qdot is not None and turns:
            # qddot = N vdot + Ndot v: the second part passes through df/dq
            extra = np.zeros_like(qdot)
            for first, N in turns.items():
                at = slice(first, first + 3)
                Edot_qdot = _angle_rate_bias(q[:, at], qdot[:, at])
                extra[:, at] = -np.einsum("tij,tj->ti", N, Edot_qdot)
            bias += layer.through_functions(extra)
        return layer


@dataclass(frozen=True, eq=False)
class Layer:
    """A map at given coordinates: z (T, nz), and the products with G. Made by `CoordinateMap.at`.

    bias (T, nz): the part of zddot that has no acceleration in it.
    """

    map: CoordinateMap
    z: FloatArray
    gradients: list[FloatArray]
    turns: dict[int, FloatArray]
    bias: FloatArray

    def through_functions(self, qdot: FloatArray) -> FloatArray:
        """Return df/dq qdot (T, nz)."""
        zdot = np.zeros_like(self.z)
        for out, source in self.map.same:
            zdot[:, out] = qdot[:, source]
        for term, gradient in zip(self.map.terms, self.gradients, strict=True):
            zdot[:, term.out] = sum(g * qdot[:, s] for g, s in zip(gradient, term.sources, strict=True))
        return zdot

    def rates(self, v: FloatArray) -> FloatArray:
        """Return G v (T, nz)."""
        return self.through_functions(_turned(self.turns, v))

    def forces(self, tau_z: FloatArray) -> FloatArray:
        """Return G^T tau_z (T, nq)."""
        tau = np.zeros((len(tau_z), self.map.nq))
        for out, source in self.map.same:
            tau[:, source] += tau_z[:, out]
        for term, gradient in zip(self.map.terms, self.gradients, strict=True):
            for g, source in zip(gradient, term.sources, strict=True):
                tau[:, source] += g * tau_z[:, term.out]
        for first, N in self.turns.items():
            at = slice(first, first + 3)
            tau[:, at] = np.einsum("tij,ti->tj", N, tau[:, at])
        return tau

    def matrix(self) -> FloatArray:
        """Return G (T, nz, nq)."""
        frames = len(self.z)
        G = np.empty((frames, self.map.nz, self.map.nq))
        for j in range(self.map.nq):
            unit = np.zeros((frames, self.map.nq))
            unit[:, j] = 1.0
            G[:, :, j] = self.rates(unit)
        return G


def _turned(turns: dict[int, FloatArray], v: FloatArray) -> FloatArray:
    """Return rates of the coordinates for speeds v (T, nq)."""
    if not turns:
        return v
    qdot = v.copy()
    for first, N in turns.items():
        qdot[:, first : first + 3] = np.einsum("tij,tj->ti", N, v[:, first : first + 3])
    return qdot


def _rates_of_angles(angles: FloatArray) -> FloatArray:
    """Return N (T, 3, 3): rates of body-fixed X, Y, Z angles (T, 3) from the angular velocity in parent axes.

    The inverse of E = [x, Rx y, Rx Ry z]; singular where the middle angle is a right angle, as the angles themselves.
    """
    s0, c0, s1, c1 = (f(angles[:, i]) for i in (0, 1) for f in (np.sin, np.cos))
    E = np.zeros((len(angles), 3, 3))
    E[:, 0, 0] = 1.0
    E[:, 1, 1], E[:, 2, 1] = c0, s0
    E[:, 0, 2], E[:, 1, 2], E[:, 2, 2] = s1, -s0 * c1, c0 * c1
    return np.asarray(np.linalg.inv(E), dtype=np.float64)


def _angle_rate_bias(angles: FloatArray, rates: FloatArray) -> FloatArray:
    """Return Edot qdot (T, 3) of the matrix E above."""
    s0, c0, s1, c1 = (f(angles[:, i]) for i in (0, 1) for f in (np.sin, np.cos))
    a, b, c = rates.T
    middle = np.stack([np.zeros_like(a), -s0 * a, c0 * a], axis=1) * b[:, None]
    last = np.stack([c1 * b, -c0 * c1 * a + s0 * s1 * b, -s0 * c1 * a - c0 * s1 * b], axis=1) * c[:, None]
    return middle + last


def laws_of(layers: Sequence[CoordinateMap]) -> Laws:
    """Return the functions from the coordinates at the top to those beneath the last layer.

    Raises ModelError for a kind of function that the kernels do not know.
    """
    kind: list[int] = []
    factors: list[float] = []
    sources: list[tuple[int, ...]] = []
    at: list[int] = []
    numbers: list[float] = []

    def add(new_kind: int, new_sources: tuple[int, ...], own: Sequence[float] = (), factor: float = 1.0) -> int:
        """Append a value; return its index."""
        kind.append(new_kind)
        factors.append(factor)
        sources.append(new_sources)
        at.append(len(numbers))
        numbers.extend(map(float, own))
        return len(kind) - 1

    above = [add(kinds.GIVEN, ()) for _ in range(layers[0].nq)]
    for layer in layers:
        functions = {term.out: term for term in layer.terms}
        passing = dict(layer.same)
        beneath = []
        for out in range(layer.nz):
            if out in passing:
                beneath.append(add(kinds.SAME, (above[passing[out]],)))
                continue
            term = functions[out]
            new_kind, own, factor = _described(term.function)
            beneath.append(add(new_kind, tuple(above[s] for s in term.sources), own, factor))
        above = beneath
    entries: list[list[int]] = []
    target: list[int] = []
    start = 0
    for i, of_value in enumerate(sources):
        columns = sorted({column for s in of_value for column in entries[s]}) if kind[i] != kinds.GIVEN else [i]
        target += [start + columns.index(column) for s in of_value for column in entries[s]]
        entries.append(columns)
        start += len(columns)
    return Laws(
        kind=np.array(kind, dtype=np.int64),
        factor=np.array(factors),
        first=_ends([len(group) for group in sources]),
        source=np.array([s for group in sources for s in group], dtype=np.int64),
        at=np.array(at, dtype=np.int64),
        numbers=np.array(numbers, dtype=np.float64),
        entry=_ends([len(group) for group in entries]),
        column=np.array([c for group in entries for c in group], dtype=np.int64),
        target=np.array(target, dtype=np.int64),
    )


def room_for(laws: Laws) -> Passed:
    """Return the working memory of one evaluation."""
    count, sources = len(laws.kind), len(laws.source)
    return Passed(
        x=np.zeros(count),
        slope=np.zeros(sources),
        curve=np.zeros(sources),
        cross=np.zeros(count),
        gradient=np.zeros(len(laws.column)),
        pull=np.zeros(count),
    )


def _ends(counts: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _described(function: Function) -> tuple[int, Sequence[float], float]:
    """Return kind, numbers and factor of a function."""
    if isinstance(function, Scaled):
        kind, numbers, factor = _described(function.function)
        return kind, numbers, factor * function.factor
    if isinstance(function, Linear):
        return kinds.LINEAR, (function.offset, *function.slopes), 1.0
    if isinstance(function, Piecewise):
        pieces = function.pieces
        head = (len(pieces.x), len(pieces.c) - 1, function.beyond)
        return kinds.PIECES, (*head, *pieces.x, *pieces.c.T.ravel()), 1.0
    if isinstance(function, Polynomial):
        return kinds.POLYNOMIAL, (len(function.coefficients) - 1, *function.coefficients), 1.0
    if isinstance(function, Sine):
        return kinds.SINE, (function.amplitude, function.omega, function.phase, function.offset), 1.0
    if isinstance(function, EllipsoidPoint):
        return kinds.ELLIPSOID, (function.radius, function.component), 1.0
    raise ModelError(f"A function of kind {type(function).__name__} cannot be fitted through.")
