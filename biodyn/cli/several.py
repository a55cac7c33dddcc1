"""Several walks in one `biodyn run`: each by itself into a folder of its own, a line each."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from biodyn.cli.endings import BAD_INPUT, CHECKS_FAILED
from biodyn.cli.screen import Shown, print_data
from biodyn.errors import BiodynError, ResultError, printable, system_refusal


def run_each(
    walks: Sequence[Path], out: Path | None, force: bool, analyse: Callable[[Path, Path, Shown], bool], shown: Shown
) -> int:
    """Analyse one walk after the other with `analyse(walk, folder, shown)`; the exit code of the worst.

    A walk that cannot be analysed is told in a sentence, and the next one comes. Raises ResultError before any work is done where
    a folder is taken, or where two walks would be written into the same one.
    """
    folders = _folders(walks, out, force)
    worst, records = 0, []
    for number, (walk, folder) in enumerate(zip(walks, folders, strict=True), start=1):
        name = printable(walk.name)
        code, refusal = 0, None
        try:
            if analyse(walk, folder, replace(shown, heading=f"{number} of {len(walks)}, {name}")):
                code = CHECKS_FAILED
        except typer.Exit as end:
            code = end.exit_code
        except (BiodynError, OSError, MemoryError) as error:
            refusal = error if isinstance(error, BiodynError) else system_refusal(error)
            if refusal is None:
                raise
            code = BAD_INPUT
            print(f"biodyn: {name}: {refusal}", file=sys.stderr)
        worst = max(worst, code)
        if shown.as_json:
            records.append(_record(folder) if refusal is None else _refused(name, refusal))
    if shown.as_json:
        print_data(f"{json.dumps(records, indent=2, allow_nan=False)}\n")
    return worst


def _folders(walks: Sequence[Path], out: Path | None, force: bool) -> list[Path]:
    """The result folder of each walk, all of them free."""
    from biodyn.output.store.folder import RECORD_NAME, default_folder, require_free

    if out is not None and (out / RECORD_NAME).exists():
        raise ResultError(
            f"'{out}' is a result; those of several walks go into folders of their own.", "Choose another --out."
        )
    folders: list[Path] = []
    # whatever the case: results are moved to systems that tell no names apart by it
    taken: dict[str, tuple[Path, Path]] = {}
    for walk in walks:
        folder = default_folder(walk) if out is None else out / default_folder(walk).name
        name = folder.name.casefold()
        if name in taken:
            earlier, its_folder = taken[name]
            if earlier == walk:
                raise ResultError(f"'{walk}' is named twice.", "Name each walk once.")
            where = "would be written into the same folder"
            if folder.name != its_folder.name:
                where = "would be written into folders whose names differ in capitals alone, one folder on Windows and macOS"
            raise ResultError(
                f"'{earlier}' and '{walk}' {where}: '{folder}'.",
                "Analyse them one by one, each with an --out of its own.",
            )
        require_free(folder, force)
        taken[name] = walk, folder
        folders.append(folder)
    return folders


def _record(folder: Path) -> Any:
    from biodyn.output.store.folder import RECORD_NAME

    return json.loads((folder / RECORD_NAME).read_text(encoding="utf-8"))


def _refused(name: str, refusal: BiodynError) -> dict[str, Any]:
    """What stands in the list for a walk without a result."""
    return {"input": {"file": name}, "error": refusal.message, "hint": refusal.hint}
