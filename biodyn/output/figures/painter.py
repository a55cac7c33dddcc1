"""Figures as PNG: the layout painted straight on pixels, as `matplotlib_backend.draw` would have it.

matplotlib's axes, ticks and legends are objects that look for places which the layout has already; making and asking them
takes six times as long as the picture. Here its Agg renderer gets the lines and areas, and Pillow sets the words, in
matplotlib's own letters (DejaVu Sans).
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path as FilePath

import matplotlib
import numpy as np
from matplotlib.backend_bases import GraphicsContextBase
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, Bbox, IdentityTransform
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

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
    Points,
    Rule,
    Shade,
    Text,
)
from biodyn.output.figures.layout import STRIP_HEIGHT, KeyRow, Layout, Place, joined, layout, runs
from biodyn.output.figures.style import (
    AXIS,
    DPI,
    GRID,
    INK,
    MUTED,
    POINTS_A_PIXEL,
    SMALL,
    TEXT,
    WIDTH,
    WIDTH_IN,
    color,
)

_LETTERS = {"": "DejaVuSans.ttf", "bold": "DejaVuSans-Bold.ttf", "italic": "DejaVuSans-Oblique.ttf"}
# Of the letters' size: how far DejaVu Sans reaches above the line it stands on, what a second line keeps apart, and how far
# below the middle of a line of words that line is.
_ASCENT, _LINE_GAP, _BASELINE = 0.76, 0.2, 0.26
_TICK_GAP = 3.5 / POINTS_A_PIXEL + 4.5  # from an axis to the words of its ticks
# A legend's sample, its distance to the words and that to the next sample; of the letters' size.
_SAMPLE, _BEFORE_WORDS, _BETWEEN, _BOX = 2.0, 0.45, 1.4, 0.7

_INCH_M = 0.0254
_ANCHOR = {"left": "ls", "center": "ms", "right": "rs"}


def png(figure: Figure, dpi: int = DPI) -> bytes:
    """Draw a figure as PNG."""
    placed = layout(figure)
    canvas = _Canvas.of(placed, dpi)
    for place in placed.places:
        _panel(canvas, place)
    for row in placed.rows:
        _key_row(canvas, placed, row)
    return _encoded(np.asarray(canvas.finished()), dpi)


def _encoded(pixels: NDArray[np.uint8], dpi: int) -> bytes:
    """A picture (height, width, 3) as PNG (ISO/IEC 15948).

    No row is told by its neighbours: for lines on white that makes the smallest files, and Pillow, which tries all ways for
    every row, takes as long as the drawing.
    """
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 3 * width), dtype=np.uint8)  # each after the number of its filter, 0: none
    rows[:, 1:] = pixels.reshape(height, -1)
    a_metre = round(dpi / _INCH_M)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"pHYs", struct.pack(">IIB", a_metre, a_metre, 1)),
        (b"IDAT", zlib.compress(rows.tobytes(), level=3)),
        (b"IEND", b""),
    )
    content = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + content


@dataclass(frozen=True)
class _Words:
    """Words whose baseline begins, has its middle or ends ("left", "center", "right") at x, y, pixels of the page."""

    x: float
    y: float
    words: str
    size: float
    hue: str
    align: str = "left"
    face: str = ""
    upright: bool = False


@dataclass(frozen=True)
class _Canvas:
    """A picture while it is painted: all in pixels of the page, y down; words come last, over everything.

    Attributes:
        scale: pixels of the picture in one of the page. height: of the picture.
    """

    renderer: RendererAgg
    scale: float
    height: int
    words: list[_Words] = field(default_factory=list)

    @classmethod
    def of(cls, placed: Layout, dpi: int) -> _Canvas:
        scale = dpi * WIDTH_IN / WIDTH
        width, height = int(placed.width * scale), int(placed.height * scale)
        renderer = RendererAgg(width, height, dpi)
        np.asarray(renderer.buffer_rgba())[:] = 255  # white paper
        return cls(renderer, scale, height)

    def pen(self, name: str, width: float, dash: Dash = (), opacity: float = 1.0) -> GraphicsContextBase:
        gc = self.renderer.new_gc()
        gc.set_foreground(color(name))
        gc.set_alpha(opacity)
        gc.set_linewidth(width * POINTS_A_PIXEL)  # matplotlib's pens are told in points
        gc.set_joinstyle("round")
        gc.set_capstyle("butt" if dash else "projecting")
        if dash:
            gc.set_dashes(0.0, [part * POINTS_A_PIXEL for part in dash])
        return gc

    def clip(self, gc: GraphicsContextBase, place: Place) -> None:
        left, right = self.scale * place.left, self.scale * place.right
        low, high = self.height - self.scale * place.bottom, self.height - self.scale * place.top
        gc.set_clip_rectangle(Bbox.from_extents(left, low, right, high))  # type: ignore[arg-type]

    def path(self, x: FloatArray, y: FloatArray, *, closed: bool = False) -> Path:
        corners = np.stack([self.scale * np.asarray(x), self.height - self.scale * np.asarray(y)], axis=-1)
        if not closed:
            return Path(corners)
        return Path(np.concatenate([corners, corners[:1]]), closed=True)

    def line(self, gc: GraphicsContextBase, x: FloatArray | list[float], y: FloatArray | list[float]) -> None:
        self.renderer.draw_path(gc, self.path(np.asarray(x), np.asarray(y)), IdentityTransform())

    def filled(self, gc: GraphicsContextBase, path: Path, hue: str) -> None:
        """Fill a shape in a colour, as strongly as the pen; its edge is the pen's, none where that has no width."""
        self.renderer.draw_path(gc, path, IdentityTransform(), _rgb(color(hue)))

    def box(self, left: float, top: float, width: float, height: float, hue: str, place: Place | None = None) -> None:
        gc = self.pen(hue, 0.0)
        if place is not None:
            self.clip(gc, place)
        x, y = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0, 1.0])
        self.filled(gc, self.path(left + width * x, top + height * y, closed=True), hue)

    def write(self, words: _Words) -> None:
        if words.words:
            self.words.append(words)

    def finished(self) -> Image.Image:
        """The picture with its words."""
        picture = Image.fromarray(np.ascontiguousarray(np.asarray(self.renderer.buffer_rgba())[..., :3]))
        pen = ImageDraw.Draw(picture)
        for one in self.words:
            font = _font(one.face, one.size * self.scale)
            at = (self.scale * one.x, self.scale * one.y)
            if one.upright:
                _write_upright(picture, at, one, font)
            else:
                pen.text(at, one.words, fill=one.hue, font=font, anchor=_ANCHOR[one.align])
        return picture


