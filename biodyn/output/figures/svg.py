"""Figures as SVG: small, sharp, the same bytes every time, and quick enough for thousands.

One unit is a tenth of a pixel of the page, so that whole numbers place a line well enough.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from markupsafe import Markup, escape

from biodyn.conventions import FloatArray
from biodyn.output.figures.description import Figure, Key, Panel
from biodyn.output.figures.drawing import Stroke, draw_key_row, draw_panel, draw_plot, draw_sample
from biodyn.output.figures.layout import SAMPLE, SMALL_HEIGHT, SMALL_WIDTH, Place, layout, small_place
from biodyn.output.figures.spoken import spoken
from biodyn.output.figures.style import FONTS, INK, MUTED, SMALL, TEXT, WIDTH, color

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
