"""Figures as PNG: the layout painted straight on pixels, as `matplotlib_backend.draw` would have it.

matplotlib's axes, ticks and legends are objects that look for places which the layout has already; making and asking them
takes ten times as long as the picture (`canvas`).
"""

from __future__ import annotations

import numpy as np
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, IdentityTransform
from numpy.typing import NDArray

from biodyn.output.figures.canvas import Canvas, Words, encoded, letters, rgb
from biodyn.output.figures.description import Area, Bars, Figure, Key, Layer, Line, Outline, Points, Rule, Shade, Text
from biodyn.output.figures.layout import STRIP_HEIGHT, KeyRow, Layout, Place, joined, layout, runs
from biodyn.output.figures.style import AXIS, DPI, GRID, INK, MUTED, POINTS_A_PIXEL, SMALL, TEXT, color

# Of the letters' size: how far DejaVu Sans reaches above the line it stands on, what a second line keeps apart, and how far
# below the middle of a line of words that line is.
_ASCENT, _LINE_GAP, _BASELINE = 0.76, 0.2, 0.26
_TICK_GAP = 3.5 / POINTS_A_PIXEL + 4.5  # from an axis to the words of its ticks
# A legend's sample, its distance to the words and that to the next sample; of the letters' size.
_SAMPLE, _BEFORE_WORDS, _BETWEEN, _BOX = 2.0, 0.45, 1.4, 0.7


def png(figure: Figure, dpi: int = DPI) -> bytes:
    """Draw a figure as PNG."""
    return encoded(painted(figure, dpi), dpi)


def painted(figure: Figure, dpi: int = DPI) -> NDArray[np.uint8]:
    """Draw a figure as pixels (height, width, 3)."""
    placed = layout(figure)
    canvas = Canvas.of(placed, dpi)
    for place in placed.places:
        _panel(canvas, place)
    for row in placed.rows:
        _key_row(canvas, placed, row)
    return np.asarray(canvas.finished())


def _panel(canvas: Canvas, place: Place) -> None:
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
        canvas.write(Words(place.left - 4.5, middle, strip.label, SMALL, MUTED, "right"))
    for layer in panel.layers:
        _layer(canvas, layer, place)
    spine = canvas.pen(AXIS, 0.8)
    canvas.line(spine, [place.left, place.left], [place.bottom, place.top])
    canvas.line(spine, [place.left, place.right], [place.bottom, place.bottom])
    _words(canvas, place)


def _shade(canvas: Canvas, layer: Shade, place: Place) -> None:
    for start, end in layer.spans:
        if layer.along == "x":
            left, right = float(place.px(start)), float(place.px(end))
            canvas.box(left, place.top, right - left, place.height, layer.color, place)
        else:
            top, bottom = float(place.py(end)), float(place.py(start))
            canvas.box(place.left, top, place.width, bottom - top, layer.color, place)


def _grid(canvas: Canvas, place: Place) -> None:
    """Lines at the ticks; that at zero is darker."""
    panel = place.panel
    pen, zero = canvas.pen(GRID, 0.7), canvas.pen(AXIS, 0.7)
    for value, _ in place.xticks if panel.x.grid else ():
        x = float(place.px(value))
        canvas.line(pen, [x, x], [place.bottom, place.top])
    for value, _ in place.yticks if panel.y.grid else ():
        y = float(place.py(value))
        canvas.line(zero if value == 0.0 else pen, [place.left, place.right], [y, y])


def _words(canvas: Canvas, place: Place) -> None:
    panel, middle = place.panel, place.left + place.width / 2
    for value, words in place.yticks:
        y = float(place.py(value)) + 0.5 * _ASCENT * SMALL
        canvas.write(Words(place.left - _TICK_GAP, y, words, SMALL, MUTED, "right"))
    for value, words in place.xticks:
        lines = words.split("\n")
        y = place.below + _TICK_GAP + (_ASCENT + (0.5 * _LINE_GAP if len(lines) > 1 else 0.0)) * SMALL
        for number, line in enumerate(lines):
            below = y + number * (1.0 + _LINE_GAP) * SMALL
            canvas.write(Words(float(place.px(value)), below, line, SMALL, MUTED, "center"))
    canvas.write(Words(place.left, place.top - place.title_above, panel.title, place.title_size, INK, face="bold"))
    canvas.write(Words(place.right, place.top - place.corner_above, panel.corner, SMALL, MUTED, "right"))
    side = (place.left - 48.0, place.top + place.height / 2)
    canvas.write(Words(*side, panel.y.label, place.label_size, MUTED, "center", upright=True))
    canvas.write(Words(middle, place.label_below, panel.x.label, TEXT, MUTED, "center"))
    canvas.write(Words(middle, place.top + place.height / 2, panel.note, TEXT, MUTED, "center", "italic"))


def _layer(canvas: Canvas, layer: Layer, place: Place) -> None:
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
            hue = rgb(color(layer.color))
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
            canvas.write(Words(*at, layer.words, SMALL, color(layer.color), align))
        case Shade():
            pass  # behind the grid


def _area(canvas: Canvas, layer: Area, place: Place) -> None:
    pen = canvas.pen(layer.color, 0.0, opacity=layer.opacity)
    canvas.clip(pen, place)
    for start, end in runs(np.isfinite(layer.low) & np.isfinite(layer.high)):
        x = place.px(layer.x[start:end])
        low, high = place.py(layer.low[start:end]), place.py(layer.high[start:end])
        path = canvas.path(np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]]), closed=True)
        canvas.filled(pen, path, layer.color)


def _bars(canvas: Canvas, bars: Bars, place: Place) -> None:
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


def _key_row(canvas: Canvas, placed: Layout, row: KeyRow) -> None:
    """A legend's line: samples with words behind them, as wide as the words are."""
    font = letters("", TEXT * canvas.scale)
    wide = [(_SAMPLE + _BEFORE_WORDS) * TEXT + font.getlength(key.words) / canvas.scale for key, _ in row.keys]
    left = row.keys[0][1]
    if row.centred:
        left = 0.5 * (placed.width - sum(wide) - _BETWEEN * TEXT * (len(wide) - 1))
    base = row.y + _BASELINE * TEXT
    canvas.write(Words(row.title_left, base, row.title, TEXT, INK, face="bold"))
    for (key, _), width in zip(row.keys, wide, strict=True):
        _sample(canvas, key, left, base)
        canvas.write(Words(left + (_SAMPLE + _BEFORE_WORDS) * TEXT, base, key.words, TEXT, INK))
        left += width + _BETWEEN * TEXT


def _sample(canvas: Canvas, key: Key, left: float, base: float) -> None:
    width, height = _SAMPLE * TEXT, _BOX * TEXT
    middle = base - height / 2
    if key.kind == "line":
        canvas.line(canvas.pen(key.color, key.width, key.dash, key.opacity), [left, left + width], [middle, middle])
        if key.point:
            dot, size = (
                canvas.path(np.array([left + width / 2]), np.array([middle])),
                Affine2D().scale(2.5 * canvas.scale),
            )
            pen, hue = canvas.pen(key.color, 0.0), rgb(color(key.color))
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
