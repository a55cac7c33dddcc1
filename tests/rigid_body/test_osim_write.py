"""OpenSim models written again: the same mechanics, markers and names, for us and for OpenSim itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.osim_files import KINDS, two_bodies
from support.real import recordings

from biodyn.errors import ModelError
from biodyn.rigid_body import Body, Joint, Multibody, from_osim, mass_matrix
from biodyn.rigid_body.osim.model import Marker
from biodyn.rigid_body.osim.model_writer import NamedCoordinate, model_with_cardan_base, osim_text

SOLVER = Path(__file__).parents[1] / "support" / "opensim_solver.py"


def _again(model, tmp_path):
    path = tmp_path / "again.osim"
    path.write_text(osim_text(model), encoding="utf-8")
    return from_osim(path)


def _places(model, q):
    R, p = model.coupled.body_poses(q)
    found = []
    for marker in model.markers:
        b = None if marker.body is None else model.multibody.body_index(marker.body)
        found.append(np.tile(marker.place_m, (len(q), 1)) if b is None else R[:, b] @ marker.place_m + p[:, b])
    return np.array(found)


def _require_same(model, again):
    assert again.coordinates == model.coordinates
    assert [m.name for m in again.markers] == [m.name for m in model.markers]
    rng = np.random.default_rng(3)
    n = len(model.coordinates)
    q, v, vdot = rng.uniform(-0.8, 0.8, (3, n)), rng.normal(size=(3, n)), rng.normal(size=(3, n))
    for one in ("mass_matrix", "inverse_dynamics"):
        a, b = (getattr(m.coupled, one)(*((q,) if one == "mass_matrix" else (q, v, vdot))) for m in (model, again))
        assert np.abs(a - b).max() <= 1e-12 * np.abs(a).max()
    np.testing.assert_allclose(_places(again, q), _places(model, q), atol=1e-12)
    np.testing.assert_allclose(again.apply_couplings(q), model.apply_couplings(q), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_joint_comes_back(tmp_path, kind):
    path = tmp_path / "model.osim"
    path.write_text(two_bodies(kind))
    model = from_osim(path)
    _require_same(model, _again(model, tmp_path))


def test_a_knee_of_splines_and_its_coupled_patella_come_back(tmp_path):
    model = from_osim(recordings() / "opensim/arnold2013_synthetic/subject18/subject18.osim")
    assert model.couplings
    _require_same(model, _again(model, tmp_path))


@pytest.mark.slow
def test_every_model_at_hand_comes_back(tmp_path):
    count = 0
    for path in sorted((recordings() / "opensim").rglob("*.osim")):
        try:
            model = from_osim(path)
        except ModelError:
            continue
        again = _again(model, tmp_path)
        # a prescribed coordinate's function is not kept, so it is written as a free one
        assert [c.name for c in again.coordinates] == [c.name for c in model.coordinates]
        _require_same(model, again) if not any(c.prescribed for c in model.coordinates) else None
        count += 1
    assert count > 30


@pytest.mark.slow
def test_opensim_reads_what_was_written_as_it_reads_the_original(tmp_path):
    python = os.environ.get("BIODYN_OPENSIM")
    if not python:
        pytest.skip("BIODYN_OPENSIM names no interpreter that has opensim")
    originals, written = [], []
    for path in sorted((recordings() / "opensim").rglob("*.osim")):
        try:
            text = osim_text(from_osim(path))
        except ModelError:
            continue
        originals.append(path)
        written.append(tmp_path / f"{len(written)}.osim")
        written[-1].write_text(text, encoding="utf-8")
    states = []
    for name, files in (("a.npz", originals), ("b.npz", written)):
        subprocess.run([python, SOLVER, tmp_path / name, "3", *files], check=True, capture_output=True, cwd=tmp_path)
        states.append(np.load(tmp_path / name))
    compared = 0
    for k, path in enumerate(originals):
        if f"{k}/error" in states[0]:
            continue
        assert f"{k}/error" not in states[1], (path.name, states[1][f"{k}/error"])
        old = int(path.read_text(errors="replace").split('Version="')[1].split('"')[0]) < 40000
        limit = 1e-6 if old else 1e-11  # OpenSim rounds to six digits what it converts from before 4.0
        assert list(states[0][f"{k}/names"]) == list(states[1][f"{k}/names"]), path.name
        for key in ("M", "tau", "markers"):
            a, b = (one[f"{k}/{key}"] for one in states)
            if a.size and np.abs(a).max() > 0.0:
                assert np.abs(a - b).max() <= limit * np.abs(a).max(), (path.name, key)
        compared += 1
    assert compared > 30


def test_joints_with_fixed_turns_between_their_axes(tmp_path):
    """A tree on a free base: the six coordinates of its base and the hinges, with their own values."""
    rng = np.random.default_rng(8)

    def turned():
        return np.linalg.qr(rng.normal(size=(3, 3)))[0] * np.array([1.0, 1.0, 1.0])

    def rotation():
        R = turned()
        return R if np.linalg.det(R) > 0 else -R

    inertia = np.diag([0.1, 0.2, 0.15])
    bodies = (
        Body("pelvis", None, Joint("free"), mass_kg=10.0, com_m=rng.normal(size=3), inertia_com=inertia),
        Body("thigh:hip_a", "pelvis", Joint("revolute", (0.0, 0.0, 1.0)), rotation(), rng.normal(size=3)),
        Body("thigh:hip_b", "thigh:hip_a", Joint("revolute", (1.0, 0.0, 0.0)), rotation()),
        Body("thigh", "thigh:hip_b", Joint("revolute", (0.0, 1.0, 0.0)), rotation(), mass_kg=5.0, inertia_com=inertia),
        Body("shank", "thigh", Joint("revolute", (0.0, 0.6, 0.8)), rotation(), rng.normal(size=3), 3.0),
    )
    tree = Multibody(bodies)
    base = [NamedCoordinate(name, "root", k) for k, name in enumerate(("tilt", "list", "turn", "tx", "ty", "tz"))]
    hinges = [
        NamedCoordinate(n, j, 6 + k)
        for k, (n, j) in enumerate([("a", "hip"), ("b", "hip"), ("c", "hip"), ("d", "knee")])
    ]
    place = (0.1, -0.2, 0.3)
    model = _again(model_with_cardan_base(tree, base, hinges, [Marker("M 1", "shank", place)], "a person"), tmp_path)
    assert [c.name for c in model.coordinates] == ["tilt", "list", "turn", "tx", "ty", "tz", "a", "b", "c", "d"]
    assert [b.name for b in model.multibody.bodies if "/" not in b.name] == ["pelvis", "thigh", "shank"]
    assert model.markers[0].name == "M_1"
    q = rng.uniform(-1.0, 1.0, (4, 10))
    from biodyn.geometry.rotations import matrices_from_cardan_zxy, quaternion_from_matrix
    from biodyn.rigid_body import body_poses

    R_WB = matrices_from_cardan_zxy(q[:, :3])
    ours = np.column_stack([q[:, 3:6], [quaternion_from_matrix(R) for R in R_WB], q[:, 6:]])
    R, p = body_poses(tree, ours)
    expected = R[:, 4] @ place + p[:, 4]
    np.testing.assert_allclose(_places(model, q)[0], expected, atol=1e-12)
    # hinges alone have the same speeds in both
    M = mass_matrix(tree, ours)[:, 6:, 6:]
    np.testing.assert_allclose(model.coupled.mass_matrix(q)[:, 6:, 6:], M, atol=1e-12)
