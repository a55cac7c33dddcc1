"""OpenSim models scaled to a person: what OpenSim's ScaleTool gives, and a person whose size is known."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest
from simulator.trc_writer import write_trc
from support.osim_files import two_bodies
from support.real import recordings
from typer.testing import CliRunner

from biodyn.cli import app
from biodyn.errors import InputFileError, ModelError
from biodyn.processing.calibration.model_scaling import default_marker_positions
from biodyn.recording import Markers
from biodyn.rigid_body import from_osim
from biodyn.rigid_body.osim.model import build_model, read_model_document
from biodyn.rigid_body.osim.scaling import scale_model
from biodyn.trial.bodies.opensim_inputs import scale_by_markers, scale_by_setup


@pytest.fixture(scope="module")
def opensims_case(tmp_path_factory):
    """The files of OpenSim's own case beside each other, and what its tool made of them."""
    data, folder = recordings() / "opensim", tmp_path_factory.mktemp("scale")
    for file in ("core_scale/subject01_Setup_Scale.xml", "core_scale/subject01_static.trc"):
        shutil.copy(data / file, folder)
    shutil.copy(data / "gait2354_tutorial/gait2354_Scale_MarkerSet.xml", folder)
    generic = data / "osim_corpus/Applications__Scale__tests__resources__gait2354_simbody.osim"
    return generic, folder, data / "core_scale"


@pytest.fixture(scope="module")
def by_setup(opensims_case):
    generic, folder, _ = opensims_case
    return scale_by_setup(generic, folder / "subject01_Setup_Scale.xml")


def test_factors_masses_and_frames_are_those_of_opensims_tool(by_setup, opensims_case):
    _, _, theirs = opensims_case
    text = (theirs / "std_subject01_scaleSet_applied.xml").read_text()
    for values, body in re.findall(r"<scales>([^<]*)</scales>\s*<segment>([^<]*)<", text):
        own = by_setup.record["factors"].get(body, [1.0, 1.0, 1.0])
        np.testing.assert_allclose(own, np.array(values.split(), dtype=float), rtol=1e-12, err_msg=body)
    reference = from_osim(theirs / "std_subject01_simbody.osim")
    bodies = {body.name: body for body in reference.multibody.bodies}
    for body in by_setup.model.multibody.bodies:
        other = bodies[body.name]
        assert abs(body.mass_kg - other.mass_kg) < 1e-9
        np.testing.assert_allclose(body.inertia_com, other.inertia_com, atol=1e-12)
        np.testing.assert_allclose(body.p_PJ, other.p_PJ, atol=1e-12)
        np.testing.assert_allclose(body.com_m, other.com_m, atol=1e-6)  # the digits their file prints
    q = reference.default_configuration()[None] + 0.2  # knees bent: their translations are scaled too
    np.testing.assert_allclose(by_setup.model.coupled.body_poses(q)[1], reference.coupled.body_poses(q)[1], atol=1e-12)


def test_placed_markers_lie_where_the_static_trial_has_them(by_setup, opensims_case):
    """Within a centimetre of OpenSim's, whose fit stops early; a fit of the placed markers leaves the placing pose no error."""
    from biodyn.io.opensim.tool_setups import IkSetup, read_scale_setup
    from biodyn.processing.calibration.model_scaling import StandingMarkers
    from biodyn.processing.kinematics.opensim_inverse_kinematics import fit_to_markers
    from biodyn.trial.bodies.opensim_inputs import read_points, tasks_of_setup

    _, folder, theirs = opensims_case
    other = {m.name: m.place_m for m in from_osim(theirs / "std_subject01_simbody.osim").markers}
    own = {m.name: m.place_m for m in by_setup.model.markers}
    assert set(own) == set(other)
    assert max(np.linalg.norm(np.subtract(own[name], other[name])) for name in own) < 0.011
    asked = read_scale_setup(folder / "subject01_Setup_Scale.xml")
    points = read_points(folder / "subject01_static.trc", by_setup.model)
    standing = StandingMarkers(points.labels, points.positions, points.time_s).select_time_range(asked.place_range_s)
    tasks = tasks_of_setup(IkSetup(asked.path, asked.weights, asked.tasks), by_setup.model, np.zeros(1))
    fit = fit_to_markers(by_setup.model, points.labels, standing.mean()[None], np.zeros(1), tasks)
    assert fit.rms_m < 1e-6


@pytest.mark.parametrize("keep_shares", [True, False])
def test_inertias_under_three_factors(keep_shares, tmp_path):
    """A cylinder with its axis along the body's X, 2 kg: its moments scale as those of the scaled cylinder."""
    path = tmp_path / "model.osim"
    text = two_bodies("PinJoint")
    radius, length = 0.05, 0.4
    axial, across = 0.5 * 2.0 * radius**2, 2.0 * (length**2 / 3 + radius**2 / 4)
    path.write_text(text.replace("0.03 0.04 0.05 0.001 0.002 -0.004", f"{axial!r} {across!r} {across!r} 0 0 0"))
    made = build_model(scale_model(read_model_document(path)[0], {"b": np.array([1.2, 1.1, 0.9])}, None, keep_shares))
    body = next(one for one in made.multibody.bodies if one.name == "b")
    mass = 2.0 if keep_shares else 2.0 * 1.2 * 1.1 * 0.9
    r2, l2 = radius**2 * 1.1 * 0.9, (length * 1.2) ** 2
    expected = np.diag([0.5 * mass * r2, *2 * [mass * (l2 / 3 + r2 / 4)]])
    assert body.mass_kg == pytest.approx(mass)
    np.testing.assert_allclose(body.inertia_com, expected, atol=1e-15)
    np.testing.assert_allclose(body.com_m, np.array([-0.1, -0.1, 0.02]) * [1.2, 1.1, 0.9])


