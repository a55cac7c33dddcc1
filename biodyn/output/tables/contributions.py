"""Contributions to every joint torque, as a tidy table. File and columns keep the names of earlier versions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import FloatArray
from biodyn.model.from_osim.subject import ImportedModel
from biodyn.output.tables.registry import table
from biodyn.processing.dynamics.actuated import actuated_motion
from biodyn.verification.contributions import CONTRIBUTIONS, torque_contributions


@table(
    "joint_torque_parts",
    place=30,
    description="Contributions of gravity, inertia, velocity and ground reaction to every joint torque, tidy.",
    coarser={"value": 4},  # as of the joint moments
)
def joint_torque_parts(analysis: TrialAnalysis) -> pd.DataFrame:
    """One row per frame, coordinate and contribution (gravity, inertia, velocity, ground), Nm; they sum to `joint_torques`.

    NaN where the torque is not valid. Rows run through time inside each block. See `processing.contributions`.
    """
    dynamics, coordinates, time_s = analysis.dynamics, analysis.model.coordinates, analysis.time_s
    contributions = torque_contributions(actuated_motion(analysis.fit, dynamics))
    columns = _along_coordinates(analysis, contributions.values)
    # (coordinate, part, frame)
    values = np.stack([np.where(dynamics.torque_valid, columns[name], np.nan) for name in CONTRIBUTIONS])
    values = np.ascontiguousarray(values.transpose(2, 0, 1))
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
        }
    )


def _along_coordinates(analysis: TrialAnalysis, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """Contributions (T, C) along the free coordinates by name, of those (T, nv) along the joints of the tree."""
    model, imported = analysis.model, analysis.imported
    if imported is None or not isinstance(model, ImportedModel):
        columns = [coordinate.v_index for coordinate in model.coordinates]
        return {name: part[:, columns] for name, part in values.items()}
    own, motion = imported.motion.columns_of(model), imported.motion
    return {name: model.floating.own_forces(motion.q, part)[:, own] for name, part in values.items()}
