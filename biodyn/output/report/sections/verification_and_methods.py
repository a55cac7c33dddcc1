"""Sections on verification and methods: independent algorithms, forward replay, conventions, methods and sources."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from biodyn.output.figures.curves import CycleCurves, display_table, unit_label
from biodyn.output.figures.trial import ReplayView
from biodyn.output.report.page import METHODS, Data
from biodyn.output.report.page import methods_text as written_methods
from biodyn.output.report.trial_page import SECTIONS, TrialPage, analysis_facts
from biodyn.variables import coordinate_title, is_known_variable, variable


@SECTIONS.section("proof", place=90, title="Verification", folded=True)
def verification_section(page: TrialPage) -> Data | None:
    """Return the comparison with independent algorithms; None if missing."""
    proof = page.record.get("proof")
    return {"proof": proof} if proof else None


@SECTIONS.section("replay", place=100, title="Forward replay", folded=True)
def replay_section(page: TrialPage) -> Data:
    """Return sentences and tables of the replay; without a replay only the entry `replay` with None."""
    view = page.view.replay
    if view is None:
        return {"replay": None}
    settings = view.record["settings"]
    values = {
        "sentences": list(view.record["text"]),
        "angle_deg": settings["angle_deg"],
        "position_cm": 100.0 * settings["position_m"],
        "drift": _drift_rows(view),
        "feedback": _feedback_rows(view.feedback),
    }
    return {"replay": values}


def _drift_rows(view: ReplayView) -> dict[str, list[tuple[str, ...]]]:
    """Return a row per window length of each case, over all windows and ground contacts."""
    drift = view.drift[view.drift["ground"] == "all"]
    return {
        f"{torques.capitalize()} torques": [
            (
                f"{row['window_s']:g}",
                f"{row['windows']:d}",
                *(_format_error(row[key]) for key in ("joint_median_deg", "joint_worst_deg", "position_worst_cm")),
                f"{100.0 * row['share_within_tolerance']:.0f}",
                coordinate_title(str(row["most_drifted"])),
            )
            for row in drift[drift["torques"] == torques].to_dict("records")
        ]
        for torques in ("recorded", "recomputed")
    }


def _feedback_rows(feedback: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return peak torque and feedback of the coordinates of the overview, and of the coordinate with the largest feedback."""
    magnitudes = feedback[["recorded_Nm", "feedback_Nm", "error_deg"]].abs()
    peaks = magnitudes.groupby(feedback["coordinate"].astype(str), sort=False).max()
    overview = {moment.removesuffix("_moment") for moment in display_table()["overview"]["moments"]}
    names = [name for name in peaks.index if any(name in (base, f"{base}_r", f"{base}_l") for base in overview)]
    if len(peaks) and np.isfinite(peaks["feedback_Nm"]).any():
        largest = str(peaks["feedback_Nm"].idxmax())
        names += [largest] if largest not in names else []
    return [
        (
            coordinate_title(name),
            f"{peaks.loc[name, 'recorded_Nm']:.1f}",
            f"{peaks.loc[name, 'feedback_Nm']:.2g}",
            _format_error(float(peaks.loc[name, "error_deg"])),
        )
        for name in names
    ]


def _format_error(value: float) -> str:
    """Return an error with two digits, or "lost" for a replay that diverged."""
    return f"{value:.2g}" if np.isfinite(value) else "lost"


@SECTIONS.section("conventions", place=130, title="Conventions", link="Conventions", css="printed", folded=True)
def conventions_section(page: TrialPage) -> Data:
    """Return all variables of this trial, and the groups of the norms."""
    return {"rows": convention_rows(page.curves), "norms": [norm for norm in page.view.norms if norm.curves]}


def convention_rows(curves: Mapping[str, Mapping[str, CycleCurves]]) -> list[dict[str, str]]:
    """Return name, unit, and meaning of + in tables and figures of each known variable."""
    rows = []
    for name, sides in curves.items():
        if not is_known_variable(name):
            continue
        known = variable(name)
        if known.mirrored:
            relation = "as in the tables for one side, reversed for the other"
        else:
            relation = "as in the tables" if known.clinical_sign > 0 else "reversed"
        unit = unit_label(next(iter(sides.values())).unit)
        rows.append(
            {"name": name, "label": known.title, "unit": unit, "positive": f"{known.positive} +", "relation": relation}
        )
    return rows


@SECTIONS.section("methods", place=140, title="Methods", link="Methods", css="printed", folded=True)
def methods_section(page: TrialPage) -> Data:
    """Return the methods text, written from the settings and constants of this analysis."""
    template = "model_methods.txt.j2" if page.is_on_model else METHODS
    return {"methods": written_methods(page.record, template, norms=page.view.norms), "facts": analysis_facts(page)}
