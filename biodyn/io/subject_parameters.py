"""Convert stored names and values to subject parameters in SI units, by the names in `library/formats/c3d_names.toml`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal

from biodyn.conventions import with_side
from biodyn.io.name_tables import keep_letters, load_name_table
from biodyn.recording import SubjectParameters

#: A stored value: name (with side) in small letters and digits, value, unit text ("" without one).
Entry = tuple[str, Any, str]


def convert_subject_parameters(entries: Sequence[Entry], subject: str = "") -> SubjectParameters:
    """Return mass, height, sex, age and body measures of the person `subject`; a value of 0 counts as not given."""
    table = load_name_table()["subject"]
    measures: dict[str, float] = {}
    known = _measure_names()
    for entry in entries:
        if entry[0] not in known:
            continue
        measure, sides = known[entry[0]]
        value = _value_in_si(entry, table["measures"][measure])
        if value is not None:
            for side in sides:
                measures.setdefault(with_side(measure, side), value)
    return SubjectParameters(
        name=subject,
        mass_kg=_first_plausible_value(entries, table["mass"]),
        height_m=_first_plausible_value(entries, table["height"]),
        sex=_stated_sex(entries),
        measures=measures,
        age_years=_first_plausible_value(entries, table["age"]),
    )


@cache
def _measure_names() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return name and sides of a measure by every spelling of it; a spelling without a side applies to both sides."""
    spellings: dict[str, tuple[str, tuple[str, ...]]] = {}
    for measure, rule in load_name_table()["subject"]["measures"].items():
        for name in rule["names"]:
            spellings[name] = (measure, ("r", "l") if rule["sided"] else ("",))
            for side, words in load_name_table()["sides"].items() if rule["sided"] else ():
                for word in words:
                    spellings[word + name] = spellings[name + word] = (measure, (side,))
    return spellings


def _first_plausible_value(entries: Sequence[Entry], rule: Mapping[str, Any]) -> float | None:
    for entry in entries:
        if entry[0] in rule["names"]:
            value = _value_in_si(entry, rule)
            if value is not None:
                return value
    return None


def _value_in_si(entry: Entry, rule: Mapping[str, Any]) -> float | None:
    """Return the value in SI by its stated unit, else by the first unit that makes it plausible; None if none does."""
    _, stored, unit = entry
    try:
        value = float(stored)
    except (TypeError, ValueError):
        return None
    if value == 0.0:
        return None
    stated = load_name_table()["subject"]["stated_units"].get(unit.strip().lower())
    low, high = rule["range"]
    for factor in (stated,) if stated is not None else rule["units"]:
        if low <= value * factor <= high:
            return value * float(factor)
    return None


def _stated_sex(entries: Sequence[Entry]) -> Literal["male", "female"] | None:
    """Return the sex from a word, or from a number that the unit text explains ('0: woman, 1: man')."""
    table = load_name_table()["subject"]
    for name, value, unit in entries:
        if name not in table["sex_names"]:
            continue
        word = str(value)
        if not isinstance(value, str):
            meanings = dict(re.findall(r"(-?\d+)\s*[:=]\s*(\w+)", unit))
            word = meanings.get(str(int(value)), "")
        if keep_letters(word) in table["male"]:
            return "male"
        if keep_letters(word) in table["female"]:
            return "female"
    return None
