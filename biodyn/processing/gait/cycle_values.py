"""Curves of all variables over 0-100 % of each gait cycle, for tables, figures and checks.

Non-physiological variables are excluded. Peaks of the ground reaction are evaluated at the rate of the plates, because narrow
peaks fall between frames.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

import numpy as np

from biodyn.conventions import AXES, SIDE_SIGN, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side
from biodyn.library.toml_files import load_table
from biodyn.processing.contacts.plate_loads import FootForces
from biodyn.processing.dynamics.inverse_dynamics import distal_feet
from biodyn.processing.gait.cycles import GaitCycle, find_gait_cycles, normalise_to_cycle
from biodyn.processing.gait.spatiotemporal import (
    CycleSignal,
    TrialMechanics,
    cycle_displacement,
    cycle_signals,
    progression_angle,
)
from biodyn.processing.signals.segment_angles import angles_from_heading, walking_heading
from biodyn.recording import GaitEvent, GroundReaction
from biodyn.variables import CurveFault, curve_faults

_FAULTS = {"range": "beyond its physiological limits", "jump": "jumps within 1 % of the cycle"}


def find_excluded_curves(
    signals: Sequence[CycleSignal], curves: FloatArray, feet: Mapping[str, Sequence[Side]], side: Side, factor: float
) -> tuple[Mapping[int, CurveFault], Mapping[int, str]]:
    """Return the faults and the reasons (see `CycleValues`) of the invalid variables of one cycle (101, k) of the k signals.

    Moments and powers of one leg depend on the same motion and foot. If one of them or the ground reaction is
    non-physiological, or if an angle of the leg jumps, all of them are invalid. In the rest of the body only the loads of the
    joint are invalid.

    Parameters:
        feet: feet distal to each segment's joint (`distal_feet`). factor: multiple of the physiological limits that is accepted.
    """
    faults = curve_faults(curves, [signal.variable for signal in signals], factor)
    reasons = {column: _FAULTS[fault.kind] for column, fault in faults.items()}
    invalid: dict[str, str] = {}
    for column, fault in faults.items():
        signal = signals[column]
        if signal.kind in ("load", "ground") or (signal.kind == "angle" and fault.kind == "jump"):
            invalid.setdefault(_load_group(signal, feet, side), f"{signal.variable} {_FAULTS[fault.kind]}")
    for column, signal in enumerate(signals):
        if signal.kind == "load" and (why := invalid.get(_load_group(signal, feet, side))):
            reasons.setdefault(column, why)
    return faults, reasons


def _load_group(signal: CycleSignal, feet: Mapping[str, Sequence[Side]], side: Side) -> str:
    """Return the group of loads that are excluded together: the leg on the side of the cycle, else the segment."""
    if signal.kind == "ground" or list(feet.get(signal.body, ())) == [side]:
        return f"leg {side}"
    return signal.body


@dataclass(frozen=True)
class CycleValues:
    """Curves of all variables in one cycle of one side.

    Attributes:
        cycle: side, number and event times of the cycle.
        signals: the k variables in the order of the columns, without values.
        curves: (101, k) values over 0-100 %, NaN where not valid.
        faults: why a variable was excluded as non-physiological, by column.
        reasons: why a variable is invalid, by column; includes the loads that depend on a non-physiological variable.
    """

    cycle: GaitCycle
    signals: tuple[CycleSignal, ...]
    curves: FloatArray
    faults: Mapping[int, CurveFault]
    reasons: Mapping[int, str]

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables, in the order of the columns of `curves`."""
        return tuple(signal.variable for signal in self.signals)

    @property
    def is_measured(self) -> BoolArray:
        """Mask (101, k) of the known values in `curves`."""
        return np.isfinite(self.curves)

    def is_excluded(self, variable: str) -> bool:
        """Return whether a variable of the cycle was excluded as non-physiological."""
        return any(self.signals[column].variable == variable for column in self.reasons)

    def curve(self, variable: str) -> FloatArray:
        """Return the values (101,) of a variable; KeyError for an unknown name."""
        if variable not in self.variables:
            raise KeyError(variable)
        return self.curves[:, self.variables.index(variable)]


