"""The .b3d archives of AddBiomechanics: markers, force plates and fitted motions of one person, several trials in a file.

In: one file that nobody has to trust. Out: an `Archive`; of an archive with one trial also a `Recording`. An archive with
more trials is a folder of recordings rather than one: `biodyn unpack` makes that folder.

Read `archive` (what is in a file, and its bytes), then `messages` (the fields, from `library/formats/b3d.toml`), `recording`
(a trial as a recording) and `forces` (about which point a file's moments are).
Source: the AddBiomechanics dataset (doi:10.1007/978-3-031-73223-2_27); the layout as nimblephysics writes it.
"""

from biodyn.io.b3d.archive import Archive, ArchivedTrial, is_archive, read_archive
from biodyn.io.b3d.forces import forces_of
from biodyn.io.b3d.recording import SeveralTrialsError, missing_note, read_b3d

__all__ = [
    "Archive",
    "ArchivedTrial",
    "SeveralTrialsError",
    "forces_of",
    "is_archive",
    "missing_note",
    "read_archive",
    "read_b3d",
]
