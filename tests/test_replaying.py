"""`biodyn replay` and its API on a saved result: the files, the numbers in them, and kind refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import biodyn
from biodyn.cli import app
from biodyn.errors import ResultError, SettingsError
from biodyn.verification.replay import ReplayOptions

pytestmark = pytest.mark.usefixtures("blank_figures")
SHORT = ReplayOptions(windows_s=(0.05, 0.1), start_every_s=0.2)


@pytest.fixture(scope="module")
def result(laboratory):
    """Its report is made where a test asks for one."""
    settings = {
        "output": {"figures": False, "report": False},
        "uncertainty": {"compute": False},
    }
    return biodyn.run_trial(laboratory.walk, laboratory.static, settings=settings)


@pytest.fixture(scope="module")
def folder(result, tmp_path_factory):
    return result.save(tmp_path_factory.mktemp("replay") / "walk")


@pytest.fixture(scope="module")
def replayed(result):
    return biodyn.replay(result, SHORT)


def test_the_record_of_a_run_holds_its_proof_and_parts(result):
    proof = result.record["proof"]
    assert proof["holds"] is True
    assert {identity["code"] for identity in proof["identities"]} == {
        "motion",
        "forward-dynamics",
        "mass-matrix",
        "momentum",
        "free-bodies",
        "power",
    }
    assert any(check["code"] == "proof" and check["status"] == "pass" for check in result.record["checks"])
    sums = (
        result.joint_torque_parts.groupby(["coordinate", "time_s"], observed=True)["value"].sum(min_count=4).unstack(0)
    )
    for name in sums.columns:
        np.testing.assert_allclose(sums[name], result.joint_torques[f"{name}_Nm"], atol=1e-9)


@pytest.mark.slow
def test_a_folder_and_the_result_itself_replay_alike(replayed, folder):
    from_folder = biodyn.replay(folder, SHORT)
    assert from_folder.record["open_loop"] == replayed.record["open_loop"]
    drift = from_folder.tables()["replay_drift"]
    assert (drift.loc[drift["window_s"] == 0.05, "share_within_tolerance"] == 1.0).all()


def test_the_command_writes_tables_figures_and_record(folder):
    outcome = CliRunner().invoke(app, ["replay", str(folder)])
    assert outcome.exit_code == 0, outcome.output
    place = folder / "replay"
    record = json.loads((place / "replay.json").read_text(encoding="utf-8"))
    tracked = record["tracked"]
    assert tracked["joint_error_deg"] < 0.5
    assert tracked["feedback_peak_Nm"] < 0.1 * tracked["recorded_peak_Nm"]
    feedback = pd.read_csv(place / "replay_feedback.csv")
    assert feedback["recorded_Nm"].abs().max() == pytest.approx(tracked["recorded_peak_Nm"], abs=1e-4)
    assert (place / "replay_drift.csv").stat().st_size > 0
    for name in ("drift", "feedback"):
        assert (place / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def _report(folder):
    outcome = CliRunner().invoke(app, ["report", str(folder)])
    assert outcome.exit_code == 0, outcome.output
    page = (folder / "report.html").read_text(encoding="utf-8")
    start = page.index('<section id="replay"')
    return page[start : page.index("</section>", start)]


def test_a_report_without_a_replay_says_how_to_get_one(result, tmp_path):
    section = _report(result.save(tmp_path / "walk"))
    assert "was not replayed" in section
    assert "biodyn replay RESULT_DIR" in section
    assert "biodyn report RESULT_DIR" in section
    assert "data:image" not in section


def test_a_report_of_a_replayed_result_shows_drift_and_feedback(result, replayed, tmp_path):
    folder = result.save(tmp_path / "walk")
    replayed.save(folder)
    section = _report(folder)
    assert "was not replayed" not in section
    assert section.count('src="data:image/png;base64,') == 2
    for sentence in replayed.summary():
        assert sentence.split(":")[0] in section
    drift = replayed.tables()["replay_drift"]
    row = drift[drift["ground"] == "all"].iloc[0]
    assert f'>{row["window_s"]:g}</td><td class="number">{row["windows"]}</td>' in section
    # the largest feedback of all stands beside what was recorded there
    feedback = replayed.tables()["replay_feedback"]
    largest = feedback.loc[feedback["feedback_Nm"].abs().idxmax()]
    own = feedback[feedback["coordinate"] == largest["coordinate"]]
    assert (
        f'>{own["recorded_Nm"].abs().max():.1f}</td><td class="number">{abs(largest["feedback_Nm"]):.2g}</td>'
        in section
    )


@pytest.mark.slow
def test_a_damaged_replay_is_reported(result, replayed, tmp_path):
    folder = result.save(tmp_path / "walk")
    replayed.save(folder)
    (folder / "replay" / "replay_drift.csv").unlink()
    outcome = CliRunner().invoke(app, ["report", str(folder)])
    assert outcome.exit_code == 2
    assert "biodyn replay" in outcome.stderr


def test_what_cannot_be_replayed_is_said(folder, tmp_path):
    with pytest.raises(ResultError, match="not a complete biodyn result"):
        biodyn.replay(tmp_path)
    with pytest.raises(SettingsError, match="no integrator 'magic'"):
        biodyn.replay(folder, ReplayOptions("magic"))
    outcome = CliRunner().invoke(app, ["replay", str(tmp_path)])
    assert outcome.exit_code == 2
