"""Draw a figure from its layout with a pen: the same strokes, shapes and words in SVG, PNG and PDF."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.output.figures.description import (
    Area,
    Bars,
    Dash,
    Key,
    Layer,
    Line,
    Outline,
    Points,
    Rule,
    Shade,
    Strip,
    Text,
)
from biodyn.output.figures.layout import SAMPLE, STRIP_HEIGHT, TICK_GAP, KeyRow, Place, key_words_left, runs
from biodyn.output.figures.style import INK, MUTED, SMALL, TEXT, color

_BASELINE = 0.35  # of the font size: from the middle of a line of text down to its baseline
_LABEL_LEFT = 48.0  # pixels from the plot to the label of y


class Stroke(NamedTuple):
    """How a line is drawn: colour by its name in `style.COLORS`, width and dashes in pixels of the page."""

    color: str
    width: float
    dash: Dash = ()
    opacity: float = 1.0


class Pen(Protocol):
    """What a medium must be able to draw. Points are pixels (n, 2) of the page, y down."""

    def inside(self, place: Place) -> AbstractContextManager[Any]:
        """Draw inside a panel's plot only."""

    def stroke(self, pieces: Sequence[FloatArray], stroke: Stroke, *, closed: bool = False) -> None:
        """Draw lines through points without gaps."""

    def fill(self, pieces: Sequence[FloatArray], name: str, opacity: float = 1.0, title: str = "") -> None:
        """Fill closed shapes; `title` is shown by the pointer where the medium has one."""

    def dots(self, points: FloatArray, diameter: float, name: str) -> None:
        """Draw dots."""

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
        """Write words whose baseline starts, is centred or ends at a point; `upright`: from bottom to top."""


def draw_panel(pen: Pen, place: Place) -> None:
    """Draw a panel with title, corner, plot and the labels of its axes."""
    panel = place.panel
    middle = place.left + place.width / 2
    pen.text(place.left, place.top - place.title_above, panel.title, place.title_size, INK, bold=True)
    pen.text(place.right, place.top - place.corner_above, panel.corner, anchor="end")
    draw_plot(pen, place)
    side = place.left - _LABEL_LEFT, place.top + place.height / 2
    pen.text(*side, panel.y.label, place.label_size, anchor="middle", upright=True)
    pen.text(middle, place.label_below, panel.x.label, TEXT, anchor="middle")


def draw_plot(pen: Pen, place: Place) -> None:
    """Draw the plot of a panel, its axes, strips and the labels of the ticks."""
    panel = place.panel
    with pen.inside(place):
        for layer in panel.layers:
            if isinstance(layer, Shade):
                pen.fill([_shaded(layer, place, *span) for span in layer.spans], layer.color)
        _grid(pen, place)
        for layer in panel.layers:
            _layer(pen, layer, place)
    corner = np.array([[place.left, place.top], [place.left, place.bottom], [place.right, place.bottom]])
    pen.stroke([corner], Stroke("axis", 0.8))
    for number, strip in enumerate(panel.strips):
        _strip(pen, strip, place, place.strip_top(number))
    middle = place.left + place.width / 2
    pen.text(middle, place.top + place.height / 2, panel.note, TEXT, anchor="middle", italic=True)
    for value, words in place.yticks:
        pen.text(place.left - TICK_GAP, float(place.py(value)) + _BASELINE * SMALL, words, anchor="end")
    for value, words in place.xticks:
        for number, line in enumerate(words.split("\n")):
            pen.text(float(place.px(value)), place.below + 14.5 + 13.5 * number, line, anchor="middle")


def draw_key_row(pen: Pen, row: KeyRow) -> None:
    """Draw a line of a legend."""
    base = row.y + _BASELINE * TEXT
    pen.text(row.title_left, base, row.title, TEXT, INK, bold=True)
    for key, left in row.keys:
        draw_sample(pen, key, left, row.y)
        pen.text(key_words_left(left), base, key.words, TEXT, INK)


def draw_sample(pen: Pen, key: Key, left: float, y: float) -> None:
    """Draw the sample of a key, its middle at a height."""
    if key.kind == "line":
        pen.stroke([np.array([[left, y], [left + SAMPLE, y]])], Stroke(key.color, key.width, key.dash, key.opacity))
        if key.point:
            pen.dots(np.array([[left + SAMPLE / 2, y]]), 5.0, key.color)
    elif key.kind == "outline":
        pen.stroke([_box(left, y - 5.0, SAMPLE, 10.0)], Stroke(key.color, 1.0), closed=True)
    else:
        pen.fill([_box(left, y - 5.0, SAMPLE, 10.0)], key.color, key.opacity)


