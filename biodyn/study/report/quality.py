"""Quality over all trials: the worst by name, every trial in one table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES
from biodyn.study.report.bar_figures import Limits
from biodyn.study.report.methods import RunFacts
from biodyn.study.report.source import Trial
from biodyn.study.report.table import Table, link, table
from biodyn.study.report.words import MISSING, number

_WORST = 5
_MEASURES = (
    ("marker_rms_mm", "marker tracking error, RMS", "mm"),
    ("residual_force_rms_percent_of_limit", "pelvis residual force, RMS", "% of its limit"),
    ("residual_moment_rms_percent_of_limit", "pelvis residual moment, RMS", "% of its limit"),
)


def limits_of(facts: RunFacts) -> Limits:
    """Limits of the settings that most trials ran with."""
    return Limits(1000.0 * float(facts.usual.settings["limits"]["marker_rms_m"]))


def limit_sources(facts: RunFacts) -> str:
    """The limits that are drawn, in words, with their sources."""
    limits = facts.usual.settings["limits"]
    return (
        f"Limits: marker tracking error {1000 * limits['marker_rms_m']:.0f} mm (OpenSim checklist; Hicks et al. 2015); "
        f"residual force {100 * limits['residual_force_fraction']:.0f} % of the peak ground force, residual moment "
        f"{100 * limits['residual_moment_fraction']:.0f} % of peak ground force times height of the centre of mass "
        "(Hicks et al. 2015, doi 10.1115/1.4029304), both widened by what tables and markers cannot know (docs/methods.md). "
        "Settings: limits."
    )


def worst_trials(trials: Sequence[Trial]) -> Table:
    """The trials that fit worst by each measure."""
    rows = []
    done = [trial for trial in trials if trial.done]
    for name, words, unit in _MEASURES:
        known = [(trial.number(name), trial) for trial in done if np.isfinite(trial.number(name))]
        known.sort(key=lambda pair: -pair[0])
        for rank, (value, trial) in enumerate(known[:_WORST]):
            rows.append((
                words if rank == 0 else "", link(trial.link, f"{trial.subject}, {trial.trial}"), trial.place, number(value, "%"),
                unit, trial.metrics.get("marker_worst", "") if name == "marker_rms_mm" else "",
            ))  # fmt: skip
    return table(("measure", "trial", "session, condition", "#value", "unit", "worst marker"), rows)


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
    found = [(words if "%" not in unit else f"{words} (%)", name) for name, words, unit in _MEASURES]
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


def subject_table(subjects: Sequence[tuple[str, Sequence[Trial]]], address: Sequence[str]) -> Table:
    """Every subject with its page."""
    rows = []
    for (subject, trials), page in zip(subjects, address, strict=True):
        done = [trial for trial in trials if trial.done]
        cycles = sum(trial.number(f"cycles_{SIDE_NAMES[side]}") for trial in done for side in SIDES)
        conditions = ", ".join(dict.fromkeys(trial.condition for trial in trials if trial.condition))
        first = done[0] if done else trials[0]
        rows.append((
            link(page, subject), first.group, conditions, str(len(trials)), str(len(done)), f"{cycles:.0f}",
            number(first.number("subject_mass_kg"), "%"), number(first.number("subject_height_m")),
        ))  # fmt: skip
    heads = ("subject", "group", "conditions", "#trials", "#analysed", "#cycles", "#mass (kg)", "#height (m)")
    return table(heads, rows)
