"""What a result shows of itself in Python and in a notebook."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import biodyn
from biodyn.errors import BiodynError, ResultError
from biodyn.output.report.plotting import PlottableResult
from biodyn.output.tables import TABLES
from biodyn.output.tables.table_access import Signs, convert_signs, set_signs
from biodyn.trial.result import TrialResult
from biodyn.variables import Norms


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
        (("joint_torques", "knee_angle"), "'joint_torques' is a figure of the report, which cannot be combined"),
    ],
)
def test_a_name_that_there_is_not(walk_result: TrialResult, names: tuple[str, ...], said: str) -> None:
    with pytest.raises(ResultError) as caught:
        walk_result.plot(*names)
    assert said in f"{caught.value} {caught.value.hint}"
    with pytest.raises(BiodynError, match="norms"):
        walk_result.plot("knee_angle", norms="nobody_2099")


def test_a_variable_is_drawn_into_axes_of_a_figure_of_ones_own(walk_result: TrialResult) -> None:
    figure = Figure(figsize=(3, 2))
    ax = figure.subplots()
    assert walk_result.plot("pelvis_list", ax=ax) is ax
    assert figure.axes == [ax]
    assert ax.get_xlabel() == "gait cycle (%)"
    assert "up +" in ax.get_ylabel()
    _, words = ax.get_legend_handles_labels()
    assert {"right", "left"} <= set(words)
    low, high = ax.get_ylim()
    walk_result.plot("knee_angle", ax=ax)
    assert ax.get_ylim()[0] <= low
    assert ax.get_ylim()[1] >= max(high, 40.0)
    assert "up +" in ax.get_ylabel()  # what was said stays
    for names in (("joint_torques",), ("knee_angle", "hip_flexion")):
        with pytest.raises(ResultError):
            walk_result.plot(*names, ax=ax)


def test_signs_are_the_same_in_tables_and_figures(walk_result: TrialResult) -> None:
    for name in ("hip_flexion_moment", "pelvis_list", "knee_angle"):
        for signs in ("clinical", "coordinates"):
            rows = walk_result.cycles(name, signs=signs)
            ax = walk_result.plot(name, signs=signs, norms=None, ax=Figure().subplots())
            lines = [np.asarray(line.get_ydata(), float) for line in ax.get_children() if isinstance(line, Line2D)]
            drawn = [y[np.isfinite(y)] for y in lines]  # a mean has gaps where the number of its cycles changes
            for _, own in rows.groupby("side", observed=True):
                mean = own.groupby("percent")["value"].mean().dropna().to_numpy()
                same = [len(y) == len(mean) and np.allclose(y, mean, atol=1e-9) for y in drawn]
                assert any(same), (name, signs)
            assert f"{rows.attrs['positive'][name].split()[0]}" in ax.get_ylabel()
            assert rows.attrs["signs"] == signs
    # against the table that is kept: internal extension is the coordinate's negative; obliquity is turned on one side only
    kept, shown = walk_result.gait_cycles, walk_result.cycles(signs="clinical")
    pd.testing.assert_frame_equal(
        walk_result.cycles("hip_flexion_moment"), kept[kept["variable"] == "hip_flexion_moment"].reset_index(drop=True)
    )
    for name, factors in {"hip_flexion_moment": (-1, -1), "pelvis_list": (-1, 1), "knee_angle": (1, 1)}.items():
        for side, factor in zip("rl", factors, strict=True):
            of = (kept["variable"] == name) & (kept["side"] == side)
            np.testing.assert_array_equal(shown["value"][of], factor * kept["value"][of])


def test_a_table_says_its_units_and_signs(walk_result: TrialResult) -> None:
    cycles = walk_result.cycles("knee_angle", "ankle_angle_moment", side="left", signs="clinical")
    assert set(cycles["variable"]) == {"knee_angle", "ankle_angle_moment"}
    assert set(cycles["side"]) == {"l"}
    assert cycles.attrs["units"] == {"percent": "%", "knee_angle": "deg", "ankle_angle_moment": "Nm/kg"}
    assert cycles.attrs["positive"] == {"knee_angle": "flexion", "ankle_angle_moment": "plantarflexion"}
    assert walk_result.gait_cycles.attrs["units"]["hip_power"] == "W/kg"  # those of the whole table are as they were
    torques = walk_result.joint_torques
    assert torques.attrs["units"]["knee_angle_r_Nm"] == "Nm"
    assert torques.attrs["units"]["time_s"] == "s"
    assert torques.attrs["signs"] == "coordinates"
    assert torques.attrs["positive"]["knee_angle_r_Nm"] == "flexion"
    shown = walk_result.table("joint_torques", signs="clinical")
    assert shown.attrs["positive"]["knee_angle_r_Nm"] == "extension"
    assert shown.attrs["signs"] == "clinical"
    np.testing.assert_array_equal(shown["knee_angle_r_Nm"], -torques["knee_angle_r_Nm"])
    np.testing.assert_array_equal(shown["residual_fy_N"], torques["residual_fy_N"])
    assert torques.attrs["signs"] == "coordinates"  # the copy's words are its own
    assert "signs" not in walk_result.events.attrs
    for wrong in (
        lambda: walk_result.table("events", signs="clinical"),
        lambda: walk_result.table("joint_torques", signs="mathematical"),
        lambda: walk_result.plot("knee_angle", signs="mathematical"),
        lambda: walk_result.cycles("knee_angel"),
        lambda: walk_result.cycles("knee_angle", side="middle"),
    ):
        with pytest.raises(ResultError) as caught:
            wrong()
        assert caught.value.hint
        assert str(caught.value).count(caught.value.hint) == 1


def test_tab_completion_offers_what_there_is(walk_result: TrialResult) -> None:
    offered = dir(walk_result)
    assert {"joint_torques", "gait_cycles", "plot", "cycles", "variables"} <= set(offered)
    assert set(offered) & set(TABLES) == set(walk_result.tables)
    assert "knee_angle" in dir(walk_result.variables)
    assert walk_result.variables.knee_angle == "knee_angle"
    with pytest.raises(AttributeError, match="Did you mean 'knee_angle'"):
        _ = walk_result.variables.knee_angel
    assert walk_result.tables._ipython_key_completions_() == list(walk_result.tables)


def test_several_results_in_one_figure(walk_result: TrialResult) -> None:
    drawing = biodyn.overlay([walk_result, walk_result], "knee_angle", labels=["before", "after"])
    assert [ax.get_title("left") for ax in drawing.axes] == ["Knee flexion, right", "Knee flexion, left"]
    assert {text.get_text() for text in drawing.legends[0].get_texts()} >= {"before", "after"}
    right = walk_result.cycles("knee_angle", side="r").pivot(index="percent", columns="cycle", values="value")
    ax = biodyn.overlay([walk_result], "knee_angle", side="r", norms=None, ax=Figure().subplots())
    assert ax.get_legend_handles_labels()[1][0] == "walk"
    line = next(artist for artist in ax.get_children() if isinstance(artist, Line2D) and artist.get_label() == "walk")
    np.testing.assert_allclose(line.get_ydata(), right.mean(axis=1), atol=1e-9)
    twice = biodyn.overlay([walk_result, walk_result], "knee_angle", side="l", ax=Figure().subplots())
    assert {"walk", "walk (2)"} <= set(twice.get_legend_handles_labels()[1])
    hostile = ("$x^{$", "_before", "<b>")
    named = biodyn.overlay([walk_result] * 3, "knee_angle", labels=hostile)
    assert named._repr_png_().startswith(b"\x89PNG")
    own = biodyn.overlay([walk_result] * 3, "knee_angle", side="r", labels=hostile, ax=Figure().subplots())
    said = [words.replace("\\$", "$").strip() for words in own.get_legend_handles_labels()[1]]
    assert [words for words in said if words in hostile] == list(hostile)
    assert len(twice.get_legend_handles_labels()[1]) > 3, "norms that both have stand behind"
    for results, names, options in (
        ([], ("knee_angle",), {}),
        (["reports/walk"], ("knee_angle",), {}),
        ([walk_result] * 7, ("knee_angle",), {}),
        ([walk_result], (), {}),
        ([walk_result], ("knee_angel",), {}),
        ([walk_result], ("knee_angle",), {"labels": ["a", "b"]}),
        ([walk_result], ("knee_angle",), {"side": "both"}),
        ([walk_result], ("knee_angle",), {"ax": Figure().subplots()}),
    ):
        with pytest.raises(ResultError):
            biodyn.overlay(results, *names, **options)


def test_norms_of_another_speed_do_not_stand_behind_both(walk_result: TrialResult) -> None:
    (first, *_) = walk_result.background_norms("auto", "clinical")

    class Elsewhere(PlottableResult):
        """The same walk, whose norms are 2 degrees higher."""

        view = walk_result.view

        def background_norms(self, name: str | None, signs: Signs) -> tuple[Norms, ...]:
            return tuple(
                replace(own, curves={key: replace(curve, mean=curve.mean + 2.0) for key, curve in own.curves.items()})
                for own in walk_result.background_norms(name, signs)
            )

    both = biodyn.overlay([walk_result, Elsewhere()], "knee_angle", side="l", ax=Figure().subplots())
    assert not any(first.short in words for words in both.get_legend_handles_labels()[1])


def test_a_walk_without_cycles_says_so(walk_result: TrialResult) -> None:
    empty = walk_result.gait_cycles.iloc[:0]
    assert len(convert_signs("gait_cycles", empty, "clinical", {})) == 0
    assert convert_signs("gait_cycles", empty, "clinical", {}).attrs["positive"] == {}


def test_tables_by_name_say_what_they_are(walk_result: TrialResult) -> None:
    fresh = TrialResult(walk_result.analysis)
    assert fresh.tables["joint_angles"].attrs["units"]["knee_angle_r_deg"] == "deg"
    assert fresh.tables["joint_angles"] is fresh.joint_angles
    # what is written and drawn does not pay for it
    assert "units" not in fresh.view.tables["joint_powers"].attrs
    with pytest.raises(KeyError, match="Did you mean 'joint_angles'"):
        fresh.tables["joint_angle"]


def test_norms_that_are_no_name_are_refused_in_a_sentence(walk_result: TrialResult) -> None:
    with pytest.raises(ResultError, match="norms must be a name, not False"):
        walk_result.plot("knee_angle", norms=False)  # type: ignore[call-overload]


def test_the_summary_lists_windowed_peaks_with_their_bands(walk_result: TrialResult) -> None:
    lines = walk_result.status_lines()
    assert lines[0][0].startswith("Verdict")
    (line,) = [text for text, _ in lines if text.startswith("Ankle plantarflexion moment")]
    table = walk_result.view.parameters.query("parameter == 'ankle_plantarflexion_moment_max' and side == 'r'")
    at = table["at_percent"].mean()
    band = walk_result.view.bands["ankle_angle_moment"]["r"][round(at)]
    assert f"right {table['value'].mean():.2f} ± {band:.2f} at {at:.0f} %" in line
    assert "*" not in line
    assert lines[0][1] == walk_result.verdict.status


def test_contributions_add_up_in_either_signs(walk_result: TrialResult) -> None:
    for signs in ("coordinates", "clinical"):
        parts = walk_result.table("joint_torque_parts", signs=signs)
        own = parts[parts["coordinate"] == "hip_flexion_l"].groupby("time_s")["value"].sum(min_count=4)
        torque = walk_result.table("joint_torques", signs=signs)["hip_flexion_l_Nm"].to_numpy()
        np.testing.assert_allclose(own.to_numpy(), torque, atol=1e-6)
        assert parts.attrs["positive"]["hip_flexion_l"] == ("flexion" if signs == "coordinates" else "extension")


def test_coordinates_of_a_model_that_count_the_other_way_are_turned() -> None:
    """knee_angle of gait2354 is negative in flexion: said so in its own signs, and turned in the clinical ones."""
    table = pd.DataFrame({"time_s": [0.0], "knee_angle_r_deg": [-60.0], "mtp_angle_r_deg": [3.0]})
    own = {"knee_angle_r": {"variable": "knee_angle", "side": "r", "sign": -1.0}}
    set_signs("joint_angles", table, own)
    assert table.attrs["positive"] == {"knee_angle_r_deg": "extension"}
    shown = convert_signs("joint_angles", table, "clinical", own)
    assert shown["knee_angle_r_deg"].tolist() == [60.0]
    assert shown["mtp_angle_r_deg"].tolist() == [3.0]  # what it is here is not known
    assert shown.attrs["positive"] == {"knee_angle_r_deg": "flexion"}
