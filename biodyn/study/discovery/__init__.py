"""Find subjects, sessions, conditions and roles in a folder; read and write study.toml; plan the trials."""
