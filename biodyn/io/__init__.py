"""Read files of any format as `Recording` values.

In: the path of a file, possibly damaged. Out: markers, force plates, events and subject parameters in SI units and
clean Unicode, with a `Diagnostic` for everything doubtful; or an `InputFileError` that states what was expected and
found. `read` reads one file, `read_facts` only the head of a file, `read_preview` short
pieces of its marker trajectories.

Read `recording_reader` (selects the reader of a file), `format` (what a reader must provide), `formats` (one module for
every format; a new format is a new file there), then a reader: `formats/trc` is one page, `formats/c3d` a package.
Shared by the readers: `file_access`, `text_decoding`, `name_tables` (words that laboratories use, as data),
`point_classification` (markers, virtual points, model outputs), `events`, `missing_positions`, `length_units` (of
markers and plates), `repairs` (an ordered list), `segment_poses`, `subject_parameters`, `tables` (numbers in columns).
Files next to a motion: `ground_forces`, `plate_exports`, `subject_files`. Single formats: `opensim`, `b3d`,
`qualisys_mat` over `matlab`. Which recordings belong together is determined by `biodyn.session`.
"""

from biodyn.io.file_access import cached_sha256, file_sha256
from biodyn.io.recording_reader import files_of_recording, format_of, read, read_facts, read_preview

__all__ = ["cached_sha256", "file_sha256", "files_of_recording", "format_of", "read", "read_facts", "read_preview"]
