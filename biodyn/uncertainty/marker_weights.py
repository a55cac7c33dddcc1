"""What an error of a marker does to the torques: weights of it and of its first two rates, in axes of World or of a segment."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.uncertainty.torque_response import rates


def single(values: FloatArray) -> FloatArray:
    """Single precision, in half the time: a standard deviation needs three digits, and no differences of large numbers follow."""
    return values.astype(np.float32)  # type: ignore[return-value]


def torque_weights(
    G: tuple[FloatArray, ...], A: FloatArray, inner: slice, rate_hz: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return g0, g1, g2 (T, C, 3M) of dtau = g0 n + g1 n' + g2 n'' for errors n of the markers that move the fit by A n.

    G: (T, C, nv) each; A: (T, nv, 3, M), with margins around the frames `inner`.
    """
    A0 = A.reshape(*A.shape[:2], -1)
    A1, A2 = (rate[inner] for rate in rates(A0, rate_hz))
    A0 = A0[inner]
    G0, G1, G2 = G
    # xi = A n:  xi' = A n' + A' n,  xi'' = A n'' + 2 A' n' + A'' n
    return G0 @ A0 + G1 @ A1 + G2 @ A2, G1 @ A0 + 2.0 * (G2 @ A1), G2 @ A0


def turning_of(attitude: FloatArray, links: IntArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """R' R^T and R'' R^T (T, 3, 3, M) of the links (M,) that carry the markers, for attitudes R (T, L, 3, 3)."""
    carrying, of_marker = np.unique(links, return_inverse=True)
    R = attitude[:, carrying]
    turned = (part @ R.transpose(0, 1, 3, 2) for part in rates(R, rate_hz))
    first, second = (single(part)[:, of_marker].transpose(0, 2, 3, 1) for part in turned)
    return np.ascontiguousarray(first), np.ascontiguousarray(second)


def along_segments(
    g: tuple[FloatArray, ...], turning: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The weights g (T, C, 3M) for errors s along the axes of the markers' segments, n = R s, but for a turn by R.

    n' = R s' + R' s and n'' = R s'' + 2 R' s' + R'' s. With R' = W R and R'' = (W' + W W) R the weights of s, s', s'' are
    (g0 + g1 W + g2 (W' + W W)) R, (g1 + 2 g2 W) R and g2 R. What is made of them are products of two of a marker's, and a
    common turn R changes none. `turning`: W and W' + W W (T, 3, 3, M).
    """
    frames, torques = g[0].shape[:2]
    g0, g1, g2 = (part.reshape(frames, torques, 3, -1) for part in g)
    W, bent = (part[:, None] for part in turning)
    first, second = g0.copy(), g1.copy()
    for b in range(3):
        for a in range(3):
            if a != b:
                first[:, :, b] += g1[:, :, a] * W[:, :, a, b]
                second[:, :, b] += g2[:, :, a] * (2.0 * W[:, :, a, b])
            first[:, :, b] += g2[:, :, a] * bent[:, :, a, b]
    return first.reshape(g[0].shape), second.reshape(g[0].shape), g[2]
