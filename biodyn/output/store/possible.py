"""Names and lengths of paths that a system refuses: found out before the work, and told in a sentence."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Final

from biodyn.errors import ResultError
from biodyn.output.store.leftovers import UNFINISHED, short_name

_WINDOWS = os.name == "nt"
# Stand for devices in every folder of Windows, with any suffix (learn.microsoft.com, "Naming Files, Paths, and Namespaces").
_DEVICE: Final = re.compile(r"(?i:con|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]|conin\$|conout\$) *(?:\..*)?")
_FORBIDDEN: Final = frozenset('<>:"|?*')
# Characters of a path that every system takes: Windows 247 of a folder and 259 of a file where long ones are not switched on.
_ORDINARY: Final = 200
# Characters of the longest path of a file in a result ("tables/ground_reaction_full_rate.csv"), some to spare, and of its name.
_INSIDE, _FILE = 42, 32
_RANDOM: Final = 8  # characters that `tempfile` adds
_PART: Final = 100  # of a name, on any file system
_SHOWN: Final = 120


def is_device(name: str) -> bool:
    """True for a name that is a device on Windows whatever the folder."""
    return _DEVICE.fullmatch(name) is not None


def portable_name(name: str) -> str:
    """Return the name of a folder without the dots and spaces at its end, which Windows drops, and not as a device's.

    Empty where it was nothing but those.
    """
    kept = name.rstrip(". ")
    if not is_device(kept):
        return kept
    stem, dot, rest = kept.partition(".")
    return f"{stem.rstrip()}_{dot}{rest}"


def require_possible(folder: Path) -> None:
    """Raise ResultError if this system can have no result in `folder`, for its names or for the length of its files' paths.

    What a system takes depends on its version, its settings and the disk: long paths are tried, in the folder above that exists.
    """
    if _WINDOWS:
        for part in folder.parts[bool(folder.anchor) :]:
            if is_device(part) or _FORBIDDEN & set(part):
                raise ResultError(f"Windows has no folder with the name '{part}'.", "Choose another --out.")
    place = Path(os.path.realpath(folder))
    # it is written beside its place
    beside = place.parent / f".{short_name(place.name)}.{'x' * _RANDOM}{UNFINISHED}"
    needed = len(str(beside)) + 1 + _INSIDE
    if needed <= _ORDINARY:
        return
    above = next((parent for parent in place.parents if os.path.isdir(parent)), None)
    refusal = None if above is None else _refusal(above, place.name, needed)
    if refusal is not None:
        shown = f"{str(folder)[:_SHOWN]}{'...' if len(str(folder)) > _SHOWN else ''}"
        raise ResultError(
            f"'{shown}' cannot be written: the paths of its files would have {needed} characters, and this system refuses "
            f"them ({refusal.strerror or refusal}).",
            f"Choose a shorter --out{', or allow long paths in the settings of Windows' if _WINDOWS else ''}.",
        ) from refusal


def _refusal(above: Path, name: str, needed: int) -> OSError | None:
    """Make a file whose path has `needed` characters, and remove it; why that is not possible."""
    try:
        temporary = tempfile.mkdtemp(prefix=f".{short_name(name)}.", suffix=UNFINISHED, dir=above)
    except OSError as error:
        return error
    try:
        folder, left = temporary, needed - _FILE - 1 - len(temporary)
        while left > 1:
            folder = os.path.join(folder, "x" * min(_PART, left - 1))
            os.mkdir(folder)
            left = needed - _FILE - 1 - len(folder)
        with open(os.path.join(folder, "x" * _FILE), "wb"):
            pass
    except OSError as error:
        return error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return None
