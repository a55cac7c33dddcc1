"""What becomes of a file in a study: a walk to analyse, a static trial, nothing. What a recording is for is judged by
`biodyn.session.role`; here it is joined with what a study knows beyond that: whose file it is, and that of its siblings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from biodyn.io.tables.spreadsheet import SPREADSHEET_SUFFIXES
from biodyn.session import MotionFacts, Role, TrialNames, judge_role
from biodyn.study.discovery.subjects.assignment import SubjectAssignment
from biodyn.study.plan import FileUse

# A study analyses walks and runs alike.
_USES: Mapping[Role, FileUse] = {
    "static": "static",
    "functional": "functional",
    "walk": "walk",
    "run": "walk",
    "other": "other",
}


def decide_use(
    assignment: SubjectAssignment,
    walk_names: frozenset[tuple[str, ...]],
    motion: Callable[[], MotionFacts | None],
    on_model: bool = False,
) -> tuple[FileUse, str]:
    """Return use and reason.

    `walk_names` are the name patterns of walks with plates, see `name_pattern`; `motion` tells what is done in the file;
    `on_model`: whether the study runs on an OpenSim model.
    """
    file = assignment.file
    if file.twin is not None:
        return "other", f"It holds the same recording as '{file.twin}'."
    if file.path.name.startswith("."):
        return "other", "A hidden file, as macOS leaves beside copies."
    if file.facts is None:
        return "unreadable", file.trouble
    if file.facts.coordinates:
        if file.path.suffix.lower() in SPREADSHEET_SUFFIXES and not on_model:
            return (
                "other",
                "It holds coordinates of a model: name that under [settings.model] of study.toml, osim = ...",
            )
        return "walk", "It holds coordinates of a model."
    role, reason = judge_role(_names(assignment), file.facts, name_pattern(assignment) in walk_names, motion)
    return _USES[role], reason


def name_pattern(assignment: SubjectAssignment) -> tuple[str, ...]:
    """Person and words of a file's name without its counters: one for 'P01_walk01' and 'P01_walk02'."""
    return (assignment.label, *(token.text.casefold() for token in assignment.stem_tokens() if token.kind != "counter"))


def _names(assignment: SubjectAssignment) -> TrialNames:
    levels = range(len(assignment.folders))
    return TrialNames(
        assignment.stem_tokens(), tuple(assignment.folder_tokens(level) for level in levels), assignment.person_tokens()
    )
