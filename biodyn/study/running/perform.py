"""Analyse one trial of a study and write its folder: the work of a trial process."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

from biodyn.errors import BiodynError, InputFileError, ResultError, StudyError, printable
from biodyn.io import file_sha256
from biodyn.output.store.folder import REPORT_NAME, remove_unfinished, replacing, trial_files
from biodyn.output.store.write import seal, write_report, write_view
from biodyn.settings import settings_from
from biodyn.study.collecting.cycles import write_cycles
from biodyn.study.collecting.metrics import summary_metrics
from biodyn.study.record import FAILED, TrialRecord, write_record
from biodyn.study.running.key import FileStates, changed_since, input_files, trial_key
from biodyn.study.running.lock import require_there
from biodyn.study.running.program import program_version
from biodyn.study.running.recording_cache import RecordingCache
from biodyn.study.running.task import (
    TRACEBACK_NAME,
    Outcome,
    Task,
    kept_record,
    limited,
    outcome_of,
    without_report,
    write_failed,
)
from biodyn.trial.bodies.opensim import on_model, whole_result
from biodyn.trial.files import NO_STATIC, read_files
from biodyn.trial.result import TrialResult
from biodyn.trial.run import remake_report, run_trial

_WANT_OF_MEMORY = "The analysis needs more memory than a trial may use."


def perform(task: Task, recordings: RecordingCache, say_key: Callable[[str], None]) -> Outcome:
    """Analyse the trial of a task and write its folder, or keep what is there.

    Only here is every error caught: it costs this trial and no other. OSError from writing is not caught: no disk
    space, no study. `say_key` is called with the key before the analysis begins.
    Raises StudyError where this is not the program that asked, or where the folder of the recordings or of the results is gone.
    """
    _require_same_program(task)
    key = ""
    files: FileStates = {}
    result = kept = None
    try:
        files = input_files(task.trial, task.root)
        key = trial_key(task.trial, task.root)
        say_key(key)
        earlier = kept_record(task, key)
        kept = None if earlier is None else outcome_of(task.trial, earlier, kept=True)
        if kept is not None:
            found = _with_report(task, kept)
            if found is not None:
                return found
        result = _analysed(task, recordings)
        record, trace = _record_of(result, key), ""
        _ = result.view  # make everything that can fail before anything is written
    except Exception as error:
        if kept is not None and isinstance(error, OSError):  # the disk refused a report: what was kept stays
            raise
        record, trace = _failure(error, key, task)
    require_there(task.out)
    if record.failed:
        _require_recordings(task)
    changed = changed_since(files) or _read_otherwise(result, task)
    if changed:
        record, trace = _changed(changed[0], task), ""
    elif result is not None and not record.failed:
        try:
            _write(task, record, result)
        except (OSError, ResultError):  # the disk, not the trial
            raise
        except Exception as error:
            record, trace = _failure(error, key, task)
    if record.failed:
        write_failed(task.folder, record, trace)
    return outcome_of(task.trial, record)


def _require_same_program(task: Task) -> None:
    if task.program != program_version():
        raise StudyError(
            f"This worker runs biodyn {program_version()}, the study was started with {task.program}.",
            "Where the program was changed meanwhile, run the study again; on a cluster, install the same version of "
            "biodyn on every machine.",
        )


def _require_recordings(task: Task) -> None:
    """Raise StudyError where not this recording is missing but all of them."""
    if not (task.root / task.trial.path).exists() and not (task.root.is_dir() and any(task.root.iterdir())):
        raise StudyError(
            f"The folder of the recordings, '{task.root}', is gone.",
            "Bring it back (mount its disk), and run the study again: it resumes.",
        )


def _read_otherwise(result: TrialResult | None, task: Task) -> list[Path]:
    """The walk, where what was read is not what it holds: clocks of files may be too coarse to tell."""
    walk = task.root / task.trial.path
    return [] if result is None or result.analysis.recording.sha256 == file_sha256(walk) else [walk]


def _changed(path: Path, task: Task) -> TrialRecord:
    """Of what was computed while an input changed: it stands for no key, and the next run does it again."""
    text = f"'{_portable(str(path), task)}' changed while it was read."
    return TrialRecord("", FAILED, InputFileError.__name__, text, "Run the study again when it is complete.")


def _failure(error: Exception, key: str, task: Task) -> tuple[TrialRecord, str]:
    """The record of what an error cost, and its traceback where it is a defect of ours."""
    name = type(error).__name__
    if isinstance(error, BiodynError):
        return TrialRecord(key, FAILED, name, _portable(error.message, task), _portable(error.hint, task)), ""
    if isinstance(error, MemoryError):
        hint = "Raise memory_limit_mb under [running] in study.toml, or cut the recording."
        return TrialRecord(limited(key, task.limits), FAILED, name, _WANT_OF_MEMORY, hint), ""
    reason = f"Program error: {name}: {_portable(str(error), task)}"
    hint = f"Please report it with {TRACEBACK_NAME} of this trial's folder."
    return TrialRecord(key, FAILED, name, reason, hint), "".join(traceback.format_exception(error))


def _write(task: Task, record: TrialRecord, result: TrialResult) -> None:
    folder = task.folder
    remove_unfinished(folder)
    output = result.analysis.settings.output
    with replacing(folder, trial_files) as place:
        write_view(result.view, place, output.packed)
        report = output.report or task.wants_report(record.status)
        write_report(result.view, place, figures=output.figures, report=report)
        write_cycles(result, place)
        write_record(record, place)
        seal(place, pack=output.packed)


def _with_report(task: Task, kept: Outcome) -> Outcome | None:
    """A kept trial with the report it is to have, made now if not before; None where its result is damaged, and made again.

    What else keeps the report from being made costs the report alone. OSError is the disk's.
    """
    if not task.wants_report(kept.status) or (task.folder / REPORT_NAME).is_file():
        return kept
    try:
        remake_report(task.folder, figures=False)
    except ResultError:
        return None
    except MemoryError:
        return without_report(kept, _WANT_OF_MEMORY)
    except OSError:
        raise
    except Exception as error:
        return without_report(kept, f"{type(error).__name__}: {_portable(str(error), task)}")
    return kept


def _analysed(task: Task, recordings: RecordingCache) -> TrialResult:
    trial = task.trial
    walk = task.root / trial.path
    settings = settings_from(dict(trial.settings))
    if settings.model.osim is not None:
        # the model is the person's own unless a static trial is named that scales it
        named = trial.named_static and trial.static is not None and str(trial.static) != NO_STATIC
        static = task.root / str(trial.static) if named else None
        return whole_result(walk, on_model(settings, static, trial.mass_kg, height_m=trial.height_m), settings)
    read = None
    if trial.static is not None and str(trial.static) == NO_STATIC:
        read = read_files(walk, NO_STATIC)
    elif trial.static is not None:
        read = recordings.read(walk, task.root / trial.static)
    elif trial.statics:
        read = read_files(walk, None, [task.root / path for path in trial.statics])
    companions = [task.root / path for path in trial.companions]
    return run_trial(
        walk,
        None,
        trial.mass_kg,
        trial.height_m,
        dict(trial.settings),
        files=read,
        companions=companions,
        memory=recordings.memory,
    )


def _record_of(result: TrialResult, key: str) -> TrialRecord:
    verdict = result.verdict
    if not verdict.causes:
        return TrialRecord(key, verdict.status, metrics=summary_metrics(result))
    first = verdict.causes[0]
    return TrialRecord(
        key, verdict.status, reason=f"{first.title}: {first.text}", hint=first.hint, metrics=summary_metrics(result)
    )


def _portable(text: str, task: Task) -> str:
    """The text without the place of the study's files on this machine."""
    return replace_root(text, task.root)


def replace_root(text: str, root: Path) -> str:
    """Return the text with paths relative to `root`."""
    for place in (str(root), printable(str(root))):
        text = text.replace(f"{place}/", "").replace(place, ".")
    return printable(text, keep="\n\t")
