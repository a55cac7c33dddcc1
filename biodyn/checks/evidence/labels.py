"""Labels on the wrong markers: exchanged pairs, for people (`model.from_library.recognition.swap_over_time` finds them)."""

from __future__ import annotations

from collections.abc import Mapping

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.from_library.recognition.swap_over_time import LEAST_GAIN_M, TimedExchange, exchanges
from biodyn.recording import Markers


def exchanged_markers(
    markers: Markers, static: Mapping[str, FloatArray], bodies: Mapping[str, str], parents: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """Name exchanged markers. `static`: (3,) m by label; `bodies`: label to segment; `parents`: segment to its parent."""
    return tuple(_note(found, markers.rate_hz) for found in exchanges(markers, static, bodies, parents))


def _note(found: TimedExchange, rate_hz: float) -> Diagnostic:
    return Diagnostic(
        "labels-exchanged",
        "warning",
        f"Markers {found.one} and {found.other} seem swapped in {found.frames} frames ({found.first / rate_hz:.2f} to "
        f"{found.last / rate_hz:.2f} s): with corrected labels their distances to neighbouring markers are "
        f"{1000 * found.gain_m:.0f} mm nearer to those of the static trial. Nothing was changed.",
        value=found.gain_m,
        limit=LEAST_GAIN_M,
        unit="m",
        frames=(found.first, found.last),
        hint="Correct the labels of these two trajectories.",
    )
