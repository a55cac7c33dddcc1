"""Figures as vectors on a page of paper: the layout that all backends share, set with fpdf2.

A drawing has a corner on the page and a scale; inside, everything is in pixels of the figure, y down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.output.figures.description import (
    Area,
    Bars,
    Dash,
    Figure,
    Key,
    Layer,
    Line,
    Outline,
    Panel,
    Points,
    Rule,
    Shade,
    Strip,
    Text,
)
from biodyn.output.figures.layout import (
    SAMPLE,
    STRIP_HEIGHT,
    KeyRow,
    Place,
    key_words_left,
    layout,
    runs,
    small_place,
)
from biodyn.output.figures.letters import FONT, settable
from biodyn.output.figures.style import AXIS, GRID, INK, MUTED, SMALL, TEXT, color, shortened

if TYPE_CHECKING:
    from fpdf import FPDF

_POINTS_A_MM = 72.0 / 25.4
_BASELINE = 0.35  # of the letters' size: from the middle of a line of words to what they stand on


@dataclass(frozen=True)
class Drawing:
    """A figure on a page: `left`, `top` of its corner in mm, `scale` mm a pixel."""

    pages: FPDF
    left: float
    top: float
    scale: float

    def points(self, x: FloatArray, y: FloatArray) -> list[tuple[float, float]]:
        """Places (n,) in pixels as pairs in mm."""
        across = self.left + self.scale * np.asarray(x, dtype=np.float64)
        down = self.top + self.scale * np.asarray(y, dtype=np.float64)
        return list(zip(across.tolist(), down.tolist(), strict=True))

    def pen(self, name: str, width: float, dash: Dash = (), opacity: float = 1.0) -> Any:
        """A context in which lines have this colour, width (pixels), dashes and strength."""
        pattern = tuple(self.scale * part for part in dash) if dash else (0.0, 0.0)
        return self.pages.local_context(
            draw_color=color(name),
            line_width=self.scale * width,
            dash_pattern={"dash": pattern[0], "gap": pattern[1]},
            stroke_opacity=opacity,
            stroke_join_style="round",
        )

    def brush(self, name: str, opacity: float = 1.0) -> Any:
        """A context in which shapes are filled in this colour and strength."""
        return self.pages.local_context(fill_color=color(name), fill_opacity=opacity)

    def line(self, x: FloatArray | Sequence[float], y: FloatArray | Sequence[float]) -> None:
        """A line through places (n,) in the pen's way; NaN is a gap."""
        x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
        for start, end in runs(np.isfinite(x) & np.isfinite(y)):
            found = self.points(x[start:end], y[start:end])
            if len(found) > 1:
                self.pages.polyline(found)

    def shape(self, x: FloatArray, y: FloatArray, style: str = "F") -> None:
        """A closed shape, filled ("F") or drawn ("D")."""
        self.pages.polyline(self.points(x, y), polygon=True, style=style)

    def box(self, left: float, top: float, width: float, height: float, name: str) -> None:
        """A filled box."""
        with self.brush(name):
            self.pages.rect(
                self.left + self.scale * left,
                self.top + self.scale * top,
                self.scale * width,
                self.scale * height,
                style="F",
            )

    def inside(self, place: Place) -> Any:
        """A context in which only a panel's plot is drawn on."""
        return self.pages.rect_clip(
            self.left + self.scale * place.left,
            self.top + self.scale * place.top,
            self.scale * place.width,
            self.scale * place.height,
        )

    def words(
        self,
        x: float,
        y: float,
        text: str,
        size: float = SMALL,
        hue: str = MUTED,
        *,
        anchor: str = "start",
        bold: bool = False,
        upright: bool = False,
    ) -> None:
        """Words whose baseline begins, has its middle or ends ("start", "middle", "end") at a place; upright: from below."""
        if not text:
            return
        pages, shown = self.pages, settable(text)
        pages.set_font(FONT, "B" if bold else "", size * self.scale * _POINTS_A_MM)
        pages.set_text_color(hue)
        wide = pages.get_string_width(shown) * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        at = self.left + self.scale * x, self.top + self.scale * y
        if upright:
            with pages.rotation(90.0, *at):
                pages.text(at[0] - wide, at[1], shown)
        else:
            pages.text(at[0] - wide, at[1], shown)
        pages.set_text_color(0)


