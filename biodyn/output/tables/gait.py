"""Tables of gait: events, contacts, cycles from 0 to 100 %, spatio-temporal parameters, estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import AXES, CYCLE_POINTS, SIDES, FloatArray, IntArray
from biodyn.output.tables.registry import table
from biodyn.processing.gait import spatiotemporal as stride
from biodyn.processing.gait.cycle_values import ground_peak_definitions, stance_peaks
from biodyn.processing.gait.cycles import normalise_to_cycle
from biodyn.variables.cycle_parameters import (
    apply_operation,
    default_definitions,
    parameter_unit,
    side_signs,
    window_ends,
)

#: Reference of an EMG amplitude without a maximal contraction: the largest envelope in all cycles of the trial.
DYNAMIC_PEAK = "dynamic peak"
_EVENT_COLUMNS = ["time_s", "side", "event", "source", "confidence"]
_CONTACT_COLUMNS = ["plate", "side", "start_s", "end_s", "decision", "reason"]


@table("events", place=80, description="Foot strikes and foot offs, with source and confidence.")
def events_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return foot strikes and foot offs with source and confidence."""
    rows = [(e.time_s, e.side, e.kind, e.source, e.confidence) for e in analysis.events]
    return pd.DataFrame(rows, columns=_EVENT_COLUMNS)


@table("contacts", place=90, description="Contacts with force plates: foot, decision, reason and evidence.")
def contacts_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return every contact with a plate, the decision, and one column per kind of evidence."""
    evidence = list(dict.fromkeys(key for contact in analysis.contacts for key in contact.evidence))
    rows = [
        (
            c.plate,
            c.side or "",
            c.start_s,
            c.end_s,
            c.decision,
            c.reason,
            *(c.evidence.get(k, np.nan) for k in evidence),
        )
        for c in analysis.contacts
    ]
    return pd.DataFrame(rows, columns=_CONTACT_COLUMNS + evidence)


@table("gait_cycles", place=100, description="All variables over 0-100 % of each cycle, tidy.")
def gait_cycles_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return angles, moments, powers and ground reaction over 0-100 % of each cycle, tidy; NaN if not valid.

    Variables of the side of the cycle and of the midline, named without side: coordinates in deg, those of the pelvis
    relative to the walking direction of the cycle (in `joint_angles` relative to World), `foot_progression` (Cardan angle of
    the foot relative to the walking direction, toe-out positive) in deg, `<coordinate>_moment` (generalised torque) and
    `<joint>_jcs_moment_{x,y,z}` in Nm/kg, `<joint>_power` in W/kg, `ground_force_{x,y,z}` (World axes, on this foot) in body
    weights. Moments about jcs x and y have the same sign on both sides: x adduction, y internal rotation; z is positive for
    hip flexion, knee extension and ankle dorsiflexion. Curves beyond physiological limits (`variables.toml`) and the loads
    that depend on them are not valid.
    """
    names: dict[str, int] = {}
    units: dict[str, int] = {}
    curves = [cycle.curves.T for cycle in analysis.cycles]
    value = np.empty((sum(map(len, curves)), CYCLE_POINTS))
    if curves:
        np.concatenate(curves, out=value)
    name_codes: list[int] = []
    unit_codes: list[int] = []
    numbers: list[int] = []
    side_codes: list[int] = []
    for cycle in analysis.cycles:
        name_codes += [names.setdefault(signal.variable, len(names)) for signal in cycle.signals]
        unit_codes += [units.setdefault(signal.unit, len(units)) for signal in cycle.signals]
        numbers += [cycle.cycle.number + 1] * len(cycle.signals)
        side_codes += [SIDES.index(cycle.cycle.side)] * len(cycle.signals)

    def repeated_categories(codes: list[int], categories: Sequence[str]) -> pd.Categorical[str]:
        return pd.Categorical.from_codes(_repeat_for_points(codes, np.int16), categories=pd.Index(categories))

    return pd.DataFrame(
        {
            "cycle": _repeat_for_points(numbers, np.int64),
            "side": repeated_categories(side_codes, SIDES),
            "percent": np.tile(np.linspace(0.0, 100.0, CYCLE_POINTS), len(numbers)),
            "variable": repeated_categories(name_codes, list(names)),
            "value": value.reshape(-1),
            "unit": repeated_categories(unit_codes, list(units)),
        },
        copy=False,
    )


