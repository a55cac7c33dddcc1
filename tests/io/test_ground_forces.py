"""Ground forces in a table beside the motion: their columns, the file that belongs to a walk, and the plates they become."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.opensim_tables import as_opensim, write_forces, write_table
from support.real import recordings
from support.sessions import Laboratory

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io import read, read_facts
from biodyn.io.ground_forces import find_force_files
from biodyn.io.tables.column_roles import force_columns
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.recording import Recording

NAMES = {
    "OpenSim": (("{}ground_force_v{}", "{}ground_force_p{}", "{}ground_torque_{}"), ("", "1_"), (None, None)),
    "sides before": (("{}_ground_force_v{}", "{}_ground_force_p{}", "{}_ground_torque_{}"), ("R", "L"), ("r", "l")),
    "sides within": (
        ("ground_force_{}_v{}", "ground_force_{}_p{}", "ground_torque_{}_{}"),
        ("right", "left"),
        ("r", "l"),
    ),
    "bodies": (
        ("ground_force_{}_v{}", "ground_force_{}_p{}", "ground_moment_{}_m{}"),
        ("calcn_l", "calcn_r"),
        ("l", "r"),
    ),
    "numbers": (("force{}_v{}", "force{}_p{}", "moment{}_{}"), ("1", "2"), (None, None)),
    "plates": (("FP{}_F{}", "FP{}_P{}", "FP{}_M{}"), ("1", "2"), (None, None)),
    "plates in words": (("plate{}_force_{}", "plate{}_cop_{}", "plate{}_free_moment_{}"), ("1", "2"), (None, None)),
    "plates' pressure": (("FP{}_Force_{}", "FP{}_COP{}", "FP{}_Moment_{}"), ("1", "2"), (None, None)),
    "axis first": (("F{1}{0}", "COP{1}{0}", "M{1}{0}"), ("1", "2"), (None, None)),
    "axis first, in words": (("Force_{1}_{0}", "CoP_{1}_{0}", "Moment_{1}_{0}"), ("1", "2"), (None, None)),
    "OpenSim's C3D adapter": (("f{}_{}", "p{}_{}", "m{}_{}"), ("1", "2"), (None, None)),
}


@pytest.mark.parametrize("case", NAMES)
def test_forces_are_known_by_the_names_of_their_columns(case: str) -> None:
    forms, words, sides = NAMES[case]
    axes = "123" if case.startswith("OpenSim's") else "xyz"
    names = [form.format(word, axis) for word in words for form in forms for axis in axes]
    found = force_columns(["pelvis_tx", *names, "soleus_r.force", "hip_flexion_r_moment", "R.Heel_tx"])
    assert tuple(one.side for one in found) == sides
    assert [name for one in found for name in one.columns] == names


def test_a_force_without_a_point_is_none() -> None:
    assert not force_columns(
        ["Fx1", "Fy1", "Fz1", "Mx1", "My1", "Mz1", "ground_force_vx", "ground_force_vy", "ground_force_vz"]
    )


LAYOUTS = {
    "walk1.trc": "walk1_grf.mot",
    "Walk1.trc ": "Walk1GRF.mot",
    "trial/markers.trc": "trial/grf.mot",
    "MarkerData/walk1.trc": "ForceData/walk1_forces.mot",
    "MarkerData/Mocap/walk1.trc": "ForceData/walk1_forces.mot",
    "S1/Markers/walk1_markers.trc": "S1/GRF/walk1.sto",
}


@pytest.mark.parametrize("motion", LAYOUTS)
def test_the_forces_of_a_walk_are_found(tmp_path: Path, motion: str) -> None:
    place, forces = tmp_path / motion.strip(), tmp_path / LAYOUTS[motion]
    for path in (place, forces):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    names = [f"ground_force_{what}{axis}" for what in "vp" for axis in "xyz"]
    write_table(forces, names, np.arange(3.0), np.ones((3, 6)))
    write_table(place.with_suffix(".mot"), ["pelvis_tx", "hip_flexion_r"], np.arange(3.0), np.ones((3, 2)))  # no forces
    write_table(forces.with_name("walk2_grf.mot"), names, np.arange(3.0), np.ones((3, 6)))  # another walk's
    assert find_force_files(place) == (forces,)


@pytest.fixture(scope="module")
def recording(laboratory: Laboratory) -> Recording:
    """A second of the simulated walk, its plates at 200 Hz: quick to write as text."""
    whole = read(laboratory.walk)
    markers = replace(whole.markers, positions=whole.markers.positions[100:200])
    step = round(whole.plates[0].rate_hz / 200.0)
    rows = slice(*(round(n * whole.plates[0].rate_hz / markers.rate_hz) for n in (100, 200)), step)
    plates = (replace(plate, channels=plate.channels[rows], rate_hz=200.0, zero_frames=None) for plate in whole.plates)
    return replace(whole.with_markers(markers), plates=tuple(plates), events=(), first_frame=1)


def test_two_files_that_could_be_the_forces_are_named_and_not_taken(recording: Recording, tmp_path: Path) -> None:
    walk = as_opensim(recording, tmp_path)
    shutil.copy(tmp_path / "walk_grf.mot", tmp_path / "walk_forces.mot")
    found = read(walk)
    assert not found.plates
    (note,) = (d for d in found.diagnostics if d.code == "forces-unusable")
    assert "walk_forces.mot" in note.message
    assert read(walk, tmp_path / "walk_grf.mot").plates
    assert not read(walk, "none").plates


def _wrenches(recording: Recording) -> list[FloatArray]:
    """World wrenches of all plates (Y up must be made by a rotation that the corners, too, have had)."""
    R = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    up = recording.rotated(R)
    return [plate_wrench(plate, up.markers.frame_count, up.markers.rate_hz).wrench for plate in up.plates]


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_plates_of_a_table_carry_what_the_plates_of_the_c3d_do(
    recording: Recording, tmp_path: Path, scale: float
) -> None:
    found = read(as_opensim(recording, tmp_path, scale=scale))
    assert len(found.plates) == len(recording.plates)
    assert not any(plate.outlined for plate in found.plates)
    assert [path.name for path, _ in found.also_read] == ["walk_grf.mot"]
    assert read_facts(tmp_path / "walk.trc").plate_count == len(recording.plates)
    for theirs, ours in zip(_wrenches(recording), _wrenches(found), strict=True):
        assert np.abs(theirs - ours).max() < 1e-6 * np.abs(theirs).max()


@pytest.mark.parametrize(("scale", "about"), [(1.0, (0.0, 0.0, 0.0)), (1000.0, (0.7, -0.04, 0.1))])
def test_moments_about_another_point_than_the_force_are_moved(
    recording: Recording, tmp_path: Path, scale: float, about: tuple[float, ...]
) -> None:
    """About the laboratory's origin, or a plate's sensor: as plates measure them."""
    walk = as_opensim(recording, tmp_path)
    right = read(walk)
    as_opensim(recording, tmp_path, scale=scale, about=about)
    found = read(walk)
    notes = [note for note in found.diagnostics if note.code == "forces-incomplete"]
    assert len(notes) == len(right.plates)
    assert {note.severity for note in notes} == {"warning" if any(about) else "info"}
    assert not [note for note in right.diagnostics if note.code == "forces-incomplete"]
    for mine, wanted in zip(found.plates, right.plates, strict=True):
        loaded = np.abs(wanted.channels[:, 2]) > 50.0
        # the point is found from numbers of twelve digits
        np.testing.assert_allclose(mine.channels[loaded], wanted.channels[loaded], atol=1e-4)


def test_a_force_at_a_fixed_point_keeps_its_whole_moment(recording: Recording, tmp_path: Path) -> None:
    """As OpenSim's reader of C3D files gives forces at the origins of the plates; also where somebody stands still."""
    walk = as_opensim(recording, tmp_path)
    right = read(walk)
    as_opensim(recording, tmp_path, fixed=True)
    found = read(walk)
    assert not [note for note in found.diagnostics if note.code == "forces-incomplete"]
    frames, rate_hz = found.markers.frame_count, found.markers.rate_hz
    for mine, wanted in zip(found.plates, right.plates, strict=True):
        expected = plate_wrench(wanted, frames, rate_hz).wrench
        np.testing.assert_allclose(plate_wrench(mine, frames, rate_hz).wrench, expected, atol=1e-6)


