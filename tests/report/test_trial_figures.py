"""A figure of a trial is a file: what it takes to add one, and that those there are know what they are made of."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.synthetic import walker

from biodyn.checks import add_verdict
from biodyn.output.figures import trial as trial_package
from biodyn.output.figures.trial import TrialView, group_by_section, trial_figures
from biodyn.output.report.trial_page import render_trial_report
from biodyn.output.store.result_writer import trial_view

_EXAMPLE = """
from biodyn.output.figures.curves import percent_axis, side_key, value_axis
from biodyn.output.figures.description import Figure, Line, Panel
from biodyn.output.figures.trial import figure
from biodyn.variables import PERCENT, variable


@figure("knee_alone", place=15, needs=("gait_cycles",))
def knee_alone(trial):
    knee = trial.curves.get("knee_angle")
    if knee is None:
        return None
    lines = (Line(PERCENT, knee["r"].mean, "right"), Line(PERCENT, knee["l"].mean, "left"))
    panel = Panel("Knee flexion", percent_axis("gait cycle (%)"), value_axis(variable("knee_angle"), "deg"), lines)
    return Figure("The knee alone", (panel,), (side_key("r"), side_key("l")), 1, caption="Mean curves of the knees.")
"""


@pytest.fixture(scope="module")
def view() -> TrialView:
    return trial_view(add_verdict(walker(frames=301)))


def test_a_new_file_is_a_new_figure(view: TrialView, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "knee_alone.py").write_text(_EXAMPLE, encoding="utf-8")
    before = list(view.figures)
    monkeypatch.setattr(trial_package, "__path__", [*trial_package.__path__, str(tmp_path)])
    monkeypatch.setattr(trial_package.FIGURES, "_entries", dict(trial_package.FIGURES._entries))
    monkeypatch.setattr(trial_package.FIGURES, "_complete", False)
    again = TrialView(view.record, view.tables, view.arrays)
    try:
        assert [name for name in again.figures if name not in before] == ["knee_alone"]
        assert list(again.figures).index("knee_alone") == before.index("ground_reaction")  # by its place
        page = render_trial_report(again, again.figures_svg())
        assert '<section id="knee_alone"' in page
        assert "Mean curves of the knees." in page
        assert again.figures_png()["knee_alone"][:4] == b"\x89PNG"
    finally:
        sys.modules.pop("biodyn.output.figures.trial.knee_alone", None)


def test_figures_stand_in_their_order_and_sections(view: TrialView) -> None:
    expected = ("joint_angles", "joint_torques", "joint_powers", "upper_body", "ground_reaction", "centre_of_pressure",
                "marker_errors", "residual", "torque_parts", "whole_trial", "sensitivity")  # fmt: skip
    assert list(view.figures) == [name for name in expected if name in view.figures]
    sections = group_by_section(view.figures)
    assert "" not in sections  # every figure of the house has a section that was written for it
    assert sections["ground"] == ["ground_reaction", "centre_of_pressure"]


def test_a_figure_without_its_table_is_not_offered(view: TrialView) -> None:
    tables = {name: table for name, table in view.tables.items() if name != "joint_torques"}
    assert set(view.figures) - set(trial_figures(TrialView(view.record, tables, view.arrays))) == {
        "residual",
        "whole_trial",
    }


def test_every_figure_says_what_it_is(view: TrialView) -> None:
    for name, figure in view.figures.items():
        assert figure.title, name
        assert figure.caption.endswith("."), name
