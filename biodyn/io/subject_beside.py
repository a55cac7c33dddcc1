"""What a file beside a motion says of the person: `sessionMetadata.yaml` of OpenCap, `_subject.json` of AddBiomechanics."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.io.files import file_head, file_sha256
from biodyn.recording import Recording

#: Looked for in the motion's folder and the folders above it; the nearest counts.
NAMES: Final = ("sessionMetadata.yaml", "_subject.json")
_LEVELS = 4
_MOST_BYTES = 100_000
_MASS_KG, _HEIGHT_M, _AGE_YEARS = (5.0, 400.0), (0.4, 2.6), (1.0, 110.0)
_SEXES: Final[dict[str, Literal["male", "female"]]] = {"male": "male", "m": "male", "female": "female", "f": "female"}


def subject_file(motion: Path) -> Path | None:
    """Return the file that tells of the person of a motion, None where there is none."""
    folder = motion.resolve().parent
    for place in (folder, *folder.parents)[:_LEVELS]:
        for name in NAMES:
            if (place / name).is_file():
                return place / name
    return None


def with_subject_beside(recording: Recording) -> Recording:
    """Return a recording that stores no person with mass, height, sex and age of the file beside it, as far as they can be."""
    path = subject_file(recording.path)
    if path is None or recording.subject.mass_kg is not None:
        return recording
    try:
        text = file_head(path, _MOST_BYTES).decode("utf-8", errors="replace")
        digest = file_sha256(path)
    except InputFileError:
        return recording
    mass_kg, height_m = _number(text, "mass_?kg", _MASS_KG), _number(text, "height_?m", _HEIGHT_M)
    age = _number(text, "age(?:_?years)?", _AGE_YEARS)
    found = re.search(r"""["']?\b(?:gender|sex)(?:_mf)?["']?\s*:\s*["']?(\w+)""", text, re.IGNORECASE)
    sex = _SEXES.get(found[1].lower()) if found else None
    if mass_kg is None and height_m is None:
        return recording
    told = [f"{mass_kg:g} kg" if mass_kg else "no mass", f"{height_m:g} m" if height_m else "no height"]
    note = Diagnostic("subject-beside", "info", f"Subject data are those of '{path.name}': {', '.join(told)}.")
    return replace(
        recording,
        subject=replace(recording.subject, mass_kg=mass_kg, height_m=height_m, sex=sex, file=path.name, age_years=age),
        also_read=(*recording.also_read, (path, digest)),
        diagnostics=(*recording.diagnostics, note),
    )


def _number(text: str, key: str, possible: tuple[float, float]) -> float | None:
    """The number behind a key of YAML or JSON, None where there is none or nobody has it."""
    found = re.search(rf"""["']?\b{key}\b["']?\s*:\s*["']?([0-9]+(?:\.[0-9]*)?)""", text, re.IGNORECASE)
    value = float(found[1]) if found else 0.0
    return value if possible[0] <= value <= possible[1] else None
