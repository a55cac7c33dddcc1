"""Recordings in and out: C3D files become `Recording` values, and simulated recordings become C3D files.

Goes in: the path of a file that nobody has to trust. Comes out: markers, force plates, events and subject parameters
in SI units and clean Unicode, each doubt as a `Diagnostic`, or one `InputFileError` that says what was expected and
found.

Read `c3d` (what is done in which order), then `_header` and `_parameters` (what the file says of itself), `_layout`
(which of it is true), `_data_section` (the numbers), `_second_reading` and `_process` (the C3D library's opinion, in
a process that may die), `_labels` (markers, virtual points, model outputs), `_platforms`, `_length_units`, `_events`,
`_subject`. `file_facts`, `file_names`, `statics` and `static_choice` tell which recordings belong together.
`c3d_write` writes. Names of fields that laboratories use are data: `c3d_names.toml`.
"""
