"""Words in the names of folders and files, and how the static trial of a walk is known."""

from __future__ import annotations

from pydantic import Field

from biodyn.library.schema import SCHEMAS
from biodyn.library.schema.base import Name, Strict, Texts


class _Bids(Strict):
    subject: Name
    session: Name
    condition: Texts


@SCHEMAS.register("session/names")
class SessionNames(Strict):
    """Words in names of folders and files, and what they say."""

    functional: Texts
    other: Texts
    empty: Texts
    activity: Texts
    running: Texts
    condition: Texts
    session: Texts
    session_numbered: Texts
    counter_numbered: Texts
    group: Texts
    site: Texts
    subject: Texts
    nobody: Texts
    bids: _Bids


@SCHEMAS.register("session/static_trials")
class StaticTrials(Strict):
    """How a static trial is known."""

    words: Texts
    stems: Texts
    walk_words: Texts
    same_rad: float = Field(gt=0)
