"""A table as templates draw it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

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