@table(
    "spatiotemporal",
    place=110,
    description="Times, lengths and speeds of the steps, peaks of the ground reaction, one row per cycle.",
)
def spatiotemporal_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return times, parameters of the stride and peaks of the force of each cycle, with units in the names.

    Peaks are taken at the sampling rate of the plates, low-pass filtered at 50 Hz (`ground_reaction_full_rate`).
    """
    names = [peak.column_name for peak in ground_peak_definitions()]
    forces = stance_peaks(
        analysis.cycles,
        analysis.plate_rate_forces,
        analysis.reaction.full_bandwidth_reaction,
        analysis.recording.markers.rate_hz,
        analysis.subject.mass_kg,
    )
    rows = []
    for (cycle, parameters), peaks in zip(analysis.strides, forces, strict=True):
        row: dict[str, object] = {
            "side": cycle.side,
            "cycle": cycle.number + 1,
            "start_s": cycle.start_s,
            "foot_off_s": cycle.off_s,
            "end_s": cycle.end_s,
        }
        for name, value in asdict(parameters).items():
            if name.endswith("_rad"):
                row[name.removesuffix("_rad") + "_deg"] = np.rad2deg(value)
            else:
                row[name] = value
        rows.append(row | dict(zip(names, peaks, strict=True)))
    columns = ["side", "cycle", "start_s", "foot_off_s", "end_s", *stride_columns()]
    return pd.DataFrame(rows, columns=columns)


@table(
    "emg",
    place=105,
    description="EMG of each muscle over 0-100 % of each cycle of its side: linear envelope and activity, tidy.",
    needs=lambda analysis: bool(analysis.emg),
    request="Requires analog channels in volts that name a muscle and its side.",
    coarser={"envelope_mV": 5, "share_of_reference": 4},
)
def emg_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return the EMG over 0-100 % of each gait cycle, tidy; NaN outside the recording.

    Columns: cycle, side, muscle, label (of the channel), percent, envelope_mV, share_of_reference, reference (file with the
    largest envelope of a maximal contraction, or `DYNAMIC_PEAK`), active (1 or 0). Methods: `processing.signals.emg`.
    """
    frames = []
    for signal in analysis.emg:
        cycles = [cycle for cycle, _ in analysis.strides if cycle.side == signal.side]
        both = np.stack([signal.envelope, signal.active.astype(np.float64)], axis=1)
        curves = [normalise_to_cycle(both, signal.rate_hz, cycle.start_s, cycle.end_s) for cycle in cycles]
        dynamic = max((float(np.nanmax(curve[:, 0], initial=0.0)) for curve in curves), default=0.0)
        peak, reference = analysis.contractions.get(signal.label, (dynamic, DYNAMIC_PEAK))
        for cycle, curve in zip(cycles, curves, strict=True):
            frames.append(
                pd.DataFrame(
                    {
                        "cycle": cycle.number + 1,
                        "side": cycle.side,
                        "muscle": signal.muscle,
                        "label": signal.label,
                        "percent": np.linspace(0.0, 100.0, CYCLE_POINTS),
                        "envelope_mV": curve[:, 0],
                        "share_of_reference": curve[:, 0] / peak if peak else np.nan,
                        "reference": reference,
                        "active": np.where(np.isfinite(curve[:, 1]), (curve[:, 1] > 0.5).astype(np.float64), np.nan),
                    }
                )
            )
    columns = [
        "cycle",
        "side",
        "muscle",
        "label",
        "percent",
        "envelope_mV",
        "share_of_reference",
        "reference",
        "active",
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def stride_columns() -> tuple[str, ...]:
    """Return the names of the parameters in `spatiotemporal`, the force last."""
    parameters = (name.replace("_rad", "_deg") for name in stride.StrideParameters.__dataclass_fields__)
    return (*parameters, *(peak.column_name for peak in ground_peak_definitions()))


def _repeat_for_points(codes: Sequence[int], kind: type[np.integer[Any]]) -> IntArray:
    """Return the codes of curves repeated for their points, (curves x 101,)."""
    return np.repeat(np.array(codes, dtype=kind), CYCLE_POINTS)


_REQUEST = 'Requires the joint estimate of motion and forces: the default, [signals] method = "auto".'


# -- Estimate of motion and forces ----------------------------------------------------------------------------------


def _has_estimate(analysis: TrialAnalysis) -> bool:
    return analysis.estimate is not None


@table(
    "residuals",
    place=121,
    description="Base residual over time before and after the joint estimate of motion and forces: N, Nm.",
    needs=_has_estimate,
    request=_REQUEST,
)
def residuals_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return residual force and moment on the root in World axes, before (`raw_*`) and after the estimate (`left_*`)."""
    summary = analysis.estimate
    assert summary is not None  # `needs`
    columns: dict[str, FloatArray] = {"time_s": analysis.time_s}
    for name, dynamics in (("raw", summary.raw_dynamics), ("left", analysis.dynamics)):
        for i, axis in enumerate(AXES):
            columns[f"{name}_f{axis}_N"] = dynamics.residual_force[:, i]
        for i, axis in enumerate(AXES):
            columns[f"{name}_m{axis}_Nm"] = dynamics.residual_moment[:, i]
    return pd.DataFrame(columns)


@table(
    "estimate",
    place=122,
    description="Changes of the coordinates (deg) and their torques (Nm) by the combined estimate of motion and forces.",
    needs=_has_estimate,
    request=_REQUEST,
)
def estimate_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return RMS and largest correction of each coordinate, deg, RMS change of its torque, and RMS of its SD, Nm."""
    summary, bands = analysis.estimate, analysis.uncertainty
    assert summary is not None  # `needs`
    count = len(summary.coordinates)
    sd = np.full(count, np.nan)
    if bands is not None:
        known = np.isfinite(bands.total).any(axis=0)
        sd[known] = np.sqrt(np.nanmean(bands.total[:, known] ** 2, axis=0))
    return pd.DataFrame(
        {
            "coordinate": summary.coordinates,
            "moved_rms_deg": np.rad2deg(summary.moved_rms_rad),
            "moved_max_deg": np.rad2deg(summary.moved_max_rad),
            "torque_change_rms_Nm": summary.torque_change,
            "torque_sd_rms_Nm": sd,
        }
    )


def _has_plate_errors(analysis: TrialAnalysis) -> bool:
    return analysis.estimate is not None and bool(analysis.estimate.plates.errors)


@table(
    "estimate_plates",
    place=123,
    description="Estimated errors of the force plates and their corrected parts: position, cm, gain, %, and rotation, deg.",
    needs=_has_plate_errors,
    request=_REQUEST,
)
def plate_errors_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return offset along each laboratory axis, cm, gain error, %, and rotation, deg, of each plate: estimate, SD, corrected
    part."""
    assert analysis.estimate is not None  # `needs`
    plates = analysis.estimate.plates
    rows: list[tuple[int, str, str, float, float, float]] = []
    for error in plates.errors:
        for i, axis in enumerate(plates.axes):
            of_axis = (100 * part[i] for part in (error.shift_m, error.shift_sd_m, error.corrected_m))
            rows.append((error.number, f"shift_{axis}", "cm", *of_axis))
        rows.append((error.number, "gain", "%", 100 * error.gain, 100 * error.gain_sd, 100 * error.corrected_gain))
        turn = (np.degrees(part) for part in (error.turn_rad, error.turn_sd_rad, error.corrected_turn_rad))
        rows.append((error.number, "turn", "deg", *turn))
    return pd.DataFrame(rows, columns=["plate", "error", "unit", "value", "sd", "corrected"])


def curves_of_cycles(gait_cycles: pd.DataFrame) -> tuple[pd.DataFrame, FloatArray]:
    """Return the first row of each curve of the table of gait cycles, and the values (n, 101) of all curves."""
    values = gait_cycles["value"].to_numpy(dtype=np.float64).reshape(-1, CYCLE_POINTS)
    return gait_cycles.iloc[::CYCLE_POINTS].copy(), values


def trial_parameters(
    heads: pd.DataFrame, values: FloatArray, spatiotemporal: pd.DataFrame, names: Sequence[str] | None = None
) -> pd.DataFrame:
    """Return the parameters of every cycle of a trial, tidy; rows without a value are omitted.

    Args:
        heads, values: from `curves_of_cycles`. spatiotemporal: table of the trial. Both are in the signs of the coordinates.
        names: parameters, None = all of the library's table.
    Returns:
        parameter, title, variable, side, cycle, value, unit, at_percent: instant of a maximum or minimum, else NaN.
    """
    columns = ["parameter", "title", "variable", "side", "cycle", "value", "unit", "at_percent"]
    strides = list(zip(spatiotemporal["side"].astype(str), spatiotemporal["cycle"], strict=True))
    variables, units = (heads[name].astype(str).to_numpy() for name in ("variable", "unit"))
    cycles = list(zip(heads["side"].astype(str), heads["cycle"], strict=True))
    rows_of_strides = {stride: row for row, stride in enumerate(strides)}
    known = [rows_of_strides.get(cycle, -1) for cycle in cycles]  # -1: the NaN that is appended
    stance_percent, stride_time_s = (
        np.append(spatiotemporal[name].to_numpy(np.float64), np.nan)[known]
        for name in ("stance_percent", "stride_time_s")
    )
    rows: list[tuple[object, ...]] = []
    for definition in default_definitions():
        if names is not None and definition.name not in names:
            continue
        if definition.operation == "stride":
            if definition.variable not in spatiotemporal:
                continue
            keys, unit = strides, definition.unit
            results = spatiotemporal[definition.variable].to_numpy(np.float64) * side_signs(
                definition, [k[0] for k in keys]
            )
            instants = np.full(len(keys), np.nan)
        else:
            own = np.flatnonzero(variables == definition.variable)
            if not len(own):
                continue
            keys = [cycles[row] for row in own]
            turned = values[own] * side_signs(definition, [key[0] for key in keys])[:, None]
            start, end = window_ends(definition.interval, stance_percent[own])
            duration_s = stride_time_s[own]
            results = apply_operation(turned, start, end, definition, duration_s)
            instants = np.full(len(keys), np.nan)
            if definition.operation in ("max", "min"):
                timed = definition.model_copy(update={"operation": f"time_of_{definition.operation}"})
                instants = apply_operation(turned, start, end, timed, duration_s)
            unit = parameter_unit(definition, units[own[0]])
        rows += [
            (definition.name, definition.label, definition.variable, side, cycle, float(value), unit, float(at))
            for (side, cycle), value, at in zip(keys, results, instants, strict=True)
            if np.isfinite(value)
        ]
    return pd.DataFrame(rows, columns=columns)
