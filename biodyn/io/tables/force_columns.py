"""Which columns of a table are the ground forces: their names, read by the forms of `library/formats/opensim_names.toml`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from biodyn.conventions import Side
from biodyn.library.load import load_table

_LONGEST = 60  # no laboratory writes longer names of columns; regular expressions stay quick
_AXES = {"x": 0, "y": 1, "z": 2, "1": 0, "2": 1, "3": 2}


@dataclass(frozen=True)
class ForceColumns:
    """The columns of one ground force.

    Attributes:
        name: what tells it from the others, "" where there is nothing. side: of the foot that the name says, None = it does not.
        force, point: three columns each, x y z; point: where it acts. moment: three of the moment about that point, or empty.
    """

    name: str
    side: Side | None
    force: tuple[str, ...]
    point: tuple[str, ...]
    moment: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All its columns."""
        return (*self.force, *self.point, *self.moment)


@dataclass
class _Found:
    parts: dict[str, dict[int, str]] = field(default_factory=dict)

    def vector(self, what: str) -> tuple[str, ...]:
        columns = self.parts.get(what, {})
        return tuple(columns[axis] for axis in range(3)) if len(columns) == 3 else ()


def force_columns(names: Sequence[str]) -> tuple[ForceColumns, ...]:
    """Return the ground forces among the columns of a table, in its order: those with three of force and three of point."""
    found: dict[str, _Found] = {}
    for name in names:
        read = _read(name.lower())
        if read is not None:
            what, which, axis = read
            found.setdefault(which, _Found()).parts.setdefault(what, {}).setdefault(axis, name)
    return tuple(
        ForceColumns(which, side_of(which), own.vector("force"), own.vector("point"), own.vector("moment"))
        for which, own in found.items()
        if own.vector("force") and own.vector("point")
    )


def side_of(words: str) -> Side | None:
    """Return the side that one of the words (letters between other characters) names, None where none or both do."""
    known: dict[str, Side] = load_table("formats/opensim_names")["ground_force"]["sides"]
    sides = {known[word] for word in re.findall(r"[a-z]+", words.lower()) if word in known}
    return sides.pop() if len(sides) == 1 else None


@lru_cache(4096)
def _read(name: str) -> tuple[str, str, int] | None:
    """What a column is, of which force, along which axis; None where it is of no force."""
    if not 2 < len(name) <= _LONGEST:
        return None
    turned = _axis_first().fullmatch(name)
    if turned is not None:
        name = f"{turned['what']}{turned['number']}_{turned['axis']}"
    if name[-1] not in _AXES:
        return None
    for what, forms in _forms():
        for form in forms:
            match = form.fullmatch(name[:-1])
            if match is not None:
                parts = match.groupdict()
                which = "_".join(part.strip("_") for part in (parts.get("before"), parts.get("after")) if part)
                return what, which.strip("_"), _AXES[name[-1]]
    return None


@lru_cache(1)
def _axis_first() -> re.Pattern[str]:
    return re.compile(load_table("formats/opensim_names")["ground_force"]["axis_first"])


@lru_cache(1)
def _forms() -> tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]:
    table = load_table("formats/opensim_names")["ground_force"]["forms"]
    return tuple((what, tuple(re.compile(form) for form in table[what])) for what in ("point", "moment", "force"))
