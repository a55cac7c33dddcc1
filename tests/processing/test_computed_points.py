"""Points that other software computed and stored beside the markers change no torque, whatever they are called."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulator.trial import SimulatedTrial
from support.sessions import Laboratory

from biodyn import run_trial
from biodyn.conventions import FloatArray
from biodyn.io.point_classification import classify_points

QUICK = {"uncertainty": {"compute": False}}
PELVIS = ("LASI", "RASI", "LPSI", "RPSI")


def pelvis(trial: SimulatedTrial) -> tuple[FloatArray, FloatArray]:
    """Rotation (T, 3, 3) and origin (T, 3) m of axes through the pelvis markers."""
    left, right, back_l, back_r = (trial.markers[:, trial.labels.index(label)] for label in PELVIS)
    origin, back = (left + right) / 2.0, (back_l + back_r) / 2.0
    across = right - left
    x = origin - back
    x -= across * ((x * across).sum(axis=1) / (across**2).sum(axis=1))[:, None]
    axes = [vector / np.linalg.norm(vector, axis=1, keepdims=True) for vector in (x, across)]
    return np.stack([axes[0], np.cross(axes[1], axes[0]), axes[1]], axis=2), origin


def with_points(trial: SimulatedTrial, names: tuple[str, str]) -> SimulatedTrial:
    """The trial with two hip centres as a functional method would store them: fixed in the pelvis."""
    R, p = pelvis(trial)
    offsets = np.array([[-0.045, -0.075, 0.085], [-0.045, -0.075, -0.085]])
    extra = p[:, None] + np.einsum("tij,kj->tki", R, offsets)
    return replace(trial, labels=(*trial.labels, *names), markers=np.concatenate([trial.markers, extra], axis=1))


@pytest.fixture(scope="module")
def without(laboratory: Laboratory) -> FloatArray:
    return (
        run_trial(laboratory.walk, static=laboratory.static, settings=QUICK)
        .joint_torques.select_dtypes("number")
        .to_numpy()
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "code"),
    [
        (("RHJC", "LHJC"), "computed-points"),
        pytest.param(("RightHipJointCentre", "LeftHipJointCentre"), "computed-points", marks=pytest.mark.slow),
        pytest.param(("Pelvis_RFemur_score", "Pelvis_LFemur_score"), "computed-points", marks=pytest.mark.slow),
        (("P17", "P18"), "computed-points"),  # told by its place alone
    ],
)
def test_hip_centres_among_the_points_are_no_skin_markers(
    laboratory: Laboratory, without: FloatArray, tmp_path: Path, names: tuple[str, str], code: str
) -> None:
    files = laboratory.copy(
        tmp_path / "s",
        static=with_points(laboratory.trials["static"], names),
        walk=with_points(laboratory.trials["walk"], names),
    )
    result = run_trial(files.walk, static=files.static, settings=QUICK)
    np.testing.assert_array_equal(result.joint_torques.select_dtypes("number").to_numpy(), without)
    assert result.analysis is not None
    assert not {marker.label for marker in result.analysis.model.markers}.intersection(names)
    told = " ".join(d.message for d in result.diagnostics if d.code == code)
    assert all(name in told for name in names)


@pytest.mark.slow
def test_a_hip_centre_that_only_the_walk_stores_is_told_by_its_place(
    laboratory: Laboratory, without: FloatArray, tmp_path: Path
) -> None:
    files = laboratory.copy(tmp_path / "s", walk=with_points(laboratory.trials["walk"], ("P17", "P18")))
    result = run_trial(files.walk, static=files.static, settings=QUICK)
    np.testing.assert_array_equal(result.joint_torques.select_dtypes("number").to_numpy(), without)
    assert sum(d.code == "computed-points" for d in result.diagnostics) == 2


def test_groups_and_descriptions_of_the_file_tell_outputs_from_markers() -> None:
    points = np.random.default_rng(0).normal(size=(5, 4, 3))
    labels = ["RASI", "X1", "X2", "X3"]
    roles = classify_points(
        labels, points, {"FUNCTIONAL": ["X2"]}, (), ["", "Functional joint centre, right hip", "", "thigh"]
    )
    assert roles.kinds == ("marker", "virtual_point", "scalar", "marker")


@pytest.mark.parametrize(
    "label", ["RTHI", "LKNE", "R_HIP_LAT", "SACR", "MIDSHANK", "RSHO", "L_Femur_1", "CENTRE1", "RKNM", "HEAD"]
)
def test_markers_stay_markers(label: str) -> None:
    assert classify_points([label], np.ones((3, 1, 3)), {}, ()).kinds == ("marker",)


@pytest.mark.slow
def test_stored_hip_centres_serve_as_centres_where_the_settings_ask(laboratory: Laboratory, tmp_path: Path) -> None:
    """They lie where the fixture put them: 45 mm behind, 75 below and 85 beside the middle of the ASIS."""
    names = ("RHJC", "LHJC")
    files = laboratory.copy(tmp_path / "s", static=with_points(laboratory.trials["static"], names))
    asked = QUICK | {"model": {"stored_centres": True}}
    result = run_trial(files.walk, static=files.static, settings=asked)
    assert result.analysis is not None
    place = {body.definition.name: body.p_PB for body in result.analysis.model.bodies}
    np.testing.assert_allclose(place["femur_r"], [-0.045, -0.075, 0.085], atol=1e-3)
    np.testing.assert_allclose(place["femur_l"], [-0.045, -0.075, -0.085], atol=1e-3)
    notice = next(d for d in result.diagnostics if d.code == "stored-centres")
    assert all(name in notice.message for name in names)
    assert not {marker.label for marker in result.analysis.model.markers}.intersection(names)


@pytest.mark.parametrize("missing", ["", "P"])
def test_axes_of_known_segments_are_no_markers_whatever_their_lengths(missing: str) -> None:
    """Plug-in Gait's axes, ten times as long as usual, of unequal lengths, one point left out."""
    labels = [f"LFE{suffix}" for suffix in "OALP" if suffix != missing] + ["LASI", "LFEM"]
    origin = np.array([0.0, 800.0, 100.0])
    ends = {"O": origin, "A": origin + [900.0, 0, 0], "L": origin + [0, 0, 1500.0], "P": origin + [0, 400.0, 0]}
    points = np.array([[ends.get(label[-1], origin) for label in labels]])
    kinds = classify_points(labels, points, {}, ()).kinds
    assert set(kinds[:-2]) == {"virtual_point"}
    assert kinds[-2:] == ("marker", "marker")
