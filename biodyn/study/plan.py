"""The plan of a study: the use of every file, and the inputs of every trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from biodyn.errors import StudyError
from biodyn.recording import FileFacts

# Use of a file in a study; the role of a recording is a `biodyn.session.Role`.
FileUse = Literal["walk", "static", "functional", "other", "excluded", "unreadable"]


@dataclass(frozen=True)
class StudyFile:
    """A recording in the study folder and its use.

    Attributes:
        path: path relative to the study root.
        role: "walk" and "unreadable" become trials (an unreadable file fails with its reason); "static" and "functional" are
            used by trials; "other" is not used, for instance because it has no plates and is not named as a walk; "excluded" is
            excluded by the user.
        reason: reason of the role, one sentence.
        facts: facts of its header, or None.
    """

    path: Path
    role: FileUse
    reason: str
    facts: FileFacts | None = None


@dataclass(frozen=True)
class PlannedTrial:
    """One walk of a subject and all inputs of its analysis.

    Attributes:
        subject, trial: names of its folder `trials/<subject>/<trial>`, safe as file names; `trial` is unique in `subject`.
        session, condition, group, site: labels for the data set, "" if unknown; a changed label needs no new analysis.
        path: file of the walk. static: file of the static trial; None = chosen when the walk is analysed, among `statics` or,
            if these are empty, among the files next to the walk, as in `run_trial`.
        named_static: whether study.toml or the command specifies the static trial; only then it scales an OpenSim model.
        companions: other recordings of the session, for a model that is fitted to all of them.
        plates: absolute path of the calibration file of the force plates, None without one.
        mass_kg, height_m: values of study.toml; None = from the files, otherwise measured.
        settings: changes of the default trial settings. rejected: reason of a rejection by a reviewer, else "".
        static_marker_names: corrected labels of static trials of the subject, by path.
    """

    subject: str
    trial: str
    path: Path
    session: str = ""
    condition: str = ""
    group: str = ""
    site: str = ""
    static: Path | None = None
    statics: tuple[Path, ...] = ()
    named_static: bool = False
    companions: tuple[Path, ...] = ()
    plates: Path | None = None
    mass_kg: float | None = None
    height_m: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    static_marker_names: Mapping[Path, Mapping[str, str]] = field(default_factory=dict)
    rejected: str = ""

    @property
    def folder(self) -> Path:
        """Return the result folder of the trial, relative to the output folder of the study."""
        return Path("trials") / self.subject / self.trial


@dataclass(frozen=True)
class StudyPlan:
    """The trials of a study in their final order (subject, session, trial), and all examined files.

    Attributes:
        name: name of the study. root: folder to which the paths of the files are relative.
        trials: planned trials. files: all recordings, sorted by path.
    """

    name: str
    root: Path
    trials: tuple[PlannedTrial, ...]
    files: tuple[StudyFile, ...]


def no_walk_error(plan: StudyPlan) -> StudyError:
    """Return the error for a folder in which no walk was found."""
    if not plan.files:
        return StudyError(
            f"'{plan.root}' contains no recording that is included automatically.",
            "Give the folder of the recordings; spreadsheets need a column map next to them, or a study.toml that "
            "lists them (docs/formats.md).",
        )
    return StudyError(
        f"No walk was found among the {len(plan.files)} recordings of '{plan.root}'.",
        "See 'biodyn study FOLDER --dry-run' for the role of each file.",
    )
