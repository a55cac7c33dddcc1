"""One panel drawn into axes that somebody else made: for a figure of a paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from matplotlib import axes
from matplotlib.artist import Artist

from biodyn.output.figures.description import Area, Figure, Key, Layer, Line, Rule
from biodyn.output.figures.layout import layout
from biodyn.output.figures.matplotlib_backend import artists, as_text

#: What `draw_into` draws into.
Axes: TypeAlias = axes.Axes


def draw_into(ax: Axes, figure: Figure) -> Axes:
    """Draw the only panel of a figure into matplotlib Axes, and return them.

    Size, letters and legend are those of whoever made them: what the legend of the panel names has its label, so that
    `ax.legend()` shows it. A title and labels that they have already stay, limits only grow.
    """
    (place,) = layout(figure).places
    panel, drawn_before = place.panel, ax.has_data()
    xlim, ylim = place.xlim, place.ylim
    if drawn_before:
        xlim, ylim = _both(xlim, ax.get_xlim()), _both(ylim, ax.get_ylim())
    keys = list(figure.keys)
    for layer in panel.layers:
        made = artists(ax, layer)
        _label(made, layer, keys)
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


def _both(new: Sequence[float], old: Sequence[float]) -> tuple[float, float]:
    return min(*new, *old), max(*new, *old)


def _label(made: Iterable[Artist], layer: Layer, keys: list[Key]) -> None:
    """Give artists the words of the first key of their kind and pen, and take that key from the list."""
    for key in keys:
        line = isinstance(layer, Line | Rule) and key.kind == "line" and key.width == layer.width
        area = isinstance(layer, Area) and key.kind == "area"
        if (line or area) and layer.color == key.color:  # type: ignore[union-attr]  # all three have one
            for artist in made:
                artist.set_label(
                    as_text(key.words if not key.words.startswith("_") else f" {key.words}")
                )  # "_" hides it
            keys.remove(key)
            return
