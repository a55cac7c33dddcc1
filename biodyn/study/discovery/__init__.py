"""Find subjects, sessions, conditions and roles in a folder; read and write study.toml; plan the trials.

In: a folder, and what a study.toml says over what is found. Out: a `StudyPlan`: every walk with its subject, session,
condition, static trial, and every file that is left out with the reason. Only headers and parameters of files are read.

Read `discover` first: it is the only place that knows the order. `files` lists and reads headers; `patterns` compares
paths with what a user writes, `biodyn.session.words` splits names; `subjects/` tells whose a file is, `roles` what it is for,
`labels` its session and condition, `statics` which static trial serves it; `overrides` applies study.toml (`definition`);
`naming` makes safe and unique names. `finding` is what one file is taken for meanwhile; `listing` shows a plan,
`starting` writes a study.toml to begin with.
"""

from biodyn.study.discovery.definition import StudyDefinition, read_definition
from biodyn.study.discovery.discover import discover
from biodyn.study.discovery.listing import plan_lines
from biodyn.study.discovery.starting import starting_toml, write_definition

__all__ = ["StudyDefinition", "discover", "plan_lines", "read_definition", "starting_toml", "write_definition"]
