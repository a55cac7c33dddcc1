"""Two sessions of one person: means with their errors, and changes against what can be detected."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from biodyn.errors import StudyError
from biodyn.output.tables.csv import write_csv
from biodyn.study.group.group_analysis import analyse_frames
from biodyn.study.group.group_data import FOLDER_NAME
from biodyn.study.options import AnalysisOptions
from biodyn.study.session_change import compare_sessions
from biodyn.variables import NormCovariates, load_norms, variable

_OPTIONS = AnalysisOptions(tests=())
_COVARIATES = NormCovariates(9.0, 1.3, 0.7, 1.1)


def frames(subject: str, offset_deg: float, seed: int, walks: int = 4) -> pd.DataFrame:
    """Walks of a person like the norm, the knee bent by `offset_deg` more, one degree of scatter from walk to walk."""
    rng = np.random.default_rng(seed)
    norms, parts = load_norms("children_schwartz_2008"), []
    wanted = [name for name, curve in norms.curves.items() if curve.unit == "deg"]
    for walk in range(walks):
        for side in ("r", "l"):
            for name in wanted:
                shift = rng.normal() + (offset_deg if name == "knee_angle" else 0.0)
                values = variable(name).side_sign(side) * norms.curves[name].mean + shift
                parts.append(
                    pd.DataFrame(
                        {
                            "subject": subject, "session": "", "condition": "", "group": "", "trial": f"walk{walk}",
                            "cycle": 1, "side": side, "percent": np.arange(101.0), "variable": name, "value": values,
                            "unit": "deg",
                        }
                    )
                )  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def strides(_: str) -> dict:
    """The same stride for every walk."""
    one = {
        "speed_m_s": 1.1,
        "stride_time_s": 1.0,
        "stride_length_m": 1.1,
        "cadence_steps_min": 120.0,
        "stance_percent": 60.0,
    }
    return {(f"walk{walk}", side, 1): one for walk in range(8) for side in "rl"}


def session(folder: Path, offset_deg: float, seed: int, walks: int = 4, subject: str = "P01") -> Path:
    """The output folder of a session, as far as a comparison reads it."""
    folder.mkdir()
    analyse_frames(
        [frames(subject, offset_deg, seed, walks)], strides, folder, _OPTIONS, norm_covariates=(_COVARIATES,)
    )
    record = {"name": subject, "kind": "session", "program": "biodyn"}
    (folder / "study.json").write_text(json.dumps(record), encoding="utf-8")
    trial = folder / "trials" / subject / "walk0"
    trial.mkdir(parents=True)
    (trial / "run.json").write_text('{"settings": {}}', encoding="utf-8")
    row = dict.fromkeys(
        ("subject", "session", "condition", "group", "site", "trial", "file", "status", "error", "reason", "hint"), ""
    )
    write_csv(pd.DataFrame([{**row, "subject": subject, "trial": "walk0", "status": "pass"}]), folder / "summary.csv")
    return folder


@pytest.fixture(scope="module")
def before(tmp_path_factory) -> Path:
    """A session like the norm."""
    return session(tmp_path_factory.mktemp("sessions") / "before", 0.0, 1)


def test_the_error_of_a_score_is_that_of_the_mean_over_the_walks(before: Path) -> None:
    table = pd.read_csv(before / FOLDER_NAME / "session_means.csv")
    knee = table[(table["name"] == "gvs_knee_flexion") & (table["side"] == "r")].iloc[0]
    assert knee["walks"] == 4
    assert knee["sem"] == pytest.approx(knee["sd"] / 2.0)
    assert knee["mdc95"] == pytest.approx(stats.t.ppf(0.975, 3) * np.sqrt(2.0) * knee["sem"])
    scores = pd.read_csv(before / FOLDER_NAME / "gait_scores.csv")
    gps = table[table["name"] == "gps"].set_index("side")["mean"]
    np.testing.assert_allclose(gps[["r", "l", "both"]], scores.set_index("side")["gps"][["r", "l", "both"]])


def test_the_score_of_both_sides_is_of_walks_that_have_both(tmp_path: Path) -> None:
    """The first walk lacks the left side: the walks of the sides that remain are still paired by name, not by place."""
    whole, short = (frames("P01", 0.0, 1, walks=3) for _ in range(2))
    short = short[~((short["trial"] == "walk0") & (short["side"] == "l"))]
    found = {}
    for name, kept in (("short", short), ("both", whole[whole["trial"] != "walk0"])):
        (tmp_path / name).mkdir()
        analyse_frames([kept], strides, tmp_path / name, _OPTIONS, norm_covariates=(_COVARIATES,))
        table = pd.read_csv(tmp_path / name / FOLDER_NAME / "session_means.csv")
        found[name] = table[(table["name"] == "gps") & (table["side"] == "both")].iloc[0]
    assert found["short"]["walks"] == 2
    assert found["short"]["sd"] == pytest.approx(found["both"]["sd"], rel=1e-6)


def test_dimensionless_parameters_of_the_session(before: Path) -> None:
    table = pd.read_csv(before / FOLDER_NAME / "session_means.csv")
    speed = table[(table["name"] == "speed_hof") & (table["side"] == "r")].iloc[0]
    assert speed["mean"] == pytest.approx(1.1 / np.sqrt(9.80665 * 0.7))


def test_a_planted_change_is_found_and_nothing_else(before: Path, tmp_path: Path) -> None:
    after = session(tmp_path / "after", 12.0, 2)
    change = compare_sessions(before, after)
    knee = change.table[change.table["name"] == "gvs_knee_flexion"]
    assert (knee["beyond_mdc95"] == "yes").all()
    assert (knee["change"] > 8.0).all()
    gps = change.table[change.table["name"] == "gps"]
    assert (gps["published"] == 1.6).all()
    assert (gps["beyond_published"] == "yes").all()
    others = change.table[(change.table["kind"] == "score") & ~change.table["name"].isin(["gvs_knee_flexion", "gps"])]
    assert (others["beyond_mdc95"] == "yes").mean() < 0.2  # 5 % by chance, of 16
    folder = change.save(tmp_path / "change")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") >= 2
    assert "Knee flexion" in page
    assert len(pd.read_csv(folder / "changes.csv")) == len(change.table)
    with pytest.raises(Exception, match="exists"):
        change.save(tmp_path / "change")


def test_one_walk_tells_no_error_and_leaves_the_published_values(before: Path, tmp_path: Path) -> None:
    single = session(tmp_path / "single", 12.0, 3, walks=1)
    table = compare_sessions(before, single).table
    assert (table["beyond_mdc95"] == "").all()
    assert (table[table["name"] == "gps"]["beyond_published"] == "yes").all()
    notes = json.loads((single / FOLDER_NAME / "group.json").read_text(encoding="utf-8"))["notes"]["session_means"]
    assert "from one walk" in notes[0]


def test_what_cannot_be_compared_is_refused(before: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    shutil.copytree(before, empty)
    (empty / FOLDER_NAME / "session_means.csv").unlink()
    with pytest.raises(StudyError, match="no session means"):
        compare_sessions(before, empty)
    other = session(tmp_path / "other", 0.0, 4, subject="P02")
    assert "P01" in compare_sessions(before, other).notes[0]


def test_another_analysis_of_the_same_walks_is_no_change_of_the_person(before: Path, tmp_path: Path) -> None:
    def planned(name: str, root: str, cutoff_hz: float) -> Path:
        folder = Path(shutil.copytree(before, tmp_path / name))
        record = json.loads((folder / "study.json").read_text())
        trials = [{"file": "walk0.c3d", "settings": {"signals": {"cutoff_hz": cutoff_hz}}}]
        (folder / "study.json").write_text(json.dumps({**record, "root": f"../{root}", "trials": trials}))
        return folder

    first = planned("first", "may", 6.0)
    again = " ".join(compare_sessions(first, planned("again", "may", 4.0)).notes)
    assert "same recordings" in again
    assert "different settings" in again
    assert "re-applied" not in again
    (tmp_path / "other").mkdir()
    elsewhere = shutil.move(planned("moved", "may", 6.0), tmp_path / "other")  # another folder's "../may"
    assert "re-applied" in " ".join(compare_sessions(first, elsewhere).notes)
    later = " ".join(compare_sessions(first, planned("later", "june", 6.0)).notes)
    assert "re-applied" in later
    assert "settings" not in later
