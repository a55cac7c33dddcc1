"""Which recordings belong together, and what each of them is for.

Comes in: a walk (its path or its `Recording`), and the files that lie around it. Goes out: the static trial that belongs to
it, already read, with what spoke for and against every candidate (`find_static`, the one call of an analysis); the other
recordings of its session (`session_of`); and the `Role` of a file by what is done in it, its names and its header: static,
functional, walk, run, other (`judge_role`, which a study asks of every file; `role_of` for a single one).
A walk alone and a study take the static trial by one judgement, `choose_static`; one that is named is held against it by
`another_person`. Nothing is computed from the data but distances and ranges of markers, from previews of the files.

Read `words` first (names split into words of known kinds; the words are data in `library/session/`), then `role` (what is done
in a recording, by its markers and its names), `same_person` (one person or two, by stored parameters and by names; the folders
near a walk), `statics` (the search, in its order) with `static_choice` (which of several), and `companions` (the session).
For a whole folder: `inventory` (recordings below it), `subjects` (whose they are), `labels` (session and condition).
"""

from biodyn.session.companions import Companion, SessionFiles, role_of, session_of
from biodyn.session.role import MotionFacts, Role, TrialNames, judge_role, motion_of, preview_of_file
from biodyn.session.static_choice import typical_motion_m
from biodyn.session.statics import (
    StaticSearch,
    another_person,
    choose_static,
    find_static,
    judge_static,
    same_body,
    static_candidates,
)

__all__ = [
    "Companion",
    "MotionFacts",
    "Role",
    "SessionFiles",
    "StaticSearch",
    "TrialNames",
    "another_person",
    "choose_static",
    "find_static",
    "judge_role",
    "judge_static",
    "motion_of",
    "preview_of_file",
    "role_of",
    "same_body",
    "session_of",
    "static_candidates",
    "typical_motion_m",
]
