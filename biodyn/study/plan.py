"""What a study is going to do, before it does it: every file accounted for, every trial with all it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from biodyn.errors import StudyError

# Use of a file in a study; the role of the recording itself is a `biodyn.session.Role`.
FileUse = Literal["walk", "static", "functional", "other", "excluded", "unreadable"]


@dataclass(frozen=True)
class StudyFile:
    """One recording of the study's folder and what it is taken for.

    Attributes:
        path: relative to the study's root.
        role: "walk" and "unreadable" become trials (an unreadable file fails, with its reason); "static" and
            "functional" serve them; "other" is left out with a reason (no plates and no walk's name ...); "excluded" is
            left out by the user.
        reason: one sentence: why this role.
        mass_kg: body mass stored in it, or None.
    """

    path: Path
    role: FileUse
    reason: str
    mass_kg: float | None = None


@dataclass(frozen=True)
class PlannedTrial:
    """One walk of one subject and everything its analysis needs.

    Attributes:
        subject, trial: name its folder `trials/<subject>/<trial>`; safe as file names; `trial` is unique in `subject`.
        session, condition, group, site: labels for the data set, "" if unknown; changing a label needs no new analysis.
        path: the walk's file. static: the static trial's; None = chosen when the walk is analysed, among `statics` or,
            if these are empty, among the files next to the walk, as in `run_trial`.
        named_static: whether study.toml or the command names the static; a model of the settings is scaled by no other.
        companions: other recordings of the person's session, for a subject's model that is fitted to all of them.
        plates: calibration file of the force plates, None without one; absolute.
        mass_kg, height_m: from study.toml; None = from the files, otherwise measured.
        settings: what differs from the default trial settings. rejected: why a person rejected it, "" unless one did.
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
    rejected: str = ""

    @property
    def folder(self) -> Path:
        """Result folder of the trial, relative to the study's output folder."""
        return Path("trials") / self.subject / self.trial


@dataclass(frozen=True)
class StudyPlan:
    """The trials of a study in their final order (subject, session, trial), and every file that was looked at.

    Attributes:
        name: of the study. root: folder the files' paths are relative to.
        trials: what will be analysed. files: every recording, by path.
    """

    name: str
    root: Path
    trials: tuple[PlannedTrial, ...]
    files: tuple[StudyFile, ...]


def no_walk(plan: StudyPlan) -> StudyError:
    """Return the error for a folder without trials."""
    if not plan.files:
        return StudyError(
            f"'{plan.root}' holds no recording that is taken without being named.",
            "Give the folder of the recordings; spreadsheets need a column map next to them, or a study.toml that names them "
            "(docs/formats.md).",
        )
    return StudyError(
        f"No walk was found among the {len(plan.files)} recordings of '{plan.root}'.",
        "See 'biodyn study FOLDER --dry-run' for the role of each file.",
    )
