"""The static trial of every walk, where headers, names and folders make it clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from biodyn.io.file_facts import FileFacts
from biodyn.io.statics import judge_static

_CLEARLY = 0.25  # more of the score: below, names hardly differ


@dataclass(frozen=True)
class LabelledFile:
    """A walk or static of one person with its labels."""

    path: Path
    facts: FileFacts
    session: str
    condition: str


def clear_static(walk: LabelledFile, statics: Sequence[LabelledFile]) -> Path | None:
    """Return the static trial that belongs to the walk, of one person's; None where that is not clear.

    Of the walk's session, else of none (markers are put on again for another session); then of its condition, else of
    none; then the one that scores best as in the search beside a walk. Two alike are left to the analysis.
    """
    usable = [(static, judge_static(walk.facts, static.facts)) for static in statics]
    usable = [(static, judged) for static, judged in usable if not judged.rejected]
    if not usable:
        return None
    for label in ("session", "condition"):
        mine = getattr(walk, label).casefold()
        same = [entry for entry in usable if getattr(entry[0], label).casefold() == mine]
        usable = same or [entry for entry in usable if not getattr(entry[0], label)]
        if not usable and label == "session":
            return None
        if not usable:
            usable = [(s, j) for s, j in ((s, judge_static(walk.facts, s.facts)) for s in statics) if not j.rejected]
            usable = [entry for entry in usable if entry[0].session.casefold() in (walk.session.casefold(), "")]
    usable.sort(key=lambda entry: (-entry[1].score, entry[0].path))
    clear = len(usable) == 1 or usable[0][1].score - usable[1][1].score >= _CLEARLY
    return usable[0][0].path if clear else None
