"""Arrays of result.npz without the digits that nobody knows, for thousands of trials: zeros deflate, noise does not."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

#: Bits of the mantissa that are kept, by the type of a time series. Doubles: a relative 7e-12 of positions, velocities, torques
#: and wrenches: with 2e-9 a replay of them drifts otherwise by 4e-4 in a tenth of a second. Single precision (positions of
#: markers, m): 30 micrometres at a metre, where cameras resolve a hundred.
KEPT_BITS: Final[Mapping[np.dtype, int]] = {np.dtype(np.float64): 36, np.dtype(np.float32): 14}
#: Higher ones take four times as long for 2 % less.
_LEVEL = 1


def compact_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays, the time series among them (frames first, two axes or more) rounded to `KEPT_BITS`.

    Frame follows frame in memory: numbers of one curve are more alike than those of one frame, and deflate better.
    """
    frames = len(arrays["time_s"])
    return {
        name: np.asfortranarray(_rounded(values, KEPT_BITS[values.dtype]))
        if values.ndim > 1 and len(values) == frames and values.dtype in KEPT_BITS
        else values
        for name, values in arrays.items()
    }


def write_compact(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write `compact_arrays` as a file that `numpy.load` opens; the same arrays give the same bytes."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, values in compact_arrays(arrays).items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asarray(values), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy")  # with no time of its own
            archive.writestr(entry, content.getbuffer(), zipfile.ZIP_DEFLATED, _LEVEL)


def _rounded(values: np.ndarray, bits: int) -> np.ndarray:
    mantissa, exponent = np.frexp(values)
    scale = values.dtype.type(2.0 ** (bits + 1))  # frexp's mantissa is below one
    rounded: np.ndarray = np.ldexp(np.rint(mantissa * scale) / scale, exponent)
    return rounded
