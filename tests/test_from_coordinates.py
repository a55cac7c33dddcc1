"""Torques of OpenSim models from coordinates and forces: what OpenSim's own tool gives, and a motion whose torques are known."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from support.osim_files import two_bodies
from support.real import recordings, reference_vectors
from typer.testing import CliRunner

from biodyn.cli import app
from biodyn.errors import InputFileError, ModelError
from biodyn.io.opensim.external_loads import ExternalForce, ExternalForces
from biodyn.io.opensim.storage import read_storage
from biodyn.processing.signals.derivatives import spline_derivatives
from biodyn.rigid_body import from_osim
from biodyn.trial.bodies import opensim_loads as model_torques
from biodyn.trial.bodies.opensim_motion import coordinate_torques


def _written(path, names, time_s, values, degrees=True):
    lines = [f"x\ninDegrees={'yes' if degrees else 'no'}\nendheader", "\t".join(["time", *names])]
    lines += ["\t".join(f"{x:.15g}" for x in (t, *row)) for t, row in zip(time_s, values, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def swing(tmp_path):
    """A model of two hinges and a smooth motion of it, in degrees."""
    model = tmp_path / "model.osim"
    model.write_text(two_bodies("PinJoint"))
    t = np.linspace(0.0, 2.0, 201)
    q = np.column_stack([30.0 * np.sin(3.0 * t), 20.0 * np.cos(2.0 * t)])
    return model, _written(tmp_path / "motion.mot", ("hinge", "c0"), t, q), t, q


def test_torques_of_a_known_motion(swing):
    model, motion, t, q = swing
    result = coordinate_torques(motion, model, cutoff_hz=0.0)
    w = np.array([3.0, 2.0])
    v = np.radians(np.column_stack([90.0 * np.cos(3 * t), -40.0 * np.sin(2 * t)]))
    vdot = -np.radians(q) * w**2
    exact = result.model.coupled.inverse_dynamics(np.radians(q), v, vdot)
    inside = slice(20, -20)  # the ends of a natural spline bend otherwise than a sine
    assert np.abs(result.tau - exact)[inside].max() < 1e-6 * np.ptp(exact)
    assert result.proof < 1e-12


def test_a_load_is_felt_as_the_virtual_work_it_does(swing, tmp_path):
    model, motion, t, _ = swing
    force, point = np.array([3.0, -5.0, 2.0]), np.array([0.2, 0.1, -0.3])
    columns = np.column_stack([np.tile(np.r_[force, point, 0.0, 4.0, 0.0], (len(t), 1))])
    names = [f"f_v{a}" for a in "xyz"] + [f"f_p{a}" for a in "xyz"] + [f"m_{a}" for a in "xyz"]
    _written(tmp_path / "grf.mot", names, t, columns)
    loads = tmp_path / "loads.xml"
    loads.write_text(
        '<OpenSimDocument Version="40000"><ExternalLoads><objects><ExternalForce name="f"><applied_to_body>b</applied_to_body>'
        "<force_identifier>f_v</force_identifier><point_identifier>f_p</point_identifier><torque_identifier>m_</torque_identifier>"
        "</ExternalForce></objects><datafile>grf.mot</datafile></ExternalLoads></OpenSimDocument>"
    )
    free, loaded = (coordinate_torques(motion, model, forces, cutoff_hz=0.0) for forces in (None, loads))
    # the point of body b where the load acts, moved by small changes of each coordinate
    coupled, b = free.model.coupled, free.model.multibody.body_index("b")
    R, p = coupled.body_poses(free.q)
    local = np.einsum("tji,tj->ti", R[:, b], point - p[:, b])
    for k in range(2):
        h = np.zeros(2)
        h[k] = 1e-6
        moved = [coupled.body_poses(free.q + s * h) for s in (1, -1)]
        places = [pp[:, b] + np.einsum("tij,tj->ti", RR[:, b], local) for RR, pp in moved]
        turn = np.einsum("tij,tkj->tik", moved[0][0][:, b], moved[1][0][:, b])
        axis = 0.5 * np.stack(
            [turn[:, 2, 1] - turn[:, 1, 2], turn[:, 0, 2] - turn[:, 2, 0], turn[:, 1, 0] - turn[:, 0, 1]], 1
        )
        work = ((places[0] - places[1]) @ force + axis @ [0.0, 4.0, 0.0]) / 2e-6
        np.testing.assert_allclose(free.tau[:, k] - loaded.tau[:, k], work, atol=1e-7)


@pytest.mark.parametrize(
    ("case", "cutoff_hz", "file", "limit"),
    [
        ("gait2354", 0.0, "id_nofilter.sto", 1e-6),  # the file's printed digits
        ("gait10", 0.0, "id_nofilter.sto", 1e-6),
        ("gait2354", 6.0, "id_6hz.sto", 1e-3),  # the first rows feel how the record is continued before its begin
        ("gait10", 6.0, "id_6hz.sto", 1e-3),
    ],
)
def test_a_walk_gives_what_opensims_tool_gives(case, cutoff_hz, file, limit):
    folder = reference_vectors() / "opensim" / case
    result = coordinate_torques(folder / "ik.mot", folder / "model.osim", folder / "external_loads.xml", cutoff_hz)
    theirs = read_storage(folder / file)
    rows = np.abs(result.time_s[:, None] - theirs.time_s).argmin(axis=1)
    for k, c in enumerate(result.model.coordinates):
        column = theirs.column(c.name + ("_moment" if c.rotational else "_force"))
        # their rows lie up to 1e-6 s beside ours
        assert np.abs(result.tau[:, k] - column[rows]).max() < (limit + 1e-3 * (cutoff_hz > 0)) * np.ptp(column), c.name


@pytest.mark.parametrize("subject", ["subject18", "subject19"])
def test_a_consistent_motion_leaves_no_residual(subject):
    folder = recordings() / "opensim/arnold2013_synthetic" / subject
    result = coordinate_torques(
        folder / "coordinates.sto", folder / f"{subject}.osim", folder / "trials/walk2/grf.mot", cutoff_hz=0.0
    )
    assert max(result.residual.values()) < 2.0
    theirs = read_storage(folder / "id.sto")
    differences = []
    for k, c in enumerate(result.model.coordinates):
        name = c.name + ("_moment" if c.rotational else "_force")
        if name in theirs.names and not c.to_ground:
            differences.append(result.tau[:, k] - np.interp(result.time_s, theirs.time_s, theirs.column(name)))
    assert np.sqrt(np.mean(np.square(differences))) < 0.5


def test_coordinates_that_are_not_given_stay_or_follow_and_are_named(swing, tmp_path):
    model, _, t, q = swing
    motion = _written(tmp_path / "one.mot", ("c0",), t, q[:, 1:])
    result = coordinate_torques(motion, model)
    assert not result.q[:, 0].any()
    note = next(note for note in result.notes if note.code == "locked-coordinates")
    assert "hinge" in note.message


@pytest.mark.parametrize("fault", ["gap", "few rows", "no coordinate", "unknown body"])
def test_what_cannot_be_computed_is_refused(swing, tmp_path, fault):
    model, _, t, q = swing
    names, forces, q = ("hinge", "c0"), None, q.copy()
    if fault == "gap":
        q[7, 1] = np.nan
    if fault == "few rows":
        t, q = t[:5], q[:5]
    if fault == "no coordinate":
        names = ("knee", "ankle")
    if fault == "unknown body":
        table = [f"ground_force_r_{v}{a}" for v in "vp" for a in "xyz"]
        forces = _written(tmp_path / "grf.mot", table, t, np.zeros((len(t), 6)))
    motion = _written(tmp_path / "m.mot", names, t, q)
    words = {
        "gap": "no value of c0",
        "few rows": "at least",
        "no coordinate": "no coordinate",
        "unknown body": "calcn_r",
    }
    with pytest.raises((InputFileError, ModelError), match=words[fault]):
        coordinate_torques(motion, model, forces)


def test_the_command_writes_tables_and_a_record(swing, tmp_path):
    model, motion, t, _ = swing
    out = tmp_path / "out"

    def biodyn(*words):
        return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})

    mine = tmp_path / "mine.toml"
    mine.write_text('[model]\nknee = "rotation"\n', encoding="utf-8")
    choices = ("--forces", "none", "--set", "signals.cutoff_hz=6", "--settings", mine)
    result = biodyn("run", motion, "--model", model, "--out", out, *choices)
    assert result.exit_code == 0, result.output
    assert "are ignored: model.knee." in result.output
    torques = pd.read_csv(out / "tables" / "joint_torques.csv")
    residual = [f"residual_f{a}_N" for a in "xyz"] + [f"residual_m{a}_Nm" for a in "xyz"]
    assert list(torques) == ["time_s", "hinge_Nm", "c0_Nm", *residual, "reason"]
    assert len(torques) == len(t)
    record = json.loads((out / "run.json").read_text())
    assert record["proof"]["mass_matrix"] < record["proof"]["limit"]
    assert {"model.osim", "report.html", "result.npz"} <= {entry["path"] for entry in record["files"]}
    assert biodyn("report", out).exit_code == 0
    assert (
        biodyn("run", motion, "--model", model, "--out", tmp_path / "no", "--set", "model.knee=rotation").exit_code == 2
    )
    assert biodyn("run", motion, "--model", model, "--out", out).exit_code == 2  # not replaced unasked
    for words, why in (
        (("run", motion, "--out", tmp_path / "no"), "--model"),
        (("run", motion, "--model", model, "--mass", "70", "--out", tmp_path / "no"), "--mass"),
        (("run", model, "--model", model, "--out", tmp_path / "no"), "not a recording of a known format"),
        (
            ("run", motion, "--model", model, "--set", "model.fit=none", "--out", tmp_path / "no"),
            "'model.fit=none' does not apply to --model. Settings that apply: signals.cutoff_hz",
        ),
    ):
        refused = biodyn(*words)
        assert refused.exit_code == 2
        assert why in refused.output
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(("frames", "is_told"), [(9, False), (60, True)])
def test_a_body_that_nothing_bears_is_told(swing, frames, is_told):
    """As where a foot stands on unmeasured floor, or no forces were named."""
    result = coordinate_torques(*reversed(swing[:2]))
    slides = [SimpleNamespace(name=f"t{axis}", to_ground=True, rotational=False) for axis in "xyz"]
    model = SimpleNamespace(coordinates=slides, multibody=SimpleNamespace(total_mass_kg=70.0))
    force = np.zeros((201, 3))
    force[:frames, 1] = 300.0
    codes = {note.code for note in replace(result, model=model, tau=force).findings}
    assert ("forces-missing" in codes) is is_told
    assert "forces-missing" not in {note.code for note in result.findings}  # held at the ground by hinges


def test_a_long_table_of_forces_in_parts_is_the_same(swing, monkeypatch):
    model, motion, t, _ = swing
    body, table = from_osim(model), read_storage(motion)
    named = ExternalForce("f", "b", ("hinge", "c0", "hinge"), ("c0", "c0", "hinge"), (), "ground", "ground")
    forces = ExternalForces((named,), table)
    q, v, vdot = spline_derivatives(t, np.zeros((len(t), 2)), 0.0)
    whole, _ = model_torques.compute_checked_torques(body, q, v, vdot, model_torques.table_loads(body, forces, t))
    monkeypatch.setattr(model_torques, "_LONG_TABLE", 10)
    monkeypatch.setattr(model_torques, "_BLOCK", 30)
    parts, proof = model_torques.compute_checked_torques(body, q, v, vdot, model_torques.table_loads(body, forces, t))
    np.testing.assert_allclose(parts, whole, rtol=1e-10, atol=1e-9)
    assert proof < 1e-12


@pytest.mark.parametrize("part", [0, 3])
def test_rows_that_do_not_tell_the_load_have_no_torques(swing, tmp_path, part):
    """A gap amid stance, of the force or of its point, is not the foot in the air; one at rest is."""
    model, motion, t, _ = swing
    names = [f"ground_force_calcn_r_{kind}{axis}" for kind in "vp" for axis in "xyz"]
    columns = np.tile([3.0, 500.0, 2.0, 0.2, 0.0, 0.1], (len(t), 1))
    columns[:50, :3] = 0.0
    loads = tmp_path / "loads.xml"
    loads.write_text(
        '<OpenSimDocument Version="40000"><ExternalLoads><objects><ExternalForce name="f"><applied_to_body>b</applied_to_body>'
        "<force_identifier>ground_force_calcn_r_v</force_identifier><point_identifier>ground_force_calcn_r_p"
        "</point_identifier></ExternalForce></objects><datafile>grf.mot</datafile></ExternalLoads></OpenSimDocument>"
    )
    _written(tmp_path / "grf.mot", names, t, columns)
    sound = coordinate_torques(motion, model, loads).tau
    columns[20, part : part + 3] = np.nan
    columns[100:103, part : part + 3] = np.nan
    _written(tmp_path / "grf.mot", names, t, columns)
    result = coordinate_torques(motion, model, loads)
    assert list(np.flatnonzero(np.isnan(result.tau).any(axis=1))) == [100, 101, 102]
    np.testing.assert_allclose(result.tau[60:100], sound[60:100], rtol=1e-6)
    assert "forces-incomplete" in {note.code for note in result.notes}


def test_a_motion_that_ends_before_its_announced_rows_is_told(swing, tmp_path):
    model, motion, t, _ = swing
    path = tmp_path / "cut.mot"
    path.write_text(motion.read_text().replace("inDegrees", f"nRows={len(t) + 7}\ninDegrees"))
    told = {note.code: note for note in coordinate_torques(path, model).notes}
    assert "contains 201; 201 are read" in told["recording-repaired"].message
    assert "recording-repaired" not in {note.code for note in coordinate_torques(motion, model).notes}
