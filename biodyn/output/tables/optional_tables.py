"""Optional tables: contributions to the torques, their uncertainty and sensitivity, comparison of results, forward replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.comparison.differences import UNEXPLAINED, Difference
from biodyn.comparison.part_exchange import CAUSES
from biodyn.conventions import CYCLE_POINTS, SIDE_NAMES, SIDES, FloatArray
from biodyn.model.from_osim.imported_model import ImportedModel
from biodyn.output.tables.registry import table
from biodyn.processing.dynamics.actuated_motion import actuated_motion
from biodyn.processing.gait.cycles import find_gait_cycles, normalise_to_cycle
from biodyn.processing.gait.spatiotemporal import cycle_signals
from biodyn.variables.cycle_parameters import nan_statistics
from biodyn.verification.contributions import CONTRIBUTIONS, torque_contributions
from biodyn.verification.replay import OpenLoopReplay, TrackedReplay


@table(
    "joint_torque_parts",
    place=30,
    description="Contributions of gravity, inertia, velocity and ground reaction to every joint torque, tidy.",
    coarser={"value": 4},  # same decimals as the joint moments
)
def joint_torque_parts_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return one row per frame, coordinate and contribution (gravity, inertia, velocity, ground), Nm; they sum to
    `joint_torques`.

    Values are NaN if the torque is not valid. Rows of each block are in order of time. See `verification.contributions`.
    """
    dynamics, coordinates, time_s = analysis.dynamics, analysis.model.coordinates, analysis.time_s
    contributions = torque_contributions(actuated_motion(analysis.fit, dynamics))
    columns = _project_on_coordinates(analysis, contributions)
    del contributions
    values = np.empty((len(coordinates), len(CONTRIBUTIONS), len(time_s)))
    for k, name in enumerate(CONTRIBUTIONS):
        values[:, k] = np.where(dynamics.torque_valid, columns.pop(name), np.nan).T
    blocks = len(coordinates) * len(CONTRIBUTIONS)
    coordinate_codes = np.repeat(np.arange(len(coordinates), dtype=np.int16), len(CONTRIBUTIONS) * len(time_s))
    contribution_codes = np.tile(
        np.repeat(np.arange(len(CONTRIBUTIONS), dtype=np.int16), len(time_s)), len(coordinates)
    )
    return pd.DataFrame(
        {
            "time_s": np.tile(time_s, blocks),
            "coordinate": pd.Categorical.from_codes(coordinate_codes, pd.Index([c.name for c in coordinates])),
            "part": pd.Categorical.from_codes(contribution_codes, pd.Index(CONTRIBUTIONS)),
            "value": values.reshape(-1),
            "unit": pd.Categorical.from_codes(np.zeros(values.size, dtype=np.int16), pd.Index(["Nm"])),
        },
        copy=False,
    )


