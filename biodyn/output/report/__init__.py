"""The report of a trial: one page that stands alone, the record of the run, and the checks in plain words."""
