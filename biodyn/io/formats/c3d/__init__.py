"""C3D: the binary format of motion laboratories, markers and force plates in one file (C3D user guide, c3d.org).

Goes in: the path of a C3D file, possibly damaged or contradicting itself.
Comes out: a `Recording`, or an `InputFileError`.

Read `read` (the order of the steps), then `header` (header block and parameters), `layout` (where the numbers are), `data` (the
numbers), `groups` (markers, model outputs, subject, events) and `platforms`. `preview` reads a part of a file; `append` adds
points and events.
"""

from biodyn.io.format import FORMATS, Format
from biodyn.io.formats.c3d.header import is_c3d
from biodyn.io.formats.c3d.preview import c3d_preview, file_facts
from biodyn.io.formats.c3d.read import read_c3d

FORMATS.add(
    "c3d",
    Format(
        "C3D",
        (".c3d",),
        is_c3d,
        read_c3d,
        facts=file_facts,
        preview=c3d_preview,
        poses=True,
    ),
)
