"""A trial on an OpenSim model has all that a trial has: cycles, joint loads, checks, report; and it says what it lacks."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.benchmark import load
from support.real import recordings

import biodyn
from biodyn.conventions import SIDES
from biodyn.errors import ModelError, SettingsError, StudyError
from biodyn.model.from_osim.imported_model import ImportedModel, imported_model
from biodyn.model.from_osim.part_identification import feet_by_side, joint_title, match_variable, split_side
from biodyn.output.report.page import methods_text
from biodyn.output.store.result_writer import result_arrays
from biodyn.processing.dynamics.actuated_motion import actuated_motion_from_arrays
from biodyn.processing.kinematics import opensim_inverse_kinematics
from biodyn.processing.kinematics.opensim_inverse_kinematics import TrackingTasks, fit_to_markers
from biodyn.rigid_body import from_osim
from biodyn.rigid_body.coupling.reduced_tree import ReducedTree
from biodyn.rigid_body.marker_fit import UNDETERMINED
from biodyn.study import open_session
from biodyn.trial.bodies.opensim import ModelResult, run_on_model
from biodyn.trial.bodies.opensim_result import model_motion
from biodyn.trial.request import trial_request
from biodyn.trial.run import analyse_trial
from biodyn.trial.sensitivity import vary_request
from biodyn.uncertainty.monte_carlo_bands import centre_sd_m, shift_joint_centres
from biodyn.uncertainty.propagation_inputs import load_magnitudes

_NO_PICTURES = {"output": {"figures": False}}


@pytest.fixture(scope="module")
def walk() -> ModelResult:
    """Seven steps of a gait2354 model, coordinates and forces given; its knees count extension as positive."""
    data = recordings() / "opensim/core_id"
    found = run_on_model(
        trial_request(
            data / "subject01_walk1_ik.mot",
            height_m=1.8,
            settings=_NO_PICTURES,
            model=data / "subject01.osim",
            forces=data / "subject01_walk1_grf.xml",
        )
    )
    assert isinstance(found, ModelResult)
    return found


def test_names_tell_sides_feet_joints_and_geometry_the_sign():
    assert split_side("knee_angle_r") == ("r", "knee_angle")
    assert split_side("r_knee_angle") == ("r", "knee_angle")
    assert split_side("lumbar_extension") == ("", "lumbar_extension")
    assert feet_by_side(["pelvis", "calcn_r", "toes_r", "foot_l"]) == {"r": "calcn_r", "l": "foot_l"}
    assert joint_title("walker_knee_r") == "knee"
    assert match_variable("knee_angle_l", np.array([0.0, 0.0, -0.1])) == ("knee_angle", 1.0)
    assert match_variable("knee_angle_l", np.array([0.0, 0.0, 0.1])) == ("knee_angle", -1.0)
    assert match_variable("hip_adduction_l", np.array([-0.1, 0.0, 0.0])) == ("hip_adduction", 1.0)
    assert match_variable("knee_angle_r", np.array([0.1, 0.0, 0.0])) is None  # the name alone is not believed


def test_the_bodies_lie_where_the_model_has_them(walk):
    analysis, own = walk.analysis, walk.own
    model = analysis.model
    assert isinstance(model, ImportedModel)
    R, p = model.osim.coupled.body_poses(own.q)
    turn = analysis.imported.motion.R_WG
    for body in model.bodies:
        name = body.definition.name
        at = model.osim.multibody.body_index(name)
        found_R, found_p = analysis.fit.body_pose(name)
        np.testing.assert_allclose(found_p, p[:, at] @ turn.T, atol=1e-12)
        np.testing.assert_allclose(found_R, turn @ R[:, at] @ model.frames[name].R_LB, atol=1e-12)


def test_all_identities_hold_and_the_residual_is_the_models_own(walk):
    """The tree of bodies below a floating root and the model's coordinates are two descriptions of one motion."""
    assert walk.analysis.consistency.holds
    assert walk.verdict.status == "pass"
    dynamics, own = walk.analysis.dynamics, walk.own
    at = [k for k, c in enumerate(own.model.coordinates) if c.to_ground and not c.rotational]
    known = np.isfinite(dynamics.residual_force[:, 0])
    turned = own.tau[known][:, at] @ walk.analysis.imported.motion.R_WG.T
    np.testing.assert_allclose(dynamics.residual_force[known], turned, atol=1e-8)
    parts = walk.tables["joint_torque_parts"].groupby(["coordinate", "time_s"], observed=True)["value"].sum(min_count=4)
    knee = parts["knee_angle_r"].to_numpy()
    column = [c.name for c in own.model.coordinates].index("knee_angle_r")
    seen = np.isfinite(knee)
    assert seen.mean() > 0.9
    np.testing.assert_allclose(knee[seen], own.tau[seen, column], atol=1e-8)


