"""Read points, subject data and events from the parameter groups of a C3D file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.io.events import StoredEvent, gait_events, is_gait_event
from biodyn.io.formats.c3d.data_layout import DataLayout
from biodyn.io.formats.c3d.header import Groups, continued_values
from biodyn.io.name_tables import letters_and_digits, load_name_table
from biodyn.io.point_classification import PointRoles
from biodyn.io.subject_parameters import Entry, convert_subject_parameters
from biodyn.recording import GaitEvent, ModelOutput, SubjectParameters


def point_texts(groups: Groups, name: str, count: int) -> list[str]:
    """Return POINT:LABELS (or DESCRIPTIONS) with LABELS2, LABELS3 ..., one per point; "" for points without one."""
    texts = [str(v) for v in continued_values(groups.get("POINT", {}), name)]
    return (texts + [""] * count)[:count]


def point_groups(groups: Groups) -> dict[str, list[str]]:
    """Return the label lists of the POINT group (ANGLES, FORCES ...) with their continuations (ANGLES2).

    Lists that only POINT:TYPE_GROUPS declares as model outputs are included.
    """
    announced = {str(v).strip() for v in parameter_values(groups, "POINT", "TYPE_GROUPS")} - {
        "LABELS",
        "DESCRIPTIONS",
        "MARKERS",
    }
    kinds = {*load_name_table()["model_outputs"]["groups"], *announced}
    lists: dict[str, list[str]] = {}
    for name, parameter in groups.get("POINT", {}).items():
        base = name.rstrip("0123456789")
        if base in kinds:
            lists.setdefault(base, []).extend(str(v) for v in parameter["values"])
    return lists


def model_outputs(groups: Groups, roles: PointRoles, points: FloatArray) -> Mapping[str, ModelOutput]:
    """Return the model outputs by label, in stored units; `points` (T, N, 3) file units."""
    unit_names = load_name_table()["model_outputs"]["unit_parameters"]
    units = {
        kind: str(next(iter(parameter_values(groups, "POINT", parameter)), "")).strip()
        for kind, parameter in unit_names.items()
    }
    return {
        roles.labels[i]: ModelOutput(roles.labels[i], roles.kinds[i], points[:, i], units.get(roles.kinds[i], ""))  # type: ignore[arg-type]
        for i in roles.output_indices
    }


def parameter_values(groups: Groups, group: str, name: str) -> list[Any]:
    """Return the values of a parameter; an empty list if it is missing."""
    values: list[Any] = groups.get(group, {}).get(name, {}).get("values", [])
    return values


def subject_parameters(groups: Groups) -> SubjectParameters:
    """Return name, mass, height, sex, age and body measures; a value of 0 counts as not given."""
    entries = [
        entry for group in load_name_table()["subject"]["groups"] for entry in _parameter_entries(groups.get(group, {}))
    ]
    return convert_subject_parameters(entries, subject_name(groups))


def subject_name(groups: Groups) -> str:
    """Return the subject's name as stored, "" if absent."""
    for key in load_name_table()["subject"]["name_parameters"]:
        group, name = key.split(":")
        for value in groups.get(group, {}).get(name, {}).get("values", []):
            if isinstance(value, str) and value.strip():
                return value.strip()
    return ""


def _parameter_entries(group: Mapping[str, Mapping[str, Any]]) -> Iterator[Entry]:
    """Return every scalar parameter of a group, and the pairs of LABELS (or NAMES) and VALUES that some programs write."""
    for name, parameter in group.items():
        values = parameter["values"]
        if len(values) == 1:
            yield letters_and_digits(name), values[0], ""
    labels = group.get("LABELS", group.get("NAMES", {})).get("values", [])
    values = group.get("VALUES", {}).get("values", [])
    units = group.get("UNITS", {}).get("values", [])
    for i, (label, value) in enumerate(zip(labels, values, strict=False)):
        yield letters_and_digits(str(label)), value, str(units[i]) if i < len(units) else ""


def read_events(
    event_group: Mapping[str, Mapping[str, Any]],
    layout: DataLayout,
    of_header: Sequence[tuple[float, str]] = (),
    subject: str = "",
    other_subjects: Sequence[str] = (),
) -> tuple[tuple[GaitEvent, ...], tuple[Diagnostic, ...]]:
    """Return the gait events sorted by time (s, 0 at the first stored frame), and notes; see `io.events.gait_events`.

    The group stores minutes and seconds since the start of the capture, in which frame 1 is at time 0; the file's first
    frame is at (first_frame - 1) / rate. Events of the header (`HeaderWords.events`) are timed from the file's first
    frame (c3d.org, "Event times"); they are used if the group has no gait event.
    """
    stored, start_s = _events_of_group(event_group), (layout.first_frame - 1) / layout.rate_hz
    if of_header and not any(is_gait_event(event.label) for event in stored):
        stored, start_s = [StoredEvent(label, "", time_s) for time_s, label in of_header], 0.0
    events = [replace(event, time_s=event.time_s - start_s) for event in stored]
    return gait_events(events, layout.frame_count, layout.rate_hz, subject, other_subjects)


def _events_of_group(group: Mapping[str, Mapping[str, Any]]) -> list[StoredEvent]:
    """Return the events of the EVENT group; times in s since the start of the capture."""
    times, labels, contexts, subjects = (
        continued_values(group, name) for name in ("TIMES", "LABELS", "CONTEXTS", "SUBJECTS")
    )
    events = []
    for i, (minutes, seconds, label) in enumerate(zip(times[::2], times[1::2], labels, strict=False)):
        context, subject = (str(texts[i]) if i < len(texts) else "" for texts in (contexts, subjects))
        events.append(StoredEvent(str(label), context, 60.0 * float(minutes) + float(seconds), subject))
    return events
