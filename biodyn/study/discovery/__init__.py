"""Find subjects, sessions, conditions and roles in a folder; read and write study.toml; plan the trials."""

from biodyn.study.discovery.definition import StudyDefinition, read_definition
from biodyn.study.discovery.discover import discover
from biodyn.study.discovery.listing import plan_lines
from biodyn.study.discovery.starting import starting_toml, write_definition

__all__ = ["StudyDefinition", "discover", "plan_lines", "read_definition", "starting_toml", "write_definition"]
