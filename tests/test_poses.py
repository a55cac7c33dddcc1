"""A walk analysed on measured poses of its segments: the same torques as on markers, the angles of the matrices, bands, gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from simulator import SimulatedTrial
from simulator.c3d_writer import C3dContent, write_c3d
from simulator.poses import PoseNoise, true_poses, with_errors, write_pose_c3d
from simulator.uncertain import covered
from support.poses import files_of_its_poses, with_its_segments
from support.sessions import Laboratory

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import FloatArray
from biodyn.errors import BiodynError, InputFileError, PlateError, SettingsError
from biodyn.library.pose_systems import pose_systems
from biodyn.output.tables.time_series import pose_angles_table, pose_errors_table
from biodyn.recording import SegmentPoses
from biodyn.trial.inspection import check_file
from biodyn.trial.result import TrialResult
from biodyn.trial.run import analyse_trial, run_trial
from biodyn.uncertainty.propagation_inputs import PoseErrors

THEIA, ISB = pose_systems()
UNFILTERED = {
    "signals": {"cutoff_hz": 0.0},
    "model": {"fit": "none"},
    "uncertainty": {"compute": False},
}


@pytest.fixture(scope="module")
def trial(laboratory: Laboratory) -> SimulatedTrial:
    return laboratory.trials["walk"]


@pytest.fixture(scope="module")
def path(trial: SimulatedTrial, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The walk as Theia3D would have stored it, without errors."""
    place = tmp_path_factory.mktemp("poses") / "pose_filt_0.c3d"
    write_pose_c3d(place, trial, true_poses(trial, THEIA))
    return place


@pytest.fixture(scope="module")
def analysis(path: Path) -> TrialAnalysis:
    return analyse_trial(path, settings=UNFILTERED, torques_only=True)


def test_torques_are_those_of_the_markers(walk_result: TrialResult) -> None:
    """One motion and one body through both doors."""
    path, static = walk_result.analysis.recording.path, walk_result.analysis.static.path
    markers = analyse_trial(path, static, settings=UNFILTERED, torques_only=True)
    files, steps = files_of_its_poses(markers), with_its_segments(markers)
    poses = analyse_trial(path, files=files, settings=UNFILTERED, torques_only=True, steps=steps)
    known = np.isfinite(markers.dynamics.torques)
    np.testing.assert_array_equal(np.isfinite(poses.dynamics.torques), known)
    np.testing.assert_allclose(poses.dynamics.torques[known], markers.dynamics.torques[known], atol=1e-6)


def test_angles_are_those_of_the_matrices(analysis: TrialAnalysis) -> None:
    poses, table = analysis.recording.poses, pose_angles_table(analysis)
    exact = Rotation.from_matrix(poses.rotations.reshape(-1, 3, 3)).as_matrix().reshape(poses.rotations.shape)
    doubles = replace(
        analysis.recording, motion=replace(analysis.recording.motion, poses=replace(poses, rotations=exact))
    )
    table = pose_angles_table(replace(analysis, recording=doubles))
    for side, sign in (("r", 1.0), ("l", -1.0)):
        parts = [exact[:, poses.labels.index(name)] for name in ("pelvis_4X4", f"{side}_thigh_4X4")]
        R = np.swapaxes(parts[0], 1, 2) @ parts[1]
        angles = Rotation.from_matrix(R).as_euler("XYZ", degrees=True)  # Theia3D: x right, y forward, z up
        for column, name, way in ((0, "flexion", 1.0), (1, "adduction", sign), (2, "rotation", sign)):
            np.testing.assert_allclose(table[f"hip_{name}_{side}_deg"], way * angles[:, column], atol=1e-9)


def test_the_fit_follows_poses_that_the_skeleton_can_have(analysis: TrialAnalysis, trial: SimulatedTrial) -> None:
    """Exact poses in single precision; only the trunk's joint is not theirs."""
    assert float(np.nanmax(pose_errors_table(analysis).filter(like="_foot").to_numpy())) < 0.2  # mm and degrees alike
    model = trial.body.model
    for name in ("knee_angle_r", "hip_flexion_l"):
        true = trial.q[:, model.coordinate(name).q_index]
        found = analysis.fit.motion.q[:, analysis.model.coordinate(name).q_index]
        np.testing.assert_allclose(np.rad2deg(found), np.rad2deg(true), atol=0.3)


