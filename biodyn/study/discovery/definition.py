"""Read and write study.toml: metadata of the user that override names and headers of the files.

Order of precedence: `[trials]` (the last of several matching entries), `[subjects]`, `[groups]`, `[conditions]`, `layout`, then
names and headers. Settings are merged in the same order over `[settings]`. An entry that matches nothing is an error.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from biodyn.errors import SettingsError, StudyError, printable_text
from biodyn.library.settings_section import settings_error
from biodyn.library.toml_files import read_user_toml, resolve_table_name, toml_text
from biodyn.model.from_library.user_tables import load_user_tables
from biodyn.output.store.folder import portable_name
from biodyn.session.inventory import SUFFIXES
from biodyn.session.name_tokens import plain_text
from biodyn.settings import Settings, map_table_paths, merge_tables
from biodyn.study.options import AnalysisOptions, OutputOptions
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.trial_record import count_with_noun

LAYOUT_FIELDS = ("subject", "session", "condition", "group", "trial", "any")


def path_text(path: Path) -> str:
    """Return a relative path in the form used by patterns: '/' between folders, composed Unicode."""
    return plain_text(path.as_posix())


def path_matches(pattern: str, path: Path) -> bool:
    """Return whether a pattern equals or matches the path: '*' within a name, '**' for any number of folders, '?', '[ab]'.

    A pattern without '/' matches file names in any folder; case is ignored.
    """
    text = path_text(path)
    pattern = plain_text(pattern).removeprefix("./")
    if pattern == text:
        return True
    return _text_matches(pattern, text if "/" in pattern else text.rpartition("/")[2])


def name_matches(pattern: str, name: str) -> bool:
    """Return whether a pattern equals or matches the name, ignoring case."""
    text, pattern = plain_text(name), plain_text(pattern)
    return pattern.casefold() == text.casefold() or _text_matches(pattern, text)


def _text_matches(pattern: str, text: str) -> bool:
    return _parts_match(tuple(pattern.casefold().split("/")), tuple(text.casefold().split("/")))


@cache
def _parts_match(patterns: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """Return whether the patterns match all parts of a path in sequence; "**" stands for any number of parts."""
    if not patterns or not parts:
        return not parts and not any(pattern != "**" for pattern in patterns)
    if patterns[0] == "**":
        return _parts_match(patterns[1:], parts) or _parts_match(patterns, parts[1:])
    return fnmatchcase(parts[0], patterns[0]) and _parts_match(patterns[1:], parts[1:])


@cache
def layout_matcher(layout: str) -> re.Pattern[str]:
    """Return a regular expression with the fields of a layout as groups; SettingsError for an unknown or repeated field."""
    parts = re.split(r"\{([^{}]*)\}", plain_text(layout).removeprefix("./"))
    text = ""
    seen: set[str] = set()
    for i, part in enumerate(parts):
        if i % 2 == 0:
            text += re.escape(part)
            continue
        if part not in LAYOUT_FIELDS or part in seen:
            raise SettingsError(
                f"Layout '{layout}' has {'the field twice' if part in seen else 'an unknown field'}: '{{{part}}}'.",
                f"The fields are {', '.join(f'{{{name}}}' for name in LAYOUT_FIELDS)}; each except {{any}} may occur once.",
            )
        if part != "any":
            seen.add(part)
        text += "[^/]+" if part == "any" else f"(?P<{part}>[^/]+)"
    if not text.lower().endswith(tuple(re.escape(suffix) for suffix in SUFFIXES)):
        text += f"(?:{'|'.join(re.escape(suffix) for suffix in SUFFIXES)})"
    return re.compile(text, re.IGNORECASE)


_LONGEST = 80  # characters; some systems limit paths to 260 characters

T = TypeVar("T")


def safe_name(text: str) -> str:
    """Return the text with all characters except letters, digits, '.', '-', '+' and '_' replaced by '_'; never empty."""
    text = "".join(c if c.isalnum() or c in "-_.+" else "_" for c in plain_text(text).strip())
    text = re.sub("__+", "_", text).strip("._") or "unnamed"
    text = portable_name(text)
    if len(text) > _LONGEST or len(text.encode()) > 2 * _LONGEST:
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        shorter = text[: _LONGEST - 9]
        while len(shorter.encode()) > 2 * _LONGEST - 9:
            shorter = shorter[:-1]
        text = f"{shorter}_{digest}"
    return text


def unique_names(wanted: Mapping[T, Sequence[str]]) -> dict[T, str]:
    """Return a safe, unique name for every key: the first of its wanted names that no other key has, else one with a number.

    wanted: names of increasing length for every key; keys are processed in the given order.
    """
    chosen: dict[T, str] = {}
    depth = dict.fromkeys(wanted, 0)
    while True:
        by_name: dict[str, list[T]] = defaultdict(list)
        for key, names in wanted.items():
            chosen[key] = safe_name(names[min(depth[key], len(names) - 1)])
            by_name[chosen[key].casefold()].append(key)
        clashing = [key for keys in by_name.values() if len(keys) > 1 for key in keys]
        longer = [key for key in clashing if depth[key] < len(wanted[key]) - 1]
        if not longer:
            break
        for key in longer:
            depth[key] += 1
    taken = {name for name, keys in by_name.items() if len(keys) == 1}
    for keys in (keys for keys in by_name.values() if len(keys) > 1):
        for key in keys:
            number = 1
            name = chosen[key]
            while name.casefold() in taken:
                number += 1
                name = safe_name(f"{chosen[key][: _LONGEST - 5]}-{number}")
            taken.add(name.casefold())
            chosen[key] = name
    return chosen


def natural_sort_key(text: str) -> tuple[tuple[tuple[int, int, str], ...], str]:
    """Return a sort key that compares numbers in a text by value: walk, walk2, walk10; only identical texts have equal keys."""
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part.casefold()) for part in parts), text


Kilograms = Annotated[float, Field(gt=0)]
Metres = Annotated[float, Field(gt=0)]
Text = Annotated[str, Field(min_length=1, max_length=4000)]


class _Section(BaseModel):
    """Table of study.toml; unknown entries are rejected."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True)