def test_height_and_time_of_the_steps_are_told(walk):
    assert walk.record["subject"]["height_m"] == 1.8
    assert walk.record["subject"]["height_source"].startswith("given by the user")
    seconds = walk.record["timings_s"]
    assert list(seconds) == ["inverse dynamics", "joint loads", "uncertainty", "checks", "consistency"]
    assert min(seconds.values()) >= 0.0
    assert seconds["consistency"] > 0.0


def test_segments_are_known_without_the_usual_names(walk, tmp_path):
    """By names, else by the joints' names, else by where a body stands in a leg: the same joints are uncertain in all three."""
    usual = walk.analysis.model
    source = usual.osim
    text = (recordings() / "opensim/core_id/subject01.osim").read_text()
    other = {"femur": "os1", "tibia": "os2", "talus": "os3", "calcn": "os4", "toes": "os5"}
    joints = {"hip": "ja", "knee": "jb", "ankle": "jc", "subtalar": "jd", "mtp": "je"}
    magnitudes = load_magnitudes()
    expected = {n.replace(n[:-2], other.get(n[:-2], n[:-2])): sd for n, sd in centre_sd_m(usual, magnitudes).items()}
    expected = {name: sd.tolist() for name, sd in expected.items()}
    assert (
        expected["os3_r"] == expected["os4_r"] == magnitudes.joint_centre_m["calcn_r"].tolist()
    )  # ankle and subtalar joint
    for named in (other, other | joints):
        changed = text
        for old, new in named.items():
            for side in SIDES:
                changed = re.sub(rf"\b{old}_{side}\b", f"{new}_{side}", changed)
        path = tmp_path / "other.osim"
        path.write_text(changed)
        model = imported_model(from_osim(path))
        assert set(model.osim.multibody.body_names) != set(source.multibody.body_names)
        found = {name: sd.tolist() for name, sd in centre_sd_m(model, magnitudes).items()}
        found.pop("os5_r", None), found.pop("os5_l", None)  # nothing tells a toe joint apart there
        assert found == expected


def test_open_coordinates_are_named():
    """No marker of this model lies beyond the toe joints; without those of the right foot the ankle is open too."""
    model = from_osim(recordings() / "opensim/core_ik/subject01_simbody.osim")
    q = model.default_configuration()[None]
    R, p = model.coupled.body_poses(q)
    b = [model.multibody.body_index(str(m.body)) for m in model.markers]
    x = np.einsum("mij,mj->mi", R[0, b], [m.place_m for m in model.markers]) + p[0, b]
    fit = fit_to_markers(model, [m.name for m in model.markers], x[None], np.zeros(1))
    assert fit.open == ("mtp_angle_r", "mtp_angle_l")
    assert "mtp_angle_r, mtp_angle_l" in next(note.message for note in fit.notes if note.code == "ik-undetermined")
    on_foot = [str(m.body) in ("calcn_r", "toes_r", "talus_r") for m in model.markers]
    bare = fit_to_markers(
        model, [m.name for m in model.markers], np.where(np.array(on_foot)[:, None], np.nan, x)[None], np.zeros(1)
    )
    assert set(bare.open) == {"ankle_angle_r", "subtalar_angle_r", "mtp_angle_r", "mtp_angle_l"}