def test_a_table_of_another_time_is_told_and_one_that_is_shorter_cuts_the_walk(
    recording: Recording, tmp_path: Path
) -> None:
    walk = as_opensim(recording, tmp_path, start_s=100.0)
    found = read(walk)
    assert not found.plates
    assert "do not overlap" in next(d for d in found.diagnostics if d.code == "forces-unusable").message
    with pytest.raises(InputFileError, match="do not overlap"):
        read(walk, tmp_path / "walk_grf.mot")
    lines = (tmp_path / "walk_grf.mot").read_text().splitlines()
    lines[-1] = "1e308" + lines[-1][lines[-1].index("\t") :]  # the last time
    (tmp_path / "damaged.mot").write_text("\n".join(lines))
    with pytest.raises(InputFileError, match=r"damaged\.mot"):
        read(walk, tmp_path / "damaged.mot")
    late = read(walk, write_forces(tmp_path / "late.mot", recording, start_s=0.5))
    cut = recording.markers.frame_count - late.markers.frame_count
    assert abs(cut / recording.markers.rate_hz - 0.5) < 0.02
    assert late.first_frame == 1 + cut
    assert late.start_s == pytest.approx(cut / recording.markers.rate_hz)


def test_a_table_called_after_forces_whose_columns_nobody_knows_is_named(recording: Recording, tmp_path: Path) -> None:
    as_opensim(recording, tmp_path, "walk")
    table = tmp_path / "walk_grf.mot"
    table.write_text(table.read_text().replace("force", "load"))
    found = read(tmp_path / "walk.trc")
    assert not found.plates
    (note,) = [one for one in found.diagnostics if one.code == "forces-unusable"]
    assert "'walk_grf.mot' holds no ground force" in note.message
    assert "Its columns are " in note.hint
    # a table of something else is none of its business
    table.rename(tmp_path / "walk_emg.mot")
    assert "forces-unusable" not in {one.code for one in read(tmp_path / "walk.trc").diagnostics}