def test_sizes_of_the_legs_are_the_distances_of_the_origins(analysis: TrialAnalysis, trial: SimulatedTrial) -> None:
    own, true = (
        {body.definition.name: body.p_PB for body in model.bodies} for model in (analysis.model, trial.body.model)
    )
    for name in ("tibia_r", "tibia_l", "calcn_r", "calcn_l"):
        np.testing.assert_allclose(own[name], true[name], atol=1e-5)


@pytest.mark.parametrize("gap", [pytest.param(8, marks=pytest.mark.slow), 40])
def test_gaps_are_filled_or_left(path: Path, trial: SimulatedTrial, tmp_path: Path, gap: int) -> None:
    poses = true_poses(trial, THEIA)
    at, middle = poses.labels.index("r_foot_4X4"), poses.frame_count // 2
    holes = poses.origins.copy()
    holes[middle : middle + gap, at] = np.nan
    write_pose_c3d(tmp_path / "gap.c3d", trial, replace(poses, origins=holes))
    found = analyse_trial(tmp_path / "gap.c3d", settings={"uncertainty": {"compute": False}}, torques_only=True)
    lost = found.fit.lost[middle : middle + gap].any()
    assert lost == (gap == 40)


def test_a_file_of_markers_and_poses_says_which_are_used(trial: SimulatedTrial, tmp_path: Path) -> None:
    both = tmp_path / "both.c3d"
    poses = true_poses(trial, THEIA)
    matrices = np.zeros((*poses.origins.shape[:2], 4, 4))
    matrices[..., :3, :3], matrices[..., :3, 3], matrices[..., 3, 3] = poses.rotations, 1e3 * poses.origins, 1.0
    names, places = list(trial.labels), 1e3 * trial.markers
    write_c3d(both, C3dContent(names, places, 100.0, segments=poses.labels, poses=matrices))
    found = check_file(both)
    assert "the markers are used" in next(d.message for d in found.diagnostics if d.code == "data-not-used")
    strangers = [f"X{i}" for i in range(len(names))]
    write_c3d(both, C3dContent(strangers, places, 100.0, segments=poses.labels, poses=matrices))
    found = check_file(both)
    assert "the poses are used" in next(d.message for d in found.diagnostics if d.code == "data-not-used")
    assert any(line.startswith("Poses: 17 segments") for line in found.lines)


@pytest.mark.slow
def test_what_cannot_be_is_said_in_a_sentence(path: Path, trial: SimulatedTrial, tmp_path: Path) -> None:
    refused: Sequence[tuple[type[BiodynError], str, Path, dict[str, object]]] = [
        (InputFileError, "contains no markers", path, {"poses": {"use": "markers"}}),
        (SettingsError, "estimate", path, {"signals": {"method": "estimate"}}),
        (PlateError, "no force plate", _without_plates(tmp_path / "alone.c3d", trial), {}),
        (BiodynError, "pelvis", _without(tmp_path / "legs.c3d", trial, ("pelvis_4X4",)), {}),
        (BiodynError, "do not agree with Theia3D", _turned(tmp_path / "turned.c3d", trial), {}),
        (BiodynError, "shank", _without(tmp_path / "thighs.c3d", trial, ("r_shank_4X4", "l_shank_4X4")), {}),
    ]
    for error, words, file, settings in refused:
        with pytest.raises(error, match=words):
            analyse_trial(file, settings=settings, torques_only=True)


def _without(path: Path, trial: SimulatedTrial, labels: tuple[str, ...]) -> Path:
    poses = true_poses(trial, THEIA)
    kept = [i for i, label in enumerate(poses.labels) if label not in labels]
    names = tuple(poses.labels[i] for i in kept)
    write_pose_c3d(path, trial, SegmentPoses(names, poses.rotations[:, kept], poses.origins[:, kept], poses.rate_hz))
    return path


def _turned(path: Path, trial: SimulatedTrial) -> Path:
    """The names of Theia3D, the axes of ISB."""
    poses = true_poses(trial, THEIA)
    write_pose_c3d(path, trial, replace(poses, rotations=poses.rotations @ THEIA.R_VB))
    return path


