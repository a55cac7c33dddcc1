"""What every joint torque is made of, as a tidy table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.processing.driven import driven_by
from biodyn.processing.parts import PARTS, torque_parts


def joint_torque_parts(analysis: TrialAnalysis) -> pd.DataFrame:
    """One row per frame, coordinate and part (gravity, inertia, velocity, ground), Nm; the parts sum to `joint_torques`.

    NaN where the torque is not valid. Rows run through time inside each block. See `processing.parts`.
    """
    dynamics, coordinates, time_s = analysis.dynamics, analysis.model.coordinates, analysis.time_s
    parts = torque_parts(driven_by(analysis.fit, dynamics))
    columns = [coordinate.v_index for coordinate in coordinates]
    # (coordinate, part, frame)
    values = np.stack([np.where(dynamics.torque_valid, parts.values[name][:, columns], np.nan) for name in PARTS])
    values = np.ascontiguousarray(values.transpose(2, 0, 1))
    blocks = len(coordinates) * len(PARTS)
    coordinate_codes = np.repeat(np.arange(len(coordinates)), len(PARTS) * len(time_s))
    part_codes = np.tile(np.repeat(np.arange(len(PARTS)), len(time_s)), len(coordinates))
    return pd.DataFrame(
        {
            "time_s": np.tile(time_s, blocks),
            "coordinate": pd.Categorical.from_codes(coordinate_codes, pd.Index([c.name for c in coordinates])),
            "part": pd.Categorical.from_codes(part_codes, pd.Index(PARTS)),
            "value": values.reshape(-1),
            "unit": pd.Categorical.from_codes(np.zeros(values.size, dtype=np.int64), pd.Index(["Nm"])),
        }
    )