def _write_upright(picture: Image.Image, at: tuple[float, float], one: _Words, font: ImageFont.FreeTypeFont) -> None:
    """Words from below to above, the middle of their baseline at a place."""
    wide, above = math.ceil(font.getlength(one.words)) + 4, math.ceil(font.size)
    lying = Image.new("L", (wide, 2 * above))
    ImageDraw.Draw(lying).text((wide / 2, above), one.words, fill=255, font=font, anchor="ms")
    standing = lying.transpose(Image.Transpose.ROTATE_90)
    picture.paste(one.hue, (round(at[0]) - above, round(at[1] - wide / 2)), standing)


@lru_cache(maxsize=64)
def _font(face: str, size: float) -> ImageFont.FreeTypeFont:
    file = FilePath(matplotlib.get_data_path()) / "fonts" / "ttf" / _LETTERS[face]
    return ImageFont.truetype(str(file), size, layout_engine=ImageFont.Layout.BASIC)


def _rgb(hue: str) -> tuple[float, float, float]:
    red, green, blue = (int(hue[at : at + 2], 16) / 255.0 for at in (1, 3, 5))
    return red, green, blue


def _panel(canvas: _Canvas, place: Place) -> None:
    panel = place.panel
    for layer in panel.layers:
        if isinstance(layer, Shade):
            _shade(canvas, layer, place)
    _grid(canvas, place)
    for number, strip in enumerate(panel.strips):
        top = place.strip_top(number)
        canvas.box(place.left, top, place.width, STRIP_HEIGHT, GRID)
        for span in strip.spans:
            left, width = place.strip_span(span)
            canvas.box(left, top, width, STRIP_HEIGHT, span.color or strip.color)
        middle = top + STRIP_HEIGHT / 2 + 0.5 * _ASCENT * SMALL
        canvas.write(_Words(place.left - 4.5, middle, strip.label, SMALL, MUTED, "right"))
    for layer in panel.layers:
        _layer(canvas, layer, place)
    spine = canvas.pen(AXIS, 0.8)
    canvas.line(spine, [place.left, place.left], [place.bottom, place.top])
    canvas.line(spine, [place.left, place.right], [place.bottom, place.bottom])
    _words(canvas, place)


