"""Layout of a figure (positions, limits, ticks, legend), and its strokes, shapes and text for the pens of SVG, PNG and PDF."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.output.figures.description import (
    Area,
    Axis,
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
    Span,
    Strip,
    Text,
)
from biodyn.output.figures.style import (
    INK,
    MUTED,
    SMALL,
    TEXT,
    TITLE,
    color,
    fitting_font_size,
    shorten_text,
    text_width,
)

#: Size of a single panel in a grid of the page, pixels.
SMALL_WIDTH, SMALL_HEIGHT = 196.0, 132.0
#: Length of the sample of a legend entry, height of a strip, and distance from a tick label to the plot, pixels.
SAMPLE, STRIP_HEIGHT, TICK_GAP = 24.0, 11.0, 4.5


class Spacing:
    """Distances in pixels of a page 1000 px wide."""

    LEFT, RIGHT, TOP, GAP = 62.0, 12.0, 26.0, 8.0  # around a plot
    TICK_LINE, LABEL = 13.5, 15.0  # below a plot: line of tick labels, axis label
    CORNER, STRIP = 13.0, 15.0  # heights of a second title line and of a row of a strip
    SMALL = (40.0, 11.0, 31.0, 18.0)  # left, right, above and below the plot of a small panel
    KEY_ROW, AFTER_SAMPLE, BETWEEN_KEYS = 24.0, 5.0, 16.0  # legend


Ticks = tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class PlotBox:
    """Plot of a panel in pixels from the upper left, with limits, ticks and positions of the labels."""

    panel: Panel
    left: float
    top: float
    width: float
    height: float
    xlim: tuple[float, float]
    ylim: tuple[float, float]
    xticks: Ticks
    yticks: Ticks
    title_size: float
    label_size: float
    title_above: float
    corner_above: float

    @property
    def right(self) -> float:
        """Right edge of the plot."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Lower edge of the plot."""
        return self.top + self.height

    @property
    def tick_top(self) -> float:
        """Upper edge of the tick labels of x."""
        return self.bottom + Spacing.STRIP * len(self.panel.strips)

    @property
    def axis_label_baseline(self) -> float:
        """Baseline of the axis label of x."""
        lines = max((words.count("\n") + 1 for _, words in self.xticks), default=0)
        return self.tick_top + 3.0 + Spacing.TICK_LINE * lines + Spacing.LABEL

    @property
    def is_clipped(self) -> bool:
        """True if layers may extend beyond the plot."""
        return self.panel.y.limits is not None or self.panel.equal

    def strip_top(self, number: int) -> float:
        """Upper edge of a strip."""
        return self.bottom + 3.0 + Spacing.STRIP * number

    def strip_span(self, span: Span) -> tuple[float, float]:
        """Return left edge and width of a span, limited to the plot and wide enough to be visible."""
        a, b = (min(max(float(self.x_pixels(edge)), self.left), self.right) for edge in (span.start, span.end))
        return a, max(b - a, 2.5)

    def x_pixels(self, x: FloatArray | float) -> FloatArray:
        """Return pixels from the left edge of the figure."""
        return self.left + self.width * _axis_fractions(x, self.xlim, self.panel.x.log)

    def y_pixels(self, y: FloatArray | float) -> FloatArray:
        """Return pixels from the upper edge of the figure."""
        return self.bottom - self.height * _axis_fractions(y, self.ylim, self.panel.y.log)


@dataclass(frozen=True)
class KeyRow:
    """One line of a legend: y of its middle, heading or "", and keys with the left edges of their samples."""

    y: float
    centred: bool
    title: str
    title_left: float
    keys: tuple[tuple[Key, float], ...]


@dataclass(frozen=True)
class Layout:
    """Layout of a figure in pixels."""

    width: float
    height: float
    places: tuple[PlotBox, ...]
    rows: tuple[KeyRow, ...]


