"""Find subjects, sessions, conditions and roles in a folder; read and write study.toml; plan the trials."""

from biodyn.study.discovery.discover import discover

__all__ = ["discover"]