def _shade(canvas: _Canvas, layer: Shade, place: Place) -> None:
    for start, end in layer.spans:
        if layer.along == "x":
            left, right = float(place.px(start)), float(place.px(end))
            canvas.box(left, place.top, right - left, place.height, layer.color, place)
        else:
            top, bottom = float(place.py(end)), float(place.py(start))
            canvas.box(place.left, top, place.width, bottom - top, layer.color, place)


def _grid(canvas: _Canvas, place: Place) -> None:
    """Lines at the ticks; that at zero is darker."""
    panel = place.panel
    pen, zero = canvas.pen(GRID, 0.7), canvas.pen(AXIS, 0.7)
    for value, _ in place.xticks if panel.x.grid else ():
        x = float(place.px(value))
        canvas.line(pen, [x, x], [place.bottom, place.top])
    for value, _ in place.yticks if panel.y.grid else ():
        y = float(place.py(value))
        canvas.line(zero if value == 0.0 else pen, [place.left, place.right], [y, y])


def _words(canvas: _Canvas, place: Place) -> None:
    panel, middle = place.panel, place.left + place.width / 2
    for value, words in place.yticks:
        y = float(place.py(value)) + 0.5 * _ASCENT * SMALL
        canvas.write(_Words(place.left - _TICK_GAP, y, words, SMALL, MUTED, "right"))
    for value, words in place.xticks:
        lines = words.split("\n")
        y = place.below + _TICK_GAP + (_ASCENT + (0.5 * _LINE_GAP if len(lines) > 1 else 0.0)) * SMALL
        for number, line in enumerate(lines):
            below = y + number * (1.0 + _LINE_GAP) * SMALL
            canvas.write(_Words(float(place.px(value)), below, line, SMALL, MUTED, "center"))
    canvas.write(_Words(place.left, place.top - place.title_above, panel.title, place.title_size, INK, face="bold"))
    canvas.write(_Words(place.right, place.top - place.corner_above, panel.corner, SMALL, MUTED, "right"))
    side = (place.left - 48.0, place.top + place.height / 2)
    canvas.write(_Words(*side, panel.y.label, place.label_size, MUTED, "center", upright=True))
    canvas.write(_Words(middle, place.label_below, panel.x.label, TEXT, MUTED, "center"))
    canvas.write(_Words(middle, place.top + place.height / 2, panel.note, TEXT, MUTED, "center", "italic"))


def _layer(canvas: _Canvas, layer: Layer, place: Place) -> None:
    match layer:
        case Line():
            pen = canvas.pen(layer.color, layer.width, layer.dash, layer.opacity)
            canvas.clip(pen, place)
            x, y = joined(layer.x, layer.y)
            canvas.line(pen, place.px(x), place.py(y))
        case Area():
            _area(canvas, layer, place)
        case Bars():
            _bars(canvas, layer, place)
        case Points():
            known = np.isfinite(layer.x) & np.isfinite(layer.y)
            pen = canvas.pen(layer.color, 0.0)
            canvas.clip(pen, place)
            dots = canvas.path(place.px(layer.x[known]), place.py(layer.y[known]))
            size = Affine2D().scale(0.5 * layer.size * canvas.scale)
            hue = _rgb(color(layer.color))
            canvas.renderer.draw_markers(pen, Path.unit_circle(), size, dots, IdentityTransform(), hue)
        case Outline():
            pen = canvas.pen(layer.color, layer.width, layer.dash, layer.opacity)
            pen.set_joinstyle("miter")
            canvas.clip(pen, place)
            path = canvas.path(place.px(layer.points[:, 0]), place.py(layer.points[:, 1]), closed=True)
            if layer.fill:
                canvas.filled(pen, path, layer.fill)
            else:
                canvas.renderer.draw_path(pen, path, IdentityTransform())
        case Rule():
            pen = canvas.pen(layer.color, layer.width, layer.dash, layer.opacity)
            canvas.clip(pen, place)
            if layer.along == "x":
                canvas.line(pen, [float(place.px(layer.at))] * 2, [place.bottom, place.top])
            else:
                canvas.line(pen, [place.left, place.right], [float(place.py(layer.at))] * 2)
        case Text():
            align = {"start": "left", "middle": "center", "end": "right"}[layer.anchor]
            at = float(place.px(layer.x)), float(place.py(layer.y))
            canvas.write(_Words(*at, layer.words, SMALL, color(layer.color), align))
        case Shade():
            pass  # behind the grid


