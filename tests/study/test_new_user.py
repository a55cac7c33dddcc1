"""What a new user writes into a notebook, and whether results of all kinds answer alike: fresh, loaded, session, study."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from support.sessions import Laboratory

import biodyn
from biodyn.errors import BiodynError, ResultError, StudyError
from biodyn.output.report.plotting import PlottableResult
from biodyn.statistics import curve_difference
from biodyn.trial.result import TrialResult

#: What results of all kinds have. Only the result of a trial has checks against frames, figures of the report and exports.
ATTRIBUTES = (
    *("name", "folder", "record", "version", "settings", "verdict", "failed", "checks", "diagnostics", "variables"),
    *("parameters", "tables", "table_names", "gait_cycles", "view", "summary", "cycles", "plot", "table", "save"),
)
KINDS = ("fresh", "loaded", "session", "study")


@pytest.fixture(scope="module")
def results(
    laboratory: Laboratory, walk_result: TrialResult, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, PlottableResult]:
    """One walk as a fresh and a loaded result and as a session, and a study of two people who walk alike."""
    place = tmp_path_factory.mktemp("new_user")
    walk, static = laboratory.trials["walk"], laboratory.trials["static"]
    for name in ("S01", "S02"):
        body = replace(walk.body, person=replace(walk.body.person, name=name))
        laboratory.copy(place / "recordings" / name, walk=replace(walk, body=body), static=replace(static, body=body))
    fresh = biodyn.run_trial(laboratory.walk, laboratory.static)
    return {
        "fresh": fresh,
        "loaded": biodyn.load(fresh.save(place / "walk")),
        "session": biodyn.run_session(laboratory.folder, place / "session", workers=1),
        "study": biodyn.run_study(place / "recordings", place / "study", workers=2),
    }


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_has_one_type_on_results_of_all_kinds(results: dict[str, PlottableResult], name: str) -> None:
    values = {kind: getattr(result, name) for kind, result in results.items()}
    kinds = {pd.DataFrame if isinstance(value, pd.DataFrame) else type(value) for value in values.values()}
    assert len(kinds) == 1 or all(isinstance(value, dict) for value in values.values()), values


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_have_the_same_names_units_and_signs(results: dict[str, PlottableResult], kind: str) -> None:
    fresh, result = results["fresh"], results[kind]
    assert repr(result).startswith("<biodyn ")
    assert result.verdict.status == fresh.verdict.status
    assert {check.code for check in result.checks} >= {check.code for check in fresh.checks}
    assert list(result.variables) == list(fresh.variables)
    # one subject model for a session: its numbers may differ a little from those of the single walk
    parameters, expected = result.parameters, fresh.parameters
    assert list(parameters.index.names)[-2:] == ["side", "cycle"]
    assert parameters.attrs["units"] == expected.attrs["units"]
    summary, known = result.summary(), fresh.summary()
    assert list(summary.index) == list(known.index)
    assert list(summary.columns[:3]) == list(known.columns[:3])
    np.testing.assert_allclose(summary["right"], known["right"], rtol=0.1, atol=0.1)
    for signs in ("coordinates", "clinical"):
        cycles = result.cycles("hip_flexion_moment", side="right", signs=signs)
        assert {"cycle", "side", "percent", "variable", "value", "unit"} <= set(cycles.columns)
        assert cycles.attrs["signs"] == signs
        assert set(cycles["side"].astype(str)) == {"r"}
        mean = cycles.groupby("percent", observed=True)["value"].mean().to_numpy()
        alike = fresh.cycles("hip_flexion_moment", side="r", signs=signs)
        np.testing.assert_allclose(mean, alike.groupby("percent")["value"].mean(), atol=0.1)
    with pytest.raises(ResultError, match="knee_angel") as error:
        result.cycles("knee_angel")
    assert "knee_angle" in error.value.hint


@pytest.mark.parametrize("kind", KINDS)
def test_every_result_draws_its_page_and_shows_itself(results: dict[str, PlottableResult], kind: str) -> None:
    page, knee = results[kind].plot(), results[kind].plot("knee_angle", norms=None)
    assert isinstance(page, Figure)
    assert isinstance(knee, Figure)
    assert any("Knee flexion" in axes.get_title(loc="left") for axes in page.axes)
    assert "<svg" in results[kind]._repr_html_()


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_saved_alike(results: dict[str, PlottableResult], kind: str, tmp_path: Path) -> None:
    save = results[kind].save
    assert list(signature(save).parameters)[:2] == ["folder", "force"]
    folder = save(tmp_path / "copy")
    with pytest.raises(BiodynError, match=r"copy' (already holds a result|exists)"):
        save(folder)
    copy = biodyn.load(save(folder, force=True))
    assert copy.verdict.status == results[kind].verdict.status
    assert copy.gait_cycles.shape == results[kind].gait_cycles.shape
    notes = folder / "notes.txt"
    notes.write_text("mine", encoding="utf-8")
    with pytest.raises(BiodynError, match=r"did not write \('notes.txt'\)"):
        save(folder, force=True)
    assert notes.read_text(encoding="utf-8") == "mine"


def test_a_folder_without_a_study_is_never_replaced(results: dict[str, PlottableResult], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(StudyError, match="is not a study"):
        results["study"].save(tmp_path / "mine", force=True)  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_notebook_of_a_new_user(
    laboratory: Laboratory, results: dict[str, PlottableResult], tmp_path: Path
) -> None:
    # open
    recording = biodyn.read(laboratory.walk)
    assert recording.markers.to_frame().shape[0] == recording.markers.positions.shape[0]
    result = results["fresh"]
    assert result.verdict.status in ("pass", "warn")
    # plot
    result.plot("knee_angle", "knee_angle_moment").savefig(tmp_path / "knee.png")
    # table
    assert result.summary().loc["Peak knee flexion, swing", "unit"] == "deg"
    assert result.joint_torques["hip_flexion_r_Nm"].notna().any()
    # compare
    other = biodyn.run_trial(laboratory.walk, laboratory.static, settings={"signals": {"cutoff_hz": 4.0}})
    comparison = biodyn.compare(result, other)
    assert str(comparison)
    biodyn.overlay([result, other], "knee_angle").savefig(tmp_path / "both.png")
    # study
    study = results["study"]
    assert list(study.trials["status"]) == [result.verdict.status] * 2
    assert study.gait_scores["gps"].notna().all()
    with pytest.raises(StudyError, match="exists"):
        study.save(tmp_path)
    assert biodyn.load(study.save(tmp_path / "copy")).trials.equals(study.trials)
    # statistics
    peaks = study.parameters["knee_flexion_swing"].groupby(["subject", "side"]).mean().unstack()
    assert peaks.loc["S01"].to_dict() == pytest.approx(peaks.loc["S02"].to_dict(), abs=0.5)  # they walk alike
    knees = study.cycles("knee_angle").groupby(["side", "percent"], observed=True)["value"].mean().unstack("side")
    assert 0.0 < curve_difference(knees["r"], knees["l"]) < 5.0
    # export
    result.export("opensim", tmp_path / "opensim")
    assert list((tmp_path / "opensim").glob("*.osim"))
    result.parameters.to_csv(tmp_path / "parameters.csv")