class _SettingsSection(_Section):
    """Table of study.toml that can change the settings of trials."""

    settings: dict[str, Any] = Field(default_factory=dict, description="trial settings of these trials")


class _ConditionsSection(_SettingsSection):
    """Table of study.toml that can rename conditions."""

    conditions: dict[str, str] = Field(default_factory=dict, description="detected condition, or a pattern -> its name")


class _TrialFacts(_SettingsSection):
    """Data that study.toml can state about subjects and single files: body mass, height and static trial."""

    mass_kg: Kilograms | None = Field(
        default=None, description="body mass, kg; omitted = as stored in the files, else measured"
    )
    height_m: Metres | None = Field(
        default=None, description="body height, m; omitted = as stored in the files, else estimated"
    )
    static: Text | None = Field(
        default=None, description='static trial, relative to the study folder; "none": no static trial'
    )


class SubjectEntry(_ConditionsSection, _TrialFacts):
    """Section `[subjects.<name>]` of study.toml: data of one subject."""

    group: str | None = Field(default=None, description="group in the comparisons")
    sessions: dict[str, str] = Field(default_factory=dict, description="detected session, or a pattern -> its name")


class TrialReview(_Section):
    """Decision of a reviewer about a trial; a rejected trial is excluded from all group results."""

    decision: Literal["accepted", "rejected"] = Field(description="accepted or rejected")
    name: Text = Field(description="who decided")
    reason: Text = Field(description="why")


class TrialEntry(_TrialFacts):
    """Section `[trials."<path or pattern>"]` of study.toml: data of the files that match."""

    review: TrialReview | None = Field(default=None, description="decision of a reviewer: `{decision, name, reason}`")
    note: Text | None = Field(default=None, description="reason of a correction, for information only")

    exclude: Text | None = Field(default=None, description="reason for which these files are excluded")
    role: Literal["walk", "static", "functional", "other"] | None = Field(
        default=None, description="role of these files"
    )
    subject: Text | None = Field(default=None, description="subject of these files")
    session: str | None = Field(default=None, description="session of these files")
    condition: str | None = Field(default=None, description="condition of these files")


class RunningOptions(_Section):
    """Section `[running]` of study.toml: number of processes, and limits of time and memory for each trial."""

    workers: int | None = Field(
        default=None, ge=1, le=10_000, description="processes on this machine; omitted = one per core"
    )
    time_limit_s: float = Field(default=300.0, gt=0, le=1e6, description="longest time for one trial, s")
    memory_limit_mb: int = Field(
        default=2048, ge=0, le=10_000_000, description="memory limit of the process of one trial, MB; 0: no limit"
    )


