"""Read C3D files: markers and force plates in one binary file (C3D user guide, c3d.org).

In: the path of a C3D file, which may be damaged or inconsistent. Out: a `Recording`, or an
`InputFileError`.

Read `reader` (the order of the steps), then `header` (header block and parameters),
`data_layout` (positions of the numbers), `data_section` (the numbers), `parameter_groups`
(markers, model outputs, subject, events) and `force_plates`. `preview` reads part of a file;
`point_and_event_writer` adds points and events to a copy.
"""

from biodyn.io.format import FORMATS, Format
from biodyn.io.formats.c3d.header import is_c3d
from biodyn.io.formats.c3d.preview import file_facts, read_c3d_preview
from biodyn.io.formats.c3d.reader import read_analog, read_c3d

FORMATS.add("c3d", Format("C3D", (".c3d",), is_c3d, read_c3d, file_facts, read_c3d_preview, read_analog, poses=True))
