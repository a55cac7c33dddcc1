"""How far the torques can be trusted: standard deviations through time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.errors import ResultError
from biodyn.output.tables.registry import table


@table(
    "joint_torques_sd",
    place=120,
    description="One standard deviation of every torque, together and by source of error, Nm.",
    needs=lambda analysis: analysis.uncertainty is not None,
    request="Ask for it with the setting [uncertainty] compute = true.",
    decimals=3,  # 1 mNm: a band is itself known to two digits at best, and legs have some tenths of Nm at least
)
def joint_torques_sd(analysis: TrialAnalysis) -> pd.DataFrame:
    """One standard deviation of every torque, Nm: `<coordinate>_Nm_sd` of all sources, then a column for each source.

    Empty where there is no torque. ResultError if the bands were not computed.
    """
    found = analysis.uncertainty
    if found is None:
        raise ResultError("The bands of the torques were not computed.", "Set [uncertainty] compute = true.")
    names = [coordinate.name for coordinate in analysis.model.coordinates]
    columns = ["time_s", *(f"{name}_Nm_sd" for name in names)]
    columns += [f"{name}_{source}_Nm_sd" for source in found.by_source for name in names]
    values = np.concatenate([analysis.time_s[:, None], found.total, *found.by_source.values()], axis=1)
    return pd.DataFrame(values, columns=columns)
