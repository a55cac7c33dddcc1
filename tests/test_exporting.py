"""Results in the files of other programs: what stands in them is what the result says, read by somebody else."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from openpyxl import load_workbook
from scipy.io import loadmat
from support.real import recordings
from typer.testing import CliRunner

import biodyn
from biodyn.cli import app
from biodyn.errors import ResultError
from biodyn.io.opensim.storage import read_storage
from biodyn.library.tables import entry_names
from biodyn.output.store.result_writer import write_export
from biodyn.output.tables.table_access import column_description
from biodyn.trial.bodies.opensim_motion import coordinate_torques
from biodyn.trial.export import export
from biodyn.trial.export.c3d import convention_channels
from biodyn.trial.export.sheets import make_sheets

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
    """Of the torques to those of the file, as a share of each column's range; `torques` by column name.

    A residual that nearly vanishes has no range to speak of: 10 N or 10 Nm at least.
    """
    ours, worst, count = read_storage(exported / "inverse_dynamics.sto"), 0.0, 0
    for name in ours.names:
        column = ours.column(name)
        known = np.isfinite(column)
        if known.any():
            apart = np.abs(torques(name) - column)[known].max()
            worst = max(worst, apart / max(np.ptp(column[known]), 10.0))
            count += 1
    return worst, count


def test_the_exported_files_give_the_torques_again(exported, walk_result):
    again = coordinate_torques(
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
    again = coordinate_torques(exported / "coordinates.mot", exported / "model.osim", cutoff_hz=0.0)
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


def test_an_export_is_not_replaced_unasked(tmp_path):
    folder, files, record = tmp_path / "here", {"a.osim": b"a", "b.mot": b"b"}, {"versions": {"biodyn": "1"}}
    write_export(folder, files, record)
    listed = json.loads((folder / "export.json").read_text())["files"]
    assert {entry["path"] for entry in listed} | {"export.json"} == {p.name for p in folder.iterdir()}
    with pytest.raises(ResultError, match="already holds an export"):
        write_export(folder, files, record)
    write_export(folder, {"c.trc": b"c"}, record, force=True)
    assert {p.name for p in folder.iterdir()} == {"c.trc", "export.json"}
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(ResultError, match=r"mine\.txt"):
        write_export(folder, files, record, force=True)
    (folder / "mine.txt").unlink()
    (folder / "c.trc").write_text("edited")
    with pytest.raises(ResultError, match="was changed"):
        write_export(folder, files, record, force=True)
    assert (folder / "c.trc").read_text() == "edited"
    other = tmp_path / "other"
    other.mkdir()
    (other / "x").write_text("x")
    with pytest.raises(ResultError, match="is not an export"):
        write_export(other, files, record, force=True)
    with pytest.raises(ResultError, match="is a file"):
        write_export(other / "x", files, record, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["here", "other"]


def _again_from(folder):
    again = coordinate_torques(folder / "coordinates.mot", folder / "model.osim", folder / "external_loads.xml", 0.0)
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
    with pytest.raises(ResultError, match="Omit --recording"):
        export(walk_result, "mat", tmp_path / "out", recording=laboratory.walk)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def small(walk_result):
    """The walk's view with fewer tables: those of tens of thousands of rows take seconds to write."""

    view = walk_result.view
    kept = ("joint_angles", "joint_torques", "joint_powers", "ground_reaction", "events", "spatiotemporal")
    return replace(view, tables={name: view.tables[name].iloc[:60] for name in kept})


def test_a_matlab_file_holds_every_table_with_its_meaning(small):
    from io import BytesIO

    from biodyn.trial.export.sheets import mat_file

    (name, content), *_ = mat_file(small, "")[0].items()
    assert name.endswith(".mat")
    read = loadmat(BytesIO(content), simplify_cells=True)
    assert read["info"]["mass_kg"] == pytest.approx(small.record["subject"]["mass_kg"])
    for table in small.tables:
        assert set(small.tables[table].columns) == {column["name"] for column in read[table]["columns"]}
    angles = small.tables["joint_angles"]
    np.testing.assert_array_equal(read["joint_angles"]["knee_angle_r_deg"], angles["knee_angle_r_deg"])
    assert list(read["events"]["event"]) == list(small.tables["events"]["event"])
    knee = next(c for c in read["joint_torques"]["columns"] if c["name"] == "knee_angle_r_Nm")
    assert (knee["unit"], knee["field"]) == ("Nm", "knee_angle_r_Nm")
    assert mat_file(small, "")[0][name] == content  # the same result, the same bytes


