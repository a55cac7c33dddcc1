"""Tables in TOML: read in one place, checked by one set of schemas, whether biodyn's own or a user's."""
