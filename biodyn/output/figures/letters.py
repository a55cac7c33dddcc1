"""The letters that every installation has: those of DejaVu Sans, which matplotlib brings along."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import matplotlib
from matplotlib.ft2font import FT2Font

from biodyn.errors import printable

#: Its name, and its files: upright and bold.
FONT = "DejaVuSans"
FONT_FILES = {"": "DejaVuSans.ttf", "B": "DejaVuSans-Bold.ttf"}


def font_file(style: str = "") -> Path:
    """Where the font lies: Latin, Greek, Cyrillic, Arabic, Hebrew and many signs. `style`: "" or "B"."""
    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / FONT_FILES[style]


@cache
def letters() -> frozenset[int]:
    """Code points that the font can show in every style."""
    return frozenset.intersection(*(frozenset(FT2Font(str(font_file(style))).get_charmap()) for style in FONT_FILES))


def settable(text: object, longest: int = 1200) -> str:
    """Text that can be set: one line, of a bearable length, letters that the font lacks as their numbers (`\\u5f20`)."""
    words = printable(" ".join(str(text).split()))
    words = words if len(words) <= longest else f"{words[:longest]}…"
    return "".join(letter if ord(letter) in letters() else _number(letter) for letter in words)


def _number(letter: str) -> str:
    return letter.encode("ascii", "backslashreplace").decode()
