"""Fields of a measurement, as they must be; MatlabError where they are not."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.io.format import LARGEST_NUMBER, RATES_HZ
from biodyn.io.matlab import MatlabError, Record


def records(record: Record, field: str, count: int | None = None) -> tuple[Record, ...]:
    """The elements of a structure; none where the field is not there or empty, unless `count` are needed."""
    value = record.get(field)
    found = value if isinstance(value, tuple) else ()
    if count is not None and len(found) != count:
        raise MatlabError(f"it has no {field}")
    return found


def numbers(record: Record, field: str, *sizes: int | None) -> FloatArray:
    """Numbers whose first dimensions have these sizes (None: any), none of them larger than anything in a laboratory."""
    return _possible(_shaped(record, field, *sizes), field)


def finite(record: Record, field: str, *sizes: int | None) -> FloatArray:
    """The same of numbers with NaN where one has no end, as an empty place may be written."""
    value = _shaped(record, field, *sizes)
    return _possible(np.where(np.isfinite(value), value, np.nan), field)


def _possible(value: FloatArray, field: str) -> FloatArray:
    if np.nanmax(np.abs(value), initial=0.0) > LARGEST_NUMBER:
        raise MatlabError(f"{field} holds numbers beyond any laboratory")
    return value


def _shaped(record: Record, field: str, *sizes: int | None) -> FloatArray:
    value = record.get(field)
    if not isinstance(value, np.ndarray):
        raise MatlabError(f"it has no numbers {field}")
    if value.ndim < len(sizes) or any(n is not None and n != m for n, m in zip(sizes, value.shape, strict=False)):
        raise MatlabError(f"{field} is {by(value)}")
    return value


def by(value: FloatArray) -> str:
    return " x ".join(map(str, value.shape))


def number(record: Record, field: str, default: float | None = None) -> float:
    """One number; the default where there is none."""
    value = record.get(field)
    if default is not None and not (isinstance(value, np.ndarray) and np.isfinite(value).any()):
        return default
    value = numbers(record, field)
    if value.size != 1 or not np.isfinite(value).all():
        raise MatlabError(f"{field} is no number")
    return float(value.flat[0])


def possible_rate(per_s: float) -> float:
    if not RATES_HZ[0] <= per_s <= RATES_HZ[1]:
        raise MatlabError(f"{per_s:.3g} frames or samples per second are impossible")
    return per_s


def texts(record: Record, field: str) -> list[str]:
    value = record.get(field)
    cells = value if isinstance(value, list) else [value]
    found = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    if not found or len(found) != len(cells):
        raise MatlabError(f"{field} are no texts")
    return found
