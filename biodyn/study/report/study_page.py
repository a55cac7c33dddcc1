"""report.html: what happened, what failed, what can be trusted, what was found, how it was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from markupsafe import Markup

from biodyn.output.report.page import page_environment, resource
from biodyn.output.store.old_words import OLD_TRIAL_STATUS
from biodyn.study.group.options import AnalysisOptions
from biodyn.study.group.statistics.gait_scores import score_variables
from biodyn.study.report import quality, sections
from biodyn.study.report.bar_figures import profile_figure, quality_figure
from biodyn.study.report.curve_figures import Norm, View, display_figures, group_figure, views
from biodyn.study.report.findings import Findings, exclusions, failures, outcome
from biodyn.study.report.means import CurveMeans, over_subjects
from biodyn.study.report.methods import PACKAGE, RunFacts, report_table, study_methods
from biodyn.study.report.source import StudySource, subject_link
from biodyn.study.report.words import Names

_MOST_VIEWS = 8  # comparisons drawn; more are in the tables
_FEW = 40  # failures that are shown without unfolding


@dataclass(frozen=True)
class Gathered:
    """What went through the trials and subjects once: findings, facts of the runs, means, group tables by name."""

    findings: Findings
    facts: RunFacts
    curves: CurveMeans
    parameters: pd.DataFrame
    tables: dict[str, pd.DataFrame]
    norms: tuple[Norm, ...]
    names: Names


def study_page(source: StudySource, found: Gathered) -> str:
    """Return the page of the whole study."""
    options = AnalysisOptions.model_validate(source.group["options"])
    trials = source.trials
    failed = failures(trials)
    cells = found.curves.cells
    return (
        page_environment(PACKAGE)
        .get_template("study.html.j2")
        .render(
            name=source.record["name"],
            program=source.record["program"],
            sentence=outcome(trials),
            head=_head(source, found),
            failures=failed,
            exclusions=exclusions(trials),
            any_fail=any(OLD_TRIAL_STATUS.get(trial.status, trial.status) == "fail" for trial in trials),
            few=_FEW,
            failed_count=sum(len(group.trials) for group in failed),
            warnings=found.findings.of("error", "warning"),
            infos=found.findings.of("info"),
            doubts=[_spoken(d, found.names) for d in source.record["diagnostics"]],
            quality=_quality(source, found),
            subjects=quality.subject_table(
                list(source.subjects.items()), [subject_link(subject) for subject in source.subjects]
            ),
            trials=quality.trial_table(trials),
            left_out=_left_out(source),
            notes=lambda *names: [found.names.spoken(note) for note in source.notes(*names)],
            views=_views(found, cells, options.alpha),
            many_views=max(len(views(cells, found.tables["spm"])) - _MOST_VIEWS, 0),
            parameters=_parameters(found, options),
            comparisons=sections.comparison_sections(found.tables["comparisons"], found.names, options.alpha),
            mixed=sections.mixed_tables(found.tables["mixed_models"], found.names, options.alpha),
            symmetry=_symmetry(found, options),
            repeatability=_repeatability(found, options),
            scores=_scores(found),
            outliers=sections.outlier_table(found.tables["cycles"]),
            alpha=options.alpha,
            methods=study_methods(source, found.facts),
            versions=found.facts.versions,
            files=_files(source),
            style=resource("style.css") + resource("study.css", PACKAGE),
            script=resource("sorting.js", PACKAGE),
        )
    )


def _spoken(finding: dict[str, Any], names: Names) -> dict[str, Any]:
    return {**finding, "message": names.spoken(finding["message"])}


def _head(source: StudySource, found: Gathered) -> list[tuple[str, str]]:
    trials = source.trials
    rows = [
        ("Subjects", str(len(source.subjects))),
        ("Trials", f"{sum(t.done for t in trials)} of {len(trials)} analysed"),
    ]
    for label, values in (
        ("Groups", [t.group for t in trials]), ("Conditions", [t.condition for t in trials]),
        ("Sessions", [t.session for t in trials]),
    ):  # fmt: skip
        words = list(dict.fromkeys(value for value in values if value))
        if words:
            rows.append((label, ", ".join(words)))
    cycles = found.tables["cycles"]
    if len(cycles):
        rows.append(("Cycles", f"{len(cycles):,}"))
    return rows


def _quality(source: StudySource, found: Gathered) -> dict[str, Any] | None:
    if not found.facts.variants:
        return None
    return {
        "figure": quality_figure(source.trials, quality.limits_of(found.facts)),
        "limits": quality.limit_sources(found.facts),
        "worst": quality.worst_trials(source.trials),
    }


def _left_out(source: StudySource) -> list[dict[str, Any]]:
    """Files that are no trials, grouped by role and reason."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for file in source.record["files"]:
        if file["role"] in ("other", "excluded"):
            grouped.setdefault((file["role"], file["reason"]), []).append(file["path"])
    return [{"role": role, "reason": reason, "paths": paths} for (role, reason), paths in grouped.items()]


