"""The time of a marker file's first frame: tables of forces beside it count from the same zero."""

from __future__ import annotations

import math
from pathlib import Path

from biodyn.io.files import file_head

_HEAD_BYTES = 1_000_000  # the header of a file with thousands of markers is shorter


def first_time_s(path: str | Path) -> float:
    """Return what a TRC file says of its first frame, s; 0 where it says nothing. InputFileError: it cannot be opened."""
    in_data = False
    for line in file_head(Path(path), _HEAD_BYTES).decode("utf-8", errors="replace").splitlines():
        cells = line.split()
        if in_data and len(cells) > 1:
            try:
                number, time_s = float(cells[0]), float(cells[1])
            except ValueError:  # the names of components
                continue
            return time_s if number.is_integer() and math.isfinite(time_s) else 0.0
        in_data = in_data or (bool(cells) and cells[0].lower().startswith("frame#"))
    return 0.0
