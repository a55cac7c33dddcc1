"""How far the torques can be trusted: standard deviations through time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import FloatArray
from biodyn.processing.uncertainty import SOURCES


def joint_torques_sd(analysis: TrialAnalysis) -> pd.DataFrame:
    """One standard deviation of every torque, Nm: `<coordinate>_Nm_sd` of all sources, then a column for each source.

    Empty where there is no torque, and everywhere if the bands were switched off.
    """
    found = analysis.uncertainty
    names = [coordinate.name for coordinate in analysis.model.coordinates]
    nothing = np.full((len(analysis.time_s), len(names)), np.nan)
    total = nothing if found is None else found.total
    columns: dict[str, FloatArray] = {"time_s": analysis.time_s}
    columns |= {f"{name}_Nm_sd": total[:, i] for i, name in enumerate(names)}
    for source in SOURCES:
        part = nothing if found is None else found.by_source[source]
        columns |= {f"{name}_{source}_Nm_sd": part[:, i] for i, name in enumerate(names)}
    return pd.DataFrame(columns)
