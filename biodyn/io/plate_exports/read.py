"""Which of the known programs wrote the plates of a file, and the plates."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from biodyn.io.plate_exports import cortex, nexus, qualisys
from biodyn.io.plate_exports.loads import ExportedPlates
from biodyn.io.tables.sheet import sections
from biodyn.io.tables.spreadsheet import TEXT_SUFFIXES, bytes_of, is_wide, text_of

_HEAD_CHARACTERS = 10_000


def read_exported_plates(path: Path) -> ExportedPlates | None:
    """Return the force plates that a laboratory's software exported as text, None where a file holds none in its form.

    Of Vicon Nexus the table "Devices" of the file; of Qualisys Track Manager the plate of the file and of those beside it that
    are of the same trial; of Cortex the file of forces. Raises InputFileError in one sentence where they are unreadable.
    """
    if path.suffix.lower() == cortex.SUFFIX:
        content = bytes_of(path)
        return cortex.plates_of_text(path, text_of(path, content), sha256(content).hexdigest())
    if path.suffix.lower() not in TEXT_SUFFIXES:
        return None
    content = bytes_of(path)
    if content[:4] == b"PAR1":
        return None
    text = text_of(path, content)
    if qualisys.is_plate_file(text[:_HEAD_CHARACTERS]):
        return qualisys.plate_files([(one, text_of(one, bytes_of(one))) for one in qualisys.plate_files_of(path)])
    section = sections(text).get("Devices")
    if section is None:
        return None
    found = nexus.devices(path, section, sha256(content).hexdigest())
    return found if found.forces else None


def exported_beside(motion: Path) -> Path | None:
    """Return the file of the plates that the program of a motion's text exported: beside it, or itself; None where there is none.

    Raises InputFileError where the motion's own text is none.
    """
    if motion.suffix.lower() not in TEXT_SUFFIXES:
        return None
    of_plates = qualisys.first_plate_file(motion)
    if of_plates is not None:
        return of_plates
    content = bytes_of(motion)
    if not is_wide(content) and (b"Devices" not in content or b"Trajectories" not in content):
        return None
    section = sections(text_of(motion, content)).get("Devices")
    return motion if section is not None and nexus.has_plates(section) else None
