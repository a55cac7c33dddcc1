"""Aggregate all trials and subjects of a study one by one: mean curves and parameters, findings, methods."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from biodyn.checks.registry import finding_title
from biodyn.conventions import CYCLE_POINTS, SIDES, FloatArray, IntArray
from biodyn.diagnostics import STATUS_WORDS
from biodyn.library.toml_files import load_table
from biodyn.output.report.page import Methods, methods_text
from biodyn.output.tables.csv import restore_original_texts
from biodyn.processing.signals.signal_preparation import stored_method
from biodyn.statistics.gait_measures import OUTLIER_FENCE
from biodyn.statistics.spm.inference import PERMUTATIONS, SEED
from biodyn.study.collecting.cycles import NOT_RUN
from biodyn.study.group.group_data import MEAN_OF_SIDES
from biodyn.study.group.subject_cycles import MeanCurves, RunningMean, SubjectCycles, mean_and_sd, means_over_sessions
from biodyn.study.report.report_inputs import StudySource, Trial
from biodyn.study.trial_record import FAILED, count_with_noun
from biodyn.variables import variable as shown

_KEYS = ["subject", "session", "condition", "group", "side", "parameter"]
Cell = tuple[str, str]  # condition, group


#: Mean and standard deviation between subjects (101,) in the shown sign, and number of subjects at each percent.
Curve = tuple[FloatArray, FloatArray, IntArray]


@dataclass
class CurveMeans:
    """Mean curves over subjects by condition, group and side, with equal weights of the sessions and sides of a subject.

    variables: displayed variables, in the order of the arrays.
    """

    variables: Sequence[str]
    units: dict[str, str] = field(default_factory=dict)
    _sums: dict[tuple[str, str, str], RunningMean] = field(default_factory=dict)

    def add(self, data: SubjectCycles, curves: Sequence[MeanCurves]) -> None:
        """Add the curves of one subject, averaged over sessions, to the means of each condition, group and side."""
        self.units.update({name: data.units[name] for name in self.variables if name in data.units})
        found: dict[Cell, list[FloatArray]] = {}
        for (condition, group, side), means in means_over_sessions(curves).items():
            signs = np.array([shown(name).clinical_factor(side) for name in self.variables])
            own = data.select_variables(means, self.variables) * signs[:, None]
            self._running_mean(condition, group, side).add(own)
            found.setdefault((condition, group), []).append(own)
        for (condition, group), sides in found.items():
            self._running_mean(condition, group, MEAN_OF_SIDES).add(mean_and_sd(np.stack(sides))[0])

    def _running_mean(self, condition: str, group: str, side: str) -> RunningMean:
        shape = (len(self.variables), CYCLE_POINTS)
        return self._sums.setdefault((condition, group, side), RunningMean.empty(shape))

    @property
    def cells(self) -> list[Cell]:
        """Return the pairs (condition, group) with curves, in the order in which they occur in the data."""
        return list(dict.fromkeys((condition, group) for condition, group, _ in self._sums))

    def curve(self, cell: Cell, side: str, variable: str) -> Curve | None:
        """Return the mean curve of a variable over the subjects of a condition and group, with SD and number of subjects.

        None if no subject has the variable.
        """
        sums = self._sums.get((*cell, side))
        if sums is None:
            return None
        row = list(self.variables).index(variable)
        count = sums.count[row]
        return (sums.means[row], sums.standard_deviations[row], count) if count.any() else None


def parameter_means(path: Path, cycles: pd.DataFrame, leave_out: bool) -> pd.DataFrame:
    """Return mean, SD and number of cycles of every parameter by subject, session, condition, group and side.

    parameters.csv is read in pieces. `leave_out`: whether to exclude cycles flagged as outliers in `cycles` (cycles.csv).
    """
    parts = []
    names = [*_KEYS, "trial", "cycle", "value"]
    dropped = set()
    if leave_out and len(cycles):
        odd = cycles[cycles["outlier"]]
        dropped = set(zip(odd["subject"], odd["trial"], odd["side"], odd["cycle"], strict=True))
    for piece in _read_table_chunks(path, names):
        rows = piece[piece["value"].notna()]
        if dropped:
            keys = zip(rows["subject"], rows["trial"], rows["side"], rows["cycle"], strict=True)
            rows = rows[[key not in dropped for key in keys]]
        rows = rows.assign(square=rows["value"] ** 2, count=1)
        parts.append(rows.groupby(_KEYS, sort=False, observed=True)[["value", "square", "count"]].sum().reset_index())
    if not parts:
        return pd.DataFrame(columns=[*_KEYS, "mean", "sd", "cycles"])
    joined = pd.concat(parts, ignore_index=True)
    for name in _KEYS:
        joined[name] = joined[name].astype(str)
    sums = joined.groupby(_KEYS, sort=False)[["value", "square", "count"]].sum().reset_index()
    mean = sums["value"] / sums["count"]
    spread = np.maximum(sums["square"] - sums["count"] * mean**2, 0.0) / np.maximum(sums["count"] - 1, 1)
    return sums[_KEYS].assign(mean=mean, sd=np.where(sums["count"] > 1, np.sqrt(spread), np.nan), cycles=sums["count"])


def _read_table_chunks(path: Path, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    rows_per_chunk = 400_000
    if not path.is_file():
        return
    kinds = {name: "category" for name in columns if name not in ("value", "cycle")} | {"value": np.float64}
    missing = {"value": [""]}
    for piece in pd.read_csv(
        path, usecols=list(columns), dtype=kinds, keep_default_na=False, na_values=missing, chunksize=rows_per_chunk
    ):
        yield restore_original_texts(piece)


def means_over_subjects(means: pd.DataFrame) -> pd.DataFrame:
    """Return mean, SD between subjects and number of subjects by condition, group, side ("r", "l", "mean") and parameter."""
    keys = ["subject", "condition", "group", "side", "parameter"]
    sessions = means.groupby(keys, sort=False)["mean"].mean().reset_index()
    both = sessions[sessions["side"].isin(SIDES)].groupby([k for k in keys if k != "side"], sort=False)["mean"].mean()
    joined = pd.concat([sessions, both.reset_index().assign(side=MEAN_OF_SIDES)], ignore_index=True)
    table = joined.groupby(keys[1:], sort=False)["mean"].agg(["mean", "std", "count"]).reset_index()
    return table.rename(columns={"std": "sd", "count": "subjects"})


_VARYING = re.compile(r"'[^']*'|\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class FailureGroup:
    """Trials that failed for the same reason, apart from names and numbers in it; `title` is the reason of the first trial."""

    title: str
    hint: str
    trials: tuple[Trial, ...]


def group_failures(trials: Iterable[Trial]) -> list[FailureGroup]:
    """Group the trials without a result by their reason, the most frequent first."""
    by_reason: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        if not trial.has_result:
            by_reason.setdefault((trial.error, _VARYING.sub("#", trial.reason)), []).append(trial)
    groups = []
    for members in by_reason.values():
        title = _common_text([trial.reason for trial in members])
        hint = members[0].hint if len({trial.hint for trial in members}) == 1 else ""
        if members[0].status == NOT_RUN:
            title, hint = "Not analysed.", "Run the study again: it resumes where it stopped."
        groups.append(FailureGroup(title or members[0].error, hint, tuple(members)))
    return sorted(groups, key=lambda group: -len(group.trials))


def _common_text(reasons: Sequence[str]) -> str:
    """Return the common text of several reasons, with "…" in place of names and numbers that differ."""
    varying = [_VARYING.findall(reason) for reason in reasons]
    same = iter([words[0] if len(set(words)) == 1 else "…" for words in zip(*varying, strict=True)])
    return _VARYING.sub(lambda _: next(same), reasons[0])


@dataclass
class Finding:
    """Finding that occurs in one or more trials.

    Attributes: `count` number of trials with it, `times` number of occurrences, `trials` the trials that are listed.
    """

    severity: str
    title: str
    example: str
    hint: str
    count: int = 0
    times: int = 0
    trials: list[Trial] = field(default_factory=list)

    @property
    def unlisted_count(self) -> int:
        """Return the number of trials with this finding that are not listed."""
        return self.count - len(self.trials)


class Findings:
    """Failed checks and diagnostics of all trials, by code."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Finding] = {}

    def add(self, trial: Trial, record: Mapping[str, Any]) -> None:
        """Add the failed checks and findings in the run.json of one trial."""
        seen: set[tuple[str, str]] = set()
        for check in record["checks"]:
            if check["status"] in ("warn", "fail"):
                severity = "error" if check["status"] == "fail" else "warning"
                self._add_finding(
                    ("check " + check["code"], severity), trial, seen, check["title"], check["text"], check["hint"]
                )
        covered = {check["code"] for check in record["checks"] if check["status"] in ("warn", "fail")}
        for finding in record["diagnostics"]:
            if finding["code"] in covered:  # reported by the check with its limit
                continue
            title = finding_title(finding["code"])
            self._add_finding(
                (finding["code"], finding["severity"]), trial, seen, title, finding["message"], finding["hint"]
            )

    def _add_finding(
        self, key: tuple[str, str], trial: Trial, seen: set[tuple[str, str]], title: str, example: str, hint: str
    ) -> None:
        max_listed = 200  # number of listed trials per finding, which limits the page of a large study
        entry = self._found.setdefault(key, Finding(key[1], title, example, hint))
        entry.times += 1
        if key not in seen:
            seen.add(key)
            entry.count += 1
            if len(entry.trials) < max_listed:
                entry.trials.append(trial)

    def with_severity(self, *severities: str) -> list[Finding]:
        """Return the findings of the given severities, sorted by severity, then by number of trials."""
        chosen = [finding for finding in self._found.values() if finding.severity in severities]
        return sorted(chosen, key=lambda finding: (severities.index(finding.severity), -finding.count))


