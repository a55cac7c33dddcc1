"""Figures as compact SVG with reproducible bytes.

One unit is a tenth of a pixel of the page, so that coordinates are integers.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from markupsafe import Markup, escape

from biodyn.conventions import FloatArray, IntArray
from biodyn.output.figures.curves import display_table
from biodyn.output.figures.description import Bars, Dash, Figure, Key, Line, Panel
from biodyn.output.figures.drawing import (
    SAMPLE,
    SMALL_HEIGHT,
    SMALL_TEXT,
    SMALL_WIDTH,
    PlotBox,
    Stroke,
    TextStyle,
    draw_key_row,
    draw_panel,
    draw_sample,
    draw_small_panel,
    lay_out_figure,
    small_plot_edges,
)
from biodyn.output.figures.style import FONTS, MUTED, TEXT, WIDTH, color


def alt_text(figure: Figure, max_letters: int = 1500) -> str:
    """Describe a figure panel by panel: title, quantity, and the values of its mean curves and bars; "" if none exist."""
    sentences: list[str] = []
    length = 0
    panels = [panel for panel in figure.panels if panel is not None]
    for number, panel in enumerate(panels):
        values = "; ".join(_extent_texts(panel, figure.keys))
        sentence = f"{panel.title}{f' ({panel.y.label})' if panel.y.label else ''}: {values or panel.note}."
        length += len(sentence)
        if length > max_letters:
            return " ".join([*sentences, f"{len(panels) - number} more panels."])
        if values or panel.note:
            sentences.append(sentence)
    return " ".join(sentences)


def _extent_texts(panel: Panel, keys: Sequence[Key], min_width: float = 1.5) -> Iterator[str]:
    """Yield range or heights of each curve and row of bars; lines below `min_width` are single cycles."""
    digits = _decimal_places(panel)
    for layer in panel.layers:
        if isinstance(layer, Line) and layer.width >= min_width and np.isfinite(layer.y).any():
            low, high = float(np.nanmin(layer.y)), float(np.nanmax(layer.y))
            yield f"{_key_text(keys, layer.color, layer.dash)}{_format_number(low, digits)} to {_format_number(high, digits)}"
        elif isinstance(layer, Bars) and not layer.outline and layer.visible_bars:
            yield f"{_key_text(keys, layer.color, ())}{', '.join(_bar_heights(panel, layer, digits))}"


def _bar_heights(panel: Panel, bars: Bars, digits: int) -> Iterator[str]:
    """Yield the height of each bar with the label of its tick."""
    ticks = (panel.y if bars.horizontal else panel.x).ticks or ()
    positions: FloatArray = np.array([value for value, _ in ticks])
    for i in bars.visible_bars:
        near = int(np.abs(positions - bars.at[i]).argmin()) if len(positions) else -1
        label = ticks[near][1].replace("\n", " ") + " " if near >= 0 and abs(positions[near] - bars.at[i]) < 0.5 else ""
        yield f"{label}{_format_number(float(bars.top[i]), digits)}"


def _key_text(keys: Sequence[Key], color: str, dash: Dash) -> str:
    """Return the legend text of a line style, "" if it is not in the legend."""
    words = [key.words for key in keys if key.color == color and (not dash or key.dash == dash)]
    return f"{words[0]} " if words else ""


def _decimal_places(panel: Panel) -> int:
    """Return the decimals with which the largest number of a panel has three digits."""
    tops = [
        layer.y if isinstance(layer, Line) else layer.top for layer in panel.layers if isinstance(layer, Line | Bars)
    ]
    largest = max((float(np.nanmax(np.abs(top))) for top in tops if np.isfinite(top).any()), default=0.0)
    return min(max(2 - math.floor(math.log10(largest)), 0), 6) if largest > 0.0 else 0


def _format_number(value: float, digits: int) -> str:
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")


_ANCHORS = {"start": "", "middle": ' text-anchor="middle"', "end": ' text-anchor="end"'}


def render_svg(figure: Figure) -> Markup:
    """Draw a figure as an SVG element, with escaped text and an alternative text (`alt_text`) in `<desc>`."""
    placed, words, pen = lay_out_figure(figure), alt_text(figure), _SvgPen()
    for place in placed.places:
        pen.parts.append("<g>")
        draw_panel(pen, place)
        pen.parts.append("</g>")
    for row in placed.rows:
        draw_key_row(pen, row)
    width = f' style="max-width:{figure.width:.0f}px"' if figure.width < WIDTH else ""
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart"{width} '
        f'viewBox="0 0 {_svg_units(placed.width)} {_svg_units(placed.height)}" '
        f'role="img" font-family="{escape(FONTS)}" font-size="{_svg_units(TEXT)}" fill="{MUTED}">'
        f"<title>{escape(figure.title)}</title>{f'<desc>{escape(words)}</desc>' if words else ''}{pen}</svg>"
    )


def small_panel_svg(panel: Panel, words: str) -> Markup:
    """Draw one panel of a grid; `words`: alternative text."""
    pen = _SvgPen()
    draw_small_panel(pen, panel)
    return Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" class="panel" '
        f'viewBox="0 0 {_svg_units(SMALL_WIDTH)} {_svg_units(SMALL_HEIGHT)}" '
        f'role="img" aria-label="{escape(words)}" font-family="{escape(FONTS)}" font-size="{_svg_units(TEXT)}" '
        f'fill="{MUTED}">{pen}</svg>'
    )


def legend_markup(keys: Sequence[Key]) -> Markup:
    """Return the legend of a grid as text of the page with samples."""
    box = f'class="sample" aria-hidden="true" width="{SAMPLE:g}" height="10" viewBox="0 0 {_svg_units(SAMPLE)} 100"'
    drawn = []
    for key in keys:
        pen = _SvgPen()
        draw_sample(pen, key, 0.0, 5.0)
        drawn.append(f"<span><svg {box}>{pen}</svg> {escape(key.words)}</span>")
    return Markup(f'<p class="keys small">{" ".join(drawn)}</p>')


def image_markup(png: bytes, words: str) -> Markup:
    """Return a PNG as an embedded element of a page; `words`: alternative text."""
    return Markup(f'<img alt="{escape(words)}" src="data:image/png;base64,{base64.b64encode(png).decode("ascii")}">')


class _SvgPen:
    """See `drawing.Pen`. Text is muted and of size `TEXT` by default."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def __str__(self) -> str:
        return "".join(self.parts)

    @contextmanager
    def clip_to_panel(self, place: PlotBox) -> Iterator[None]:
        if not place.is_clipped:
            yield
            return
        x, y, width, height = (_svg_units(value) for value in (place.left, place.top, place.width, place.height))
        box = f'x="{x}" y="{y}" width="{width}" height="{height}" viewBox="{x} {y} {width} {height}"'
        self.parts.append(f"<svg {box}>")
        yield
        self.parts.append("</svg>")

    def stroke(self, pieces: Sequence[FloatArray], stroke: Stroke, *, closed: bool = False) -> None:
        name, width, dash, opacity = stroke
        dashes = f' stroke-dasharray="{" ".join(f"{10.0 * part:g}" for part in dash)}"' if dash else ""
        pen = f'stroke="{color(name)}" stroke-width="{10.0 * width:g}"{dashes}{_opacity_attribute(opacity)}'
        if pieces:
            self.parts.append(f'<path d="{_path_data(pieces, closed)}" fill="none" stroke-linejoin="round" {pen}/>')

    def fill(self, pieces: Sequence[FloatArray], name: str, opacity: float = 1.0, title: str = "") -> None:
        shown = f"><title>{escape(title)}</title></path>" if title else "/>"
        if pieces:
            self.parts.append(
                f'<path d="{_path_data(pieces, True)}" fill="{color(name)}"{_opacity_attribute(opacity)}{shown}'
            )

    def draw_dots(self, points: FloatArray, diameter: float, name: str) -> None:
        radius = f'r="{_svg_units(diameter / 2)}" fill="{color(name)}"'
        self.parts += [f'<circle cx="{_svg_units(x)}" cy="{_svg_units(y)}" {radius}/>' for x, y in points.tolist()]

    def write(self, x: float, y: float, words: str, style: TextStyle = SMALL_TEXT) -> None:
        if not words:
            return
        at = (
            f'transform="translate({_svg_units(x)} {_svg_units(y)}) rotate(-90)"'
            if style.upright
            else f'x="{_svg_units(x)}" y="{_svg_units(y)}"'
        )
        attributes = _ANCHORS[style.anchor]
        attributes += f' font-size="{_svg_units(style.size)}"' if style.size != TEXT else ""
        attributes += f' fill="{style.hue}"' if style.hue != MUTED else ""
        attributes += ' font-weight="600"' if style.bold else ' font-style="italic"' if style.italic else ""
        self.parts.append(f"<text {at}{attributes}>{escape(words)}</text>")


