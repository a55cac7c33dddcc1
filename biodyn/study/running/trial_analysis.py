"""Analyse one trial of a study in a trial process and write its folder."""

from __future__ import annotations

import hashlib
import json
import os
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.errors import BiodynError, InputFileError, ResultError, StudyError, printable_text
from biodyn.io import file_sha256, files_of_recording, read
from biodyn.library.subject_record import subject_record_file
from biodyn.model.from_library.user_tables import load_user_tables, user_table_name
from biodyn.output.store.folder import REPORT_NAME, remove_unfinished_folders, replace_folder, trial_file_test
from biodyn.output.store.result_writer import write_manifest, write_report, write_view
from biodyn.session import is_contraction, static_candidates
from biodyn.settings import PATH_ENTRIES, Settings, settings_from
from biodyn.study.collecting.cycles import summary_metrics, write_cycles
from biodyn.study.plan import PlannedTrial
from biodyn.study.running.task import (
    TRACEBACK_NAME,
    Outcome,
    Task,
    kept_record,
    limited_key,
    outcome_without_report,
    program_version,
    require_output_folder,
    task_outcome,
    write_failure,
)
from biodyn.study.trial_record import FAILED, TrialRecord, write_trial_record
from biodyn.trial.request import SessionMemory, TrialRequest, trial_request
from biodyn.trial.result import TrialResult
from biodyn.trial.run import regenerate_report, run_request
from biodyn.trial.session_estimates import content_hash
from biodyn.trial.trial_files import NO_STATIC, TrialFiles, read_files, with_other_person_warning

#: Inode, size and modification time of files; None if a file does not exist.
FileStates = Mapping[Path, tuple[int, int, int] | None]


def trial_key(trial: PlannedTrial, root: Path) -> str:
    """Return the key of a trial with files below `root`.

    The key includes all candidates for the static trial, also those next to the walk (names and contents), and, for a model
    that is fitted to the session, the contents of all its recordings. It does not include labels (session, condition, group),
    which are added when results are collected. Raises InputFileError for a file that cannot be read, SettingsError for
    invalid settings.
    """
    settings: Settings = settings_from(dict(trial.settings))
    walk = root / trial.path
    # the model may be fitted to all of them; the EMG of maximal contractions is used in any case
    used = trial.companions if settings.model.fit == "session" else filter(is_contraction, trial.companions)
    content: dict[str, Any] = {
        "program": program_version(),
        "walk": file_sha256(walk),
        "static": _static_hashes(trial, root),
        "mass_kg": trial.mass_kg,
        "height_m": trial.height_m,
        "settings": _settings_without_paths(settings),
        "companions": sorted(content_hash(root / path) for path in used),
        "tables": [(file.role, file.sha256) for file in load_user_tables(settings.table_names)],
    }
    record = subject_record_file(walk)
    if record is not None:
        content["subject"] = record.sha256
    if settings.model.osim is not None:
        content["osim"] = file_sha256(Path(settings.model.osim))
        content["scaled"] = trial.named_static
    if trial.static_marker_names:
        content["static_marker_names"] = sorted((str(p), dict(names)) for p, names in trial.static_marker_names.items())
    if trial.plates is not None:
        content["plates"] = file_sha256(trial.plates)
    companion_files = [*files_of_recording(walk)[1:], *_static_companions(trial, root)]
    if companion_files:
        content["beside"] = [file_sha256(path) for path in dict.fromkeys(companion_files)]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def input_files(trial: PlannedTrial, root: Path) -> FileStates:
    """Return the state of the files that determine the key of a trial.

    Raises InputFileError for a walk that cannot be read.
    """
    walk = root / trial.path
    inputs = [walk, *files_of_recording(walk)[1:], *_static_paths(trial, root), *_static_companions(trial, root)]
    return {path: _file_state(path) for path in (*inputs, *(root / path for path in trial.companions))}


def changed_files(files: FileStates) -> list[Path]:
    """Return the files that changed since `input_files` was called."""
    return [path for path, known in files.items() if _file_state(path) != known]


