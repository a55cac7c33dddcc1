"""Figures as PNG: lines and shapes by matplotlib's Agg renderer, words by Pillow in matplotlib's fonts.

matplotlib's own axes, ticks and legends measure what the layout knows already, and take ten times as long (5.3 s of processor
time for the figures of a walk, of 9 s for all of it).
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
from biodyn.output.figures.drawing import Place, Stroke, draw_key_row, draw_panel, layout
from biodyn.output.figures.style import DPI, MUTED, POINTS_A_PIXEL, SMALL, WIDTH, WIDTH_IN, color, font_file

_ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}


def png(figure: Figure, dpi: int = DPI) -> bytes:
    """Draw a figure as PNG, `dpi` dots per inch of paper."""
    placed = layout(figure)
    pen = _PngPen(placed.width, placed.height, dpi)
    for place in placed.places:
        draw_panel(pen, place)
    for row in placed.rows:
        draw_key_row(pen, row)
    return pen.encoded()


class _PngPen:
    """See `drawing.Pen`. Words are written last, over everything."""

    def __init__(self, width: float, height: float, dpi: int) -> None:
        self.dpi, self.scale = dpi, dpi * WIDTH_IN / WIDTH
        self.height = int(height * self.scale)
        self.renderer = RendererAgg(int(width * self.scale), self.height, dpi)
        np.asarray(self.renderer.buffer_rgba())[:] = 255  # white paper
        self.clip: Bbox | None = None
        self.words: list[tuple[str, float, float, float, str, str, str, bool]] = []

    @contextmanager
    def inside(self, place: Place) -> Iterator[None]:
        (left, top), (right, bottom) = self._pixels(
            np.array([[place.left, place.top], [place.right, place.bottom]])
        ).tolist()
        self.clip = Bbox.from_extents(left, bottom, right, top)
        yield
        self.clip = None

    def stroke(self, pieces: Sequence[FloatArray], stroke: Stroke, *, closed: bool = False) -> None:
        gc = self._context(stroke.color, stroke.opacity)
        gc.set_linewidth(stroke.width * POINTS_A_PIXEL)
        gc.set_joinstyle("miter" if closed else "round")
        gc.set_capstyle("butt" if stroke.dash else "projecting")
        if stroke.dash:
            gc.set_dashes(0.0, [part * POINTS_A_PIXEL for part in stroke.dash])
        for piece in pieces:
            self.renderer.draw_path(gc, self._path(piece, closed), IdentityTransform())

    def fill(self, pieces: Sequence[FloatArray], name: str, opacity: float = 1.0, title: str = "") -> None:
        gc = self._context(name, opacity)
        gc.set_linewidth(0.0)
        for piece in pieces:
            self.renderer.draw_path(gc, self._path(piece, True), IdentityTransform(), _rgb(name))

    def dots(self, points: FloatArray, diameter: float, name: str) -> None:
        gc = self._context(name)
        gc.set_linewidth(0.0)
        size = Affine2D().scale(0.5 * diameter * self.scale)
        self.renderer.draw_markers(
            gc, Path.unit_circle(), size, Path(self._pixels(points)), IdentityTransform(), _rgb(name)
        )

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
        if words:
            style = "B" if bold else "I" if italic else ""
            self.words.append((words, self.scale * x, self.scale * y, size * self.scale, hue, anchor, style, upright))

    def encoded(self) -> bytes:
        picture = Image.fromarray(np.ascontiguousarray(np.asarray(self.renderer.buffer_rgba())[..., :3]))
        pen = ImageDraw.Draw(picture)
        for words, x, y, size, hue, anchor, style, upright in self.words:
            font = ImageFont.truetype(str(font_file(style)), size, layout_engine=ImageFont.Layout.BASIC)
            if upright:
                _write_upright(picture, x, y, words, hue, font)
            else:
                pen.text((x, y), words, fill=hue, font=font, anchor=_ANCHORS[anchor])
        stream = io.BytesIO()
        picture.save(stream, format="PNG", compress_level=1, dpi=(self.dpi, self.dpi))
        return stream.getvalue()

    def _context(self, name: str, opacity: float = 1.0) -> GraphicsContextBase:
        gc = self.renderer.new_gc()
        gc.set_foreground(color(name))
        gc.set_alpha(opacity)
        if self.clip is not None:
            gc.set_clip_rectangle(self.clip)  # type: ignore[arg-type]
        return gc

    def _pixels(self, points: FloatArray) -> FloatArray:
        """Points of the page as pixels of the picture, y up."""
        return self.scale * points * (1.0, -1.0) + (0.0, self.height)

    def _path(self, points: FloatArray, closed: bool) -> Path:
        pixels = self._pixels(points)
        return Path(np.concatenate([pixels, pixels[:1]]), closed=True) if closed else Path(pixels)


def _write_upright(
    picture: Image.Image, x: float, y: float, words: str, hue: str, font: ImageFont.FreeTypeFont
) -> None:
    """Write words from bottom to top, the middle of their baseline at a point."""
    length, above = math.ceil(font.getlength(words)) + 4, math.ceil(font.size)
    level = Image.new("L", (length, 2 * above))
    ImageDraw.Draw(level).text((length / 2, above), words, fill=255, font=font, anchor="ms")
    picture.paste(hue, (round(x) - above, round(y - length / 2)), level.transpose(Image.Transpose.ROTATE_90))


def _rgb(name: str) -> tuple[float, float, float]:
    red, green, blue = (int(color(name)[at : at + 2], 16) / 255.0 for at in (1, 3, 5))
    return red, green, blue