def test_matlab_names_are_names_there():
    from biodyn.trial.export.sheets import field_names

    assert field_names(["*12", "a b", "a_b", "x" * 80]) == ["x__12", "a_b", "a_b_2", "x" * 59]


def test_a_workbook_explains_its_columns_first(small):
    from io import BytesIO

    from biodyn.trial.export.sheets import xlsx_file

    (_, content), *_ = xlsx_file(small, "")[0].items()
    book = load_workbook(BytesIO(content), read_only=True)
    assert book.sheetnames == ["columns", *small.tables]
    explained = {(row[0], row[1]): row[2:4] for row in book["columns"].iter_rows(min_row=6, values_only=True)}
    for name, table in small.tables.items():
        for column in table.columns:
            assert explained[name, column][1]
    rows = list(book["joint_angles"].iter_rows(values_only=True))
    table = small.tables["joint_angles"]
    assert list(rows[0]) == list(table.columns)
    values = np.array([[np.nan if x is None else x for x in row] for row in rows[1:]], dtype=float)
    np.testing.assert_allclose(values, table.to_numpy(dtype=float), rtol=1e-12)


def test_a_workbook_without_its_library_says_what_to_install(small, monkeypatch):
    from biodyn.trial.export.sheets import xlsx_file

    monkeypatch.setattr("biodyn.trial.export.sheets.find_spec", lambda name: None)
    with pytest.raises(ResultError, match="xlsxwriter") as caught:
        xlsx_file(small, "")
    assert "biodyn[excel]" in caught.value.hint


def test_every_column_of_a_result_is_explained(walk_result):
    for name, table in walk_result.tables.items():
        for column in table.columns:
            found = column_description(name, column)
            assert found.meaning, (name, column)
            assert found.unit or not any(column.endswith(e) for e in ("_Nm", "_N", "_m", "_deg", "_W", "_s")), column


@pytest.mark.parametrize("convention", entry_names("conventions"))
def test_a_convention_is_the_tables_again_after_its_signs_and_units(walk_result, convention):
    """Back from the exported numbers by the table's own signs and factors: the tables."""
    from biodyn.library.tables import expand_sides, library_entry
    from biodyn.trial.export.c3d import _curves_by_name

    view = walk_result.view
    made, curves = {c.name: c for c in convention_channels(view, convention)}, _curves_by_name(view)
    mass = view.record["subject"]["mass_kg"]
    count = 0
    for raw in library_entry("conventions", convention).get("channel", ()):
        for side, entry in expand_sides(raw):
            per = mass if entry.get("per_mass") else 1.0
            parts = iter(made[entry["name"]].components)
            for axis in entry["axes"]:
                if axis["of"] not in curves:
                    continue
                back = next(parts).values * per / entry.get("factor", 1.0) * axis["sign"]
                back = -back if axis.get("mirror") and side == "l" else back
                np.testing.assert_allclose(back, curves[axis["of"]], rtol=1e-12)
                count += 1
    assert count >= 6
    first = make_sheets(view, convention)[0]
    assert [c.name for c in first.columns] == list(first.rows.columns)
    assert all(c.meaning and c.unit for c in first.columns)


def test_both_sides_of_a_walk_read_alike_in_every_convention(walk_result):
    """What a sign rule is for: in stance a leg bears its moments the same way, whichever it is."""
    for convention, name, axis in (
        ("plug_in_gait", "{}HipMoment", 1),
        ("plug_in_gait", "{}KneeMoment", 1),
        ("visual3d", "{}HipMoment", 1),
        ("isb", "hip_{}_moments", 1),
    ):
        made = {c.name: c for c in convention_channels(walk_result.view, convention)}
        means = []
        for side in ("r", "l"):
            values = made[name.format(side.upper() if name.startswith("{}") else side)].components[axis].values
            force = walk_result.ground_reaction[f"ground_force_{side}_y_N"].to_numpy()
            means.append(np.nanmean(values[force > 300.0]))
        assert means[0] * means[1] > 0.0, (convention, name, means)


