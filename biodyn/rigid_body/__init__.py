"""rigid_body."""