@pytest.fixture
def tall(tmp_path):
    """A generic model with markers, and a person made of it by known factors, standing in another pose."""
    generic = tmp_path / "generic.osim"
    places = {
        "a1": (0.1, 0.3, 0),
        "a2": (-0.2, 0.1, 0.1),
        "a3": (0, 0, 0.3),
        "b1": (0, 0.2, 0),
        "b2": (0.3, 0, 0.2),
        "b3": (0, 0, -0.2),
    }
    body = "".join(
        f'<Marker name="{name}"><socket_parent_frame>/bodyset/{name[0]}</socket_parent_frame>'
        f"<location>{x} {y} {z}</location></Marker>"
        for name, (x, y, z) in places.items()
    )
    text = two_bodies("UniversalJoint")
    begin, end = text.index("<Marker "), text.index("</objects></MarkerSet>")
    generic.write_text(text[:begin] + body + text[end:])
    factors = {"a": np.full(3, 1.15), "b": np.full(3, 0.9)}
    person = build_model(scale_model(read_model_document(generic)[0], factors, 80.0))
    q = person.default_configuration() + 0.3
    R, p = person.coupled.body_poses(q[None])
    at = [person.multibody.body_index(str(m.body)) for m in person.markers]
    seen = np.array([R[0, b] @ np.array(m.place_m) + p[0, b] for b, m in zip(at, person.markers, strict=True)])
    static = tmp_path / "static.trc"
    write_trc(static, Markers(tuple(places), np.repeat(seen[None], 20, axis=0), 100.0))
    return generic, static, person


def test_markers_alone_give_the_size_of_every_body(tall):
    generic, static, person = tall
    found = scale_by_markers(generic, static, 80.0)
    assert found.record["factors"]["a"] == pytest.approx([1.15] * 3, rel=1e-6)
    assert found.record["factors"]["b"] == pytest.approx([0.9] * 3, rel=1e-6)
    assert found.model.multibody.total_mass_kg == pytest.approx(80.0)
    q = person.default_configuration()[None]
    np.testing.assert_allclose(found.model.coupled.mass_matrix(q), person.coupled.mass_matrix(q), rtol=1e-5)


def test_a_scaled_walk_keeps_its_model(tall, tmp_path):
    generic, static, person = tall
    out = tmp_path / "out"
    words = ["run", static, "--model", generic, "--static", static, "--mass", "80", "--out", out]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert json.loads((out / "run.json").read_text())["scaling"]["mass_kg"] == pytest.approx(80.0)
    kept = from_osim(out / "model.osim")
    for name, place in default_marker_positions(kept).items():
        np.testing.assert_allclose(place, default_marker_positions(person)[name], atol=1e-6)


_SETUP = """<OpenSimDocument Version="40000">
<ScaleTool name="s"><mass>70</mass><ModelScaler><scaling_order>{order}</scaling_order>
<MeasurementSet><objects><Measurement name="long"><MarkerPairSet><objects><MarkerPair><markers>{pair}</markers></MarkerPair>
</objects></MarkerPairSet><BodyScaleSet><objects><BodyScale name="{body}"><axes>{axes}</axes></BodyScale></objects></BodyScaleSet>
</Measurement></objects></MeasurementSet><marker_file>{file}</marker_file></ModelScaler></ScaleTool></OpenSimDocument>"""
_GOOD = {"order": "measurements", "pair": "a1 a2", "body": "a", "axes": "X Y Z", "file": "static.trc"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pair": "a1 nobody"}, "None of the 1 measurements"),
        ({"pair": "a1"}, "does not consist of two names"),
        ({"axes": "Q"}, "only X, Y and Z"),
        ({"order": "guess"}, "only measurements"),
        ({"file": "Unassigned"}, "states no marker file"),
        ({"file": "gone.trc"}, "does not exist"),
    ],
)
def test_set_ups_that_ask_for_what_is_not_there_are_refused(tall, tmp_path, change, words):
    generic, _, _ = tall
    setup = tmp_path / "scale.xml"
    setup.write_text(_SETUP.format(**{**_GOOD, **change}))
    with pytest.raises((InputFileError, ModelError), match=words):
        scale_by_setup(generic, setup)


def test_a_body_that_is_not_there_is_named(tall, tmp_path):
    generic, _, _ = tall
    setup = tmp_path / "scale.xml"
    setup.write_text(_SETUP.format(**{**_GOOD, "body": "patella"}))
    found = scale_by_setup(generic, setup)
    assert found.record["factors"] == {}
    assert [note.code for note in found.notes] == ["model-scaling"]
