"""The estimate of a model that moves by given coordinates: nearer to the truth, in balance, and told."""

import os
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d
from support.real import recordings

from biodyn.errors import InputFileError
from biodyn.io.opensim.storage import read_storage
from biodyn.processing.kinematics.opensim_inverse_kinematics import fit_to_markers
from biodyn.processing.signals.derivatives import spline_derivatives
from biodyn.rigid_body import Multibody, from_osim
from biodyn.rigid_body.osim.model import Marker
from biodyn.settings import settings_from
from biodyn.trial.bodies.opensim import complete_result
from biodyn.trial.bodies.opensim_estimate import balance_fit, balance_motion, require_uniform_times
from biodyn.trial.bodies.opensim_loads import MeasuredLoads, empty_loads
from biodyn.trial.bodies.opensim_motion import coordinate_torques

_PIN = """<PinJoint name="{name}"><socket_parent_frame>a</socket_parent_frame><socket_child_frame>b</socket_child_frame>
<coordinates><Coordinate name="{name}"/></coordinates><frames>
<PhysicalOffsetFrame name="a"><socket_parent>/bodyset/{parent}</socket_parent>
<translation>0 -0.4 0</translation></PhysicalOffsetFrame>
<PhysicalOffsetFrame name="b"><socket_parent>/bodyset/{child}</socket_parent></PhysicalOffsetFrame></frames></PinJoint>"""
_BODY = '<Body name="{name}"><mass>{mass}</mass><mass_center>0 {y} 0</mass_center><inertia>{i} {i} {i} 0 0 0</inertia></Body>'
_LEG = (
    '<?xml version="1.0"?><OpenSimDocument Version="40000"><Model name="leg"><gravity>0 -9.81 0</gravity><BodySet><objects>'
    + _BODY.format(name="trunk", mass=50, y=0.2, i=3)
    + _BODY.format(name="thigh", mass=9, y=-0.2, i=0.15)
    + _BODY.format(name="shank", mass=5, y=-0.2, i=0.06)
    + '</objects></BodySet><JointSet><objects><PlanarJoint name="root"><socket_parent_frame>/ground</socket_parent_frame>'
    "<socket_child_frame>/bodyset/trunk</socket_child_frame><coordinates>"
    + "".join(f'<Coordinate name="{name}"/>' for name in ("tilt", "forward", "up"))
    + "</coordinates></PlanarJoint>"
    + _PIN.format(name="hip", parent="trunk", child="thigh")
    + _PIN.format(name="knee", parent="thigh", child="shank")
    + "</objects></JointSet></Model></OpenSimDocument>"
)
_RATE_HZ = 100.0


@pytest.fixture(scope="module")
def hop(tmp_path_factory):
    """A model, times, the true motion (q, v, vdot), the load on the shank that goes with it, and the true torques."""
    path = tmp_path_factory.mktemp("leg") / "leg.osim"
    path.write_text(_LEG)
    model = from_osim(path)
    t = np.arange(120) / _RATE_HZ
    w = 2.0 * np.pi
    waves = [
        0.1 * np.sin(w * t),
        1.2 * t,
        0.9 + 0.03 * np.sin(2 * w * t),
        0.4 * np.sin(w * t),
        0.3 * np.sin(2 * w * t + 1),
    ]
    q, v, vdot = spline_derivatives(t, np.column_stack(waves), 0.0)
    root = model.coupled.inverse_dynamics(q, v, vdot)[:, :3]  # moment about z of the trunk's origin, forces
    wrench = np.zeros((len(t), 1, 6))
    force = np.column_stack([root[:, 1], root[:, 2], np.zeros(len(t))])
    point = np.column_stack([q[:, 1], q[:, 2], np.zeros(len(t))])
    wrench[:, 0, :3] = np.cross(point, force)
    wrench[:, 0, 2] += root[:, 0]
    wrench[:, 0, 3:] = force
    loads = MeasuredLoads((model.multibody.body_index("shank"),), np.ones(len(t), dtype=bool), wrench)
    tau = model.coupled.inverse_dynamics(q, v, vdot, wrench, loads.bodies)
    assert np.abs(tau[:, :3]).max() < 1e-9  # the planted load carries the body
    return model, t, (q, v, vdot), loads, tau


def _disturbed(hop, seed):
    model, _, (q, _, _), _, _ = hop
    random = np.random.default_rng(seed)
    noise = gaussian_filter1d(random.standard_normal(q.shape), 10, axis=0)
    given = q + noise / noise.std(axis=0) * [0.02, 0.005, 0.005, 0.02, 0.02]
    bodies = [
        replace(body, mass_kg=body.mass_kg * (1 + 0.04 * random.standard_normal())) for body in model.multibody.bodies
    ]
    wrong = Multibody(tuple(bodies), model.multibody.gravity_W)
    return replace(model, coupled=replace(model.coupled, multibody=wrong)), given


