"""Root mean square of what was measured."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray


def rms(error: FloatArray) -> FloatArray:
    """Root mean square over the last axis of the numbers that are there; NaN where there is none."""
    count = np.isfinite(error).sum(axis=-1)
    total = np.nansum(error**2, axis=-1)
    return np.sqrt(np.divide(total, count, out=np.full(np.shape(total), np.nan), where=count > 0))


def vector_rms(vectors: FloatArray) -> float:
    """Root mean square length of the vectors (T, 3) that are known; NaN where none is."""
    known = vectors[np.isfinite(vectors).all(axis=1)]
    return float(np.sqrt(np.mean(np.sum(known**2, axis=1)))) if len(known) else float("nan")