def test_a_fit_that_is_called_undetermined_names_a_coordinate(monkeypatch):
    """The fit judges by the exact curvature: where that alone is small, the coordinate that keeps least is named."""
    model = from_osim(recordings() / "opensim/core_ik/subject01_simbody.osim")
    names, q = [m.name for m in model.markers], model.default_configuration()[None]
    R, p = model.coupled.body_poses(q)
    b = [model.multibody.body_index(str(m.body)) for m in model.markers]
    x = (np.einsum("mij,mj->mi", R[0, b], [m.place_m for m in model.markers]) + p[0, b])[None]
    toes = TrackingTasks(coordinates={"mtp_angle_r": (1.0, None), "mtp_angle_l": (1.0, None)})
    assert fit_to_markers(model, names, x, np.zeros(1), toes).open == ()
    solved = opensim_inverse_kinematics.fit_coordinates

    def flagged(*given):
        found = solved(*given)
        return replace(found, status=np.full_like(found.status, UNDETERMINED))

    monkeypatch.setattr(opensim_inverse_kinematics, "fit_coordinates", flagged)
    fit = fit_to_markers(model, names, x, np.zeros(1), toes)
    (note,) = [note for note in fit.notes if note.code == "ik-undetermined"]
    assert len(fit.open) == 1
    assert f"The markers leave {fit.open[0]} undetermined" in note.message


def test_frames_that_leave_the_pelvis_open_have_no_motion():
    """Shanks and feet alone do not tell it; thighs do, and a marker set without them is as it is."""
    model = from_osim(recordings() / "opensim/core_ik/subject01_simbody.osim")
    names, q = [m.name for m in model.markers], model.default_configuration()[None]
    R, p = model.coupled.body_poses(q)
    on = [str(m.body) for m in model.markers]
    b = [model.multibody.body_index(body) for body in on]
    x = (np.einsum("mij,mj->mi", R[0, b], [m.place_m for m in model.markers]) + p[0, b])[None].repeat(40, axis=0)
    above = np.array([body in ("pelvis", "torso", "head") for body in on])
    thighs = np.array([body.startswith("femur") for body in on])
    x[10:15, above | thighs] = np.nan
    x[20:25, above & ~thighs & (np.array(on) == "pelvis")] = np.nan
    fit = fit_to_markers(model, names, x, np.arange(40) / 100.0)
    gone = np.zeros(40, dtype=bool)
    gone[10:15] = True
    np.testing.assert_array_equal(np.isnan(fit.q).any(axis=1), gone)
    (note,) = [note for note in fit.notes if note.code == "root-undetermined"]
    assert (note.severity, note.value, note.frames) == ("warning", 5.0, (10, 14))
    legs = [i for i, name in enumerate(names) if not (above | thighs)[i]]
    bare = fit_to_markers(model, [names[i] for i in legs], x[:8, legs], np.arange(8) / 100.0)
    assert np.isfinite(bare.q).all()


def test_cycles_count_the_usual_way_and_tables_the_models(walk):
    cycles = walk.gait_cycles
    counts = cycles.groupby("side", observed=True)["cycle"].nunique()
    assert {side: int(counts[side]) for side in SIDES} == {"r": 2, "l": 2}
    knee = cycles[cycles["variable"] == "knee_angle"]["value"]
    assert 50.0 < knee.max() < 80.0
    assert knee.min() > -10.0
    assert walk.joint_angles["knee_angle_r_deg"].min() < -50.0  # extension is positive in this model
    assert [c for c in walk.joint_torques.columns if c.endswith(("_Nm", "_N"))][:23] == [
        c.name + ("_Nm" if c.rotational else "_N") for c in walk.own.model.coordinates
    ]
    ankle = cycles[cycles["variable"] == "ankle_angle_moment"]["value"]
    assert -2.0 < ankle.min() < -1.0  # plantarflexor moment of push-off, Nm/kg
    assert abs(float(walk.spatiotemporal["speed_m_s"].mean()) - 1.14) < 0.05
    power = walk.joint_powers["ankle_r_W"].max() / walk.analysis.subject.mass_kg
    assert 1.0 < power < 5.0


def test_no_check_speaks_of_markers_that_nobody_gave(walk):
    told = {check.code: check for check in (*walk.verdict.checks, *walk.analysis.data_checks)}
    for code in ("marker-fit", "gaps", "marker_error", "spike", "gap", "labels", "moved_marker", "joint_limit"):
        assert told[code].status == "not_assessed", code
    assert "without markers" in told["marker-fit"].text
    assert "Markers" not in told["solved"].text + told["solved"].hint
    assert "marker" not in " ".join(note.hint for note in walk.diagnostics)


