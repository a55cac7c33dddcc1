"""Small made result folders, and their contents."""

from __future__ import annotations

import json
from pathlib import Path

from biodyn.output.store.folder import RECORD_NAME
from biodyn.output.store.result_writer import write_manifest

DATA = Path(__file__).parent / "data"


def made(folder: Path, note: str = "old") -> Path:
    """A folder that counts as a result: its record and a table."""
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "events.csv").write_text("time_s\n", encoding="utf-8")
    record = {
        "record_version": 2, "versions": {"biodyn": "0.1.0"}, "note": note,
        "input": {}, "settings": {}, "subject": {},
    }  # fmt: skip
    (folder / RECORD_NAME).write_text(json.dumps(record), encoding="utf-8")
    write_manifest(folder)
    return folder


def note(folder: Path) -> str:
    """What `made` wrote into the record."""
    return str(json.loads((folder / RECORD_NAME).read_text(encoding="utf-8"))["note"])


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by path."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
