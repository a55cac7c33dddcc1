"""A plan as people read it before a study runs: a table of trials, and the files left out with their reasons."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from biodyn.errors import InputFileError, StudyError, printable
from biodyn.io import read_facts
from biodyn.recording import FileFacts
from biodyn.session.words import plain_text
from biodyn.study.discovery.definition import path_text
from biodyn.study.plan import PlannedTrial, StudyPlan

DEFINITION_NAME = "study.toml"

_HEAD = """\
# What biodyn knows of this study. Entries say something only where names and headers say it wrong or not at all;
# as written, this file changes nothing. A line that begins with # is a comment: remove the # to make it count.
# An entry that matches no file is an error, so nothing is ignored in silence. See docs/studies.md.
"""

_FILES = """\
# Files: patterns of paths below this folder; * within a name, ** across folders.
# include = ["**/Straight/*.c3d"]
# exclude = ["**/old/**"]

# What the parts of a path are, where it is found wrong. Fields: {subject} {session} {condition} {group} {trial} {any}
# layout = "{subject}/{session}/{condition}_{trial}.c3d"
"""

_SETTINGS = """\
# Settings of every trial, over the defaults (docs/settings.md).
# [settings.signals]
# cutoff_hz = 6.0      # a filter for markers and forces, Hz, in place of one estimate of both
# [settings.output]
# figures = true      # a study writes tables only, unless asked
# report = true
# [settings.uncertainty]
# compute = true      # bands of every torque; roughly doubles the time per trial
"""

_REST = """\
# Single trials, by path or pattern; a later entry goes before an earlier one.
# [trials."{example}"]
# exclude = "stumbled"
# condition = "slow"
# static = "{static}"
# mass_kg = 70.0

# [running]
# workers = 2
# time_limit_s = 300.0
# memory_limit_mb = 2048

# [output]
# xlsx = true

# [analysis]
# alpha = 0.05
"""


def write_definition(plan: StudyPlan) -> Path:
    """Write study.toml into the study's folder and return its path. Raises StudyError where one exists already."""
    path = plan.root / DEFINITION_NAME
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(starting_toml(plan))
    except FileExistsError as error:
        raise StudyError(f"'{path}' exists already.", "Edit it, or move it away first.") from error
    except OSError as error:
        raise StudyError(f"'{path}' cannot be written: {error.strerror}.", "Check the permissions.") from error
    return path


def starting_toml(plan: StudyPlan) -> str:
    """Return a commented study.toml that gives the same plan when it is read back."""
    trials = plan.trials
    example = trials[0] if trials else None
    return "\n".join(
        [
            _HEAD,
            f"name = {_quoted(plan.name)}\n",
            _FILES,
            _SETTINGS,
            *_conditions(trials),
            *_groups(trials),
            *_subjects(plan),
            _REST.format(
                example=_inside_quotes(path_text(example.path)) if example else "P01/walk03.c3d",
                static=_inside_quotes(path_text(example.static)) if example and example.static else "P01/static.c3d",
            ),
        ]
    )


def _conditions(trials: Sequence[PlannedTrial]) -> list[str]:
    counts = Counter(trial.condition for trial in trials if trial.condition)
    if not counts:
        return ["# [conditions]          # found condition, or a pattern = its name\n"]
    lines = ["# Found condition, or a pattern = its name; two with one name are one condition.", "[conditions]"]
    lines += [f"{_quoted(name)} = {_quoted(name)}  # {_many(count)}" for name, count in sorted(counts.items())]
    return ["\n".join(lines) + "\n"]


def _groups(trials: Sequence[PlannedTrial]) -> list[str]:
    members: dict[str, list[str]] = {}
    for trial in trials:
        if trial.group and trial.subject not in members.setdefault(trial.group, []):
            members[trial.group].append(trial.subject)
    lines = ["# Subjects of each group, by name or pattern."]
    if members:
        lines += ["[groups]"]
        lines += [f"{_quoted(g)} = [{', '.join(map(_quoted, names))}]" for g, names in sorted(members.items())]
    else:
        subjects = list(dict.fromkeys(trial.subject for trial in trials)) or ["P01", "P02"]
        half = (len(subjects) + 1) // 2
        lines += ["# [groups]"]
        for name, some in (("patients", subjects[:half]), ("controls", subjects[half:])):
            lines += [f"# {name} = [{', '.join(map(_quoted, some))}]"]
    return ["\n".join(lines) + "\n"]


def _subjects(plan: StudyPlan) -> list[str]:
    blocks = []
    for subject in dict.fromkeys(trial.subject for trial in plan.trials):
        own = [trial for trial in plan.trials if trial.subject == subject]
        facts = _stored(plan.root, own)
        statics = list(dict.fromkeys(path for trial in own for path in (trial.statics or (trial.static,))))
        lines = [f"[subjects.{_quoted(subject)}]  # {_many(len(own))}"]
        lines.append(_measure("mass_kg", None if facts is None else facts.mass_kg, "70.0", "measured on the plates"))
        lines.append(_measure("height_m", None if facts is None else facts.height_m, "1.75", "from the segments"))
        lines += [
            f"# static = {_quoted(path_text(static))}" if static is not None else "# static: searched when run"
            for static in statics
        ]
        blocks.append("\n".join(lines) + "\n")
    return blocks


def _measure(name: str, stored: float | None, example: str, otherwise: str) -> str:
    if stored is None:
        return f"# {name} = {example}  # not stored: {otherwise}"
    return f"# {name} = {stored:.4g}  # stored in the files"


def _stored(root: Path, trials: Sequence[PlannedTrial]) -> FileFacts | None:
    """Facts of the first file that stores a mass, else of the first that can be read."""
    first = None
    for trial in trials:
        try:
            facts = read_facts(root / trial.path)
        except InputFileError:
            continue
        if facts.mass_kg is not None:
            return facts
        first = first or facts
    return first


def _many(count: int) -> str:
    return f"{count} trial{'' if count == 1 else 's'}"


def _quoted(text: str) -> str:
    """A TOML basic string."""
    return json.dumps(plain_text(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def _inside_quotes(text: str) -> str:
    return _quoted(text)[1:-1]


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
        _many_listing(
            len(plan.files), "C3D file" if all(f.path.suffix.lower() == ".c3d" for f in plan.files) else "recording"
        ),
        _many_listing(len(plan.trials), "trial"),
        _many_listing(len(subjects), "subject"),
        *([_many_listing(len(sessions), "session")] if sessions else []),
        *([_many_listing(len(conditions), "condition")] if conditions else []),
        _many_listing(roles["static"], "static trial"),
        *([_many_listing(roles["functional"], "functional trial")] if roles["functional"] else []),
        f"{roles['other'] + roles['excluded']} left out",
        *([f"{roles['unreadable']} cannot be read"] if roles["unreadable"] else []),
        *([f"static trial searched when run for {searched}"] if searched else []),
    ]
    return f"Study {printable(plan.name)}: {', '.join(parts)}."


def _many_listing(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _row(trial: PlannedTrial, stored_kg: float | None) -> Sequence[str]:
    static = f"one of {len(trial.statics)}" if trial.statics else "searched when run"
    static = static if trial.static is None else printable(str(trial.static))
    mass_kg = stored_kg if trial.mass_kg is None else trial.mass_kg
    mass = _MEASURED if mass_kg is None else f"{mass_kg:.1f} kg{'' if trial.mass_kg is None else ' (given)'}"
    return (trial.subject, trial.session, trial.condition, trial.group, trial.site, trial.trial, static, mass)
