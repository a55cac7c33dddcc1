"""Whole numbers as bytes of equal weight side by side: those of small numbers are mostly zero and deflate well."""

from __future__ import annotations

import numpy as np

_BYTE = 8
_SHORT = 4


def planes_of(values: np.ndarray) -> np.ndarray:
    """Bytes (P, N) of whole numbers (N,) of either sign, the lowest first, as many as the largest needs."""
    values = values.astype(np.int64, copy=False)
    folded = ((values << 1) ^ (values >> 63)).view(np.uint64)  # 0, -1, 1, -2 ...: the sign is the lowest bit
    count = max(1, (int(folded.max(initial=0)).bit_length() + _BYTE - 1) // _BYTE)
    return np.ascontiguousarray(folded.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)[:, :count].T)


def from_planes(planes: np.ndarray) -> np.ndarray:
    """The whole numbers (N,) of `planes_of`: of 32 bits where those hold them."""
    whole = np.dtype(np.uint32 if len(planes) <= _SHORT else np.uint64)
    folded = planes[0].astype(whole)
    for place, plane in enumerate(planes[1:], start=1):
        folded |= plane.astype(whole) << whole.type(_BYTE * place)
    signed = np.dtype(f"i{whole.itemsize}")
    values: np.ndarray = (folded >> whole.type(1)).view(signed) ^ -((folded & whole.type(1)).view(signed))
    return values
