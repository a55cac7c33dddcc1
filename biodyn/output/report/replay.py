"""The section of a report about the forward replay, where the result was replayed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from biodyn.output.figures.display import display_table
from biodyn.variables import coordinate_title

#: Where a replay lies in its result folder, and the names of its files.
REPLAY_FOLDER = "replay"
REPLAY_RECORD = "replay.json"
REPLAY_ANIMATION = "replay.gif"
REPLAY_FIGURES = ("drift", "feedback", "convergence")

# Cases of the drift table in words, by case and kind of torques, in the order of the report.
_CASES = {
    ("walk", "recorded"): "Walk, recorded torques",
    ("walk", "recomputed"): "Walk, recomputed torques",
    ("rest", "recorded"): "Standing still",
}


@dataclass(frozen=True)
class ReplayView:
    """What `biodyn replay` left in a result folder.

    Attributes:
        record: the values of `replay.json`.
        drift, feedback: its tables.
        figures: PNGs by name (drift, feedback, convergence).
        animation: path of the animation from the report, "" if none was made.
    """

    record: Mapping[str, Any]
    drift: pd.DataFrame
    feedback: pd.DataFrame
    figures: Mapping[str, bytes]
    animation: str


def replay_section(view: ReplayView) -> dict[str, Any]:
    """Return sentences, rows of both tables and figure names for the page."""
    settings = view.record["settings"]
    return {
        "sentences": list(view.record["text"]),
        "angle_deg": settings["angle_deg"],
        "position_cm": 100.0 * settings["position_m"],
        "drift": drift_rows(view.drift),
        "feedback": feedback_rows(view.feedback),
        "animation": view.animation,
    }


def drift_rows(drift: pd.DataFrame) -> dict[str, list[dict[str, str]]]:
    """By case: one row per window length, over all windows, wherever the feet stood."""
    cases = {}
    for (case, torques), words in _CASES.items():
        own = drift[(drift["case"] == case) & (drift["torques"] == torques) & (drift["ground"] == "all")]
        cases[words] = [
            {
                "window": f"{row['window_s']:g}",
                "windows": f"{row['windows']:d}",
                "median": _error(row["joint_median_deg"]),
                "worst": _error(row["joint_worst_deg"]),
                "position": _error(row["position_worst_cm"]),
                "within": f"{100.0 * row['share_within_tolerance']:.0f}",
                "most_drifted": coordinate_title(str(row["most_drifted"])),
            }
            for row in own.to_dict("records")
        ]
    return cases


def feedback_rows(feedback: pd.DataFrame) -> list[dict[str, str]]:
    """Recorded torque and feedback of the coordinates the overview shows, and of that with the largest feedback."""
    sizes = feedback[["recorded_Nm", "feedback_Nm", "error_deg"]].abs()
    peaks = sizes.groupby(feedback["coordinate"].astype(str), sort=False).max()
    shown = {moment.removesuffix("_moment") for moment in display_table()["overview"]["moments"]}
    names = [name for name in peaks.index if any(name in (base, f"{base}_r", f"{base}_l") for base in shown)]
    if len(peaks) and np.isfinite(peaks["feedback_Nm"]).any():
        largest = str(peaks["feedback_Nm"].idxmax())
        names += [largest] if largest not in names else []
    return [
        {
            "label": coordinate_title(name),
            "recorded": f"{peaks.loc[name, 'recorded_Nm']:.1f}",
            "feedback": f"{peaks.loc[name, 'feedback_Nm']:.2g}",
            "error": _error(float(peaks.loc[name, "error_deg"])),
        }
        for name in names
    ]


def _error(value: float) -> str:
    """Two digits; a replay that was lost is said to be so."""
    return f"{value:.2g}" if np.isfinite(value) else "lost"
