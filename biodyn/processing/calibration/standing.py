"""The quiet part of a static trial, averaged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StaticTrialError
from biodyn.recording import Markers

_WINDOW_S = 0.5
# Standing people sway by millimetres; a trial in which the markers travel further than this is no static trial.
_QUIET_RANGE_M = 0.03
_MOVING_RANGE_M = 0.1


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
    frames = len(p)
    length = min(frames, max(1, round(_WINDOW_S * markers.rate_hz)))
    seen = np.isfinite(p[..., 0])
    starts = np.arange(0, frames - length + 1, max(1, length // 5))
    movement = np.array([_movement(p[start : start + length], seen[start : start + length]) for start in starts])
    best = int(starts[np.argmin(np.where(np.isfinite(movement), movement, np.inf))])
    window = slice(best, best + length)
    points: dict[str, FloatArray] = {}
    for column, label in enumerate(markers.labels):
        inside = p[window, column][seen[window, column]]
        sample = inside if len(inside) else p[seen[:, column], column]
        if len(sample):
            points[label] = sample.mean(axis=0)
    moved = float(np.nanmin(movement)) if np.isfinite(movement).any() else 0.0
    if moved > _MOVING_RANGE_M:
        raise StaticTrialError(
            f"Not a static trial: its markers move by {100 * moved:.0f} cm even in the quietest half second "
            f"(expected less than {100 * _MOVING_RANGE_M:.0f} cm).",
            "Name a trial in which the subject stands still with --static.",
        )
    diagnostics: tuple[Diagnostic, ...] = ()
    if moved > _QUIET_RANGE_M:
        diagnostics = (
            Diagnostic(
                "static-moves",
                "warning",
                f"The markers move by {1000 * moved:.0f} mm in the quietest half second of the static trial.",
                value=moved,
                limit=_QUIET_RANGE_M,
                unit="m",
                hint="Use a trial in which the subject stands still.",
            ),
        )
    return Standing(points, best, best + length - 1, moved, diagnostics)


def _movement(p: FloatArray, seen: np.ndarray) -> float:
    whole = seen.all(axis=0)
    if not whole.any():
        return np.inf
    reach = p[:, whole].max(axis=0) - p[:, whole].min(axis=0)
    return float(np.median(np.linalg.norm(reach, axis=-1)))