def group_exclusions(trials: Iterable[Trial]) -> list[FailureGroup]:
    """Group the trials excluded from group results by their reason, the most frequent first."""
    by_reason: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.excluded:
            by_reason.setdefault(trial.excluded, []).append(trial)
    groups = [FailureGroup(reason, "", tuple(members)) for reason, members in by_reason.items()]
    return sorted(groups, key=lambda group: -len(group.trials))


def outcome_sentence(trials: Sequence[Trial]) -> str:
    """Return a sentence with the numbers of subjects, of trials and of each outcome."""
    ended = [trial.status for trial in trials]
    counts = {status: ended.count(status) for status in (*STATUS_WORDS, FAILED, NOT_RUN)}
    people = len({trial.subject for trial in trials})
    done = sum(trial.has_result for trial in trials)
    parts = [f"{counts[status]} {text}" for status, text in reversed(STATUS_WORDS.items()) if counts[status]]
    analysed = "all" if done == len(trials) else str(done) if done else "none"
    lost = [f"{count_with_noun(counts[FAILED], 'trial')} failed"] if counts["failed"] else []
    lost += [f"{counts[NOT_RUN]} {'was' if counts[NOT_RUN] == 1 else 'were'} not run"] if counts[NOT_RUN] else []
    none_lost = "" if counts["fail"] else "; none failed"  # omitted because it would contradict "1 fail"
    excluded = sum(bool(trial.excluded) for trial in trials)
    kept_out = f" {count_with_noun(excluded, 'trial')} excluded from the group results." if excluded else ""
    return (
        f"{count_with_noun(people, 'subject')}, {count_with_noun(len(trials), 'trial')}: "
        f"{analysed} analysed{' (' + ', '.join(parts) + ')' if parts else ''}"
        f"{'; ' + ' and '.join(lost) if lost else none_lost}.{kept_out}"
    )


