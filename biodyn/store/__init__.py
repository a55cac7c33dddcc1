"""What a result folder keeps of the files that made it."""
