"""One description, two backends: the same axes, ticks, layers and legend, and pictures that show them."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib.figure
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from biodyn.output.figures.description import (
    Area,
    Axis,
    Bars,
    Figure,
    Key,
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
from biodyn.output.figures.drawing import SMALL_WIDTH, TICK_GAP, lay_out_figure, small_panel_box
from biodyn.output.figures.matplotlib_backend import draw_with_matplotlib
from biodyn.output.figures.png import render_png
from biodyn.output.figures.style import DASHED, SMALL, WIDTH, WIDTH_IN, color, ordered_level_colors, text_width
from biodyn.output.figures.svg import render_svg

_SVG = "{http://www.w3.org/2000/svg}"
_X = np.linspace(0.0, 10.0, 41)
_WAVE = np.sin(_X)
_BROKEN = np.where((_X > 3.0) & (_X < 4.0), np.nan, _WAVE)

CURVES = Panel(
    "Every layer on x and y",
    Axis("time (s)"),
    Axis("angle, flexion +", grid=True),
    (
        Shade(((1.0, 2.0), (8.0, 9.0)), "unknown"),
        Shade(((-0.2, 0.2),), "allowed", "y"),
        Area(_X, _BROKEN - 0.3, _BROKEN + 0.3, "norm_band"),
        Line(_X, np.stack([_BROKEN, 0.5 * _WAVE]), "right", 0.8, 0.5),
        Line(_X, _BROKEN, "left", 2.3, dash=DASHED),
        Rule(5.0, "x", "muted", dash=DASHED),
        Rule(0.9, "y", "limit"),
        Points(np.array([2.0, np.nan, 6.0]), np.array([0.0, 0.0, 0.5]), "x", 6.0),
        Text(7.0, -1.0, "words", anchor="middle"),
    ),
    strips=(Strip("a", "ink", (Span(2.0, 4.0, "p < 0.001"),)), Strip("b", "ink", (Span(0.0, 1.0, "other", "limit"),))),
    corner="n: 3",
)
BARS = Panel(
    "Bars",
    Axis(limits=(-0.6, 2.6), ticks=((0.0, "one"), (1.0, "two\nlines"), (2.0, "three"))),
    Axis("trials", floor=0.0, counts=True, grid=True),
    (
        Bars(np.arange(3.0), np.zeros(3), np.array([3.0, np.nan, 5.0]), 0.6, "bar", np.array([1.0, 1.0, np.nan])),
        Bars(np.arange(3.0), np.zeros(3), np.array([4.0, 2.0, 1.0]), 0.3, "ink", outline=True),
    ),
)
LYING = Panel(
    "Lying bars",
    Axis("mm", limits=(0.0, 6.0), grid=True),
    Axis(limits=(-0.6, 1.6), ticks=((0.0, "LKNE"), (1.0, "a very long name of a marker"))),
    (Bars(np.arange(2.0), np.zeros(2), np.array([3.0, 5.0]), 0.6, "assigned", horizontal=True),),
)
PLAN = Panel(
    "From above",
    Axis("forward (m)", limits=(0.0, 1.0)),
    Axis("left (m)", limits=(0.0, 1.0)),
    (Outline(np.array([[0.2, 0.2], [0.8, 0.2], [0.8, 0.8], [0.2, 0.8]]), "plate_edge", fill="plate"),),
    equal=True,
)
LOG = Panel("Decades", Axis("steps", limits=(1.0, 1e3), log=True), Axis("error", log=True, grid=True), (
    Line(np.array([2.0, 20.0, 200.0]), np.array([1e-2, 1e-7, 1e-12]), "y"),
))  # fmt: skip
EMPTY = Panel("Nothing", Axis("time (s)"), Axis("N"), note="no valid cycle")
FIGURE = Figure(
    "All layers",
    (CURVES, BARS, None, replace(PLAN, legend=("factor", (Key("level", "z"),))), LYING, LOG, EMPTY),
    (
        Key("right", "right"),
        Key("band", "norm_band", "area"),
        Key("outlined", "ink", "outline"),
        Key("dotted", "left", point=True, dash=DASHED),
    ),
)


@pytest.fixture(scope="module")
def drawing() -> matplotlib.figure.Figure:
    drawn = draw_with_matplotlib(FIGURE)
    drawn.canvas.draw()
    return drawn


@pytest.fixture(scope="module")
def page() -> ElementTree.Element:
    return ElementTree.fromstring(render_svg(FIGURE))


def panels_of(page: ElementTree.Element) -> list[ElementTree.Element]:
    return page.findall(f"{_SVG}g")


def words_in(element: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in element.iter(f"{_SVG}text")]


def placed_words(panel: ElementTree.Element) -> list[tuple[float, float, str]]:
    """Place in pixels and words of every text that is not turned."""
    return [
        (int(t.get("x", "")) / 10, int(t.get("y", "")) / 10, t.text or "")
        for t in panel.iter(f"{_SVG}text")
        if t.get("transform") is None
    ]


def test_ticks_have_the_same_words_at_the_same_places(
    drawing: matplotlib.figure.Figure, page: ElementTree.Element
) -> None:
    """What a value's place on the page is, decides everything else: limits, scale and size of the axes."""
    height = drawing.get_figheight() * WIDTH / WIDTH_IN
    for ax, panel in zip(drawing.axes, panels_of(page), strict=True):
        middle_x, middle_y = np.mean(ax.get_xlim()), np.mean(ax.get_ylim())
        across = [
            (ax.transData.transform((value, middle_y))[0], words.get_text())
            for value, words in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
        ]
        up = [
            (ax.transData.transform((middle_x, value))[1], words.get_text())
            for value, words in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
        ]
        a_pixel = WIDTH / WIDTH_IN / drawing.dpi
        expected = [("y", height - at * a_pixel, words) for at, words in up]
        expected += [("x", at * a_pixel, line) for at, words in across for line in words.split("\n")]
        found = placed_words(panel)
        for along, at, words in expected:
            places = [x if along == "x" else y - 3.8 for x, y, other in found if other == words]
            assert any(place == pytest.approx(at, abs=0.2) for place in places), words