PACKAGE = "biodyn.study.report"
_TEMPLATE = "study_methods.txt.j2"
_NO_EFFECT = ("output", "replay", "variation")  # sections of the settings that do not change results


@cache
def load_report_table() -> dict[str, Any]:
    """Return the content of report.toml, including the descriptions of files and sources."""
    return load_table("study/report")


@dataclass
class _SettingsVariant:
    """Trials with the same settings and method: record of the first, number of trials, subjects."""

    record: Mapping[str, Any]
    settings: Mapping[str, Any]
    count: int = 0
    subjects: dict[str, None] = field(default_factory=dict)


@dataclass
class RunFacts:
    """Settings, program versions and other facts of the analysed trials, accumulated trial by trial."""

    variants: dict[str, _SettingsVariant] = field(default_factory=dict)
    counts: dict[str, Counter[Any]] = field(default_factory=dict)
    masses: dict[str, float] = field(default_factory=dict)
    heights: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def add(self, trial: Trial, record: Mapping[str, Any]) -> None:
        """Add the settings, versions and facts in the run.json of one trial."""
        settings = {name: part for name, part in record["settings"].items() if name not in _NO_EFFECT}
        # the method that was used; "auto" may select a filter in some trials
        settings["signals"] = {**settings.get("signals", {}), "method": stored_method(record)}
        key = json.dumps(settings, sort_keys=True)
        variant = self.variants.setdefault(key, _SettingsVariant(record, settings))
        variant.count += 1
        variant.subjects[trial.subject] = None
        self.versions = self.versions or dict(record["versions"])
        self.masses[trial.subject] = record["subject"]["mass_kg"]
        if record["subject"]["height_m"] is not None:
            self.heights[trial.subject] = record["subject"]["height_m"]
        model = record["model"]
        for name, value in (
            ("rate", record["input"]["rate_hz"]),
            ("plates", len(record["plates"])),
            ("marker_set", record["marker_set"]["title"]),
            ("skeleton", (model["citations"].get("skeleton", model)["title"], model["degrees_of_freedom"])),
            ("sex", record["subject"]["sex"]),
            ("fitted", len(record["marker_set"]["fitted"])),
            ("static", record["static"].get("source", "static trial")),
            ("cutoff", record.get("cutoff_hz", record["settings"]["signals"]["cutoff_hz"])),
        ):
            self.counts.setdefault(name, Counter())[value] += 1

    @property
    def trials(self) -> int:
        """Return the number of trials that were added."""
        return sum(variant.count for variant in self.variants.values())

    @property
    def common_settings(self) -> _SettingsVariant:
        """Return the most common settings, the first if several are equally common."""
        return max(self.variants.values(), key=lambda variant: variant.count)

    def setting_differences(self) -> list[str]:
        """Return a sentence for every setting that differs between trials."""
        if len(self.variants) < 2:
            return []
        flat = [(dict(_flatten_settings(variant.settings)), variant) for variant in self.variants.values()]
        names = list(dict.fromkeys(name for values, _ in flat for name in values))
        return [text for name in names if (text := self._setting_difference(name, flat))]

    def _setting_difference(self, name: str, flat: Sequence[tuple[dict[str, Any], _SettingsVariant]]) -> str:
        max_named = 6  # number of subjects listed with a deviating setting
        by_value: dict[str, tuple[int, dict[str, None]]] = {}
        for values, variant in flat:
            key = json.dumps(values.get(name))
            count, subjects = by_value.get(key, (0, {}))
            by_value[key] = (count + variant.count, subjects | variant.subjects)
        if len(by_value) < 2:
            return ""
        parts = []
        for key, (count, people) in sorted(by_value.items(), key=lambda item: -item[1][0]):
            value = "as by default" if key == "null" else _value_text(json.loads(key))
            named = ", ".join(people) if len(people) <= max_named else f"{len(people)} subjects"
            parts.append(f"{value} in {count} trials ({named})")
        return f"{name.replace('_', ' ').replace('.', ': ')}: {', '.join(parts)}."

    def values_text(self, name: str, unit: str = "") -> str:
        """Return the values of a fact as text; if there are several, each with its number of trials."""
        counts = self.counts.get(name, Counter()).most_common()
        if len(counts) == 1:
            return f"{_value_text(counts[0][0])}{unit}"
        return ", ".join(f"{_value_text(value)}{unit} ({count} trials)" for value, count in counts)


