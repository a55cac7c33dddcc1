"""Subject parameters wherever a C3D file keeps them, in SI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from biodyn.io.formats.c3d._parameters import Groups
from biodyn.io.names import letters_and_digits, names
from biodyn.io.subject_parameters import Entry, parameters_of
from biodyn.recording import SubjectParameters


def subject_parameters(groups: Groups) -> SubjectParameters:
    """Read name, mass, height, sex, age and measures; a value of 0 counts as not given."""
    entries = [entry for group in names()["subject"]["groups"] for entry in _entries(groups.get(group, {}))]
    return parameters_of(entries, subject_name(groups))


def subject_name(groups: Groups) -> str:
    """Return the subject's name as stored, "" where there is none."""
    for key in names()["subject"]["name_parameters"]:
        group, name = key.split(":")
        for value in groups.get(group, {}).get(name, {}).get("values", []):
            if isinstance(value, str) and value.strip():
                return value.strip()
    return ""


def _entries(group: Mapping[str, Mapping[str, Any]]) -> Iterator[Entry]:
    """Every scalar parameter of a group, and the pairs of LABELS (or NAMES) and VALUES some writers use."""
    for name, parameter in group.items():
        values = parameter["values"]
        if len(values) == 1:
            yield Entry(letters_and_digits(name), values[0], "")
    labels = group.get("LABELS", group.get("NAMES", {})).get("values", [])
    values = group.get("VALUES", {}).get("values", [])
    units = group.get("UNITS", {}).get("values", [])
    for i, (label, value) in enumerate(zip(labels, values, strict=False)):
        yield Entry(letters_and_digits(str(label)), value, str(units[i]) if i < len(units) else "")
