"""What is to be seen in a figure, in words, for those who cannot see it: ranges of the curves, heights of the bars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.output.figures.description import Bars, Dash, Figure, Key, Line, Panel

_THICK = 1.5  # width from which a line is a mean or a measured curve, not one of many
_MOST_LETTERS = 1500


def spoken(figure: Figure) -> str:
    """Panel by panel its title, what y is, and of every thick curve or row of bars its numbers; "" where there are none."""
    found: list[str] = []
    length = 0
    panels = [panel for panel in figure.panels if panel is not None]
    for number, panel in enumerate(panels):
        said = "; ".join(_seen(panel, figure.keys))
        words = f"{panel.title}{f' ({panel.y.label})' if panel.y.label else ''}: {said or panel.note}."
        length += len(words)
        if length > _MOST_LETTERS:
            return " ".join([*found, f"{len(panels) - number} more panels."])
        if said or panel.note:
            found.append(words)
    return " ".join(found)


def _seen(panel: Panel, keys: Sequence[Key]) -> Iterator[str]:
    digits = _digits(panel)
    for layer in panel.layers:
        if isinstance(layer, Line) and layer.width >= _THICK and np.isfinite(layer.y).any():
            low, high = float(np.nanmin(layer.y)), float(np.nanmax(layer.y))
            yield f"{_name(keys, layer.color, layer.dash)}{_number(low, digits)} to {_number(high, digits)}"
        elif isinstance(layer, Bars) and not layer.outline and layer.drawn:
            yield f"{_name(keys, layer.color, ())}{', '.join(_bars(panel, layer, digits))}"


def _bars(panel: Panel, bars: Bars, digits: int) -> Iterator[str]:
    """The height of each bar with the word of the tick it stands at."""
    along = (panel.y if bars.lying else panel.x).ticks or ()
    places: FloatArray = np.array([value for value, _ in along])
    for i in bars.drawn:
        near = int(np.abs(places - bars.at[i]).argmin()) if len(places) else -1
        word = along[near][1].replace("\n", " ") + " " if near >= 0 and abs(places[near] - bars.at[i]) < 0.5 else ""
        yield f"{word}{_number(float(bars.top[i]), digits)}"


def _name(keys: Sequence[Key], color: str, dash: Dash) -> str:
    """The word of the legend for a pen, "" where it has none."""
    own = [key.words for key in keys if key.color == color and (not dash or key.dash == dash)]
    return f"{own[0]} " if own else ""


def _digits(panel: Panel) -> int:
    """Decimals with which the largest number of a panel has three digits."""
    tops = [
        layer.y if isinstance(layer, Line) else layer.top for layer in panel.layers if isinstance(layer, Line | Bars)
    ]
    largest = max((float(np.nanmax(np.abs(top))) for top in tops if np.isfinite(top).any()), default=0.0)
    return min(max(2 - math.floor(math.log10(largest)), 0), 6) if largest > 0.0 else 0


def _number(value: float, digits: int) -> str:
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")
