"""Description of a figure as values: panels with axes and layers, and a legend. Renderers determine layout and pen.

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

    Bars are vertical; `lying` ones are horizontal.
    """

    at: FloatArray
    base: FloatArray
    top: FloatArray
    width: float
    color: str
    error: FloatArray | None = None
    outline: bool = False
    lying: bool = False

    @property
    def drawn(self) -> list[int]:
        """Indices of the visible bars."""
        return [i for i in range(len(self.top)) if np.isfinite(self.top[i]) and self.top[i] != self.base[i]]

    @property
    def reach(self) -> float:
        """The highest end of a bar or whisker; 0 without any."""
        ends = self.top + (0.0 if self.error is None else np.nan_to_num(self.error))
        return float(ends[np.isfinite(ends)].max(initial=0.0))


@dataclass(frozen=True)
class Points:
    """Dots at `x`, `y` (n,), `size` their diameter."""

    x: FloatArray
    y: FloatArray
    color: str
    size: float = 5.0


@dataclass(frozen=True)
class Outline:
    """A closed polygon of `points` (n, 2), filled with a colour where `fill` names one."""

    points: FloatArray
    color: str
    width: float = 1.5
    opacity: float = 1.0
    dash: Dash = ()
    fill: str = ""


@dataclass(frozen=True)
class Shade:
    """Stretches (start, end) of x ("x") or y ("y") over the whole panel."""

    spans: tuple[tuple[float, float], ...]
    color: str
    along: Literal["x", "y"] = "x"


@dataclass(frozen=True)
class Rule:
    """A straight line across the panel at a value of x ("x", upright) or of y ("y", level)."""

    at: float
    along: Literal["x", "y"]
    color: str
    width: float = 1.0
    dash: Dash = ()
    opacity: float = 1.0


@dataclass(frozen=True)
class Text:
    """Text at a point: start, middle or end of its baseline at `x`, `y`."""

    x: float
    y: float
    words: str
    color: str = "muted"
    anchor: Literal["start", "middle", "end"] = "start"


Layer = Line | Area | Bars | Points | Outline | Shade | Rule | Text


@dataclass(frozen=True)
class Span:
    """A filled part of a strip, in x; `words` are shown by the pointer, and in it where they fit; `color` if not the strip's."""

    start: float
    end: float
    words: str
    color: str = ""


@dataclass(frozen=True)
class Strip:
    """A thin row below a panel, named by `label`."""

    label: str
    color: str
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Axis:
    """One axis of a panel.

    Attributes:
        label: with the unit. limits: None = what the layers need. holds: values that are inside in any case.
        floor: lowest value, below which there is never room. counts: it counts something.
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
    """An entry of a legend: a line, an area, an outline in this colour; `point`: with a dot on its line."""

    words: str
    color: str
    kind: Literal["line", "area", "outline"] = "line"
    width: float = 2.0
    dash: Dash = ()
    opacity: float = 1.0
    point: bool = False


@dataclass(frozen=True)
class Legend:
    """Keys above a row of panels, with a heading."""

    title: str
    keys: tuple[Key, ...]


@dataclass(frozen=True)
class Panel:
    """One pair of axes; later layers are drawn over earlier ones.

    Attributes:
        strips: rows below. corner: small words at the upper right. note: said in the middle of an empty panel.
        span: columns of the figure that it takes. equal: the same scale both ways.
        legend: above the row that the panel begins.
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
    legend: Legend | None = None


@dataclass(frozen=True)
class Figure:
    """Panels in a grid, row by row, with a legend below.

    Attributes:
        title: for those who cannot see it. panels: None leaves a place empty. caption: said below it in a page.
        columns: of the grid. height: of a plot, pixels. width: of all, pixels.
    """

    title: str
    panels: tuple[Panel | None, ...]
    keys: tuple[Key, ...] = ()
    columns: int = 3
    height: float = 150.0
    width: float = 1000.0
    caption: str = ""
