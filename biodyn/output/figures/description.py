"""Dataclasses that describe a figure: panels with axes and layers, and a legend. Renderers determine layout and pen.

Colours are names of `style.COLORS`, sizes are pixels of a page 1000 px wide. NaN is a gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from biodyn.conventions import FloatArray

Dash = tuple[float, ...]


@dataclass(frozen=True)
class Line:
    """Curves of one line style: `y` (..., n) over `x` (n,)."""

    x: FloatArray
    y: FloatArray
    color: str
    width: float = 1.8
    opacity: float = 1.0
    dash: Dash = ()


@dataclass(frozen=True)
class Area:
    """Area between two curves `low` and `high` (n,) over `x` (n,)."""

    x: FloatArray
    low: FloatArray
    high: FloatArray
    color: str
    opacity: float = 1.0


@dataclass(frozen=True)
class Bars:
    """Bars at `at` (n,) from `base` (n,) to `top` (n,), `width` in units of `at`; `error` (n,) whiskers around the top.

    Bars are vertical, or horizontal if `horizontal` is true.
    """

    at: FloatArray
    base: FloatArray
    top: FloatArray
    width: float
    color: str
    error: FloatArray | None = None
    outline: bool = False
    horizontal: bool = False

    @property
    def visible_bars(self) -> list[int]:
        """Indices of the visible bars."""
        return [i for i in range(len(self.top)) if np.isfinite(self.top[i]) and self.top[i] != self.base[i]]

    @property
    def largest_end(self) -> float:
        """Largest value that a bar or whisker reaches; 0 without bars."""
        ends = self.top + (0.0 if self.error is None else np.nan_to_num(self.error))
        return float(ends[np.isfinite(ends)].max(initial=0.0))


@dataclass(frozen=True)
class Points:
    """Dots at `x`, `y` (n,) with diameter `size`."""

    x: FloatArray
    y: FloatArray
    color: str
    size: float = 5.0


@dataclass(frozen=True)
class Outline:
    """A closed polygon of `points` (n, 2), filled with the colour `fill` if it is not empty."""

    points: FloatArray
    color: str
    width: float = 1.5
    opacity: float = 1.0
    dash: Dash = ()
    fill: str = ""


@dataclass(frozen=True)
class Shade:
    """Shaded intervals (start, end) of x ("x") or y ("y") over the whole panel."""

    spans: tuple[tuple[float, float], ...]
    color: str
    along: Literal["x", "y"] = "x"


@dataclass(frozen=True)
class Rule:
    """A straight line across the panel at a value of x ("x", vertical) or y ("y", horizontal)."""

    at: float
    along: Literal["x", "y"]
    color: str
    width: float = 1.0
    dash: Dash = ()
    opacity: float = 1.0


@dataclass(frozen=True)
class Text:
    """Text with the start, middle or end of its baseline at `x`, `y`."""

    x: float
    y: float
    words: str
    color: str = "muted"
    anchor: Literal["start", "middle", "end"] = "start"


Layer = Line | Area | Bars | Points | Outline | Shade | Rule | Text


@dataclass(frozen=True)
class Span:
    """A filled interval of a strip in x.

    `words`: tooltip, also shown in the interval if it fits. `color`: replaces the color of the strip.
    """

    start: float
    end: float
    words: str
    color: str = ""


@dataclass(frozen=True)
class Strip:
    """A thin row below a panel, with the title `label`."""

    label: str
    color: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Axis:
    """One axis of a panel.

    Attributes:
        label: label with unit. limits: None = determined by the layers. holds: values that are always within the limits.
        floor: smallest possible lower limit. counts: whether the values are counts.
        ticks: (value, words), "\\n" breaks; None = round numbers. grid: lines at the ticks.
    """

    label: str = ""
    limits: tuple[float, float] | None = None
    holds: tuple[float, ...] = ()
    floor: float | None = None
    counts: bool = False
    log: bool = False
    ticks: tuple[tuple[float, str], ...] | None = None
    grid: bool = False


@dataclass(frozen=True)
class Key:
    """A legend entry: a line, an area or an outline in this colour; `point`: with a dot on the line."""

    words: str
    color: str
    kind: Literal["line", "area", "outline"] = "line"
    width: float = 2.0
    dash: Dash = ()
    opacity: float = 1.0
    point: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes; later layers are drawn over earlier ones.

    Attributes:
        strips: rows below. corner: small text at the upper right. note: text in the centre of an empty panel.
        span: number of columns of the figure. equal: whether both axes have the same scale.
        legend: heading and keys of the legend above the row that starts with this panel.
    """

    title: str
    x: Axis
    y: Axis
    layers: tuple[Layer, ...] = ()
    strips: tuple[Strip, ...] = ()
    corner: str = ""
    note: str = ""
    span: int = 1
    equal: bool = False
    legend: tuple[str, tuple[Key, ...]] | None = None


@dataclass(frozen=True)
class Figure:
    """Panels in a grid, row by row, with a legend below.

    Attributes:
        title: title for screen readers. panels: panels; None leaves a position empty. caption: text below the figure in a page.
        columns: columns of the grid. height: height of a plot, pixels. width: total width, pixels.
    """

    title: str
    panels: tuple[Panel | None, ...]
    keys: tuple[Key, ...] = ()
    columns: int = 3
    height: float = 150.0
    width: float = 1000.0
    caption: str = ""
