"""Result folders: what biodyn writes into one, what of it is biodyn's own, and how every version of one is read.

In comes a `TrialView` and a path, out goes a folder that appears whole or not at all; back comes the same view, or a
`StoredResult` with the tables as attributes. Nothing that biodyn did not write is ever removed or replaced.

Read `names.py` (where everything lies, and the version of the record), `record/` (the parts of `run.json`, the arrays),
`view.py` (all that is kept of an analysis), then `write.py` beside `read.py`: what one writes the other reads, by the list
in the record; a folder without a list is of 0.1.0 and read by that version's names (`library/results/version_1.toml`).
`loaded.py` is what `biodyn.load` gives. `user_files.py` keeps copies of a user's own tables. `owned.py`, `study_files.py`,
`replacing.py` and `leftovers.py` keep folders safe: whose a file is, renaming, what killed runs left. `exported.py` writes
folders for other programs with the same care.
"""
