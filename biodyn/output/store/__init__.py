"""Result folders: what biodyn writes into one, what of it is biodyn's own, and how every version of one is read.

In comes a `TrialView` and a path, out goes a folder that appears whole or not at all; back comes the same view, or a
`StoredResult` with the tables as attributes. Nothing that biodyn did not write is ever removed or replaced.

Read `folder.py` (names, the version of the record, which files biodyn wrote, safe replacing and what killed runs left),
`record.py` (the parts of `run.json`) and `arrays.py` (`result.npz`), then `write.py` and `read.py`: what one writes the other
reads, by the list in the record. A folder without a list is of 0.1.0 and read by that version's names
(`library/results/version_1.toml`). `loaded.py` is what `biodyn.load` gives. `user_files.py` keeps copies of a user's own tables.
"""