def test_both_draw_the_same_titles_labels_and_notes(
    drawing: matplotlib.figure.Figure, page: ElementTree.Element
) -> None:
    for ax, panel in zip(drawing.axes, panels_of(page), strict=True):
        shown = words_in(panel)
        for words in (
            ax.get_title(loc="left"),
            ax.get_xlabel(),
            ax.get_ylabel(),
            *(text.get_text() for text in ax.texts),
        ):
            assert not words or words in shown


def test_both_draw_every_line_and_area(drawing: matplotlib.figure.Figure, page: ElementTree.Element) -> None:
    for ax, panel, described in zip(drawing.axes, panels_of(page), (p for p in FIGURE.panels if p), strict=True):
        lines = [(order, layer) for order, layer in enumerate(described.layers) if isinstance(layer, Line)]
        widths = {f"{10.0 * layer.width:g}" for _, layer in lines}
        colors = {color(layer.color) for _, layer in lines}
        paths = [path for path in panel.iter(f"{_SVG}path") if path.get("stroke") in colors]
        strokes = [path for path in paths if path.get("stroke-width") in widths]
        assert len(strokes) == len(lines)
        for (order, layer), stroke in zip(lines, strokes, strict=True):
            (artist,) = [one for one in ax.lines if one.get_zorder() == 2.0 + 0.001 * order]
            known = np.isfinite(np.asarray(artist.get_ydata(), dtype=float))
            runs = int(np.count_nonzero(np.diff(np.concatenate(([False], known)).astype(int)) == 1))
            assert stroke.get("d", "").count("M") == runs  # gaps are gaps in both
            assert to_rgb(artist.get_color()) == to_rgb(stroke.get("stroke", ""))
            assert artist.get_linewidth() == pytest.approx(layer.width * 72.0 * WIDTH_IN / WIDTH)
            assert bool(stroke.get("stroke-dasharray")) == (artist.get_linestyle() == "--") == bool(layer.dash)
        areas = [layer for layer in described.layers if isinstance(layer, Area)]
        fills = [path for path in panel.iter(f"{_SVG}path") if path.get("fill") == color("norm_band")]
        assert len(fills) == len(areas)
        grey = to_rgb(color("norm_band"))
        faces = [(artist, artist.get_facecolor()) for artist in ax.collections]
        filled = [artist for artist, face in faces if len(face) and to_rgb(face[0][:3]) == grey]
        assert sum(path.get("d", "").count("Z") for path in fills) == sum(len(artist.get_paths()) for artist in filled)


