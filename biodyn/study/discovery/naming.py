"""Names that are safe as file names on every system, and unique whatever the case."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

from biodyn.output.store.possible import portable_name
from biodyn.session.words import plain_text

_LONGEST = 80  # characters; paths of 260 characters are the limit of some systems

T = TypeVar("T")


def safe_name(text: str) -> str:
    """Return the text with everything but letters, digits, '.', '-', '+' and '_' as '_'; never empty."""
    text = "".join(c if c.isalnum() or c in "-_.+" else "_" for c in plain_text(text).strip())
    text = re.sub("__+", "_", text).strip("._") or "unnamed"
    text = portable_name(text)
    if len(text) > _LONGEST or len(text.encode()) > 2 * _LONGEST:
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        shorter = text[: _LONGEST - 9]
        while len(shorter.encode()) > 2 * _LONGEST - 9:
            shorter = shorter[:-1]
        text = f"{shorter}_{digest}"
    return text


def unique_names(wanted: Mapping[T, Sequence[str]]) -> dict[T, str]:
    """Return a safe name for every key: the first of its wanted names that no other key shares, else a number added.

    `wanted` lists for every key ever longer names; keys are taken in the order given.
    """
    chosen: dict[T, str] = {}
    depth = dict.fromkeys(wanted, 0)
    while True:
        by_name: dict[str, list[T]] = defaultdict(list)
        for key, names in wanted.items():
            chosen[key] = safe_name(names[min(depth[key], len(names) - 1)])
            by_name[chosen[key].casefold()].append(key)
        clashing = [key for keys in by_name.values() if len(keys) > 1 for key in keys]
        longer = [key for key in clashing if depth[key] < len(wanted[key]) - 1]
        if not longer:
            break
        for key in longer:
            depth[key] += 1
    taken = {name for name, keys in by_name.items() if len(keys) == 1}
    for keys in (keys for keys in by_name.values() if len(keys) > 1):
        for key in keys:
            number = 1
            name = chosen[key]
            while name.casefold() in taken:
                number += 1
                name = safe_name(f"{chosen[key][: _LONGEST - 5]}-{number}")
            taken.add(name.casefold())
            chosen[key] = name
    return chosen


def natural_key(text: str) -> tuple[tuple[tuple[int, int, str], ...], str]:
    """Order in which numbers count as numbers: walk, walk2, walk10; equal texts only where they are the same."""
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part.casefold()) for part in parts), text
