"""A picture while it is painted: lines and areas by matplotlib's Agg renderer, words by Pillow in matplotlib's letters.

All places are pixels of the page, y down.
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
from matplotlib.transforms import Bbox, IdentityTransform
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from biodyn.conventions import FloatArray
from biodyn.output.figures.description import Dash
from biodyn.output.figures.layout import Layout, Place
from biodyn.output.figures.style import POINTS_A_PIXEL, WIDTH, WIDTH_IN, color

_LETTERS = {"": "DejaVuSans.ttf", "bold": "DejaVuSans-Bold.ttf", "italic": "DejaVuSans-Oblique.ttf"}
_INCH_M = 0.0254
_ANCHOR = {"left": "ls", "center": "ms", "right": "rs"}


@dataclass(frozen=True)
class Words:
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
class Canvas:
    """A picture while it is painted: all in pixels of the page, y down; words come last, over everything.

    Attributes:
        scale: pixels of the picture in one of the page. height: of the picture.
    """

    renderer: RendererAgg
    scale: float
    height: int
    words: list[Words] = field(default_factory=list)

    @classmethod
    def of(cls, placed: Layout, dpi: int) -> Canvas:
        """An empty white picture for a layout, `dpi` dots an inch of paper."""
        scale = dpi * WIDTH_IN / WIDTH
        width, height = int(placed.width * scale), int(placed.height * scale)
        renderer = RendererAgg(width, height, dpi)
        np.asarray(renderer.buffer_rgba())[:] = 255  # white paper
        return cls(renderer, scale, height)

    def pen(self, name: str, width: float, dash: Dash = (), opacity: float = 1.0) -> GraphicsContextBase:
        """A pen: colour by its name, width and dashes in pixels."""
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
        """Let a pen draw inside a panel's plot alone."""
        left, right = self.scale * place.left, self.scale * place.right
        low, high = self.height - self.scale * place.bottom, self.height - self.scale * place.top
        gc.set_clip_rectangle(Bbox.from_extents(left, low, right, high))  # type: ignore[arg-type]

    def path(self, x: FloatArray, y: FloatArray, *, closed: bool = False) -> Path:
        """A path through places (n,); closed for an area."""
        corners = np.stack([self.scale * np.asarray(x), self.height - self.scale * np.asarray(y)], axis=-1)
        if not closed:
            return Path(corners)
        return Path(np.concatenate([corners, corners[:1]]), closed=True)

    def line(self, gc: GraphicsContextBase, x: FloatArray | list[float], y: FloatArray | list[float]) -> None:
        """Draw a line; NaN is a gap."""
        self.renderer.draw_path(gc, self.path(np.asarray(x), np.asarray(y)), IdentityTransform())

    def filled(self, gc: GraphicsContextBase, path: Path, hue: str) -> None:
        """Fill a shape in a colour, as strongly as the pen; its edge is the pen's, none where that has no width."""
        self.renderer.draw_path(gc, path, IdentityTransform(), rgb(color(hue)))

    def box(self, left: float, top: float, width: float, height: float, hue: str, place: Place | None = None) -> None:
        """Fill a box, inside a panel's plot where one is named."""
        gc = self.pen(hue, 0.0)
        if place is not None:
            self.clip(gc, place)
        x, y = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0, 1.0])
        self.filled(gc, self.path(left + width * x, top + height * y, closed=True), hue)

    def write(self, words: Words) -> None:
        """Keep words for the end."""
        if words.words:
            self.words.append(words)

    def finished(self) -> Image.Image:
        """The picture with its words."""
        picture = Image.fromarray(np.ascontiguousarray(np.asarray(self.renderer.buffer_rgba())[..., :3]))
        pen = ImageDraw.Draw(picture)
        for one in self.words:
            font = letters(one.face, one.size * self.scale)
            at = (self.scale * one.x, self.scale * one.y)
            if one.upright:
                _write_upright(picture, at, one, font)
            else:
                pen.text(at, one.words, fill=one.hue, font=font, anchor=_ANCHOR[one.align])
        return picture


def _write_upright(picture: Image.Image, at: tuple[float, float], one: Words, font: ImageFont.FreeTypeFont) -> None:
    """Words from below to above, the middle of their baseline at a place."""
    wide, above = math.ceil(font.getlength(one.words)) + 4, math.ceil(font.size)
    lying = Image.new("L", (wide, 2 * above))
    ImageDraw.Draw(lying).text((wide / 2, above), one.words, fill=255, font=font, anchor="ms")
    standing = lying.transpose(Image.Transpose.ROTATE_90)
    picture.paste(one.hue, (round(at[0]) - above, round(at[1] - wide / 2)), standing)


@lru_cache(maxsize=64)
def letters(face: str, size: float) -> ImageFont.FreeTypeFont:
    """DejaVu Sans, "", "bold" or "italic", of a size in pixels of the picture."""
    file = FilePath(matplotlib.get_data_path()) / "fonts" / "ttf" / _LETTERS[face]
    return ImageFont.truetype(str(file), size, layout_engine=ImageFont.Layout.BASIC)


def rgb(hue: str) -> tuple[float, float, float]:
    """Shares of red, green and blue of "#rrggbb"."""
    red, green, blue = (int(hue[at : at + 2], 16) / 255.0 for at in (1, 3, 5))
    return red, green, blue


def encoded(pixels: NDArray[np.uint8], dpi: int) -> bytes:
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
