"""Cortex of Motion Analysis: forces, centres of pressure and free moments of all plates in `walk.forces` beside `walk.trc`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io.files import EXPORT_AGAIN
from biodyn.io.format import LARGEST_NUMBER
from biodyn.io.plate_exports.loads import ExportedPlates, PlateLoads, in_laboratory, placed, require_possible
from biodyn.io.tables.columns import METRES
from biodyn.io.tables.force_plates import LARGEST_FREE_NM
from biodyn.io.tables.sheet import Sheet, read_sheet

#: What its file of forces is called, and how it begins.
SUFFIX: Final = ".forces"
FIRST_WORDS: Final = "[Force Data]"


def plates_of_text(path: Path, text: str, sha256: str) -> ExportedPlates:
    """Return the forces of a file of Cortex: FX1 FY1 FZ1 N, X1 Y1 Z1 mm, MZ1 N mm or N m, and so on for every plate.

    sha256: of the file. Raises InputFileError where it is none.
    """
    lines = text.splitlines()
    begin = next((k for k, line in enumerate(lines) if line.lstrip().startswith("#")), None)
    head = dict(line.split("=", 1) for line in lines[:begin] if "=" in line)
    try:
        rate_hz = float(head.get("SampleRate", "nan"))
    except ValueError:
        rate_hz = float("nan")
    if begin is None or not 0.0 < rate_hz < LARGEST_NUMBER:
        raise InputFileError(
            f"'{path.name}' is no file of forces of Cortex: it states no SampleRate or names no columns.", EXPORT_AGAIN
        )
    rows = ["\t".join(line.split()) for line in lines[begin:] if line.strip()]
    sheet = read_sheet(path.name, "\n".join([f"Rate\t{rate_hz}", rows[0].lstrip("#"), *rows[1:]]), begin - 1)
    require_possible(path, sheet)
    numbers = sorted({int(match[1]) for name in sheet.names if (match := re.fullmatch(r"FX(\d+)", name))})
    stored = [_loads(path, sheet, number) for number in numbers]
    if not stored:
        raise InputFileError(f"'{path.name}' holds no force: no column FX1.", EXPORT_AGAIN)
    largest = max(float(np.abs(loads.moment[loads.loaded]).max(initial=0.0)) for loads in stored)
    unit = 1.0 if largest < LARGEST_FREE_NM else METRES["mm"]
    plates: list[tuple[PlateLoads, FloatArray]] = []
    for loads in stored:
        acting = loads.on_person(np.eye(3)[loads.up])
        moment = np.zeros_like(acting.force)
        moment[:, acting.up] = unit * acting.moment[:, 2]
        plates.append((acting, moment))
    return in_laboratory(path, plates, rate_hz, sha256)


def _loads(path: Path, sheet: Sheet, number: int) -> PlateLoads:
    """The free moment stands in the last column of the moment."""
    wanted = [f"{what}{number}" for what in ("FX", "FY", "FZ", "X", "Y", "Z", "MZ")]
    missing = [name for name in wanted if name not in sheet.names]
    if missing:
        raise InputFileError(f"'{path.name}' has no column '{missing[0]}'.", EXPORT_AGAIN)
    columns = np.column_stack([sheet.values[:, sheet.names.index(name)] for name in wanted])
    force, pressure = columns[:, :3], METRES["mm"] * columns[:, 3:6]
    return PlateLoads(f"plate {number}", force, columns[:, 6:] * np.array([0.0, 0.0, 1.0]), placed(force, pressure))
