"""The font that every installation has, DejaVu Sans, which matplotlib brings along."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import matplotlib
from matplotlib.ft2font import FT2Font

from biodyn.errors import printable

#: Its name, and its files by style.
FONT = "DejaVuSans"
_FILES = {"": "DejaVuSans.ttf", "B": "DejaVuSans-Bold.ttf", "I": "DejaVuSans-Oblique.ttf"}


def font_file(style: str = "") -> Path:
    """Return the font's file: Latin, Greek, Cyrillic, Arabic, Hebrew and many signs. `style`: "", "B" or "I"."""
    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / _FILES[style]


@cache
def _code_points() -> frozenset[int]:
    """Code points that the font has both upright and bold."""
    return frozenset.intersection(*(frozenset(FT2Font(str(font_file(style))).get_charmap()) for style in ("", "B")))


def settable(text: object, longest: int = 1200) -> str:
    """Return text that the font can show: one line of limited length, missing letters as their numbers (`\\u5f20`)."""
    words = printable(" ".join(str(text).split()))
    words = words if len(words) <= longest else f"{words[:longest]}…"
    return "".join(
        letter if ord(letter) in _code_points() else letter.encode("ascii", "backslashreplace").decode()
        for letter in words
    )
