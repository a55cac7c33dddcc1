"""What a result shows of itself in Python and in a notebook."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.errors import BiodynError, ResultError
from biodyn.trial.result import TrialResult


def test_a_result_is_a_line(walk_result: TrialResult) -> None:
    for value in (walk_result, walk_result.analysis, walk_result.analysis.recording):
        assert len(repr(value)) < 200
        assert "walk.c3d" in repr(value)
    assert "pass" in repr(walk_result)


def test_a_notebook_shows_verdict_and_curves(walk_result: TrialResult) -> None:
    page = walk_result._repr_html_()
    assert "walk.c3d: pass" in page
    for title in ("Hip flexion", "Knee extension moment", "Ankle plantarflexion moment"):
        assert title in page
    assert len(page) < 200_000


def test_a_variable_is_drawn_by_its_name(walk_result: TrialResult) -> None:
    drawing = walk_result.plot("knee_angle", "hip_flexion_moment", norms=None)
    assert len(drawing.axes) >= 2
    assert drawing._repr_png_().startswith(b"\x89PNG")
    drawn = [np.asarray(line.get_ydata()) for line in drawing.axes[0].get_lines()]
    curves = walk_result.gait_cycles.query("variable == 'knee_angle'")
    for _, side in curves.groupby("side"):
        mean = side.groupby("percent")["value"].mean().to_numpy()
        assert any(len(y) == len(mean) and np.allclose(y, mean, atol=1e-9) for y in drawn)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("knee_angel",), "Did you mean 'knee_angle'"),
        (("joint_torques", "knee_angle"), "'joint_torques' beside others"),
        ((), "There is no figure ''"),
    ],
)
def test_a_name_that_there_is_not(walk_result: TrialResult, names: tuple[str, ...], said: str) -> None:
    with pytest.raises(ResultError) as caught:
        walk_result.plot(*names)
    assert said in f"{caught.value} {caught.value.hint}"
    with pytest.raises(BiodynError, match="norms"):
        walk_result.plot("knee_angle", norms="nobody_2099")