def compute_cycle_values(walk: TrialMechanics, events: Sequence[GaitEvent], factor: float) -> tuple[CycleValues, ...]:
    """Return the curves of the cycles of both sides, the right side first, in order of time.

    Angles of the root and foot progression are relative to the walking direction of the cycle. factor: multiple of the
    physiological limits beyond which a curve is excluded.
    """
    return tuple(_cycle_values_of_side(walk, find_gait_cycles(events), factor))


def _cycle_values_of_side(walk: TrialMechanics, cycles: Sequence[GaitCycle], factor: float) -> Iterator[CycleValues]:
    feet = distal_feet(walk.model, [side for side in walk.reaction.wrench if side in walk.model.sole_body])
    sides = {cycle.side for cycle in cycles}
    stacked: dict[Side, FloatArray] = {}
    variables: dict[Side, tuple[CycleSignal, ...]] = {}
    for side in sides:
        signals = tuple(cycle_signals(walk, side))
        stacked[side] = np.column_stack([signal.values for signal in signals])
        # the curves do not need the values of the whole trial, which would be kept with them
        variables[side] = tuple(replace(signal, values=np.empty(0)) for signal in signals)
        del signals
    ground_forces = {side: _plate_rate_force(walk, side) for side in sides}
    long_axes = {side: walk.points.long_axis(side) for side in sides if side in walk.points.heel}
    R_WB = walk.fit.body_pose(walk.model.skeleton.root.name)[0] if cycles else np.empty((0, 3, 3))
    for cycle in cycles:
        side_signals, values, near = variables[cycle.side], stacked[cycle.side], _frames_near(cycle, walk.rate_hz)
        base = [column for column, signal in enumerate(side_signals) if signal.kind == "base"]
        values[near, base] = _base_angles(walk, R_WB, cycle)[near, : len(base)]
        for column in (i for i, signal in enumerate(side_signals) if signal.kind == "heading"):
            values[near, column] = _foot_progression(walk, long_axes[cycle.side], cycle, near)
        curves = normalise_to_cycle(values, walk.rate_hz, cycle.start_s, cycle.end_s)
        curves[:, base] = np.rad2deg(curves[:, base])
        ground = [column for column, signal in enumerate(side_signals) if signal.kind == "ground"]
        curves[:, ground] = _ground_force_curves(ground_forces[cycle.side], cycle, curves[:, ground])
        faults, reasons = find_excluded_curves(side_signals, curves, feet, cycle.side, factor)
        curves[:, list(reasons)] = np.nan
        yield CycleValues(cycle, side_signals, curves, faults, reasons)


def _base_angles(walk: TrialMechanics, R_WB: FloatArray, cycle: GaitCycle) -> FloatArray:
    """Return the tilt, list and rotation (T, 3) rad of the root R_WB (T, 3, 3) relative to the walking direction of a cycle;
    distant frames are NaN."""
    rate_hz = walk.rate_hz
    low, high = max(math.floor(cycle.start_s * rate_hz), 0), math.ceil(cycle.end_s * rate_hz) + 1
    heading = walking_heading(
        cycle_displacement(cycle, walk.points.pelvis, rate_hz, walk.points.floor_velocity), R_WB[low:high]
    )
    return angles_from_heading(R_WB, heading, rate_hz, around=slice(low, high))


def _plate_rate_force(walk: TrialMechanics, side: Side) -> tuple[FloatArray, float] | None:
    """Return the ground force (n, 3) on a foot in body weights at the rate of the plates, and this rate (Hz); None without
    plates."""
    forces = walk.plate_rate_forces
    if forces is None:
        return None
    return forces.wrench[side][:, 3:] / (walk.mass_kg * STANDARD_GRAVITY_M_S2), forces.rate_hz


def _ground_force_curves(force: tuple[FloatArray, float] | None, cycle: GaitCycle, curves: FloatArray) -> FloatArray:
    """Return the ground force (101, 3) in body weights over one cycle, from the samples of the plates where available.

    Peaks that last 20 to 30 ms would fall between frames.
    """
    if force is None or not curves.size:
        return curves
    samples = normalise_to_cycle(*force, cycle.start_s, cycle.end_s)
    return np.where(np.isfinite(curves) & np.isfinite(samples), samples, curves)


