"""Figures say what is to be seen: the words of a picture hold its numbers."""

from __future__ import annotations

import numpy as np

from biodyn.output.figures.description import Axis, Bars, Figure, Key, Line, Panel
from biodyn.output.figures.svg import alt_text, render_svg

_X = np.linspace(0.0, 100.0, 5)


def _panel(title: str = "Knee <flexion>") -> Panel:
    thick = Line(_X, np.array([1.0, np.nan, 62.4, 5.0, -3.0]), "right", 2.0)
    thin = Line(_X, np.array([99.0, 99.0, 99.0, 99.0, 99.0]), "right", 0.8)
    return Panel(title, Axis(), Axis("degrees"), (thin, thick))


def test_curves_are_told_by_their_range_and_the_legend() -> None:
    figure = Figure("Angles", (_panel(), None), (Key("right leg", "right"),))
    assert alt_text(figure) == "Knee <flexion> (degrees): right leg −3.0 to 62.4."
    assert "<desc>Knee &lt;flexion&gt; (degrees): right leg −3.0 to 62.4.</desc>" in render_svg(figure)


def test_bars_are_told_with_their_ticks() -> None:
    at = np.array([0.0, 1.0])
    bars = Bars(at - 0.2, np.zeros(2), np.array([3.5, np.nan]), 0.3, "left")
    box = Bars(at - 0.2, np.zeros(2), np.array([9.0, 9.0]), 0.1, "left", outline=True)
    panel = Panel("Profile", Axis(ticks=((0.0, "Pelvic\ntilt"), (1.0, "Hip"))), Axis("degrees"), (bars, box))
    assert alt_text(Figure("", (panel,), (Key("left", "left", "area"),))) == "Profile (degrees): left Pelvic tilt 3.50."


def test_many_panels_are_counted_at_last() -> None:
    words = alt_text(Figure("", tuple(_panel("x" * 90) for _ in range(40))))
    assert len(words) < 1700
    assert words.endswith("more panels.")
    assert alt_text(Figure("", (Panel("Empty", Axis(), Axis(), note="no valid cycle"),))) == "Empty: no valid cycle."
    assert "<desc>" not in render_svg(Figure("", (Panel("Empty", Axis(), Axis()),)))
