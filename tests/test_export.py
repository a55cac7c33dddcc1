"""Results in the files of other programs: what stands in them is what the result says, read by somebody else."""

from __future__ import annotations

import json
import os
import subprocess

import numpy as np
import pytest
from support.stored import OLD, unpacked
from typer.testing import CliRunner

import biodyn
from biodyn.cli import app
from biodyn.errors import ResultError
from biodyn.io.opensim.storage import read_storage
from biodyn.trial.export import export
from biodyn.trial.from_coordinates import run_coordinates

_ID = """
import os, sys
import opensim
os.chdir(sys.argv[1])
assert opensim.InverseDynamicsTool("inverse_dynamics_setup.xml").run()
"""


@pytest.fixture(scope="module")
def exported(walk_result, tmp_path_factory):
    """The simulated walk as OpenSim's files."""
    return export(walk_result, "opensim", tmp_path_factory.mktemp("export") / "opensim").folder


def _largest_difference(exported, torques):
    """Of the torques to those of the file, as a share of each column's range; `torques` by column name."""
    ours, worst, count = read_storage(exported / "inverse_dynamics.sto"), 0.0, 0
    for name in ours.names:
        column = ours.column(name)
        known = np.isfinite(column)
        if known.any():
            worst = max(worst, np.abs(torques(name) - column)[known].max() / np.ptp(column[known]))
            count += 1
    return worst, count


def test_the_exported_files_give_the_torques_again(exported, walk_result):
    again = run_coordinates(
        exported / "coordinates.mot", exported / "model.osim", exported / "external_loads.xml", cutoff_hz=0.0
    )
    names = [f"{c.name}_{'moment' if c.rotational else 'force'}" for c in again.model.coordinates]
    worst, count = _largest_difference(exported, lambda name: again.tau[:, names.index(name)])
    assert count >= 6 + len(walk_result.analysis.model.coordinates)
    assert worst < 1e-3  # splines through the same rows, with other ends


def test_coordinates_and_torques_are_those_of_the_tables(exported, walk_result):
    angles, torques = walk_result.joint_angles, walk_result.joint_torques
    written = read_storage(exported / "coordinates.mot")
    assert written.in_degrees
    rows = np.searchsorted(angles["time_s"], written.time_s - 1e-9)
    for column in angles.columns[1:]:
        name = column.rsplit("_", 1)[0]
        np.testing.assert_allclose(written.column(name), angles[column].to_numpy()[rows], atol=1e-9)
    loads = read_storage(exported / "inverse_dynamics.sto")
    for c in walk_result.analysis.model.coordinates:
        np.testing.assert_allclose(
            loads.column(f"{c.name}_moment"), torques[f"{c.name}_Nm"].to_numpy()[rows], atol=1e-9
        )
    for axis in "xyz":
        residual = torques[f"residual_f{axis}_N"].to_numpy()[rows]
        np.testing.assert_allclose(loads.column(f"pelvis_t{axis}_force"), residual, atol=1e-8)


def test_the_markers_are_those_that_were_fitted(exported, walk_result):
    recording = biodyn.read(exported / "markers.trc")
    model = walk_result.analysis.model
    labels = {marker.label for marker in model.markers}
    assert set(recording.markers.labels) == labels
    again = run_coordinates(exported / "coordinates.mot", exported / "model.osim", cutoff_hz=0.0)
    R, p = again.model.coupled.body_poses(again.q)
    seen = {label: k for k, label in enumerate(recording.markers.labels)}
    errors = []
    for marker in again.model.markers:
        b = again.model.multibody.body_index(marker.body)
        place = R[:, b] @ marker.place_m + p[:, b]
        errors.append(np.linalg.norm(place - recording.markers.positions[:, seen[marker.name]], axis=1))
    at = {label: k for k, label in enumerate(walk_result.analysis.fit.labels)}
    expected = walk_result.analysis.fit.marker_error[:, [at[m.name] for m in again.model.markers]].T
    rows = np.isfinite(walk_result.analysis.fit.motion.q).all(axis=1)
    np.testing.assert_allclose(errors, expected[:, rows], atol=2e-6)  # positions are kept to single precision


@pytest.mark.slow
def test_opensims_own_tool_gives_the_torques(exported):
    python = os.environ.get("BIODYN_OPENSIM")
    if not python:
        pytest.skip("BIODYN_OPENSIM names no interpreter that has opensim")
    subprocess.run([python, "-c", _ID, exported], check=True, capture_output=True)
    theirs = read_storage(exported / "inverse_dynamics_opensim.sto")
    worst, count = _largest_difference(exported, theirs.column)
    (exported / "inverse_dynamics_opensim.sto").unlink()
    assert count > 20
    assert worst < 1e-3


