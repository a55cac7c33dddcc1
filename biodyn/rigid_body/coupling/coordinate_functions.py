"""Scalar functions z = f(q), layers of such functions above a tree, and their encoding for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PPoly
from scipy.linalg import solve_banded

from biodyn.conventions import FloatArray
from biodyn.errors import ModelError
from biodyn.kernels import coupled_coordinates as kinds
from biodyn.kernels.coupled_coordinates import CouplingFunctions, EvaluatedFunctions

#: Value (T,), gradient (m, T) and, for one argument, curvature (T,); None = zero everywhere.
Derivatives = tuple[FloatArray, FloatArray, FloatArray | None]


@dataclass(frozen=True)
class Linear:
    """The linear function sum_i slopes_i x_i + offset; a constant if it has no slopes."""

    slopes: tuple[float, ...]
    offset: float = 0.0

    @property
    def arguments(self) -> int:
        """Number m of coordinates on which the function depends."""
        return len(self.slopes)

    def evaluate(self, x: FloatArray) -> Derivatives:
        """Return value (T,), gradient and curvature (None) of the function at arguments x (m, T)."""
        slopes = np.array(self.slopes)
        value = np.full(x.shape[1], self.offset) + slopes @ x
        return value, np.repeat(slopes[:, None], x.shape[1], axis=1), None


@dataclass(frozen=True, eq=False)
class Piecewise:
    """Polynomial pieces between knots, extrapolated along the tangents at the first and last knot."""

    pieces: PPoly
    arguments: int = 1

    def evaluate(self, x: FloatArray) -> Derivatives:
        """Return value, slope and curvature (T,) of the function at arguments x (1, T)."""
        inside = np.clip(x[0], float(self.pieces.x[0]), float(self.pieces.x[-1]))
        away = x[0] - inside
        f, df, ddf = (self.pieces(inside, nu=n) for n in range(3))
        f += away * df
        ddf[away != 0.0] = 0.0
        return f, df[None], ddf


@dataclass(frozen=True)
class Polynomial:
    """A polynomial of one coordinate, with coefficients from the highest power down to the constant."""

    coefficients: tuple[float, ...]
    arguments: int = 1

    def evaluate(self, x: FloatArray) -> Derivatives:
        """Return value, slope and curvature (T,) of the polynomial at arguments x (1, T)."""
        p = np.poly1d(self.coefficients)
        return p(x[0]), p.deriv()(x[0])[None], p.deriv(2)(x[0])


Function = Linear | Piecewise | Polynomial


def scale_function(function: Function, factor: float) -> Function:
    """Return the function multiplied by a factor."""
    if factor == 1.0:
        return function
    if isinstance(function, Linear):
        return Linear(tuple(factor * slope for slope in function.slopes), factor * function.offset)
    if isinstance(function, Polynomial):
        return Polynomial(tuple(factor * coefficient for coefficient in function.coefficients))
    return Piecewise(PPoly(factor * function.pieces.c, function.pieces.x))


def piecewise_linear(x: FloatArray, y: FloatArray) -> Piecewise:
    """Return the piecewise linear function through points (n,), extrapolated along its first and last segment."""
    x, y = _checked_knots(x, y)
    return Piecewise(PPoly(np.array([np.diff(y) / np.diff(x), y[:-1]]), x))


def cubic_spline(x: FloatArray, y: FloatArray) -> Piecewise:
    """Return the cubic spline with the end conditions of SIMM: third derivatives of the cubics through the four end points.

    It is extrapolated linearly. Forsythe, Malcolm, Moler 1977, Computer Methods for Mathematical
    Computations, section 4.4, as implemented in SIMM and OpenSim.
    """
    x, y = _checked_knots(x, y)
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


def _checked_knots(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.shape != y.shape or len(x) < 2 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ModelError(
            "A function through points needs at least two finite x values and the same number of y values; found "
            f"{len(x)} and {len(y)}."
        )
    if (np.diff(x) <= 0.0).any():
        raise ModelError("A function through points needs strictly increasing x values.")
    return x, y


@dataclass(frozen=True, eq=False)
class Term:
    """One coordinate z as a function of coordinates q: z[out] = function(q[sources])."""

    out: int
    sources: tuple[int, ...]
    function: Function


@dataclass(frozen=True, eq=False)
class CoordinateMap:
    """The map from q and its rates to z (T, nz).

    Attributes:
        nq, nz: number of coordinates q and z.
        same: pairs (out, source) of coordinates z that equal a coordinate q.
        terms: functions of the other coordinates; every z has exactly one entry in `same` or `terms`.
        turning: index of the first coordinate of each triple of q (angles about body-fixed X, Y, Z) whose three speeds are the
            angular velocity in the axes of the parent.
    """

    nq: int
    nz: int
    same: tuple[tuple[int, int], ...] = ()
    terms: tuple[Term, ...] = ()
    turning: tuple[int, ...] = ()

    def evaluate(self, q: FloatArray, v: FloatArray | None = None) -> CoordinateMapValues:
        """Evaluate the functions at q (T, nq), and the velocity-dependent terms if speeds v (T, nq) are given."""
        frames = len(q)
        z, bias = np.empty((frames, self.nz)), np.zeros((frames, self.nz))
        turns = {first: _angle_rate_matrix(q[:, first : first + 3]) for first in self.turning}
        qdot = None if v is None else _coordinate_rates(turns, v)
        columns = np.ascontiguousarray(q.T)
        gradients = []
        for out, source in self.same:
            z[:, out] = columns[source]
        for term in self.terms:
            sources = list(term.sources)
            z[:, term.out], gradient, curvature = term.function.evaluate(columns[sources])
            gradients.append(gradient)
            if qdot is not None and curvature is not None:
                bias[:, term.out] = curvature * qdot[:, sources[0]] ** 2
        layer = CoordinateMapValues(self, z, gradients, turns, bias)
        if qdot is not None and turns:
            # qddot = N vdot + Ndot v; the second part is multiplied by df/dq
            extra = np.zeros_like(qdot)
            for first, N in turns.items():
                at = slice(first, first + 3)
                Edot_qdot = _angle_rate_bias(q[:, at], qdot[:, at])
                extra[:, at] = -np.einsum("tij,tj->ti", N, Edot_qdot)
            bias += layer.apply_function_gradients(extra)
        return layer


@dataclass(frozen=True, eq=False)
class CoordinateMapValues:
    """Result of `CoordinateMap.evaluate`: z (T, nz) at given coordinates, and products with the Jacobian G.

    bias: the part (T, nz) of zddot that does not depend on the accelerations.
    """

    map: CoordinateMap
    z: FloatArray
    gradients: list[FloatArray]
    turns: dict[int, FloatArray]
    bias: FloatArray

    def apply_function_gradients(self, qdot: FloatArray) -> FloatArray:
        """Return df/dq qdot (T, nz): the rates of z for rates qdot (T, nq) of the coordinates."""
        zdot = np.zeros_like(self.z)
        for out, source in self.map.same:
            zdot[:, out] = qdot[:, source]
        for term, gradient in zip(self.map.terms, self.gradients, strict=True):
            zdot[:, term.out] = sum(g * qdot[:, s] for g, s in zip(gradient, term.sources, strict=True))
        return zdot

    def map_speeds(self, v: FloatArray) -> FloatArray:
        """Return the speeds G v (T, nz) of z for speeds v (T, nq)."""
        return self.apply_function_gradients(_coordinate_rates(self.turns, v))

    def map_forces(self, tau_z: FloatArray) -> FloatArray:
        """Return the generalised forces G^T tau_z (T, nq) along q for forces tau_z (T, nz) along z."""
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

    def jacobian(self) -> FloatArray:
        """Return the Jacobian G (T, nz, nq), with zdot = G v."""
        G = np.zeros((len(self.z), self.map.nz, self.map.nq))
        for out, source in self.map.same:
            G[:, out, source] = 1.0
        for term, gradient in zip(self.map.terms, self.gradients, strict=True):
            for g, source in zip(gradient, term.sources, strict=True):
                G[:, term.out, source] += g
        for first, N in self.turns.items():
            at = slice(first, first + 3)
            G[:, :, at] = G[:, :, at] @ N
        return G


def _coordinate_rates(turns: dict[int, FloatArray], v: FloatArray) -> FloatArray:
    """Return the rates (T, nq) of the coordinates for speeds v (T, nq); they differ for the angles of `turns`."""
    if not turns:
        return v
    qdot = v.copy()
    for first, N in turns.items():
        qdot[:, first : first + 3] = np.einsum("tij,tj->ti", N, v[:, first : first + 3])
    return qdot


def _angle_rate_matrix(angles: FloatArray) -> FloatArray:
    """Return N (T, 3, 3), which maps the angular velocity in parent axes to rates of body-fixed X, Y, Z angles (T, 3).

    N is the inverse of E = [x, Rx y, Rx Ry z] and is singular if the middle angle is a right angle.
    """
    s0, c0, s1, c1 = (f(angles[:, i]) for i in (0, 1) for f in (np.sin, np.cos))
    E = np.zeros((len(angles), 3, 3))
    E[:, 0, 0] = 1.0
    E[:, 1, 1], E[:, 2, 1] = c0, s0
    E[:, 0, 2], E[:, 1, 2], E[:, 2, 2] = s1, -s0 * c1, c0 * c1
    return np.asarray(np.linalg.inv(E), dtype=np.float64)


def _angle_rate_bias(angles: FloatArray, rates: FloatArray) -> FloatArray:
    """Return Edot qdot (T, 3) for the matrix E of `_angle_rate_matrix`."""
    s0, c0, s1, c1 = (f(angles[:, i]) for i in (0, 1) for f in (np.sin, np.cos))
    a, b, c = rates.T
    middle = np.stack([np.zeros_like(a), -s0 * a, c0 * a], axis=1) * b[:, None]
    last = np.stack([c1 * b, -c0 * c1 * a + s0 * s1 * b, -s0 * c1 * a - c0 * s1 * b], axis=1) * c[:, None]
    return middle + last


def kernel_functions(layers: Sequence[CoordinateMap]) -> CouplingFunctions:
    """Return the functions from the coordinates of the top layer to the coordinates of the tree, as arrays for the kernels."""
    kind: list[int] = []
    sources: list[tuple[int, ...]] = []
    at: list[int] = []
    numbers: list[float] = []

    def append_value(new_kind: int, new_sources: tuple[int, ...], own: Sequence[float] = ()) -> int:
        """Append a value that is computed from the values `new_sources` by a function of kind `new_kind`; return its index."""
        kind.append(new_kind)
        sources.append(new_sources)
        at.append(len(numbers))
        numbers.extend(map(float, own))
        return len(kind) - 1

    above = [append_value(kinds.GIVEN, ()) for _ in range(layers[0].nq)]
    for layer in layers:
        functions = {term.out: term for term in layer.terms}
        passing = dict(layer.same)
        beneath = []
        for out in range(layer.nz):
            if out in passing:
                beneath.append(append_value(kinds.SAME, (above[passing[out]],)))
                continue
            term = functions[out]
            new_kind, own = _encode_function(term.function)
            beneath.append(append_value(new_kind, tuple(above[s] for s in term.sources), own))
        above = beneath
    entries: list[list[int]] = []
    target: list[int] = []
    start = 0
    for i, of_value in enumerate(sources):
        columns = sorted({column for s in of_value for column in entries[s]}) if kind[i] != kinds.GIVEN else [i]
        target += [start + columns.index(column) for s in of_value for column in entries[s]]
        entries.append(columns)
        start += len(columns)
    return CouplingFunctions(
        kind=np.array(kind, dtype=np.int64),
        first=_end_offsets([len(group) for group in sources]),
        source=np.array([s for group in sources for s in group], dtype=np.int64),
        at=np.array(at, dtype=np.int64),
        numbers=np.array(numbers, dtype=np.float64),
        entry=_end_offsets([len(group) for group in entries]),
        column=np.array([c for group in entries for c in group], dtype=np.int64),
        target=np.array(target, dtype=np.int64),
    )


def evaluation_memory(laws: CouplingFunctions) -> EvaluatedFunctions:
    """Return working memory for one evaluation of these functions by a kernel."""
    count, sources = len(laws.kind), len(laws.source)
    return EvaluatedFunctions(
        x=np.zeros(count),
        slope=np.zeros(sources),
        curve=np.zeros(sources),
        gradient=np.zeros(len(laws.column)),
        adjoint=np.zeros(count),
    )


def _end_offsets(counts: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _encode_function(function: Function) -> tuple[int, Sequence[float]]:
    """Return the kind of a function as an integer, and its parameters in the order that the kernels read."""
    if isinstance(function, Linear):
        return kinds.LINEAR, (function.offset, *function.slopes)
    if isinstance(function, Polynomial):
        return kinds.POLYNOMIAL, (len(function.coefficients) - 1, *function.coefficients)
    pieces = function.pieces
    return kinds.PIECES, (len(pieces.x), len(pieces.c) - 1, *pieces.x, *pieces.c.T.ravel())
