"""The standard page: one grid of small panels, row by row of a joint, motion beside loads; the page lays it out.

Rows and their variables are data (`standard` in display.toml). Whoever has panels of variables (a trial, a session) gives
them by name; the grid says where they stand and in which order a narrow page shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from biodyn.output.figures.description import Key, Panel
from biodyn.output.figures.display import display_table
from biodyn.output.figures.layout import SMALL_WIDTH, small_plot
from biodyn.output.figures.svg import small_keys, small_svg

#: A panel of a variable, and what is to be seen in it, in words.
Described = tuple[Panel, str]


def standard_names() -> list[str]:
    """Every variable of the standard page."""
    return [name for row in display_table()["standard"] for name in row["panels"] if name]


@dataclass(frozen=True)
class StandardRow:
    """Panels of a joint side by side: `names` of variables, "" where a place stays empty; `side`: "motion" or "loads"."""

    title: str
    side: str
    names: tuple[str, ...]


def standard_rows(known: Collection[str]) -> list[StandardRow]:
    """The rows of the standard page that have one of the `known` variables."""
    return [
        StandardRow(str(row["title"]), str(row["side"]), tuple(name if name in known else "" for name in row["panels"]))
        for row in display_table()["standard"]
        if any(name in known for name in row["panels"])
    ]


def standard_grid(known: Collection[str], describe: Callable[[str], Described], keys: Sequence[Key]) -> Markup:
    """Return the grid of the standard page; "" where none of its variables is `known`."""
    rows = [_row(row.title, row.side, row.names, describe) for row in standard_rows(known)]
    return _grid(rows) + small_keys(keys) if rows else Markup()


def further_grid(names: Sequence[str], describe: Callable[[str], Described]) -> Markup:
    """Return panels of other variables, three in a row."""
    rows = [_row("", "motion", names[i : i + 3], describe) for i in range(0, len(names), 3)]
    return _grid(rows) if rows else Markup()


def _grid(rows: Sequence[Markup]) -> Markup:
    """The rows, and in units of the panels' own drawings where their plots begin and end: a cursor needs them."""
    plot = " ".join(f"{10.0 * edge:.0f}" for edge in (SMALL_WIDTH, *small_plot()))
    return Markup('<div class="standard-grid" data-plot="{}">{}</div>').format(plot, Markup("").join(rows))


def _row(title: str, side: str, names: Sequence[str], describe: Callable[[str], Described]) -> Markup:
    cells = [
        Markup('<div class="cell" data-name="{}">{}</div>').format(name, small_svg(*describe(name)))
        if name
        else Markup('<div class="cell none"></div>')
        for name in names
    ]
    shown = sum(map(bool, names))
    heading = Markup("<h3>{}</h3>").format(title) if title else Markup()
    return Markup('<div class="trio {} of{}">{}<div class="cells">{}</div></div>').format(
        side, shown, heading, Markup("").join(cells)
    )