class StudyDefinition(_ConditionsSection):
    """The content of study.toml; all entries have default values."""

    name: Text | None = Field(default=None, description="name of the study; omitted = name of its folder")
    root: Text = Field(default=".", description="folder of the recordings, relative to study.toml")
    include: tuple[Text, ...] = Field(
        default=(), strict=False, description="patterns of the files that are used; omitted = all"
    )
    exclude: tuple[Text, ...] = Field(default=(), strict=False, description="patterns of files that are excluded")
    layout: Text | None = Field(
        default=None, description="meaning of the parts of a path, e.g. {subject}/{session}/{condition}_{trial}.c3d"
    )
    subjects: dict[str, SubjectEntry] = Field(default_factory=dict, description="facts of subjects by name")
    trials: dict[str, TrialEntry] = Field(default_factory=dict, description="facts of files by path or pattern")
    groups: dict[str, Annotated[tuple[Text, ...], Field(strict=False)]] = Field(
        default_factory=dict, description="subjects (names or patterns) of each group"
    )
    running: RunningOptions = RunningOptions()
    output: OutputOptions = OutputOptions()
    analysis: AnalysisOptions = AnalysisOptions()

    @property
    def uses_opensim_model(self) -> bool:
        """Return whether any trial uses an OpenSim model."""
        tables = [self.settings, *(entry.settings for entry in self.subjects.values())]
        tables += [entry.settings for entry in self.trials.values()]
        sections = [table.get("model") for table in tables]
        return any(isinstance(section, Mapping) and section.get("osim") for section in sections)

    def folder(self, path: Path) -> Path:
        """Return the folder of the recordings; `path`: path of the study.toml."""
        return (Path(path).resolve().parent / self.root).resolve()


def read_definition(path: str | Path) -> StudyDefinition:
    """Read a study.toml; SettingsError with the first invalid entry if it is not valid."""
    path = Path(path)
    file = read_user_toml(path, "study file", SettingsError, "Write one with 'biodyn study FOLDER --init'.")
    content = map_all_table_paths(file.content, lambda name: resolve_table_name(name, file.path))
    try:
        definition = StudyDefinition.model_validate(content)
    except ValidationError as error:
        raise settings_error(error, StudyDefinition, f"'{path}'") from error
    _require_valid_settings(definition, path)
    return definition


