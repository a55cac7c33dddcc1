"""Manual corrections as entries of study.toml and subject.toml, which the command line also reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from biodyn.conventions import SIDE_NAMES
from biodyn.errors import SettingsError
from biodyn.library.subject_record import SubjectRecord
from biodyn.output.store.folder import replace_file
from biodyn.processing.contacts.contact_decision import MATCHES_S

_SIDES: Final = tuple(SIDE_NAMES.values())
SUBJECT_ENTRIES: Final = (
    "name", "age_years", "sex", "height_m", "mass_kg", "side", "diagnosis", "orthosis"
)  # fmt: skip

Correction = Mapping[str, Any]
Document = MutableMapping[str, Any]


def read_document(path: Path) -> tomlkit.TOMLDocument:
    """Return a TOML file with its comments, empty if it does not exist; raises SettingsError if it is not valid."""
    try:
        return tomlkit.parse(path.read_text(encoding="utf-8")) if path.is_file() else tomlkit.document()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        raise SettingsError(f"'{path.name}' cannot be read: {error}.", "Correct the file in a text editor.") from error


def write_text(path: Path, text: str | None) -> None:
    """Write a file atomically and keep its permissions; None removes it."""
    if text is None:
        path.unlink(missing_ok=True)
    else:
        replace_file(path, text.encode())


def apply_to_study(document: Document, trial: str, correction: Correction) -> None:
    """Enter a correction of the recording `trial` (path with "/") in study.toml; SettingsError for an unknown kind."""
    kind = str(correction.get("kind"))
    if kind not in _OF_TRIALS:
        raise SettingsError(f"A correction '{kind}' does not exist.", f"There are {', '.join(_OF_TRIALS)}.")
    _OF_TRIALS[kind](_get_or_add_table(document, "trials", trial), correction)


def apply_to_subject(document: Document, correction: Correction) -> None:
    """Enter a correction of subject data in subject.toml, or in a table [settings.subject]; an empty value removes an entry."""
    for name, value in dict(correction.get("entries", {})).items():
        if name not in SUBJECT_ENTRIES:
            raise SettingsError(f"'{name}' of a subject cannot be changed on this page.", "Edit subject.toml.")
        if value in (None, ""):
            document.pop(name, None)
        else:
            document[name] = value
    SubjectRecord.model_validate(dict(document))


def _get_or_add_table(document: Document, *names: str) -> Document:
    for name in names:
        if name not in document:
            document[name] = tomlkit.table(is_super_table=name in ("trials", "settings"))
        document = document[name]
    return document


def _remaining_entries(
    table: Document, section: str, name: str, kept: Callable[[Mapping[str, Any]], bool]
) -> list[Any]:
    """Return the entries of a list in the settings for which `kept` is True, for `_set_entries`."""
    settings = table.get("settings", {})
    return [dict(entry) for entry in settings.get(section, {}).get(name, []) if kept(entry)]


def _set_entries(table: Document, section: str, name: str, entries: list[dict[str, Any]]) -> None:
    target = _get_or_add_table(table, "settings", section)
    array = tomlkit.array()
    for entry in entries:
        inline = tomlkit.inline_table()
        inline.update(entry)
        array.append(inline)
    target[name] = array.multiline(len(entries) > 0)


def _add_reason(entry: dict[str, Any], correction: Correction) -> dict[str, Any]:
    return {**entry, "reason": _required_reason(correction)}


def _required_reason(correction: Correction) -> str:
    reason = str(correction.get("reason") or "").strip()
    if not reason:
        raise SettingsError("A correction needs a reason.", "State the reason in a few words.")
    return reason


def _read_seconds(correction: Correction, name: str) -> float:
    value = correction.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SettingsError(f"'{name}' of the correction is not a number.")
    return round(float(value), 4)


def _correct_contact(table: Document, correction: Correction) -> None:
    plate, from_s = correction.get("plate"), _read_seconds(correction, "from_s")

    def is_other_contact(entry: Mapping[str, Any]) -> bool:
        return entry["plate"] != plate or abs(entry["from_s"] - from_s) > MATCHES_S

    entries = _remaining_entries(table, "contacts", "override", is_other_contact)
    entry = {"plate": plate, "from_s": from_s, "side": correction.get("side")}
    _set_entries(table, "contacts", "override", [*entries, _add_reason(entry, correction)])


def _correct_event(table: Document, correction: Correction) -> None:
    """Move or remove an event; `from_s` is its current time, possibly set by an earlier correction."""
    side, event, from_s = correction.get("side"), correction.get("event"), _read_seconds(correction, "from_s")

    def is_same_event(entry: Mapping[str, Any]) -> bool:
        is_alike = entry["side"] == side and entry["event"] == event
        return is_alike and abs(entry.get("to_s", entry["from_s"]) - from_s) <= 1e-3

    earlier = _remaining_entries(table, "gait", "override", is_same_event)
    entries = _remaining_entries(table, "gait", "override", lambda entry: not is_same_event(entry))
    entry = {"side": side, "event": event, "from_s": earlier[0]["from_s"] if earlier else from_s}
    if correction.get("to_s") is not None:
        entry["to_s"] = _read_seconds(correction, "to_s")
    _set_entries(table, "gait", "override", [*entries, _add_reason(entry, correction)])


def _exclude_or_restore_cycle(table: Document, correction: Correction) -> None:
    side, start_s = correction.get("side"), _read_seconds(correction, "start_s")

    def is_other_cycle(entry: Mapping[str, Any]) -> bool:
        return entry["side"] != side or abs(entry["start_s"] - start_s) > MATCHES_S

    entries = _remaining_entries(table, "gait", "leave_out", is_other_cycle)
    if not correction.get("restore"):
        entries.append(_add_reason({"side": side, "start_s": start_s}, correction))
    _set_entries(table, "gait", "leave_out", entries)


def _rename_marker(table: Document, correction: Correction) -> None:
    """Rename a marker; with `exchange` the labels of both markers are swapped."""
    old, new = str(correction.get("label", "")), str(correction.get("new_label", "")).strip()
    if not old or not new or old == new:
        raise SettingsError("The new label of the marker is missing or unchanged.")
    names = _get_or_add_table(table, "settings", "model")
    mapping = {**names.get("marker_names", {}), old: new}
    if correction.get("exchange"):
        mapping[new] = old
    names["marker_names"] = mapping
    table["note"] = _required_reason(correction)


def _choose_static_trial(table: Document, correction: Correction) -> None:
    if correction.get("static"):
        table["static"] = str(correction["static"])
        table["note"] = _required_reason(correction)
    else:
        table.pop("static", None)


def _exclude_or_restore_trial(table: Document, correction: Correction) -> None:
    if correction.get("restore"):
        table.pop("exclude", None)
    else:
        table["exclude"] = _required_reason(correction)


def _record_review(table: Document, correction: Correction) -> None:
    name = str(correction.get("name") or "").strip()
    if not name:
        raise SettingsError("A review needs the name of the person who decides.", "Write your name.")
    review = tomlkit.inline_table()
    review.update({"decision": correction.get("decision"), "name": name, "reason": _required_reason(correction)})
    table["review"] = review


_OF_TRIALS: Final[Mapping[str, Callable[[Document, Correction], None]]] = {
    "contact": _correct_contact,
    "event": _correct_event,
    "cycle": _exclude_or_restore_cycle,
    "marker": _rename_marker,
    "static": _choose_static_trial,
    "leave_out": _exclude_or_restore_trial,
    "review": _record_review,
}
#: What each kind of correction changes, for the button that takes it back.
CHANGES: Final = {
    "contact": "foot of a contact",
    "event": "event",
    "cycle": "cycle",
    "marker": "marker names",
    "static": "static trial",
    "leave_out": "recording left out",
    "review": "decision",
    "subject": "subject data",
}
