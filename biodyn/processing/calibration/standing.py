"""The quiet part of a static trial, averaged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StaticTrialError
from biodyn.recording import Markers, quietest_part
from biodyn.recording.stillness import MOVING_RANGE_M, QUIET_RANGE_M


@dataclass(frozen=True)
class Standing:
    """Mean marker positions (3,) m by label over the quietest window; frames [first, last]; how far markers moved, m."""

    points: dict[str, FloatArray]
    first: int
    last: int
    movement_m: float
    diagnostics: tuple[Diagnostic, ...]


def quiet_standing(markers: Markers) -> Standing:
    """Average every marker over the half second in which the markers move least.

    Markers that are seen at some time but not in that window are averaged over the frames that show them. Raises
    StaticTrialError if the subject moves all the time.
    """
    p = markers.positions
    seen = np.isfinite(p[..., 0])
    quiet = quietest_part(markers)
    window = slice(quiet.first, quiet.last + 1)
    points: dict[str, FloatArray] = {}
    for column, label in enumerate(markers.labels):
        inside = p[window, column][seen[window, column]]
        sample = inside if len(inside) else p[seen[:, column], column]
        if len(sample):
            points[label] = sample.mean(axis=0)
    moved = quiet.movement_m if np.isfinite(quiet.movement_m) else 0.0
    if moved > MOVING_RANGE_M:
        raise StaticTrialError(
            f"Not a static trial: its markers move by {100 * moved:.0f} cm even in the quietest half second "
            f"(expected less than {100 * MOVING_RANGE_M:.0f} cm).",
            "Name a trial in which the subject stands still with --static.",
        )
    diagnostics: tuple[Diagnostic, ...] = ()
    if moved > QUIET_RANGE_M:
        diagnostics = (
            Diagnostic(
                "static-moves",
                "warning",
                f"The markers move by {1000 * moved:.0f} mm in the quietest half second of the static trial.",
                value=moved,
                limit=QUIET_RANGE_M,
                unit="m",
                hint="Use a trial in which the subject stands still.",
            ),
        )
    return Standing(points, quiet.first, quiet.last, moved, diagnostics)