def _frames_near(cycle: GaitCycle, rate_hz: float, margin_frames: int = 12) -> slice:
    """Return the frames of a cycle with margins, which include all that `normalise_to_cycle` uses."""
    low = max(math.floor(cycle.start_s * rate_hz) - margin_frames, 0)
    return slice(low, math.ceil(cycle.end_s * rate_hz) + margin_frames)


def _foot_progression(walk: TrialMechanics, long_axis_W: FloatArray, cycle: GaitCycle, near: slice) -> FloatArray:
    """Return the angle deg of the foot relative to the walking direction of one cycle in the frames `near`.

    long_axis_W: (T, 3) unit vectors from heel to toe.
    """
    points = walk.points
    angle = progression_angle(long_axis_W[near], cycle, points.pelvis, walk.rate_hz, points.floor_velocity)
    return np.rad2deg(angle)


@dataclass(frozen=True)
class GroundPeak:
    """Definition of a peak: largest or smallest force along a World axis in a part of stance
    (`library/gait/ground_peaks.toml`)."""

    name: str
    axis: Literal["x", "y", "z"]
    of: Literal["max", "min"]
    window: tuple[float, float]
    sign: int = 1
    mirrored: bool = False

    @property
    def column_name(self) -> str:
        """Column name of the peak, with the unit body weights."""
        return f"{self.name}_BW"


@cache
def ground_peak_definitions() -> tuple[GroundPeak, ...]:
    """Return the definitions of all peaks, in the order of the library."""
    return tuple(
        GroundPeak(**{**row, "window": tuple(row["window"])}) for row in load_table("gait/ground_peaks")["peak"]
    )


def stance_peaks(
    cycles: Sequence[CycleValues],
    forces: FootForces | None,
    reaction: GroundReaction,
    frame_rate_hz: float,
    mass_kg: float,
) -> FloatArray:
    """Return the peaks (N, P) of N cycles in body weights.

    A peak is NaN if a part of its window is unknown or was not on a plate, or if the force is non-physiological. forces: foot
    forces at the rate of the plates; if None, `reaction` at `frame_rate_hz` is used.
    """
    peaks = np.full((len(cycles), len(ground_peak_definitions())), np.nan)
    weight_n = mass_kg * STANDARD_GRAVITY_M_S2
    for row, values_of_cycle in enumerate(cycles):
        cycle = values_of_cycle.cycle
        if cycle.side not in reaction.wrench:
            continue
        if forces is None:
            values, rate_hz = reaction.wrench[cycle.side][:, 3:], frame_rate_hz
            loaded = np.isfinite(reaction.centre_of_pressure[cycle.side][:, 0])
        else:
            values, rate_hz = forces.wrench[cycle.side][:, 3:], forces.rate_hz
            loaded = forces.loaded[cycle.side]
        for column, peak in enumerate(ground_peak_definitions()):
            if values_of_cycle.is_excluded(f"ground_force_{peak.axis}"):
                continue
            peaks[row, column] = _peak_value(peak, cycle, values, loaded, rate_hz) / weight_n
    return peaks


def _peak_value(peak: GroundPeak, cycle: GaitCycle, force: FloatArray, loaded: np.ndarray, rate_hz: float) -> float:
    # Largest fraction of unloaded samples in the window of a peak, because a foot off from the movement differs by
    # about 0.01 s from the end of the force.
    unloaded_share = 0.1
    if not np.isfinite(cycle.off_s):
        return np.nan
    stance_s = cycle.off_s - cycle.start_s
    first, last = (round((cycle.start_s + stance_s * share / 100.0) * rate_hz) for share in peak.window)
    if first < 0 or last >= len(force) or last <= first:
        return np.nan
    rows = slice(first, last + 1)
    part = force[rows, AXES.index(peak.axis)] * peak.sign * (SIDE_SIGN[cycle.side] if peak.mirrored else 1.0)
    if not np.isfinite(part).all() or np.mean(~loaded[rows]) > unloaded_share:
        return np.nan
    return float(part.max() if peak.of == "max" else part.min())