def test_an_unknown_convention_names_those_there_are(walk_result, tmp_path):
    with pytest.raises(ResultError, match="There is no convention 'vicon'"):
        export(walk_result, "c3d", tmp_path / "out", convention="vicon")
    with pytest.raises(ResultError, match="OpenSim's conventions"):
        export(walk_result, "opensim", tmp_path / "out", convention="isb")


@pytest.mark.slow
@pytest.mark.parametrize(
    "walk",
    [
        "btk_pig/PiG_Motion3_noFF.c3d",
        "biomechzoo/HC030A/Straight/HC030A05.c3d",
        "biomechzoo/HC002D/Straight/HC002D06.c3d",
        "sydney/dynamic/S4-AMGait05.c3d",
    ],
)
def test_channels_are_those_of_the_laboratory_in_sign_and_unit(walk):
    """Plug-in Gait's own channels of real files against ours, over measured stance: sign, axis and unit of each."""
    result = biodyn.run_trial(
        recordings() / "gait" / walk, settings={"uncertainty": {"compute": False}}, preset="plug_in_gait"
    )
    outputs = biodyn.read(recordings() / "gait" / walk).model_outputs
    stance = {s: np.zeros(len(result.analysis.time_s), dtype=bool) for s in "rl"}
    for contact in result.analysis.contacts:
        if contact.decision == "assigned":
            stance[contact.side] |= (result.analysis.time_s >= contact.start_s) & (
                result.analysis.time_s <= contact.end_s
            )
    compared = []
    for channel in convention_channels(result.view, "plug_in_gait"):
        theirs = next((outputs[n].values for n in (channel.name, f"{channel.name}V") if n in outputs), None)
        for part in channel.components if theirs is not None else ():
            kind = f"{channel.name[1:]}/{'xyz'[part.axis]}"
            if kind not in COMPARED:
                continue
            a, b = part.values, theirs[:, part.axis]
            rows = np.isfinite(a) & np.isfinite(b) & (b != 0.0) & stance[channel.name[0].lower()]
            if rows.sum() < 20:
                continue
            r, scale = np.corrcoef(a[rows], b[rows])[0, 1], np.std(a[rows]) / np.std(b[rows])
            compared.append((r, channel.name, part.axis, scale))
            assert 0.4 < scale < 2.5, compared[-1]
    assert len(compared) >= 12
    # hip adduction of a model that no walk fitted has .89 (fitted .98); another axis or sign is far below
    assert min(compared)[0] > 0.88, sorted(compared)[:4]


#: What both programs define alike; the others rest on axes that differ (docs/export.md).
COMPARED = {
    "HipAngles/x", "HipAngles/y", "KneeAngles/x", "AnkleAngles/x", "PelvisAngles/z", "HipMoment/x", "HipMoment/y",
    "KneeMoment/x", "KneeMoment/z", "AnkleMoment/x", "AnklePower/z", "HipForce/z", "KneeForce/x", "KneeForce/z",
    "AnkleForce/x", "GroundReactionForce/x", "GroundReactionForce/y", "GroundReactionForce/z",
}  # fmt: skip


def test_coordinates_that_were_exported_are_not_filtered_again(walk_result, tmp_path):
    made = export(walk_result, "opensim", tmp_path / "out").folder
    files = (made / "coordinates.mot", made / "model.osim", made / "external_loads.xml")
    again, asked = coordinate_torques(*files), coordinate_torques(*files, cutoff_hz=0.0)
    assert again.record["settings"]["cutoff_hz"] == 0.0
    assert "model-cutoff" in [note.code for note in again.notes]
    np.testing.assert_array_equal(again.tau, asked.tau)
    text = files[0].read_text()
    files[0].write_text(text.replace("biodynSmooth=yes\n", ""))
    assert coordinate_torques(*files).cutoff_hz == 6.0
    files[0].write_text(text)
    assert coordinate_torques(*files, cutoff_hz=4.0).cutoff_hz == 4.0
