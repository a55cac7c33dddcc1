"""The methods of a study from the records of its trials: what was the same, what differed, in how many trials and whose."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from biodyn.library.load import load_table
from biodyn.output.report.page import Methods, methods
from biodyn.processing.signals.chosen_method import method_of
from biodyn.study.report.source import StudySource, Trial

PACKAGE = "biodyn.study.report"
_TEMPLATE = "study_methods.txt.j2"
_NO_EFFECT = ("output", "replay", "variation")  # sections of the settings that change no result
_NAMED = 6  # subjects named beside a setting of their own


@cache
def report_table() -> dict[str, Any]:
    """report.toml: files explained, sources."""
    return load_table("study/report")


@dataclass
class _Variant:
    """Trials with the same settings and method: the first's record, how many, whose."""

    record: Mapping[str, Any]
    settings: Mapping[str, Any]
    count: int = 0
    subjects: dict[str, None] = field(default_factory=dict)


@dataclass
class RunFacts:
    """What the trials' records say, added up trial by trial."""

    variants: dict[str, _Variant] = field(default_factory=dict)
    counts: dict[str, Counter[Any]] = field(default_factory=dict)
    masses: dict[str, float] = field(default_factory=dict)
    heights: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    def add(self, trial: Trial, record: Mapping[str, Any]) -> None:
        """Take in the run.json of one trial."""
        settings = {name: part for name, part in record["settings"].items() if name not in _NO_EFFECT}
        # that which was used: "auto" may have come to a filter in some trials
        settings["signals"] = {**settings.get("signals", {}), "method": method_of(record)}
        key = json.dumps(settings, sort_keys=True)
        variant = self.variants.setdefault(key, _Variant(record, settings))
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
        """How many."""
        return sum(variant.count for variant in self.variants.values())

    @property
    def usual(self) -> _Variant:
        """The settings of most trials, the first of equals."""
        return max(self.variants.values(), key=lambda variant: variant.count)

    def differences(self) -> list[str]:
        """A sentence for every setting that was not the same in all trials."""
        if len(self.variants) < 2:
            return []
        flat = [(dict(_flat(variant.settings)), variant) for variant in self.variants.values()]
        names = list(dict.fromkeys(name for values, _ in flat for name in values))
        return [text for name in names if (text := self._difference(name, flat))]

    def _difference(self, name: str, flat: Sequence[tuple[dict[str, Any], _Variant]]) -> str:
        found: dict[str, tuple[int, dict[str, None]]] = {}
        for values, variant in flat:
            key = json.dumps(values.get(name))
            count, subjects = found.get(key, (0, {}))
            found[key] = (count + variant.count, subjects | variant.subjects)
        if len(found) < 2:
            return ""
        ranked = sorted(found.items(), key=lambda item: -item[1][0])
        parts = [f"{_value(key)} in {count} trials{_whose(people)}" for key, (count, people) in ranked]
        return f"{_setting(name)}: {', '.join(parts)}."

    def listed(self, name: str, unit: str = "") -> str:
        """The values of something with how often each occurs, where there are several."""
        found = self.counts.get(name, Counter()).most_common()
        if len(found) == 1:
            return f"{_plain(found[0][0])}{unit}"
        return ", ".join(f"{_plain(value)}{unit} ({count} trials)" for value, count in found)


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _setting(name: str) -> str:
    return name.replace("_", " ").replace(".", ": ")


def _value(key: str) -> str:
    value = json.loads(key)
    return "as by default" if value is None else _plain(value)


def _whose(people: Mapping[str, None]) -> str:
    return f" ({', '.join(people)})" if len(people) <= _NAMED else f" ({len(people)} subjects)"


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{value[0]} ({value[1]} degrees of freedom)"
    return f"{value:g}" if isinstance(value, float) else str(value)


def study_methods(source: StudySource, facts: RunFacts) -> Methods | None:
    """Paragraphs and sources; None where no trial has a result."""
    if not facts.variants:
        return None
    return methods(
        facts.usual.record,
        _TEMPLATE,
        (PACKAGE,),
        report_table()["reference"],
        facts=facts,
        fitted=facts.listed("fitted"),
        walks_cutoff=facts.listed("cutoff", " Hz") if facts.usual.record.get("automatic_cutoff") else "",
        options=source.group["options"],
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