def _path_data(pieces: Sequence[FloatArray], closed: bool) -> str:
    """Return the `d` of a path: first point of each piece, then relative steps, which are half as long as positions."""
    parts = []
    for piece in pieces:
        points = np.rint(10.0 * piece).astype(np.int64)
        if not closed:
            points = _thin_curve(points)
        steps = " ".join(map(str, (points[1:] - points[:-1]).reshape(-1).tolist()))
        parts.append(f"M{points[0, 0]} {points[0, 1]}{f'l{steps}' if steps else 'h0'}{'Z' if closed else ''}")
    return "".join(parts)


def _thin_curve(points: IntArray, column: int = 5, most_points: int = 8) -> IntArray:
    """Return the points (N, 2) of a curve that determine its picture if it has more than `most_points` in a column on average.

    Of successive points in a column of `column` units (half a pixel), the first, the lowest, the highest and the last remain
    (Jugel et al. 2014, doi 10.14778/2732951.2732953).
    """
    columns = points[:, 0] // column
    first = np.concatenate([[0], np.flatnonzero(columns[1:] != columns[:-1]) + 1])
    if len(points) <= most_points * len(first):
        return points
    sizes = np.diff(first, append=len(points))
    by_height = np.lexsort((points[:, 1], np.repeat(np.arange(len(first)), sizes)))
    last = first + sizes - 1
    return points[np.unique(np.concatenate([first, last, by_height[first], by_height[last]]))]


