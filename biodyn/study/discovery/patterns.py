"""Patterns of paths and names, and layouts of paths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from biodyn.errors import SettingsError
from biodyn.session.words import plain_text
from biodyn.study.discovery.files import SUFFIXES

LAYOUT_FIELDS = ("subject", "session", "condition", "group", "trial", "any")


def path_text(path: Path) -> str:
    """Return a relative path as patterns see it: '/' between folders, composed Unicode."""
    return plain_text(path.as_posix())


def path_matches(pattern: str, path: Path) -> bool:
    """True where the pattern is the path, or matches it: '*' within a name, '**' across folders, '?', '[ab]'.

    A pattern without '/' is one of file names in any folder; case does not count.
    """
    text = path_text(path)
    pattern = plain_text(pattern).removeprefix("./")
    if pattern == text:
        return True
    return _matcher(pattern).fullmatch(text if "/" in pattern else text.rpartition("/")[2]) is not None


def name_matches(pattern: str, name: str) -> bool:
    """True where the pattern is the name, or matches it, case aside."""
    text, pattern = plain_text(name), plain_text(pattern)
    return pattern.casefold() == text.casefold() or _matcher(pattern).fullmatch(text) is not None


@cache
def _matcher(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])", pattern)
    wild = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    text = ""
    for i, part in enumerate(parts):
        if i % 2 == 0:
            text += re.escape(part)
        elif part in wild:
            text += wild[part]
        else:
            inner = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            text += f"[^{inner[1:]}/]" if inner.startswith("!") and len(inner) > 1 else f"[{inner}]"
    try:
        return re.compile(text, re.IGNORECASE | re.DOTALL)
    except re.error as error:
        raise SettingsError(f"'{pattern}' is no valid pattern: {error}.", "Write [abc] or [a-z] in it.") from error


@cache
def layout_matcher(layout: str) -> re.Pattern[str]:
    """Return a pattern whose groups are the fields of a layout; SettingsError for an unknown or doubled field."""
    parts = re.split(r"\{([^{}]*)\}", plain_text(layout).removeprefix("./"))
    text = ""
    seen: set[str] = set()
    for i, part in enumerate(parts):
        if i % 2 == 0:
            text += re.escape(part)
            continue
        if part not in LAYOUT_FIELDS or part in seen:
            raise SettingsError(
                f"Layout '{layout}' names '{{{part}}}'{' twice' if part in seen else ''}.",
                f"Its fields are {', '.join(f'{{{name}}}' for name in LAYOUT_FIELDS)}, each but {{any}} once.",
            )
        if part != "any":
            seen.add(part)
        text += "[^/]+" if part == "any" else f"(?P<{part}>[^/]+)"
    if not text.lower().endswith(tuple(re.escape(suffix) for suffix in SUFFIXES)):
        text += f"(?:{'|'.join(re.escape(suffix) for suffix in SUFFIXES)})"
    return re.compile(text, re.IGNORECASE)


def nearest(wanted: str, known: Iterable[str]) -> str:
    """Return 'The nearest is ...' of the known texts, or a few of them where none is near."""
    texts = sorted(set(known))
    if not texts:
        return "There is none at all."
    # whole paths first, then by their last part: a wrong folder is no reason not to find the file
    near = get_close_matches(wanted, texts, 1, 0.6)
    if not near:
        last = {text.rpartition("/")[2].casefold(): text for text in texts}
        near = [last[key] for key in get_close_matches(wanted.rpartition("/")[2].casefold(), last, 1, 0.6)]
    if near:
        return f"The nearest is '{near[0]}'."
    return f"There are {', '.join(repr(text) for text in texts[:6])}{' ...' if len(texts) > 6 else ''}."