def test_the_methods_of_an_estimate_tell_it(walk):
    record = walk.view.record
    plain = " ".join(text for _, text in methods_text(record, "model_methods.txt.j2").paragraphs)
    balanced = {**record, "balance": {"centre_shift_m": {"torso": [0.0, 0.0, 0.0]}}}
    told = " ".join(text for _, text in methods_text(balanced, "model_methods.txt.j2").paragraphs)
    assert "one estimate" in told
    assert "mass centre of the trunk" in told
    assert "not distributed" not in told
    assert "one estimate" not in plain
    assert "not distributed" in plain


def test_an_age_in_the_settings_chooses_norms_on_a_model_too():
    data = recordings() / "opensim/core_id"
    settings = {**_NO_PICTURES, "subject": {"age_years": 30.0}}
    given = {"model": data / "subject01.osim", "forces": data / "subject01_walk1_grf.xml"}
    request = trial_request(data / "subject01_walk1_ik.mot", settings=settings, **given)
    record = run_on_model(request).view.record["norms"]
    assert {entry["name"] for entry in record["shown"]} >= {"adults_fukuchi_2018"}
    assert not any("nan" in reason for reason in record["reasons"])


def test_what_is_free_moves_as_it_moved(walk):
    """Forward dynamics in the free coordinates gives back the accelerations that the torques were computed from."""
    arrays = result_arrays(walk.analysis)
    moved, _ = model_motion(arrays, actuated_motion_from_arrays(arrays), walk.analysis.imported.model_file)
    assert isinstance(moved.reduced, ReducedTree)
    rows = np.flatnonzero(moved.known)[::7]
    args = moved.q[rows], moved.v[rows]
    found = moved.reduced.forward_dynamics(*args, moved.tau[rows], moved.wrenches[rows], moved.wrench_bodies)
    np.testing.assert_allclose(found, moved.vdot[rows], atol=1e-6)
    back = moved.reduced.inverse_dynamics(*args, found, moved.wrenches[rows], moved.wrench_bodies)
    np.testing.assert_allclose(back, moved.tau[rows], atol=1e-7)


def test_the_kernels_of_the_free_coordinates_say_what_the_layers_say(walk):
    """Place, rates, G and the bias beneath, by compiled functions and by the layers' own in NumPy."""
    arrays = result_arrays(walk.analysis)
    moved, _ = model_motion(arrays, actuated_motion_from_arrays(arrays), walk.analysis.imported.model_file)
    own, rows = moved.reduced, np.flatnonzero(moved.known)[::20]
    zq, zv, G, bias = own.tree_state(moved.q[rows], moved.v[rows])
    top, rates = np.repeat(own.held[None], len(rows), axis=0), np.zeros((len(rows), len(own.held)))
    top[:, own.places], rates[:, own.places] = moved.q[rows, 7:], moved.v[rows, 6:]
    bent, through = np.zeros_like(rates), np.eye(len(own.held))[None]
    for layer in own.layers:
        passed = layer.evaluate(top, rates)
        bent = passed.map_speeds(bent) + passed.bias
        top, rates, through = passed.z, passed.map_speeds(rates), passed.jacobian() @ through
    at = own.tree.columns
    np.testing.assert_allclose(zq[:, 7:], top[:, at], atol=1e-13)
    np.testing.assert_allclose(zv[:, 6:], rates[:, at], atol=1e-12)
    np.testing.assert_allclose(bias, bent[:, at], atol=1e-10)
    np.testing.assert_allclose(G, through[:, at][:, :, own.places], atol=1e-13)
    assert np.abs(bias).max() > 0.1  # the knees' splines bend


def test_the_folder_is_a_result_like_any_other(walk, tmp_path):
    place = walk.save(tmp_path / "walk")
    again = biodyn.load(place)
    assert again.verdict.status == "pass"
    pd.testing.assert_frame_equal(again.spatiotemporal, walk.spatiotemporal, check_dtype=False, atol=1e-4)
    page = (place / "report.html").read_text(encoding="utf-8")
    for words in ("Knee flexion", "Hip extension moment", "Can these numbers be trusted", "data-scene", "subject01"):
        assert words in page
    assert "Hip joint centres" not in page
    assert {"joint_torques", "own_coordinates"} <= set(again.view.figures)
    record = json.loads((place / "run.json").read_text())
    assert record["kind"] == "coordinates"
    assert record["proof"]["mass_matrix"] < record["proof"]["limit"]
    assert record["input"]["start_s"] == 0.5  # as the motion file counts; tables begin with 0
    assert again.joint_angles["time_s"].iloc[0] == 0.0
    again.export("opensim", tmp_path / "osim")
    given = {"model": tmp_path / "osim/model.osim", "forces": tmp_path / "osim/external_loads.xml"}
    settings = {**_NO_PICTURES, "signals": {"cutoff_hz": 0.0}}
    round_trip = run_on_model(trial_request(tmp_path / "osim/coordinates.mot", settings=settings, **given))
    inside = slice(8, -8)  # the splines of a cut record end otherwise
    np.testing.assert_allclose(round_trip.own.tau[inside], walk.own.tau[inside], atol=0.02)