def _views(found: Gathered, cells: list[tuple[str, str]], alpha: float) -> list[dict[str, Any]]:
    drawn = []
    for view in views(cells, found.tables["spm"])[:_MOST_VIEWS] if cells else ():
        drawn.append(
            {
                "title": view.title,
                "figures": _figures(found, view),
                "tests": [found.names.spoken(line) for line in sections.test_lines(view)],
                "clusters": sections.cluster_table(view, found.names, alpha),
            }
        )
    return drawn


def _figures(found: Gathered, view: View) -> list[tuple[str, Markup]]:
    return [
        (
            str(one["title"]),
            group_figure(found.curves, view, one["panels"], found.norms, f"{one['title']}, {view.title}"),
        )
        for one in display_figures()
        if any(name in found.curves.units for name in one["panels"])
    ]


def _parameters(found: Gathered, options: AnalysisOptions) -> dict[str, Any]:
    means, cells = over_subjects(found.parameters), found.curves.cells
    shown = [name for name in options.compared_parameters if name in found.names.parameters]
    rest = [name for name in found.names.parameters if name not in shown]
    return {
        "main": sections.parameter_table(means, found.names, shown, cells),
        "rest": sections.parameter_table(means, found.names, rest, cells),
    }


def _symmetry(found: Gathered, options: AnalysisOptions) -> list[sections.Section]:
    own = found.tables["symmetry"]
    made = [
        sections.Section(
            "Parameters", sections.symmetry_table(own, found.names, options.compared_parameters, "parameter")
        ),
        sections.Section("Curves", sections.symmetry_table(own, found.names, None, "curve"), True),
    ]
    return [section for section in made if section.table]


def _repeatability(found: Gathered, options: AnalysisOptions) -> list[sections.Section]:
    own = found.tables["repeatability"]
    made = []
    for level in dict.fromkeys(own["level"]) if len(own) else ():
        for kind, words in (("parameter", "parameters"), ("curve", "curves")):
            shown = options.compared_parameters if kind == "parameter" else None
            part = sections.repeatability_table(own, found.names, shown, kind, level)
            made.append(sections.Section(f"Between {level}: {words}", part, True))
    return [section for section in made if section.table]


def _scores(found: Gathered) -> dict[str, Any] | None:
    own = found.tables["gait_scores"]
    if not len(own):
        return None
    nine = score_variables()
    labels = [*(found.names.title(one.variable) for one in nine), "GPS"]
    columns = [*(f"gvs_{one.name}" for one in nine), "gps"]
    return {
        "figure": profile_figure(own, found.curves.cells, found.names),
        "table": sections.score_table(own, labels, columns),
    }


def _files(source: StudySource) -> list[tuple[str, str]]:
    listed = []
    for entry in report_table()["file"]:
        if entry["name"] in ("report.html", "subjects") or (source.out / entry["name"]).exists():
            listed.append((entry.get("shown", entry["name"]), entry["text"]))
    return listed