def test_both_have_the_same_legend(drawing: matplotlib.figure.Figure, page: ElementTree.Element) -> None:
    entries = [text.get_text() for legend in drawing.legends for text in legend.get_texts()]
    assert entries == ["level", "right", "band", "outlined", "dotted"]
    outside = [text.text for text in page.findall(f"{_SVG}text")]
    assert outside == ["factor", *entries]
    assert [text.get_text() for text in drawing.texts] == ["factor"]


def test_the_picture_shows_every_colour_in_its_panel() -> None:
    picture = np.asarray(Image.open(io.BytesIO(render_png(FIGURE, 150))).convert("RGB")).astype(float) / 255.0
    scale = picture.shape[1] / FIGURE.width
    for place in lay_out_figure(FIGURE).places:
        box = [round(edge * scale) for edge in (place.top, place.tick_top, place.left, place.right)]
        inside = picture[box[0] : box[1], box[2] : box[3]].reshape(-1, 3)
        used = {layer.color for layer in place.panel.layers if getattr(layer, "opacity", 1.0) == 1.0}
        used |= {span.color or strip.color for strip in place.panel.strips for span in strip.spans}
        for name in used:
            assert np.abs(inside - to_rgb(color(name))).max(axis=1).min() < 0.08, (place.panel.title, name)
    assert (picture[:3] == 1.0).all()  # white paper


def test_what_goes_beyond_the_axes_is_cut_off(page: ElementTree.Element) -> None:
    """A drift of 1e6 degrees must not be drawn over the page."""
    tall = Panel("T", Axis("s"), Axis("deg", limits=(0.0, 1.0)), (Line(_X, 100.0 * _X, "x"),))
    (panel,) = panels_of(ElementTree.fromstring(render_svg(Figure("t", (tall,)))))
    (window,) = panel.findall(f"{_SVG}svg")
    (place,) = lay_out_figure(Figure("t", (tall,))).places
    assert window.get("viewBox") == " ".join(
        str(round(10 * v)) for v in (place.left, place.top, place.width, place.height)
    )
    assert draw_with_matplotlib(Figure("t", (tall,))).axes[0].get_ylim() == (0.0, 1.0)


def test_the_scale_is_the_same_both_ways_where_it_must() -> None:
    (place,) = lay_out_figure(Figure("plan", (PLAN,), columns=1)).places
    across, up = place.xlim[1] - place.xlim[0], place.ylim[1] - place.ylim[0]
    assert across / place.width == pytest.approx(up / place.height)


def test_nothing_written_becomes_markup() -> None:
    evil = "</text><script>alert(1)</script>&<b>\"'"
    panel = Panel(
        evil, Axis(evil, ticks=((1.0, evil),)), Axis(evil, ticks=((0.5, evil),)), (Text(1.0, 0.5, evil),),
        (Strip(evil, "ink", (Span(0.0, 1.0, evil),)),), evil, evil, legend=(evil, (Key(evil, "x"),)),
    )  # fmt: skip
    drawn = render_svg(Figure(evil, (panel,), (Key(evil, "x"),)))
    assert "<script" not in drawn
    root = ElementTree.fromstring(drawn)
    assert root.findtext(f"{_SVG}title") == evil
    assert words_in(root).count(evil) >= 7


def test_a_different_last_digit_changes_no_byte() -> None:
    shaken = replace(CURVES, layers=tuple(
        replace(layer, y=layer.y * (1.0 + 1e-13)) if isinstance(layer, Line) else layer for layer in CURVES.layers
    ))  # fmt: skip
    assert render_svg(Figure("t", (CURVES,))) == render_svg(Figure("t", (shaken,)))
    assert render_svg(FIGURE) == render_svg(FIGURE)


