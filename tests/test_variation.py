"""`--vary`: other choices change what they must, leave alone what they must, and stand in the tables in full."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.sessions import Laboratory
from typer.testing import CliRunner, Result

import biodyn
from biodyn.analysis import TrialAnalysis
from biodyn.cli import app
from biodyn.conventions import CYCLE_POINTS
from biodyn.errors import SettingsError
from biodyn.model.from_library.hip_centre import hip_centre_method_names
from biodyn.model.from_library.user_tables import table_catalogue
from biodyn.output.store.result_reader import read_view
from biodyn.trial import sensitivity
from biodyn.trial.result import TrialResult
from biodyn.trial.sensitivity import FACTORS

BASE = ("none", "as analysed")
CUTOFFS_HZ = (4.0, 5.0, 6.0, 8.0, 10.0, 15.0)  # 6 Hz is the analysis itself
SETTINGS = {
    "uncertainty": {"compute": False},  # bands are no part of a comparison
}


@pytest.fixture(scope="module")
def plain(laboratory: Laboratory) -> TrialResult:
    """Cut-offs are among the factors: what they are held against is a filter, too."""
    settings = {"signals": {"method": "butterworth"}, "uncertainty": {"compute": False}}
    return biodyn.run_trial(laboratory.walk, laboratory.static, settings=settings)


@pytest.fixture(scope="module")
def varied(laboratory: Laboratory) -> TrialResult:
    """Every factor at once."""
    return biodyn.vary_trial(laboratory.walk, list(FACTORS), laboratory.static, settings=SETTINGS)


def levels(result: TrialResult, factor: str) -> list[str]:
    table = result.sensitivity
    return list(table.loc[table["factor"] == factor, "level"].astype(str).unique())


def curve(result: TrialResult, factor: str, level: str, variable: str, side: str = "r") -> np.ndarray:
    t = result.sensitivity
    rows = t[(t["factor"] == factor) & (t["level"] == level) & (t["variable"] == variable) & (t["side"] == side)]
    assert len(rows) == CYCLE_POINTS
    return rows["value"].to_numpy(dtype=float)


def peak_changes(result: TrialResult, factor: str, variable: str) -> pd.DataFrame:
    t = result.sensitivity_summary
    return t[(t["factor"] == factor) & (t["variable"] == variable)]


# -- levels and rows ----------------------------------------------------------------------------------------------


def library_names(word: str) -> set[str]:
    """Names that `biodyn models` lists under the heading with this word."""
    (names,) = ({name for name, _ in entries} for heading, entries in table_catalogue() if word in heading.lower())
    return names


@pytest.mark.slow
def test_every_other_level_of_every_factor_is_there_once(varied: TrialResult) -> None:
    assert set(hip_centre_method_names()) == library_names("hip")
    assert set(levels(varied, "hip_centre")) == set(hip_centre_method_names()) - {"harrington_2007"}
    assert set(levels(varied, "anthropometry")) == library_names("anthropom") - {"de_leva_dumas"}
    assert levels(varied, "cutoff") == ["4 Hz", "5 Hz", "8 Hz", "10 Hz", "15 Hz"]
    assert levels(varied, "marker_weights") == ["all equal", "contrast squared"]


@pytest.mark.slow
def test_the_table_holds_every_curve_of_every_level_in_full(varied: TrialResult) -> None:
    table = varied.sensitivity
    blocks = table.groupby(["factor", "level", "side", "variable"], observed=True, sort=False)
    assert (blocks.size() == CYCLE_POINTS).all()
    for _, block in blocks:
        np.testing.assert_array_equal(block["percent"], np.arange(CYCLE_POINTS))
    assert tuple(table.iloc[0][["factor", "level"]]) == BASE  # the analysis itself comes first
    assert set(table["unit"]) == {"Nm/kg"}
    per_level = table.groupby(["factor", "level"], observed=True).apply(
        lambda block: frozenset(zip(block["side"], block["variable"], strict=True)), include_groups=False
    )
    assert len(per_level) == 1 + len(varied.analysis.variations)
    assert per_level.nunique() == 1  # the same curves at every level
    moments = {v for v in varied.gait_cycles["variable"].astype(str).unique() if "_moment" in v}
    assert {variable for _, variable in per_level.iloc[0]} == moments


@pytest.mark.slow
def test_the_base_curves_are_those_of_a_plain_run(varied: TrialResult, plain: TrialResult) -> None:
    cycles = plain.gait_cycles
    for side in ("r", "l"):
        for variable in ("hip_flexion_moment", "knee_angle_moment", "ankle_angle_moment", "hip_jcs_moment_x"):
            own = cycles[(cycles["side"] == side) & (cycles["variable"] == variable)]
            each = own["value"].to_numpy(dtype=float).reshape(-1, CYCLE_POINTS)
            with np.errstate(all="ignore"):
                mean = pd.DataFrame(each).mean().to_numpy()
            # The very same computation twice, averaged in another order.
            np.testing.assert_allclose(curve(varied, *BASE, variable, side), mean, rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(varied.joint_torques["hip_flexion_r_Nm"], plain.joint_torques["hip_flexion_r_Nm"])


@pytest.mark.slow
def test_a_level_is_the_run_with_that_setting(varied: TrialResult, laboratory: Laboratory) -> None:
    found = next(v.analysis for v in varied.analysis.variations if v.level == "10 Hz")
    again = biodyn.run_trial(laboratory.walk, laboratory.static, settings={"signals": {"cutoff_hz": 10.0}}).analysis
    np.testing.assert_array_equal(found.dynamics.torques, again.dynamics.torques)


@pytest.mark.slow
def test_the_summary_is_what_the_curves_say(varied: TrialResult) -> None:
    summary = varied.sensitivity_summary
    assert not ((summary["factor"] == BASE[0]) & (summary["level"] == BASE[1])).any()
    rows = summary[(summary["side"] == "r") & (summary["variable"] == "knee_angle_moment")]
    assert len(rows) == len(varied.analysis.variations)
    own = curve(varied, *BASE, "knee_angle_moment")
    sign, peak = np.sign(own[np.nanargmax(np.abs(own))]), np.nanmax(np.abs(own))
    for row in rows.to_dict("records"):
        other = curve(varied, row["factor"], row["level"], "knee_angle_moment")
        # Both are read at frames where both are known: all of them here.
        change = np.nanmax(sign * other) - peak
        assert row["peak"] == pytest.approx(peak)
        assert row["peak_change"] == pytest.approx(change, abs=1e-12)
        assert row["peak_change_percent"] == pytest.approx(100.0 * change / peak, abs=1e-9)
        assert row["rms_change"] == pytest.approx(np.sqrt(np.nanmean((other - own) ** 2)), abs=1e-12)


# -- what a choice must do ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_lower_cutoff_flattens_the_moments(varied: TrialResult) -> None:
    """A low-pass filter takes from the push-off of the ankle, and leaves less and less of the fast changes."""
    changes = peak_changes(varied, "cutoff", "ankle_angle_moment").set_index(["level", "side"])["peak_change"]
    for side in ("r", "l"):
        assert changes["4 Hz", side] < 0.0 < changes["10 Hz", side]
    for variable in ("hip_flexion_moment", "knee_angle_moment"):
        curves = [curve(varied, *which, variable) for which in (("cutoff", "4 Hz"), BASE, ("cutoff", "10 Hz"))]
        rough = [np.nanmean(np.diff(values, n=2) ** 2) for values in curves]
        assert rough[0] < rough[1] < rough[2]


@pytest.mark.slow
def test_a_hip_centre_changes_the_hip_moment_by_shift_times_force(varied: TrialResult) -> None:
    """M' = M - (c' - c) x F. The fit answers to the shift too, with less than half of that."""
    base = varied.analysis
    others = [v.analysis for v in varied.analysis.variations if v.factor == "hip_centre"]
    assert len(others) > 2
    for other in others:
        for joint, side in (("hip", "r"), ("hip", "l")):
            before, after = (
                next(j for j in a.dynamics.joints if (j.joint, j.side) == (joint, side)) for a in (base, other)
            )
            index = next(i for i, b in enumerate(base.model.bodies) if b.definition.joint == f"{joint}_{side}")
            shift = other.model.bodies[index].p_PB - base.model.bodies[index].p_PB
            change = after.moment["proximal"] - before.moment["proximal"]
            expected = -np.cross(shift, before.force["proximal"])
            known = np.isfinite(change).all(axis=1) & np.isfinite(expected).all(axis=1)
            assert known.sum() > 50
            left = np.sqrt(np.mean((change - expected)[known] ** 2))
            assert left < 0.5 * np.sqrt(np.mean(change[known] ** 2))


@pytest.mark.slow
def test_an_anthropometric_table_does_nothing_to_the_loaded_ankle(varied: TrialResult) -> None:
    """The foot is a hundredth of the body: in stance its ankle moment comes from the plate alone."""
    rows = peak_changes(varied, "anthropometry", "ankle_angle_moment")
    assert (rows["rms_change_percent"] < 1.0).all()
    hip = peak_changes(varied, "anthropometry", "hip_flexion_moment")
    assert (hip["rms_change"].to_numpy() > rows["rms_change"].to_numpy()).all()


@pytest.mark.slow
def test_weights_change_the_fit_and_nothing_else(varied: TrialResult) -> None:
    found: dict[str, TrialAnalysis] = {v.level: v.analysis for v in varied.analysis.variations}
    base = varied.analysis
    equal = {marker.weight for marker in found["all equal"].model.markers if marker.weight > 0.0}
    given = found["all equal"].settings.inverse_kinematics.marker_weights
    assert set(given.values()) == {1.0} or equal == {1.0}
    assert not np.array_equal(found["all equal"].fit.motion.q, base.fit.motion.q)
    np.testing.assert_array_equal(found["all equal"].plates[0].wrench, base.plates[0].wrench)


# -- command line and folder --------------------------------------------------------------------------------------


def run(laboratory: Laboratory, tmp_path: Path, vary: str) -> Result:
    settings = tmp_path / "s.toml"
    settings.write_text(
        "[uncertainty]\ncompute = false\n",
        encoding="utf-8",
    )
    arguments = ["run", laboratory.walk, "--vary", vary, "--settings", settings, "--out", tmp_path / "out"]
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "factors"),
    [
        ("cutoff, marker_weights,cutoff", {"cutoff", "marker_weights"}),
    ],
)
def test_the_command_writes_tables_figure_and_section(
    laboratory: Laboratory, tmp_path: Path, asked: str, factors: set[str]
) -> None:
    outcome = run(laboratory, tmp_path, asked)
    assert outcome.exit_code == 0, outcome.output
    out = tmp_path / "out"
    curves = pd.read_csv(out / "tables" / "sensitivity.csv", keep_default_na=False)
    assert set(curves["factor"]) == {"none"} | factors
    summary = pd.read_csv(out / "tables" / "sensitivity_summary.csv")
    assert set(summary["factor"]) == factors
    counts = curves.drop_duplicates(["factor", "level"])
    assert len(counts) == 1 + len(summary.drop_duplicates(["factor", "level"]))  # a factor named twice counts once
    assert (out / "figures" / "sensitivity.png").read_bytes().startswith(b"\x89PNG")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert '<section id="sensitivity"' in page
    assert json.loads((out / "run.json").read_text(encoding="utf-8"))["verdict"] in ("pass", "warn")


@pytest.mark.slow
def test_a_saved_comparison_is_reported_again(varied: TrialResult, tmp_path: Path) -> None:
    folder = varied.save(tmp_path / "walk")
    assert {"sensitivity", "sensitivity_summary"} <= set(read_view(folder).tables)
    (folder / "report.html").unlink()
    assert CliRunner().invoke(app, ["report", str(folder)]).exit_code == 0
    assert '<section id="sensitivity"' in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("asked", "said"), [("hip", "'hip'"), ("cutoff,knees", "'knees'"), (" , ", "--vary")])
def test_an_unknown_factor_is_refused_in_one_sentence(
    laboratory: Laboratory, tmp_path: Path, asked: str, said: str
) -> None:
    outcome = run(laboratory, tmp_path, asked)
    assert outcome.exit_code == 2, outcome.output
    (line,) = outcome.stderr.splitlines()
    assert said in line
    for factor in FACTORS:
        assert factor in line
    assert not (tmp_path / "out").exists()


def test_the_api_refuses_alike(laboratory: Laboratory) -> None:
    with pytest.raises(SettingsError, match="cannot be varied"):
        biodyn.vary_trial(laboratory.walk, ["knees"], laboratory.static)
    with pytest.raises(SettingsError, match="--vary has no factor"):
        biodyn.vary_trial(laboratory.walk, [], laboratory.static)
    with pytest.raises(SettingsError, match="one name"):
        biodyn.vary_trial(laboratory.walk, "cutoff", laboratory.static)


def test_a_cutoff_that_the_rate_cannot_carry_is_left_out(
    laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensitivity, "_CUTOFFS_HZ", (10.0, 50.0, 80.0))
    found = biodyn.vary_trial(laboratory.walk, ["cutoff"], laboratory.static)
    assert levels(found, "cutoff") == ["10 Hz"]