def lay_out_figure(figure: Figure) -> Layout:
    """Place the panels in a grid, row by row, with legends above the rows and below the grid."""
    columns = max(min(figure.columns, sum(_column_span(panel) for panel in figure.panels)), 1)
    pitch = figure.width / columns
    places: list[PlotBox] = []
    rows: list[KeyRow] = []
    top = 0.0
    for row in _grid_rows(figure.panels, columns):
        legend = row[0].legend if row[0] is not None else None
        if legend is not None:
            heading, keys = legend
            rows += _key_rows(keys, figure.width, top, heading)
            top = rows[-1].y + 0.5 * Spacing.KEY_ROW
        # corner texts of a row move to a second line if one does not fit next to its title
        second = any(panel is not None and not _corner_text_fits(panel, _plot_width(panel, pitch)) for panel in row)
        plot_top = top + Spacing.TOP + (Spacing.CORNER if second else 0.0)
        column, bottom = 0, plot_top
        for panel in row:
            if panel is not None:
                place = _place_panel(
                    panel, column * pitch + Spacing.LEFT, plot_top, _plot_width(panel, pitch), figure.height, second
                )
                places.append(place)
                bottom = max(bottom, place.axis_label_baseline + 4.0 - (0.0 if panel.x.label else Spacing.LABEL))
            column += _column_span(panel)
        top = bottom + Spacing.GAP
    if figure.keys:
        rows += _key_rows(figure.keys, figure.width, top)
        top = rows[-1].y + 0.5 * Spacing.KEY_ROW
    return Layout(figure.width, max(top, 1.0), tuple(places), tuple(rows))


def small_panel_box(panel: Panel) -> PlotBox:
    """Place a single small panel: text above the plot, tick labels at the left, no axis labels."""
    x_left, x_right, y_top, y_bottom = small_plot_edges()
    place = _place_panel(panel, x_left, y_top, x_right - x_left, y_bottom - y_top, False)
    return replace(
        place,
        yticks=place.yticks if panel.y.ticks is not None else _small_ticks(panel.y, place.ylim, x_left - TICK_GAP),
        title_size=fitting_font_size(panel.title, SMALL_WIDTH - 4.0, TEXT, True),
        label_size=fitting_font_size(panel.y.label, SMALL_WIDTH - 4.0, SMALL),
    )


def _small_ticks(axis: Axis, limits: tuple[float, float], width: float) -> Ticks:
    """Return the finest ticks whose labels fit into `width`, at least two; if this is not possible, the ticks that fit."""
    for most in (3.6, 2.4, 1.6, 1.0, 5.5):
        candidates = axis_ticks(axis, limits, most)
        if len(candidates) > 1 and all(text_width(words, SMALL) <= width for _, words in candidates):
            return candidates
    fewest = axis_ticks(axis, limits, 1.0)
    return tuple((value, words) for value, words in fewest if text_width(words, SMALL) <= width) or ((0.0, "0"),)


def small_plot_edges() -> tuple[float, float, float, float]:
    """Return left, right, upper and lower edge of the plot of a small panel."""
    margins = Spacing.SMALL
    return margins[0], SMALL_WIDTH - margins[1], margins[2], SMALL_HEIGHT - margins[3]


def _column_span(panel: Panel | None) -> int:
    return 1 if panel is None else panel.span


def _plot_width(panel: Panel, pitch: float) -> float:
    return pitch * panel.span - Spacing.LEFT - Spacing.RIGHT


def _grid_rows(panels: Sequence[Panel | None], columns: int) -> Iterator[list[Panel | None]]:
    row: list[Panel | None] = []
    for panel in panels:
        if row and sum(map(_column_span, row)) + _column_span(panel) > columns:
            yield row
            row = []
        row.append(panel)
    if row:
        yield row


def _corner_text_fits(panel: Panel, width: float) -> bool:
    return not panel.corner or text_width(panel.title, TITLE, True) + text_width(panel.corner, SMALL) + 8.0 <= width


def _place_panel(panel: Panel, left: float, top: float, width: float, height: float, second: bool) -> PlotBox:
    xlim = panel.x.limits or _axis_limits(panel.x, _layer_values(panel.layers, 0), tight=True)
    ylim = panel.y.limits or _axis_limits(panel.y, _layer_values(panel.layers, 1), tight=False)
    if panel.equal:
        xlim, ylim = _equalise_scales(xlim, ylim, width, height)
    yticks = panel.y.ticks if panel.y.ticks is not None else axis_ticks(panel.y, ylim, 5.5)
    return PlotBox(
        panel=panel, left=left, top=top, width=width, height=height, xlim=xlim, ylim=ylim,
        xticks=panel.x.ticks if panel.x.ticks is not None else axis_ticks(panel.x, xlim, 6.0),
        yticks=tuple((value, shorten_text(words, 54.0, SMALL)) for value, words in yticks),  # pixels left of the plot
        title_size=fitting_font_size(panel.title, width, TITLE, True),
        label_size=fitting_font_size(panel.y.label, height + Spacing.GAP, TEXT),
        title_above=7.5 + (Spacing.CORNER if second else 0.0),
        corner_above=4.0 if second else 7.5,
    )  # fmt: skip


