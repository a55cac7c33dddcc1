"""Result folders: writing, manifest, and readers.

In: a `TrialView` and a path. Out: a folder that is complete or absent; reading returns the same view, or a `StoredResult`
with the tables as attributes (`biodyn.load`). Files that biodyn did not write are never removed or replaced.

Read `folder.py` (file names, manifest, atomic replacement, stale temporary folders), `record.py` (content of `run.json`, copies
of the user's input files), then `result_writer.py` (with the arrays of `result.npz`) and `result_reader.py`. The reader
follows the manifest in `run.json`.
"""