def draw_figure(pages: FPDF, figure: Figure, left: float, top: float, width: float, height: float) -> float:
    """Draw a figure as wide as it may be (mm), smaller where it would be higher than `height`; returns its height."""
    placed = layout(figure)
    scale = min(width / placed.width, height / placed.height)
    drawing = Drawing(pages, left + 0.5 * (width - scale * placed.width), top, scale)
    for place in placed.places:
        panel = place.panel
        drawing.words(place.left, place.top - place.title_above, panel.title, place.title_size, INK, bold=True)
        drawing.words(place.right, place.top - place.corner_above, panel.corner, anchor="end")
        _plot(drawing, place)
        middle = place.top + place.height / 2
        drawing.words(place.left - 48.0, middle, panel.y.label, place.label_size, anchor="middle", upright=True)
        drawing.words(place.left + place.width / 2, place.label_below, panel.x.label, TEXT, anchor="middle")
    for row in placed.rows:
        _key_row(drawing, row)
    return scale * placed.height


def draw_small(pages: FPDF, panel: Panel, left: float, top: float, scale: float) -> None:
    """Draw a panel of a grid (`layout.SMALL_WIDTH` by `SMALL_HEIGHT` pixels): unit and directions below the title."""
    place = small_place(panel)
    drawing = Drawing(pages, left, top, scale)
    drawing.words(2.0, 11.5, panel.title, place.title_size, INK, bold=True)
    drawing.words(2.0, 23.0, panel.y.label, place.label_size)
    _plot(drawing, place)


def draw_keys(pages: FPDF, keys: Sequence[Key], left: float, top: float, width: float, scale: float) -> float:
    """Draw a legend in as many lines as it needs; returns its height, mm."""
    room = width / scale - SAMPLE - 30.0
    own = tuple(replace(key, words=shortened(settable(key.words), room, TEXT)) for key in keys)
    only = layout(Figure("", (), own, width=width / scale))
    drawing = Drawing(pages, left, top, scale)
    for row in only.rows:
        _key_row(drawing, row)
    return scale * only.height


def _plot(drawing: Drawing, place: Place) -> None:
    """What stands between the axes of a panel, the axes, and the words of their ticks."""
    panel = place.panel
    with drawing.inside(place):
        for layer in panel.layers:
            if isinstance(layer, Shade):
                _shade(drawing, layer, place)
        _grid(drawing, place)
        for layer in panel.layers:
            _layer(drawing, layer, place)
    with drawing.pen(AXIS, 0.8):
        drawing.line([place.left, place.left, place.right], [place.top, place.bottom, place.bottom])
    for number, strip in enumerate(panel.strips):
        _strip(drawing, strip, place, place.strip_top(number))
    drawing.words(place.left + place.width / 2, place.top + place.height / 2, panel.note, TEXT, anchor="middle")
    for value, words in place.yticks:
        drawing.words(place.left - 4.5, float(place.py(value)) + _BASELINE * SMALL, words, anchor="end")
    for value, words in place.xticks:
        for number, line in enumerate(words.split("\n")):
            drawing.words(float(place.px(value)), place.below + 14.5 + 13.5 * number, line, anchor="middle")


def _grid(drawing: Drawing, place: Place) -> None:
    """Lines at the ticks; that at zero is darker."""
    for value, _ in place.yticks if place.panel.y.grid else ():
        with drawing.pen(AXIS if value == 0.0 else GRID, 0.7):
            drawing.line([place.left, place.right], [float(place.py(value))] * 2)
    for value, _ in place.xticks if place.panel.x.grid else ():
        with drawing.pen(GRID, 0.7):
            drawing.line([float(place.px(value))] * 2, [place.top, place.bottom])