def test_a_packed_result_compares_as_one_in_text(walk, tmp_path):
    folders = []
    for tables in ("csv", "packed"):
        output = walk.analysis.settings.output.model_copy(update={"report": False, "tables": tables})
        settings = walk.analysis.settings.model_copy(update={"output": output})
        own = ModelResult(replace(walk.analysis, settings=settings), own=walk.own)
        folders.append(own.save(tmp_path / tables))
    assert (folders[1] / "tables" / "joint_torques.parquet").is_file()
    found = biodyn.compare(*folders)
    assert found.differences
    assert max(one.rms for one in found.differences) < 1e-12


def test_a_model_without_feet_goes_without_and_says_so(tmp_path):
    data = recordings() / "opensim/core_id"
    found = run_on_model(
        trial_request(data / "arm26_InverseKinematics.mot", settings=_NO_PICTURES, model=data / "arm26.osim")
    )
    assert isinstance(found, ModelResult)
    codes = {note.code for note in found.diagnostics}
    assert "model-without-feet" in codes
    assert not found.analysis.cycles
    assert found.verdict.status == "warn"
    found.save(tmp_path / "arm")
    page = (tmp_path / "arm/report.html").read_text(encoding="utf-8")
    assert "r_shoulder_elev" in page
    assert "Foot-plate contacts</h3>" not in page


def test_rows_with_variable_steps_are_interpolated(walk, tmp_path):
    """OpenSim's forward tools write variable steps; without every fourth row the torques are nearly the same."""
    data = recordings() / "opensim/core_id"
    lines = (data / "subject01_walk1_ik.mot").read_text().splitlines()
    first = lines.index("endheader") + 2
    rows = [row for number, row in enumerate(lines[first:]) if number % 4 != 2]
    head = [re.sub(r"nRows=\d+", f"nRows={len(rows)}", line) for line in lines[:first]]
    motion = tmp_path / "uneven.mot"
    motion.write_text("\n".join([*head, *rows]) + "\n")
    forces = data / "subject01_walk1_grf.xml"
    request = trial_request(motion, settings=_NO_PICTURES, model=data / "subject01.osim", forces=forces)
    found = run_on_model(request)
    assert any("steps of 16.7 to 33.3 ms" in note.message for note in found.diagnostics)
    for name in ("hip_flexion_r_Nm", "knee_angle_r_Nm", "ankle_angle_r_Nm"):
        usual, here = walk.joint_torques, found.joint_torques
        expected = np.interp(here["time_s"], usual["time_s"], usual[name])
        # rows half as dense bend the motion a little: 1.3 % of the largest torque, RMS
        assert np.sqrt(np.nanmean((here[name] - expected) ** 2)) < 0.02 * np.nanmax(np.abs(expected))


def test_a_platform_welded_to_ground_is_not_part_of_the_body(walk, tmp_path):
    data = recordings() / "opensim/core_id"
    place = "".join(f"<{name}>0 0 0</{name}>" for name in ("location_in_parent", "orientation_in_parent"))
    joint = f'<Joint><WeldJoint name="floor"><parent_body>ground</parent_body>{place}</WeldJoint></Joint>'
    platform = f'<Body name="platform"><mass>100</mass><mass_center>0 0 0</mass_center>{joint}</Body>'
    pelvis = '<Body name="pelvis">'
    model = tmp_path / "platform.osim"
    model.write_text((data / "subject01.osim").read_text().replace(pelvis, platform + pelvis))
    motion, forces = data / "subject01_walk1_ik.mot", data / "subject01_walk1_grf.xml"
    found = run_on_model(trial_request(motion, settings=_NO_PICTURES, model=model, forces=forces))
    assert found.analysis.subject.mass_kg == pytest.approx(walk.analysis.subject.mass_kg)
    pd.testing.assert_frame_equal(found.joint_torques, walk.joint_torques)