def _torques(model, motion, loads):
    return model.coupled.inverse_dynamics(*motion, loads.F_Wo_W, loads.bodies)


@pytest.mark.slow
def test_torques_come_nearer_to_the_truth_and_the_body_into_balance(hop):
    _, t, _, loads, truth = hop
    inner = slice(8, -8)  # a low-pass knows less at its ends
    errors, residuals = [], []
    for seed in range(4):
        wrong, given = _disturbed(hop, seed)
        found = balance_motion(wrong, t, given, 6.0, loads)
        before = _torques(wrong, spline_derivatives(t, given, 6.0), loads)
        after = _torques(found.model, (found.q, found.v, found.vdot), loads)
        errors.append([np.mean((tau - truth)[inner, 3:] ** 2, axis=0) for tau in (before, after)])
        residuals.append([np.mean(tau[inner, :3] ** 2, axis=0) for tau in (before, after)])
    before, after = np.sqrt(np.mean(residuals, axis=0))
    assert (after < 0.1 * before).all()
    assert (after < 1.5).all()
    before, after = np.sqrt(np.mean(errors, axis=0))
    assert (after < 0.9 * before).all()  # 0.68 and 0.82 with these seeds; an estimate that helps nothing has 1


def _marked(model):
    """The model with three markers on each body."""
    places = [(0.05, 0.0, 0.03), (0.0, -0.2, 0.05), (-0.04, -0.35, 0.0)]
    bodies = [name for name in model.multibody.body_names if "/" not in name]
    return replace(model, markers=tuple(Marker(f"{b}{k}", b, place) for b in bodies for k, place in enumerate(places)))


@pytest.mark.slow
def test_markers_and_forces_come_nearer_to_the_truth_than_the_best_filter(hop):
    """Markers that move against the skin and have noise, masses that are off; the filters' cut-off is chosen by the truth."""
    model, t, (q, _, _), loads, truth = hop
    cutoffs, inner = (3.0, 4.0, 6.0, 8.0, 12.0), slice(8, -8)
    errors, residuals = [], []
    for seed in range(3):
        wrong = _marked(_disturbed(hop, seed)[0])
        names = [marker.name for marker in wrong.markers]
        random = np.random.default_rng(seed)
        bodies = [model.multibody.body_index(str(marker.body)) for marker in wrong.markers]
        R, p = model.coupled.body_poses(q)
        skin = gaussian_filter1d(random.standard_normal((len(t), len(names), 3)), 12, axis=0)
        local = np.array([marker.place_m for marker in wrong.markers]) + 0.004 * skin / skin.std(axis=0)
        x = np.einsum("tmij,tmj->tmi", R[:, bodies], local) + p[:, bodies]
        x += 0.001 * random.standard_normal(x.shape)
        x[:3, 0] = x[50:54] = np.nan  # a marker, and for a while all
        fit = fit_to_markers(wrong, names, x, t)
        found, frames, fitted = balance_fit(wrong, fit, t, 6.0, loads)
        assert not np.isin(np.arange(50, 54), frames).any()
        filled = np.column_stack([np.interp(t, t[frames], column[frames]) for column in fit.q.T])
        every = [_torques(wrong, spline_derivatives(t, filled, hz), loads) for hz in cutoffs]
        every.append(_torques(found.model, (found.q, found.v, found.vdot), loads))
        errors.append([np.mean((tau - truth)[inner, 3:] ** 2, axis=0) for tau in every])
        residuals.append([np.mean(tau[inner, :3] ** 2, axis=0) for tau in every])
        assert found.record["from"] == "markers"
        assert fitted.rms_m < 1.3 * fit.rms_m  # markers are followed as before
    pooled = np.sqrt(np.mean(errors, axis=0))
    assert (pooled[-1] < pooled[:-1].min(axis=0)).all(), pooled
    left = np.sqrt(np.mean(residuals, axis=0))
    assert (left[-1] < 0.3 * left[:-1].min(axis=0)).all(), left


def test_long_gaps_of_the_markers_are_refused(hop):
    model, t, (q, _, _), loads, _ = hop
    marked = _marked(model)
    bodies = [model.multibody.body_index(str(marker.body)) for marker in marked.markers]
    R, p = model.coupled.body_poses(q)
    x = np.einsum("tmij,mj->tmi", R[:, bodies], [marker.place_m for marker in marked.markers]) + p[:, bodies]
    x[40:65] = np.nan
    fit = fit_to_markers(marked, [marker.name for marker in marked.markers], x, t)
    with pytest.raises(InputFileError, match="Too few markers are seen for"):
        balance_fit(marked, fit, t, 6.0, loads)


def test_a_consistent_motion_hardly_moves(hop):
    model, t, (q, _, _), loads, truth = hop
    found = balance_motion(model, t, q, 0.0, loads)
    assert np.abs(found.q - q).max() < 1e-4
    assert max(abs(share) for share in found.mass_change.values()) < 1e-4
    np.testing.assert_allclose(
        _torques(found.model, (found.q, found.v, found.vdot), loads)[8:-8], truth[8:-8], atol=0.05
    )


