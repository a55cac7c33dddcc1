"""Sections of the page of a subject or session: trials, 3-D view, curves, parameters, norms, symmetry, scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from biodyn.conventions import SIDES, FloatArray
from biodyn.diagnostics import STATUS_WORDS
from biodyn.output.figures.curves import unit_label
from biodyn.output.figures.description import Figure, Key
from biodyn.output.figures.svg import Described, further_panels_grid, render_svg, standard_grid, standard_page_variables
from biodyn.output.report.comparison_page import MeanCurve, cursor_data
from biodyn.output.report.formatted_parameters import norm_rows
from biodyn.output.report.page import Data, load_resource, script_json
from biodyn.output.report.scene import SCENE_TEMPLATE
from biodyn.study.collecting.cycles import NOT_RUN
from biodyn.study.group.statistics.gait_scores import BOTH_SIDES
from biodyn.study.group.statistics.session_means import PARAMETER, SCORE
from biodyn.study.group.subject_cycles import STANCE, SubjectCycles, mean_and_sd
from biodyn.study.report.figures import (
    NormBand,
    SideCycles,
    display_figures,
    profile_figure,
    subject_keys,
    subject_panel,
)
from biodyn.study.report.pages import SUBJECT_SECTIONS, SubjectPage, cycle_flags
from biodyn.study.report.report_inputs import (
    DisplayNames,
    Table,
    iterate_groups,
    iterate_rows,
    make_table,
    mean_sd_text,
    number_text,
    side_label,
)
from biodyn.study.report.sections.results import score_table
from biodyn.study.trial_record import FAILED
from biodyn.variables import choose_norms, variable
from biodyn.variables.cycle_parameters import nan_statistics

#: Drawn state of every outcome of a trial.
LAMPS: dict[str, str] = {status: status for status in STATUS_WORDS}
LAMPS |= {FAILED: "fail", NOT_RUN: "not_assessed"}
#: The outcome in words.
OUTCOMES: dict[str, str] = {str(status): word for status, word in STATUS_WORDS.items()} | {FAILED: "no result"}


@SUBJECT_SECTIONS.section("trials", place=60, title="Trials", link="Trials")
def trials_section(page: SubjectPage) -> Data:
    """Return the table of the trials of the subject, one row per trial."""
    return {
        "representative": page.representative_names,
        "representative_words": representative_walk_text(page),
        "trials": page.trials,
        "lamps": LAMPS,
        "outcomes": OUTCOMES,
        "number": number_text,
        "reports": page.reports,
    }


def representative_walk_text(page: SubjectPage) -> str:
    """Return a sentence that states how the representative walk was chosen, or why none was; "" for a single walk."""
    done = [trial for trial in page.trials if trial.has_result]
    if page.representative_names:
        several = ", in each session and condition" if len(page.representative_names) > 1 else ""
        return (
            f"Representative: the walk without warning whose cycles are nearest to the median of both sides{several}."
        )
    if len(done) > 1 and not any(trial.status == "pass" for trial in done):
        return "No walk is representative: all of them have warnings."
    return ""


@dataclass(frozen=True)
class ConditionCurves:
    """Curves of the cycles of a subject in one session and condition, by side."""

    title: str
    cycles: Mapping[str, SideCycles]
    data: SubjectCycles
    norms: Sequence[NormBand]
    axes: str = ""

    @property
    def cycle_counts(self) -> str:
        """Return the number of gait cycles of each side as text."""
        return (
            ", ".join(f"{len(side_cycles.values)} {side_label(side)}" for side, side_cycles in self.cycles.items())
            + " cycles"
        )

    @property
    def standard_variables(self) -> list[str]:
        """Return the variables of the standard page for which there are curves."""
        return [name for name in standard_page_variables() if name in self._variable_indices]

    @property
    def legend_keys(self) -> list[Key]:
        """Return the entries of the legend of the standard page."""
        return subject_keys(self.cycles, self.norms, self.standard_variables)

    def describe_panel(self, name: str) -> Described:
        """Return the panel of a variable, and a text with the extremes of its curves."""
        return subject_panel(
            name, self.cycles, self._variable_indices[name], self.data.units[name], self.norms, self.axes
        )

    @property
    def panel_grids(self) -> Markup:
        """Return the standard page, followed by the other variables of the trial report."""
        panels = dict.fromkeys(name for figure in display_figures() for name in figure["panels"])
        standard, describe = self.standard_variables, self.describe_panel
        further = [name for name in panels if name in self._variable_indices and name not in standard]
        return standard_grid(standard, describe, self.legend_keys) + further_panels_grid(further, describe)

    @cached_property
    def _variable_indices(self) -> Mapping[str, int]:
        return {str(name): place for place, name in enumerate(self.data.variables)}


@SUBJECT_SECTIONS.section("curves", place=10, title="Curves over the gait cycle", link="Curves")
def curves_section(page: SubjectPage) -> Data:
    """Return the curves of the subject, one part per session and condition."""
    figure_parts = condition_curves(page)
    if not figure_parts:
        return {"title": "No curves", "link": "", "parts": []}
    outliers = outlier_texts(page.tables["cycles"]) if len(page.tables["cycles"]) else []
    if page.scene is None or page.data is None:
        return {"parts": figure_parts, "outliers": outliers, "store": ""}
    # one cursor for the curves and the 3-D view
    means = _mean_curves_by_side(page.data)
    shown = [name for name in dict.fromkeys((*standard_page_variables(), *means)) if name in means]
    store = cursor_data([""], shown, [means], page.scene["scene"]["persons"][0]["cycles"])
    script = load_resource("cursor.js")
    return {"parts": figure_parts, "outliers": outliers, "store": script_json(store), "script": script}


def _mean_curves_by_side(data: SubjectCycles) -> dict[str, dict[str, MeanCurve]]:
    """Return the mean over all cycles by variable and side, in the clinical sign."""
    sides = data.cycles["side"].astype(str).to_numpy()
    return {
        str(name): {
            side: MeanCurve(
                *nan_statistics(variable(str(name)).clinical_factor(side) * data.values[sides == side, place]),
                data.units[str(name)],
            )
            for side in SIDES
            if (sides == side).any()
        }
        for place, name in enumerate(data.variables)
    }


def condition_curves(page: SubjectPage) -> list[ConditionCurves]:
    """Return the figures of every session and condition of a subject."""
    data, axes = page.data, page.source.report_setting("axes")
    if data is None:
        return []
    outlier, representative = (cycle_flags(data, page.tables["cycles"], name) for name in ("outlier", "representative"))
    figure_parts = []
    stance = data.stride(STANCE)
    for key, sides in _group_rows_by_side(data, 3).items():
        cycles: dict[str, SideCycles] = {}
        for side in (side for side in SIDES if side in sides):
            rows = sides[side]
            known = stance[rows][np.isfinite(stance[rows])]
            foot_off = float(known.mean()) if len(known) else np.nan
            cycles[side] = SideCycles(data.values[rows], outlier[rows], representative[rows], foot_off)
        title = ", ".join(filter(None, (key[0], key[1]))) or "All cycles"
        figure_parts.append(ConditionCurves(title, cycles, data, page.norms, axes))
    return figure_parts


def _group_rows_by_side(data: SubjectCycles, labels: int) -> dict[tuple[str, ...], dict[str, np.ndarray]]:
    """Return the rows of the cycles by side, for each combination of the first `labels` of session, condition and group."""
    cells: dict[tuple[str, ...], dict[str, np.ndarray]] = {}
    for key, rows in data.cells():
        cells.setdefault(key[:labels], {})[key[3]] = rows
    return cells


def outlier_texts(flags: pd.DataFrame) -> list[str]:
    """Return one text per outlier cycle: trial, cycle, side, distance from the median cycle and limit."""
    return [
        f"trial {row.trial}, cycle {row.cycle:.0f} {side_label(row.side)}: {row.distance:.3f} from the median cycle "
        f"(limit {row.limit:.3f})"
        for row in iterate_rows(flags[flags["outlier"]])
    ]


@SUBJECT_SECTIONS.section("scene", place=15, title="The walks in 3-D", link="3-D", css="scene", template=SCENE_TEMPLATE)
def scene_section(page: SubjectPage) -> Data | None:
    """Return the 3-D view of the walks of a session; None for other pages, or if no result has a motion."""
    return page.scene


@SUBJECT_SECTIONS.section("parameters", place=30, title="Parameters", link="Parameters")
def parameters_section(page: SubjectPage) -> Data | None:
    """Return one table of parameters per session and condition; None if the subject has no cycles."""
    tables = parameter_tables(page.tables["parameters"], page.names, page.means)
    return {"parameters": tables, "errors": len(page.means) > 0} if tables else None


def parameter_tables(means: pd.DataFrame, names: DisplayNames, errors: pd.DataFrame) -> list[tuple[str, Table]]:
    """Return one table per session and condition with mean ± SD over the cycles of each side.

    `errors`: session_means.csv of one person, with MDC95; may be empty.
    """
    tables = []
    detectable = _detectable_changes(errors)
    for (session, condition), rows in iterate_groups(means, "session", "condition"):
        by_name: dict[str, dict[str, Any]] = {}
        for row in iterate_rows(rows):
            by_name.setdefault(row.parameter, {})[row.side] = row
        cells = []
        for name, sides in by_name.items():
            title, of = names.parameters.get(name, (name, ""))
            texts = [
                f"{mean_sd_text(sides[side].mean, sides[side].sd, of)} ({sides[side].cycles:.0f})"
                if side in sides
                else "–"
                for side in SIDES
            ]
            least = [number_text(detectable.get((session, condition, side, name), np.nan), of) for side in SIDES]
            cells.append((title, unit_label(of), *texts, *least))
        title = ", ".join(filter(None, (session, condition))) or "All cycles"
        heads = [*(f"#{side_label(side)}" for side in SIDES), *(f"#MDC95 {side_label(side)}" for side in SIDES)]
        tables.append((title, make_table(("parameter", "unit", *heads), cells)))
    return tables


def _detectable_changes(errors: pd.DataFrame) -> dict[tuple[str, str, str, str], float]:
    """Return the MDC95 by session, condition, side and parameter."""
    if not len(errors):
        return {}
    parameter_errors = errors[errors["kind"] == PARAMETER]
    return {(r.session, r.condition, r.side, r.name): float(r.mdc95) for r in iterate_rows(parameter_errors)}


@SUBJECT_SECTIONS.section("norms", place=35, title="Against norms", link="Norms")
def norms_section(page: SubjectPage) -> Data | None:
    """Return one table of comparisons with norms per session and condition; None without cycles or data on the person."""
    norm_tables = norm_comparisons(page)
    return {"parts": norm_tables} if norm_tables else None


def norm_comparisons(page: SubjectPage) -> list[dict[str, Any]]:
    """Return title, reason for the choice of norms, table and sources of every session and condition."""
    if page.data is None or page.norm_covariates is None:
        return []
    parts = []
    heads = ("parameter", "unit", "#right", "#left", "#norm (95 % range)", "norm of")
    for key, sides in _group_rows_by_side(page.data, 2).items():
        strides, curves = _means_by_side(page.data, sides)
        speeds = [values.get("speed_m_s", np.nan) for values in strides.values()]
        activity = _condition_activity(page, key[0], key[1]) or page.norm_covariates.activity
        covariates = replace(page.norm_covariates, speed_m_s=float(np.mean(speeds)), activity=activity)
        choice = choose_norms(page.norm_setting, covariates)
        numbers = norm_rows(strides, curves, covariates, choice.norms)
        cells = [(n.title, n.unit_text, n.text("r"), n.text("l"), n.norm_text, n.source) for n in numbers]
        parts.append(
            {
                "title": ", ".join(filter(None, key)) or "All cycles",
                "reasons": choice.reasons,
                "rows": make_table(heads, cells),
                "sources": [
                    f"{norms.description}: {norms.citation}. Licence: {norms.licence}." for norms in choice.norms
                ],
            }
        )
    return parts


def _condition_activity(page: SubjectPage, session: str, condition: str) -> str:
    """Return the activity in the trials of a condition; "" if it differs or is unknown."""
    trials = [t for t in page.trials if t.has_result and (t.session, t.condition) == (session, condition)]
    activities = {trial.metrics.get("activity", "") for trial in trials if not trial.excluded}
    return activities.pop() if len(activities) == 1 else ""


def _means_by_side(
    data: SubjectCycles, sides: Mapping[str, np.ndarray]
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, FloatArray]]]:
    """Return mean stride parameters by side, and mean curves in the clinical sign by variable and side."""
    strides: dict[str, dict[str, float]] = {}
    curves: dict[str, dict[str, FloatArray]] = {}
    for side, rows in sides.items():
        strides[side] = {name: float(mean_and_sd(data.stride(name)[rows])[0]) for name in data.stride_columns}
        means = mean_and_sd(data.values[rows])[0]
        for name, mean in zip(data.variables, means, strict=True):
            curves.setdefault(name, {})[side] = variable(name).clinical_factor(side) * mean
    return strides, curves


@SUBJECT_SECTIONS.section("symmetry", place=40, title="Symmetry", link="Symmetry")
def symmetry_section(page: SubjectPage) -> Data | None:
    """Return the table of right and left values of parameters and curves; None if it is empty."""
    content = symmetry_table(page.tables["symmetry"], page.names)
    return {"symmetry": content} if content else None


def symmetry_table(symmetry: pd.DataFrame, names: DisplayNames) -> Table:
    """Return the comparison of right and left for every session and condition."""
    rows = [
        (
            names.title(r["name"]) + (", curve" if r["kind"] == "curve" else ""), r["session"], r["condition"],
            unit_label(r["unit"]), number_text(r["right"], r["unit"]), number_text(r["left"], r["unit"]),
            number_text(r["difference"], r["unit"]), number_text(r["symmetry_index"], "%"), number_text(r["symmetry_angle"], "%"),
        )
        for r in symmetry.to_dict("records")
    ]  # fmt: skip
    heads = ("parameter or curve", "session", "condition", "unit", "#right", "#left", "#right − left",
             "#symmetry index (%)", "#symmetry angle (%)")  # fmt: skip
    return make_table(heads, rows)


@SUBJECT_SECTIONS.section(
    "scores", place=38, title="Movement Analysis Profile and Gait Profile Score", link="Gait scores"
)
def scores_section(page: SubjectPage) -> Data | None:
    """Return the gait scores by session, condition and side; None if there are none."""
    content = score_table(page.tables["gait_scores"], page.names, of_one=True)
    if not content:
        return None
    figures = {"profile": render_svg(score_profile_figure(page))}
    errors = score_error_table(page.means)
    return {
        "scores": content,
        "notes": page.score_notes,
        "figures": figures,
        "errors": errors,
        "mean_notes": page.mean_notes,
    }


def score_profile_figure(page: SubjectPage) -> Figure:
    """Return the figure of the gait scores as bars, with one panel per condition."""
    scores = page.tables["gait_scores"]
    cells = list(dict.fromkeys(zip(scores["condition"], scores["group"], strict=True)))
    return profile_figure(scores, cells, page.names, page.means)


def score_error_table(means: pd.DataFrame) -> Table:
    """Return the mean scores over the walks of a session with SEM and MDC95; empty for a single walk."""
    if not len(means):
        return make_table((), ())
    scores = means[(means["kind"] == SCORE) & means["sem"].notna()]
    rows = [
        (r.title, r.session, r.condition, "both" if r.side == BOTH_SIDES else side_label(r.side), f"{r.walks:.0f}",
         number_text(r.mean, "deg"), number_text(r.sem), number_text(r.mdc95))
        for r in iterate_rows(scores)
    ]  # fmt: skip
    heads = ("score", "session", "condition", "side", "#walks", "#score (degrees or points)", "#SEM", "#MDC95")
    return make_table(heads, rows)
