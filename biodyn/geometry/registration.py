"""Rigid registration: the pose of a body from points whose places on it are known."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray


def rigid_fit(p_B: FloatArray, p_W: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return R_WB (..., 3, 3), p_WB (..., 3) with the least weighted sum of |p_W - R_WB p_B - p_WB|^2.

    p_B (M, 3), p_W (..., M, 3), weights (M,), all alike by default. Kabsch 1976, doi 10.1107/S0567739476001873; Söderkvist &
    Wedin 1993; proper rotations only (Umeyama 1991).
    """
    share = np.full(len(p_B), 1.0 / len(p_B)) if weights is None else weights / weights.sum()
    centre_B = share @ p_B
    centre_W = np.einsum("m,...mi->...i", share, p_W)
    covariance = np.einsum("m,...mi,mj->...ij", share, p_W - centre_W[..., None, :], p_B - centre_B)
    U, _, Vt = np.linalg.svd(covariance)
    # A reflection is no motion: turn the least determined axis.
    U[..., :, 2] *= np.sign(np.linalg.det(U @ Vt))[..., None]
    R = U @ Vt
    return R, centre_W - R @ centre_B
