"""Sections on the trials of a study: failures, warnings, quality, subjects and trials, unused files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from biodyn.checks.estimators.residual import FORCE_SHARE, MOMENT_SHARE
from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.output.report.page import Data
from biodyn.study.report.aggregation import RunFacts, group_exclusions
from biodyn.study.report.aggregation import group_failures as failed_groups
from biodyn.study.report.figures import quality_figure
from biodyn.study.report.pages import STUDY_SECTIONS, StudyPage
from biodyn.study.report.report_inputs import MISSING, Table, Trial, html_link, make_table, number_text, subject_link


@STUDY_SECTIONS.section("failures", place=10, link="Failures")
def failures_section(page: StudyPage) -> Data:
    """Return the content of the section on failed trials, grouped by reason."""
    max_unfolded = 40  # number of failures that are shown unfolded
    trials = page.source.trials
    groups = failed_groups(trials)
    any_fail = any(trial.status == "fail" for trial in trials)
    return {
        "title": "Failed trials" if groups else "Every trial has a result" if any_fail else "Nothing failed",
        "groups": groups,
        "failed_count": sum(len(group.trials) for group in groups),
        "few": max_unfolded,
        "exclusions": group_exclusions(trials),
    }


@STUDY_SECTIONS.section("warnings", place=132, link="Warnings")
def warnings_section(page: StudyPage) -> Data:
    """Return the findings of all trials, sorted by severity and number of trials."""
    findings = page.findings.with_severity("error", "warning")
    return {
        "title": "Warnings" if findings else "No warnings",
        "found": findings,
        "infos": page.findings.with_severity("info"),
        "doubts": [
            {**d, "message": page.names.replace_identifiers(d["message"])} for d in page.source.record["diagnostics"]
        ],
        "any_result": bool(page.facts.variants),
    }


#: Columns of summary.csv on data quality, with title and unit.
MEASURES = (
    ("marker_rms_mm", "marker tracking error, RMS", "mm"),
    ("residual_force_rms_percent_of_limit", "pelvis residual force, RMS", "% of its limit"),
    ("residual_moment_rms_percent_of_limit", "pelvis residual moment, RMS", "% of its limit"),
)


@STUDY_SECTIONS.section("quality", place=133, title="Quality over all trials", link="Quality")
def quality_section(page: StudyPage) -> Data | None:
    """Return the quality figure, its limits and the worst trials; None if no trial has a result."""
    if not page.facts.variants:
        return None
    trials = page.source.trials
    marker_limit_mm = 1000.0 * float(page.facts.common_settings.settings["limits"]["marker_rms_m"])
    return {
        "figures": {"quality": quality_figure(trials, marker_limit_mm)},
        "limits": limit_source_text(page.facts),
        "worst": worst_trials(trials),
    }


def limit_source_text(facts: RunFacts) -> str:
    """Return a sentence with the limits drawn in the quality figure and their sources."""
    limits = facts.common_settings.settings["limits"]
    return (
        f"Limits: marker tracking error {1000 * limits['marker_rms_m']:.0f} mm (OpenSim checklist; Hicks et al. 2015); "
        f"residual force {100 * FORCE_SHARE:.0f} % of the peak ground force, residual moment "
        f"{100 * MOMENT_SHARE:.0f} % of peak ground force times height of the centre of mass "
        "(Hicks et al. 2015, doi 10.1115/1.4029304), both increased by the uncertainty of body tables and markers (docs/methods.md). "
        "Settings: limits."
    )


def worst_trials(trials: Sequence[Trial]) -> Table:
    """Return a table of the trials with the largest value of each quality measure."""
    max_scenes = 5
    rows = []
    done = [trial for trial in trials if trial.has_result]
    for name, words, unit in MEASURES:
        known = [(trial.metric(name), trial) for trial in done if np.isfinite(trial.metric(name))]
        known.sort(key=lambda pair: -pair[0])
        for rank, (value, trial) in enumerate(known[:max_scenes]):
            rows.append((
                words if rank == 0 else "", html_link(trial.report or trial.link, f"{trial.subject}, {trial.trial}"), trial.session_and_condition, number_text(value, "%"),
                unit.replace(" ", "\u00a0"), trial.metrics.get("marker_worst", "") if name == "marker_rms_mm" else "",
            ))  # fmt: skip
    return make_table(("measure", "trial", "session, condition", "#value", "unit", "worst marker"), rows)


@STUDY_SECTIONS.section("subjects", place=134, title="Subjects and trials", link="Subjects")
def subjects_section(page: StudyPage) -> Data:
    """Return the tables of subjects and trials."""
    return {"subjects": subject_table(page.source.subjects), "trials": trial_table(page.source.trials)}


def subject_table(subjects: Mapping[str, Sequence[Trial]]) -> Table:
    """Return a table of the subjects with links to their pages; it has a column of sites if the study has several."""
    several_sites = len({trial.site for trials in subjects.values() for trial in trials}) > 1
    rows = []
    for subject, trials in subjects.items():
        done = [trial for trial in trials if trial.has_result]
        cycles = sum(trial.metric(f"cycles_{SIDE_NAMES[side]}") for trial in done for side in SIDES)
        conditions = ", ".join(dict.fromkeys(trial.condition for trial in trials if trial.condition))
        first = done[0] if done else trials[0]
        rows.append((
            html_link(subject_link(subject), subject), *([first.site] if several_sites else []), first.group, conditions, str(len(trials)), str(len(done)), f"{cycles:.0f}",
            number_text(first.metric("subject_mass_kg"), "%"), number_text(first.metric("subject_height_m")),
        ))  # fmt: skip
    heads = ("group", "conditions", "#trials", "#analysed", "#cycles", "#mass (kg)", "#height (m)")
    return make_table(("subject", *(["site"] if several_sites else []), *heads), rows)


def trial_table(trials: Sequence[Trial]) -> Table:
    """Return a table of all trials with their outcome and quality measures."""
    rows = [
        (
            html_link(trial.link, trial.subject), trial.trial, trial.session, trial.condition, trial.group, trial.status,
            *_quality_cells(trial),
        )
        for trial in trials
    ]  # fmt: skip
    heads = [f"#{head}" for head, _ in _quality_columns()]
    return make_table(("subject", "trial", "session", "condition", "group", "outcome", *heads), rows)


def _quality_columns() -> list[tuple[str, str]]:
    columns = [(words if "%" not in unit else f"{words} (%)", name) for name, words, unit in MEASURES]
    columns[0] = ("marker tracking error, RMS (mm)", columns[0][1])
    columns += [("contacts used", "contacts_assigned"), ("ambiguous", "contacts_ambiguous")]
    for kind, words in (("cycles", "cycles"), ("kinetic_cycles", "with moments")):
        columns += [(f"{words} {SIDE_NAMES[side][0].upper()}", f"{kind}_{SIDE_NAMES[side]}") for side in SIDES]
    return [*columns, ("speed (m/s)", "speed_m_s")]


def _quality_cells(trial: Trial) -> list[str]:
    cells = []
    for _, name in _quality_columns():
        value = trial.metric(name)
        if not np.isfinite(value):
            cells.append(MISSING)
        elif name.startswith(("contacts", "cycles", "kinetic")):
            cells.append(f"{value:.0f}")
        else:
            cells.append(number_text(value, "" if name == "speed_m_s" else "%"))
    return cells


@STUDY_SECTIONS.section("left-out", place=135, title="Files left out", link="Left out")
def unused_files_section(page: StudyPage) -> Data | None:
    """Return the unused recordings grouped by role and reason; None if every recording is used."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for file in page.source.record["files"]:
        if file["role"] in ("functional", "other", "excluded"):
            grouped.setdefault((file["role"], file["reason"]), []).append(file["path"])
    groups = [{"role": role, "reason": reason, "paths": paths} for (role, reason), paths in grouped.items()]
    return {"groups": groups} if groups else None
