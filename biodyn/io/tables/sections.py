"""Text files of several tables under each other, each beneath a word that says what it holds: exports of Vicon Nexus."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

#: Words that stand alone on the line above a table.
SECTIONS: Final = (
    "Devices",
    "Events",
    "Gait Cycle Parameters",
    "Joints",
    "Model Outputs",
    "Objects",
    "Segments",
    "Trajectories",
)
_KNOWN: Final = {name.casefold(): name for name in SECTIONS}
_SEPARATORS: Final = ' \t,;"'


@dataclass(frozen=True)
class Section:
    """One table of a text: its lines without the word above them, and the number (from 1) of the first of them in the file."""

    lines: tuple[str, ...]
    first_line: int

    @property
    def text(self) -> str:
        """The lines as they stood."""
        return "\n".join(self.lines)


def sections(text: str) -> Mapping[str, Section]:
    """Return the tables of a text by the word above each, in the order of the file; none where no such word stands alone."""
    lines = text.splitlines()
    begins = [k for k, line in enumerate(lines) if section_name(line)]
    parts = itertools.pairwise([*begins, len(lines)]) if begins else ()
    return MappingProxyType({section_name(lines[k]): Section(tuple(lines[k + 1 : end]), k + 2) for k, end in parts})


def section_name(line: str) -> str:
    """Return the name of the table below a line, "" where the line is no such word."""
    return _KNOWN.get(line.strip(_SEPARATORS).casefold(), "")