def _layer_values(layers: Sequence[Layer], along: int) -> FloatArray:
    """Return all finite values of the layers along x (0) or y (1)."""
    parts: list[FloatArray] = []
    for layer in layers:
        match layer:
            case Line() | Points():
                parts.append(layer.y if along else layer.x)
            case Area():
                parts += [layer.low, layer.high] if along else [layer.x]
            case Bars():
                if bool(along) == layer.horizontal:
                    parts += [layer.at - 0.5 * layer.width, layer.at + 0.5 * layer.width]
                else:
                    error = 0.0 if layer.error is None else np.nan_to_num(layer.error)
                    parts += [layer.base, layer.top + error]
            case Outline():
                parts.append(layer.points[:, along])
            case Rule() if layer.along == ("y" if along else "x"):
                parts.append(np.array([layer.at]))
            case _:
                pass  # shades and text do not extend the limits
    if not parts:
        return np.empty(0)
    values = np.concatenate([np.ravel(part) for part in parts])
    return values[np.isfinite(values)]


def _axis_limits(axis: Axis, values: FloatArray, tight: bool) -> tuple[float, float]:
    known = np.concatenate([values, np.array(axis.holds), np.array([] if axis.floor is None else [axis.floor])])
    if axis.log:
        known = np.log10(known[known > 0.0])
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if high - low < 1e-9 * max(abs(high), abs(low), 1e-3):
        low, high = low - 0.5, high + 0.5
    pad = 0.0 if tight else 0.04 * (high - low)
    low = low if axis.floor is not None and low >= axis.floor else low - pad
    high += pad
    return (float(10.0**low), float(10.0**high)) if axis.log else (low, high)


