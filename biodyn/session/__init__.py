"""Determine which recordings belong together, and the role of each.

In: a walking trial (path or `Recording`) and the files near it. Out: its static trial, already read, with the reasons for and
against every candidate (`find_static`); the other recordings of its session (`find_session_files`); and the `Role` of a file by
its motion, names and header: static, functional, walk, run, other (`determine_role` for the files of a study, `recording_role`
for one file). `choose_static` selects the static trial for a single walk and for a study (`static_trial_matches_walk` checks
a single candidate); `other_person_warning` checks a static trial that the user gives. Distances and ranges of markers are
computed from previews, i.e. short pieces of the trajectories.

Read `name_tokens` first (splits names into words of known kinds, which are data in `library/session/`), then
`recording_role` (motion and role of a recording), `person_comparison` (comparison of persons by stored parameters and
names; folders near a walk), `static_trials` (search and choice of the static trial), and `session_files` (the session).
For a whole folder: `inventory` (its recordings), `subjects` (the person of each recording), `file_labels` (session and
condition).
"""

from biodyn.session.recording_role import MotionFacts, TrialNames, determine_role, preview_of_file, read_motion_facts
from biodyn.session.session_files import Companion, SessionFiles, find_session_files, is_contraction, recording_role
from biodyn.session.static_trials import (
    StaticCandidate,
    StaticSearch,
    choose_static,
    find_static,
    other_person_warning,
    score_static_candidate,
    static_candidates,
    static_trial_matches_walk,
    typical_motion_m,
)

__all__ = [
    "Companion",
    "MotionFacts",
    "SessionFiles",
    "StaticCandidate",
    "StaticSearch",
    "TrialNames",
    "choose_static",
    "determine_role",
    "find_session_files",
    "find_static",
    "is_contraction",
    "other_person_warning",
    "preview_of_file",
    "read_motion_facts",
    "recording_role",
    "score_static_candidate",
    "static_candidates",
    "static_trial_matches_walk",
    "typical_motion_m",
]
