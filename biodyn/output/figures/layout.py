"""Where everything of a figure stands: the same places, limits and ticks for all backends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.output.figures.description import (
    Area,
    Axis,
    Bars,
    Figure,
    Key,
    Layer,
    Line,
    Outline,
    Panel,
    Points,
    Rule,
    Span,
)
from biodyn.output.figures.style import SMALL, TEXT, TITLE, fitting_size, shortened, words_width

# Pixels around a plot.
_LEFT, _RIGHT, _TOP, _GAP = 62.0, 12.0, 26.0, 8.0
_TICKS, _TICK_LINE, _LABEL = 20.0, 13.5, 15.0
_CORNER, _STRIP, STRIP_HEIGHT = 13.0, 15.0, 11.0
TICK_GAP = 4.5  # between the words of a tick and the plot
_TICK_ROOM = 54.0  # for the words of a tick at the left edge
_KEY_ROW, SAMPLE, _AFTER_SAMPLE, _BETWEEN = 24.0, 24.0, 5.0, 16.0

#: A panel alone, for a grid that a page lays out, and the room left, right, above and below its plot.
SMALL_WIDTH, SMALL_HEIGHT = 196.0, 132.0
_SMALL_ROOM = (40.0, 11.0, 31.0, 18.0)
_SMALL_TICKS = (3.6, 2.4, 1.6, 1.0)  # how many steps at most: fewer have fewer digits
_MORE_TICKS = 5.5  # where these leave a single tick, which tells no scale

Ticks = tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class Place:
    """A panel's plot in pixels from the upper left, the values at its edges, and what is written around it."""

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
    def below(self) -> float:
        """Where the words below the plot begin."""
        return self.bottom + _STRIP * len(self.panel.strips)

    @property
    def label_below(self) -> float:
        """Baseline of the label of x."""
        lines = max((words.count("\n") + 1 for _, words in self.xticks), default=0)
        return self.below + 3.0 + _TICK_LINE * lines + _LABEL

    @property
    def clipped(self) -> bool:
        """Whether layers may reach beyond the plot."""
        return self.panel.y.limits is not None or self.panel.equal

    def strip_top(self, number: int) -> float:
        """Upper edge of a strip."""
        return self.bottom + 3.0 + _STRIP * number

    def strip_span(self, span: Span) -> tuple[float, float]:
        """Left edge and width of a part of a strip: inside the plot, and wide enough to be seen."""
        a, b = (min(max(float(self.px(edge)), self.left), self.right) for edge in (span.start, span.end))
        return a, max(b - a, 2.5)

    def px(self, x: FloatArray | float) -> FloatArray:
        """Pixels from the left edge of the figure."""
        return self.left + self.width * _share(x, self.xlim, self.panel.x.log)

    def py(self, y: FloatArray | float) -> FloatArray:
        """Pixels from the upper edge of the figure."""
        return self.bottom - self.height * _share(y, self.ylim, self.panel.y.log)


@dataclass(frozen=True)
class KeyRow:
    """One line of a legend: y of its middle, a heading or "", keys with the left edges of their samples; centred or not."""

    y: float
    centred: bool
    title: str
    title_left: float
    keys: tuple[tuple[Key, float], ...]


@dataclass(frozen=True)
class Layout:
    """The whole figure in pixels."""

    width: float
    height: float
    places: tuple[Place, ...]
    rows: tuple[KeyRow, ...]


def layout(figure: Figure) -> Layout:
    """Place the panels in their grid, row by row, legends above the rows that have one and below all."""
    columns = max(min(figure.columns, sum(_span(panel) for panel in figure.panels)), 1)
    pitch = figure.width / columns
    places: list[Place] = []
    rows: list[KeyRow] = []
    top = 0.0
    for row in _rows(figure.panels, columns):
        legend = row[0].legend if row[0] is not None else None
        if legend is not None:
            rows += _key_rows(legend.keys, figure.width, top, legend.title)
            top = rows[-1].y + 0.5 * _KEY_ROW
        # Where the corner's words do not fit beside a title, those of the whole row stand on a line of their own.
        second = any(panel is not None and not _fits_beside(panel, _plot_width(panel, pitch)) for panel in row)
        plot_top = top + _TOP + (_CORNER if second else 0.0)
        column, bottom = 0, plot_top
        for panel in row:
            if panel is not None:
                place = _placed(
                    panel, column * pitch + _LEFT, plot_top, _plot_width(panel, pitch), figure.height, second
                )
                places.append(place)
                bottom = max(bottom, place.label_below + 4.0 - (0.0 if panel.x.label else _LABEL))
            column += _span(panel)
        top = bottom + _GAP
    if figure.keys:
        rows += _key_rows(figure.keys, figure.width, top)
        top = rows[-1].y + 0.5 * _KEY_ROW
    return Layout(figure.width, max(top, 1.0), tuple(places), tuple(rows))


