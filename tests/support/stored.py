"""The two stored result folders of biodyn 0.1.0 (`data/README.md`), and small made ones."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

from biodyn.output.store.folder import RECORD_NAME
from biodyn.output.store.result_writer import write_manifest

DATA = Path(__file__).parent / "data"
OLD = ("plain", "varied")


def unpacked(name: str, folder: Path) -> Path:
    """Unpack a stored result folder below `folder`."""
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 has none
        archive.extractall(folder)
    return folder / name


def made(folder: Path, note: str = "old", listed: bool = True) -> Path:
    """A folder that counts as a result: its record and a table; `listed` False: as 0.1.0 wrote it, without a list."""
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "events.csv").write_text("time_s\n", encoding="utf-8")
    record = {
        "record_version": 2 if listed else 1, "versions": {"biodyn": "0.1.0"}, "note": note,
        "input": {}, "settings": {}, "subject": {},
    }  # fmt: skip
    (folder / RECORD_NAME).write_text(json.dumps(record), encoding="utf-8")
    if listed:
        write_manifest(folder)
    return folder


def note(folder: Path) -> str:
    """What `made` wrote into the record."""
    return str(json.loads((folder / RECORD_NAME).read_text(encoding="utf-8"))["note"])


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by path."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
