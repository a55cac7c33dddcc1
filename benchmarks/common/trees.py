"""Another tree of the program, an older version or a change, measured in a process of its own beside this one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from biodyn.threads import ONE_THREAD
from common.data import REPOSITORY


def environment_of(tree: Path) -> dict[str, str]:
    """Return the environment of a process that takes biodyn from a tree, with byte code as when installed, in one thread."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, **ONE_THREAD, "PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}


def in_tree(tree: Path, script: Path, *arguments: object) -> Any:
    """Run a script with biodyn of a tree; return what it wrote as JSON into the file that is its last argument."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [sys.executable, str(script), *(str(argument) for argument in arguments), str(answer)]
        done = subprocess.run(
            command, env=environment_of(tree), cwd=folder, capture_output=True, text=True, check=False
        )
        if not answer.is_file():
            sys.exit(f"{script.name} with {tree} gave nothing:\n{done.stdout[-800:]}{done.stderr[-800:]}")
        return json.loads(answer.read_text(encoding="utf-8"))


@contextmanager
def commit_tree(commit: str) -> Iterator[Path | None]:
    """Yield a folder with the files of a commit of this repository, removed at the end; None without its history."""
    try:
        packed = subprocess.run(["git", "archive", commit], cwd=REPOSITORY, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix=f"biodyn-{commit[:7]}-") as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 has none
            archive.extractall(folder)
        yield Path(folder)
