"""Torques of OpenSim models from markers: OpenSim's optimum, ranges, couplings and tasks, a walk whose torques are known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from simulator.trc_writer import write_trc
from support.osim_files import two_bodies
from support.real import recordings, reference_vectors
from typer.testing import CliRunner

from biodyn.cli import app
from biodyn.errors import InputFileError, ModelError
from biodyn.io import read
from biodyn.io.opensim.external_loads import read_external_loads
from biodyn.io.opensim.storage import read_storage
from biodyn.io.opensim.tool_setups import read_ik_setup
from biodyn.processing.kinematics.opensim_inverse_kinematics import TrackingTasks, fit_to_markers
from biodyn.recording import ForcePlate, Markers
from biodyn.rigid_body import from_osim
from biodyn.trial.bodies.opensim_inputs import read_points, tasks_of_setup
from biodyn.trial.bodies.opensim_loads import plate_loads, table_loads
from biodyn.trial.bodies.opensim_motion import fit_model_to_markers, torques_of_fit, torques_of_fitted_model
from biodyn.trial.bodies.opensim_result import MotionSource

PLACES = {
    "a1": (0.1, 0.3, 0.02),
    "a2": (-0.2, 0.1, 0.1),
    "b1": (0.1, 0.0, 0.02),
    "b2": (0.0, 0.2, 0.0),
    "b3": (0.0, 0.05, 0.3),
    "b4": (-0.1, -0.1, 0.1),
}


def _with(text, markers=PLACES, constraint="", coordinate=""):
    body = "".join(
        f'<Marker name="{name}"><socket_parent_frame>/bodyset/{name[0]}</socket_parent_frame>'
        f"<location>{x} {y} {z}</location></Marker>"
        for name, (x, y, z) in markers.items()
    )
    text = text.replace('<Coordinate name="c0">', f'<Coordinate name="c0">{coordinate}')
    begin, end = text.index("<Marker "), text.index("</objects></MarkerSet>")
    return (text[:begin] + body + text[end:]).replace("</Model>", f"{constraint}</Model>")


def _seen(model, q):
    """Where the markers are (T, M, 3)."""
    R, p = model.coupled.body_poses(q)
    at = [model.multibody.body_index(marker.body) for marker in model.markers]
    places = np.array([marker.place_m for marker in model.markers])
    return np.einsum("tmij,mj->tmi", R[:, at], places) + p[:, at]


@pytest.mark.parametrize("kind", ["PinJoint", "UniversalJoint", "BallJoint", "PlanarJoint", "FreeJoint", "CustomJoint"])
def test_every_kind_of_joint_is_found_again(kind, tmp_path):
    path = tmp_path / "model.osim"
    path.write_text(_with(two_bodies(kind)))
    model = from_osim(path)
    t = np.linspace(0.0, 1.0, 12)
    q = np.stack([0.3 * np.sin((1.0 + k) * t + k) for k in range(len(model.coordinates))], axis=1)
    fit = fit_to_markers(model, [m.name for m in model.markers], _seen(model, q), t)
    assert fit.rms_m < 1e-9
    np.testing.assert_allclose(fit.q, q, atol=1e-6)


def test_nothing_near_is_better_than_what_is_found(tmp_path):
    """With markers that no pose explains and a pull: the cost rises in every direction, by its own formula."""
    path = tmp_path / "model.osim"
    path.write_text(_with(two_bodies("CustomJoint")))
    model, rng = from_osim(path), np.random.default_rng(1)
    n = len(model.coordinates)
    seen = _seen(model, rng.uniform(-0.3, 0.3, (5, n))) + 0.03 * rng.normal(size=(5, 6, 3))
    seen[2, 1] = np.nan
    weights = dict(zip(PLACES, (1.0, 2.0, 0.5, 3.0, 1.0, 0.7), strict=True))
    tasks = TrackingTasks(weights, {"c1": (0.2, 0.1)})
    fit = fit_to_markers(model, list(PLACES), seen, np.arange(5.0), tasks)
    k = [c.name for c in model.coordinates].index("c1")

    def cost(q):
        r = np.sum((_seen(model, q) - seen) ** 2, axis=2) * list(weights.values())
        total = np.isfinite(r) @ np.array(list(weights.values()))
        return np.nansum(r, axis=1) + 0.2 * total * (q[:, k] - 0.1) ** 2

    least = cost(fit.q)
    np.testing.assert_allclose(fit.solution.cost, least, rtol=1e-12)
    for _ in range(50):
        assert (cost(fit.q + 1e-4 * rng.normal(size=(5, n))) > least).all()


def test_ranges_locks_and_couplings_hold(tmp_path):
    path = tmp_path / "model.osim"
    coupler = (
        '<ConstraintSet><objects><CoordinateCouplerConstraint name="k"><isEnforced>true</isEnforced>'
        "<coupled_coordinates_function><LinearFunction><coefficients>0.5 0.1</coefficients></LinearFunction>"
        "</coupled_coordinates_function><independent_coordinate_names>c0</independent_coordinate_names>"
        "<dependent_coordinate_name>c1</dependent_coordinate_name></CoordinateCouplerConstraint></objects></ConstraintSet>"
    )
    limits = "<clamped>true</clamped>"
    path.write_text(_with(two_bodies("UniversalJoint"), constraint=coupler, coordinate=limits))
    model = from_osim(path)
    names = [c.name for c in model.coordinates]
    t = np.linspace(0.0, 1.0, 20)
    q = np.zeros((20, len(names)))
    q[:, names.index("c0")] = 1.4 * np.sin(6.0 * t)  # beyond the range of +-1
    seen = _seen(model, model.apply_couplings(q))
    fit = fit_to_markers(model, list(PLACES), seen, t)
    c0, c1 = fit.q[:, names.index("c0")], fit.q[:, names.index("c1")]
    assert np.abs(c0).max() == 1.0
    np.testing.assert_allclose(c1, 0.5 * c0 + 0.1, atol=1e-15)
    inside = np.abs(q[:, names.index("c0")]) < 0.9
    np.testing.assert_allclose(c0[inside], q[inside, names.index("c0")], atol=1e-6)
    path.write_text(
        _with(two_bodies("UniversalJoint"), coordinate="<locked>true</locked><default_value>0.3</default_value>")
    )
    held = from_osim(path)
    assert (fit_to_markers(held, list(PLACES), seen, t).q[:, names.index("c0")] == 0.3).all()


@pytest.mark.parametrize(
    "case", ["gait2354", *(pytest.param(name, marks=pytest.mark.slow) for name in ("lower12", "full22"))]
)
def test_opensims_optimum(case):
    folder = reference_vectors() / "opensim/ik"
    model, theirs = from_osim(folder / f"{case}.osim"), np.load(folder / f"{case}.npz")
    recording = read(folder / f"{case}.trc")
    rows = slice(0, 60)
    tasks = TrackingTasks(
        dict(zip(theirs["marker_names"], theirs["marker_weights"], strict=True)),
        {
            name: (weight, value)
            for name, value, weight in zip(
                *(theirs[f"coord_task_{what}"] for what in ("names", "values", "weights")), strict=True
            )
        },
    )
    fit = fit_to_markers(
        model, recording.markers.labels, recording.markers.positions[rows], theirs["time"][rows], tasks
    )
    order = [list(theirs["coord_names"]).index(c.name) for c in model.coordinates]
    off = np.abs(fit.q - theirs["q_1e-9"][rows][:, order])
    turns = np.array([c.rotational for c in model.coordinates])
    assert np.degrees(off[:, turns].max()) < 1e-3
    assert off[:, ~turns].max() < 1e-7
    cost = np.nansum(fit.weights * fit.solution.marker_error**2, axis=1)
    assert ((cost - theirs["cost_1e-9"][rows]) < 1e-9 * theirs["cost_1e-9"][rows]).all()


@pytest.mark.parametrize("subject", ["subject18", pytest.param("subject19", marks=pytest.mark.slow)])
def test_markers_and_forces_alone_give_the_torques(subject):
    folder = recordings() / "opensim/arnold2013_synthetic" / subject
    walk = folder / "trials/walk2"
    result = torques_of_fitted_model(
        fit_model_to_markers(walk / "markers.trc", folder / f"{subject}.osim", walk / "grf.mot")
    )
    assert result.cutoff_hz == 0.0  # the markers are the model's own
    theirs = read_storage(folder / "id.sto")
    for k, c in enumerate(result.model.coordinates):
        name = c.name + ("_moment" if c.rotational else "_force")
        if name in theirs.names and not c.to_ground:
            off = result.tau[:, k] - np.interp(result.time_s, theirs.time_s, theirs.column(name))
            assert np.sqrt(np.mean(off**2)) < 0.5, c.name
    assert max(result.residual.values()) < 2.0


def test_set_ups_of_several_versions():
    data = recordings() / "opensim"
    old, new = data / "core_ik", data / "gait2354_tutorial"
    weighted = read_ik_setup(old / "gait2354_IK_Tasks.xml")  # a bare task set whose last tag was never opened
    assert weighted.markers["V.Sacral"] == 10.0
    uniform = read_ik_setup(old / "subject01_Setup_InverseKinematics.xml")  # names a file with the tasks
    assert set(uniform.markers.values()) == {1.0}
    full = read_ik_setup(new / "subject01_Setup_IK.xml")
    assert full.time_range_s == (0.4, 1.6)
    assert {task.name for task in full.coordinates} >= {"subtalar_angle_r", "mtp_angle_l"}
    assert full.notes


@pytest.fixture
def hinge(tmp_path):
    """A model with four markers and a recording of it."""
    model = tmp_path / "model.osim"
    model.write_text(_with(two_bodies("PinJoint")))
    body = from_osim(model)
    t = np.arange(100) / 100.0
    q = np.stack([0.4 * np.sin(3.0 * t), 0.3 * np.cos(2.0 * t)], axis=1)
    walk = tmp_path / "walk.trc"
    write_trc(walk, Markers(tuple(PLACES), _seen(body, q), 100.0))
    return model, walk, q


def test_the_command_writes_marker_errors_beside_angles_and_torques(hinge, tmp_path):
    model, walk, q = hinge
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["run", str(walk), "--model", str(model), "--out", str(out)])
    assert done.exit_code == 0, done.output
    record = json.loads((out / "run.json").read_text())
    assert record["inverse_kinematics"]["markers"] == dict.fromkeys(PLACES, 1.0)
    errors = pd.read_csv(out / "tables/marker_errors.csv")
    assert list(errors) == ["time_s", *PLACES, "rms"]
    angles = pd.read_csv(out / "tables/joint_angles.csv")
    names = [f"{c.name}_deg" for c in from_osim(model).coordinates]
    assert np.abs(angles[names].to_numpy() - np.degrees(q)).max() < 1e-3


def test_frames_without_markers_have_no_torques(hinge, tmp_path):
    model, walk, _ = hinge
    recording = read(walk)
    gone = recording.markers.positions.copy()
    gone[40:60] = np.nan  # longer than what is filled
    write_trc(walk, Markers(recording.markers.labels, gone, 100.0))
    result = torques_of_fitted_model(fit_model_to_markers(walk, model, cutoff_hz=0.0))
    missing = np.isnan(result.tau).all(axis=1)
    assert missing[40:60].all()
    assert not missing[:40].any()
    assert not missing[60:].any()
    assert "ik-unseen" in {note.code for note in result.notes}


@pytest.mark.parametrize(
    ("hidden", "seconds", "most_nm"), [(("R.ASIS", "L.ASIS", "V.Sacral"), 0.02, 0.5), (("R.ASIS",), 0.15, 8.0)]
)
def test_hidden_markers_kick_no_torque(tmp_path, hidden, seconds, most_nm):
    """A frame without pelvis markers changed a torque by 20 Nm, now .1; .15 s without one of them by 14, now 6."""
    data = recordings() / "opensim"
    walk, model = data / "gait2354_tutorial/subject01_walk1.trc", data / "core_ik/subject01_simbody.osim"
    forces = data / "gait2354_tutorial/subject01_walk1_grf.xml"
    recording = read(walk, "none")
    markers = recording.markers
    gone = markers.positions.copy()
    first = markers.frame_count // 2
    columns = [markers.labels.index(label) for label in hidden]
    gone[first : first + max(round(seconds * markers.rate_hz), 1), columns] = np.nan
    part = tmp_path / walk.name
    write_trc(part, Markers(markers.labels, gone, markers.rate_hz))
    whole, left = (
        torques_of_fitted_model(fit_model_to_markers(path, model, forces, cutoff_hz=6.0)) for path in (walk, part)
    )
    off = np.abs(left.tau - whole.tau)[:, [not c.to_ground for c in whole.model.coordinates]]
    assert off.max() < most_nm


@pytest.mark.parametrize(
    "fault", ["no common markers", "weights of zero", "negative weight", "no tasks", "other markers"]
)
def test_what_cannot_be_followed_is_refused_in_a_sentence(hinge, tmp_path, fault):
    model, walk, _ = hinge
    setup = tmp_path / "ik.xml"
    weight = {"weights of zero": 0, "negative weight": -1}.get(fault, 1)
    named = ["x", "y", "z"] if fault == "other markers" else list(PLACES)
    tasks = "".join(f'<IKMarkerTask name="{n}"><weight>{weight}</weight></IKMarkerTask>' for n in named)
    setup.write_text(f"<IKTaskSet><objects>{'' if fault == 'no tasks' else tasks}</objects></IKTaskSet>")
    if fault == "no common markers":
        positions = read(walk).markers.positions
        write_trc(walk, Markers(tuple("ABCDEF"), positions, 100.0))
    words = {
        "no common markers": "0 markers in common",
        "weights of zero": "weight above 0",
        "negative weight": "must not be negative",
        "no tasks": "lists no marker",
        "other markers": "0 markers in common with a task in the set-up",
    }
    with pytest.raises((InputFileError, ModelError), match=words[fault]):
        torques_of_fitted_model(fit_model_to_markers(walk, model, ik_setup=setup))


def test_tasks_that_nobody_can_follow_are_named(hinge, tmp_path):
    model, _, _ = hinge
    setup = tmp_path / "ik.xml"
    tasks = "".join(f'<IKMarkerTask name="{n}"><weight>1</weight></IKMarkerTask>' for n in [*PLACES, "gone"])
    setup.write_text(
        f'<IKTaskSet><objects>{tasks}<IKCoordinateTask name="elbow"><weight>1</weight></IKCoordinateTask></objects></IKTaskSet>'
    )
    body = from_osim(model)
    found = tasks_of_setup(read_ik_setup(setup), body, np.arange(3.0))
    fit = fit_to_markers(body, list(PLACES), _seen(body, np.zeros((3, len(body.coordinates)))), np.arange(3.0), found)
    assert " ".join(note.message for note in fit.notes if note.code == "marker-weights").count("gone") == 1
    assert any("elbow" in note.message for note in fit.notes)


def test_plates_load_the_foot_that_stands_on_them():
    """Two plates that feel the forces of a table give the torques that the table gives."""
    folder = recordings() / "opensim/arnold2013_synthetic/subject18"
    walk, model = folder / "trials/walk2", from_osim(folder / "subject18.osim")
    points = read_points(walk / "markers.trc", model)
    fit = fit_to_markers(model, points.labels, points.positions, points.time_s)
    table = read_storage(walk / "grf.mot")
    plates, middle = [], -0.495  # the feet pass on both sides of this line
    for number, (side, near, far) in enumerate((("r", middle + 0.005, -0.2), ("l", -0.8, middle - 0.005)), start=1):
        force, point, torque = (
            np.stack([np.interp(points.time_s, table.time_s, table.column(f"ground_{what}{a}")) for a in "xyz"], axis=1)
            for what in (f"force_{side}_v", f"force_{side}_p", f"torque_{side}_")
        )
        corners = np.array([[3.0, 0.0, near], [3.0, 0.0, far], [-1.0, 0.0, far], [-1.0, 0.0, near]])
        centre = corners.mean(axis=0)
        moment = torque + np.cross(point - centre, force)
        x, y = corners[0] - corners[1], corners[0] - corners[3]
        R = np.stack([x / np.linalg.norm(x), y / np.linalg.norm(y), np.cross(x, y) / np.linalg.norm(np.cross(x, y))])
        channels = -np.concatenate([force @ R.T, moment @ R.T], axis=1)  # the action on the plate
        plates.append(ForcePlate(number, 2, corners, np.zeros(3), channels, points.recording.markers.rate_hz))
    recording = replace(points.recording, plates=tuple(plates))
    found, notes = plate_loads(model, recording, fit.q, 0.0, model.multibody.total_mass_kg)
    assert found is not None, notes
    assert [body for _, body in found.named] == ["calcn_r", "calcn_l"]
    by_plates, by_table = (
        torques_of_fit(model, fit, points.time_s, MotionSource(recording, np.eye(3), loads), 0.0)
        for loads in (found.loads, table_loads(model, read_external_loads(walk / "grf.mot"), points.time_s))
    )
    for k, c in enumerate(model.coordinates):
        known = np.isfinite(by_plates.tau[:, k])
        assert known.mean() > 0.5, c.name
        off = np.abs(by_plates.tau - by_table.tau)[known, k]
        # plates lose the level they have in swing and what is below the threshold of a contact
        assert np.sqrt(np.mean(off**2)) < (8.0 if c.to_ground else 2.5), c.name


@pytest.mark.slow
def test_forces_beside_a_walk_are_used_where_a_setup_names_a_part_of_it():
    """They were said to be used, and were not: the joint to ground bore the body, 725 N."""
    data = recordings() / "opensim"
    case, model = data / "gait2354_tutorial", data / "core_ik/subject01_simbody.osim"
    result = torques_of_fitted_model(
        fit_model_to_markers(
            case / "subject01_walk1.trc", model, ik_setup=case / "subject01_Setup_IK.xml", cutoff_hz=6.0
        )
    )
    assert len(result.time_s) == 73
    assert [body for _, body in result.loads] == ["calcn_r", "calcn_l"]
    assert result.residual["pelvis_ty"] < 60.0
    assert {path.name for name, path in result.files.items() if name.startswith("also_read")} >= {
        "subject01_walk1_grf.xml"
    }
    without = torques_of_fitted_model(
        fit_model_to_markers(
            case / "subject01_walk1.trc", model, "none", case / "subject01_Setup_IK.xml", cutoff_hz=6.0
        )
    )
    assert not without.loads
    assert not any("ground forces are those" in note.message for note in without.notes)
    assert "forces-missing" in {note.code for note in without.findings}


def test_computed_points_are_turned_with_the_markers():
    data = recordings() / "opensim"
    model = from_osim(data / "arnold2013_synthetic/subject18/subject18.osim")
    points = read_points(data / "c3d_to_grf/walking2.c3d", model, forces_beside=True)  # Z up
    hip, front = (points.positions[:, points.labels.index(name)] for name in ("RHJC", "RASI"))
    assert np.nanmax(np.linalg.norm(hip - front, axis=1)) < 0.3
