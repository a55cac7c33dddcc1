"""Tables of the gait: events, contacts, cycles from 0 to 100 %, spatio-temporal parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import AXES, CYCLE_POINTS, SIDES, FloatArray, IntArray
from biodyn.errors import ResultError
from biodyn.estimation.summary import EstimateSummary
from biodyn.output.tables.registry import table
from biodyn.processing.gait import spatiotemporal as stride
from biodyn.processing.gait.cycle_values import ground_peaks, stance_peaks

_EVENT_COLUMNS = ["time_s", "side", "event", "source", "confidence"]
_CONTACT_COLUMNS = ["plate", "side", "start_s", "end_s", "decision", "reason"]


@table("events", place=80, description="Foot strikes and foot offs, with source and confidence.")
def events(analysis: TrialAnalysis) -> pd.DataFrame:
    """Foot strikes and foot offs with their source and confidence."""
    rows = [(e.time_s, e.side, e.kind, e.source, e.confidence) for e in analysis.events]
    return pd.DataFrame(rows, columns=_EVENT_COLUMNS)


@table("contacts", place=90, description="Every loading of a plate, whose foot it was and why, with the evidence.")
def contacts(analysis: TrialAnalysis) -> pd.DataFrame:
    """Every loading of a plate, what was decided, and the evidence, one column per kind of evidence."""
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


@table("gait_cycles", place=100, description="Every variable over 0-100 % of each cycle, tidy.")
def gait_cycles(analysis: TrialAnalysis) -> pd.DataFrame:
    """Angles, moments, powers and ground reaction over 0-100 % of every cycle, tidy; NaN where not valid.

    Variables of the cycle's own side and of the middle of the body, named without side: coordinates in deg, those of the
    pelvis against the walking direction of the cycle (`joint_angles` has them against World),
    `foot_progression` (Cardan angle of the foot against the walking direction, toe out positive) in deg,
    `<coordinate>_moment` (generalised torque) and `<joint>_jcs_moment_{x,y,z}` in Nm/kg, `<joint>_power` in W/kg,
    `ground_force_{x,y,z}` (World axes, on the own foot) in body weights. The moments about jcs x and y are signed
    alike for both sides: x adduction, y internal rotation; z is rotation towards hip flexion, knee extension, ankle
    dorsiflexion on both. What no person can walk (`variables.toml`) is not valid, nor the loads that depend on it.
    """
    names: dict[str, int] = {}
    units: dict[str, int] = {}
    values: list[FloatArray] = []
    # a number for each curve
    name_codes: list[int] = []
    unit_codes: list[int] = []
    numbers: list[int] = []
    side_codes: list[int] = []
    for found in analysis.cycles:
        cycle, own, curves = found.cycle, found.signals, found.curves
        values.append(curves.T.reshape(-1))
        name_codes += [names.setdefault(s.variable, len(names)) for s in own]
        unit_codes += [units.setdefault(s.unit, len(units)) for s in own]
        numbers += [cycle.number + 1] * len(own)
        side_codes += [SIDES.index(cycle.side)] * len(own)
    value = np.concatenate(values) if values else np.empty(0)

    def words(codes: list[int], categories: Sequence[str]) -> pd.Categorical[str]:
        return pd.Categorical.from_codes(_of_points(codes, np.int16), categories=pd.Index(categories))

    return pd.DataFrame(
        {
            "cycle": _of_points(numbers, np.int64),
            "side": words(side_codes, SIDES),
            "percent": np.tile(np.linspace(0.0, 100.0, CYCLE_POINTS), len(numbers)),
            "variable": words(name_codes, list(names)),
            "value": value,
            "unit": words(unit_codes, list(units)),
        }
    )


@table(
    "spatiotemporal",
    place=110,
    description="Times, lengths and speeds of the steps, peaks of the ground reaction, a row a cycle.",
)
def spatiotemporal(analysis: TrialAnalysis) -> pd.DataFrame:
    """One row per cycle: its times, the parameters of the stride and the peaks of its force, units in the names.

    The peaks are read at the plates' own rate through 50 Hz (`ground_reaction_full_rate`), whatever the frame rate.
    """
    names = [peak.column for peak in ground_peaks()]
    forces = stance_peaks(
        analysis.cycles,
        analysis.plate_rate_forces,
        analysis.reaction.as_measured,
        analysis.recording.markers.rate_hz,
        analysis.subject.mass_kg,
    )
    rows = []
    for (cycle, found), own in zip(analysis.strides, forces, strict=True):
        row: dict[str, object] = {
            "side": cycle.side,
            "cycle": cycle.number + 1,
            "start_s": cycle.start_s,
            "foot_off_s": cycle.off_s,
            "end_s": cycle.end_s,
        }
        for name, value in asdict(found).items():
            if name.endswith("_rad"):
                row[name.removesuffix("_rad") + "_deg"] = np.rad2deg(value)
            else:
                row[name] = value
        rows.append(row | dict(zip(names, own, strict=True)))
    columns = ["side", "cycle", "start_s", "foot_off_s", "end_s", *stride_columns()]
    return pd.DataFrame(rows, columns=columns)


def stride_columns() -> tuple[str, ...]:
    """Names of the parameters of the stride in `spatiotemporal`, those of its force after the others."""
    own = (name.replace("_rad", "_deg") for name in stride.StrideParameters.__dataclass_fields__)
    return (*own, *(peak.column for peak in ground_peaks()))


def _of_points(codes: Sequence[int], kind: type[np.integer[Any]]) -> IntArray:
    """The numbers of curves as those of their points, (curves x 101,)."""
    return np.repeat(np.array(codes, dtype=kind), CYCLE_POINTS)


_REQUEST = 'There where motion and forces were made one estimate: the default, [signals] method = "auto".'


# -- Estimate of motion and forces ----------------------------------------------------------------------------------


def _has_estimate(analysis: TrialAnalysis) -> bool:
    return analysis.estimate is not None


def _account(analysis: TrialAnalysis) -> EstimateSummary:
    if analysis.estimate is None:
        raise ResultError(
            "Motion and forces were not made one estimate.", 'Set [signals] method = "auto", the default.'
        )
    return analysis.estimate


@table(
    "residuals",
    place=121,
    description="Base residual through time, as measured and after motion and forces became one estimate: N, Nm.",
    needs=_has_estimate,
    request=_REQUEST,
)
def residuals(analysis: TrialAnalysis) -> pd.DataFrame:
    """Residual force and moment on the root in World axes: `raw_*` before the estimate, `left_*` after it; NaN where unknown."""
    account = _account(analysis)
    columns: dict[str, FloatArray] = {"time_s": analysis.time_s}
    for name, dynamics in (("raw", account.raw_dynamics), ("left", analysis.dynamics)):
        for i, axis in enumerate(AXES):
            columns[f"{name}_f{axis}_N"] = dynamics.residual_force[:, i]
        for i, axis in enumerate(AXES):
            columns[f"{name}_m{axis}_Nm"] = dynamics.residual_moment[:, i]
    return pd.DataFrame(columns)


@table(
    "estimate",
    place=122,
    description="How far the estimate moved every coordinate, deg, and by how much its torque changed, Nm.",
    needs=_has_estimate,
    request=_REQUEST,
)
def estimate(analysis: TrialAnalysis) -> pd.DataFrame:
    """A row a coordinate: RMS and largest movement, deg; RMS of the torque's change and of its standard deviation, Nm."""
    account, bands = _account(analysis), analysis.uncertainty
    count = len(account.coordinates)
    sd = np.full(count, np.nan)
    if bands is not None:
        known = np.isfinite(bands.total).any(axis=0)
        sd[known] = np.sqrt(np.nanmean(bands.total[:, known] ** 2, axis=0))
    return pd.DataFrame(
        {
            "coordinate": account.coordinates,
            "moved_rms_deg": np.rad2deg(account.moved_rms_rad),
            "moved_max_deg": np.rad2deg(account.moved_max_rad),
            "torque_change_rms_Nm": account.torque_change,
            "torque_sd_rms_Nm": sd,
        }
    )


def _has_plates(analysis: TrialAnalysis) -> bool:
    return analysis.estimate is not None and bool(analysis.estimate.plates.errors)


@table(
    "estimate_plates",
    place=123,
    description="Errors of the force plates that the estimate found and took out: place, cm, and gain, %.",
    needs=_has_plates,
    request=_REQUEST,
)
def estimate_plates(analysis: TrialAnalysis) -> pd.DataFrame:
    """A row a plate and direction: its shift along a laboratory axis, cm, or its gain, %, with the SD left and that of before."""
    plates = _account(analysis).plates
    rows: list[tuple[int, str, str, float, float, float]] = []
    for error in plates.errors:
        for axis, shift, sd in zip(plates.axes, 100 * error.shift_m, 100 * error.shift_sd_m, strict=True):
            rows.append((error.number, f"shift_{axis}", "cm", shift, sd, 100 * plates.expected.place_m))
        rows.append((error.number, "gain", "%", 100 * error.gain, 100 * error.gain_sd, 100 * plates.expected.gain))
    return pd.DataFrame(rows, columns=["plate", "error", "unit", "value", "sd_left", "sd_before"])
