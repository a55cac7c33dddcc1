"""Small C3D files as discovery sees them: labels, plates, subject parameters, a few frames."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from simulator.c3d_writer import C3dContent, write_c3d

_OWN = "a text of its own in every file"
LABELS = tuple(f"M{i:02d}" for i in range(12))


@dataclass(frozen=True)
class Fake:
    """What a fake recording stores."""

    subject: str = ""
    mass_kg: float = 0.0
    height_m: float = 0.0
    plates: int = 2
    frames: int = 30
    labels: tuple[str, ...] = LABELS
    static: bool = False
    events: tuple[str, ...] = ()

    def write(self, path: Path) -> Path:
        """Write it and return its path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # no two recordings are the same to the last byte
        own = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[: len(_OWN)]
        path.write_bytes(_bytes(self).replace(_OWN.encode(), own.encode()))
        return path


@cache
def _bytes(fake: Fake) -> bytes:
    parameters: dict[str, dict[str, object]] = {"FORCE_PLATFORM": {"USED": fake.plates}}
    if fake.subject:
        parameters["SUBJECTS"] = {"NAMES": [fake.subject], "IS_STATIC": int(fake.static)}
    elif fake.static:
        parameters["SUBJECTS"] = {"IS_STATIC": 1}
    stored = {"Bodymass": fake.mass_kg, "Height": 1000.0 * fake.height_m}
    parameters["PROCESSING"] = {name: value for name, value in stored.items() if value}
    parameters["PROCESSING"]["Program"] = _OWN
    if fake.events:
        parameters["EVENT"] = {"USED": len(fake.events), "LABELS": list(fake.events)}
    content = C3dContent(
        labels=fake.labels,
        positions=np.zeros((fake.frames, len(fake.labels), 3)),
        rate_hz=100.0,
        parameters=parameters,  # type: ignore[arg-type]
    )
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        write_c3d(Path(folder) / "a.c3d", content)
        return (Path(folder) / "a.c3d").read_bytes()


def write_tree(root: Path, files: Mapping[str, Fake]) -> Path:
    """Write the recordings below `root` and return it."""
    for path, fake in files.items():
        fake.write(root / path)
    return root
