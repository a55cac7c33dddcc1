"""Plan the trials of a folder from its recordings (`biodyn.session`) and its study.toml.

Input: a folder or a study.toml. Output: a `StudyPlan`, every walk with subject, session, condition and static trial, and every
file that is not used with its reason. Only headers and parameters of files are read.

Read `trial_discovery` first: the steps of the search, and how study.toml overrides names and headers. Then `definition`:
entries of study.toml, patterns of paths, safe file names; the plan as text, and a draft of study.toml.

Every recording of the folder is listed in the plan, unused files with the reason.
"""

from biodyn.study.discovery.definition import (
    StudyDefinition,
    draft_definition_text,
    plan_lines,
    read_definition,
    write_definition,
)
from biodyn.study.discovery.trial_discovery import discover_trials

__all__ = [
    "StudyDefinition",
    "discover_trials",
    "draft_definition_text",
    "plan_lines",
    "read_definition",
    "write_definition",
]