def _equalise_scales(
    xlim: tuple[float, float], ylim: tuple[float, float], width: float, height: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Widen the limits of one direction to equal scales."""
    per_pixel = max((xlim[1] - xlim[0]) / width, (ylim[1] - ylim[0]) / height)
    x, y = 0.5 * sum(xlim), 0.5 * sum(ylim)
    half_x, half_y = 0.5 * per_pixel * width, 0.5 * per_pixel * height
    return (x - half_x, x + half_x), (y - half_y, y + half_y)


def _axis_fractions(values: FloatArray | float, limits: tuple[float, float], log: bool) -> FloatArray:
    low, high = limits
    values = np.asarray(values, dtype=np.float64)
    if not log:
        return (values - low) / (high - low)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: FloatArray = np.log10(np.where(values > 0.0, values, np.nan) / low) / np.log10(high / low)
    return shares


def axis_ticks(axis: Axis, limits: tuple[float, float], most: float) -> Ticks:
    """Return round numbers within the limits, with the necessary digits."""
    low, high = limits
    if axis.log:
        return _log_ticks(low, high, most)
    step = _tick_step(high - low, most)
    if axis.counts:
        step = float(np.ceil(max(step, 1.0)))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    values = [round(i * step, 10) for i in range(first, last + 1)]
    digits = next((d for d in range(6) if all(abs(v - round(v, d)) < 1e-9 for v in values)), 6)
    return tuple((value, f"{value + 0.0:.{digits}f}".replace("-", "−")) for value in values)


def _log_ticks(low: float, high: float, most: float) -> Ticks:
    first, last = int(np.ceil(np.log10(low) - 1e-9)), int(np.floor(np.log10(high) + 1e-9))
    powers = range(first, last + 1, max(1, -(-(last - first + 1) // int(most + 2))))
    if powers and first >= -3 and last <= 4:
        return tuple((10.0**power, f"{10.0**power:.{max(-power, 0)}f}") for power in powers)
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return tuple((10.0**power, f"10{str(power).translate(raised)}") for power in powers)


def _tick_step(span: float, most: float) -> float:
    raw = span / most
    power = 10.0 ** np.floor(np.log10(raw))
    return float(next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw * (1 - 1e-9)))


def _key_rows(keys: Sequence[Key], width: float, top: float, title: str = "") -> list[KeyRow]:
    """Return the lines of a legend: centred, or left-aligned after a heading."""
    lines: list[list[tuple[Key, float]]] = [[]]
    indent = text_width(title, TEXT, True) + Spacing.BETWEEN_KEYS if title else 0.0
    room = width - 20.0 - (indent + Spacing.LEFT if title else 0.0)
    for key in keys:
        wide = SAMPLE + Spacing.AFTER_SAMPLE + text_width(key.words, TEXT) + Spacing.BETWEEN_KEYS
        if lines[-1] and sum(w for _, w in lines[-1]) + wide - Spacing.BETWEEN_KEYS > room:
            lines.append([])
        lines[-1].append((key, wide))
    rows = []
    for number, line in enumerate(lines):
        x = Spacing.LEFT + indent if title else 0.5 * (width - sum(wide for _, wide in line) + Spacing.BETWEEN_KEYS)
        placed = []
        for key, wide in line:
            placed.append((key, x))
            x += wide
        y = top + (number + 0.5) * Spacing.KEY_ROW
        rows.append(KeyRow(y, not title, title if not number else "", Spacing.LEFT, tuple(placed)))
    return rows


def known_runs(known: BoolArray) -> list[tuple[int, int]]:
    """Return the first index, and the last index plus one, of each run of known values."""
    bounded = np.concatenate(([False], known, [False]))
    edges = np.flatnonzero(bounded[1:] != bounded[:-1]).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def join_curves(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Join curves (..., n) over x (n,) to one curve, separated by NaN."""
    curves = y.reshape(-1, y.shape[-1])
    if len(curves) == 1:
        return np.asarray(x), curves[0]
    gap = np.full((len(curves), 1), np.nan)
    across = np.broadcast_to(x, curves.shape)
    return np.hstack([across, gap]).reshape(-1), np.hstack([curves, gap]).reshape(-1)


class Stroke(NamedTuple):
    """Line style: colour by name in `style.COLORS`, width and dashes in pixels of the page."""

    color: str
    width: float
    dash: Dash = ()
    opacity: float = 1.0


class TextStyle(NamedTuple):
    """Text style: the baseline starts, is centred or ends at a point; `upright`: written from bottom to top."""

    size: float = SMALL
    hue: str = MUTED
    anchor: str = "start"
    bold: bool = False
    italic: bool = False
    upright: bool = False

    @property
    def baseline(self) -> float:
        """Distance from the middle of a line of text to its baseline."""
        return 0.35 * self.size


SMALL_TEXT, CENTRED, ENDING = TextStyle(), TextStyle(anchor="middle"), TextStyle(anchor="end")
PLAIN, HEADING = TextStyle(TEXT, INK), TextStyle(TEXT, INK, bold=True)


class Pen(Protocol):
    """Drawing primitives of a medium. Points are pixels (n, 2) of the page, y down."""

    def clip_to_panel(self, place: PlotBox) -> AbstractContextManager[Any]:
        """Clip drawing to the plot of a panel."""

    def stroke(self, pieces: Sequence[FloatArray], stroke: Stroke, *, closed: bool = False) -> None:
        """Draw lines through points without gaps."""

    def fill(self, pieces: Sequence[FloatArray], name: str, opacity: float = 1.0, title: str = "") -> None:
        """Fill closed shapes; `title` is a tooltip if the medium has tooltips."""

    def draw_dots(self, points: FloatArray, diameter: float, name: str) -> None:
        """Draw dots."""

    def write(self, x: float, y: float, words: str, style: TextStyle = SMALL_TEXT) -> None:
        """Write text."""


def draw_figure(pen: Pen, placed: Layout) -> None:
    """Draw all panels and the legend of a figure."""
    for place in placed.places:
        draw_panel(pen, place)
    for row in placed.rows:
        draw_key_row(pen, row)


def draw_panel(pen: Pen, place: PlotBox) -> None:
    """Draw a panel with title, corner text, plot and axis labels."""
    panel = place.panel
    pen.write(place.left, place.top - place.title_above, panel.title, HEADING._replace(size=place.title_size))
    pen.write(place.right, place.top - place.corner_above, panel.corner, ENDING)
    draw_plot(pen, place)
    y_label = TextStyle(place.label_size, anchor="middle", upright=True)
    pen.write(place.left - 48.0, place.top + place.height / 2, panel.y.label, y_label)
    pen.write(place.left + place.width / 2, place.axis_label_baseline, panel.x.label, TextStyle(TEXT, anchor="middle"))


def draw_small_panel(pen: Pen, panel: Panel) -> None:
    """Draw a single panel of a grid: title, unit and directions above the plot."""
    place = small_panel_box(panel)
    pen.write(2.0, 11.5, panel.title, HEADING._replace(size=place.title_size))
    pen.write(2.0, 23.0, panel.y.label, TextStyle(place.label_size))
    draw_plot(pen, place)


def draw_plot(pen: Pen, place: PlotBox) -> None:
    """Draw the plot of a panel with axes, strips and tick labels."""
    panel = place.panel
    with pen.clip_to_panel(place):
        for layer in panel.layers:
            if isinstance(layer, Shade):
                pen.fill([_shade_box(layer, place, *span) for span in layer.spans], layer.color)
        _draw_grid(pen, place)
        for layer in panel.layers:
            _draw_layer(pen, layer, place)
    corner = np.array([[place.left, place.top], [place.left, place.bottom], [place.right, place.bottom]])
    pen.stroke([corner], Stroke("axis", 0.8))
    for number, strip in enumerate(panel.strips):
        _draw_strip(pen, strip, place, place.strip_top(number))
    middle = place.left + place.width / 2
    pen.write(middle, place.top + place.height / 2, panel.note, TextStyle(TEXT, anchor="middle", italic=True))
    for value, words in place.yticks:
        pen.write(place.left - TICK_GAP, float(place.y_pixels(value)) + ENDING.baseline, words, ENDING)
    for value, words in place.xticks:
        for number, line in enumerate(words.split("\n")):
            pen.write(float(place.x_pixels(value)), place.tick_top + 14.5 + Spacing.TICK_LINE * number, line, CENTRED)


def draw_key_row(pen: Pen, row: KeyRow) -> None:
    """Draw a line of a legend."""
    base = row.y + PLAIN.baseline
    pen.write(row.title_left, base, row.title, HEADING)
    for key, x in row.keys:
        draw_sample(pen, key, x, row.y)
        pen.write(x + SAMPLE + Spacing.AFTER_SAMPLE, base, key.words, PLAIN)


def draw_sample(pen: Pen, key: Key, x: float, y: float) -> None:
    """Draw the sample of a key from x, centred at height y."""
    if key.kind == "line":
        pen.stroke([np.array([[x, y], [x + SAMPLE, y]])], Stroke(key.color, key.width, key.dash, key.opacity))
        if key.point:
            pen.draw_dots(np.array([[x + SAMPLE / 2, y]]), 5.0, key.color)
    elif key.kind == "outline":
        pen.stroke([_box_path(x, y - 5.0, SAMPLE, 10.0)], Stroke(key.color, 1.0), closed=True)
    else:
        pen.fill([_box_path(x, y - 5.0, SAMPLE, 10.0)], key.color, key.opacity)


def _box_path(x: float, y: float, width: float, height: float) -> FloatArray:
    return np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]])