def _layer(drawing: Drawing, layer: Layer, place: Place) -> None:
    match layer:
        case Line():
            with drawing.pen(layer.color, layer.width, layer.dash, layer.opacity):
                x = place.px(layer.x)
                for curve in layer.y.reshape(-1, layer.y.shape[-1]):
                    drawing.line(x, place.py(curve))
        case Area():
            with drawing.brush(layer.color, layer.opacity):
                for start, end in runs(np.isfinite(layer.low) & np.isfinite(layer.high)):
                    x = place.px(layer.x[start:end])
                    low, high = place.py(layer.low[start:end]), place.py(layer.high[start:end])
                    drawing.shape(np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]]))
        case Bars():
            _bars(drawing, layer, place)
        case Points():
            known = np.isfinite(layer.x) & np.isfinite(layer.y)
            with drawing.brush(layer.color):
                for dot in drawing.points(place.px(layer.x[known]), place.py(layer.y[known])):
                    drawing.pages.circle(*dot, 0.5 * drawing.scale * layer.size, style="F")
        case Outline():
            x, y = place.px(layer.points[:, 0]), place.py(layer.points[:, 1])
            if layer.fill:
                with drawing.brush(layer.fill, layer.opacity):
                    drawing.shape(x, y)
            with drawing.pen(layer.color, layer.width, layer.dash, layer.opacity):
                drawing.shape(x, y, "D")
        case Rule():
            at = float(place.px(layer.at) if layer.along == "x" else place.py(layer.at))
            ends = [place.top, place.bottom] if layer.along == "x" else [place.left, place.right]
            with drawing.pen(layer.color, layer.width, layer.dash, layer.opacity):
                drawing.line(*(([at, at], ends) if layer.along == "x" else (ends, [at, at])))
        case Text():
            at_x, at_y = float(place.px(layer.x)), float(place.py(layer.y))
            drawing.words(at_x, at_y, layer.words, SMALL, color(layer.color), anchor=layer.anchor)
        case Shade():
            pass  # behind the grid


def _shade(drawing: Drawing, shade: Shade, place: Place) -> None:
    for start, end in shade.spans:
        if shade.along == "x":
            left, right = float(place.px(start)), float(place.px(end))
            drawing.box(left, place.top, right - left, place.height, shade.color)
        else:
            top, bottom = float(place.py(end)), float(place.py(start))
            drawing.box(place.left, top, place.width, bottom - top, shade.color)


def _bars(drawing: Drawing, bars: Bars, place: Place) -> None:
    half = bars.width / 2.0
    for i in bars.drawn:
        at, base, top = bars.at[i], bars.base[i], bars.top[i]
        across, along = np.array([at - half, at + half, at + half, at - half]), np.array([base, base, top, top])
        x, y = (along, across) if bars.lying else (across, along)
        with drawing.pen(bars.color, 1.0) if bars.outline else drawing.brush(bars.color):
            drawing.shape(place.px(x), place.py(y), "D" if bars.outline else "F")
    for i in bars.drawn:
        if bars.error is not None and np.isfinite(bars.error[i]):
            along = bars.top[i] + np.array([-1.0, 1.0]) * bars.error[i]
            across = np.full(2, bars.at[i])
            x, y = (along, across) if bars.lying else (across, along)
            with drawing.pen(INK, 0.9):
                drawing.line(place.px(x), place.py(y))


def _strip(drawing: Drawing, strip: Strip, place: Place, top: float) -> None:
    drawing.box(place.left, top, place.width, STRIP_HEIGHT, GRID)
    for span in strip.spans:
        left, width = place.strip_span(span)
        drawing.box(left, top, width, STRIP_HEIGHT, span.color or strip.color)
    drawing.words(place.left - 4.5, top + 0.5 * STRIP_HEIGHT + _BASELINE * SMALL, strip.label, anchor="end")


def _key_row(drawing: Drawing, row: KeyRow) -> None:
    base = row.y + _BASELINE * TEXT
    drawing.words(row.title_left, base, row.title, TEXT, INK, bold=True)
    for key, left in row.keys:
        _sample(drawing, key, left, row.y)
        drawing.words(key_words_left(left), base, key.words, TEXT, INK)


def _sample(drawing: Drawing, key: Key, left: float, middle: float) -> None:
    if key.kind == "area":
        with drawing.brush(key.color, key.opacity):
            x = left + SAMPLE * np.array([0.0, 1.0, 1.0, 0.0])
            drawing.shape(x, middle + 5.0 * np.array([-1.0, -1.0, 1.0, 1.0]))
        return
    with drawing.pen(key.color, key.width if key.kind == "line" else 1.0, key.dash, key.opacity):
        if key.kind == "outline":
            x = left + SAMPLE * np.array([0.0, 1.0, 1.0, 0.0])
            drawing.shape(x, middle + 5.0 * np.array([-1.0, -1.0, 1.0, 1.0]), "D")
        else:
            drawing.line([left, left + SAMPLE], [middle, middle])
    if key.point:
        (at,) = drawing.points(np.array([left + SAMPLE / 2]), np.array([middle]))
        with drawing.brush(key.color):
            drawing.pages.circle(*at, 2.5 * drawing.scale, style="F")
