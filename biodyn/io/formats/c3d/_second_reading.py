"""Two readers look at every file, biodyn's own and the C3D library: where do they differ?

The own reading counts, because it goes by the layout that fits the file's size and knows unsigned samples. The library's
is the second opinion that shows a fault of either, so a difference is told and never averaged away.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.io.formats.c3d._data_section import DataSection
from biodyn.io.formats.c3d._layout import DataLayout
from biodyn.io.formats.c3d._process import Failure, Parsed

# 24 bits of a 4-byte float, and one more rounding where integers are scaled.
_SAME = 1e-6


def second_opinion(own: DataSection, layout: DataLayout, answer: Parsed | Failure | None) -> tuple[Diagnostic, ...]:
    """Return what the library read differently; None is a library that was not asked (SGI/MIPS byte order)."""
    if answer is None:
        return ()
    if isinstance(answer, Failure):
        return (
            Diagnostic(
                "library-failed",
                "warning",
                f"The C3D library could not read this file ({answer.reason}); biodyn's own reader did, unconfirmed.",
                hint="Export the trial again from the capture software if anything looks odd.",
            ),
        )
    found = list(_differences(own, answer))
    if not found:
        return ()
    return (
        Diagnostic(
            "library-disagrees",
            "warning" if layout.notes else "info",
            f"The C3D library reads this file differently: {'; '.join(found)}. biodyn's own reading is used, which "
            "follows the layout that fits the file's size.",
        ),
    )


def _differences(own: DataSection, answer: Parsed) -> Iterator[str]:
    frames, points = answer.points.shape[:2] if answer.points.size else (0, 0)
    if own.points.shape[1] == 0 == points:
        pass  # a file of segment poses
    elif (frames, points) != own.points.shape[:2]:
        yield f"{frames} frames of {points} points instead of {own.points.shape[0]} of {own.points.shape[1]}"
    elif share := _unequal(own.points, answer.points):
        yield f"{_percent(share)} % of the coordinates have other values"
    if tuple(answer.facts["channels"]) != own.channels:
        return
    if answer.samples.shape != own.samples.shape and own.samples.size:
        yield f"{answer.samples.shape[0]} analog samples a channel instead of {own.samples.shape[0]}"
    elif share := _unequal(own.samples, answer.samples):
        yield f"{_percent(share)} % of the plates' analog samples have other values"


def _percent(share: float) -> str:
    return f"{100 * share:.2g}" if share < 0.1 else f"{100 * share:.0f}"


def _unequal(mine: FloatArray, other: FloatArray) -> float:
    """Share of numbers that differ; two that are both not finite are equal."""
    if not mine.size or np.array_equal(mine, other, equal_nan=True):
        return 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        step = _SAME * np.maximum(np.abs(mine), np.abs(other))
        same = (np.abs(mine - other) <= step) | (~np.isfinite(mine) & ~np.isfinite(other))
    return float(1.0 - same.mean())