def _project_on_coordinates(analysis: TrialAnalysis, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Return contributions (T, C) along the free coordinates by name, from those (T, nv) along the joints of the tree."""
    model, imported = analysis.model, analysis.imported
    if imported is None or not isinstance(model, ImportedModel):
        columns = [coordinate.v_index for coordinate in model.coordinates]
        return {name: part[:, columns] for name, part in values.items()}
    columns, motion = imported.motion.coordinate_columns(model), imported.motion
    return {name: model.tree.coupled_forces(motion.q, part)[:, columns] for name, part in values.items()}


# -- Uncertainty


@table(
    "joint_torques_sd",
    place=120,
    description="Standard deviation of every torque, in total and by source of error, Nm.",
    needs=lambda analysis: analysis.uncertainty is not None,
    request="Request it with the setting [uncertainty] compute = true.",
    decimals=3,  # 1 mNm, because a band is accurate to two digits at best and at least some tenths of Nm for legs
)
def joint_torques_sd_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return the standard deviation of every torque, Nm: `<coordinate>_Nm_sd` for all sources, then one column per source.

    The table is empty without torques.
    """
    bands = analysis.uncertainty
    assert bands is not None  # `needs`
    names = [coordinate.name for coordinate in analysis.model.coordinates]
    return _standard_deviation_table(analysis, names, "Nm", bands.total, bands.by_source)


def _standard_deviation_table(
    analysis: TrialAnalysis, names: Sequence[str], unit: str, total: FloatArray, by_source: Mapping[str, FloatArray]
) -> pd.DataFrame:
    columns = ["time_s", *(f"{name}_{unit}_sd" for name in names)]
    columns += [f"{name}_{source}_{unit}_sd" for source in by_source for name in names]
    values = np.concatenate([analysis.time_s[:, None], total, *by_source.values()], axis=1)
    return pd.DataFrame(values, columns=columns)


@table(
    "joint_powers_sd",
    place=121,
    description="Standard deviation of every joint power, in total and by source of error, W.",
    needs=lambda analysis: analysis.uncertainty is not None and bool(analysis.uncertainty.joints),
    request="Request it with the setting [uncertainty] compute = true; an OpenSim model has none.",
    decimals=3,
)
def joint_powers_sd_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return the standard deviation of every power, W: `<joint>_W_sd` for all sources, then one column per source.

    Errors of torques and angular velocities are combined with their correlation.
    """
    bands = analysis.uncertainty
    assert bands is not None  # `needs`
    return _standard_deviation_table(analysis, bands.joints, "W", bands.total_power, bands.power_by_source)


#: Factor and level of the main analysis.
BASE = ("none", "as analysed")
_MOMENT = "_moment"
_REQUEST = "Request it with 'biodyn run --vary FACTORS' or biodyn.vary_trial."


# -- Sensitivity ----------------------------------------------------------------------------------------------------


def _has_variations(analysis: TrialAnalysis) -> bool:
    return bool(analysis.variations)


@table(
    "sensitivity",
    place=130,
    description="Mean moment curves with other settings, tidy.",
    needs=_has_variations,
    request=_REQUEST,
)
def sensitivity_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return mean moment curves over the gait cycle, Nm/kg: `factor`, `level`, `side`, `variable`, `percent`, `value`, `unit`.

    All curves use the cycles of the main analysis, whose curves are first, so that they differ only by the setting.
    """
    rows = [
        (factor, level, side, name, curve)
        for factor, level, varied in _all_variations(analysis)
        for (side, name), curve in _mean_moment_curves(varied, analysis).items()
    ]
    heads = pd.DataFrame([row[:4] for row in rows], columns=["factor", "level", "side", "variable"])
    curves = heads.loc[np.repeat(heads.index, CYCLE_POINTS)].reset_index(drop=True).astype("category")
    curves["percent"] = np.tile(np.linspace(0.0, 100.0, CYCLE_POINTS), len(rows))
    curves["value"] = np.concatenate([row[4] for row in rows]) if rows else np.empty(0)
    curves["unit"] = pd.Categorical.from_codes(np.zeros(len(curves), dtype=np.int64), categories=pd.Index(["Nm/kg"]))
    return curves


@table(
    "sensitivity_summary",
    place=140,
    description="Change of every moment curve with other settings.",
    needs=_has_variations,
    request=_REQUEST,
)
def sensitivity_summary_table(analysis: TrialAnalysis) -> pd.DataFrame:
    """Return the change of every mean moment curve: peak (largest magnitude) and RMS, Nm/kg and per cent of the peak."""
    base = _mean_moment_curves(analysis, analysis)
    rows = []
    for factor, level, varied in _all_variations(analysis):
        if (factor, level) == BASE:
            continue
        for (side, name), curve in _mean_moment_curves(varied, analysis).items():
            reference = base.get((side, name))
            known = (
                np.isfinite(curve) & np.isfinite(reference)
                if reference is not None
                else np.zeros(len(curve), dtype=bool)
            )
            if reference is None or not known.any():
                continue
            at = int(np.nanargmax(np.where(known, np.abs(reference), np.nan)))
            sign = np.sign(reference[at])
            peak = float(np.abs(reference[at]))
            change = float(np.max(sign * curve[known]) - peak)
            rms = float(np.sqrt(np.mean((curve[known] - reference[known]) ** 2)))
            largest = float(np.max(np.abs(curve[known] - reference[known])))
            shares = (100.0 * change / peak, 100.0 * rms / peak) if peak else (np.nan, np.nan)
            rows.append((factor, level, side, name, peak, change, rms, largest, *shares, "Nm/kg"))
    columns = ["factor", "level", "side", "variable", "peak", "peak_change", "rms_change", "largest_change"]
    return pd.DataFrame(rows, columns=[*columns, "peak_change_percent", "rms_change_percent", "unit"])


def _all_variations(analysis: TrialAnalysis) -> Iterator[tuple[str, str, TrialAnalysis]]:
    yield (*BASE, analysis)
    for variation in analysis.variations:
        yield variation.factor, variation.level, variation.analysis


def _mean_moment_curves(varied: TrialAnalysis, analysis: TrialAnalysis) -> dict[tuple[str, str], FloatArray]:
    """Return mean curves (101,) of the moments by side and variable, over the cycles of `analysis`."""
    cycles = find_gait_cycles(analysis.gait_events)
    rate_hz = analysis.recording.markers.rate_hz
    curves: dict[tuple[str, str], FloatArray] = {}
    for side in SIDES:
        on_side = [cycle for cycle in cycles if cycle.side == side]
        signals = [(s.variable, s.values) for s in cycle_signals(varied.gait_inputs, side) if _MOMENT in s.variable]
        if not on_side or not signals:
            continue
        stack = np.column_stack([values for _, values in signals])
        each = np.stack([normalise_to_cycle(stack, rate_hz, cycle.start_s, cycle.end_s) for cycle in on_side])
        for (name, _), mean in zip(signals, nan_statistics(each)[0].T, strict=True):
            if np.isfinite(mean).any():
                curves[side, name] = mean
    return curves


def ordered_causes(differences: Sequence[Difference]) -> list[str]:
    """Return the causes of the differences in the order of tables; unexplained last."""
    causes = {name for difference in differences for name in difference.shares} - {UNEXPLAINED}
    ordered = [name for name in CAUSES if name in causes]
    return [*sorted(causes - set(ordered)), *ordered, UNEXPLAINED]


def difference_table(differences: Sequence[Difference]) -> pd.DataFrame:
    """Return one row per difference: variable, unit, rms, mean (second minus first), size (RMS of the first),
    unexplained_rms (RMS of the unexplained part), and one column of per cents per cause.
    """
    causes = ordered_causes(differences)
    return pd.DataFrame(
        [
            {
                "quantity": difference.quantity,
                "joint": difference.joint,
                "side": SIDE_NAMES.get(difference.side, ""),
                "plane": difference.plane,
                "unit": difference.unit,
                "rms": difference.rms,
                "mean": difference.mean,
                "size": difference.size,
                "unexplained_rms": difference.unexplained_rms,
            }
            | {f"{cause.replace(' ', '_')}_pct": _share_percent(difference, cause) for cause in causes}
            for difference in differences
        ]
    )


def _share_percent(difference: Difference, cause: str) -> float:
    """Return the share of a cause; NaN without a difference."""
    return 100.0 * difference.shares.get(cause, 0.0) if difference.shares else float("nan")


def replay_drift_table(replays: Iterable[OpenLoopReplay], names: Mapping[int, str]) -> pd.DataFrame:
    """Return one row per kind of torques, window length and ground; see `verification.replay.DriftRow`."""
    rows = [asdict(row) | {"coordinate": names[row.coordinate]} for replayed in replays for row in replayed.rows]
    frame = pd.DataFrame(rows)
    return frame.rename(columns={"coordinate": "most_drifted", "within": "share_within_tolerance"})


def replay_feedback_table(
    tracked: Sequence[TrackedReplay], time_s: FloatArray, q: FloatArray, coordinates: Mapping[str, tuple[int, int]]
) -> pd.DataFrame:
    """Return one row per frame and coordinate: recorded torque, feedback torque added to it, angle error of the replay.

    coordinates: indices in q and v by name.
    """
    blocks = []
    for part in tracked:
        frames = np.arange(part.frames[0], part.frames[1] + 1)
        for name, (at_q, at_v) in coordinates.items():
            blocks.append(
                pd.DataFrame(
                    {
                        "time_s": time_s[frames],
                        "coordinate": pd.Categorical.from_codes(np.zeros(len(frames), dtype=int), pd.Index([name])),
                        "recorded_Nm": part.recorded[:, at_v],
                        "feedback_Nm": part.feedback[:, at_v],
                        "error_deg": np.degrees(part.q[:, at_q] - q[frames, at_q]),
                    }
                )
            )
    table = pd.concat([block.astype({"coordinate": str}) for block in blocks], ignore_index=True)
    return table.astype({"coordinate": "category"})
