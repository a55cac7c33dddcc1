"""Labels on the wrong markers: swapped pairs (`model.from_library.recognition.swap_over_time` detects them)."""

from __future__ import annotations

from collections.abc import Mapping

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.from_library.recognition.swap_over_time import LEAST_GAIN_M, TimedSwap, swaps_over_time
from biodyn.recording import Markers


def exchanged_markers(
    markers: Markers, static: Mapping[str, FloatArray], bodies: Mapping[str, str], parents: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """Name exchanged markers. `static`: (3,) m by label; `bodies`: label to segment; `parents`: segment to its parent."""
    return tuple(_note(swap, markers.rate_hz) for swap in swaps_over_time(markers, static, bodies, parents))


def _note(swap: TimedSwap, rate_hz: float) -> Diagnostic:
    return Diagnostic(
        "labels-exchanged",
        "warning",
        f"Markers {swap.first} and {swap.second} seem swapped in {swap.frames} frames ({swap.first_frame / rate_hz:.2f} to "
        f"{swap.last_frame / rate_hz:.2f} s): with corrected labels their distances to neighbouring markers are "
        f"{1000 * swap.gain_m:.0f} mm nearer to those of the static trial. Nothing was changed.",
        value=swap.gain_m,
        limit=LEAST_GAIN_M,
        unit="m",
        frames=(swap.first_frame, swap.last_frame),
        hint="Correct the labels of these two trajectories.",
    )