def small_place(panel: Panel) -> Place:
    """Place one panel alone: words above the plot, ticks beside it; labels of its axes are the drawing's business."""
    left, right, top, bottom = _SMALL_ROOM
    width = SMALL_WIDTH - left - right
    place = _placed(panel, left, top, width, SMALL_HEIGHT - top - bottom, False)
    return replace(
        place,
        yticks=place.yticks if panel.y.ticks is not None else _small_ticks(panel.y, place.ylim, left - TICK_GAP),
        title_size=fitting_size(panel.title, SMALL_WIDTH - 4.0, TEXT, True),
        label_size=fitting_size(panel.y.label, SMALL_WIDTH - 4.0, SMALL),
    )


def _small_ticks(axis: Axis, limits: tuple[float, float], room: float) -> Ticks:
    """Two ticks or more that have room beside the plot; where even one step has too many digits, those that have room."""
    for most in (*_SMALL_TICKS, _MORE_TICKS):
        found = ticks(axis, limits, most)
        if len(found) > 1 and all(words_width(words, SMALL) <= room for _, words in found):
            return found
    fewest = ticks(axis, limits, _SMALL_TICKS[-1])
    return tuple((value, words) for value, words in fewest if words_width(words, SMALL) <= room) or ((0.0, "0"),)


def small_plot() -> tuple[float, float, float, float]:
    """Left, right, upper and lower edge of such a panel's plot."""
    left, right, top, bottom = _SMALL_ROOM
    return left, SMALL_WIDTH - right, top, SMALL_HEIGHT - bottom


def _span(panel: Panel | None) -> int:
    return 1 if panel is None else panel.span


def _plot_width(panel: Panel, pitch: float) -> float:
    return pitch * panel.span - _LEFT - _RIGHT


def _rows(panels: Sequence[Panel | None], columns: int) -> Iterator[list[Panel | None]]:
    row: list[Panel | None] = []
    for panel in panels:
        if row and sum(map(_span, row)) + _span(panel) > columns:
            yield row
            row = []
        row.append(panel)
    if row:
        yield row


def _fits_beside(panel: Panel, width: float) -> bool:
    return not panel.corner or words_width(panel.title, TITLE, True) + words_width(panel.corner, SMALL) + 8.0 <= width


def _placed(panel: Panel, left: float, top: float, width: float, height: float, second: bool) -> Place:
    xlim = panel.x.limits or _limits(panel.x, _reached(panel.layers, 0), tight=True)
    ylim = panel.y.limits or _limits(panel.y, _reached(panel.layers, 1), tight=False)
    if panel.equal:
        xlim, ylim = _same_scale(xlim, ylim, width, height)
    yticks = panel.y.ticks if panel.y.ticks is not None else ticks(panel.y, ylim, 5.5)
    return Place(
        panel=panel, left=left, top=top, width=width, height=height, xlim=xlim, ylim=ylim,
        xticks=panel.x.ticks if panel.x.ticks is not None else ticks(panel.x, xlim, 6.0),
        yticks=tuple((value, shortened(words, _TICK_ROOM, SMALL)) for value, words in yticks),
        title_size=fitting_size(panel.title, width, TITLE, True),
        label_size=fitting_size(panel.y.label, height + _GAP, TEXT),
        title_above=7.5 + (_CORNER if second else 0.0),
        corner_above=4.0 if second else 7.5,
    )  # fmt: skip


def _reached(layers: Sequence[Layer], along: int) -> FloatArray:
    """All finite values that the layers have along x (0) or y (1)."""
    found: list[FloatArray] = []
    for layer in layers:
        match layer:
            case Line() | Points():
                found.append(layer.y if along else layer.x)
            case Area():
                found += [layer.low, layer.high] if along else [layer.x]
            case Bars():
                if bool(along) == layer.lying:
                    found += [layer.at - 0.5 * layer.width, layer.at + 0.5 * layer.width]
                else:
                    error = 0.0 if layer.error is None else np.nan_to_num(layer.error)
                    found += [layer.base, layer.top + error]
            case Outline():
                found.append(layer.points[:, along])
            case Rule() if layer.along == ("y" if along else "x"):
                found.append(np.array([layer.at]))
            case _:
                pass  # shades and words take the room that there is
    if not found:
        return np.empty(0)
    values = np.concatenate([np.ravel(part) for part in found])
    return values[np.isfinite(values)]


