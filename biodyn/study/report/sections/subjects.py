"""Every subject with its page, every trial with its quality."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.output.report.page import Data
from biodyn.study.report.sections.quality import MEASURES
from biodyn.study.report.source import Trial, subject_link
from biodyn.study.report.study_page import SECTIONS, StudyPage
from biodyn.study.report.table import Table, link, table
from biodyn.study.report.words import MISSING, number

_TEMPLATE = """
{% if subjects.rows | length > 15 %}{{ folded("Subjects", subjects) }}{% else %}{{ table(subjects) }}{% endif %}
{{ folded("All trials with their quality", trials) }}
"""


@SECTIONS.section("subjects", place=40, title="Subjects and trials", link="Subjects", template=_TEMPLATE)
def subjects(page: StudyPage) -> Data:
    """Both tables."""
    found = page.source.subjects
    return {
        "subjects": subject_table(list(found.items()), [subject_link(subject) for subject in found]),
        "trials": trial_table(page.source.trials),
    }


def subject_table(subjects: Sequence[tuple[str, Sequence[Trial]]], address: Sequence[str]) -> Table:
    """Every subject with its page, and the laboratory where there are several."""
    several_sites = len({trial.site for _, trials in subjects for trial in trials}) > 1
    rows = []
    for (subject, trials), page in zip(subjects, address, strict=True):
        done = [trial for trial in trials if trial.done]
        cycles = sum(trial.number(f"cycles_{SIDE_NAMES[side]}") for trial in done for side in SIDES)
        conditions = ", ".join(dict.fromkeys(trial.condition for trial in trials if trial.condition))
        first = done[0] if done else trials[0]
        rows.append((
            link(page, subject), *([first.site] if several_sites else []), first.group, conditions, str(len(trials)), str(len(done)), f"{cycles:.0f}",
            number(first.number("subject_mass_kg"), "%"), number(first.number("subject_height_m")),
        ))  # fmt: skip
    heads = (
        "subject",
        *(["site"] if several_sites else []),
        "group",
        "conditions",
        "#trials",
        "#analysed",
        "#cycles",
        "#mass (kg)",
        "#height (m)",
    )
    return table(heads, rows)


def trial_table(trials: Sequence[Trial]) -> Table:
    """Every trial with its outcome and quality."""
    rows = [
        (
            link(trial.link, trial.subject), trial.trial, trial.session, trial.condition, trial.group, trial.status,
            *_numbers(trial),
        )
        for trial in trials
    ]  # fmt: skip
    heads = ("subject", "trial", "session", "condition", "group", "outcome", *(f"#{head}" for head, _ in _columns()))
    return table(heads, rows)


def _columns() -> list[tuple[str, str]]:
    found = [(words if "%" not in unit else f"{words} (%)", name) for name, words, unit in MEASURES]
    found[0] = ("marker tracking error, RMS (mm)", found[0][1])
    found += [("contacts used", "contacts_assigned"), ("ambiguous", "contacts_ambiguous")]
    for kind, words in (("cycles", "cycles"), ("kinetic_cycles", "with moments")):
        found += [(f"{words} {SIDE_NAMES[side][0].upper()}", f"{kind}_{SIDE_NAMES[side]}") for side in SIDES]
    return [*found, ("speed (m/s)", "speed_m_s")]


def _numbers(trial: Trial) -> list[str]:
    found = []
    for _, name in _columns():
        value = trial.number(name)
        if not np.isfinite(value):
            found.append(MISSING)
        elif name.startswith(("contacts", "cycles", "kinetic")):
            found.append(f"{value:.0f}")
        else:
            found.append(number(value, "" if name == "speed_m_s" else "%"))
    return found
