"""The opened folder: recordings found as for a study, corrections with undo, and results."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import tomlkit

from biodyn.app.corrections import (
    CHANGES,
    SUBJECT_ENTRIES,
    Correction,
    apply_to_study,
    apply_to_subject,
    read_document,
    write_text,
)
from biodyn.checks.files import FileFacts
from biodyn.conventions import SIDE_NAMES
from biodyn.errors import BiodynError, InputFileError, MarkerSetError, PlateError, SettingsError
from biodyn.io import read
from biodyn.library.settings_section import ValidationError
from biodyn.library.subject_record import RECORD_NAME
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.output.report.trial_page import render_trial_report
from biodyn.output.store.record import to_json_values
from biodyn.output.store.result_reader import StoredResult, read_view
from biodyn.processing.contacts.contact_decision import MATCHES_S
from biodyn.processing.signals.world_frame import find_world
from biodyn.recording import PlateWrench
from biodyn.settings import settings_from
from biodyn.study import Study
from biodyn.study.discovery.definition import DEFINITION_NAME, path_text
from biodyn.study.plan import PlannedTrial
from biodyn.study.running.trial_analysis import trial_key
from biodyn.study.trial_record import TrialRecord, read_trial_record
from biodyn.trial.inspection import write_check_page

FileState = tuple[str, int, int]  # path, size, time of change
State = tuple[FileState, ...]
_SHOWN_SAMPLES: Final = 800  # of a curve on the page
_UNKNOWN: Final = "unknown"


class OpenedFolder:
    """Folder of recordings shown by the local page; every correction is written to its files immediately.

    Parameters: `root` folder of the recordings. Results are written to reports/<name of the study> in it, as by `biodyn study .`.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._lock = threading.RLock()
        self._state: State | None = None
        self._study: Study | None = None
        self._keys: dict[Path, str] = {}  # of trials, as far as they were compared with their results
        self._undo: list[tuple[str, dict[Path, str | None]]] = []

    # -- contents of the folder ------------------------------------------------------------------------------------------

    def file_states(self) -> State:
        """Return path, size and modification time of every file except the results; a difference indicates a changed file."""
        found = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(
                name for name in folders if not name.startswith(".") and Path(folder, name) != self.root / "reports"
            )
            for name in sorted(names):
                try:
                    status = os.stat(os.path.join(folder, name))
                except OSError:  # removed since
                    continue
                found.append((os.path.join(folder, name), status.st_size, status.st_mtime_ns))
        return tuple(found)

    @property
    def study(self) -> Study:
        """Return the study of the folder, opened again if files changed; raises the errors of `Study.open`."""
        with self._lock:
            state = self.file_states()
            if self._study is None or state != self._state:
                self._study, self._state, self._keys = Study.open(self.root), state, {}
            return self._study

    @property
    def results_folder(self) -> Path:
        """Return the folder of the results."""
        return self.root / self.study.default_folder

    def find_trial(self, path: str) -> PlannedTrial | None:
        """Return the planned trial of a recording; None if the recording is not a trial."""
        return next((trial for trial in self.study.plan.trials if path_text(trial.path) == path), None)

    def recordings_using(self, files: Collection[FileState]) -> list[str]:
        """Return the recordings of the trials that are analysed with some of these files."""
        changed = {name for name, _, _ in files}
        return [
            path_text(trial.path)
            for trial in self.study.plan.trials
            if any(
                str(self.root / path) in changed for path in (trial.path, *trial.statics, trial.static or trial.path)
            )
        ]

    def is_outdated(self, trial: PlannedTrial, record: TrialRecord) -> bool:
        """Return whether recordings or corrections of a trial changed since its analysis."""
        with self._lock:
            if trial.path not in self._keys:
                try:
                    self._keys[trial.path] = trial_key(trial, self.root)
                except BiodynError:
                    self._keys[trial.path] = record.key
            return not record.failed and self._keys[trial.path] != record.key

    def recording_path(self, path: str) -> Path:
        """Return the absolute path of a recording of the folder; raises InputFileError for any other path."""
        if any(path_text(file.path) == path for file in self.study.plan.files):
            place = (self.root / path).resolve()
            if place.is_relative_to(self.root) and place.is_file():
                return place
        raise InputFileError("There is no such recording in the folder.", "Open the folder again.")

    def recording_rows(self) -> list[dict[str, Any]]:
        """Return the recordings of the folder as rows of a table, one per file."""
        study = self.study
        out = self.root / study.default_folder
        trials = {trial.path: trial for trial in study.plan.trials}
        owners = {path: t.subject for t in study.plan.trials for path in (t.static, *t.statics, *t.companions)}
        rows = []
        for file in study.plan.files:
            trial = trials.get(file.path)
            row: dict[str, Any] = {
                "path": path_text(file.path),
                "subject": owners.get(file.path, ""),
                "role": file.role,
                "why": file.reason,
                "problem": "" if file.role in ("static", "functional", "walk") else file.reason,
                "status": "",
                "outdated": False,
            }
            row |= {"session": "", "static": "", "activity": "", "trial": trial, "review": ""}
            row["plates"] = "" if file.facts is None else file.facts.plate_count
            row["markers"] = "" if file.facts is None else _marker_set_name(file.facts.labels)
            if trial is not None:
                record = read_trial_record(out / trial.folder)
                row |= {"subject": trial.subject, "session": trial.session}
                row["static"] = path_text(trial.static) if trial.static else "chosen during the analysis"
                review = _find_review(study, row["path"])
                row["review"] = "" if review is None else f"{review['decision']} by {review['name']}"
                if record is not None:
                    row |= {"status": record.status, "problem": record.reason}
                    row["outdated"] = self.is_outdated(trial, record)
                    row["activity"] = str(record.metrics.get("activity") or "")
            rows.append(row)
        return rows

    def recording_details(self, path: str) -> dict[str, Any]:
        """Return the contents of the page of a recording as JSON values, except for its curves."""
        self.recording_path(path)
        trial = self.find_trial(path)
        file = next(file for file in self.study.plan.files if path_text(file.path) == path)
        details: dict[str, Any] = {"path": path, "role": file.role, "reason": file.reason, "trial": trial}
        details["statics"] = [path_text(f.path) for f in self.study.plan.files if f.role in ("static", "walk")]
        details["entry"] = tomlkit.dumps(read_document(self.root / DEFINITION_NAME).get("trials", {}).get(path, {}))
        details["review"] = _find_review(self.study, path)
        record = details["record"] = None if trial is None else read_trial_record(self.results_folder / trial.folder)
        details["outdated"] = trial is not None and record is not None and self.is_outdated(trial, record)
        details["findings"] = self._sorted_findings(trial)
        details["subject"] = {} if trial is None else self._subject_values(trial)
        details["labels"] = [] if file.facts is None else sorted(file.facts.labels)
        return details

    def _sorted_findings(self, trial: PlannedTrial | None) -> list[Mapping[str, Any]]:
        if trial is None or not (self.results_folder / trial.folder / "run.json").is_file():
            return []
        found = StoredResult(self.results_folder / trial.folder).record.get("diagnostics", [])
        order = {"error": 0, "warning": 1}
        shown = [finding for finding in found if finding.get("severity") in order]
        return sorted(
            ({**finding, "place": _page_section_of_finding(str(finding.get("code")))} for finding in shown),
            key=lambda finding: order[finding["severity"]],
        )

    # -- pages ----------------------------------------------------------------------------------------------------

    def check_page(self, path: str) -> str:
        """Return the page of `biodyn check`: the recording in 3-D with markers, plates and forces."""
        with tempfile.TemporaryDirectory() as folder:
            return write_check_page(self.recording_path(path), folder)[1].read_text(encoding="utf-8")

    def trial_page(self, path: str) -> str:
        """Return the report of a trial; raises ResultError without a result."""
        trial = self.find_trial(path)
        if trial is None:
            raise InputFileError("This recording is not a trial.", "Only walks have a report.")
        view = read_view(self.results_folder / trial.folder)
        return render_trial_report(view, view.figures_svg())

    def recording_signals(self, path: str) -> dict[str, Any]:
        """Return the curves of a recording as JSON values: vertical plate forces (N), contacts, events and cycles (s).

        Corrections of contacts and events are applied, even if the trial was not analysed again.
        """
        recording, trial = read(self.recording_path(path)), self.find_trial(path)
        markers = recording.motion.markers
        wrenches: tuple[PlateWrench | PlateError, ...] = ()
        if markers is not None:
            world = find_world(recording)
            wrenches = FileFacts(recording.rotated(world.R_WL), settings_from(None), "auto").wrenches
        end_s = 0.0 if markers is None else (markers.frame_count - 1) / markers.rate_hz
        signals: dict[str, Any] = {"end_s": end_s, "plates": [], "contacts": [], "events": [], "cycles": []}
        for plate in wrenches:
            if isinstance(plate, PlateError):
                continue
            vertical_n = plate.wrench[:, 4]
            every = max(1, len(vertical_n) // _SHOWN_SAMPLES)
            values = to_json_values(vertical_n[::every].round(1))
            signals["plates"].append({"number": plate.number, "rate_hz": plate.rate_hz / every, "values": values})
        if trial is None or not (self.results_folder / trial.folder / "run.json").is_file():
            return signals
        result = StoredResult(self.results_folder / trial.folder)
        signals |= {name: _json_rows(getattr(result, name).to_dict("records")) for name in ("contacts", "events")}
        signals["cycles"] = _json_rows(result.spatiotemporal[["side", "start_s", "end_s"]].to_dict("records"))
        entry = self.study.definition.trials.get(path)
        corrections = {} if entry is None else entry.settings
        gait = corrections.get("gait", {})
        signals["omitted"] = [dict(cycle) for cycle in gait.get("leave_out", [])]
        for change in corrections.get("contacts", {}).get("override", []):
            for contact in signals["contacts"]:
                if contact["plate"] == change["plate"] and abs(contact["start_s"] - change["from_s"]) <= MATCHES_S:
                    contact["side"] = change["side"]
        for change in gait.get("override", []):
            for event in list(signals["events"]):
                is_alike = (event["side"], event["event"]) == (change["side"], change["event"])
                if is_alike and abs(event["time_s"] - change["from_s"]) <= MATCHES_S:
                    signals["events"].remove(event)
                    signals["events"] += [{**event, "time_s": change["to_s"]}] if "to_s" in change else []
        return signals

    # -- corrections ------------------------------------------------------------------------------------------------

    def apply_correction(self, correction: Correction) -> None:
        """Write a correction to study.toml or subject.toml; an invalid one raises SettingsError and changes nothing."""
        with self._lock:
            path = str(correction.get("path", ""))
            definition = self.root / DEFINITION_NAME
            self.recording_path(path)
            if correction.get("kind") == "subject":
                trial = self.find_trial(path)
                if trial is None:
                    raise SettingsError("Subject data belong to a walk.", "Open a walk of the subject.")
                target = self._subject_file(trial)
                document = read_document(target)
                table: Any = document
                if target == definition:  # several people in one folder
                    for name in ("subjects", trial.subject, "settings", "subject"):
                        table = table.setdefault(name, tomlkit.table())
                try:
                    apply_to_subject(table, correction)
                except ValidationError as error:
                    first = error.errors()[0]
                    raise SettingsError(f"'{first['loc'][0]}' is not valid: {first['msg']}.") from error
            else:
                target, document = definition, read_document(definition)
                apply_to_study(document, path, correction)
            self._write_with_undo({target: tomlkit.dumps(document)}, f"{CHANGES[str(correction.get('kind'))]}, {path}")

    def _write_with_undo(self, contents: dict[Path, str | None], what: str) -> None:
        """Write files and store their previous contents for undo; files that make the study invalid are restored."""
        before = {place: place.read_text(encoding="utf-8") if place.is_file() else None for place in contents}
        for place, text in contents.items():
            write_text(place, text)
        try:
            _ = self.study
        except BiodynError:
            for place, text in before.items():
                write_text(place, text)
            raise
        self._undo.append((what, before))

    @property
    def last_change(self) -> str:
        """Return a description of the change that `undo` reverts; "" if there is none."""
        return self._undo[-1][0] if self._undo else ""

    def undo(self) -> None:
        """Revert the last change."""
        with self._lock:
            if not self._undo:
                raise SettingsError("There is nothing to undo.")
            _, before = self._undo.pop()
            for place, text in before.items():
                write_text(place, text)

    def _subject_file(self, trial: PlannedTrial) -> Path:
        """Return subject.toml in the folder of a subject; study.toml if the folder also contains recordings of other subjects."""
        own = {t.path.parent for t in self.study.plan.trials if t.subject == trial.subject}
        others = {t.path.parent for t in self.study.plan.trials if t.subject != trial.subject}
        top = Path(os.path.commonpath([str(folder) or "." for folder in own])) if len(own) > 1 else next(iter(own))
        near = all(folder == top or folder.parent == top for folder in own)
        is_shared = any(folder.is_relative_to(top) for folder in others)
        return self.root / top / RECORD_NAME if near and not is_shared else self.root / DEFINITION_NAME

    def _subject_values(self, trial: PlannedTrial) -> dict[str, Any]:
        target = self._subject_file(trial)
        document: Any = read_document(target)
        if target.name == DEFINITION_NAME:
            for name in ("subjects", trial.subject, "settings", "subject"):
                document = document.get(name, {})
        return {name: document.get(name, "") for name in SUBJECT_ENTRIES}


def _find_review(study: Study, path: str) -> Mapping[str, Any] | None:
    """Return the decision of a reviewer about a trial; None if there is none."""
    entry = study.definition.trials.get(path)
    return None if entry is None or entry.review is None else entry.review.model_dump()


@lru_cache(256)
def _marker_set_name(labels: frozenset[str]) -> str:
    """Return the name of the marker set that matches the labels of a recording; "" without labels."""
    try:
        return recognise_marker_set(tuple(labels), "auto").name if labels else ""
    except MarkerSetError:
        return _UNKNOWN


def _json_rows(records: Iterable[Mapping[Any, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a table as JSON values with the names of the sides."""
    return list(to_json_values([{**row, "side": SIDE_NAMES.get(row["side"], row["side"])} for row in records]))


# Part of the page that corrects what a finding names, by words of its code.
_PLACES: Final = (
    ("subject", ("mass", "height", "age", "sex", "subject")),
    ("static", ("static", "standing")),
    ("curves", ("contact", "event", "cycle", "plate", "force", "residual")),
    ("markers", ("marker", "label", "swap")),
)


def _page_section_of_finding(code: str) -> str:
    return next((place for place, words in _PLACES if any(word in code for word in words)), "recording")