def _box(left: float, top: float, width: float, height: float) -> FloatArray:
    right, bottom = left + width, top + height
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])


def _shaded(shade: Shade, place: Place, start: float, end: float) -> FloatArray:
    """A stretch of x or y as a box inside the plot."""
    if shade.along == "x":
        left, right = np.clip(place.px(np.array([start, end])), place.left, place.right).tolist()
        return _box(left, place.top, right - left, place.height)
    bottom, top = np.clip(place.py(np.array([start, end])), place.top, place.bottom).tolist()
    return _box(place.left, top, place.width, bottom - top)


def _grid(pen: Pen, place: Place) -> None:
    """Lines at the ticks; that at zero is darker."""
    for value, _ in place.yticks if place.panel.y.grid else ():
        pen.stroke([_across(place, value, "y")], Stroke("axis" if value == 0.0 else "grid", 0.7))
    for value, _ in place.xticks if place.panel.x.grid else ():
        pen.stroke([_across(place, value, "x")], Stroke("grid", 0.7))


def _across(place: Place, value: float, along: str) -> FloatArray:
    """The line across the plot at a value of x or y."""
    if along == "x":
        return np.array([[float(place.px(value)), place.top], [float(place.px(value)), place.bottom]])
    return np.array([[place.left, float(place.py(value))], [place.right, float(place.py(value))]])


def _layer(pen: Pen, layer: Layer, place: Place) -> None:
    match layer:
        case Line():
            x, curves = place.px(layer.x), place.py(layer.y).reshape(-1, layer.y.shape[-1])
            pieces = [np.stack([x[a:b], y[a:b]], axis=1) for y in curves for a, b in runs(np.isfinite(y + x))]
            pen.stroke(pieces, Stroke(layer.color, layer.width, layer.dash, layer.opacity))
        case Area():
            x, low, high = place.px(layer.x), place.py(layer.low), place.py(layer.high)
            pieces = [
                np.concatenate([np.stack([x[a:b], low[a:b]], axis=1), np.stack([x[a:b], high[a:b]], axis=1)[::-1]])
                for a, b in runs(np.isfinite(low + high))
            ]
            pen.fill(pieces, layer.color, layer.opacity)
        case Bars():
            _bars(pen, layer, place)
        case Points():
            points = np.stack([place.px(layer.x), place.py(layer.y)], axis=1)
            pen.dots(points[np.isfinite(points).all(axis=1)], layer.size, layer.color)
        case Outline():
            points = np.stack([place.px(layer.points[:, 0]), place.py(layer.points[:, 1])], axis=1)
            if layer.fill:
                pen.fill([points], layer.fill, layer.opacity)
            pen.stroke([points], Stroke(layer.color, layer.width, layer.dash, layer.opacity), closed=True)
        case Rule():
            first, last = place.xlim if layer.along == "x" else place.ylim
            if first <= layer.at <= last:
                stroke = Stroke(layer.color, layer.width, layer.dash, layer.opacity)
                pen.stroke([_across(place, layer.at, layer.along)], stroke)
        case Text():
            at = float(place.px(layer.x)), float(place.py(layer.y))
            pen.text(*at, layer.words, hue=color(layer.color), anchor=layer.anchor)
        case Shade():
            pass  # behind the grid


def _bars(pen: Pen, bars: Bars, place: Place) -> None:
    def points(at: list[float], height: list[float]) -> FloatArray:
        x, y = (height, at) if bars.lying else (at, height)
        return np.stack([place.px(np.array(x)), place.py(np.array(y))], axis=1)

    half = bars.width / 2.0
    boxes, whiskers = [], []
    for i in bars.drawn:
        at, base, top = float(bars.at[i]), float(bars.base[i]), float(bars.top[i])
        boxes.append(points([at - half, at + half, at + half, at - half], [base, base, top, top]))
        if bars.error is not None and np.isfinite(bars.error[i]):
            whiskers.append(points([at, at], [top - bars.error[i], top + bars.error[i]]))
    if bars.outline:
        pen.stroke(boxes, Stroke(bars.color, 1.0), closed=True)
    else:
        pen.fill(boxes, bars.color)
    pen.stroke(whiskers, Stroke("ink", 0.9))


def _strip(pen: Pen, strip: Strip, place: Place, top: float) -> None:
    pen.fill([_box(place.left, top, place.width, STRIP_HEIGHT)], "grid")
    pen.text(place.left - TICK_GAP, top + 0.5 * STRIP_HEIGHT + _BASELINE * SMALL, strip.label, anchor="end")
    for span in strip.spans:
        left, width = place.strip_span(span)
        pen.fill([_box(left, top, width, STRIP_HEIGHT)], span.color or strip.color, title=span.words)
