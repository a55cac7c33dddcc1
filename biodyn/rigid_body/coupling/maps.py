"""One layer of coordinates over another: z = f(q), and what follows from it for rates and forces.

    zdot = G v,   zddot = G vdot + bias,   tau_q = G^T tau_z          G = df/dq for v = qdot

Where speeds are not rates of the coordinates (`turning`: three angles whose speeds are an angular velocity), G has their
matrix as its last factor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.rigid_body.coupling.functions import Function


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
        turning: per triple of q (angles about body-fixed X, Y, Z) whose three speeds are the angular velocity in the axes
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
