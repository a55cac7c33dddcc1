"""Plan the trials of a folder from what `biodyn.session` finds in it and from what study.toml specifies.

In: a folder, and what a study.toml says over what is found. Out: a `StudyPlan`: every walk with its subject, session,
condition, static trial, and every file that is left out with the reason. Only headers and parameters of files are read.

Read `discover` first: the order of the steps, and how study.toml is applied to what names and headers say. Then `definition`
(the entries of study.toml, patterns of paths and names, and names that are safe as file names), and `listing` (a plan as text
for the screen, and the study.toml to begin with).
"""

from biodyn.study.discovery.definition import StudyDefinition, read_definition
from biodyn.study.discovery.discover import discover
from biodyn.study.discovery.listing import plan_lines, starting_toml, write_definition

__all__ = ["StudyDefinition", "discover", "plan_lines", "read_definition", "starting_toml", "write_definition"]