def _flatten_settings(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flatten_settings(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _value_text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{value[0]} ({value[1]} degrees of freedom)"
    return f"{value:g}" if isinstance(value, float) else str(value)


def study_methods_text(source: StudySource, facts: RunFacts) -> Methods | None:
    """Return the paragraphs and sources of the methods; None if no trial has a result."""
    if not facts.variants:
        return None
    return methods_text(
        facts.common_settings.record,
        _TEMPLATE,
        (PACKAGE,),
        load_report_table()["reference"],
        facts=facts,
        fitted=facts.values_text("fitted"),
        walks_cutoff=facts.values_text("cutoff", " Hz") if facts.common_settings.record.get("automatic_cutoff") else "",
        options=source.group["options"],
        # defaults for studies without these entries, which were settings in version 0.2
        fence=OUTLIER_FENCE,
        permutations=PERMUTATIONS,
        seed=SEED,
        norm_notes=source.notes("normative_bands"),
        norm_sources=list(dict.fromkeys(source.table("normative_bands").get("citation", ()))),
        tests={str(kind) for kind in source.table("spm").get("test", ())},
        compared=bool(len(source.table("comparisons"))),
        mixed=bool(len(source.table("mixed_models"))),
        scores=bool(len(source.table("gait_scores"))),
        repeated=set(source.table("repeatability").get("level", ())),
        symmetry=bool(len(source.table("symmetry"))),
        subjects=len(facts.masses),
    )
