"""Plan the trials of a folder from its recordings (`biodyn.session`) and its study.toml.

Out: a `StudyPlan`, every walk with subject, session, condition and static trial, and every file that is not used with its
reason. Only headers and parameters of files are read.

- `discover`: the steps, and how study.toml overrides names and headers.
- `definition`: entries of study.toml, patterns of paths, safe file names; the plan as text, and a draft study.toml.
"""

from biodyn.study.discovery.definition import (
    StudyDefinition,
    plan_lines,
    read_definition,
    starting_toml,
    write_definition,
)
from biodyn.study.discovery.discover import discover

__all__ = ["StudyDefinition", "discover", "plan_lines", "read_definition", "starting_toml", "write_definition"]
