"""Subject parameters wherever a file keeps them, in SI."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from biodyn.io.formats.c3d._parameters import Groups
from biodyn.io.names import letters, letters_and_digits, names
from biodyn.recording import SubjectParameters


@dataclass(frozen=True)
class _Entry:
    """One stored value: its name and side ("" where it has none), the value, the unit text beside it."""

    name: str
    value: Any
    unit: str


def subject_parameters(groups: Groups) -> SubjectParameters:
    """Read name, mass, height, sex, age and measures; a value of 0 counts as not given."""
    entries = [entry for group in names()["subject"]["groups"] for entry in _entries(groups.get(group, {}))]
    table = names()["subject"]
    measures: dict[str, float] = {}
    known = _measure_names()
    for entry in entries:
        if entry.name not in known:
            continue
        measure, sides = known[entry.name]
        value = _in_si(entry, table["measures"][measure])
        if value is not None:
            for side in sides:
                measures.setdefault(f"{measure}_{side}" if side else measure, value)
    return SubjectParameters(
        name=subject_name(groups),
        mass_kg=_first(entries, table["mass"]),
        height_m=_first(entries, table["height"]),
        sex=_sex(entries),
        measures=measures,
        age_years=_first(entries, table["age"]),
    )


def subject_name(groups: Groups) -> str:
    """Return the subject's name as stored, "" where there is none."""
    for key in names()["subject"]["name_parameters"]:
        group, name = key.split(":")
        for value in groups.get(group, {}).get(name, {}).get("values", []):
            if isinstance(value, str) and value.strip():
                return value.strip()
    return ""


def _entries(group: Mapping[str, Mapping[str, Any]]) -> Iterator[_Entry]:
    """Every scalar parameter of a group, and the pairs of LABELS (or NAMES) and VALUES some writers use."""
    for name, parameter in group.items():
        values = parameter["values"]
        if len(values) == 1:
            yield _Entry(letters_and_digits(name), values[0], "")
    labels = group.get("LABELS", group.get("NAMES", {})).get("values", [])
    values = group.get("VALUES", {}).get("values", [])
    units = group.get("UNITS", {}).get("values", [])
    for i, (label, value) in enumerate(zip(labels, values, strict=False)):
        yield _Entry(letters_and_digits(str(label)), value, str(units[i]) if i < len(units) else "")


@cache
def _measure_names() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Every spelling of a measure -> its name and the sides it gives: both where a sided measure names none."""
    spellings: dict[str, tuple[str, tuple[str, ...]]] = {}
    for measure, rule in names()["subject"]["measures"].items():
        for name in rule["names"]:
            spellings[name] = (measure, ("r", "l") if rule["sided"] else ("",))
            for side, words in names()["sides"].items() if rule["sided"] else ():
                for word in words:
                    spellings[word + name] = spellings[name + word] = (measure, (side,))
    return spellings


def _first(entries: list[_Entry], rule: Mapping[str, Any]) -> float | None:
    for entry in entries:
        if entry.name in rule["names"]:
            value = _in_si(entry, rule)
            if value is not None:
                return value
    return None


def _in_si(entry: _Entry, rule: Mapping[str, Any]) -> float | None:
    """The value in SI by its stated unit, else by the first unit that makes it plausible; None where nothing does."""
    try:
        value = float(entry.value)
    except (TypeError, ValueError):
        return None
    if value == 0.0:
        return None
    stated = names()["subject"]["stated_units"].get(entry.unit.strip().lower())
    low, high = rule["range"]
    for factor in (stated,) if stated is not None else rule["units"]:
        if low <= value * factor <= high:
            return value * float(factor)
    return None


def _sex(entries: list[_Entry]) -> Literal["male", "female"] | None:
    """A word, or a number whose meaning the unit text spells out ('0: woman, 1: man')."""
    table = names()["subject"]
    for entry in entries:
        if entry.name not in table["sex_names"]:
            continue
        word = str(entry.value)
        if not isinstance(entry.value, str):
            meanings = dict(re.findall(r"(-?\d+)\s*[:=]\s*(\w+)", entry.unit))
            word = meanings.get(str(int(entry.value)), "")
        if letters(word) in table["male"]:
            return "male"
        if letters(word) in table["female"]:
            return "female"
    return None