@pytest.mark.slow
def test_what_a_model_leaves_a_choice_in_is_varied(walk):
    request = trial_request(walk.analysis.recording.path, settings=_NO_PICTURES, model=walk.analysis.static.path)
    for factor, words in (
        ("hip_centre", "joint positions are fixed"),
        ("anthropometry", "inertias"),
        ("marker_weights", "coordinates were"),
    ):
        with pytest.raises(SettingsError, match=words):
            vary_request(request, [factor])
    found = vary_request(replace(request, forces=walk.own.files["forces"].with_suffix(".xml")), ["cutoff"])
    assert [one.level for one in found.analysis.variations] == ["4 Hz", "5 Hz", "8 Hz", "10 Hz", "15 Hz"]
    changes = found.tables["sensitivity_summary"].set_index(["side", "variable"])["largest_change"]
    knee = changes.loc["r", "knee_angle_moment"]
    assert len(knee) == len(found.analysis.variations)
    assert (knee > 0.01).all()
    np.testing.assert_array_equal(found.own.tau, walk.own.tau)


@pytest.mark.slow
def test_a_session_has_one_model_scaled_by_one_static(tmp_path):
    data, walks = recordings() / "opensim", tmp_path / "person"
    walks.mkdir()
    for name in ("walk1", "walk2"):
        text = (data / "gait2354_tutorial/subject01_walk1.trc").read_text()
        head, rest = text.split("\n", 1)  # the same walk twice would count once
        (walks / f"{name}.trc").write_text(f"{head.split('(X/Y/Z)')[0]}(X/Y/Z)\t{name}.trc\n{rest}")
        shutil.copy(data / "gait2354_tutorial/subject01_walk1_grf.mot", walks / f"{name}_grf.mot")
    model = data / "core_scale/std_subject01_simbody.osim"
    static = data / "core_scale/subject01_static.trc"
    entries = [f'model.osim="{model}"', "output.figures=false", "output.report=false"]
    with pytest.raises(StudyError, match="does not exist"):
        open_session(walks, None, entries, tmp_path / "none.trc", 72.6)
    result = biodyn.run_session(walks, tmp_path / "out", entries=entries, static=static, mass_kg=80.0, workers=1)
    folders = sorted(path.parent for path in (tmp_path / "out").rglob("model.osim"))
    assert len(folders) == 2
    first, second = (folder.joinpath("model.osim").read_bytes() for folder in folders)
    assert first == second != model.read_bytes()
    assert abs(from_osim(folders[0] / "model.osim").multibody.total_mass_kg - 80.0) < 1e-6
    assert set(result.trials["static_file"]) == {"subject01_static.trc"}
    assert (result.trials["subject_mass_kg"] == 80.0).all()


@pytest.mark.slow
def test_every_model_of_one_root_becomes_a_body_model():
    """Sides, feet and joints of the models at hand; several bodies on ground are none."""
    data = recordings() / "opensim"
    with_feet = 0
    for path in sorted(data.rglob("*.osim")):
        try:
            model = from_osim(path)
        except ModelError:
            continue
        body = imported_model(model)
        if body is None:
            assert path.name.endswith("constraintTest_ikOnly.osim")
            continue
        with_feet += len(body.sole_body) == 2
        names = [b.definition.joint for b in body.moving_segments]
        assert len(set(names)) == len(names)
    assert with_feet > 15