def _file_state(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _static_paths(trial: PlannedTrial, root: Path) -> list[Path]:
    """Return the static trial of a trial, or all candidates if it is chosen during the analysis."""
    if trial.static is not None:
        return [] if str(trial.static) == NO_STATIC else [root / trial.static]
    return [root / path for path in trial.statics] or list(static_candidates(root / trial.path))


def _static_companions(trial: PlannedTrial, root: Path) -> list[Path]:
    """Return additional files of the static trials (forces, subject data); unreadable files are ignored."""
    companion_files: list[Path] = []
    for path in _static_paths(trial, root):
        with suppress(InputFileError):
            companion_files += files_of_recording(path)[1:]
    return companion_files


def _static_hashes(trial: PlannedTrial, root: Path) -> Any:
    statics = _static_paths(trial, root)
    if trial.static is not None:
        return [file_sha256(path) for path in statics] or NO_STATIC
    read = file_sha256 if trial.statics else content_hash  # the search for a static trial ignores unreadable files
    return [(os.path.relpath(path, (root / trial.path).parent), read(path)) for path in statics]


def _settings_without_paths(settings: Settings) -> dict[str, Any]:
    """Return the settings without paths of user tables, whose contents are hashed; a moved table is the same table."""
    values = settings.model_dump(mode="json")
    for section, entry in PATH_ENTRIES:
        values[section][entry] = user_table_name(values[section][entry]) or values[section][entry]
    return values


_KEPT = 4  # the trials of a subject are consecutive


class RecordingCache:
    """Reader of walks with their static trials.

    It caches the last static trials, and the values that all walks of a session share.
    """

    def __init__(self) -> None:
        self.memory, self._statics = SessionMemory(), SessionMemory()

    def read(self, walk: Path, static: Path) -> TrialFiles:
        """Read the walk and its static trial; InputFileError if one cannot be read."""
        content, recording = file_sha256(static), read(walk)
        standing = self._statics.get_or_compute(f"{content} {static}", lambda: read(static), _KEPT)
        return with_other_person_warning(TrialFiles(recording, standing, "specified by the study"))


_WANT_OF_MEMORY = "The analysis needs more memory than the limit of a trial."


def perform_task(task: Task, recordings: RecordingCache, say_key: Callable[[str], None]) -> Outcome:
    """Analyse the trial of a task and write its folder, or keep the existing result.

    All errors of the analysis are caught here, so that they affect only this trial; OSError from writing is not caught,
    because it affects the whole study. `say_key` is called with the key before the analysis begins. Raises StudyError for
    another program version, or if the folder of the recordings or results is missing.
    """
    _require_same_program(task)
    key = ""
    files: FileStates = {}
    result = previous = None
    try:
        files = input_files(task.trial, task.root)
        key = trial_key(task.trial, task.root)
        say_key(key)
        earlier = kept_record(task, key)
        previous = None if earlier is None else task_outcome(task.trial, earlier, kept=True)
        if previous is not None:
            with_report = _add_missing_report(task, previous)
            if with_report is not None:
                return with_report
        result = run_request(planned_trial_request(task.trial, task.root, recordings))
        record, trace = _result_record(result, key), ""
        _ = result.view  # everything that can fail is computed before anything is written
    except Exception as error:
        # a report could not be written; the existing result is kept
        if previous is not None and isinstance(error, OSError):
            raise
        record, trace = _failed_record(error, key, task)
    require_output_folder(task.out)
    if record.failed:
        _require_recordings(task)
    changed = changed_files(files) or _changed_inputs(result, task)
    if changed:
        record, trace = _changed_input_record(changed[0], task), ""
    elif result is not None and not record.failed:
        try:
            _write_result(task, record, result)
        except (OSError, ResultError):  # due to the disk and not to the trial
            raise
        except Exception as error:
            record, trace = _failed_record(error, key, task)
    if record.failed:
        write_failure(task.folder, record, trace)
    return task_outcome(task.trial, record)


def _require_same_program(task: Task) -> None:
    if task.program != program_version():
        raise StudyError(
            f"This worker runs biodyn {program_version()}, but the study was started with {task.program}.",
            "If the program was changed, run the study again; on a cluster, install the same version of biodyn on every machine.",
        )


def _require_recordings(task: Task) -> None:
    """Raise StudyError if the folder of the recordings is missing."""
    if not (task.root / task.trial.path).exists() and not (task.root.is_dir() and any(task.root.iterdir())):
        raise StudyError(
            f"The folder of the recordings, '{task.root}', does not exist any more.",
            "Restore it (mount its disk), and run the study again; it resumes.",
        )


def _changed_inputs(result: TrialResult | None, task: Task) -> list[Path]:
    """Return the walk if the contents of its file changed since it was read.

    Contents are compared, because file times may be too coarse to detect a change.
    """
    walk = task.root / task.trial.path
    return [] if result is None or result.analysis.recording.sha256 == file_sha256(walk) else [walk]


def _changed_input_record(path: Path, task: Task) -> TrialRecord:
    """Return the record of a trial with an input that changed during the analysis; it has no key, so the next run repeats it."""
    text = f"'{_portable_text(str(path), task)}' changed while it was read."
    return TrialRecord("", FAILED, InputFileError.__name__, text, "Run the study again when the file is complete.")


def _failed_record(error: Exception, key: str, task: Task) -> tuple[TrialRecord, str]:
    """Return the record of a failed trial, and the traceback for a program error."""
    name = type(error).__name__
    if isinstance(error, BiodynError):
        return TrialRecord(key, FAILED, name, _portable_text(error.message, task), _portable_text(error.hint, task)), ""
    if isinstance(error, MemoryError):
        hint = "Raise memory_limit_mb under [running] in study.toml, or shorten the recording."
        return TrialRecord(limited_key(key, task.limits), FAILED, name, _WANT_OF_MEMORY, hint), ""
    reason = f"Program error: {name}: {_portable_text(str(error), task)}"
    hint = f"Please report it with {TRACEBACK_NAME} from the folder of this trial."
    return TrialRecord(key, FAILED, name, reason, hint), "".join(traceback.format_exception(error))


def _write_result(task: Task, record: TrialRecord, result: TrialResult) -> None:
    folder = task.folder
    remove_unfinished_folders(folder)
    output = result.analysis.settings.output
    pack = output.is_packed(float(np.ptp(result.analysis.time_s)))
    with replace_folder(folder, trial_file_test) as place:
        write_view(result.view, place, pack)
        report = output.report or task.requires_report(record.status)
        write_report(result.view, place, figures=output.figures, report=report)
        write_cycles(result, place)
        write_trial_record(record, place)
        write_manifest(place, pack=pack)


def _add_missing_report(task: Task, previous: Outcome) -> Outcome | None:
    """Write the report of a trial with a kept result if it is requested and missing; return the outcome.

    Returns None if the result is damaged, so that the trial must be repeated. Other errors affect only the report; OSError is
    raised.
    """
    if not task.requires_report(previous.status) or (task.folder / REPORT_NAME).is_file():
        return previous
    try:
        regenerate_report(task.folder, figures=False)
    except ResultError:
        return None
    except MemoryError:
        return outcome_without_report(previous, _WANT_OF_MEMORY)
    except OSError:
        raise
    except Exception as error:
        return outcome_without_report(previous, f"{type(error).__name__}: {_portable_text(str(error), task)}")
    return previous


def planned_trial_request(trial: PlannedTrial, root: Path, recordings: RecordingCache) -> TrialRequest:
    """Return the request of a planned trial with files below `root`."""
    walk = root / trial.path
    static = None if trial.static is None else root / trial.static
    no_static = str(trial.static) == NO_STATIC
    request = trial_request(
        walk,
        None,
        trial.mass_kg,
        trial.height_m,
        trial.settings,
        companions=[root / path for path in trial.companions],
        memory=recordings.memory,
        plates=trial.plates,
    )
    names = {root / path: names for path, names in trial.static_marker_names.items()}
    request = replace(request, static_marker_names=names)
    if request.settings.model.osim is not None:
        # the model has the size of the person unless a given static trial scales it
        return replace(request, static_path=static if trial.named_static and not no_static else None)
    if no_static:
        return replace(request, files=read_files(walk, NO_STATIC))
    if static is not None:
        return replace(request, files=recordings.read(walk, static))
    if trial.statics:
        return replace(request, files=read_files(walk, None, [root / path for path in trial.statics]))
    return request


def _result_record(result: TrialResult, key: str) -> TrialRecord:
    verdict = result.verdict
    if not verdict.causes:
        return TrialRecord(key, verdict.status, metrics=summary_metrics(result))
    first = verdict.causes[0]
    return TrialRecord(
        key, verdict.status, reason=f"{first.title}: {first.text}", hint=first.hint, metrics=summary_metrics(result)
    )


def _portable_text(text: str, task: Task) -> str:
    """Return a text in which paths are relative to the study folder."""
    for place in (str(task.root), printable_text(str(task.root))):
        text = text.replace(f"{place}/", "").replace(place, ".")
    return printable_text(text, keep="\n\t")
