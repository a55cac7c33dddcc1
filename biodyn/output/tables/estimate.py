"""What the estimate of motion and forces left over, moved and changed."""

from __future__ import annotations

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import AXES, FloatArray
from biodyn.errors import ResultError
from biodyn.estimation.account import EstimateAccount
from biodyn.output.tables.registry import table

_REQUEST = 'There where motion and forces were made one estimate: the default, [signals] method = "auto".'


def _has_estimate(analysis: TrialAnalysis) -> bool:
    return analysis.estimate is not None


def _account(analysis: TrialAnalysis) -> EstimateAccount:
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