@pytest.mark.slow
def test_any_model_runs_without_forces(tmp_path):
    """A small motion of every model at hand: no crash, no residual without forces, identities hold."""
    whole = 0
    for path in sorted((recordings() / "opensim/osim_corpus").rglob("*.osim")):
        try:
            model = from_osim(path)
        except ModelError:
            continue
        t = np.arange(101) / 100.0
        rates = np.random.default_rng(0).uniform(0.5, 2.0, len(model.coordinates))
        q = model.apply_couplings(model.default_configuration() + 0.05 * np.sin(2.0 * np.pi * t[:, None] * rates))
        q = np.where([c.rotational for c in model.coordinates], np.degrees(q), q)
        rows = ["\t".join(f"{x:.15g}" for x in (when, *row)) for when, row in zip(t, q, strict=True)]
        names = "\t".join(["time", *(c.name for c in model.coordinates)])
        motion = tmp_path / "motion.mot"
        motion.write_text("\n".join(["x", "inDegrees=yes", "endheader", names, *rows]) + "\n")
        try:
            found = run_on_model(trial_request(motion, settings=_NO_PICTURES, model=path))
        except ModelError:
            continue
        whole += 1
        assert "fail" not in {check.status for check in found.verdict.checks}, path.name
        assert not np.isfinite(found.analysis.dynamics.residual_force).any()
        assert all(check.holds is not False for check in found.analysis.consistency.checks), path.name
        found.save(tmp_path / "out", force=True)
    assert whole > 15


@pytest.mark.slow
def test_a_study_has_a_model_for_each_subject(tmp_path):
    """A setting names it, as any setting of a subject; another model of the same name is another analysis."""
    data = recordings() / "opensim/arnold2013_synthetic"
    for subject in ("subject18", "subject19"):
        shutil.copytree(data / subject, tmp_path / "in" / subject)
    lines = [f'[subjects.{s}.settings.model]\nosim = "{s}/{s}.osim"\n' for s in ("subject18", "subject19")]
    (tmp_path / "in/study.toml").write_text("".join(lines) + "[settings.output]\nfigures = false\nreport = false\n")
    result = biodyn.run_study(tmp_path / "in", tmp_path / "out", workers=1)
    assert set(result.trials["status"].astype(str)) <= {"pass", "warn"}
    assert len(result.trials) == 2
    assert (result.trials["residual_force_rms_N"] < 5.0).all()
    assert result.trials["static_file"].isna().all()  # nothing scaled these models
    assert "OpenSim models of the settings" in (tmp_path / "out/report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_bands_hold_what_errors_of_the_inputs_do():
    """Errors of all sources drawn with other seeds, through fit and dynamics: within two standard deviations in 95 % or so."""
    bench = load("model_bands")
    tutorial = recordings() / "opensim/gait2354_tutorial"
    model, forces = tutorial.parent / "core_ik/subject01_simbody.osim", tutorial / "subject01_walk1_grf.xml"
    trial = bench.inputs_of(trial_request(tutorial / "subject01_walk1.trc", model=model, forces=forces))
    found = bench.coverage(trial, 15)
    assert 0.92 < np.mean(list(found.values())) < 0.99, found
    assert min(found.values()) > 0.8, found


def test_a_moved_centre_moves_nothing_else(walk):
    """Markers and mass centres of the standing model stay, the joint alone goes elsewhere."""
    model = walk.analysis.model
    shift = np.array([0.01, -0.02, 0.03])
    moved = shift_joint_centres(model, {"tibia_r": shift})
    q = model.osim.default_configuration()[None]
    (R, p), (R_new, p_new) = model.osim.coupled.body_poses(q), moved.coupled.body_poses(q)
    at = model.osim.multibody.body_index("tibia_r")
    np.testing.assert_allclose(
        p_new[0, at] - p[0, at], R[0, model.osim.multibody.body_index("femur_r")] @ shift, atol=1e-12
    )
    for old, new in zip(model.osim.multibody.bodies, moved.multibody.bodies, strict=True):
        k = model.osim.multibody.body_index(old.name)
        if old.mass_kg:
            np.testing.assert_allclose(p_new[0, k] + R_new[0, k] @ new.com_m, p[0, k] + R[0, k] @ old.com_m, atol=1e-12)
    for old, new in zip(model.osim.markers, moved.markers, strict=True):
        k = model.osim.multibody.body_index(str(old.body))
        np.testing.assert_allclose(p_new[0, k] + R_new[0, k] @ new.place_m, p[0, k] + R[0, k] @ old.place_m, atol=1e-12)


def test_what_a_model_does_not_go_with_is_refused(walk):
    osim = {"model": {"osim": str(walk.analysis.static.path)}}
    motion = walk.analysis.recording.path
    for choice in ({"static_frames": (1, 2)}, {"mass_kg": 70.0}):
        with pytest.raises(SettingsError):
            biodyn.run_trial(motion, settings=osim, **choice)
    with pytest.raises(SettingsError, match="Variations and session fits"):
        analyse_trial(motion, settings=osim)
