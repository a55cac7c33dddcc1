"""Which recordings belong together, and what each of them is for.

In: a walk (its path or its `Recording`) and the files around it. Out: the static trial that belongs to it, already read, with
the reasons for and against every candidate (`find_static`, the one call of an analysis); the other
recordings of its session (`session_of`); and the `Role` of a file by its motion, names and header: static,
functional, walk, run, other (`judge_role`, which a study asks of every file; `recording_role` for a single one).
A walk alone and a study take the static trial by one judgement, `choose_static` (`static_fits` for a single one); a named static
trial is checked by `another_person`. Nothing is computed from the data but distances and ranges of markers, from previews of the
files.

Read `words` first (names split into words of known kinds; the words are data in `library/session/`), then `role` (the motion
in a recording and its role), `same_person` (one person or two, by stored parameters and by names; the folders
near a walk), `statics` (the search in its order, and which of several), and `companions` (the session).
For a whole folder: `inventory` (recordings below it), `subjects` (the person of each), `labels` (session and condition).
"""

from biodyn.session.companions import Companion, SessionFiles, recording_role, session_of
from biodyn.session.role import MotionFacts, Role, TrialNames, judge_role, preview_of_file, read_motion_facts
from biodyn.session.statics import (
    StaticCandidate,
    StaticSearch,
    another_person,
    choose_static,
    find_static,
    judge_static,
    same_body,
    static_candidates,
    static_fits,
    typical_motion_m,
)

__all__ = [
    "Companion",
    "MotionFacts",
    "Role",
    "SessionFiles",
    "StaticCandidate",
    "StaticSearch",
    "TrialNames",
    "another_person",
    "choose_static",
    "find_static",
    "judge_role",
    "judge_static",
    "preview_of_file",
    "read_motion_facts",
    "recording_role",
    "same_body",
    "session_of",
    "static_candidates",
    "static_fits",
    "typical_motion_m",
]