def _limits(axis: Axis, values: FloatArray, tight: bool) -> tuple[float, float]:
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


def _same_scale(
    xlim: tuple[float, float], ylim: tuple[float, float], width: float, height: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Widen the direction that has room."""
    a_pixel = max((xlim[1] - xlim[0]) / width, (ylim[1] - ylim[0]) / height)
    x, y = 0.5 * sum(xlim), 0.5 * sum(ylim)
    half_x, half_y = 0.5 * a_pixel * width, 0.5 * a_pixel * height
    return (x - half_x, x + half_x), (y - half_y, y + half_y)


def _share(values: FloatArray | float, limits: tuple[float, float], log: bool) -> FloatArray:
    low, high = limits
    values = np.asarray(values, dtype=np.float64)
    if not log:
        return (values - low) / (high - low)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: FloatArray = np.log10(np.where(values > 0.0, values, np.nan) / low) / np.log10(high / low)
    return shares


def ticks(axis: Axis, limits: tuple[float, float], most: float) -> Ticks:
    """Round numbers inside the limits, with the digits they need."""
    low, high = limits
    if axis.log:
        return _decades(low, high, most)
    step = _step(high - low, most)
    if axis.counts:
        step = float(np.ceil(max(step, 1.0)))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    values = [round(i * step, 10) for i in range(first, last + 1)]
    digits = next((d for d in range(6) if all(abs(v - round(v, d)) < 1e-9 for v in values)), 6)
    return tuple((value, f"{value + 0.0:.{digits}f}".replace("-", "−")) for value in values)


def _decades(low: float, high: float, most: float) -> Ticks:
    first, last = int(np.ceil(np.log10(low) - 1e-9)), int(np.floor(np.log10(high) + 1e-9))
    powers = range(first, last + 1, max(1, -(-(last - first + 1) // int(most + 2))))
    if powers and first >= -3 and last <= 4:
        return tuple((10.0**power, f"{10.0**power:.{max(-power, 0)}f}") for power in powers)
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return tuple((10.0**power, f"10{str(power).translate(raised)}") for power in powers)


def _step(span: float, most: float) -> float:
    raw = span / most
    power = 10.0 ** np.floor(np.log10(raw))
    return float(next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw * (1 - 1e-9)))


def _key_rows(keys: Sequence[Key], width: float, top: float, title: str = "") -> list[KeyRow]:
    """Entries side by side in as many lines as they need: centred, or from the left behind a heading."""
    lines: list[list[tuple[Key, float]]] = [[]]
    indent = words_width(title, TEXT, True) + _BETWEEN if title else 0.0
    room = width - 20.0 - (indent + _LEFT if title else 0.0)
    for key in keys:
        wide = SAMPLE + _AFTER_SAMPLE + words_width(key.words, TEXT) + _BETWEEN
        if lines[-1] and sum(w for _, w in lines[-1]) + wide - _BETWEEN > room:
            lines.append([])
        lines[-1].append((key, wide))
    rows = []
    for number, line in enumerate(lines):
        left = _LEFT + indent if title else 0.5 * (width - sum(wide for _, wide in line) + _BETWEEN)
        placed = []
        for key, wide in line:
            placed.append((key, left))
            left += wide
        y = top + (number + 0.5) * _KEY_ROW
        rows.append(KeyRow(y, not title, title if not number else "", _LEFT, tuple(placed)))
    return rows


def key_words_left(left: float) -> float:
    """Where the words of a key begin whose sample begins at `left`."""
    return left + SAMPLE + _AFTER_SAMPLE


def runs(known: BoolArray) -> list[tuple[int, int]]:
    """Where values are known without a gap: first and one past the last of every run."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def joined(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Curves (..., n) over x (n,) one behind the other, with a gap between them: one artist for all."""
    curves = y.reshape(-1, y.shape[-1])
    if len(curves) == 1:
        return np.asarray(x), curves[0]
    gap = np.full((len(curves), 1), np.nan)
    across = np.broadcast_to(x, curves.shape)
    return np.hstack([across, gap]).reshape(-1), np.hstack([curves, gap]).reshape(-1)
