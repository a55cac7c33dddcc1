"""Panels of curves and bars as SVG: small, sharp, the same bytes every time, and quick enough for thousands.

Values in, text out. Sizes are tenths of a pixel of a page 1000 px wide, so that whole numbers place a line well enough.
The look is that of `biodyn.output.figures.style`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup, escape

from biodyn.conventions import FloatArray
from biodyn.output.figures.style import GRID, INK, LIMIT, MUTED

WIDTH = 10000
_LEFT, _RIGHT, _TOP, _BOTTOM = 620, 120, 260, 340
_STRIP, _LEGEND, _LETTER = 150, 240, 60
_LONG = 22  # letters of an axis label that need a smaller type
_AXIS = "#b7bfc7"


@dataclass(frozen=True)
class Line:
    """Curves in one style: `values` (..., n) over `x` (None: the panel's), NaN where there is none. Width, dash in px."""

    values: FloatArray
    color: str
    width: float = 1.8
    opacity: float = 1.0
    dash: str = ""
    x: FloatArray | None = None


@dataclass(frozen=True)
class Area:
    """What lies between two curves (n,)."""

    low: FloatArray
    high: FloatArray
    color: str
    opacity: float = 1.0


@dataclass(frozen=True)
class Bars:
    """Bars at `x` (n,) from `base` (n,) to `top` (n,), `width` in units of x; `error` (n,) whiskers around the top."""

    x: FloatArray
    base: FloatArray
    top: FloatArray
    width: float
    color: str
    error: FloatArray | None = None
    outline: bool = False

    @property
    def reach(self) -> float:
        """The highest end of a bar or whisker; 0 without any."""
        ends = self.top + (0.0 if self.error is None else np.nan_to_num(self.error))
        return float(ends[np.isfinite(ends)].max(initial=0.0))


@dataclass(frozen=True)
class Mark:
    """A straight line across the panel: at a value of x ("v") or of y ("h")."""

    at: float
    along: str
    color: str
    dash: str = "4 2"


@dataclass(frozen=True)
class Strip:
    """A thin row below a panel: `spans` (start, end, words) in x that are filled; `label` before it."""

    label: str
    color: str
    spans: tuple[tuple[float, float, str], ...] = ()


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
        x: (n,) of its curves. xlim: None = that of x. floor, ceiling: values that y holds in any case.
        counts: y counts something. xticks: (value, words); None = round numbers.
        corner: small words at the upper right. note: said in an empty one.
    """

    title: str
    ylabel: str
    x: FloatArray
    xlabel: str = ""
    lines: tuple[Line, ...] = ()
    areas: tuple[Area, ...] = ()
    bars: tuple[Bars, ...] = ()
    marks: tuple[Mark, ...] = ()
    strips: tuple[Strip, ...] = ()
    corner: str = ""
    note: str = ""
    xlim: tuple[float, float] | None = None
    floor: float | None = None
    ceiling: float | None = None
    counts: bool = False
    xticks: tuple[tuple[float, str], ...] | None = None


@dataclass(frozen=True)
class Key:
    """An entry of a legend: a line, an area, bars (`kind` "line", "area") in this colour."""

    words: str
    color: str
    kind: str = "line"
    width: float = 2.0
    dash: str = ""
    opacity: float = 1.0


@dataclass(frozen=True)
class _Frame:
    """Places of a panel: pixels of its plot, and the values at its edges."""

    left: float
    top: float
    width: float
    height: float
    xlim: tuple[float, float]
    ylim: tuple[float, float]
    yticks: tuple[float, ...] = field(default=())

    def px(self, x: FloatArray | float) -> FloatArray:
        low, high = self.xlim
        return np.asarray(self.left + self.width * (np.asarray(x, dtype=float) - low) / (high - low))

    def py(self, y: FloatArray | float) -> FloatArray:
        low, high = self.ylim
        return np.asarray(self.top + self.height * (high - np.asarray(y, dtype=float)) / (high - low))


def figure(panels: Sequence[Panel], keys: Sequence[Key], alt: str, columns: int = 3, height: int = 1350) -> Markup:
    """Draw the panels in a grid with a legend below. `height` of a plot, tenths of a pixel."""
    columns = min(columns, max(len(panels), 1))
    across = WIDTH // columns
    strips = max((len(panel.strips) for panel in panels), default=0)
    down = _TOP + height + _BOTTOM + _STRIP * strips
    rows = -(-len(panels) // columns)
    parts = []
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        parts.append(_panel(panel, column * across + _LEFT, row * down + _TOP, across - _LEFT - _RIGHT, height))
    legend, lines = _legend(keys)
    total = rows * down + _LEGEND * lines
    parts.append(f'<g transform="translate(0 {rows * down})">{legend}</g>')
    return Markup(
        f'<svg class="chart" viewBox="0 0 {WIDTH} {total}" role="img" aria-label="{escape(alt)}" '
        f'font-size="112" fill="{MUTED}">{"".join(parts)}</svg>'
    )


def _panel(panel: Panel, left: float, top: float, width: float, height: float) -> str:
    frame = _frame(panel, left, top, width, height)
    bottom, right = top + height, left + width
    parts = [_text(left, top - 75, panel.title, f'font-weight="600" font-size="125" fill="{INK}"')]
    if panel.corner:
        parts.append(_text(right, top - 75, panel.corner, 'text-anchor="end" font-size="100"'))
    digits = _digits(frame.yticks)
    for tick in frame.yticks:
        y = round(float(frame.py(tick)))
        parts.append(
            f'<path d="M{left:.0f} {y}H{right:.0f}" stroke="{_AXIS if tick == 0 else GRID}" stroke-width="7"/>'
        )
        parts.append(_text(left - 45, y + 38, f"{tick + 0.0:.{digits}f}".replace("-", "−"), 'text-anchor="end"'))
    parts += [_area(area, panel.x, frame) for area in panel.areas]
    parts += [_bars(bars, frame) for bars in panel.bars]
    parts += [_mark(mark, frame) for mark in panel.marks]
    parts += [_line(line, panel.x, frame) for line in panel.lines]
    parts.append(
        f'<path d="M{left:.0f} {top:.0f}V{bottom:.0f}H{right:.0f}" fill="none" stroke="{_AXIS}" stroke-width="8"/>'
    )
    if panel.note:
        parts.append(_text(left + width / 2, top + height / 2, panel.note, 'text-anchor="middle" font-style="italic"'))
    if panel.ylabel:
        fit = ' font-size="98"' if len(panel.ylabel) > _LONG else ""
        parts.append(
            f'<text transform="translate({left - 480:.0f} {top + height / 2:.0f}) rotate(-90)" text-anchor="middle"{fit}>'
            f"{escape(panel.ylabel)}</text>"
        )
    below = bottom + 20
    for strip in panel.strips:
        parts.append(_strip(strip, frame, below))
        below += _STRIP
    for tick, words in panel.xticks if panel.xticks is not None else _xticks(frame.xlim):
        for number, line in enumerate(words.split("\n")):
            parts.append(_text(float(frame.px(tick)), below + 115 + 125 * number, line, 'text-anchor="middle"'))
    if panel.xlabel:
        parts.append(_text(left + width / 2, below + 245, panel.xlabel, 'text-anchor="middle"'))
    return f"<g>{''.join(parts)}</g>"


def _frame(panel: Panel, left: float, top: float, width: float, height: float) -> _Frame:
    found = [line.values for line in panel.lines] + [edge for area in panel.areas for edge in (area.low, area.high)]
    for bars in panel.bars:
        error = 0.0 if bars.error is None else np.nan_to_num(bars.error)
        found += [bars.base, bars.top + error]
    found += [np.array([mark.at]) for mark in panel.marks if mark.along == "h"]
    found += [np.array([edge]) for edge in (panel.floor, panel.ceiling) if edge is not None]
    known = np.concatenate([np.ravel(part)[np.isfinite(np.ravel(part))] for part in found]) if found else np.empty(0)
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    if high - low < 1e-9 * max(abs(high), abs(low), 1e-3):
        low, high = low - 0.5, high + 0.5
    pad = 0.04 * (high - low)
    low = low if panel.floor is not None and low >= panel.floor else low - pad
    high += pad
    step = max(_step(high - low, 4.5), 1.0) if panel.counts else _step(high - low, 4.5)
    step = float(np.ceil(step)) if panel.counts else step
    ticks = tuple(round(i * step, 10) for i in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1))
    xlim = panel.xlim or (float(panel.x[0]), float(panel.x[-1]))
    return _Frame(left, top, width, height, xlim, (low, high), ticks)


def _step(span: float, most: float) -> float:
    raw = span / most
    power = 10.0 ** np.floor(np.log10(raw))
    return float(next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw * (1 - 1e-9)))


def _digits(ticks: Sequence[float]) -> int:
    for digits in range(6):
        if all(abs(tick - round(tick, digits)) < 1e-9 for tick in ticks):
            return digits
    return 6


def _xticks(xlim: tuple[float, float]) -> tuple[tuple[float, str], ...]:
    low, high = xlim
    step = _step(high - low, 6.0)
    ticks = [round(i * step, 10) for i in range(int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9)) + 1)]
    digits = _digits(ticks)
    return tuple((tick, f"{tick + 0.0:.{digits}f}".replace("-", "−")) for tick in ticks)


def path_data(px: FloatArray, py: FloatArray) -> str:
    """The `d` of polylines: px (n,), py (..., n) in drawing units; a gap where either is NaN."""
    known = np.isfinite(py.reshape(-1, py.shape[-1])) & np.isfinite(px)
    points = np.empty((*known.shape, 2), dtype=np.int64)
    points[..., 0] = np.rint(np.where(np.isfinite(px), px, 0.0))
    points[..., 1] = np.rint(np.where(known, py.reshape(known.shape), 0.0))
    whole = known.all(axis=1)
    parts = []
    # Steps from point to point take half the letters of places.
    steps = np.concatenate([points[whole, :1], np.diff(points[whole], axis=1)], axis=1)
    for curve in steps.reshape(len(steps), 2 * known.shape[1]).tolist():
        parts.append(_polyline(curve))
    for curve_points, there in zip(points[~whole], known[~whole], strict=True):
        edges = np.flatnonzero(np.diff(np.concatenate(([False], there, [False])).astype(np.int8)))
        for start, end in edges.reshape(-1, 2):
            run = curve_points[start:end]
            parts.append(_polyline(np.concatenate([run[:1], np.diff(run, axis=0)]).reshape(-1).tolist()))
    return "".join(parts)


def _polyline(steps: list[int]) -> str:
    """Place of the first point, then the steps to the next ones."""
    words = list(map(str, steps))
    return f"M{words[0]} {words[1]}" + (f"l{' '.join(words[2:])}" if len(words) > 2 else "h0")


def _line(line: Line, x: FloatArray, frame: _Frame) -> str:
    data = path_data(frame.px(x if line.x is None else line.x), frame.py(line.values))
    if not data:
        return ""
    dash = f' stroke-dasharray="{_dash(line.dash)}"' if line.dash else ""
    faint = f' opacity="{line.opacity:g}"' if line.opacity != 1.0 else ""
    return (
        f'<path d="{data}" fill="none" stroke="{line.color}" stroke-width="{10 * line.width:g}" '
        f'stroke-linejoin="round"{dash}{faint}/>'
    )


def _area(area: Area, x: FloatArray, frame: _Frame) -> str:
    known = np.isfinite(area.low) & np.isfinite(area.high)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(np.int8)))
    px = np.rint(frame.px(x)).astype(np.int64)
    low, high = frame.py(area.low), frame.py(area.high)
    data = ""
    for start, end in edges.reshape(-1, 2):
        across = np.concatenate([px[start:end], px[start:end][::-1]])
        up = np.rint(np.concatenate([high[start:end], low[start:end][::-1]])).astype(np.int64)
        data += "M" + " ".join(map(str, np.stack([across, up], axis=1).reshape(-1).tolist())) + "Z"
    return f'<path d="{data}" fill="{area.color}" opacity="{area.opacity:g}"/>' if data else ""


def _bars(bars: Bars, frame: _Frame) -> str:
    parts = []
    wide = abs(float(frame.px(bars.width)) - float(frame.px(0.0)))
    style = f'fill="none" stroke="{bars.color}" stroke-width="10"' if bars.outline else f'fill="{bars.color}"'
    for i, (x, base, top) in enumerate(zip(frame.px(bars.x), bars.base, bars.top, strict=True)):
        if not np.isfinite(top) or top == base:
            continue
        y0, y1 = float(frame.py(base)), float(frame.py(top))
        parts.append(
            f'<rect x="{x - wide / 2:.0f}" y="{min(y0, y1):.0f}" width="{wide:.0f}" height="{abs(y1 - y0):.0f}" {style}/>'
        )
        if bars.error is not None and np.isfinite(bars.error[i]):
            a, b = (float(frame.py(top + sign * bars.error[i])) for sign in (-1.0, 1.0))
            parts.append(f'<path d="M{x:.0f} {a:.0f}V{b:.0f}" stroke="{INK}" stroke-width="9"/>')
    return "".join(parts)


def _mark(mark: Mark, frame: _Frame) -> str:
    dash = f' stroke-dasharray="{_dash(mark.dash)}"' if mark.dash else ""
    if mark.along == "v":
        if not frame.xlim[0] <= mark.at <= frame.xlim[1]:
            return ""
        data = f"M{float(frame.px(mark.at)):.0f} {frame.top:.0f}v{frame.height:.0f}"
    else:
        data = f"M{frame.left:.0f} {float(frame.py(mark.at)):.0f}h{frame.width:.0f}"
    return f'<path d="{data}" stroke="{mark.color}" stroke-width="{9 if mark.color == LIMIT else 8}"{dash}/>'


def _strip(strip: Strip, frame: _Frame, top: float) -> str:
    parts = [
        f'<rect x="{frame.left:.0f}" y="{top:.0f}" width="{frame.width:.0f}" height="90" fill="{GRID}"/>',
        _text(frame.left - 45, top + 82, strip.label, 'text-anchor="end" font-size="100"'),
    ]
    for start, end, words in strip.spans:
        x0, x1 = float(frame.px(start)), float(frame.px(end))
        parts.append(
            f'<rect x="{x0:.0f}" y="{top:.0f}" width="{max(x1 - x0, 25):.0f}" height="90" fill="{strip.color}">'
            f"<title>{escape(words)}</title></rect>"
        )
    return "".join(parts)


def _legend(keys: Sequence[Key]) -> tuple[str, int]:
    """Entries side by side, centred, in as many lines as they need."""
    rows: list[list[tuple[Key, float]]] = [[]]
    used = 0.0
    for key in keys:
        wide: float = 410.0 + _LETTER * len(key.words)
        if rows[-1] and used + wide > WIDTH - 200:
            rows.append([])
            used = 0.0
        rows[-1].append((key, wide))
        used += wide
    parts = []
    for number, row in enumerate(rows if keys else []):
        left: float = (WIDTH - sum(wide for _, wide in row)) / 2
        y = number * _LEGEND + 120.0
        for key, wide in row:
            parts.append(_sample(key, left, y) + _text(left + 290, y + 40, key.words, f'fill="{INK}"'))
            left += wide
    return "".join(parts), len(rows) if keys else 0


def _sample(key: Key, x: float, y: float) -> str:
    faint = f' opacity="{key.opacity:g}"' if key.opacity != 1.0 else ""
    if key.kind == "area":
        return f'<rect x="{x:.0f}" y="{y - 50:.0f}" width="240" height="100" fill="{key.color}"{faint}/>'
    if key.kind == "outline":
        return (
            f'<rect x="{x:.0f}" y="{y - 50:.0f}" width="240" height="100" fill="none" stroke="{key.color}" '
            f'stroke-width="10"/>'
        )
    dash = f' stroke-dasharray="{_dash(key.dash)}"' if key.dash else ""
    return f'<path d="M{x:.0f} {y:.0f}h240" stroke="{key.color}" stroke-width="{10 * key.width:g}"{dash}{faint}/>'


def _dash(dash: str) -> str:
    return " ".join(f"{10 * float(part):g}" for part in dash.split())


def _text(x: float, y: float, words: str, attributes: str = "") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" {attributes}>{escape(words)}</text>'
