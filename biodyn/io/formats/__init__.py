"""One module (or package) for every file format that can be read; whatever is put here, is read.

A module reads its files into a `Recording` in SI units and says so with one call:

    FORMATS.add("trc", Format("TRC", (".trc",), recognises=_is_trc, read=read_trc))

Nothing else has to be edited: `biodyn.io.read` finds the module, `biodyn check` and `biodyn run` take its files.
Its writer, if it has one, stands beside the reader. A reader is given files that nobody has to trust: what it cannot make
sense of is an `InputFileError` in one sentence (a text format names the line), what it doubts is a `Diagnostic`.
Shared with other formats: `io.files` (bytes and hash), `io.text` (clean Unicode), `io.labels` (which points are markers),
`io.length_units` (is the stated unit a person's?), `io.positions` (what counts as not seen).

Read `trc.py` as the pattern of a small one; `c3d/` is a large one.
"""