def test_numbers_are_whole_units() -> None:
    drawn = render_svg(FIGURE)
    assert not re.search(r' (?:d|x|y|width|height|viewBox|points)="[^"]*[.e]\d', drawn)


def test_words_are_as_wide_as_they_are_drawn_at_most() -> None:
    figure = draw_with_matplotlib(Figure("t", ()))
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    for words in (
        "Ankle plantarflexion moment, right",
        "n: R 1-2, L 10",
        "body weights, anterior +",
        "Mediolateral GRF",
    ):
        for bold in (False, True):
            text = figure.text(0.1, 0.5, words, fontsize=40, fontweight="bold" if bold else "normal")
            drawn = text.get_window_extent(renderer).width * 72.0 / figure.dpi
            assert 0.98 <= text_width(words, 40.0, bold) / drawn < 1.2


def test_shades_are_as_many_as_levels() -> None:
    for count in (1, 2, 5, 9, 12):
        assert len(ordered_level_colors(count)) == count
    assert len(set(ordered_level_colors(9))) == 9


def test_lines_of_a_headed_legend_begin_at_the_same_place() -> None:
    many = ("hip centre", tuple(Key(f"a level with a long name, {i}", "z") for i in range(8)))
    figure = Figure("t", (replace(EMPTY, legend=many),), columns=1)
    rows = lay_out_figure(figure).rows
    assert len(rows) > 1
    assert len({row.keys[0][1] for row in rows}) == 1
    drawn = draw_with_matplotlib(figure)
    drawn.canvas.draw()
    lefts = [legend.get_window_extent().x0 for legend in drawn.legends]
    assert np.ptp(lefts) < 1.0


@pytest.mark.parametrize("size", [0.9, 1.9, 8.7, 9.5, 45.0, 90.0, 870.0])
def test_small_panels_have_two_ticks_or_more(size: float) -> None:
    """A zero alone tells no scale: of values between -8.7 and 8.7 steps of ten reach no other tick."""
    panel = Panel("Lateral flexion", Axis("%"), Axis("degrees", holds=(0.0,)), (Line(_X, size * np.sin(_X), "right"),))
    low, high = small_panel_box(panel).ylim
    values = [value for value, _ in small_panel_box(panel).yticks]
    assert len(values) > 1
    assert low <= min(values)
    assert max(values) <= high


@pytest.mark.parametrize("size", [3e3, 30.0, 1.0, 0.04, 4e-3, 5e-4, 2e-6])
def test_ticks_of_small_panels_have_room_beside_the_plot(size: float) -> None:
    """Numbers of many digits are cut at the panel's edge and read as others: "0.0050" as "050"."""
    panel = Panel("Power", Axis("%"), Axis("W/kg", holds=(0.0,)), (Line(_X, size * np.sin(_X), "right"),))
    place = small_panel_box(panel)
    assert place.yticks
    for _, words in place.yticks:
        assert text_width(words, SMALL) <= place.left - TICK_GAP
    assert place.right < SMALL_WIDTH


def test_a_curve_with_more_points_than_pixels_keeps_its_extremes() -> None:
    x = np.linspace(0.0, 600.0, 60_000)
    y = np.sin(3.0 * x) * np.cos(0.01 * x)
    panel = Panel("Long", Axis("time (s)"), Axis("angle"), (Line(x, y, "right"),))
    place = lay_out_figure(Figure("Long", (panel,))).places[0]
    path = max(re.findall(r' d="M([^"]*)"', render_svg(Figure("Long", (panel,)))), key=len)
    first, steps = (np.array(part.split(), dtype=np.int64).reshape(-1, 2) for part in path.split("l"))
    drawn = np.concatenate([first, first + np.cumsum(steps, axis=0)])
    whole = np.rint(10.0 * np.stack([place.x_pixels(x), place.y_pixels(y)], axis=1)).astype(np.int64)
    assert len(drawn) < 0.2 * len(x)
    for column in np.unique(whole[:, 0] // 5):
        here, there = (points[points[:, 0] // 5 == column] for points in (drawn, whole))
        assert (here[[0, -1]] == there[[0, -1]]).all()
        assert (here[:, 1].min(), here[:, 1].max()) == (there[:, 1].min(), there[:, 1].max())
