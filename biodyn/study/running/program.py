"""Which program this is, to the last byte."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from biodyn.version import VERSION

_PROGRAM_FILES = (".py", ".toml", ".j2")


@cache
def program_version() -> str:
    """Version number and a digest of the program's own files: an edited program is another program."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.suffix in _PROGRAM_FILES):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(path.read_bytes())
    return f"{VERSION}+{digest.hexdigest()[:12]}"
