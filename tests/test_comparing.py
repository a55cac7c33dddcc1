"""`biodyn compare` and its API: tables, files, and kind refusals."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.planted_causes import planted
from typer.testing import CliRunner

import biodyn
from biodyn.cli import app
from biodyn.errors import ResultError

PLAIN = {"output": {"figures": False, "report": False}, "uncertainty": {"compute": False}}


@pytest.fixture(scope="module")
def folder(walk_result, tmp_path_factory):
    analysis = walk_result.analysis
    plain = analysis.settings.output.model_copy(update={"figures": False, "report": False})
    settings = analysis.settings.model_copy(update={"output": plain})
    result = biodyn.TrialResult(replace(analysis, settings=settings))
    return result.save(tmp_path_factory.mktemp("comparing") / "first")


def run(*words):
    return CliRunner().invoke(app, ["compare", *map(str, words)])


def test_a_result_compared_with_another_one(walk_result, folder, tmp_path):
    other = planted(walk_result.analysis, "inertia", np.random.default_rng(2))
    tables = other.settings.model.model_copy(update={"anthropometry": "winter_2009"})
    other = replace(other, settings=other.settings.model_copy(update={"model": tables}))
    found = biodyn.compare(folder, biodyn.TrialResult(other))
    assert next(iter(found.causes["moment"])) == "segment inertias"
    assert found.explained_shares["moment"] == pytest.approx(1.0)
    assert found.settings["model.anthropometry"][1] == "winter_2009"
    table = found.table
    assert set(table["plane"]) == {"sagittal", "frontal", "transverse"}
    made = table[(table["quantity"] == "moment") & (table["rms"] > 0.01)].filter(like="_pct").sum(axis=1)
    assert len(made) >= 18
    np.testing.assert_allclose(made, 100.0, atol=1e-6)
    told = [fact.text for fact in found.facts]
    assert any("% of the mass" in text for text in told)
    assert any("centre of mass relative to its joint" in text for text in told)
    for text in told:  # "95 and 95 mm" tells of no difference
        assert all(one != other for one, other in re.findall(r"([\d.]+) and ([\d.]+) (?:mm|%|kg)", text)), text
        assert not re.search(r"(?<!\d)0 mm apart", text), text
    place = found.save(tmp_path / "out")
    assert {path.name for path in place.iterdir()} == {"compare.csv", "compare.json", "compare.png", "report.html"}
    assert len(pd.read_csv(place / "compare.csv")) == len(table)
    assert json.loads((place / "compare.json").read_text())["causes"]["moment"]["segment inertias"] > 0.9


def test_curves_say_which_direction_is_positive(walk_result, folder, tmp_path):
    other = planted(walk_result.analysis, "inertia", np.random.default_rng(2))
    found = biodyn.compare(folder, biodyn.TrialResult(other))
    page = (found.save(tmp_path / "out") / "report.html").read_text(encoding="utf-8")
    curves = {one.title: one.first for one in found.differences}
    flexion = pd.read_csv(folder / "tables" / "joint_angles.csv")["knee_angle_r_deg"].max()
    # a walking knee bends and hardly overextends: with extension positive its curve goes down by the table's flexion
    assert np.nanmin(curves["right knee sagittal angle"]) == pytest.approx(-flexion, abs=1.0)
    assert np.nanmax(curves["right hip sagittal angle"]) > 20.0
    for direction in ("flexion", "extension", "dorsiflexion"):
        assert f"Nm, {direction} +" in page


def test_the_command_prints_the_table_and_the_causes(folder):
    done = run(folder, folder)
    assert done.exit_code == 0
    assert "Joint moments are equal." in done.output


def test_differences_without_a_cause_are_said_in_a_sentence(folder, tmp_path):
    """As of a table with fewer digits: not "0 % is explained: ."."""
    torques = pd.read_csv(folder / "tables" / "joint_torques.csv").filter(regex="^time_s$|_Nm$")
    torques = torques.drop(columns=[name for name in torques if name.startswith("residual")]).dropna(how="all", axis=1)
    path, values = tmp_path / "rounded.sto", torques.round(2).to_numpy()
    names = ["time", *(f"{name.removesuffix('_Nm')}_moment" for name in torques.columns[1:])]
    head = f"rounded\nversion=1\nnRows={values.shape[0]}\nnColumns={values.shape[1]}\ninDegrees=no\nendheader\n"
    path.write_text(head + "\t".join(names) + "\n" + "\n".join("\t".join(map(str, row)) for row in values) + "\n")
    said = " ".join(run(folder, path).output.split())
    assert "No cause explains the differences in joint moments: at most 0.00" in said
    assert "is explained: ." not in said


def test_what_cannot_be_compared_is_refused_in_a_sentence(folder, laboratory, tmp_path):
    done = run(folder, laboratory.walk)
    assert done.exit_code == 2
    assert "contains no joint moments with known names" in done.stderr.replace("\n", " ")
    assert run(folder, tmp_path / "nothing.c3d").exit_code == 2
    assert run(tmp_path, folder).exit_code == 2
    (tmp_path / "study.json").write_text("{}")
    with pytest.raises(ResultError, match="study"):
        biodyn.compare(folder, tmp_path)
    with pytest.raises(ResultError, match="is a file"):
        biodyn.compare(folder, folder).save(folder / "run.json")
    with pytest.raises(ResultError, match="is a result folder"):
        biodyn.compare(folder, folder).save(folder)
    with pytest.raises(ResultError, match="cannot be written"):
        biodyn.compare(folder, folder).save(tmp_path / "study.json" / "inside")


def test_a_table_of_torques_is_compared_by_the_names_of_its_columns(folder, tmp_path):
    torques = biodyn.load(folder).joint_torques
    names = [name for name in torques if name.endswith("_Nm") and "residual" not in name]
    rows = torques[["time_s", *names]].fillna(0.0)
    rows[names[0]] *= -1.0
    head = f"torques\nversion=1\nnRows={len(rows)}\nnColumns={len(names) + 1}\ninDegrees=no\nendheader\n"
    labels = "\t".join(["time", *(name.removesuffix("_Nm") + "_moment" for name in names)])
    lines = "\n".join("\t".join(f"{value:.8f}" for value in row) for row in rows.to_numpy())
    (tmp_path / "id.sto").write_text(f"{head}{labels}\n{lines}\n")
    found = biodyn.compare(folder, tmp_path / "id.sto")
    assert [fact.cause for fact in found.facts] == ["sign"]
    assert [one.joint for one in found.differences if not one.is_zero] == [names[0].removesuffix("_Nm")]
    assert found.explained_shares["moment"] == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "btk_pig/PiG_Motion3_FF.c3d",
        "biomechzoo/HC030A/Straight/HC030A05.c3d",
        "biomechzoo/HC002D/Straight/HC002D06.c3d",
    ],
)
def test_most_of_the_difference_to_laboratory_software_is_explained(real_data, name, monkeypatch):
    path = real_data / "gait" / name
    result = biodyn.run_trial(path, settings=PLAIN)
    found = biodyn.compare(result, path)
    assert found.explained_shares["moment"] > 0.9
    assert found.explained_shares["angle"] > 0.95
    assert not [fact for fact in found.facts if "frame" in fact.cause or "sign" in fact.cause]
    assert not [note for note in found.notes if "no force plate" in note]

    # The same file, if the laboratory had not used the plate of the left foot.
    recording, in_stance = biodyn.read(path), np.zeros(len(result.analysis.time_s), dtype=bool)
    for contact in result.analysis.contacts:
        if contact.side == "l":
            in_stance |= (result.analysis.time_s >= contact.start_s) & (result.analysis.time_s <= contact.end_s)
    outputs = dict(recording.model_outputs)
    for label in ("LHipMoment", "LKneeMoment", "LAnkleMoment"):
        in_air = np.where(in_stance[:, None], 0.02, 1.0) * outputs[label].values
        outputs[label] = replace(outputs[label], values=in_air)
    monkeypatch.setattr("biodyn.trial.result_comparison.read", lambda _: replace(recording, model_outputs=outputs))
    without = biodyn.compare(result, path)
    assert any("no force plate for the left leg" in note for note in without.notes)
    assert without.explained_shares["moment"] > 0.9


def test_the_page_shows_both_in_one_scene_with_their_curves(walk_result, folder, tmp_path):
    """One recording analysed twice stands in one place; with itself as of another recording, pelvis on pelvis and by cycle."""
    page = (biodyn.compare(walk_result, folder).save(tmp_path / "one") / "report.html").read_text(encoding="utf-8")
    scene = _scene(page)
    assert [len(one["times"]) for one in scene["persons"]] == [len(walk_result.analysis.time_s)] * 2
    assert scene["one_place"] is True
    assert len({one["name"] for one in scene["persons"]}) == 2
    assert all(len(json.dumps(one)) <= 300_000 for one in scene["persons"])
    assert scene["persons"][0]["cycles"] == walk_result.spatiotemporal[["side", "start_s", "end_s"]].values.tolist()
    store = json.loads(re.search(r'id="explorer-data">(.*?)</script>', page, re.S)[1])
    hip = next(one for one in store["variables"] if one["name"] == "hip_flexion")
    mean = walk_result.cycle_curves("clinical")["hip_flexion"]["r"].values.mean(axis=0)
    np.testing.assert_allclose(hip["each"][0]["r"]["mean"], mean, atol=0.051)
    assert hip["each"][0] == hip["each"][1]
    assert page.count('data-side="') == 2
    other = replace(biodyn.compare(walk_result, folder), one_recording=False, first="</script><b>x")
    page = (other.save(tmp_path / "two") / "report.html").read_text(encoding="utf-8")
    assert _scene(page)["one_place"] is False
    assert 'data-do="cycle"' in page
    assert "</script><b>" not in page


@pytest.mark.slow
def test_why_one_of_two_with_equal_settings_is_no_estimate_is_said(laboratory, walk_result, monkeypatch):
    """One where the estimate could not be made, and its filter stands: the settings of both leave the method to the trial."""

    def singular(*arguments, **options):
        raise np.linalg.LinAlgError("7-th leading minor not positive definite")

    monkeypatch.setattr(biodyn.estimation.estimate, "solve_problem", singular)
    fallen = biodyn.run_trial(laboratory.walk, laboratory.static, settings=PLAIN)
    why = "the estimate of motion and forces was not possible: "
    for pair, which in (((fallen, walk_result), "first"), ((walk_result, fallen), "second")):
        found = biodyn.compare(*pair)
        assert not found.settings
        said = f"estimate instead of a filter: the {which} was not estimated from motion and forces: {why}"
        (line,) = [line for line in found.summary() if line.startswith(said)]
        assert "7-th leading minor" in line
    assert not any("no estimate" in line for line in biodyn.compare(fallen, fallen).summary())


def _scene(page: str) -> dict:
    return json.loads(re.search(r'data-scene>.*?<script type="application/json">(.*?)</script>', page, re.S)[1])


@pytest.mark.slow
def test_an_estimate_against_a_filter_is_named_so(laboratory, walk_result):
    """All of the motion's difference is that choice; the sum of all causes is the difference still."""
    filtered = biodyn.run_trial(
        laboratory.walk, laboratory.static, settings={**PLAIN, "signals": {"method": "butterworth"}}
    )
    for pair in ((filtered, walk_result), (walk_result, filtered)):
        found = biodyn.compare(*pair)
        assert found.causes["angle"]["estimate instead of a filter"] > 0.95  # a mean shift counts as a joint centre
        assert "smoothing of motion" not in found.causes["moment"]
        assert "fit of motion" not in found.causes["moment"]
        assert found.causes["moment"]["estimate instead of a filter"] > 0.05
        assert found.explained_shares["moment"] == pytest.approx(1.0, abs=1e-6)
        assert any(line.startswith("Setting signals.method:") for line in found.summary())
        told = [fact.text for fact in found.facts if fact.cause == "estimate instead of a filter"]
        assert told
        assert all("Hz" not in text for text in told)  # an estimate has no cut-off, the filter's is in the settings
        assert "Hz" in next(fact.text for fact in found.facts if fact.cause == "smoothing of forces")