def test_an_export_is_not_replaced_unasked(walk_result, tmp_path):
    folder = tmp_path / "here"
    export(walk_result, "opensim", folder)
    record = json.loads((folder / "export.json").read_text())
    assert {entry["path"] for entry in record["files"]} | {"export.json"} == {p.name for p in folder.iterdir()}
    with pytest.raises(ResultError, match="already holds an export"):
        export(walk_result, "opensim", folder)
    export(walk_result, "opensim", folder, force=True)
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(ResultError, match=r"mine\.txt"):
        export(walk_result, "opensim", folder, force=True)
    (folder / "mine.txt").unlink()
    (folder / "model.osim").write_text("edited")
    with pytest.raises(ResultError, match="was changed"):
        export(walk_result, "opensim", folder, force=True)
    other = tmp_path / "other"
    other.mkdir()
    (other / "x").write_text("x")
    with pytest.raises(ResultError, match="holds no export"):
        export(walk_result, "opensim", other, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["here", "other"]


@pytest.mark.parametrize("name", OLD)
def test_results_of_older_versions_are_exported_without_markers(name, tmp_path):
    folder = unpacked(name, tmp_path)
    made = export(folder, "opensim")
    assert made.folder == folder.with_name(f"{name}_opensim")
    assert "markers.trc" not in made.files
    assert any("no markers" in note for note in made.notes)
    worst, _ = _again_from(made.folder)
    assert worst < 1e-3


def _again_from(folder):
    again = run_coordinates(folder / "coordinates.mot", folder / "model.osim", folder / "external_loads.xml", 0.0)
    names = [f"{c.name}_{'moment' if c.rotational else 'force'}" for c in again.model.coordinates]
    return _largest_difference(folder, lambda name: again.tau[:, names.index(name)])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: None, "run.json not found"),
        (lambda folder: (folder / "study.json").write_text("{}"), "result of a study"),
    ],
    ids=["empty folder", "study"],
)
def test_what_is_no_result_is_refused_in_a_sentence(tmp_path, make, words):
    folder = tmp_path / "folder"
    folder.mkdir()
    make(folder)
    done = CliRunner().invoke(app, ["export", str(folder), "--to", "opensim"])
    assert done.exit_code == 2
    assert words in done.output
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_an_unknown_format_names_those_there_are(tmp_path):
    done = CliRunner().invoke(app, ["export", str(tmp_path), "--to", "word"])
    assert done.exit_code == 2
    assert "opensim" in done.output


def test_a_c3d_goes_back_with_the_result_in_it(walk_result, laboratory, tmp_path):
    made = export(walk_result, "c3d", tmp_path / "out")
    assert made.files == (laboratory.walk.name,)
    before, after = biodyn.read(laboratory.walk), biodyn.read(made.folder / laboratory.walk.name)
    assert after.markers.labels == before.markers.labels
    np.testing.assert_array_equal(after.markers.positions, before.markers.positions)
    angles = walk_result.joint_angles
    written = after.model_outputs["LHipAngles"].values
    for k, name in enumerate(("hip_flexion_l", "hip_adduction_l", "hip_rotation_l")):
        expected = angles[f"{name}_deg"].to_numpy()
        known = np.isfinite(expected)
        np.testing.assert_allclose(written[known, k], expected[known], atol=1e-4)
    # in the laboratory's axes, whichever way the person went: upward is Z, and so are the plates' forces
    force = after.model_outputs["RGroundReactionForce"].values * walk_result.analysis.subject.mass_kg
    world = walk_result.ground_reaction[[f"ground_force_r_{axis}_N" for axis in "xyz"]].to_numpy()
    known = np.isfinite(world).all(axis=1) & np.isfinite(force).all(axis=1)
    np.testing.assert_allclose((force @ walk_result.analysis.R_WL.T)[known], world[known], atol=0.02)
    assert force[known][:, 2].max() > 500.0


def test_only_the_recording_that_was_analysed_is_written_into(walk_result, laboratory, tmp_path):
    with pytest.raises(ResultError, match="digest differs"):
        export(walk_result, "c3d", tmp_path / "out", recording=laboratory.static)
    with pytest.raises(ResultError, match="--recording"):
        export(walk_result, "c3d", tmp_path / "out", recording=tmp_path / "gone.c3d")
    assert list(tmp_path.iterdir()) == []