def _opacity_attribute(opacity: float) -> str:
    return f' opacity="{opacity:g}"' if opacity != 1.0 else ""


def _svg_units(pixels: float) -> int:
    """Return pixels in whole units."""
    return round(10.0 * pixels)


#: A panel of a variable, and its alternative text.
Described = tuple[Panel, str]


def standard_page_variables() -> list[str]:
    """Return all variables of the standard page."""
    return [name for row in display_table()["standard"] for name in row["panels"] if name]


def standard_page_rows(known: Collection[str]) -> list[tuple[str, str, list[str]]]:
    """Return title, side ("motion" or "loads") and variables of the rows with `known` variables; "" leaves a position empty."""
    return [
        (str(row["title"]), str(row["side"]), [name if name in known else "" for name in row["panels"]])
        for row in display_table()["standard"]
        if any(name in known for name in row["panels"])
    ]


def standard_grid(known: Collection[str], describe: Callable[[str], Described], keys: Sequence[Key]) -> Markup:
    """Return the grid of the standard page; "" without `known` variables."""
    planes = ("sagittal", "frontal", "transverse")
    rows = [
        _panel_row(title, side, names, describe, [f"{title}, {plane} plane" for plane in planes])
        for title, side, names in standard_page_rows(known)
    ]
    return _wrap_grid_rows(rows) + legend_markup(keys) if rows else Markup()


def further_panels_grid(names: Sequence[str], describe: Callable[[str], Described]) -> Markup:
    """Return panels of further variables, three per row."""
    rows = [_panel_row("", "motion", names[i : i + 3], describe) for i in range(0, len(names), 3)]
    return _wrap_grid_rows(rows) if rows else Markup()


def _wrap_grid_rows(rows: Sequence[Markup]) -> Markup:
    """Return the rows, with the edges of the plots in units of the panels for the cursor."""
    plot = " ".join(f"{10.0 * edge:.0f}" for edge in (SMALL_WIDTH, *small_plot_edges()))
    return Markup('<div class="standard-grid" data-plot="{}">{}</div>').format(plot, Markup("").join(rows))


def _panel_row(
    title: str, side: str, names: Sequence[str], describe: Callable[[str], Described], absent: Sequence[str] = ()
) -> Markup:
    """Return a row of panels; `absent`: what an empty position would show, "" names in a row without it stay blank."""
    panel = Markup('<div class="cell" data-name="{}">{}</div>')
    empty = Markup('<div class="cell none"><p class="small"><b>{}</b><br><span class="quiet">{}</span></p></div>')
    cells = [
        panel.format(name, small_panel_svg(*describe(name)))
        if name
        else empty.format(*((absent[i], "not a motion of the body model") if absent else ("", "")))
        for i, name in enumerate(names)
    ]
    heading = Markup("<h3>{}</h3>").format(title) if title else Markup()
    return Markup('<div class="trio {} of{}">{}<div class="cells">{}</div></div>').format(
        side, sum(map(bool, names)), heading, Markup("").join(cells)
    )
