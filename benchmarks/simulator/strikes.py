"""How a heel comes down, simulated or recorded: its height and speed about the instants at which a plate reads 20 N."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import FloatArray
from simulator.roughness import contact_force

#: When the heel is looked at, s after the strike.
TIMES_S = (-0.04, -0.02, 0.0, 0.02, 0.04)
_STEP_N = 20.0
_RESTS_S = 0.06  # after the strike every heel stands
_FAST = 95.0  # percentile of the forward speed over the trial


@dataclass(frozen=True)
class HeelStrikes:
    """The heels of a trial about its measured strikes: rows are strikes, columns `TIMES_S`.

    Attributes:
        height_mm: over the place 60 ms after the strike.
        forward: velocity along the way, share of the foot's fast speed (95th percentile over the trial).
    """

    height_mm: FloatArray
    forward: FloatArray


def heel_strikes(analysis: TrialAnalysis) -> HeelStrikes:
    """Return how the heels of the fitted feet come down on plates; strikes at the edge of the trial are left out."""
    rate_hz = analysis.recording.markers.rate_hz
    frames_s = np.arange(len(analysis.points.pelvis)) / rate_hz
    way = (analysis.points.pelvis[-1] - analysis.points.pelvis[0]) * (1.0, 0.0, 1.0)
    way = way / np.linalg.norm(way)
    rows = []
    for contact in analysis.contacts:
        if contact.decision != "assigned" or contact.side is None:
            continue
        force, force_hz, begins_s = contact_force(analysis, contact)
        at = begins_s + np.argmax(force[:, 1] > _STEP_N) / force_hz + np.array([*TIMES_S, _RESTS_S])
        if at[0] < frames_s[1] or at[-1] > frames_s[-2]:
            continue
        heel = analysis.points.heel[contact.side]
        velocity = np.gradient(heel, 1.0 / rate_hz, axis=0)
        along = velocity @ way
        height = np.interp(at, frames_s, heel[:, 1])
        rows.append(
            (
                1e3 * (height[:-1] - height[-1]),
                np.interp(at[:-1], frames_s, along) / np.nanpercentile(along, _FAST),
            )
        )
    found = np.array(rows).reshape(-1, 2, len(TIMES_S))
    found = found[np.isfinite(found).all(axis=(1, 2))]
    return HeelStrikes(found[:, 0], found[:, 1])
