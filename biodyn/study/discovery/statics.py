"""The static trial of every walk, where headers, names and folders make it clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from biodyn.errors import InputFileError
from biodyn.recording import FileFacts
from biodyn.session import choose_static, glimpse_of_file, judge_static


@dataclass(frozen=True)
class LabelledFile:
    """A walk or static of one person with its labels; `home` are the folders around the person."""

    path: Path
    facts: FileFacts
    session: str
    condition: str
    home: tuple[str, ...] = ()


def possible_statics(walk: LabelledFile, statics: Sequence[LabelledFile]) -> tuple[Path, ...]:
    """Return the static trials of one person's that may belong to the walk, the best first; empty where none is clear.

    Of the walk's session, else of none (markers are put on again for another session); then of its condition, else of
    none, else of the same place. Which of several it is, joint offsets and markers tell when the walk is analysed, by the
    judgement of a single walk (`session.static_choice`).
    """
    judged = [(static, judge_static(walk.facts, static.facts)) for static in statics]
    usable = [(static, verdict.score) for static, verdict in judged if not verdict.rejected]
    usable = _of_label(usable, "session", walk.session)
    fitting = _of_label(usable, "condition", walk.condition)
    usable = fitting or [(static, score) for static, score in usable if static.home == walk.home]
    usable.sort(key=lambda entry: (-entry[1], entry[0].path))
    return tuple(static.path for static, _ in usable)


def serves(walk: LabelledFile, static: LabelledFile) -> bool:
    """False where the markers say that a static trial is not this walk's: another body, or nobody stands in it.

    True also where they cannot be read: the analysis then says what is wrong with them.
    """
    try:
        markers = glimpse_of_file(walk.facts.path).markers
        glimpse_of_file(static.facts.path)
    except (InputFileError, OSError):
        return True
    return choose_static(walk.facts, markers, [static.facts.path], same_person=True).path is not None


def _of_label(usable: list[tuple[LabelledFile, float]], label: str, wanted: str) -> list[tuple[LabelledFile, float]]:
    """Those with the label; where there are none, those without any."""
    same = [entry for entry in usable if getattr(entry[0], label).casefold() == wanted.casefold()]
    return same or [entry for entry in usable if not getattr(entry[0], label)]