@pytest.mark.parametrize("turned", ["markers", "forces"])
def test_markers_and_forces_with_another_vertical_are_refused(
    recording: Recording, tmp_path: Path, turned: str
) -> None:
    """Y up in one of the files and Z up in the other: sides seemed exchanged, torques were 5 Nm/kg off."""
    R_other = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    other = recording.rotated(R_other)
    walk = as_opensim(replace(other if turned == "markers" else recording, plates=()), tmp_path)
    forces = write_forces(tmp_path / "forces.mot", recording if turned == "markers" else other)
    with pytest.raises(InputFileError, match="have different axes"):
        read(walk, forces)
    same = as_opensim(replace(other, plates=()), tmp_path / "both")
    assert read(same, write_forces(tmp_path / "both.mot", other)).plates


def test_what_holds_no_forces_is_refused_in_one_sentence(recording: Recording, tmp_path: Path) -> None:
    walk = as_opensim(replace(recording, plates=()), tmp_path)
    angles = write_table(tmp_path / "ik.mot", ["pelvis_tx"], np.arange(3.0), np.ones((3, 1)))
    with pytest.raises(InputFileError, match="holds no ground force"):
        read(walk, angles)
    with pytest.raises(InputFileError, match="does not exist"):
        read(walk, tmp_path / "nowhere.mot")
    (tmp_path / "walk.c3d").write_bytes(b"x")
    with pytest.raises(InputFileError, match="a recording with force plates"):
        read(walk, tmp_path / "walk.c3d")


def test_real_tables_become_plates_of_their_walks() -> None:
    folder = recordings() / "opensim"
    tutorial = read(folder / "gait2354_tutorial" / "subject01_walk1.trc")
    assert [plate.side for plate in tutorial.plates] == ["r", "l"]  # by the ExternalLoads XML
    assert {plate.rate_hz for plate in tutorial.plates} == {600.0}
    synthetic = read(folder / "arnold2013_synthetic/subject18/trials/walk2/markers.trc")
    assert synthetic.start_s == 2.44
    for recording in (tutorial, synthetic):
        peaks = [plate.channels[:, 2].min() for plate in recording.plates]  # z of a plate points down
        assert all(-900.0 < peak < -600.0 for peak in peaks)


@pytest.mark.parametrize("part", ["v", "p"])
def test_a_table_with_a_hole_amid_stance_is_told_and_the_contact_not_used(
    recording: Recording, tmp_path: Path, part: str
) -> None:
    motion = as_opensim(recording, tmp_path)
    table = tmp_path / "walk_grf.mot"
    lines = [line.split("\t") for line in table.read_text().split("\n")]
    head = next(k for k, line in enumerate(lines) if line[0] == "time")
    column = lines[head].index("ground_force_vz")
    row = max(range(head + 1, len(lines) - 1), key=lambda k: float(lines[k][column]))
    for axis in "xyz":
        lines[row][lines[head].index(f"ground_force_{part}{axis}")] = "nan"
    table.write_text("\n".join("\t".join(line) for line in lines))
    found = read(motion)
    assert "forces-incomplete" in {note.code for note in found.diagnostics}
    assert np.isnan(found.plates[0].channels).any()
    up = found.rotated(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]))
    wrench = plate_wrench(up.plates[0], up.markers.frame_count, up.markers.rate_hz)
    assert len(wrench.unrecorded_s) == 1
