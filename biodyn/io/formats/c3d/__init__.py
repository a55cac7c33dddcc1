"""C3D: the binary format of motion laboratories, markers and force plates in one file.

Goes in: the path of a C3D file, possibly damaged or contradicting itself. Comes out: a `Recording`, or an `InputFileError`.
The numbers are read here; the C3D library ezc3d is asked for a second opinion in a process of its own, because it can end
the whole program on a damaged file. Several files are read side by side (`read_c3d_many`).

Read `read` (the order of the steps), then `_header` and `_parameters` (what the file says of itself), `_layout` with
`_frame` (which of it is true), `_data_section` (the numbers), `_second_reading`, `_process`, `forker` and `_ezc3d` (the
library's opinion), `_points` (markers, unseen positions, model outputs), `_platforms`, `_events`, `_subject`. `facts` reads
the head only, `glimpse` short pieces of the markers; `write` writes,
`append` with `_records` adds to a file. The format: the C3D user guide, c3d.org.
"""

from biodyn.io.format import FORMATS, Format
from biodyn.io.formats.c3d._header import is_c3d
from biodyn.io.formats.c3d.facts import file_facts
from biodyn.io.formats.c3d.glimpse import c3d_glimpse
from biodyn.io.formats.c3d.read import read_c3d

FORMATS.add(
    "c3d",
    Format(
        "C3D",
        (".c3d",),
        is_c3d,
        read_c3d,
        facts=file_facts,
        glimpse=c3d_glimpse,
        poses=True,
    ),
)
