"""The look all figures share. Figures are built without pyplot: no global state, no window, safe in any process."""

from __future__ import annotations

import io
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator
from PIL import Image

# Okabe & Ito's colours, told apart by all kinds of colour vision: right blue, left vermilion.
SIDE_COLORS: Final[dict[str, str]] = {"r": "#0072B2", "l": "#D55E00"}
AXIS_COLORS: Final[tuple[str, str, str]] = ("#009E73", "#CC79A7", "#E69F00")
INK: Final = "#1f2933"
MUTED: Final = "#66727f"
GRID: Final = "#e6e9ec"
BAND: Final = "#dfe3e7"
NORM_LINE: Final = "#8a949e"
LIMIT: Final = "#b3261e"
UNKNOWN: Final = "#f1f2f4"

TITLE_PT: Final = 9.0
LABEL_PT: Final = 8.0
TICK_PT: Final = 7.5
DPI: Final = 110


def new_figure(width_in: float, height_in: float) -> Figure:
    """A white figure with the Agg canvas, inches."""
    figure = Figure(figsize=(width_in, height_in), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def panels(
    figure: Figure, rows: int, columns: int, *, top_in: float = 0.3, bottom_in: float = 0.8, down_in: float = 0.68
) -> list[Axes]:
    """Axes in a grid, row by row, at fixed margins in inches: placing them costs no trial drawing."""
    width, height = figure.get_size_inches()
    left, right, across, down = 0.62, 0.15, 0.66, down_in
    panel_w = (width - left - right - across * (columns - 1)) / columns
    panel_h = (height - top_in - bottom_in - down * (rows - 1)) / rows
    axes = []
    for row in range(rows):
        for column in range(columns):
            x = left + column * (panel_w + across)
            y = height - top_in - panel_h - row * (panel_h + down)
            axes.append(figure.add_axes((x / width, y / height, panel_w / width, panel_h / height)))
    return axes


def dress(ax: Axes, title: str, ylabel: str, xlabel: str = "") -> None:
    """Title, labelled axes, quiet grid and spines."""
    width, height = panel_size_in(ax)
    # Fixed places: else every drawing measures all tick labels twice, a third of the whole time.
    ax.set_title(title, fontsize=TITLE_PT, color=INK, loc="left", y=1.0, pad=4, fontweight="bold")
    ax.set_ylabel(ylabel, fontsize=LABEL_PT, color=MUTED)
    ax.yaxis.set_label_coords(-0.4 / width, 0.5)
    ax.set_xlabel(xlabel, fontsize=LABEL_PT, color=MUTED)
    ax.xaxis.set_label_coords(0.5, -0.21 / height)
    ax.tick_params(labelsize=TICK_PT, colors=MUTED, left=False, bottom=False, pad=2)
    if not xlabel:  # the panel below, on the same axis, has the ticks
        ax.xaxis.set_major_locator(NullLocator())
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    ax.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color("#b7bfc7")
        ax.spines[side].set_linewidth(0.7)
    ax.grid(True, axis="y", color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)


def panel_size_in(ax: Axes) -> tuple[float, float]:
    """Width and height of a panel, inches."""
    return float(ax.bbox.width / ax.figure.dpi), float(ax.bbox.height / ax.figure.dpi)


def zero_line(ax: Axes) -> None:
    """A thin line at zero."""
    ax.axhline(0.0, color="#b7bfc7", linewidth=0.7, zorder=1)


def note(ax: Axes, text: str, *, x: float = 0.5, y: float = 0.5) -> None:
    """A quiet sentence inside an empty panel, in axes coordinates."""
    ax.text(
        x, y, text, transform=ax.transAxes, ha="center", va="center", fontsize=LABEL_PT, color=MUTED, style="italic"
    )


def figure_png(figure: Figure, dpi: int = DPI) -> bytes:
    """Draw a figure as PNG. Light compression: half the time of the default for a few per cent of size."""
    figure.set_dpi(dpi)
    canvas = figure.canvas
    if not isinstance(canvas, FigureCanvasAgg):
        canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    stream = io.BytesIO()
    pixels.save(stream, format="PNG", compress_level=3, dpi=(dpi, dpi))
    return stream.getvalue()