def _without_plates(path: Path, trial: SimulatedTrial) -> Path:
    poses = true_poses(trial, THEIA)
    matrices = np.zeros((*poses.origins.shape[:2], 4, 4))
    matrices[..., :3, :3], matrices[..., :3, 3], matrices[..., 3, 3] = poses.rotations, 1e3 * poses.origins, 1.0
    empty: FloatArray = np.zeros((poses.frame_count, 0, 3))
    write_c3d(path, C3dContent([], empty, 100.0, segments=poses.labels, poses=matrices))
    return path


@pytest.mark.slow
def test_a_constant_error_of_a_pose_does_to_the_torques_what_the_bands_say(
    trial: SimulatedTrial, tmp_path: Path
) -> None:
    """One column of the propagation against the analysis done again with the pose moved."""
    poses, settings = true_poses(trial, ISB), {"signals": {"cutoff_hz": 0.0}, "model": {"fit": "none"}}
    file = tmp_path / "isb.c3d"
    write_pose_c3d(file, trial, poses)
    base = analyse_trial(file, settings=settings)
    assert base.propagation is not None
    errors = base.propagation.poses
    assert isinstance(errors, PoseErrors)
    for body, turns, axis, size in (
        ("tibia_r", False, 0, 0.004),
        ("femur_r", True, 1, 0.02),
        ("calcn_r", False, 2, 0.004),
    ):
        at = poses.labels.index(body)
        R, p = poses.rotations.copy(), poses.origins.copy()
        step = size * np.eye(3)[axis]
        if turns:
            R[:, at] = R[:, at] @ Rotation.from_rotvec(step).as_matrix()
        else:
            p[:, at] += R[:, at] @ step
        write_pose_c3d(file, trial, replace(poses, rotations=R, origins=p))
        moved = analyse_trial(file, settings=settings, torques_only=True)
        change = moved.dynamics.torques - base.dynamics.torques
        number = [o.body for o in errors.offsets].index(body) + (3 if turns else 0) + axis
        alone = replace(errors, size=(size, size), shares=(1.0,), offsets=errors.offsets[number : number + 1])
        found = _bands(base, alone)
        known = np.isfinite(change) & np.isfinite(found)
        largest = np.sqrt(np.nanmean(change**2, axis=0)).argmax()
        rows = known[:, largest]
        np.testing.assert_allclose(
            np.abs(change[rows, largest]), found[rows, largest], atol=0.05 * np.abs(change[rows, largest]).max()
        )


def _bands(analysis: TrialAnalysis, errors: PoseErrors) -> FloatArray:
    from biodyn.uncertainty.propagation_inputs import load_magnitudes
    from biodyn.uncertainty.torque_bands import torque_uncertainty

    assert analysis.propagation is not None
    inputs = replace(analysis.propagation, poses=errors)
    return torque_uncertainty(inputs, load_magnitudes()).by_source["pose_errors"]


@pytest.mark.slow
def test_bands_of_erring_poses_hold_the_truth(trial: SimulatedTrial, tmp_path: Path) -> None:
    """Three draws of 3 degrees and 15 mm; `benchmarks/poses.py` has the number for many people."""
    noise = PoseNoise(0.015, float(np.deg2rad(3.0)), (0.6, 0.25, 0.15), 3e-4, 1e-3)
    inside = []
    for seed in (1, 2, 3):
        file = tmp_path / f"{seed}.c3d"
        poses = with_errors(true_poses(trial, THEIA), noise, trial.options.stride_s, np.random.default_rng(seed))
        write_pose_c3d(file, trial, poses)
        result = run_trial(file)
        found = result.analysis
        assert found.uncertainty is not None
        assert {"pose_noise", "pose_errors"} <= found.uncertainty.by_source.keys()
        for column, coordinate in enumerate(found.model.coordinates):
            if coordinate.joint.startswith(("hip", "knee", "ankle")):
                true = trial.tau[:, trial.body.model.coordinate(coordinate.name).v_index]
                error, sd = found.dynamics.torques[:, column] - true, found.uncertainty.total[:, column]
                inside.append(covered(error, sd)[np.isfinite(error)].mean())
    assert 0.85 < np.mean(inside) <= 1.0