def test_a_stance_without_its_force_is_left_out_and_told(hop):
    """A foot beside the plates must not make the body lighter; 0.5 s of the load are not measured here."""
    model, t, (q, _, _), loads, _ = hop
    F = loads.F_Wo_W.copy()
    F[30:80] = 0.0
    found = balance_motion(model, t, q, 0.0, replace(loads, F_Wo_W=F))
    assert max(abs(share) for share in found.mass_change.values()) < 1e-3
    assert np.linalg.norm(found.centre_shift_m) < 1e-3
    told = {note.code: note for note in found.notes}
    assert round(told["estimate-rows-left-out"].value * len(t)) == 50 + 2 * 10
    F[:] = 0.0
    with pytest.raises(InputFileError, match="in all rows"):
        balance_motion(model, t, q, 0.0, replace(loads, F_Wo_W=F))


def test_rows_of_plates_count_where_every_foot_is_measured(hop):
    """Plates tell by coordinate what is measured; only rows in which the whole root is are balanced."""
    model, t, (q, _, _), loads, _ = hop
    rows = np.ones(len(t), dtype=bool)
    rows[40:55] = False
    by_coordinate = np.ones((len(t), 5), dtype=bool)
    by_coordinate[~rows, 1] = False
    one, two = (balance_motion(model, t, q, 6.0, replace(loads, covered=c)) for c in (rows, by_coordinate))
    np.testing.assert_array_equal(one.q, two.q)


def test_forces_of_another_moment_are_not_absorbed_silently(hop):
    """Forces half a second late: balance would ask for more than errors of measurement, and that is said."""
    model, t, (q, _, _), loads, _ = hop
    late = replace(loads, F_Wo_W=np.roll(loads.F_Wo_W, 50, axis=0))
    found = balance_motion(model, t, q, 0.0, late)
    assert "estimate-moved-far" in {note.code for note in found.notes}


def test_what_cannot_be_balanced_is_refused(hop):
    model, t, (q, _, _), _, _ = hop
    with pytest.raises(InputFileError, match="no forces act"):
        balance_motion(model, t, q, 6.0, empty_loads(len(t)))
    with pytest.raises(InputFileError, match="not uniform in time"):
        require_uniform_times(np.r_[t[:50], t[50:] + 0.004], "walk.mot")


_ID = """
import sys, opensim
tool = opensim.InverseDynamicsTool()
tool.setModelFileName(sys.argv[1] + "/model.osim")
tool.setCoordinatesFileName(sys.argv[1] + "/coordinates.mot")
tool.setExternalLoadsFileName(sys.argv[2])
tool.setLowpassCutoffFrequency(-1)
tool.setStartTime(0.0)
tool.setEndTime(10.0)
tool.setResultsDir(sys.argv[1])
tool.setOutputGenForceFileName("theirs.sto")
excluded = opensim.ArrayStr()
excluded.append("Muscles")
tool.setExcludedForces(excluded)
assert tool.run()
"""


@pytest.mark.real
@pytest.mark.slow
def test_the_walk_of_opensims_residual_reduction(tmp_path):
    """RRA leaves 1.0/5.4/0.7 N and 7.0/3.4/6.4 Nm here; OpenSim's own inverse dynamics finds our residual in our files."""
    folder = recordings() / "opensim" / "core_rra"
    loads = folder / "subject01_externalForces.xml"
    result = coordinate_torques(
        folder / "subject01_walk1_ik.mot", folder / "subject01_simbody.osim", loads, estimate=True
    )
    no_pages = settings_from({"output": {"figures": False, "report": False}})
    whole = complete_result(result, no_pages, folder / "subject01_simbody.osim")
    assert (whole.save(tmp_path / "result") / "coordinates.mot").read_bytes() == result.motion_file
    for c in result.model.coordinates:
        if c.to_ground:
            assert result.residual[c.name] < (2.0 if c.rotational else 1.0), c.name
    assert np.degrees(result.estimated.moved_rms).max() < 1.0
    python = os.environ.get("BIODYN_OPENSIM")
    if not python:
        pytest.skip("BIODYN_OPENSIM names no interpreter that has opensim: its own inverse dynamics was not asked")
    subprocess.run([python, "-c", _ID, tmp_path / "result", loads], check=True, capture_output=True, cwd=tmp_path)
    theirs = read_storage(tmp_path / "result" / "theirs.sto")
    rows = np.abs(result.time_s[:, None] - theirs.time_s).argmin(axis=1)
    for k, c in enumerate(result.model.coordinates):
        column = theirs.column(c.name + ("_moment" if c.rotational else "_force"))[rows]
        limit = 0.01 * np.ptp(column) if not c.to_ground else 0.1  # of a residual that is nearly nothing: Nm, N
        assert np.sqrt(np.mean((result.tau[:, k] - column) ** 2)) < limit, c.name
