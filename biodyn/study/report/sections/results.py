"""Sections with the results of a study: curves and tests, parameters, statistics, gait scores, outliers, methods, files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from biodyn.conventions import SIDES
from biodyn.output.figures.curves import unit_label
from biodyn.output.figures.svg import render_svg
from biodyn.output.report.page import Data
from biodyn.study.group.group_data import MEAN_OF_SIDES
from biodyn.study.group.statistics.gait_scores import score_variables
from biodyn.study.report.aggregation import Cell, load_report_table, means_over_subjects, study_methods_text
from biodyn.study.report.figures import (
    TEST_KEY,
    ComparisonView,
    cell_label,
    display_figures,
    group_figure,
    profile_figure,
    test_letters,
)
from biodyn.study.report.pages import STUDY_SECTIONS, StudyPage
from biodyn.study.report.report_inputs import (
    MISSING,
    DisplayNames,
    Table,
    TitledTable,
    Value,
    comparison_text,
    condition_labels,
    html_link,
    iterate_groups,
    iterate_rows,
    level_label,
    make_table,
    mean_sd_text,
    number_text,
    p_value_text,
    side_label,
    subject_link,
)
from biodyn.variables import variable


def _section_data(page: StudyPage, name: str, **values: Any) -> Data | None:
    """Return the values of a section of the page, with the notes on `name`.

    None if the study has no curves, or if there are neither values nor notes. A section that has only notes is not in the
    navigation.
    """
    has_values = any(values.values())
    if not page.views or not (has_values or page.notes(name)):
        return None
    return values if has_values else {**values, "link": ""}


@STUDY_SECTIONS.section("mixed", place=80, title="Mixed models", link="Mixed models")
def mixed_model_section(page: StudyPage) -> Data | None:
    """Return the tables of effects and coefficients of the mixed models; None as for `_section_data`."""
    effects, coefficients = mixed_model_tables(page.table("mixed_models"), page.names, page.options.alpha)
    return _section_data(page, "mixed_models", effects=effects, coefficients=coefficients)


def mixed_model_tables(models: pd.DataFrame, names: DisplayNames, alpha: float) -> tuple[Table, Table]:
    """Return the tables of effects (tests) and of coefficients of the mixed models."""
    if not len(models):
        return make_table((), ()), make_table((), ())
    effects = models[models["kind"] == "effect"]
    strong = [i for i, p in enumerate(effects["p_adjusted"]) if p < alpha]
    tests = make_table(
        ("parameter", "effect", "#F", "#degrees of freedom", "#p", "#p corrected", "#between subjects, SD",
         "#within, SD", "unit", "#values"),
        [
            (
                names.title(r.parameter), r.term.replace(":", " × "), number_text(r.statistic), f"{r.df1:g}, {r.df2:.3g}", p_value_text(r.p),
                p_value_text(r.p_adjusted), number_text(r.subject_sd, r.unit), number_text(r.residual_sd, r.unit), unit_label(r.unit),
                f"{r.observations:.0f}",
            )
            for r in iterate_rows(effects)
        ],
        strong,
    )  # fmt: skip
    terms = make_table(
        ("parameter", "term", "unit", "#estimate", "#confidence interval", "#p"),
        [
            (
                names.title(r.parameter), r.term.replace(":", " × "), unit_label(r.unit), number_text(r.estimate, r.unit),
                f"{number_text(r.low, r.unit)} to {number_text(r.high, r.unit)}", p_value_text(r.p),
            )
            for r in iterate_rows(models[models["kind"] != "effect"])
        ],
    )  # fmt: skip
    return tests, terms


@STUDY_SECTIONS.section("symmetry", place=90, title="Symmetry", link="Symmetry")
def symmetry_section(page: StudyPage) -> Data | None:
    """Return tables of the symmetry of the parameters and of the curves; None as for `_section_data`."""
    rows, names = page.table("symmetry"), page.names
    made = [
        ("Parameters", symmetry_table(rows, names, page.options.compared_parameters, "parameter")),
        ("Curves", symmetry_table(rows, names, None, "curve")),
    ]
    return _section_data(page, "symmetry", tables=[entry for entry in made if entry[1]])


def symmetry_table(symmetry: pd.DataFrame, names: DisplayNames, shown: Sequence[str] | None, kind: str) -> Table:
    """Return the means over subjects of the symmetry of parameters or curves, by condition and group."""
    if not len(symmetry):
        return make_table((), ())
    rows_of_kind = symmetry[symmetry["kind"] == kind]
    if shown is not None:
        rows_of_kind = rows_of_kind[rows_of_kind["name"].isin(shown)]
    rows = []
    condition_of = condition_labels(rows_of_kind)
    keys = ["name", "condition", "group", "unit"]
    numbers = ["right", "left", "difference", "symmetry_index"]
    cells = rows_of_kind.groupby([*keys, "subject"], sort=False)[numbers].mean().groupby(keys, sort=False)
    means, spreads, subjects = cells.mean().to_dict("records"), cells.std().to_dict("records"), cells.size()
    for (name, condition, group, unit), mean, sd, count in zip(subjects.index, means, spreads, subjects, strict=True):
        rows.append((
            names.title(name), condition_of[condition], group, unit_label(unit), mean_sd_text(mean["right"], sd["right"], unit),
            mean_sd_text(mean["left"], sd["left"], unit), mean_sd_text(mean["difference"], sd["difference"], unit),
            mean_sd_text(mean["symmetry_index"], sd["symmetry_index"], "%"), str(count),
        ))  # fmt: skip
    difference = "#right − left" if kind == "parameter" else "#right − left, RMS over the cycle"
    heads = (kind, "condition", "group", "unit", "#right", "#left", difference, "#symmetry index (%)", "#subjects")
    return make_table(heads, rows)


@STUDY_SECTIONS.section("repeatability", place=100, title="Repeatability", link="Repeatability")
def repeatability_section(page: StudyPage) -> Data | None:
    """Return tables of the repeatability of parameters and curves within and between sessions; None as for `_section_data`."""
    rows = page.table("repeatability")
    made = []
    for level in dict.fromkeys(rows["level"]) if len(rows) else ():
        for kind, words in (("parameter", "parameters"), ("curve", "curves")):
            shown = page.options.compared_parameters if kind == "parameter" else None
            part = repeatability_table(rows, page.names, shown, kind, level)
            made.append((f"Between {level}: {words}", part))
    return _section_data(page, "repeatability", tables=[entry for entry in made if entry[1]])


def repeatability_table(
    values: pd.DataFrame, names: DisplayNames, shown: Sequence[str] | None, kind: str, level: str
) -> Table:
    """Return SEM, MDC, CMC and ICC of parameters or curves, within or between sessions."""
    if not len(values):
        return make_table((), ())
    selected = values[(values["kind"] == kind) & (values["level"] == level)]
    condition_of = condition_labels(values)
    if shown is not None:
        selected = selected[selected["name"].isin(shown)]
    heads = (kind, "condition", "side", "unit", "#mean", "#SD", "#SEM", "#MDC95", "#CMC", "#ICC(2,1)", "#95 % interval",
             "#ICC(3,1)", "#subjects", "#measurements")  # fmt: skip
    rows = [
        (
            names.title(r.name), condition_of[r.condition], side_label(r.side), unit_label(r.unit), number_text(r.mean, r.unit),
            number_text(r.sd, r.unit), number_text(r.sem, r.unit), number_text(r.mdc95, r.unit), number_text(r.cmc), number_text(r.icc_2_1),
            f"{number_text(r.icc_2_1_low)} to {number_text(r.icc_2_1_high)}" if np.isfinite(r.icc_2_1) else "", number_text(r.icc_3_1),
            _count_text(r.subjects), _count_text(r.measurements),
        )
        for r in iterate_rows(selected)
    ]  # fmt: skip
    return make_table(heads, rows)


def _count_text(count: float) -> str:
    """Return a count as text; a dash if it is unknown."""
    return f"{count:.0f}" if np.isfinite(count) else MISSING


@STUDY_SECTIONS.section("further", place=125, title="Further statistics", link="Further")
def further_statistics_section(page: StudyPage) -> Data | None:
    """Return a table for each file in group/ that no other section shows; None without such a file."""
    known = {entry["name"] for entry in load_report_table()["file"]}
    written = [str(name) for name in page.source.group.get("files", ()) if f"group/{name}" not in known]
    names = [name.removesuffix(".csv") for name in written if name.endswith(".csv")]
    tables = [(name, name.replace("_", " ").capitalize(), data_frame_table(page.table(name))) for name in names]
    found = [entry for entry in tables if entry[2]]
    return {"tables": found} if found else None


def data_frame_table(frame: pd.DataFrame) -> Table:
    """Return the first rows of a table, with three digits per number."""
    max_rows = 200  # largest number of shown rows
    numeric = {name: pd.api.types.is_numeric_dtype(column) for name, column in frame.items()}
    heads = [f"#{name}" if numeric[name] else str(name) for name in frame]
    rows = [
        [_cell_text(value, numeric[name]) for name, value in zip(frame, row, strict=True)]
        for row in frame.head(max_rows).itertuples(index=False, name=None)
    ]
    return make_table(heads, rows)


def _cell_text(value: object, is_number: bool) -> str:
    if value is None or pd.isna(value):  # type: ignore[call-overload]
        return "–"
    return f"{value:.3g}" if is_number else str(value)


@STUDY_SECTIONS.section("methods", place=140, title="Methods", link="Methods", css="new-page")
def methods_section(page: StudyPage) -> Data | None:
    """Return the methods text generated from the records of the trials; None if no trial has a result."""
    written = study_methods_text(page.source, page.facts)
    return None if written is None else {"methods": written, "versions": page.facts.versions}


@STUDY_SECTIONS.section("files", place=150, title="Files", link="Files")
def files_section(page: StudyPage) -> Data:
    """Return the names and descriptions of the files in the output folder."""
    written = ("report.html",) if page.source.is_single_session else ("report.html", "subjects")
    listed = []
    for entry in load_report_table()["file"]:
        if entry["name"] in written or (page.source.out / entry["name"]).exists():
            listed.append((entry.get("shown", entry["name"]), entry["text"]))
    return {"files": listed}


@STUDY_SECTIONS.section("results", place=130, title="No results")
def no_results_section(page: StudyPage) -> Data | None:
    """Return the section of a study without cycles; None if there are curves."""
    return None if page.views else {}


@STUDY_SECTIONS.section("curves", place=60, title="Curves over the gait cycle", link="Curves", css="new-page")
def curves_section(page: StudyPage) -> Data | None:
    """Return the figures, tests and clusters of every comparison of curves; None if the study has no curves."""
    max_views = 8  # number of drawn comparisons; all are in the tables
    if not page.views:
        return None
    figures: dict[str, Markup] = {}
    drawn: list[dict[str, Any]] = []
    shown = [entry for entry in display_figures() if any(name in page.curves.units for name in entry["panels"])]
    for number_of_view, view in enumerate(page.views[:max_views]):
        for entry in shown:
            alt = f"{entry['title']}, {view.title}"
            figure = group_figure(page.curves, view, entry["panels"], page.norms, alt)
            figures[f"{number_of_view} {entry['title']}"] = render_svg(figure)
        drawn.append(
            {
                "title": view.title,
                "shown": [(entry["title"], f"{number_of_view} {entry['title']}") for entry in shown],
                "tests": [page.names.replace_identifiers(line) for line in test_lines(view)],
                "clusters": cluster_table(view, page.names, page.options.alpha),
            }
        )
    return {"views": drawn, "more": max(len(page.views) - max_views, 0), "figures": figures}


def cluster_table(view: ComparisonView, names: DisplayNames, alpha: float) -> Table:
    """Return the supra-threshold clusters of the curves of a view, with the signs of the figures."""
    tests = view.tests
    if not len(tests):
        return make_table((), ())
    letters = test_letters(tests)
    rows: list[tuple[Value, ...]] = []
    strong: list[int] = []
    for r in iterate_rows(tests[tests["start_percent"].notna()]):
        # differences and slopes have a sign, F has not
        sign = 1.0 if "anova" in r.family else variable(r.variable).clinical_factor(SIDES[0])
        if r.p_adjusted < alpha:
            strong.append(len(rows))
        rows.append((
            letters[tuple(getattr(r, name) for name in TEST_KEY)], names.title(r.variable),
            "" if r.side == MEAN_OF_SIDES else side_label(r.side), f"{r.start_percent:.0f} to {r.end_percent:.0f}",
            p_value_text(r.p_cluster), p_value_text(r.p_adjusted), number_text(sign * r.mean_effect, r.unit), unit_label(r.unit),
            number_text(sign * r.peak), number_text(r.threshold), f"{r.subjects:.0f}",
        ))  # fmt: skip
    heads = ("test", "variable", "side", "#% of the cycle", "#p", "#p of the curve, corrected", "#mean effect there",
             "unit", "#peak statistic", "#threshold", "#n")  # fmt: skip
    return make_table(heads, rows, strong)


def test_lines(view: ComparisonView) -> list[str]:
    """Return one line for each comparison: its letter below the panels, the test, and the number of significant curves."""
    if not len(view.tests):
        return []
    rows_shown = []
    letters = test_letters(view.tests)
    for key, rows in iterate_groups(view.tests, *TEST_KEY):
        _, within, comparison, side = key
        curves = rows["variable"].nunique()
        beyond = rows[rows["start_percent"].notna()]["variable"].nunique()
        first = rows.iloc[0]
        where = f" in {within}" if within and first["factor"] == "predictor" else ""
        sides = "" if side == MEAN_OF_SIDES else f", {side_label(side)} side"
        rows_shown.append(
            f"{letters[key]}: {comparison_text(comparison)}{where}{sides} ({first['test']}, n {first['subjects']:.0f}): "
            f"{beyond} of {curves} curves beyond the threshold."
        )
    return rows_shown


@STUDY_SECTIONS.section("parameters", place=70, title="Discrete parameters", link="Parameters", css="new-page")
def parameters_section(page: StudyPage) -> Data | None:
    """Return the means (compared parameters first) and comparisons of the parameters; None if there are none."""
    means, cells = means_over_subjects(page.parameters), page.curves.cells
    shown = [name for name in page.options.compared_parameters if name in page.names.parameters]
    rest = [name for name in page.names.parameters if name not in shown]
    tables = {
        "main": parameter_table(means, page.names, shown, cells),
        "rest": parameter_table(means, page.names, rest, cells),
    }
    if not any(tables.values()):
        return None
    alpha = page.options.alpha
    comparisons = comparison_tables(page.table("comparisons"), page.names, alpha)
    return {**tables, "comparisons": comparisons, "alpha": alpha}


def parameter_table(means: pd.DataFrame, names: DisplayNames, shown: Sequence[str], cells: Sequence[Cell]) -> Table:
    """Return mean ± SD between subjects of each parameter, with one column per condition and group, or per side for one cell."""
    columns = [(cell_label(cell, cells), cell, MEAN_OF_SIDES) for cell in cells]
    if len(cells) == 1:
        columns = [(side_label(side), cells[0], side) for side in (*SIDES, MEAN_OF_SIDES)]
    statistics = {
        (row.parameter, row.condition, row.group, row.side): row
        for row in iterate_rows(means)
        if row.parameter in shown
    }
    rows = []
    for name in shown:
        title, of = names.parameters.get(name, (name, ""))
        values = [statistics.get((name, *cell, side)) for _, cell, side in columns]
        if not any(values):
            continue
        texts = [MISSING if v is None else f"{mean_sd_text(v.mean, v.sd, of)} ({v.subjects:.0f})" for v in values]
        rows.append((title, unit_label(of), *texts))
    return make_table(("parameter", "unit", *(f"#{words}" for words, _, _ in columns)), rows)


def comparison_tables(comparisons: pd.DataFrame, names: DisplayNames, alpha: float) -> list[TitledTable]:
    """Return one table per comparison: means, difference with interval, effect size and p; or F for several levels."""
    if not len(comparisons):
        return []
    sections: list[TitledTable] = []
    for (_, within, comparison, side), rows in iterate_groups(comparisons, "family", "within", "comparison", "side"):
        pair = bool((rows["second"] != "").any())
        first = rows.iloc[0]
        title = f"{first['test'][:1].upper()}{first['test'][1:]}: {comparison_text(comparison)}" + (
            f" ({within})" if within else ""
        )
        title += "" if side == MEAN_OF_SIDES else f", {side_label(side)} side"
        strong = [i for i, p in enumerate(rows["p_adjusted"]) if p < alpha]
        made = _pair_table(rows, names, strong) if pair else _multi_level_table(rows, names, strong)
        sections.append((title, made))
    return sections


def _pair_table(rows: pd.DataFrame, names: DisplayNames, strong: Sequence[int]) -> Table:
    first = rows.iloc[0]
    heads = (
        "parameter", "unit", f"#{level_label(first['first'], 'name')}", f"#{level_label(first['second'], 'name')}",
        "#difference (interval)", f"#{_effect_size_name(first['effect_size'])}", "#p", "#p corrected", "#p of ranks", "#n",
    )  # fmt: skip
    cells = [
        (
            names.title(r.parameter), unit_label(r.unit), mean_sd_text(r.first_mean, r.first_sd, r.unit),
            mean_sd_text(r.second_mean, r.second_sd, r.unit), _interval_text(r), number_text(r.effect), p_value_text(r.p),
            p_value_text(r.p_adjusted), p_value_text(r.rank_p), f"{r.subjects:.0f}",
        )
        for r in iterate_rows(rows)
    ]  # fmt: skip
    return make_table(heads, cells, strong)


def _interval_text(row: Any) -> str:
    low, high = number_text(row.low, row.unit), number_text(row.high, row.unit)
    return f"{number_text(row.difference, row.unit)} ({low} to {high})"


def _multi_level_table(rows: pd.DataFrame, names: DisplayNames, strong: Sequence[int]) -> Table:
    effect = _effect_size_name(rows.iloc[0]["effect_size"])
    heads = ("parameter", "unit", "#F", "#degrees of freedom", f"#effect size ({effect})", "#p", "#p corrected",
             "#p of ranks", "#subjects")  # fmt: skip
    cells = [
        (
            names.title(r.parameter), unit_label(r.unit), number_text(r.statistic), f"{r.df1:g}, {r.df2:.3g}", number_text(r.effect),
            p_value_text(r.p), p_value_text(r.p_adjusted), p_value_text(r.rank_p), f"{r.subjects:.0f}",
        )
        for r in iterate_rows(rows)
    ]  # fmt: skip
    return make_table(heads, cells, strong)


def _effect_size_name(name: object) -> str:
    return {"dz": "Cohen's dz", "g": "Hedges' g"}.get(str(name), str(name) or "none")


@STUDY_SECTIONS.section(
    "scores", place=110, title="Movement Analysis Profile and Gait Profile Score", link="Gait scores", css="new-page"
)
def scores_section(page: StudyPage) -> Data | None:
    """Return the figure of the movement analysis profile and the scores of every subject; None as for `_section_data`."""
    gait_scores = page.table("gait_scores")
    if not page.views or not len(gait_scores):
        return _section_data(page, "gait_scores", scores=None)
    figures = {"profile": render_svg(profile_figure(gait_scores, page.curves.cells, page.names))}
    return {"scores": score_table(gait_scores, page.names), "figures": figures}


def score_table(scores: pd.DataFrame, names: DisplayNames, of_one: bool = False) -> Table:
    """Return the scores of every subject (or of one if `of_one`) by session, condition and side."""
    nine = score_variables()
    labels = [*(names.title(variable) for _, variable, _ in nine), "GPS"]
    columns = [*(f"gvs_{name}" for name, _, _ in nine), "gps"]
    if "gdi" in scores and scores["gdi"].notna().any():
        labels, columns = [*labels, "GDI"], [*columns, "gdi"]
    rows = [
        (
            *(() if of_one else (html_link(subject_link(r["subject"]), r["subject"]), r["group"])), r["session"],
            r["condition"], "both" if r["side"] == "both" else side_label(r["side"]),
            *(number_text(r[column], "deg") for column in columns),
        )
        for r in scores.to_dict("records")
    ]  # fmt: skip
    heads = (*(() if of_one else ("subject", "group")), "session", "condition", "side")
    return make_table((*heads, *(f"#{label}" for label in labels)), rows)


@STUDY_SECTIONS.section("cycles", place=120, title="Representative cycles and outliers", link="Outliers")
def cycles_section(page: StudyPage) -> Data | None:
    """Return the table of outlier cycles; None as for `_section_data`."""
    return _section_data(page, "cycles", outliers=outlier_table(page.table("cycles")))


def outlier_table(cycles: pd.DataFrame) -> Table:
    """Return the outlier cycles of every subject, sorted by decreasing distance."""
    if not len(cycles):
        return make_table((), ())
    odd = cycles[cycles["outlier"]].assign(times=lambda t: t["distance"] / t["limit"])
    odd = odd.sort_values("times", ascending=False, kind="stable")
    rows = [
        (
            html_link(subject_link(r.subject), r.subject), r.session, r.condition, r.trial, side_label(r.side), f"{r.cycle:.0f}",
            f"{r.distance:.3f}", f"{r.limit:.3f}",
        )
        for r in iterate_rows(odd)
    ]  # fmt: skip
    heads = ("subject", "session", "condition", "trial", "side", "#cycle", "#distance to the median cycle", "#limit")
    return make_table(heads, rows)
