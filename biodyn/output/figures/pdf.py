"""Figures as vectors on a page of paper, with fpdf2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.output.figures.description import Figure, Key, Panel
from biodyn.output.figures.drawing import (
    SAMPLE,
    Place,
    Stroke,
    draw_key_row,
    draw_panel,
    draw_plot,
    layout,
    small_place,
)
from biodyn.output.figures.style import FONT, INK, MUTED, SMALL, TEXT, color, settable, shortened

if TYPE_CHECKING:
    from fpdf import FPDF

_POINTS_A_MM = 72.0 / 25.4


def draw_figure(pages: FPDF, figure: Figure, left: float, top: float, width: float, height: float) -> float:
    """Draw a figure as wide as it may be (mm), smaller where it would be higher than `height`; returns its height."""
    placed = layout(figure)
    scale = min(width / placed.width, height / placed.height)
    pen = _PdfPen(pages, left + 0.5 * (width - scale * placed.width), top, scale)
    for place in placed.places:
        draw_panel(pen, place)
    for row in placed.rows:
        draw_key_row(pen, row)
    return scale * placed.height


def draw_small(pages: FPDF, panel: Panel, left: float, top: float, scale: float) -> None:
    """Draw a panel of a grid (`layout.SMALL_WIDTH` by `SMALL_HEIGHT` pixels): unit and directions below the title."""
    place = small_place(panel)
    pen = _PdfPen(pages, left, top, scale)
    pen.text(2.0, 11.5, panel.title, place.title_size, INK, bold=True)
    pen.text(2.0, 23.0, panel.y.label, place.label_size)
    draw_plot(pen, place)


def draw_keys(pages: FPDF, keys: Sequence[Key], left: float, top: float, width: float, scale: float) -> float:
    """Draw a legend in as many lines as it needs; returns its height, mm."""
    room = width / scale - SAMPLE - 30.0
    short = tuple(replace(key, words=shortened(settable(key.words), room, TEXT)) for key in keys)
    placed = layout(Figure("", (), short, width=width / scale))
    for row in placed.rows:
        draw_key_row(_PdfPen(pages, left, top, scale), row)
    return scale * placed.height


@dataclass(frozen=True)
class _PdfPen:
    """See `drawing.Pen`: `left`, `top` of the drawing's corner in mm, `scale` mm per pixel."""

    pages: FPDF
    left: float
    top: float
    scale: float

    def inside(self, place: Place) -> Any:
        ((x, y),) = self._points(np.array([[place.left, place.top]]))
        return self.pages.rect_clip(x, y, self.scale * place.width, self.scale * place.height)

    def stroke(self, pieces: Sequence[FloatArray], stroke: Stroke, *, closed: bool = False) -> None:
        dash, gap = (self.scale * part for part in stroke.dash or (0.0, 0.0))
        with self.pages.local_context(
            draw_color=color(stroke.color),
            line_width=self.scale * stroke.width,
            dash_pattern={"dash": dash, "gap": gap},
            stroke_opacity=stroke.opacity,
            stroke_join_style="round",
        ):
            for piece in pieces:
                if len(piece) > 1:
                    self.pages.polyline(self._points(piece), polygon=closed, style="D")

    def fill(self, pieces: Sequence[FloatArray], name: str, opacity: float = 1.0, title: str = "") -> None:
        with self.pages.local_context(fill_color=color(name), fill_opacity=opacity):
            for piece in pieces:
                self.pages.polyline(self._points(piece), polygon=True, style="F")

    def dots(self, points: FloatArray, diameter: float, name: str) -> None:
        with self.pages.local_context(fill_color=color(name)):
            for x, y in self._points(points):
                self.pages.circle(x, y, 0.5 * self.scale * diameter, style="F")

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
        pages, shown = self.pages, settable(words)
        pages.set_font(FONT, "B" if bold else "", size * self.scale * _POINTS_A_MM)
        pages.set_text_color(hue)
        ((across, down),) = self._points(np.array([[x, y]]))
        start = across - pages.get_string_width(shown) * {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor]
        if upright:
            with pages.rotation(90.0, across, down):
                pages.text(start, down, shown)
        else:
            pages.text(start, down, shown)
        pages.set_text_color(0)

    def _points(self, points: FloatArray) -> list[tuple[float, float]]:
        """Pixels of the drawing as pairs in mm of the page."""
        return [(x, y) for x, y in ((self.left, self.top) + self.scale * points).tolist()]