def _area(canvas: _Canvas, layer: Area, place: Place) -> None:
    pen = canvas.pen(layer.color, 0.0, opacity=layer.opacity)
    canvas.clip(pen, place)
    for start, end in runs(np.isfinite(layer.low) & np.isfinite(layer.high)):
        x = place.px(layer.x[start:end])
        low, high = place.py(layer.low[start:end]), place.py(layer.high[start:end])
        path = canvas.path(np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]]), closed=True)
        canvas.filled(pen, path, layer.color)


def _bars(canvas: _Canvas, bars: Bars, place: Place) -> None:
    half = bars.width / 2.0
    pen, whisker = canvas.pen(bars.color, 1.0 if bars.outline else 0.0), canvas.pen(INK, 0.9)
    pen.set_joinstyle("miter")
    for gc in (pen, whisker):
        canvas.clip(gc, place)
    for i in bars.drawn:
        at, base, top = bars.at[i], bars.base[i], bars.top[i]
        across, along = np.array([at - half, at + half, at + half, at - half]), np.array([base, base, top, top])
        x, y = (along, across) if bars.lying else (across, along)
        path = canvas.path(place.px(x), place.py(y), closed=True)
        if bars.outline:
            canvas.renderer.draw_path(pen, path, IdentityTransform())
        else:
            canvas.filled(pen, path, bars.color)
    for i in bars.drawn:
        if bars.error is not None and np.isfinite(bars.error[i]):
            across, along = np.full(2, bars.at[i]), bars.top[i] + np.array([-1.0, 1.0]) * bars.error[i]
            x, y = (along, across) if bars.lying else (across, along)
            canvas.line(whisker, place.px(x), place.py(y))


def _key_row(canvas: _Canvas, placed: Layout, row: KeyRow) -> None:
    """A legend's line: samples with words behind them, as wide as the words are."""
    font = _font("", TEXT * canvas.scale)
    wide = [(_SAMPLE + _BEFORE_WORDS) * TEXT + font.getlength(key.words) / canvas.scale for key, _ in row.keys]
    left = row.keys[0][1]
    if row.centred:
        left = 0.5 * (placed.width - sum(wide) - _BETWEEN * TEXT * (len(wide) - 1))
    base = row.y + _BASELINE * TEXT
    canvas.write(_Words(row.title_left, base, row.title, TEXT, INK, face="bold"))
    for (key, _), width in zip(row.keys, wide, strict=True):
        _sample(canvas, key, left, base)
        canvas.write(_Words(left + (_SAMPLE + _BEFORE_WORDS) * TEXT, base, key.words, TEXT, INK))
        left += width + _BETWEEN * TEXT


def _sample(canvas: _Canvas, key: Key, left: float, base: float) -> None:
    width, height = _SAMPLE * TEXT, _BOX * TEXT
    middle = base - height / 2
    if key.kind == "line":
        canvas.line(canvas.pen(key.color, key.width, key.dash, key.opacity), [left, left + width], [middle, middle])
        if key.point:
            dot, size = (
                canvas.path(np.array([left + width / 2]), np.array([middle])),
                Affine2D().scale(2.5 * canvas.scale),
            )
            pen, hue = canvas.pen(key.color, 0.0), _rgb(color(key.color))
            canvas.renderer.draw_markers(pen, Path.unit_circle(), size, dot, IdentityTransform(), hue)
        return
    x, y = left + width * np.array([0.0, 1.0, 1.0, 0.0]), base - height * np.array([0.0, 0.0, 1.0, 1.0])
    path = canvas.path(x, y, closed=True)
    if key.kind == "outline":
        pen = canvas.pen(key.color, 1.0)
        pen.set_joinstyle("miter")
        canvas.renderer.draw_path(pen, path, IdentityTransform())
    else:
        canvas.filled(canvas.pen(key.color, 0.0, opacity=key.opacity), path, key.color)
