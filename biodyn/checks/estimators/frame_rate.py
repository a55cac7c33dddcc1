"""Is the frame rate that of the cameras? Accelerations grow with its square, weight does not."""

from __future__ import annotations

import math

from biodyn.checks.estimators.time_offset import TimeOffset
from biodyn.diagnostics import Diagnostic

# Share of the force's variation that the body must explain for its size to mean anything.
_LEAST_EXPLAINED = 0.85


def true_rate_hz(offset: TimeOffset | None, rate_hz: float) -> float:
    """The frame rate (Hz) at which the body's vertical acceleration is as large as the plates say; NaN where they do not tell.

    A mass times (g + a) is pressed on the plates; with a rate f times too high positions give f^2 a.
    """
    if offset is None or offset.explained < _LEAST_EXPLAINED or offset.swing <= 0.0:
        return math.nan
    return rate_hz * math.sqrt(offset.swing)


def frame_rate(offset: TimeOffset | None, rate_hz: float, limit: float) -> tuple[Diagnostic, ...]:
    """Say where the rate is off by more than the share `limit`, and by more than what the usual error makes of it.

    The force along the walk must say the same: a plate that is late by itself changes the two in opposite senses.
    """
    true_hz = true_rate_hz(offset, rate_hz)
    if offset is None or not abs(true_hz / rate_hz - 1.0) > limit or abs(offset.swing - 1.0) < offset.swing_sd:
        return ()
    if not (offset.forward_swing - 1.0) * math.copysign(1.0, offset.swing - 1.0) > limit:
        return ()
    return (
        Diagnostic(
            "frame-rate-doubtful",
            "error",
            f"The file says {rate_hz:.6g} frames per second; then the body's vertical acceleration is {1.0 / offset.swing:.2g} "
            f"times what the plates measure. It fits {true_hz:.0f} frames per second ({100 * offset.explained:.0f} % of the "
            "vertical force's variation). Nothing was changed.",
            value=true_hz / rate_hz - 1.0,
            limit=limit,
            hint="Look up the rate of the cameras, and whether frames were left out or doubled by an export.",
        ),
    )
