"""Determine which recordings belong together, and the role of each.

In: a walk (its path or its `Recording`) and the files around it. Out: the static trial that belongs to it, already read, with
the reasons for and against every candidate (`find_static`, the one call of an analysis); the other
recordings of its session (`session_of`); and the `Role` of a file by its motion, names and header: static,
functional, walk, run, other (`judge_role`, which a study asks of every file; `recording_role` for a single one).
A walk alone and a study take the static trial by one judgement, `choose_static` (`static_fits` for a single one); a named
static trial is checked by `another_person`. Nothing is computed from the data but distances and ranges of markers, from
previews of the files.

Read `words` first (splits names into words of known kinds, which are data in `library/session/`), then `role` (motion and role
of a recording), `same_person` (comparison of persons by stored parameters and names; folders near a walk), `statics` (search
and choice of the static trial), and `companions` (the session). For a whole folder: `inventory` (its recordings), `subjects`
(the person of each recording), `labels` (session and condition).
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
