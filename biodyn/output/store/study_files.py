"""What of a study's folders biodyn wrote: the tables of group/ and the pages of subjects/."""

from __future__ import annotations

import json
from pathlib import Path

from biodyn.output.store.owned import Owns

GROUP_RECORD = "group.json"
# Of every version so far; a record that lists its files adds to them.
_GROUP = frozenset(
    (
        GROUP_RECORD, "parameters.csv", "subject_curves.parquet", "group_curves.csv", "normative_bands.csv",
        "parameters_wide.csv", "cycles.csv", "gait_scores.csv", "symmetry.csv", "repeatability.csv", "comparisons.csv",
        "mixed_models.csv", "session_means.csv", "spm.csv", "spm_curves.csv",
    )
)  # fmt: skip
_PAGE_MARK = b'<meta name="generator" content="biodyn'
_HEAD = 2048


def group_files(folder: Path) -> Owns:
    """What biodyn wrote into a folder of group results."""
    try:
        listed = json.loads((folder / GROUP_RECORD).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        listed = []
    names = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()
    return (_GROUP | names).__contains__


def subject_pages(folder: Path) -> Owns:
    """What biodyn wrote into a folder of pages: each says so in its head."""
    return lambda path: _is_page(folder / path)


def is_study_file(folder: Path, path: str) -> bool:
    """True for a file of group results or a page."""
    return path in _GROUP or _is_page(folder / path)


def _is_page(path: Path) -> bool:
    if path.suffix != ".html" or path.is_symlink():
        return False
    try:
        with path.open("rb") as stream:
            return _PAGE_MARK in stream.read(_HEAD)
    except OSError:
        return False
