"""Read files of any format as `Recording` values.

In: the path of a file, possibly damaged. Out: markers, force plates, events and subject parameters in SI units and clean
Unicode, with doubts as `Diagnostic`, or an `InputFileError` with what was expected and found.
`read` takes one file, `read_many` several, `read_facts` only the head of the file,
`read_preview` short pieces of its markers.

Read `reading` (how a file finds its reader), `format` (what a reader has to bring), `formats` (one module for every format;
adding one is adding a file there), then a reader: `formats/trc` is a page, `formats/c3d` a package. What readers share:
`files`, `text`, `names` (words that laboratories use, as data), `labels` (markers, virtual points, model outputs), `events`,
`positions`, `length_units` (of markers and plates), `repairs` (an ordered list), `segment_poses`, `subject_parameters`, `tables`
(numbers in columns). Files next to a motion: `ground_forces`, `plate_exports`, `subject_files`. Single formats: `opensim`, `b3d`,
`qualisys_mat` over `matlab`.
Which recordings belong together is determined by `biodyn.session`.
"""

from biodyn.io.files import file_sha256, remembered_sha256
from biodyn.io.reading import files_of, format_of, read, read_facts, read_many, read_preview

__all__ = [
    "file_sha256",
    "files_of",
    "format_of",
    "read",
    "read_facts",
    "read_many",
    "read_preview",
    "remembered_sha256",
]
