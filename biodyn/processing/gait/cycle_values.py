"""The gait cycles of a trial as values: every variable over 0-100 % of each cycle; tables, figures and checks read them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from biodyn.conventions import AXES, SIDE_SIGN, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side
from biodyn.library.load import load_table
from biodyn.processing.contacts.loading import FootForces
from biodyn.processing.dynamics.solve import distal_feet
from biodyn.processing.gait.cycles import GaitCycle, gait_cycles, normalise
from biodyn.processing.gait.spatiotemporal import CycleSignal, WalkedTrial, cycle_signals, foot_progression, travel
from biodyn.processing.signals.attitude import angles_against_heading, walking_heading
from biodyn.recording import GaitEvent, GroundReaction
from biodyn.variables import CurveFault, curve_faults

_WORDS = {
    "range": "beyond its physiological limits",
    "jump": "jumps within 1 % of the cycle",
}


@dataclass(frozen=True)
class ExcludedCurves:
    """What is invalid in one cycle.

    Attributes:
        faults: by column of the signals, the variables that are impossible themselves.
        reasons: by column, why it is invalid: those, and the loads that hang on them.
    """

    faults: Mapping[int, CurveFault]
    reasons: Mapping[int, str]


def refused(
    signals: Sequence[CycleSignal], curves: FloatArray, feet: Mapping[str, Sequence[Side]], side: Side, factor: float
) -> ExcludedCurves:
    """Return what is impossible in one cycle (101, k) of the k signals.

    Moments and powers of one leg come from the same motion and the same foot: where one is impossible, or the leg's own
    ground reaction is, or an angle of the leg jumps (accelerations follow from it), all of them are invalid. Elsewhere the
    loads of one joint are.

    Parameters:
        feet: feet at or beyond each segment's joint (`distal_feet`). factor: multiple of the limits.
    """
    faults = curve_faults(curves, [signal.variable for signal in signals], factor)
    reasons = {column: _WORDS[fault.kind] for column, fault in faults.items()}
    spoilt: dict[str, str] = {}
    for column, fault in faults.items():
        signal = signals[column]
        if signal.kind in ("load", "ground") or (signal.kind == "angle" and fault.kind == "jump"):
            spoilt.setdefault(_chain(signal, feet, side), f"{signal.variable} {_WORDS[fault.kind]}")
    for column, signal in enumerate(signals):
        if signal.kind == "load" and (why := spoilt.get(_chain(signal, feet, side))):
            reasons.setdefault(column, why)
    return ExcludedCurves(faults, reasons)


def _chain(signal: CycleSignal, feet: Mapping[str, Sequence[Side]], side: Side) -> str:
    """What loads with the same cause share: the leg of the cycle's side, else the segment."""
    if signal.kind == "ground" or list(feet.get(signal.body, ())) == [side]:
        return f"leg {side}"
    return signal.body


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
    refused: ExcludedCurves

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(signal.variable for signal in self.signals)

    @property
    def measured(self) -> BoolArray:
        """Where (101, k) there is a number."""
        return np.isfinite(self.curves)

    def is_excluded(self, variable: str) -> bool:
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
    feet = distal_feet(walk.model, [side for side in walk.reaction.wrench if side in walk.model.sole_body])
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
    angles = angles_against_heading(R_WB, heading, rate_hz, around=slice(low, high))
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
            if own.is_excluded(f"ground_force_{peak.axis}"):
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
