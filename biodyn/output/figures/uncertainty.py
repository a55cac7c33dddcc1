"""Bands of the joint torques over the gait cycle."""

from __future__ import annotations

from collections.abc import Container

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES, FloatArray
from biodyn.output.figures.cycles import nan_statistics
from biodyn.variables import PERCENT

TORQUE_SD = "_Nm_sd"
#: Standard deviation (101,) by variable of the gait cycles and side.
Bands = dict[str, dict[str, FloatArray]]


def torque_bands(
    joint_torques_sd: pd.DataFrame, spatiotemporal: pd.DataFrame, mass_kg: float, variables: Container[str]
) -> Bands:
    """Return one standard deviation of every torque over the cycle, Nm/kg, as mean over the cycles of each side.

    The largest errors (joint centres, plates, inertias) are the same in all cycles: a mean of cycles does not shrink them.
    `variables`: of which it is asked for; the columns of single sources name none.
    """
    time_s = joint_torques_sd["time_s"].to_numpy(dtype=np.float64)
    sides = spatiotemporal["side"].astype(str).to_numpy()
    bounds = spatiotemporal[["start_s", "end_s"]].to_numpy(dtype=np.float64)
    at_s: dict[str, list[FloatArray]] = {
        side: [start + 0.01 * PERCENT * (end - start) for start, end in bounds[sides == side]] for side in SIDES
    }
    bands: Bands = {}
    for column in joint_torques_sd.columns:
        name = str(column).removesuffix(TORQUE_SD)
        own = next((side for side in SIDES if name.endswith(f"_{side}")), "")
        variable = f"{name.removesuffix(f'_{own}') if own else name}_moment"
        if name == column or variable not in variables:
            continue
        values = joint_torques_sd[column].to_numpy(dtype=np.float64) / mass_kg
        for side in SIDES if not own else (own,):
            curves = [np.interp(at, time_s, values) for at in at_s[side]]
            if curves and np.isfinite(curves).any():
                bands.setdefault(variable, {})[side] = nan_statistics(np.array(curves))[0]
    return bands
