"""Sections on gait: spatio-temporal parameters, contacts, ground reaction, comparison with norms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.library.toml_files import load_table
from biodyn.output.figures.curves import display_table
from biodyn.output.figures.style import SIDE_COLORS, report_setting
from biodyn.output.report.formatted_parameters import NormRow, evidence_text, format_decimal, norm_rows, parameter_label
from biodyn.output.report.page import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.processing.signals.signal_preparation import FULL_BANDWIDTH_HZ
from biodyn.statistics.gait_measures import gait_profile_score, gait_variable_score
from biodyn.variables import score_reference, variable
from biodyn.variables.norms import AUTO, NONE, read_covariates


@SECTIONS.section("gait", place=15.5, title="Gait parameters", link="Parameters")
def gait_section(page: TrialPage) -> Data | None:
    """Return a row per parameter, placed next to the 3-D view if there is one; None without an identified foot."""
    if not page.view.sides:
        return None
    return {
        "css": "beside" if page.scene is not None else "",
        "parameters": parameter_rows(page.tables["spatiotemporal"]),
        "several": max(page.cycle_counts.values()) > 1,
        "counts": "Cycles: " + ", ".join(f"{SIDE_NAMES[side]} {page.cycle_counts[side]}" for side in SIDES),
    }


def parameter_rows(spatiotemporal: pd.DataFrame, *, peaks: bool = False) -> list[dict[str, Any]]:
    """Return mean, SD and number of cycles of each spatio-temporal parameter by side, or of each peak force.

    Parameters without a value are omitted: double support in running, flight in walking.
    """
    rows = []
    sides = {side: spatiotemporal[spatiotemporal["side"].astype(str) == side] for side in SIDES}
    for name in map(str, spatiotemporal.columns):
        is_peak = name.endswith("_BW")
        is_cycle = name in ("side", "cycle", "start_s", "foot_off_s", "end_s")
        if is_cycle or is_peak is not peaks or not spatiotemporal[name].notna().any():
            continue
        label, unit = parameter_label(name)
        values: dict[str, Any] = {}
        for side, cycles in sides.items():
            values[side] = _mean_and_sd_entry(cycles[name].dropna().to_numpy(dtype=float), unit)
        rows.append({"label": label, "unit": unit, **values})
    return rows


def _mean_and_sd_entry(values: FloatArray, unit: str) -> dict[str, Any] | None:
    if not len(values):
        return None
    digits = 3 if unit == "BW" else 1 if unit.startswith("%") or unit in ("degrees", "steps/min") else 2
    sd = format_decimal(values.std(ddof=1), digits) if len(values) > 1 else ""
    return {"mean": format_decimal(values.mean(), digits), "sd": sd, "n": len(values)}


@SECTIONS.section("contacts", place=40, title="Foot-plate contacts and gait events", folded=True)
def contacts_section(page: TrialPage) -> Data:
    """Return a row per contact (time, decision, reason, evidence) and per gait event: the first of each decision and source."""
    table, all_events = page.tables["contacts"], page.tables["events"].astype({"side": str})
    most = display_table()["most_single"]
    decided = ("plate", "side", "start_s", "end_s", "decision", "reason")
    evidence = [name for name in table.columns if name not in decided]
    rows = []
    for contact in table.groupby("decision").head(most).to_dict("records"):
        side = str(contact["side"]) if isinstance(contact["side"], str) else ""
        rows.append(
            {
                "plate": int(contact["plate"]),
                "side": SIDE_NAMES.get(side, "–"),
                "color": SIDE_COLORS.get(side, ""),
                "time": f"{contact['start_s']:.2f} – {contact['end_s']:.2f}",
                "decision": str(contact["decision"]),
                "reason": contact["reason"] if isinstance(contact["reason"], str) else "",
                "evidence": [
                    evidence_text(str(name), float(contact[name])) for name in evidence if pd.notna(contact[name])
                ],
            }
        )
    events = [
        (
            f"{event['time_s']:.3f}",
            SIDE_NAMES[event["side"]],
            str(event["event"]).replace("_", " "),
            str(event["source"]),
        )
        for event in all_events.groupby("source").head(most).to_dict("records")
    ]
    return {"contacts": rows, "events": events, "counts": (len(table), len(all_events))}


@SECTIONS.section("ground", place=50, title="Ground reaction force (GRF)", folded=True)
def ground_section(page: TrialPage) -> Data | None:
    """Return a row per peak of the force; None without a figure of the ground reaction."""
    if not page.figures_by_section.get("ground"):
        return None
    cycles = page.tables.get("spatiotemporal")
    peaks = [] if cycles is None else parameter_rows(cycles, peaks=True)
    return {"peaks": peaks, "cutoff_hz": FULL_BANDWIDTH_HZ}


@SECTIONS.section("norms", place=22, title="Norms", link="Norms", folded=True)
def norms_section(page: TrialPage) -> Data:
    """Return the reasons of the choice of norms, the comparison, and the sources."""
    covariates = read_covariates(page.record, page.view.speed_m_s)
    source = page.record["subject"].get("leg_length_source", "not known")
    source = source if covariates.leg_length_m else "0.530 of the body height"
    return {
        "reasons": page.view.norm_reasons,
        "rows": compare_with_norms(page),
        "norms": page.view.norms,
        "leg": f"{covariates.leg_m:.3f} m, {source}" if np.isfinite(covariates.leg_m) else "",
    }


def compare_with_norms(page: TrialPage) -> list[NormRow]:
    """Return the parameters with a norm and the dimensionless parameters of the stride; empty if the subject did not walk."""
    view = page.view
    if not view.is_walking or not np.isfinite(view.speed_m_s):
        return []
    strides = page.tables["spatiotemporal"]
    means = {
        str(side): {str(name): float(value) for name, value in cycles.mean(numeric_only=True).items()}
        for side, cycles in ((side, strides[strides["side"].astype(str) == side]) for side in SIDES)
    }
    curves = {name: {side: cycles.mean for side, cycles in sides.items()} for name, sides in page.curves.items()}
    return norm_rows(means, curves, read_covariates(page.record, view.speed_m_s), view.norms)


@SECTIONS.section(
    "scores", place=22.5, title="Gait scores: movement analysis profile, GPS, GDI", link="Scores", folded=True
)
def scores_section(page: TrialPage) -> Data | None:
    """Return gait variable scores of both sides and of the reference, GPS and GDI; None without a reference.

    Baker R et al. (2009) Gait Posture 30:265-269: RMS over the cycle of the mean curve minus the mean of the reference.
    """
    view = page.view
    setting = report_setting(page.record, "norms") or AUTO
    if not view.is_walking or setting == NONE or not page.curves:
        return None
    user_norms = view.norms[0] if setting != AUTO and view.norms else None
    default_norms, default_words, of_another_age = score_reference(AUTO, read_covariates(page.record, view.speed_m_s))
    norms = default_norms if user_norms is None else user_norms
    rows: list[tuple[str, ...]] = []
    by_side: dict[str, list[float]] = {side: [] for side in SIDES}
    deviations: dict[str, list[FloatArray]] = {side: [] for side in SIDES}
    pelvis: list[int] = []
    for entry in load_table("study/analysis")["gait_scores"]["variable"]:
        known, norm = variable(entry["variable"]), norms.curves.get(entry["variable"])
        score: dict[str, float] = dict.fromkeys(SIDES, np.nan)
        for side, curves in page.curves.get(known.name, {}).items():
            if norm is not None and len(curves.values):
                mean = known.clinical_factor(SIDES[0]) * norm.mean
                score[side] = float(gait_variable_score(curves.mean, mean))
                deviations[side].append(known.clinical_factor(SIDES[0]) * (curves.mean - mean))
        usual = np.nan if norm is None or norm.sd is None else float(np.sqrt(np.mean(norm.sd**2)))
        pelvis += [len(rows)] if entry.get("once") else []
        for side in SIDES:
            by_side[side].append(score[side])
        rows.append((known.title, *(_format_degrees(score[side]) for side in SIDES), _format_degrees(usual)))
    profile = [_format_degrees(float(gait_profile_score(by_side[side]))) for side in SIDES]
    without_pelvis = [value for k, value in enumerate(by_side["r"]) if k not in pelvis]
    rows.append(("Gait profile score (GPS)", *profile, ""))
    overall = _format_degrees(float(gait_profile_score([*by_side["l"], *without_pelvis])))
    index = norms.deviation_index
    if index is not None:
        values = [index.score(deviations[side]) if len(deviations[side]) == len(rows) - 1 else np.nan for side in SIDES]
        rows.append(("Gait deviation index (GDI), points", *map(_format_degrees, values), "100.0"))
    words = default_words if user_norms is None else norms.description
    return {
        "heads": ("variable", *(f"#{SIDE_NAMES[side]}, degrees" for side in SIDES), "#reference people, degrees"),
        "rows": rows,
        "overall": overall,
        "words": f"{words} ({norms.citation})",
        "other_age": of_another_age and user_norms is None,
        "has_index": index is not None,
    }


def _format_degrees(value: float) -> str:
    return f"{value:.1f}" if np.isfinite(value) else "–"
