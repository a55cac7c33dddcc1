"""The gait cycles of a trial as values: every variable over 0-100 % of each cycle; tables, figures and checks read them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side
from biodyn.processing.dynamics.solve import feet_below
from biodyn.processing.gait.cycles import GaitCycle, gait_cycles, normalise
from biodyn.processing.gait.impossible import Refused, refused
from biodyn.processing.gait.spatiotemporal import CycleSignal, WalkedTrial, cycle_signals, foot_progression, travel
from biodyn.processing.signals.attitude import against_heading, walking_heading
from biodyn.recording import GaitEvent


@dataclass(frozen=True)
class CycleValues:
    """One cycle of one side.

    Attributes:
        cycle: side, number, and the times of its events.
        signals: the k variables, in the order of the columns, with their units.
        curves: (101, k) values over 0-100 %, NaN where not valid.
        refused: what was taken out because no person can walk it.
    """

    cycle: GaitCycle
    signals: tuple[CycleSignal, ...]
    curves: FloatArray
    refused: Refused

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(signal.variable for signal in self.signals)

    @property
    def measured(self) -> BoolArray:
        """Where (101, k) there is a number."""
        return np.isfinite(self.curves)

    def is_refused(self, variable: str) -> bool:
        """Whether a variable was taken out of the cycle because no person can walk it."""
        return any(self.signals[column].variable == variable for column in self.refused.reasons)

    def curve(self, variable: str) -> FloatArray:
        """Return the values (101,) of a variable; KeyError where the cycle has none of that name."""
        if variable not in self.variables:
            raise KeyError(variable)
        return self.curves[:, self.variables.index(variable)]


def cycle_values(walk: WalkedTrial, events: Sequence[GaitEvent], factor: float) -> tuple[CycleValues, ...]:
    """Return the cycles of both sides, right ones first, each side in order of time.

    Angles of the root and foot progression count from the walking direction of the cycle. `factor`: multiple of the
    physiological limits beyond which a curve is taken out.
    """
    return tuple(_values(walk, gait_cycles(events), factor))


def _values(walk: WalkedTrial, cycles: Sequence[GaitCycle], factor: float) -> Iterator[CycleValues]:
    feet = feet_below(walk.model, [side for side in walk.reaction.wrench if side in walk.model.sole_body])
    sides = {cycle.side for cycle in cycles}
    signals = {side: tuple(cycle_signals(walk, side)) for side in sides}
    stacked = {side: np.column_stack([signal.values for signal in own]) for side, own in signals.items()}
    ground_forces = {side: _plate_rate_force(walk, side) for side in sides}
    R_WB = walk.fit.body_pose(walk.model.skeleton.root.name)[0] if cycles else np.empty((0, 3, 3))
    for cycle in cycles:
        own = signals[cycle.side]
        curves = normalise(stacked[cycle.side], walk.rate_hz, cycle.start_s, cycle.end_s)
        base = [column for column, signal in enumerate(own) if signal.kind == "base"]
        curves[:, base] = np.rad2deg(_base_curves(walk, R_WB, cycle))[:, : len(base)]
        for column in (i for i, signal in enumerate(own) if signal.kind == "heading"):
            curves[:, column] = normalise(_progression(walk, cycle), walk.rate_hz, cycle.start_s, cycle.end_s)
        ground = [column for column, signal in enumerate(own) if signal.kind == "ground"]
        curves[:, ground] = _ground_curves(ground_forces[cycle.side], cycle, curves[:, ground])
        found = refused(own, curves, feet, cycle.side, factor)
        curves[:, list(found.reasons)] = np.nan
        yield CycleValues(cycle, own, curves, found)


def _base_curves(walk: WalkedTrial, R_WB: FloatArray, cycle: GaitCycle) -> FloatArray:
    """Tilt, list and rotation (101, 3) rad of the root R_WB (T, 3, 3) against the walking direction of one cycle."""
    rate_hz = walk.rate_hz
    low, high = max(math.floor(cycle.start_s * rate_hz), 0), math.ceil(cycle.end_s * rate_hz) + 1
    heading = walking_heading(travel(cycle, walk.points.pelvis, rate_hz, walk.points.floor_velocity), R_WB[low:high])
    angles = against_heading(R_WB, heading, rate_hz, around=slice(low, high))
    return normalise(angles, rate_hz, cycle.start_s, cycle.end_s)


def _plate_rate_force(walk: WalkedTrial, side: Side) -> tuple[FloatArray, float] | None:
    """Ground force (n, 3) on a foot in body weights as the plates sampled it, and their rate in Hz; None without plates."""
    forces = walk.plate_rate_forces
    if forces is None:
        return None
    return forces.wrench[side][:, 3:] / (walk.mass_kg * STANDARD_GRAVITY_M_S2), forces.rate_hz


def _ground_curves(force: tuple[FloatArray, float] | None, cycle: GaitCycle, curves: FloatArray) -> FloatArray:
    """Ground force (101, 3) in body weights over one cycle: of the plates' own samples where there are, else as it is.

    Peaks of 20 to 30 ms lie between frames.
    """
    if force is None or not curves.size:
        return curves
    found = normalise(*force, cycle.start_s, cycle.end_s)
    return np.where(np.isfinite(curves) & np.isfinite(found), found, curves)


def _progression(walk: WalkedTrial, cycle: GaitCycle) -> FloatArray:
    """Angle (T,) deg of the foot against the walking direction of one cycle."""
    points = walk.points
    return np.rad2deg(
        foot_progression(points.long_axis(cycle.side), cycle, points.pelvis, walk.rate_hz, points.floor_velocity)
    )
