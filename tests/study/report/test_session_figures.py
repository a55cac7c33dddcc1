"""What a session's page shows of its error: SEM and MDC95 at the scores, the SD of the cycles, whose gait is the reference."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from biodyn.output.figures.description import Area, Bars, Line
from biodyn.study.group.statistics.gait_scores import BOTH_SIDES, score_variables
from biodyn.study.group.statistics.session_means import COLUMNS, SCORE
from biodyn.study.group.subject_cycles import representative_walks
from biodyn.study.report.figures import SideCycles, profile_figure, subject_keys, subject_panel
from biodyn.study.report.report_inputs import DisplayNames

NAMES = [f"gvs_{name}" for name, _, _ in score_variables()]


def _scores(value: float = 5.0) -> pd.DataFrame:
    rows = []
    for side in ("r", "l", BOTH_SIDES):
        own = [np.nan if side == BOTH_SIDES else value] * len(NAMES)
        rows.append(["A", "", "", "", side, *own, value, "children 4-17 y", "other"])
    keys = ["subject", "session", "condition", "group", "side"]
    return pd.DataFrame(rows, columns=[*keys, *NAMES, "gps", "reference", "reference_age"])


def _means(sem: float, mdc: float) -> pd.DataFrame:
    rows = [
        ["", "", side, SCORE, name, name, "deg", 3, 5.0, 1.0, sem, mdc]
        for side in ("r", "l")
        for name in [*NAMES, "gps"]
    ]
    return pd.DataFrame(
        [*rows, ["", "", BOTH_SIDES, SCORE, "gps", "gps", "deg", 3, 5.0, 1.0, sem, mdc]], columns=COLUMNS
    )


def test_scores_of_a_session_stand_with_their_error() -> None:
    figure = profile_figure(_scores(), [("", "")], DisplayNames({}), _means(0.4, 1.5))
    (panel,) = figure.panels
    assert panel is not None
    bars = [layer for layer in panel.layers if isinstance(layer, Bars)]
    whiskers, boxes = [one for one in bars if not one.outline], [one for one in bars if one.outline]
    assert len(whiskers) == len(boxes) == 3
    for one, box in zip(whiskers, boxes, strict=True):
        known = np.isfinite(one.top)
        assert one.error is not None
        np.testing.assert_allclose(one.error[known], 0.4)
        np.testing.assert_allclose((box.top - box.base)[known], 1.5)
    assert panel.y.label == "degrees from children 4-17 y"
    assert any("MDC95" in key.words for key in figure.keys)


def test_a_detectable_change_beyond_all_scores_does_not_flatten_them() -> None:
    figure = profile_figure(
        _scores(), [("", "")], DisplayNames({}), _means(5.0, 90.0)
    )  # two walks: t of one degree of freedom
    (panel,) = figure.panels
    assert panel is not None
    assert panel.y.limits is not None
    assert panel.y.limits[1] < 4 * 5.0


def test_one_walk_tells_no_error() -> None:
    figure = profile_figure(_scores(), [("", "")], DisplayNames({}), _means(np.nan, np.nan))
    (panel,) = figure.panels
    assert panel is not None
    assert not any(isinstance(layer, Bars) and layer.outline for layer in panel.layers)
    assert not any("MDC95" in key.words for key in figure.keys)


def test_the_mean_of_a_session_has_the_sd_of_its_cycles() -> None:
    values = np.stack([np.full((1, 101), 10.0), np.full((1, 101), 14.0)])
    flags = np.zeros(2, dtype=bool)
    panel, words = subject_panel("knee_angle", {"r": SideCycles(values, flags, flags, 60.0)}, 0, "deg", ())
    (band,) = [layer for layer in panel.layers if isinstance(layer, Area)]
    np.testing.assert_allclose(band.high - band.low, 2 * np.std([10.0, 14.0], ddof=1))
    assert "SD 2.8 on average" in words
    alone, words = subject_panel("knee_angle", {"r": SideCycles(values[:1], flags[:1], flags[:1], 60.0)}, 0, "deg", ())
    assert not any(isinstance(layer, Area) for layer in alone.layers)
    assert "SD" not in words


def test_a_single_cycle_is_drawn_once() -> None:
    """As its own representative it would hide the mean in the colour of its side."""
    flag, values = np.ones(1, dtype=bool), np.full((1, 1, 101), 10.0)
    own = {"r": SideCycles(values, ~flag, flag, 60.0)}
    panel, _ = subject_panel("knee_angle", own, 0, "deg", ())
    assert not any(isinstance(layer, Line) and layer.color.endswith("_dark") for layer in panel.layers)
    assert not any("representative" in key.words or "outlier" in key.words for key in subject_keys(own, (), []))


@pytest.mark.parametrize("odd", ["a", "b"])
def test_the_representative_walk_is_the_nearest_on_both_sides(odd: str) -> None:
    far = {"a": 0.1, "b": 0.2, "c": 0.3, odd: 0.9}
    rows = [("A", "", "", trial, side, far[trial]) for trial in "abc" for side in "rl"]
    rows.append(("A", "", "", "d", "r", 0.01))  # the nearest of all, but of one side alone
    table = pd.DataFrame(rows, columns=["subject", "session", "condition", "trial", "side", "distance"])
    assert representative_walks(table) == {("A", "", ""): "b" if odd == "a" else "a"}
    assert representative_walks(table[table["trial"] == "a"]) == {}
    assert representative_walks(table.iloc[:0]) == {}


def test_a_warned_walk_is_never_representative() -> None:
    far = {"a": 0.1, "b": 0.2, "c": 0.3}
    rows = [("A", "", "", trial, side, far[trial]) for trial in "abc" for side in "rl"]
    table = pd.DataFrame(rows, columns=["subject", "session", "condition", "trial", "side", "distance"])
    assert representative_walks(table, ["a"]) == {("A", "", ""): "b"}
    assert representative_walks(table, ["a", "b", "c"]) == {}
