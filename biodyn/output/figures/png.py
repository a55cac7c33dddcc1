"""Figures as PNG: lines and shapes by the Agg renderer of matplotlib, text by Pillow in the fonts of matplotlib.

Axes, ticks and legends of matplotlib would take ten times as long (5.3 s of 9 s processor time for the figures of a walk).
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from matplotlib.backend_bases import GraphicsContextBase
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, Bbox, IdentityTransform
from PIL import Image, ImageDraw, ImageFont

from biodyn.conventions import FloatArray
from biodyn.output.figures.description import Figure
from biodyn.output.figures.drawing import SMALL_TEXT, PlotBox, Stroke, TextStyle, draw_figure, lay_out_figure
from biodyn.output.figures.style import DPI, POINTS_A_PIXEL, WIDTH, WIDTH_IN, color, font_file

_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def render_png(figure: Figure, dpi: int = DPI) -> bytes:
    """Draw a figure as PNG, `dpi` dots per inch of paper."""
    placed = lay_out_figure(figure)
    pen = _PngPen(placed.width, placed.height, dpi)
    draw_figure(pen, placed)
    return pen.encode_png()


class _PngPen:
    """See `drawing.Pen`. Text is written last."""

    def __init__(self, width: float, height: float, dpi: int) -> None:
        self.dpi, self.scale = dpi, dpi * WIDTH_IN / WIDTH
        self.height = int(height * self.scale)
        self.renderer = RendererAgg(int(width * self.scale), self.height, dpi)
        np.asarray(self.renderer.buffer_rgba())[:] = 255  # white paper
        self.clip: Bbox | None = None
        self.texts: list[tuple[float, float, str, TextStyle]] = []

    @contextmanager
    def clip_to_panel(self, place: PlotBox) -> Iterator[None]:
        corners = self._pixels(np.array([[place.left, place.bottom], [place.right, place.top]]))
        self.clip = Bbox.from_extents(*corners.ravel().tolist())
        yield
        self.clip = None

    def stroke(self, pieces: Sequence[FloatArray], stroke: Stroke, *, closed: bool = False) -> None:
        gc = self._graphics_context(stroke.color, stroke.opacity)
        gc.set_linewidth(stroke.width * POINTS_A_PIXEL)
        gc.set_joinstyle("miter" if closed else "round")
        gc.set_capstyle("butt" if stroke.dash else "projecting")
        if stroke.dash:
            gc.set_dashes(0.0, [part * POINTS_A_PIXEL for part in stroke.dash])
        for piece in pieces:
            self.renderer.draw_path(gc, self._pixel_path(piece, closed), IdentityTransform())

    def fill(self, pieces: Sequence[FloatArray], name: str, opacity: float = 1.0, title: str = "") -> None:
        gc = self._graphics_context(name, opacity)
        gc.set_linewidth(0.0)
        for piece in pieces:
            self.renderer.draw_path(gc, self._pixel_path(piece, True), IdentityTransform(), _rgb_colour(name))

    def draw_dots(self, points: FloatArray, diameter: float, name: str) -> None:
        gc = self._graphics_context(name)
        gc.set_linewidth(0.0)
        size = Affine2D().scale(0.5 * diameter * self.scale)
        self.renderer.draw_markers(
            gc, Path.unit_circle(), size, Path(self._pixels(points)), IdentityTransform(), _rgb_colour(name)
        )

    def write(self, x: float, y: float, words: str, style: TextStyle = SMALL_TEXT) -> None:
        if words:
            self.texts.append((self.scale * x, self.scale * y, words, style))

    def encode_png(self) -> bytes:
        picture = Image.fromarray(np.asarray(self.renderer.buffer_rgba())).convert("RGB")
        pen = ImageDraw.Draw(picture)
        fonts: dict[tuple[str, float], ImageFont.FreeTypeFont] = {}
        for x, y, words, style in self.texts:
            face, size = "B" if style.bold else "I" if style.italic else "", style.size * self.scale
            if (face, size) not in fonts:
                layout_engine = ImageFont.Layout.BASIC
                fonts[face, size] = ImageFont.truetype(str(font_file(face)), size, layout_engine=layout_engine)
            font = fonts[face, size]
            if style.upright:
                _write_upright(picture, x, y, words, style.hue, font)
            else:
                pen.text((x, y), words, fill=style.hue, font=font, anchor=_ANCHORS[style.anchor])
        stream = io.BytesIO()
        picture.save(stream, format="PNG", compress_level=1, dpi=(self.dpi, self.dpi))
        return stream.getvalue()

    def _graphics_context(self, name: str, opacity: float = 1.0) -> GraphicsContextBase:
        gc = self.renderer.new_gc()
        gc.set_foreground(color(name))
        gc.set_alpha(opacity)
        if self.clip is not None:
            gc.set_clip_rectangle(self.clip)  # type: ignore[arg-type]
        return gc

    def _pixels(self, points: FloatArray) -> FloatArray:
        """Convert points of the page to pixels of the picture, y up."""
        return self.scale * points * (1.0, -1.0) + (0.0, self.height)

    def _pixel_path(self, points: FloatArray, closed: bool) -> Path:
        pixels = self._pixels(points)
        return Path(np.concatenate([pixels, pixels[:1]]), closed=True) if closed else Path(pixels)


def _write_upright(
    picture: Image.Image, x: float, y: float, words: str, hue: str, font: ImageFont.FreeTypeFont
) -> None:
    """Write text from bottom to top, with the middle of its baseline at a point."""
    length, above = math.ceil(font.getlength(words)) + 4, math.ceil(font.size)
    level = Image.new("L", (length, 2 * above))
    ImageDraw.Draw(level).text((length / 2, above), words, fill=255, font=font, anchor="ms")
    picture.paste(hue, (round(x) - above, round(y - length / 2)), level.transpose(Image.Transpose.ROTATE_90))


def _rgb_colour(name: str) -> tuple[float, float, float]:
    red, green, blue = (int(color(name)[at : at + 2], 16) / 255.0 for at in (1, 3, 5))
    return red, green, blue
