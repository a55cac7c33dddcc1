"""Which recordings belong together, and what each of them is for.

Comes in: a walk (its path or its `Recording`), and the files that lie around it. Goes out: the static trial that belongs to
it, already read, with what spoke for and against every candidate (`find_static`, the one call of an analysis), and the
`Role` of a file by its name, its folders and its header: static, functional, walk, run, other (`judge_role`, which a study
asks of every file). Nothing is computed from the data but distances and ranges of markers.

Read `statics` (the search, in its order), then what it asks: `places` (where companions lie), `file_names` (what a name says),
`same_person` (stored name, mass, measures), `static_choice` (which of several: joint offsets, marker distances, names).
For roles read `role`, then `words` (names split into words of known kinds). The words are data: `library/session/`.
"""

from biodyn.session.motion import MotionFacts, glimpse_of_file, motion_of
from biodyn.session.role import Role, TrialNames, judge_role
from biodyn.session.static_choice import typical_motion_m
from biodyn.session.statics import StaticSearch, choose_static, find_static, judge_static, static_candidates

__all__ = [
    "MotionFacts",
    "Role",
    "StaticSearch",
    "TrialNames",
    "choose_static",
    "find_static",
    "glimpse_of_file",
    "judge_role",
    "judge_static",
    "motion_of",
    "static_candidates",
    "typical_motion_m",
]