def _shade_box(shade: Shade, place: PlotBox, start: float, end: float) -> FloatArray:
    """Return the rectangle of an interval of x or y within the plot."""
    if shade.along == "x":
        x0, x1 = np.clip(place.x_pixels(np.array([start, end])), place.left, place.right).tolist()
        return _box_path(x0, place.top, x1 - x0, place.height)
    bottom, top = np.clip(place.y_pixels(np.array([start, end])), place.top, place.bottom).tolist()
    return _box_path(place.left, top, place.width, bottom - top)


def _draw_grid(pen: Pen, place: PlotBox) -> None:
    """Draw lines at the ticks; the line at zero is darker."""
    for value, _ in place.yticks if place.panel.y.grid else ():
        pen.stroke([_line_across(place, value, "y")], Stroke("axis" if value == 0.0 else "grid", 0.7))
    for value, _ in place.xticks if place.panel.x.grid else ():
        pen.stroke([_line_across(place, value, "x")], Stroke("grid", 0.7))


def _line_across(place: PlotBox, value: float, along: str) -> FloatArray:
    """Return the line across the plot at a value of x or y."""
    if along == "x":
        return np.array([[float(place.x_pixels(value)), place.top], [float(place.x_pixels(value)), place.bottom]])
    return np.array([[place.left, float(place.y_pixels(value))], [place.right, float(place.y_pixels(value))]])


