"""Coordinates z of a tree as functions of fewer coordinates q, one frame at a time: z = f(q) with its derivatives.

The functions are a list of values, each computed from ones before it: the coordinates q come first, z last. G = df/dq is
as sparse as the list, so every value holds its gradient only for the q it depends on.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from biodyn.conventions import FloatArray, IntArray
from biodyn.kernels.bundle import bundle
from biodyn.kernels.jit import part

GIVEN: Final = 0  # a coordinate q
SAME: Final = 1  # another value
LINEAR: Final = 2  # numbers: offset, slope of each source
PIECES: Final = (
    3  # numbers: knots K, degree, degree beyond the knots, K knots, coefficients of each piece from the highest down
)
POLYNOMIAL: Final = 4  # numbers: degree, coefficients from the highest down
SINE: Final = 5  # numbers: amplitude, omega, phase, offset
ELLIPSOID: Final = 6  # numbers: radius, component


@bundle
class Laws(NamedTuple):
    """N values of which the first n are q and the last nz are z."""

    kind: IntArray  # (N,)
    factor: FloatArray  # (N,) what the function is multiplied by
    first: IntArray  # (N + 1,) sources of value i stand at first[i] .. first[i + 1] of `source`
    source: IntArray  # (S,) indices of values
    at: IntArray  # (N,) first of a function's numbers
    numbers: FloatArray  # (P,)
    entry: IntArray  # (N + 1,) gradient of value i: entry[i] .. entry[i + 1] of `column`
    column: IntArray  # (E,) index in q, increasing within a value
    target: IntArray  # per value, source and entry of that source: the entry of the value it adds to


@bundle
class Passed(NamedTuple):
    """What one evaluation leaves."""

    x: FloatArray  # (N,)
    slope: FloatArray  # (S,) derivative of a value by its source
    curve: FloatArray  # (S,) second derivative by the same source
    cross: FloatArray  # (N,) mixed second derivative of a value of two sources
    gradient: FloatArray  # (E,)
    pull: FloatArray  # (N,) adjoint


@part
def follow(laws, q, nz, passed, z):
    """Fill the first nz of z and the derivatives of every value by its sources."""
    x, slope, curve, numbers = passed.x, passed.slope, passed.curve, laws.numbers
    count = x.shape[0]
    for i in range(count):
        kind, a, n, factor = laws.kind[i], laws.first[i], laws.at[i], laws.factor[i]
        passed.cross[i] = 0.0
        if kind == GIVEN:
            x[i] = q[i]
            continue
        if kind == SAME:
            x[i], slope[a], curve[a] = x[laws.source[a]], 1.0, 0.0
            continue
        if kind == LINEAR:
            value = numbers[n]
            for s in range(a, laws.first[i + 1]):
                value += numbers[n + 1 + s - a] * x[laws.source[s]]
                slope[s], curve[s] = factor * numbers[n + 1 + s - a], 0.0
            x[i] = factor * value
            continue
        u = x[laws.source[a]]
        if kind == SINE:
            turn = numbers[n + 1] * u + numbers[n + 2]
            f = numbers[n] * math.sin(turn)
            x[i] = factor * (f + numbers[n + 3])
            slope[a] = factor * numbers[n] * numbers[n + 1] * math.cos(turn)
            curve[a] = -factor * numbers[n + 1] * numbers[n + 1] * f
        elif kind == ELLIPSOID:
            w, component = x[laws.source[a + 1]], numbers[n + 1]
            sa, ca, sb, cb = math.sin(u), math.cos(u), math.sin(w), math.cos(w)
            scale = factor * numbers[n]
            if component == 0.0:
                f, fa, fb, faa, fab = sb, 0.0, cb, 0.0, 0.0
            elif component == 1.0:
                f, fa, fb, faa, fab = -sa * cb, -ca * cb, sa * sb, sa * cb, ca * sb
            else:
                f, fa, fb, faa, fab = ca * cb, -sa * cb, -ca * sb, -ca * cb, sa * sb
            x[i], slope[a], slope[a + 1] = scale * f, scale * fa, scale * fb
            curve[a], curve[a + 1], passed.cross[i] = scale * faa, -scale * f, scale * fab
        else:
            away, beyond = 0.0, 2
            if kind == POLYNOMIAL:
                degree, begin = int(numbers[n]), n + 1
            else:
                knots, degree, low = int(numbers[n]), int(numbers[n + 1]), n + 3
                last = low + knots - 1
                inside = min(max(u, numbers[low]), numbers[last])
                if u != inside:
                    away, beyond = u - inside, int(numbers[n + 2])
                left, right = low, last
                while right - left > 1:
                    middle = (left + right) // 2
                    if numbers[middle] <= inside:
                        left = middle
                    else:
                        right = middle
                begin = last + 1 + (left - low) * (degree + 1)
                u = inside - numbers[left]
            f, df, ddf = 0.0, 0.0, 0.0
            for k in range(degree + 1):
                ddf = ddf * u + 2.0 * df
                df = df * u + f
                f = f * u + numbers[begin + k]
            if beyond < 2:
                ddf = 0.0
            if beyond < 1:
                df = 0.0
            x[i] = factor * (f + away * (df + 0.5 * away * ddf))
            slope[a], curve[a] = factor * (df + away * ddf), factor * ddf
    for j in range(nz):
        z[j] = x[count - nz + j]


@part
def slopes(laws, passed):
    """Fill the gradient of every value by q."""
    gradient, at = passed.gradient, 0
    for e in range(gradient.shape[0]):
        gradient[e] = 0.0
    for i in range(passed.x.shape[0]):
        if laws.kind[i] == GIVEN:
            gradient[laws.entry[i]] = 1.0
        for s in range(laws.first[i], laws.first[i + 1]):
            one = laws.source[s]
            for e in range(laws.entry[one], laws.entry[one + 1]):
                gradient[laws.target[at]] += passed.slope[s] * gradient[e]
                at += 1


@part
def lift(tree, laws, passed, hessian_z, drive_z, exact, hessian, drive):
    """Fill the lower half of `hessian` (n, n) and `drive` (n,) of q from those of z: G^T H_z G - sum drive_z d2z, G^T drive_z.

    hessian_z: rows by depth (sparse.py). `exact` adds the curvature of the functions.
    """
    n, nz, count = drive.shape[0], drive_z.shape[0], passed.x.shape[0]
    below = count - nz
    stride = hessian_z.shape[0] // nz
    column, entry, gradient, pull = laws.column, laws.entry, passed.gradient, passed.pull
    for i in range(n):
        for k in range(i + 1):
            hessian[i, k] = 0.0
    for i in range(count):
        pull[i] = 0.0
    for j in range(nz):
        pull[below + j] = drive_z[j]
        for e in range(entry[below + j], entry[below + j + 1]):
            g, c = gradient[e], column[e]
            for f in range(entry[below + j], e + 1):
                hessian[c, column[f]] += hessian_z[j * stride + tree.dof_depth[j]] * g * gradient[f]
            for d in range(tree.dof_depth[j]):
                b = below + tree.dof_path[j, d]
                h = hessian_z[j * stride + d] * g
                for f in range(entry[b], entry[b + 1]):
                    k = column[f]
                    if c > k:
                        hessian[c, k] += h * gradient[f]
                    elif k > c:
                        hessian[k, c] += h * gradient[f]
                    else:
                        hessian[c, c] += 2.0 * h * gradient[f]
    for i in range(count - 1, n - 1, -1):
        a, b = laws.first[i], laws.first[i + 1]
        for s in range(a, b):
            one = laws.source[s]
            pull[one] += passed.slope[s] * pull[i]
            bend = pull[i] * passed.curve[s]
            if exact and bend != 0.0:
                for e in range(entry[one], entry[one + 1]):
                    for f in range(entry[one], e + 1):
                        hessian[column[e], column[f]] -= bend * gradient[e] * gradient[f]
        bend = pull[i] * passed.cross[i]
        if exact and bend != 0.0:
            for e in range(entry[laws.source[a]], entry[laws.source[a] + 1]):
                for f in range(entry[laws.source[a + 1]], entry[laws.source[a + 1] + 1]):
                    c, k = column[e], column[f]
                    twice = 2.0 if c == k else 1.0
                    hessian[max(c, k), min(c, k)] -= twice * bend * gradient[e] * gradient[f]
    for i in range(n):
        drive[i] = pull[i]