def map_all_table_paths(content: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return the content of a study.toml, valid or not, with `change` applied to the path of every user table."""
    content = dict(content)
    if isinstance(content.get("settings"), dict):
        content["settings"] = map_table_paths(content["settings"], change)
    for section in ("subjects", "trials"):
        entries = content.get(section)
        if isinstance(entries, dict):
            content[section] = {
                name: {**entry, "settings": map_table_paths(entry["settings"], change)}
                if isinstance(entry, dict) and isinstance(entry.get("settings"), dict)
                else entry
                for name, entry in entries.items()
            }
    return content


def _require_valid_settings(definition: StudyDefinition, path: Path) -> None:
    """Raise SettingsError for invalid trial settings or tables, once before the trials run."""
    tables = [("settings", definition.settings)]
    tables += [(f"subjects.{name}.settings", entry.settings) for name, entry in definition.subjects.items()]
    tables += [(f"trials.{name}.settings", entry.settings) for name, entry in definition.trials.items()]
    for where, table in tables:
        try:
            Settings.model_validate(table)
        except ValidationError as error:
            raise settings_error(error, Settings, f"'{path}'", where) from error
        load_user_tables(Settings.model_validate(merge_tables(definition.settings, table)).table_names)


DEFINITION_NAME = "study.toml"


def write_definition(plan: StudyPlan) -> Path:
    """Write study.toml into the study folder and return its path; StudyError if the file exists."""
    path = plan.root / DEFINITION_NAME
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(draft_definition_text(plan))
    except FileExistsError as error:
        raise StudyError(f"'{path}' exists already.", "Edit it, or move it first.") from error
    except OSError as error:
        raise StudyError(f"'{path}' cannot be written: {error.strerror}.", "Check the permissions.") from error
    return path


def draft_definition_text(plan: StudyPlan) -> str:
    """Return the text of a study.toml that gives the same plan, with comments on possible changes."""
    # imported here, because only the draft needs templates
    from biodyn.output.report.page import text_environment

    stored = {file.path: file.facts.mass_kg for file in plan.files if file.facts is not None}
    members: dict[str, dict[str, None]] = defaultdict(dict)
    trials: dict[str, list[PlannedTrial]] = defaultdict(list)
    for trial in plan.trials:
        trials[trial.subject].append(trial)
        if trial.group:
            members[trial.group][trial.subject] = None
    subjects = [
        {
            "name": name,
            "trials": len(own),
            "mass_kg": next((mass for trial in own if (mass := stored.get(trial.path)) is not None), None),
            "statics": dict.fromkeys(path for trial in own for path in (trial.statics or (trial.static,))),
        }
        for name, own in trials.items()
    ]
    first = plan.trials[0] if plan.trials else None
    example = {
        "file": path_text(first.path) if first else "P01/walk03.c3d",
        "static": path_text(first.static) if first and first.static else "P01/static.c3d",
    }
    template = text_environment("biodyn.study.discovery").get_template("study.toml.j2")
    text = template.render(
        plan=plan,
        conditions=sorted(Counter(trial.condition for trial in plan.trials if trial.condition).items()),
        groups=sorted(members.items()),
        names=list(trials) or ["P01", "P02"],
        subjects=subjects,
        example={key: _toml_string(text)[1:-1] for key, text in example.items()},
        quote=_toml_string,
        quote_all=lambda texts: f"[{', '.join(map(_toml_string, texts))}]",
        path_text=path_text,
        count_with_noun=count_with_noun,
    )
    return f"{text}\n"


def _toml_string(text: str) -> str:
    """Return a text as a quoted TOML string."""
    return toml_text(plain_text(text))


_HEADINGS = ("subject", "session", "condition", "group", "site", "trial", "static", "mass")
_ALWAYS = ("subject", "trial", "static", "mass")
_MEASURED = "-"


def plan_lines(plan: StudyPlan) -> list[str]:
    """Return the plan as lines of text: counts, table of trials, and all files that are not used."""
    max_width = 48
    lines = [_count_line(plan), ""]
    stored = {file.path: file.facts.mass_kg for file in plan.files if file.facts is not None}
    rows = [_trial_row(trial, stored.get(trial.path)) for trial in plan.trials]
    shown = [i for i, name in enumerate(_HEADINGS) if name in _ALWAYS or any(row[i] for row in rows)]
    widths = {i: min(max_width, max(len(text) for text in (_HEADINGS[i], *(row[i] for row in rows)))) for i in shown}
    for row in (_HEADINGS, *rows) if rows else ():
        lines.append("  ".join(row[i].ljust(widths[i]) for i in shown).rstrip())
    searched = any(trial.static is None and not trial.statics for trial in plan.trials)
    lines += ["", "searched later: the analysis searches for a static trial next to the walk."] if searched else []
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
            lines += [f"  {printable_text(str(file.path))}: {printable_text(file.reason)}" for file in entries]
    return lines


def _count_line(plan: StudyPlan) -> str:
    subjects = {trial.subject for trial in plan.trials}
    sessions = {(trial.subject, trial.session) for trial in plan.trials if trial.session}
    conditions = {trial.condition for trial in plan.trials if trial.condition}
    roles = Counter(file.role for file in plan.files)
    searched = sum(trial.static is None for trial in plan.trials)
    parts = [
        count_with_noun(
            len(plan.files), "C3D file" if all(f.path.suffix.lower() == ".c3d" for f in plan.files) else "recording"
        ),
        count_with_noun(len(plan.trials), "trial"),
        count_with_noun(len(subjects), "subject"),
        *([count_with_noun(len(sessions), "session")] if sessions else []),
        *([count_with_noun(len(conditions), "condition")] if conditions else []),
        count_with_noun(roles["static"], "static trial"),
        *([count_with_noun(roles["functional"], "functional trial")] if roles["functional"] else []),
        f"{roles['other'] + roles['excluded']} left out",
        *([f"{roles['unreadable']} cannot be read"] if roles["unreadable"] else []),
        *([f"static trial searched later for {count_with_noun(searched, 'trial')}"] if searched else []),
    ]
    return f"Study {printable_text(plan.name)}: {', '.join(parts)}."


def _trial_row(trial: PlannedTrial, stored_kg: float | None) -> Sequence[str]:
    static = f"one of {len(trial.statics)}" if trial.statics else "searched later"
    static = static if trial.static is None else printable_text(str(trial.static))
    mass_kg = stored_kg if trial.mass_kg is None else trial.mass_kg
    mass = _MEASURED if mass_kg is None else f"{mass_kg:.1f} kg{'' if trial.mass_kg is None else ' (given)'}"
    return (trial.subject, trial.session, trial.condition, trial.group, trial.site, trial.trial, static, mass)
