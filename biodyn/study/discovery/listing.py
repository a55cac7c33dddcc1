"""A plan as people read it before a study runs: a table of trials, and the files left out with their reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from biodyn.errors import printable
from biodyn.study.plan import PlannedTrial, StudyPlan

_HEADINGS = ("subject", "session", "condition", "group", "site", "trial", "static", "mass")
_ALWAYS = ("subject", "trial", "static", "mass")
_WIDEST = 48
_MEASURED = "-"


def plan_lines(plan: StudyPlan) -> list[str]:
    """Return the plan as lines of text: counts, the table of trials, then every file that becomes none."""
    lines = [_counts(plan), ""]
    stored = {file.path: file.mass_kg for file in plan.files}
    rows = [_row(trial, stored.get(trial.path)) for trial in plan.trials]
    shown = [i for i, name in enumerate(_HEADINGS) if name in _ALWAYS or any(row[i] for row in rows)]
    widths = {i: min(_WIDEST, max(len(text) for text in (_HEADINGS[i], *(row[i] for row in rows)))) for i in shown}
    for row in (_HEADINGS, *rows) if rows else ():
        lines.append("  ".join(row[i].ljust(widths[i]) for i in shown).rstrip())
    searched = any(trial.static is None and not trial.statics for trial in plan.trials)
    lines += ["", "searched when run: the analysis looks for a static trial beside the walk."] if searched else []
    if any(trial.statics for trial in plan.trials):
        lines += [
            "",
            "one of several: the walk's stored joint offsets and marker distances decide when it is analysed.",
        ]
    if any(row[-1] == _MEASURED for row in rows):
        lines.append(f"mass {_MEASURED}: stored in the static trial, else measured on the plates.")
    for role, title in (
        ("unreadable", "cannot be read, and will fail as trials"),
        ("static", "static trials"),
        ("functional", "functional trials"),
        ("other", "left out"),
        ("excluded", "left out by study.toml"),
    ):
        entries = [file for file in plan.files if file.role == role]
        if entries:
            lines += ["", f"{title} ({len(entries)}):"]
            lines += [f"  {printable(str(file.path))}: {printable(file.reason)}" for file in entries]
    return lines


def _counts(plan: StudyPlan) -> str:
    subjects = {trial.subject for trial in plan.trials}
    sessions = {(trial.subject, trial.session) for trial in plan.trials if trial.session}
    conditions = {trial.condition for trial in plan.trials if trial.condition}
    roles = Counter(file.role for file in plan.files)
    searched = sum(trial.static is None for trial in plan.trials)
    parts = [
        _many(len(plan.files), "C3D file" if all(f.path.suffix.lower() == ".c3d" for f in plan.files) else "recording"),
        _many(len(plan.trials), "trial"),
        _many(len(subjects), "subject"),
        *([_many(len(sessions), "session")] if sessions else []),
        *([_many(len(conditions), "condition")] if conditions else []),
        _many(roles["static"], "static trial"),
        *([_many(roles["functional"], "functional trial")] if roles["functional"] else []),
        f"{roles['other'] + roles['excluded']} left out",
        *([f"{roles['unreadable']} cannot be read"] if roles["unreadable"] else []),
        *([f"static trial searched when run for {searched}"] if searched else []),
    ]
    return f"Study {printable(plan.name)}: {', '.join(parts)}."


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _row(trial: PlannedTrial, stored_kg: float | None) -> Sequence[str]:
    static = f"one of {len(trial.statics)}" if trial.statics else "searched when run"
    static = static if trial.static is None else printable(str(trial.static))
    mass_kg = stored_kg if trial.mass_kg is None else trial.mass_kg
    mass = _MEASURED if mass_kg is None else f"{mass_kg:.1f} kg{'' if trial.mass_kg is None else ' (given)'}"
    return (trial.subject, trial.session, trial.condition, trial.group, trial.site, trial.trial, static, mass)
