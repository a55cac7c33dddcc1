"""Tables, numbers and names of a study as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from markupsafe import Markup, escape

from biodyn.conventions import SIDE_NAMES
from biodyn.study.report.aggregate import BOTH
from biodyn.variables import is_known, variable

Value = str | Markup


@dataclass(frozen=True)
class Table:
    """Cells as text (or markup that is safe), one row per tuple.

    Attributes:
        heads: words over the columns; those that begin with "#" hold numbers, set to the right.
        strong: numbers of the rows that are set bold.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    strong: frozenset[int] = frozenset()

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Whether each column holds numbers."""
        return tuple(head.startswith("#") for head in self.heads)

    @property
    def words(self) -> tuple[str, ...]:
        """What stands over the columns."""
        return tuple(head.removeprefix("#") for head in self.heads)

    def __bool__(self) -> bool:
        return bool(self.rows)


@dataclass(frozen=True)
class TitledTable:
    """A table with a title; `long` ones are folded up."""

    title: str
    table: Table
    long: bool = False


def table(heads: Sequence[str], rows: Iterable[Sequence[Value]], strong: Iterable[int] = ()) -> Table:
    """Make a table; columns without any content are left out."""
    found = [tuple(row) for row in rows]
    kept = [i for i in range(len(heads)) if not found or any(str(row[i]) not in ("", "–") for row in found)]
    return Table(tuple(heads[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in found), frozenset(strong))


def link(address: str, words: str) -> Markup:
    """A link within the output folder."""
    return Markup(f'<a href="{escape(address)}">{escape(words)}</a>')


MISSING = "–"
_IDENTIFIER = re.compile(r"\b[a-z][a-z0-9]*(?:_[A-Za-z0-9]+)+\b")


def number(value: float, unit: str = "") -> str:
    """A value with the digits its unit deserves; a dash where there is none."""
    if value is None or not np.isfinite(value):
        return MISSING
    digits = _digits(unit, abs(value))
    text = f"{value:.{digits}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def spread(mean: float, sd: float, unit: str) -> str:
    """Mean ± SD."""
    if not np.isfinite(mean):
        return MISSING
    text = f" ± {sd:.{_digits(unit, abs(mean))}f}" if np.isfinite(sd) else ""
    return number(mean, unit) + text


def probability(p: float) -> str:
    """A p value: three digits, "< 0.001" below."""
    if not np.isfinite(p):
        return MISSING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _digits(unit: str, size: float) -> int:
    if unit in ("deg", "%", "steps/min"):
        return 1
    return 3 if size < 0.1 else 2


def side_words(side: str) -> str:
    """ "right", "left", or both."""
    return "both sides" if side == BOTH else SIDE_NAMES.get(side, side)  # type: ignore[call-overload, no-any-return]


def versus(comparison: str) -> str:
    """A comparison with a minus sign."""
    return comparison.replace(" - ", " − ")


def condition_words(rows: pd.DataFrame) -> dict[str, str]:
    """Conditions in words; nothing where there is one without a name."""
    found = list(dict.fromkeys(rows["condition"]))
    return {condition: level_words(condition, "condition") if len(found) > 1 else condition for condition in found}


def level_words(level: str, factor: str) -> str:
    """A condition or group; words where it has no name."""
    return level or f"(no {factor})"


@dataclass(frozen=True)
class Names:
    """Words for the variables and parameters of a study; `parameters` by name: title and unit."""

    parameters: Mapping[str, tuple[str, str]]

    def title(self, name: str) -> str:
        """Title of a parameter or variable."""
        if name in self.parameters:
            return self.parameters[name][0]
        return variable(name).title

    def spoken(self, sentence: str) -> str:
        """A sentence with the names of tables replaced by words, where it names any."""
        return _IDENTIFIER.sub(lambda match: self._word(match[0]), sentence)

    def _word(self, name: str) -> str:
        if "_" in name and (name in self.parameters or is_known(name)):
            return self.title(name)
        return name
