"""Results as pandas tables, one function a table; nothing here touches disk but `write_csv`."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from biodyn.analysis import TrialAnalysis
from biodyn.output.tables.contributions import joint_torque_parts
from biodyn.output.tables.csv import write_csv
from biodyn.output.tables.gait import contacts, events, gait_cycles, spatiotemporal
from biodyn.output.tables.sensitivity import sensitivity, sensitivity_summary
from biodyn.output.tables.time_series import (
    ground_reaction,
    joint_angles,
    joint_moments,
    joint_powers,
    joint_torques,
    marker_errors,
)
from biodyn.output.tables.uncertainty import joint_torques_sd

__all__ = [
    "BAND_TABLES",
    "ON_REQUEST",
    "TABLES",
    "VARIATION_TABLES",
    "contacts",
    "events",
    "gait_cycles",
    "ground_reaction",
    "joint_angles",
    "joint_moments",
    "joint_powers",
    "joint_torque_parts",
    "joint_torques",
    "joint_torques_sd",
    "marker_errors",
    "sensitivity",
    "sensitivity_summary",
    "spatiotemporal",
    "tables_of",
    "trial_tables",
    "write_csv",
]

#: Every table that each trial has, by the name of its file.
TABLES: dict[str, Callable[[TrialAnalysis], pd.DataFrame]] = {
    "joint_angles": joint_angles,
    "joint_torques": joint_torques,
    "joint_torque_parts": joint_torque_parts,
    "joint_moments": joint_moments,
    "joint_powers": joint_powers,
    "ground_reaction": ground_reaction,
    "marker_errors": marker_errors,
    "events": events,
    "contacts": contacts,
    "gait_cycles": gait_cycles,
    "spatiotemporal": spatiotemporal,
}


#: Table of a trial whose bands were computed.
BAND_TABLES: dict[str, Callable[[TrialAnalysis], pd.DataFrame]] = {"joint_torques_sd": joint_torques_sd}

#: Tables of a trial that was analysed with other choices too.
VARIATION_TABLES: dict[str, Callable[[TrialAnalysis], pd.DataFrame]] = {
    "sensitivity": sensitivity,
    "sensitivity_summary": sensitivity_summary,
}


#: Tables that come on request, and how they are asked for.
ON_REQUEST = dict.fromkeys(BAND_TABLES, "Ask for it with the setting [uncertainty] compute = true.") | dict.fromkeys(
    VARIATION_TABLES, "Ask for it with 'biodyn run --vary FACTORS' or biodyn.vary_trial."
)


def tables_of(analysis: TrialAnalysis) -> dict[str, Callable[[TrialAnalysis], pd.DataFrame]]:
    """Return the makers of the tables an analysis has."""
    bands = BAND_TABLES if analysis.uncertainty is not None else {}
    return TABLES | bands | (VARIATION_TABLES if analysis.variations else {})


def trial_tables(analysis: TrialAnalysis) -> dict[str, pd.DataFrame]:
    """Return all tables of a trial by name."""
    return {name: make(analysis) for name, make in tables_of(analysis).items()}
