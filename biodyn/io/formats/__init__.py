"""Readers of the supported file formats, one module or package each; every module here is registered automatically.

A module reads its files into a `Recording` in SI units and registers itself with one call:

    FORMATS.add("trc", Format("TRC", (".trc",), recognises=_is_trc, read=read_trc))

Nothing else has to be edited: `biodyn.io.read` finds the module, and all commands accept its files. Files may be
damaged: a reader raises `InputFileError` with one sentence for a file that it cannot read (with the line number in a
text format) and adds a `Diagnostic` for everything doubtful. Shared with other formats: `io.file_access` (bytes and
hash), `io.text_decoding` (clean Unicode), `io.point_classification` (which points are markers), `io.length_units`
(correction of a wrong unit), `io.missing_positions` (which positions count as not seen).

`trc.py` is an example of a small reader, `c3d/` of a large one.
"""
