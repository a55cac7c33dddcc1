"""Style of all figures: colours, sizes on a page 1000 px wide, fonts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from biodyn.conventions import SIDE_NAMES
from biodyn.errors import printable_text

INK: Final = "#1f2933"
MUTED: Final = "#66727f"
GRID: Final = "#e6e9ec"
AXIS: Final = "#b7bfc7"
BAND: Final = "#dfe3e7"
LIMIT: Final = "#b3261e"

#: Colours by name. Palette of Okabe & Ito, distinguishable with all kinds of colour vision: right blue, left vermilion.
COLORS: Final[dict[str, str]] = {
    "right": "#0072B2", "left": "#D55E00",
    "right_dark": "#00324f", "left_dark": "#5e2900",  # one of several curves of a side
    "x": "#009E73", "y": "#CC79A7", "z": "#E69F00",
    "ink": INK, "muted": MUTED, "grid": GRID, "axis": AXIS,
    "norm_band": BAND, "norm_line": "#8a949e",
    "limit": LIMIT, "allowed": "#e8f3ee", "unknown": "#f1f2f4",
    "bar": "#c3cbd3", "plate": "#f4f6f8", "plate_edge": "#9aa5b1",
    "assigned": "#1b7f4d", "ambiguous": "#b26a00", "rejected": "#b3261e",
}  # fmt: skip
#: Colours of the levels of a factor, different from the colours of the sides.
LEVEL_COLORS: Final = ("#009E73", "#CC79A7", "#56B4E9", "#E69F00", INK, "#7b6fd0")
SIDE_COLORS: Final[dict[str, str]] = {side: COLORS[name] for side, name in SIDE_NAMES.items()}
#: The colours of the sides with the setting [report] colors = "left_red_right_green".
_RED_GREEN: Final = {"right": "#1B7F3B", "left": "#C62828", "right_dark": "#0B3D1C", "left_dark": "#5C1212"}
# Viridis without the ends, which vanish on white or look like ink.
_SHADES: Final = ("#471365", "#463480", "#3b528b", "#2f6c8e", "#25848e", "#1e9c89", "#2fb47c", "#5ec962", "#9bd93c")

# Pixels of a page 1000 px wide.
WIDTH: Final = 1000.0
TITLE: Final = 13.2
TEXT: Final = 11.8
SMALL: Final = 10.8
DASHED: Final = (4.0, 2.0)
DOTTED: Final = (2.0, 2.0)

#: Width of a page on paper, inches, and size of its pixels, points.
WIDTH_IN: Final = 9.4
POINTS_A_PIXEL: Final = 72.0 * WIDTH_IN / WIDTH
DPI: Final = 110
FONTS: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"

# Widths of letters relative to the font size, of DejaVu Sans, the widest font of the list.
_LETTERS: Final = {
    letter: width
    for letters, width in (
        ("ijl'|", 0.28), (" .,:;I", 0.33), ("fJ()[]-/", 0.39), ("tr", 0.41), ("szckxvy\"*", 0.56),
        ("abdeghnopqu0123456789", 0.63),
        ("FLETYSZXKPBRACV?", 0.68), ("DGHNOQU+−±=<>~≤≥", 0.82), ("wM&", 0.86), ("mW%@…", 0.98),
    )
    for letter in letters
}  # fmt: skip


def color(name: str) -> str:
    """Return a colour by name; "#rrggbb" is returned unchanged."""
    return name if name.startswith("#") else COLORS[name]


def report_setting(record: Mapping[str, Any], name: str) -> str:
    """Return an entry of the section [report] of the settings in a record; "" if an older version did not write it."""
    return str((record["settings"].get("report") or {}).get(name, ""))


def apply_side_colors(item: Any, colors: str) -> Any:
    """Return a page (text) or a description of a figure in the colours of the sides of the setting [report] colors."""
    if colors != "left_red_right_green":
        return item
    if isinstance(item, str):
        for name, shown in _RED_GREEN.items():
            item = item.replace(COLORS[name], shown)
        return item
    if isinstance(item, tuple):
        return tuple(apply_side_colors(part, colors) if not isinstance(part, str) else part for part in item)
    if not is_dataclass(item):
        return item
    values = {entry.name: getattr(item, entry.name) for entry in fields(item)}
    changed = {
        name: _RED_GREEN.get(value, value) if isinstance(value, str) else apply_side_colors(value, colors)
        for name, value in values.items()
        if name in ("color", "fill") or isinstance(value, tuple) or is_dataclass(value)
    }
    return replace(item, **changed)  # type: ignore[type-var]


def ordered_level_colors(count: int) -> list[str]:
    """Return colours from dark to light for the levels of an ordered factor."""
    last = len(_SHADES) - 1
    return [_SHADES[round(i * last / max(count - 1, 1))] for i in range(min(count, last + 1))] + [_SHADES[last]] * (
        count - last - 1
    )


def text_width(words: str, size: float, bold: bool = False) -> float:
    """Return an upper estimate of the width of a text in pixels."""
    return size * (1.18 if bold else 1.0) * sum(_LETTERS.get(letter, 0.7) for letter in words)


def fitting_font_size(words: str, room: float, size: float, bold: bool = False, min_size: float = 8.5) -> float:
    """Return the font size at which a text fits into a width, at least the smallest legible size."""
    wide = text_width(words, size, bold)
    return size if wide <= room else max(size * room / wide, min_size)


def shorten_text(words: str, room: float, size: float) -> str:
    """Return a text shortened to a width, with an ellipsis."""
    if text_width(words, size) <= room:
        return words
    while words and text_width(f"{words}…", size) > room:
        words = words[:-1]
    return f"{words}…"


#: Name of the font, and its files by style.
FONT = "DejaVuSans"
_FILES = {"": "DejaVuSans.ttf", "B": "DejaVuSans-Bold.ttf", "I": "DejaVuSans-Oblique.ttf"}


def font_file(style: str = "") -> Path:
    """Return the font's file: Latin, Greek, Cyrillic, Arabic, Hebrew and many signs. `style`: "", "B" or "I"."""
    import matplotlib

    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / _FILES[style]


@cache
def _code_points() -> frozenset[int]:
    """Code points that the font has both upright and bold."""
    from matplotlib.ft2font import FT2Font

    return frozenset.intersection(*(frozenset(FT2Font(str(font_file(style))).get_charmap()) for style in ("", "B")))


def displayable_text(text: object, longest: int = 1200) -> str:
    """Return text that the font can show: one line of limited length, missing letters as their numbers (`\\u5f20`)."""
    words = printable_text(" ".join(str(text).split()))
    words = words if len(words) <= longest else f"{words[:longest]}…"
    return "".join(
        letter if ord(letter) in _code_points() else letter.encode("ascii", "backslashreplace").decode()
        for letter in words
    )
