"""Draw figures with matplotlib, without pyplot, without global state and windows, so that any process can draw."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from matplotlib import axes
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon, Rectangle
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter, NullLocator
from PIL import Image

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
from biodyn.output.figures.drawing import STRIP_HEIGHT, KeyRow, Layout, PlotBox, join_curves, known_runs, lay_out_figure
from biodyn.output.figures.style import AXIS, DPI, GRID, INK, MUTED, POINTS_A_PIXEL, SMALL, TEXT, WIDTH, WIDTH_IN, color

#: Targets of drawing functions.
Axes: TypeAlias = axes.Axes
_INCH = WIDTH_IN / WIDTH  # size of a pixel of the page


def draw_with_matplotlib(figure: Figure) -> NotebookFigure:
    """Return a matplotlib Figure with one pair of axes per panel and one artist per layer."""
    placed = lay_out_figure(figure)
    drawing = NotebookFigure(figsize=(placed.width * _INCH, placed.height * _INCH), dpi=DPI, facecolor="white")
    FigureCanvasAgg(drawing)
    for place in placed.places:
        _draw_panel(drawing, placed, place)
    for row in placed.rows:
        _add_key_row(drawing, placed, row)
    return drawing


class NotebookFigure(Drawing):
    """A matplotlib Figure that notebooks display without pyplot."""

    def _repr_png_(self) -> bytes:
        return drawing_png(self)


def drawing_png(drawing: Drawing, dpi: int = DPI) -> bytes:
    """Return a matplotlib Figure as PNG; light compression takes half the time of the default and adds a few per cent of size."""
    drawing.set_dpi(dpi)
    canvas = drawing.canvas
    if not isinstance(canvas, FigureCanvasAgg):
        canvas = FigureCanvasAgg(drawing)
    canvas.draw()
    pixels = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    stream = io.BytesIO()
    pixels.save(stream, format="PNG", compress_level=3, dpi=(dpi, dpi))
    return stream.getvalue()


def _draw_panel(drawing: Drawing, placed: Layout, place: PlotBox) -> None:
    panel = place.panel
    x, y = place.left / placed.width, 1.0 - place.bottom / placed.height
    ax = drawing.add_axes((x, y, place.width / placed.width, place.height / placed.height))
    _format_axes(ax, place)
    for order, layer in enumerate(panel.layers):
        for artist in add_artists(ax, layer):
            artist.set_zorder((0.5 if isinstance(layer, Shade) else 2.0) + 0.001 * order)
    for number, strip in enumerate(panel.strips):
        top = place.strip_top(number)
        _add_strip_part(ax, place, place.left, place.width, top, GRID)
        for span in strip.spans:
            _add_strip_part(ax, place, *place.strip_span(span), top, color(span.color or strip.color))
        _add_text(
            ax, place, place.left - 4.5, top + STRIP_HEIGHT / 2, strip.label, SMALL, ha="right", va="center_baseline"
        )
    if panel.corner:
        _add_text(ax, place, place.right, place.top - place.corner_above, panel.corner, SMALL, ha="right")
    if panel.note:
        x, y = place.left + place.width / 2, place.top + place.height / 2
        _add_text(ax, place, x, y, panel.note, TEXT, ha="center", style="italic")


def _format_axes(ax: Axes, place: PlotBox) -> None:
    """Set limits, ticks, grid, title and labels at fixed positions; automatic positions would measure every text twice."""
    panel = place.panel
    for axis, described, limits, ticks, set_scale, set_limits in (
        (ax.xaxis, panel.x, place.xlim, place.xticks, ax.set_xscale, ax.set_xlim),
        (ax.yaxis, panel.y, place.ylim, place.yticks, ax.set_yscale, ax.set_ylim),
    ):
        if described.log:
            set_scale("log")
        set_limits(*limits)
        axis.set_major_locator(FixedLocator([value for value, _ in ticks]) if ticks else NullLocator())
        axis.set_major_formatter(FixedFormatter([words for _, words in ticks]))
        axis.set_minor_locator(NullLocator())
        axis.set_minor_formatter(NullFormatter())
        if described.grid:
            axis.grid(True, color=GRID, linewidth=_pixels_to_points(0.7))
    if panel.y.grid and any(value == 0.0 for value, _ in place.yticks):
        _add_line(
            ax,
            Line2D(
                [0.0, 1.0],
                [0.0, 0.0],
                transform=ax.get_yaxis_transform(),
                color=AXIS,
                linewidth=_pixels_to_points(0.7),
                zorder=1.0,
            ),
        )
    ax.set_axisbelow(True)
    ax.tick_params(
        labelsize=_pixels_to_points(SMALL), colors=MUTED, left=False, bottom=False, pad=_pixels_to_points(4.5)
    )
    ax.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(AXIS)
        ax.spines[side].set_linewidth(_pixels_to_points(0.8))
    for tick in ax.xaxis.get_major_ticks() if panel.strips else ():
        tick.label1.set_y(-(place.tick_top - place.bottom) / place.height)
    above = 1.0 + place.title_above / place.height
    ax.set_title(
        panel.title,
        fontsize=_pixels_to_points(place.title_size),
        color=INK,
        loc="left",
        y=above,
        pad=0,
        fontweight="bold",
    )
    ax.set_ylabel(panel.y.label, fontsize=_pixels_to_points(place.label_size), color=MUTED, va="baseline")
    ax.yaxis.set_label_coords(-48.0 / place.width, 0.5)
    ax.set_xlabel(panel.x.label, fontsize=_pixels_to_points(TEXT), color=MUTED, va="baseline")
    ax.xaxis.set_label_coords(0.5, (place.bottom - place.axis_label_baseline) / place.height)


def add_artists(ax: Axes, layer: Layer) -> list:  # type: ignore[type-arg]  # artists have no common useful type
    """Add a layer to axes as artists, and return them."""
    match layer:
        case Line():
            pen = _line_style(layer.color, layer.width, layer.dash, layer.opacity)
            return [_add_line(ax, Line2D(*join_curves(layer.x, layer.y), **pen))]
        case Area():
            pieces = [
                np.concatenate(
                    [
                        np.stack([layer.x[start:end], layer.low[start:end]], axis=1),
                        np.stack([layer.x[start:end], layer.high[start:end]], axis=1)[::-1],
                    ]
                )
                for start, end in known_runs(np.isfinite(layer.low) & np.isfinite(layer.high))
            ]
            filled = PolyCollection(pieces, facecolors=color(layer.color), alpha=layer.opacity, linewidths=0)
            return [ax.add_collection(filled, autolim=False)]
        case Bars():
            return _add_bars(ax, layer)
        case Points():
            size = _pixels_to_points(layer.size)
            dots = Line2D(layer.x, layer.y, linestyle="none", marker="o", color=color(layer.color), markersize=size)
            dots.set_markeredgewidth(0.0)
            return [_add_line(ax, dots)]
        case Outline():
            pen = _line_style(layer.color, layer.width, layer.dash, layer.opacity)
            patch = Polygon(layer.points, closed=True, fill=bool(layer.fill), edgecolor=pen.pop("color"), **pen)
            if layer.fill:
                patch.set_facecolor(color(layer.fill))
            return [ax.add_patch(patch)]
        case Shade():
            span = ax.axvspan if layer.along == "x" else ax.axhspan
            return [span(start, end, color=color(layer.color), linewidth=0) for start, end in layer.spans]
        case Rule():
            pen = _line_style(layer.color, layer.width, layer.dash, layer.opacity)
            ends = ([layer.at, layer.at], [0.0, 1.0])
            if layer.along == "x":
                return [_add_line(ax, Line2D(*ends, transform=ax.get_xaxis_transform(), **pen))]
            return [_add_line(ax, Line2D(*ends[::-1], transform=ax.get_yaxis_transform(), **pen))]
        case Text():
            side = {"start": "left", "middle": "center", "end": "right"}[layer.anchor]
            size = _pixels_to_points(SMALL)
            return [
                ax.text(layer.x, layer.y, layer.words, fontsize=size, color=color(layer.color), ha=side, va="baseline")
            ]


def _add_line(ax: Axes, line: Line2D) -> Line2D:
    """Add a line without updating limits, which are known; the update would take a tenth of the drawing time."""
    ax.add_artist(line)
    return line


def _add_bars(ax: Axes, bars: Bars) -> list:  # type: ignore[type-arg]
    half = bars.width / 2.0
    boxes, whiskers = [], []
    for i in bars.visible_bars:
        at, base, top = bars.at[i], bars.base[i], bars.top[i]
        box = np.array([[at - half, base], [at + half, base], [at + half, top], [at - half, top]])
        boxes.append(box[:, ::-1] if bars.horizontal else box)
        if bars.error is not None and np.isfinite(bars.error[i]):
            ends = np.array([[at, top - bars.error[i]], [at, top + bars.error[i]], [np.nan, np.nan]])
            whiskers.append(ends[:, ::-1] if bars.horizontal else ends)
    hue = color(bars.color)
    faces, edges = ("none", hue) if bars.outline else (hue, "none")
    drawn: list = [
        ax.add_collection(
            PolyCollection(boxes, facecolors=faces, edgecolors=edges, linewidths=_pixels_to_points(1.0)), autolim=False
        )
    ]  # type: ignore[type-arg]
    if whiskers:
        drawn.append(_add_line(ax, Line2D(*np.concatenate(whiskers).T, color=INK, linewidth=_pixels_to_points(0.9))))
    return drawn


def _add_strip_part(ax: Axes, place: PlotBox, left: float, width: float, top: float, hue: str) -> None:
    x, y = (left - place.left) / place.width, (place.bottom - top - STRIP_HEIGHT) / place.height
    box = Rectangle(
        (x, y), width / place.width, STRIP_HEIGHT / place.height, transform=ax.transAxes, color=hue, linewidth=0
    )
    box.set_clip_on(False)
    ax.add_patch(box)


def _add_text(ax: Axes, place: PlotBox, x: float, y: float, words: str, size: float, **style: str) -> None:
    """Add a text at a position in pixels of the page."""
    at = ((x - place.left) / place.width, (place.bottom - y) / place.height)
    style = {"va": "baseline", "color": MUTED, **style}
    ax.text(*at, words, transform=ax.transAxes, fontsize=_pixels_to_points(size), **style)  # type: ignore[arg-type]


def _add_key_row(drawing: Drawing, placed: Layout, row: KeyRow) -> None:
    handles = [_legend_sample(key) for key, _ in row.keys]
    y = 1.0 - row.y / placed.height
    if row.title:
        drawing.text(
            row.title_left / placed.width,
            y,
            row.title,
            fontsize=_pixels_to_points(TEXT),
            color=INK,
            fontweight="bold",
            va="center",
        )
    # matplotlib measures the texts; only the row and its centre, or its start after a heading, are given
    anchor = 0.5 if row.centred else row.keys[0][1] / placed.width
    drawing.legend(
        handles=handles,
        loc="center" if row.centred else "center left",
        bbox_to_anchor=(anchor, y),
        ncols=len(handles),
        frameon=False,
        fontsize=_pixels_to_points(TEXT),
        labelcolor=INK,
        borderpad=0.0,
        borderaxespad=0.0,
        handlelength=2.0,
        handletextpad=0.45,
        columnspacing=1.4,
    )


def _legend_sample(key: Key) -> Line2D | Patch:
    label = escape_math_text(key.words)
    if key.kind == "line":
        pen = _line_style(key.color, key.width, key.dash, key.opacity)
        if key.point:
            pen |= {"marker": "o", "markersize": _pixels_to_points(5.0), "markeredgewidth": 0}
        return Line2D([], [], label=label, **pen)
    hue = color(key.color)
    if key.kind == "outline":
        return Patch(facecolor="none", edgecolor=hue, linewidth=_pixels_to_points(1.0), label=label)
    return Patch(color=hue, alpha=key.opacity, linewidth=0, label=label)


def escape_math_text(words: str) -> str:
    """Return a text that matplotlib does not interpret as a formula, because file names may contain such characters."""
    return words.replace("$", r"\$")


def _line_style(name: str, width: float, dash: Dash, opacity: float) -> dict:  # type: ignore[type-arg]
    pen: dict = {"color": color(name), "linewidth": _pixels_to_points(width), "alpha": opacity}  # type: ignore[type-arg]
    if dash:
        # matplotlib counts dashes in line widths, the page in pixels
        pen["linestyle"] = (0, tuple(part / width for part in dash))
    return pen


def _pixels_to_points(pixels: float) -> float:
    return pixels * POINTS_A_PIXEL


def draw_into_axes(ax: Axes, figure: Figure) -> Axes:
    """Draw the only panel of a figure into matplotlib Axes, and return them.

    Size and fonts of the axes are unchanged. Artists have the labels of the legend for `ax.legend()`. Existing titles and
    axis labels are kept; limits are only extended.
    """
    (place,) = lay_out_figure(figure).places
    panel, drawn_before = place.panel, ax.has_data()
    xlim, ylim = place.xlim, place.ylim
    if drawn_before:
        xlim, ylim = _widest_limits(xlim, ax.get_xlim()), _widest_limits(ylim, ax.get_ylim())
    keys = list(figure.keys)
    for layer in panel.layers:
        made = add_artists(ax, layer)
        _label_artist(made, layer, keys)
    ax.set_xlim(*xlim)
    ax.set_ylim(*ylim)
    for said, say, words in (
        (ax.get_title("left") + ax.get_title(), lambda text: ax.set_title(text, loc="left"), panel.title),
        (ax.get_title("right"), lambda text: ax.set_title(text, loc="right", fontsize="small"), panel.corner),
        (ax.get_xlabel(), ax.set_xlabel, panel.x.label),
        (ax.get_ylabel(), ax.set_ylabel, panel.y.label),
    ):
        if words and not said:
            say(words)
    if panel.note and not drawn_before:
        ax.text(0.5, 0.5, panel.note, transform=ax.transAxes, ha="center", va="center", style="italic")
    return ax


def _widest_limits(new: Sequence[float], old: Sequence[float]) -> tuple[float, float]:
    return min(*new, *old), max(*new, *old)


def _label_artist(made: Iterable[Artist], layer: Layer, keys: list[Key]) -> None:
    """Label artists with the first key of their kind and pen, and remove this key from the list."""
    for key in keys:
        line = isinstance(layer, Line | Rule) and key.kind == "line" and key.width == layer.width
        area = isinstance(layer, Area) and key.kind == "area"
        if (line or area) and layer.color == key.color:  # type: ignore[union-attr]  # all three have one
            for artist in made:
                artist.set_label(
                    escape_math_text(key.words if not key.words.startswith("_") else f" {key.words}")
                )  # "_" hides the label
            keys.remove(key)
            return
