"""Figures as vectors in PDF, with fpdf2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.output.figures.description import Figure, Key, Panel
from biodyn.output.figures.drawing import (
    SAMPLE,
    SMALL_TEXT,
    PlotBox,
    Stroke,
    TextStyle,
    draw_figure,
    draw_small_panel,
    lay_out_figure,
)
from biodyn.output.figures.style import FONT, TEXT, color, displayable_text, shorten_text

if TYPE_CHECKING:
    from fpdf import FPDF


def draw_in_pdf(pages: FPDF, figure: Figure, left: float, top: float, width: float, height: float) -> float:
    """Draw a figure within a width and height (mm), and return its height."""
    placed = lay_out_figure(figure)
    scale = min(width / placed.width, height / placed.height)
    draw_figure(_PdfPen(pages, left + 0.5 * (width - scale * placed.width), top, scale), placed)
    return scale * placed.height


def draw_small_panel_in_pdf(pages: FPDF, panel: Panel, left: float, top: float, scale: float) -> None:
    """Draw a panel of a grid, `SMALL_WIDTH` by `SMALL_HEIGHT` pixels of `scale` mm."""
    draw_small_panel(_PdfPen(pages, left, top, scale), panel)


def draw_legend_in_pdf(pages: FPDF, keys: Sequence[Key], left: float, top: float, width: float, scale: float) -> float:
    """Draw a legend, and return its height, mm."""
    room = width / scale - SAMPLE - 30.0
    short = tuple(replace(key, words=shorten_text(displayable_text(key.words), room, TEXT)) for key in keys)
    placed = lay_out_figure(Figure("", (), short, width=width / scale))
    draw_figure(_PdfPen(pages, left, top, scale), placed)
    return scale * placed.height


class _PdfPen:
    """See `drawing.Pen`: `left`, `top` of the drawing in mm, `scale` mm per pixel."""

    def __init__(self, pages: FPDF, left: float, top: float, scale: float) -> None:
        self.pages, self.origin, self.scale = pages, (left, top), scale

    def clip_to_panel(self, place: PlotBox) -> Any:
        ((x, y),) = self._page_points(np.array([[place.left, place.top]]))
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
                    self.pages.polyline(self._page_points(piece), polygon=closed, style="D")

    def fill(self, pieces: Sequence[FloatArray], name: str, opacity: float = 1.0, title: str = "") -> None:
        with self.pages.local_context(fill_color=color(name), fill_opacity=opacity):
            for piece in pieces:
                self.pages.polyline(self._page_points(piece), polygon=True, style="F")

    def draw_dots(self, points: FloatArray, diameter: float, name: str) -> None:
        with self.pages.local_context(fill_color=color(name)):
            for x, y in self._page_points(points):
                self.pages.circle(x, y, 0.5 * self.scale * diameter, style="F")

    def write(self, x: float, y: float, words: str, style: TextStyle = SMALL_TEXT) -> None:
        if not words:
            return
        pages, shown = self.pages, displayable_text(words)
        pages.set_font(FONT, "B" if style.bold else "", style.size * self.scale * 72.0 / 25.4)  # points
        pages.set_text_color(style.hue)
        ((across, down),) = self._page_points(np.array([[x, y]]))
        start = across - pages.get_string_width(shown) * {"start": 0.0, "middle": 0.5, "end": 1.0}[style.anchor]
        if style.upright:
            with pages.rotation(90.0, across, down):
                pages.text(start, down, shown)
        else:
            pages.text(start, down, shown)
        pages.set_text_color(0)

    def _page_points(self, points: FloatArray) -> list[tuple[float, float]]:
        """Convert pixels of the drawing to pairs in mm of the page."""
        return [(x, y) for x, y in (self.origin + self.scale * points).tolist()]
