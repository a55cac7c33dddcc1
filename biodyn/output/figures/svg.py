"""Figures as SVG: small, sharp, the same bytes every time, and quick enough for thousands.

One unit is a tenth of a pixel of the page, so that whole numbers place a line well enough.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape

from biodyn.conventions import FloatArray
from biodyn.output.figures.curves import display_table
from biodyn.output.figures.description import Bars, Dash, Figure, Key, Line, Panel
from biodyn.output.figures.drawing import (
    SAMPLE,
    SMALL_HEIGHT,
    SMALL_WIDTH,
    Place,
    Stroke,
    draw_key_row,
    draw_panel,
    draw_plot,
    draw_sample,
    layout,
    small_place,
    small_plot,
)
from biodyn.output.figures.style import FONTS, INK, MUTED, SMALL, TEXT, WIDTH, color

_THICK = 1.5  # width from which a line is a mean or a measured curve, not one of many
_MOST_LETTERS = 1500


def spoken(figure: Figure) -> str:
    """Panel by panel its title, what y is, and of every thick curve or row of bars its numbers; "" where there are none."""
    found: list[str] = []
    length = 0
    panels = [panel for panel in figure.panels if panel is not None]
    for number, panel in enumerate(panels):
        said = "; ".join(_seen(panel, figure.keys))
        words = f"{panel.title}{f' ({panel.y.label})' if panel.y.label else ''}: {said or panel.note}."
        length += len(words)
        if length > _MOST_LETTERS:
            return " ".join([*found, f"{len(panels) - number} more panels."])
        if said or panel.note:
            found.append(words)
    return " ".join(found)


def _seen(panel: Panel, keys: Sequence[Key]) -> Iterator[str]:
    digits = _digits(panel)
    for layer in panel.layers:
        if isinstance(layer, Line) and layer.width >= _THICK and np.isfinite(layer.y).any():
            low, high = float(np.nanmin(layer.y)), float(np.nanmax(layer.y))
            yield f"{_name(keys, layer.color, layer.dash)}{_number(low, digits)} to {_number(high, digits)}"
        elif isinstance(layer, Bars) and not layer.outline and layer.drawn:
            yield f"{_name(keys, layer.color, ())}{', '.join(_bars(panel, layer, digits))}"


def _bars(panel: Panel, bars: Bars, digits: int) -> Iterator[str]:
    """The height of each bar with the word of the tick it stands at."""
    along = (panel.y if bars.lying else panel.x).ticks or ()
    places: FloatArray = np.array([value for value, _ in along])
    for i in bars.drawn:
        near = int(np.abs(places - bars.at[i]).argmin()) if len(places) else -1
        word = along[near][1].replace("\n", " ") + " " if near >= 0 and abs(places[near] - bars.at[i]) < 0.5 else ""
        yield f"{word}{_number(float(bars.top[i]), digits)}"


def _name(keys: Sequence[Key], color: str, dash: Dash) -> str:
    """The word of the legend for a pen, "" where it has none."""
    own = [key.words for key in keys if key.color == color and (not dash or key.dash == dash)]
    return f"{own[0]} " if own else ""


def _digits(panel: Panel) -> int:
    """Decimals with which the largest number of a panel has three digits."""
    tops = [
        layer.y if isinstance(layer, Line) else layer.top for layer in panel.layers if isinstance(layer, Line | Bars)
    ]
    largest = max((float(np.nanmax(np.abs(top))) for top in tops if np.isfinite(top).any()), default=0.0)
    return min(max(2 - math.floor(math.log10(largest)), 0), 6) if largest > 0.0 else 0


def _number(value: float, digits: int) -> str:
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


_ANCHORS = {"start": "", "middle": ' text-anchor="middle"', "end": ' text-anchor="end"'}


def svg(figure: Figure) -> Markup:
    """Draw a figure as an element that stands in a page or alone. Every word is escaped.

    `<desc>` says what is to be seen (`spoken`), for those who cannot see it.
    """
    placed, words, pen = layout(figure), spoken(figure), _SvgPen()
    for place in placed.places:
        pen.parts.append("<g>")
        draw_panel(pen, place)
        pen.parts.append("</g>")
    for row in placed.rows:
        draw_key_row(pen, row)
    width = f' style="max-width:{figure.width:.0f}px"' if figure.width < WIDTH else ""
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart"{width} viewBox="0 0 {_u(placed.width)} {_u(placed.height)}" '
        f'role="img" font-family="{escape(FONTS)}" font-size="{_u(TEXT)}" fill="{MUTED}">'
        f"<title>{escape(figure.title)}</title>{f'<desc>{escape(words)}</desc>' if words else ''}{pen}</svg>"
    )


def small_svg(panel: Panel, words: str) -> Markup:
    """Draw one panel for a grid that the page lays out: unit and directions below the title; `words` say what is to be seen."""
    place, pen = small_place(panel), _SvgPen()
    pen.text(2.0, 11.5, panel.title, place.title_size, INK, bold=True)
    pen.text(2.0, 23.0, panel.y.label, place.label_size)
    draw_plot(pen, place)
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="panel" viewBox="0 0 {_u(SMALL_WIDTH)} {_u(SMALL_HEIGHT)}" '
        f'role="img" aria-label="{escape(words)}" font-family="{escape(FONTS)}" font-size="{_u(TEXT)}" fill="{MUTED}">{pen}</svg>'
    )


def small_keys(keys: Sequence[Key]) -> Markup:
    """The legend of such a grid, as words of the page behind a sample each."""
    box = f'class="sample" aria-hidden="true" width="{SAMPLE:g}" height="10" viewBox="0 0 {_u(SAMPLE)} 100"'
    drawn = []
    for key in keys:
        pen = _SvgPen()
        draw_sample(pen, key, 0.0, 5.0)
        drawn.append(f"<span><svg {box}>{pen}</svg> {escape(key.words)}</span>")
    return Markup(f'<p class="keys small">{" ".join(drawn)}</p>')


def picture(png: bytes, words: str) -> Markup:
    """A PNG as an element of a page that needs no other file."""
    return Markup(f'<img alt="{escape(words)}" src="data:image/png;base64,{base64.b64encode(png).decode("ascii")}">')


class _SvgPen:
    """See `drawing.Pen`. Words are muted and of the size `TEXT` where nothing else is said."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def __str__(self) -> str:
        return "".join(self.parts)

    @contextmanager
    def inside(self, place: Place) -> Iterator[None]:
        if not place.clipped:
            yield
            return
        x, y, width, height = (_u(value) for value in (place.left, place.top, place.width, place.height))
        box = f'x="{x}" y="{y}" width="{width}" height="{height}" viewBox="{x} {y} {width} {height}"'
        self.parts.append(f"<svg {box}>")
        yield
        self.parts.append("</svg>")

    def stroke(self, pieces: Sequence[FloatArray], stroke: Stroke, *, closed: bool = False) -> None:
        name, width, dash, opacity = stroke
        dashes = f' stroke-dasharray="{" ".join(f"{10.0 * part:g}" for part in dash)}"' if dash else ""
        pen = f'stroke="{color(name)}" stroke-width="{10.0 * width:g}"{dashes}{_faint(opacity)}'
        if pieces:
            self.parts.append(f'<path d="{_data(pieces, closed)}" fill="none" stroke-linejoin="round" {pen}/>')

    def fill(self, pieces: Sequence[FloatArray], name: str, opacity: float = 1.0, title: str = "") -> None:
        shown = f"><title>{escape(title)}</title></path>" if title else "/>"
        if pieces:
            self.parts.append(f'<path d="{_data(pieces, True)}" fill="{color(name)}"{_faint(opacity)}{shown}')

    def dots(self, points: FloatArray, diameter: float, name: str) -> None:
        radius = f'r="{_u(diameter / 2)}" fill="{color(name)}"'
        self.parts += [f'<circle cx="{_u(x)}" cy="{_u(y)}" {radius}/>' for x, y in points.tolist()]

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = SMALL,
        hue: str = MUTED,
        *,
        anchor: str = "start",
        bold: bool = False,
        italic: bool = False,
        upright: bool = False,
    ) -> None:
        if not words:
            return
        at = f'transform="translate({_u(x)} {_u(y)}) rotate(-90)"' if upright else f'x="{_u(x)}" y="{_u(y)}"'
        style = _ANCHORS[anchor]
        style += f' font-size="{_u(size)}"' if size != TEXT else ""
        style += f' fill="{hue}"' if hue != MUTED else ""
        style += ' font-weight="600"' if bold else ' font-style="italic"' if italic else ""
        self.parts.append(f"<text {at}{style}>{escape(words)}</text>")


def _data(pieces: Sequence[FloatArray], closed: bool) -> str:
    """The `d` of a path: the first point of every piece, then the steps to the next ones, half as long as places."""
    parts = []
    for piece in pieces:
        points = np.rint(10.0 * piece).astype(np.int64)
        steps = " ".join(map(str, np.diff(points, axis=0).reshape(-1).tolist()))
        parts.append(f"M{points[0, 0]} {points[0, 1]}{f'l{steps}' if steps else 'h0'}{'Z' if closed else ''}")
    return "".join(parts)


def _faint(opacity: float) -> str:
    return f' opacity="{opacity:g}"' if opacity != 1.0 else ""


def _u(pixels: float) -> int:
    """Pixels in whole units."""
    return round(10.0 * pixels)


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
