"""The report of a study: one HTML file, and a page a subject."""
