"""Figures: what they show is right, and every axis says what it is."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread
from support.synthetic import walker

from biodyn.checks import add_verdict
from biodyn.conventions import SIDES
from biodyn.library.tables import entry_names
from biodyn.library.toml_files import load_table
from biodyn.output.figures.curves import (
    CycleCurves,
    break_curve,
    curves_by_variable,
    cycle_figure,
    display_table,
    measured_stances,
    nan_statistics,
    stance_curves,
    top_view_points,
)
from biodyn.output.figures.matplotlib_backend import draw_with_matplotlib, drawing_png
from biodyn.output.figures.png import render_png
from biodyn.output.figures.style import SIDE_COLORS
from biodyn.output.figures.svg import render_svg
from biodyn.output.report.plotting import PlottableResult
from biodyn.output.report.trial_page import render_trial_report
from biodyn.output.store.result_writer import trial_view
from biodyn.output.tables import TABLES
from biodyn.variables import PERCENT, is_known_variable, load_norms, variable, variables

# Figures in which a panel stands above another one with the same horizontal axis, which alone carries the label.
SHARED_BELOW = {"joint_angles", "joint_torques", "joint_powers", "upper_body", "whole_trial", "torque_parts"}


@pytest.fixture(scope="module")
def view():
    return trial_view(add_verdict(walker(unmeasured_l=slice(80, 120))))


def visible(figure):
    return [ax for ax in figure.axes if ax.axison]


def test_every_panel_says_what_it_shows_and_in_which_unit(view):
    for name, described in view.figures.items():
        figure = draw_with_matplotlib(described)
        for ax in visible(figure):
            assert ax.get_title(loc="left"), name
            assert ax.get_ylabel() or ax.get_xlabel(), name
        labelled = [ax for ax in visible(figure) if ax.get_xlabel()]
        if name in SHARED_BELOW:
            lowest = min(ax.get_position().y0 for ax in visible(figure))
            assert all(ax.get_xlabel() for ax in visible(figure) if ax.get_position().y0 < lowest + 1e-6), name
        else:
            assert labelled == visible(figure), name


def test_every_figure_draws_inside_its_page(view):
    for name, described in view.figures.items():
        figure = draw_with_matplotlib(described)
        assert drawing_png(figure)[:4] == b"\x89PNG"
        renderer = figure.canvas.get_renderer()
        width, height = figure.canvas.get_width_height()
        for ax in visible(figure):
            for text in (ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label, *ax.texts):
                if not text.get_text():
                    continue
                box = text.get_window_extent(renderer)
                assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= 0, (name, text.get_text())


def test_titles_do_not_run_into_the_counts(view):
    for name, described in view.figures.items():
        figure = draw_with_matplotlib(described)
        drawing_png(figure)
        renderer = figure.canvas.get_renderer()
        for ax in visible(figure):
            title = ax._left_title.get_window_extent(renderer)
            for text in ax.texts:
                box = text.get_window_extent(renderer)
                if text.get_text().startswith("n:"):
                    assert box.x0 >= title.x1 or box.y1 <= title.y0, (name, ax.get_title(loc="left"))


def test_figures_of_a_trial_without_anything_to_show_are_still_figures():
    standing = walker(moving=False, frames=60, unmeasured_l=slice(0, 60))
    empty = replace(standing, contacts=(), plates=(), events=())
    for name, described in trial_view(add_verdict(empty)).figures.items():
        assert render_png(described)[:4] == b"\x89PNG", name
        assert described.title in render_svg(described), name


def test_shown_curves_carry_the_sign_their_axis_says(view):
    raw = view.tables["gait_cycles"]
    shown = curves_by_variable(*view.curves_of_cycles)
    checked = set()
    for name in variables():
        if name not in shown:
            continue
        for side, curves in shown[name].items():
            own = raw[(raw["variable"] == name) & (raw["side"] == side)]["value"].to_numpy().reshape(-1, 101)
            own = own[np.isfinite(own).any(axis=1)]
            meaning = variable(name)
            sign = meaning.clinical_sign * (-1 if meaning.mirrored and side == "l" else 1)
            np.testing.assert_allclose(curves.values, sign * own)
            checked.add(sign)
    assert checked == {1, -1}


def test_norms_agree_in_sign_and_size_with_normal_gait():
    """Landmarks of normal walking that no convention error survives (Perry & Burnfield 2010), as people are shown them."""
    band, line = load_norms("children_schwartz_2008"), load_norms("adults_fukuchi_2018")

    def shown(norms, name):
        return variable(name).clinical_factor("r") * norms.curves[name].mean

    for norms in (band, line):
        assert 50 < shown(norms, "knee_angle").max() < 70
        assert 60 < PERCENT[shown(norms, "knee_angle").argmax()] < 80
        assert shown(norms, "hip_flexion")[0] > 20 > 0 > shown(norms, "hip_flexion").min()
        assert shown(norms, "ankle_angle").min() < -5
    assert 1.0 < shown(band, "ankle_angle_moment").max() < 1.7  # plantarflexion at push-off
    assert 40 < PERCENT[shown(band, "ankle_angle_moment").argmax()] < 55
    assert shown(band, "hip_flexion_moment")[:20].max() > 0.4 > -0.4 > shown(band, "hip_flexion_moment")[40:60].min()
    assert shown(band, "knee_angle_moment")[8:20].max() > 0.2
    assert shown(band, "ankle_power").max() > 2.0
    assert 1.0 < shown(band, "ground_force_y").max() < 1.4
    assert shown(band, "ground_force_x")[5:20].min() < -0.1 < 0.1 < shown(band, "ground_force_x")[40:60].max()


def test_norms_name_group_and_source_and_only_known_variables():
    for name in entry_names("norms"):
        norms = load_norms(name)
        assert norms.citation
        assert norms.group
        for key, curve in norms.curves.items():
            assert is_known_variable(key)
            assert curve.mean.shape == PERCENT.shape
            assert curve.sd is None or (curve.sd >= 0).all()


def test_display_table_names_only_variables_it_describes():
    table = load_table("figures/display")
    panels = [name for figure in table["figure"] for name in figure["panels"]]
    panels += table["stance_figure"]["panels"] + table["overview"]["angles"] + table["overview"]["moments"]
    assert set(panels) <= set(variables())


def test_statistics_ignore_what_is_missing():
    values = np.array([[1.0, np.nan, np.nan], [3.0, 4.0, np.nan]])
    mean, sd = nan_statistics(values)
    np.testing.assert_allclose(mean, [2.0, 4.0, np.nan])
    np.testing.assert_allclose(sd, [np.sqrt(2.0), np.nan, np.nan])


def test_a_mean_is_broken_where_the_number_of_cycles_changes():
    values = np.vstack([np.ones(101), np.where(PERCENT < 50, 3.0, np.nan)])
    mean, _ = nan_statistics(values)
    percent, drawn = break_curve(mean, values)
    assert np.isnan(drawn).sum() == 1
    assert np.isnan(drawn[50])
    np.testing.assert_array_equal(percent[np.isfinite(percent)], PERCENT)


def test_both_sides_are_drawn_in_their_colours():
    curves = {"some_variable": {side: CycleCurves(np.ones((1, 101)), "deg") for side in SIDES}}
    figure = draw_with_matplotlib(cycle_figure("Some", curves, ["some_variable"], {"r": 60.0, "l": 62.0}))
    colors = {to_rgb(line.get_color()) for line in figure.axes[0].lines}
    assert {to_rgb(color) for color in SIDE_COLORS.values()} <= colors
    offs = [line.get_xdata()[0] for line in figure.axes[0].lines if len(set(line.get_xdata())) == 1]
    assert sorted(offs) == [60.0, 62.0]


def test_only_stances_measured_from_beginning_to_end_count():
    # The left foot stands 0.5-1.1, 1.5-2.1 and 2.5-3.0 s; the first is partly unmeasured, the last has no foot off.
    walk = walker(unmeasured_l=slice(80, 120))
    events, ground = TABLES["events"].make(walk), TABLES["ground_reaction"].make(walk)
    assert list(measured_stances(events, ground, "l")) == [(1.5, 2.1)]
    assert len(list(measured_stances(events, ground, "r"))) == 3
    name = display_table()["stance_figure"]["panels"][0]
    weight = walk.subject.mass_kg * 9.80665
    found = stance_curves(events, ground, [name], weight)[name]["l"]
    np.testing.assert_allclose(found.values, 0.5)


def test_seen_from_above_forward_is_right_and_left_is_up():
    np.testing.assert_array_equal(top_view_points(np.array([1.0, 5.0, 2.0])), [1.0, -2.0])


def test_side_colors_are_a_setting(view) -> None:
    record = view.record
    settings = {**record["settings"], "report": {**record["settings"]["report"], "colors": "left_red_right_green"}}
    view = replace(view, record={**record, "settings": settings})
    page = render_trial_report(view, view.figures_svg())
    assert not any(color in page for color in SIDE_COLORS.values())
    result = type("Result", (PlottableResult,), {"view": view})()
    lines = result.plot("knee_angle", norms=None).axes[0].lines
    assert {to_rgb("#C62828"), to_rgb("#1B7F3B")} <= {to_rgb(line.get_color()) for line in lines}
    pixels = imread(BytesIO(view.figures_png()["joint_angles"]))[..., :3].reshape(-1, 3)
    red, green = (np.abs(pixels - to_rgb(color)).max(axis=1).min() for color in ("#C62828", "#1B7F3B"))
    assert max(red, green) < 0.02
    assert all(np.abs(pixels - to_rgb(color)).max(axis=1).min() > 0.02 for color in SIDE_COLORS.values())
