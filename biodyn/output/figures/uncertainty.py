"""Bands of the joint torques over the gait cycle."""

from __future__ import annotations

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES, FloatArray
from biodyn.output.figures.cycles import nan_statistics
from biodyn.variables import PERCENT

TORQUE_SD = "_Nm_sd"
#: Standard deviation (101,) by variable of the gait cycles and side.
Bands = dict[str, dict[str, FloatArray]]


def torque_bands(joint_torques_sd: pd.DataFrame, spatiotemporal: pd.DataFrame, mass_kg: float) -> Bands:
    """Return one standard deviation of every torque over the cycle, Nm/kg, as mean over the cycles of each side.

    The largest errors (joint centres, plates, inertias) are the same in all cycles: a mean of cycles does not shrink them.
    """
    time_s = joint_torques_sd["time_s"].to_numpy(dtype=np.float64)
    sides = spatiotemporal["side"].astype(str)
    bands: Bands = {}
    for column in joint_torques_sd.columns:
        name = str(column).removesuffix(TORQUE_SD)
        values = joint_torques_sd[column].to_numpy(dtype=np.float64) / mass_kg
        if name == column or not np.isfinite(values).any():
            continue
        own = next((side for side in SIDES if name.endswith(f"_{side}")), "")
        variable = f"{name.removesuffix(f'_{own}') if own else name}_moment"
        for side in (own,) if own else SIDES:
            cycles = spatiotemporal.loc[sides == side, ["start_s", "end_s"]].to_numpy(dtype=np.float64)
            curves = [np.interp(start + 0.01 * PERCENT * (end - start), time_s, values) for start, end in cycles]
            if curves and np.isfinite(curves).any():
                bands.setdefault(variable, {})[side] = nan_statistics(np.array(curves))[0]
    return bands