def _draw_layer(pen: Pen, layer: Layer, place: PlotBox) -> None:
    match layer:
        case Line():
            x, curves = place.x_pixels(layer.x), place.y_pixels(layer.y).reshape(-1, layer.y.shape[-1])
            pieces = [np.stack([x[a:b], y[a:b]], axis=1) for y in curves for a, b in known_runs(np.isfinite(y + x))]
            pen.stroke(pieces, Stroke(layer.color, layer.width, layer.dash, layer.opacity))
        case Area():
            x, low, high = place.x_pixels(layer.x), place.y_pixels(layer.low), place.y_pixels(layer.high)
            pieces = [
                np.concatenate([np.stack([x[a:b], low[a:b]], axis=1), np.stack([x[a:b], high[a:b]], axis=1)[::-1]])
                for a, b in known_runs(np.isfinite(low + high))
            ]
            pen.fill(pieces, layer.color, layer.opacity)
        case Bars():
            _draw_bars(pen, layer, place)
        case Points():
            points = np.stack([place.x_pixels(layer.x), place.y_pixels(layer.y)], axis=1)
            pen.draw_dots(points[np.isfinite(points).all(axis=1)], layer.size, layer.color)
        case Outline():
            points = np.stack([place.x_pixels(layer.points[:, 0]), place.y_pixels(layer.points[:, 1])], axis=1)
            if layer.fill:
                pen.fill([points], layer.fill, layer.opacity)
            pen.stroke([points], Stroke(layer.color, layer.width, layer.dash, layer.opacity), closed=True)
        case Rule():
            first, last = place.xlim if layer.along == "x" else place.ylim
            if first <= layer.at <= last:
                stroke = Stroke(layer.color, layer.width, layer.dash, layer.opacity)
                pen.stroke([_line_across(place, layer.at, layer.along)], stroke)
        case Text():
            at = float(place.x_pixels(layer.x)), float(place.y_pixels(layer.y))
            pen.write(*at, layer.words, TextStyle(hue=color(layer.color), anchor=layer.anchor))
        case Shade():
            pass  # behind the grid


def _draw_bars(pen: Pen, bars: Bars, place: PlotBox) -> None:
    def pixel_points(at: list[float], height: list[float]) -> FloatArray:
        x, y = (height, at) if bars.horizontal else (at, height)
        return np.stack([place.x_pixels(np.array(x)), place.y_pixels(np.array(y))], axis=1)

    half = bars.width / 2.0
    boxes, whiskers = [], []
    for i in bars.visible_bars:
        at, base, top = float(bars.at[i]), float(bars.base[i]), float(bars.top[i])
        boxes.append(pixel_points([at - half, at + half, at + half, at - half], [base, base, top, top]))
        if bars.error is not None and np.isfinite(bars.error[i]):
            whiskers.append(pixel_points([at, at], [top - bars.error[i], top + bars.error[i]]))
    if bars.outline:
        pen.stroke(boxes, Stroke(bars.color, 1.0), closed=True)
    else:
        pen.fill(boxes, bars.color)
    pen.stroke(whiskers, Stroke("ink", 0.9))


def _draw_strip(pen: Pen, strip: Strip, place: PlotBox, top: float) -> None:
    pen.fill([_box_path(place.left, top, place.width, STRIP_HEIGHT)], "grid")
    pen.write(place.left - TICK_GAP, top + 0.5 * STRIP_HEIGHT + ENDING.baseline, strip.label, ENDING)
    for span in strip.spans:
        x, width = place.strip_span(span)
        pen.fill([_box_path(x, top, width, STRIP_HEIGHT)], span.color or strip.color, title=span.words)
