"""One module (or package) for every file format that can be read; a module here is found and used.

A module reads its files into a `Recording` in SI units and registers itself with one call:

    FORMATS.add("trc", Format("TRC", (".trc",), recognises=_is_trc, read=read_trc))

Nothing else has to be edited: `biodyn.io.read` finds the module, `biodyn check` and `biodyn run` take its files.
Files may be damaged: a reader raises `InputFileError` in one sentence for what it cannot read (with the line in a text
format) and adds a `Diagnostic` for what is doubtful.
Shared with other formats: `io.files` (bytes and hash), `io.text` (clean Unicode), `io.labels` (which points are markers),
`io.length_units` (corrects a wrong unit), `io.positions` (what counts as not seen).

Read `trc.py` as the pattern of a small one; `c3d/` is a large one.
"""
