"""Peaks of the ground reaction of each stance, read at the plates' own rate: narrow ones lie between frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from biodyn.conventions import AXES, SIDE_SIGN, STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.library.load import load_table
from biodyn.processing.contacts.loading import FootForces
from biodyn.processing.gait.cycle_values import CycleValues
from biodyn.processing.gait.cycles import GaitCycle
from biodyn.recording import GroundReaction

# A foot off told by the movement lies some hundredths of a second beside the end of the force.
_UNLOADED_SHARE = 0.1


@dataclass(frozen=True)
class GroundPeak:
    """One peak: largest or smallest force along an axis of World within a part of stance (`library/gait/ground_peaks.toml`)."""

    name: str
    axis: Literal["x", "y", "z"]
    of: Literal["max", "min"]
    window: tuple[float, float]
    sign: int = 1
    mirrored: bool = False

    @property
    def column(self) -> str:
        """Name of its column, with the unit: body weights."""
        return f"{self.name}_BW"


@cache
def ground_peaks() -> tuple[GroundPeak, ...]:
    """Every peak, in the order of the library."""
    return tuple(
        GroundPeak(**{**one, "window": tuple(one["window"])}) for one in load_table("gait/ground_peaks")["peak"]
    )


def stance_peaks(
    cycles: Sequence[CycleValues],
    forces: FootForces | None,
    reaction: GroundReaction,
    frame_rate_hz: float,
    mass_kg: float,
) -> FloatArray:
    """Return the peaks (N, P) of N cycles in body weights.

    NaN where a part of the window is not known, no plate carried it, or the force is none that a person walks with.
    `forces`: at the plates' rate; None where they are only known at the frames: then of `reaction`, at `frame_rate_hz`.
    """
    found = np.full((len(cycles), len(ground_peaks())), np.nan)
    weight_n = mass_kg * STANDARD_GRAVITY_M_S2
    for row, own in enumerate(cycles):
        cycle = own.cycle
        if cycle.side not in reaction.wrench:
            continue
        if forces is None:
            values, rate_hz = reaction.wrench[cycle.side][:, 3:], frame_rate_hz
            loaded = np.isfinite(reaction.centre_of_pressure[cycle.side][:, 0])
        else:
            values, rate_hz = forces.wrench[cycle.side][:, 3:], forces.rate_hz
            loaded = forces.loaded[cycle.side]
        for column, peak in enumerate(ground_peaks()):
            if own.is_refused(f"ground_force_{peak.axis}"):
                continue
            found[row, column] = _peak(peak, cycle, values, loaded, rate_hz) / weight_n
    return found


def _peak(peak: GroundPeak, cycle: GaitCycle, force: FloatArray, loaded: np.ndarray, rate_hz: float) -> float:
    if not np.isfinite(cycle.off_s):
        return np.nan
    stance_s = cycle.off_s - cycle.start_s
    first, last = (round((cycle.start_s + stance_s * share / 100.0) * rate_hz) for share in peak.window)
    if first < 0 or last >= len(force) or last <= first:
        return np.nan
    rows = slice(first, last + 1)
    part = force[rows, AXES.index(peak.axis)] * peak.sign * (SIDE_SIGN[cycle.side] if peak.mirrored else 1.0)
    if not np.isfinite(part).all() or np.mean(~loaded[rows]) > _UNLOADED_SHARE:
        return np.nan
    return float(part.max() if peak.of == "max" else part.min())
