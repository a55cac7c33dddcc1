"""A made study from rows to results: differences that were put in come out, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from support.made_studies import PERCENT, MadeStudy, made_study

from biodyn.conventions import FloatArray
from biodyn.errors import SettingsError
from biodyn.study.group.group_analysis import analyse_frames
from biodyn.study.group.group_data import GroupResults
from biodyn.study.options import AnalysisOptions

UNITS = {"knee_angle_moment": "Nm/kg", "knee_angle": "deg", "hip_flexion": "deg", "ground_force_y": "BW"}
SIZE = {"Nm/kg": 0.05, "deg": 3.0, "BW": 0.05}
ADDED = 0.25  # Nm/kg of knee extension in fast walking, about 15 % of the cycle


def noise(random: np.random.Generator) -> FloatArray:
    """A smooth curve of standard deviation 1: four harmonics."""
    phase = 2.0 * np.pi * np.outer(np.arange(5), PERCENT / 100.0)
    weights = random.standard_normal((2, 5))
    return (weights[0] @ np.cos(phase) + weights[1] @ np.sin(phase)) / np.sqrt(5.0)


def shapes() -> dict[str, FloatArray]:
    turn = 2.0 * np.pi * PERCENT / 100.0
    stance = np.where(PERCENT <= 60.0, np.sin(np.pi * PERCENT / 60.0), 0.0)
    return {
        "knee_angle_moment": 0.2 * np.sin(2 * turn) - 0.4 * np.exp(-(((PERCENT - 15.0) / 6.0) ** 2)),
        "knee_angle": 30.0 - 25.0 * np.cos(turn + 0.5),
        "hip_flexion": 10.0 + 20.0 * np.cos(turn),
        "ground_force_y": stance,
    }


def walker(number: int, condition: str, side: str, random: np.random.Generator) -> dict[str, FloatArray]:
    """The shapes, each person's own deviation, the same for every cycle, cycle noise, and the knee's extra moment when fast."""
    own = np.random.default_rng(1000 + number)
    curves = {}
    for name, shape in shapes().items():
        size = SIZE[UNITS[name]]
        curves[name] = shape + size * noise(own) + 0.3 * size * noise(random)
        if condition == "fast" and name == "knee_angle_moment":
            curves[name] = curves[name] - ADDED * np.exp(-(((PERCENT - 15.0) / 6.0) ** 2))
    return curves


@pytest.fixture(scope="module")
def two_conditions() -> MadeStudy:
    return made_study(walker, UNITS, subjects=10, conditions=("normal", "fast"))


@pytest.fixture(scope="module")
def results(two_conditions: MadeStudy, tmp_path_factory: pytest.TempPathFactory) -> GroupResults:
    return analysed(two_conditions, tmp_path_factory.mktemp("study"))


def analysed(study: MadeStudy, out: Path, **options: object) -> GroupResults:
    return analyse_frames(study.frames(), study.strides, out, AnalysisOptions.model_validate(options))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_curve_tests_find_the_added_moment_where_it_was_added(results: GroupResults) -> None:
    spm = results.tables["spm"]
    found = spm[spm["p_adjusted"] < 0.05]
    assert set(found["variable"]) == {"knee_angle_moment"}
    assert set(spm["variable"]) == set(UNITS)
    clusters = found.sort_values("p_cluster")
    main = clusters.iloc[0]
    assert main["start_percent"] < 15.0 < main["end_percent"]
    assert main["start_percent"] > 3.0
    assert main["end_percent"] < 30.0
    assert main["comparison"] == "fast - normal"
    curve = results.tables["spm_curves"].query("variable == 'knee_angle_moment' and percent == 15")
    assert curve["effect"].item() == pytest.approx(-ADDED, abs=0.05)
    assert curve["lower"].item() < -ADDED < curve["upper"].item()


def test_number_tests_and_mixed_models_give_the_size_of_the_difference(results: GroupResults) -> None:
    comparisons = results.tables["comparisons"].set_index("parameter")
    peak = comparisons.loc["knee_extension_moment_max"]
    assert peak["low"] < ADDED < peak["high"]
    assert peak["p_adjusted"] < 0.001
    assert peak["subjects"] == 10
    assert peak["second_mean"] - peak["first_mean"] == pytest.approx(peak["difference"])
    others = comparisons.drop(index="knee_extension_moment_max")
    assert (others["p_adjusted"] > 0.05).all()  # nothing else was changed
    mixed = results.tables["mixed_models"].query("parameter == 'knee_extension_moment_max'").set_index("term")
    assert mixed.loc["condition[fast]", "low"] < ADDED < mixed.loc["condition[fast]", "high"]
    assert mixed.loc["condition", "p_adjusted"] < 0.001
    assert mixed["observations"].iloc[0] == 10 * 2 * 3  # trials, not cycles


def test_every_cycle_has_its_parameters_and_every_subject_its_row(results: GroupResults) -> None:
    parameters = pd.read_csv(results.folder / "parameters.csv")
    cycles = 10 * 2 * 3 * 2 * 2
    peaks = parameters.query("parameter == 'knee_flexion_swing'")
    assert len(peaks) == cycles
    assert set(peaks["unit"]) == {"deg"}
    wide = pd.read_csv(results.folder / "parameters_wide.csv").set_index("subject")
    assert len(wide) == 10
    own = peaks.query("subject == 'S03' and condition == 'fast' and side == 'l'")["value"]
    # both are rounded to ten decimals
    assert wide.loc["S03", "knee_flexion_swing_fast_l"] == pytest.approx(own.mean(), abs=1e-9)
    assert not any(name.startswith("power_h1") for name in wide)  # no hip power in this study
    summary = results.parameters.set_index("name")
    assert summary.loc["knee_flexion_swing", "cycles"] == cycles
    assert summary.loc["power_h1", "cycles"] == 0
    assert "power_h1" in results.notes["parameters"][0]


def test_files_hold_the_promised_columns(results: GroupResults) -> None:
    expected = {
        "group_curves.csv": "group,condition,side,variable,unit,percent,mean,sd,subjects",
        "parameters.csv": "subject,session,condition,group,trial,cycle,side,parameter,value,unit",
    }
    for name, header in expected.items():
        assert (results.folder / name).read_text().splitlines()[0] == header
    curves = pq.read_table(results.folder / "subject_curves.parquet").to_pandas()
    assert len(curves) == 10 * 2 * 2 * len(UNITS) * 101
    record = json.loads((results.folder / "group.json").read_text())
    assert set(record) == {"options", "parameters", "notes", "diagnostics", "files"}
    assert set(record["files"]) == {path.name for path in results.folder.iterdir()}
    for name in results.tables:
        assert (results.folder / f"{name}.csv").is_file()


@pytest.mark.slow
def test_the_same_data_give_the_same_bytes(two_conditions: MadeStudy, results: GroupResults, tmp_path: Path) -> None:
    (tmp_path / "group").mkdir()
    (tmp_path / "group" / "symmetry.csv").write_text("of an earlier run")
    (tmp_path / "group" / "spm.csv.bak").write_text("mine")
    again = analysed(two_conditions, tmp_path)
    assert contents(again.folder) == {**contents(results.folder), "spm.csv.bak": b"mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["group"]  # nothing temporary stays


def test_an_error_leaves_the_older_results_alone(two_conditions: MadeStudy, tmp_path: Path) -> None:
    (tmp_path / "group").mkdir()
    (tmp_path / "group" / "old.csv").write_text("of an earlier run")
    with pytest.raises(SettingsError):
        analysed(two_conditions, tmp_path, curves=["knee_angel"])
    assert contents(tmp_path / "group") == {"old.csv": b"of an earlier run"}
    assert [path.name for path in tmp_path.iterdir()] == ["group"]


@pytest.mark.parametrize(
    ("options", "near"),
    [
        ({"curves": ["knee_angel"]}, "knee_angle"),
        ({"compared": ["knee_flexion_swim"]}, "knee_flexion_swing"),
        ({"conditions": ["normal", "quick", "fats"]}, "has no condition 'quick'"),
        ({"reference_group": "control"}, "has no group 'control'"),
        ({"parameters": [{"name": "x", "variable": "hip_flexon", "operation": "max"}]}, "hip_flexion"),
        ({"parameters": [{"name": "x", "variable": "speed_ms", "operation": "stride"}]}, "speed_m_s"),
        ({"predictor": "sped"}, "speed"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(
    two_conditions: MadeStudy, tmp_path: Path, options: dict[str, object], near: str
) -> None:
    with pytest.raises(SettingsError, match=near):
        analysed(two_conditions, tmp_path, **options)


def test_own_parameters_are_computed_and_compared(two_conditions: MadeStudy, tmp_path: Path) -> None:
    own = {"name": "knee_moment_impulse", "variable": "knee_angle_moment", "operation": "impulse", "window": "stance"}
    found = analysed(
        two_conditions, tmp_path, parameters=[own], curves=["knee_angle_moment"], compared=["knee_moment_impulse"]
    )
    row = found.tables["comparisons"].set_index("parameter").loc["knee_moment_impulse"]
    # area of the added bump over the stance of 60 % of a stride of 1.1 s
    inside = PERCENT <= 60.0
    bump = ADDED * np.exp(-(((PERCENT - 15.0) / 6.0) ** 2))
    assert row["difference"] == pytest.approx(-np.trapezoid(bump[inside], PERCENT[inside]) / 100.0 * 1.1, abs=0.005)
    assert row["unit"] == "Nm/kg s"


def test_two_groups_are_compared_as_different_people(tmp_path: Path) -> None:
    def slower(number: int, condition: str, side: str, random: np.random.Generator) -> dict[str, FloatArray]:
        return walker(number, "fast" if number % 2 else "normal", side, random)

    study = made_study(slower, UNITS, subjects=14, group_of=lambda number: "b" if number % 2 else "a")
    found = analysed(study, tmp_path, reference_group="a", compared=["knee_extension_moment_max"])
    comparisons = found.tables["comparisons"].set_index("parameter")
    assert set(comparisons["family"]) == {"independent, group"}
    peak = comparisons.loc["knee_extension_moment_max"]
    assert (peak["comparison"], peak["subjects"]) == ("b - a", 14)
    # people differ by 0.05 Nm/kg: three standard errors of two means of seven
    assert peak["difference"] == pytest.approx(ADDED, abs=3 * 0.05 * np.sqrt(2 / 7))
    spm = found.tables["spm"]
    assert set(spm[spm["p_adjusted"] < 0.05]["variable"]) == {"knee_angle_moment"}
    assert "group a of this study (7 subjects" in found.notes["gait_scores"][0]
    assert "Values of each trial ~ group" in found.notes["mixed_models"][0]


def test_three_conditions_start_with_an_analysis_of_variance(tmp_path: Path) -> None:
    study = made_study(walker, UNITS, subjects=6, conditions=("slow", "normal", "fast"), trials=1)
    found = analysed(study, tmp_path, curves=["knee_angle_moment"], compared=["knee_extension_moment_max"])
    spm = found.tables["spm"]
    assert list(dict.fromkeys(spm["family"])) == ["repeated anova, condition", "paired, condition"]
    anova = spm[spm["family"].str.startswith("repeated")].drop_duplicates("variable").set_index("variable")
    assert anova.loc["knee_angle_moment", "p_adjusted"] < 0.05
    by_pair = (
        spm.query("family == 'paired, condition' and variable == 'knee_angle_moment'").groupby("comparison")["p"].min()
    )
    assert by_pair["normal - slow"] > 0.05
    assert by_pair["fast - slow"] < 0.01
    assert "With one value per subject and condition" in found.notes["mixed_models"][0]
    scalar = found.tables["comparisons"].query("family == 'repeated anova, condition'").set_index("parameter")
    assert scalar.loc["knee_extension_moment_max", "p_adjusted"] < 0.01


def test_one_condition_says_why_nothing_is_compared(tmp_path: Path) -> None:
    found = analysed(made_study(walker, UNITS, subjects=4), tmp_path)
    assert len(found.tables["comparisons"]) == len(found.tables["spm"]) == len(found.tables["mixed_models"]) == 0
    assert "all trials have the same condition and group" in found.notes["comparisons"][0]
    assert (found.folder / "spm.csv").read_text().startswith("family,factor,within")


def test_a_study_without_a_single_cycle_is_empty_but_whole(tmp_path: Path) -> None:
    found = analysed(MadeStudy(()), tmp_path)
    assert all(len(table) == 0 for name, table in found.tables.items() if name != "normative_bands")
    assert (found.folder / "parameters.csv").read_text().startswith("subject,session")
    assert pq.read_table(found.folder / "subject_curves.parquet").num_rows == 0


def test_a_predictor_is_regressed_on(tmp_path: Path) -> None:
    # a person's speed is 1.3 m/s + 0.02 times its number; let the knee's moment follow the number
    def led(number: int, condition: str, side: str, random: np.random.Generator) -> dict[str, FloatArray]:
        curves = walker(number, condition, side, random)
        curves["knee_angle_moment"] = curves["knee_angle_moment"] + 0.02 * number * np.exp(-(((PERCENT - 50) / 8) ** 2))
        return curves

    asked = {"tests": ["regression"], "predictor": "speed", "curves": ["knee_angle_moment"]}
    found = analysed(made_study(led, UNITS, subjects=12), tmp_path, **asked)
    curve = found.tables["spm_curves"].query("variable == 'knee_angle_moment' and percent == 50")
    # 0.02 Nm/kg per 0.02 m/s
    assert curve["lower"].item() < 1.0 < curve["upper"].item()
    spm = found.tables["spm"].query("variable == 'knee_angle_moment'")
    assert spm["family"].iloc[0] == "regression, predictor"
    assert "Only curves (spm) and no parameters are regressed on speed." in found.notes["comparisons"]
    assert spm["p_adjusted"].iloc[0] < 0.05


def test_a_subject_without_moments_is_left_out_of_their_tests_only(tmp_path: Path) -> None:
    def partly(number: int, condition: str, side: str, random: np.random.Generator) -> dict[str, FloatArray]:
        curves = walker(number, condition, side, random)
        if number == 0:
            curves["knee_angle_moment"] = np.full(101, np.nan)
        else:  # no plate under the swing of the others
            curves["knee_angle_moment"] = np.where(PERCENT <= 62.0, curves["knee_angle_moment"], np.nan)
        return curves

    found = analysed(made_study(partly, UNITS, subjects=8, conditions=("normal", "fast"), trials=1), tmp_path)
    tests = found.tables["spm"].drop_duplicates("variable").set_index("variable")["subjects"]
    assert tests.to_dict() == {"hip_flexion": 8, "knee_angle": 8, "knee_angle_moment": 7, "ground_force_y": 8}
    curve = found.tables["spm_curves"].query("variable == 'knee_angle_moment'").set_index("percent")
    assert curve["statistic"].notna().sum() == 63
    assert any("1 of 8 subjects are excluded" in note for note in found.notes["spm"])


def test_outlying_cycles_are_kept_and_flagged_or_left_out(tmp_path: Path) -> None:
    def stumbling(number: int, condition: str, side: str, random: np.random.Generator) -> dict[str, FloatArray]:
        curves = walker(number, condition, side, random)
        stumbling.calls += 1  # type: ignore[attr-defined]
        if stumbling.calls == 5:  # type: ignore[attr-defined]
            curves["knee_angle"] = curves["knee_angle"] + 60.0
        return curves

    def at_50(kept: str) -> tuple[float, int]:
        stumbling.calls = 0  # type: ignore[attr-defined]
        study = made_study(stumbling, UNITS, subjects=1, trials=4)
        found = analysed(study, tmp_path / kept, outliers=kept)
        curve = found.tables["group_curves"].query("variable == 'knee_angle' and side == 'r' and percent == 50")
        flagged = found.tables["cycles"].query("side == 'r'")["outlier"]
        assert flagged.to_numpy().nonzero()[0].tolist() == [2]
        return float(curve["mean"].item()), len(flagged)

    (kept, count), (without, _) = at_50("keep"), at_50("leave_out")
    assert kept - without == pytest.approx(60.0 / count, abs=3.0)  # 60 degrees in one of eight; noise of a degree
