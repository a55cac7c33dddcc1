"""AddBiomechanics archives: one that its own library nimblephysics (0.10.52) wrote, and what becomes of damaged ones.

`golden/nimblephysics.b3d`: a model of two rods, two trials of 6 and 4 frames, marker B unseen in the third frame, moments of
plate 1 about the centre of pressure and of plate 2 about the origin, the last frame's forces called missing.
"""

import json
import random
from pathlib import Path

import numpy as np
import pytest

from biodyn.errors import InputFileError, ResultError
from biodyn.io import read
from biodyn.io.b3d import ground_force_columns, message_class, moment_reference_point, read_archive
from biodyn.io.opensim.storage import read_storage
from biodyn.trial.archive_unpacking import unpack

GOLDEN = Path(__file__).parent / "golden" / "nimblephysics.b3d"


def _written(path: Path, *, trials: int = 1, frames: int = 30, markers: int = 4, named: tuple[str, ...] = ()) -> Path:
    """An archive of still markers, 0.1 to 0.4 m apart, as the library writes one: every frame as long as the others."""
    Header, Sensor = message_class("Header"), message_class("SensorFrame")
    header = Header(dof_count=0, trial_count=trials, mass_kg=60.0, marker=named or [f"M{k}" for k in range(markers)])
    places = np.arange(3.0 * markers) * 0.1
    plate = {"pressure_centres": [0.1, 0.0, 0.2], "plate_moments": [0.0, 4.0, 0.0], "plate_forces": [5.0, 600.0, 2.0]}
    frame = Sensor(markers=places, **plate).SerializeToString()
    header.sensor_frame_bytes = len(frame)
    for _ in range(trials):
        header.trial.add(name="same", frame_count=frames, step_s=0.01, plate_count=1)
    head = header.SerializeToString()
    path.write_bytes(len(head).to_bytes(8, "little") + head + frame * frames * trials)
    return path


def test_what_its_own_library_wrote() -> None:
    archive = read_archive(GOLDEN)
    assert (archive.mass_kg, archive.height_m, archive.sex, archive.age_years) == (70.5, 1.8, "female", 33)
    assert [kind for kind, _ in archive.models] == ["kinematics"]
    first, second = archive.trials
    assert (first.name, first.rate_hz, first.labels, len(first.markers)) == ("walk 1", 100.0, ("A", "B"), 6)
    assert (second.name, len(second.markers)) == ("walk/2", 4)
    np.testing.assert_array_equal(first.markers[:, 0], [[1.0, 2.0, z] for z in (3, 4, 3, 6, 7, 8)])
    assert np.isnan(first.markers[2, 1]).all()
    np.testing.assert_array_equal(second.markers[3, 1], [4.0, 5.0, 6.0])
    np.testing.assert_array_equal(first.coordinates, [[0.1 * k, 0.1 * k + 1.0] for k in range(6)])
    assert list(first.without_forces) == [False] * 5 + [True]


def test_moments_of_both_kinds_come_out_about_the_centre_of_pressure() -> None:
    trial = read_archive(GOLDEN).trials[0]
    columns, _, notes = ground_force_columns(trial)
    for plate in "12":
        np.testing.assert_allclose(
            np.column_stack([columns[f"{plate}_ground_torque_{axis}"] for axis in "xyz"]),
            np.tile([0.0, 3.0, 0.0], (6, 1)),
            atol=1e-12,
        )
    assert [note.code for note in notes] == ["forces-incomplete"]


def test_moments_about_no_known_point_are_told() -> None:
    force, point = np.tile([0.0, 700.0, 0.0], (5, 1)), np.tile([0.5, 0.0, 0.3], (5, 1))
    assert moment_reference_point(point, np.zeros((5, 3)), force) == "centre of pressure"
    assert moment_reference_point(point, np.cross(point, force), force) == "origin"
    assert moment_reference_point(point, np.tile([300.0, 0.0, 90.0], (5, 1)), force) is None


def test_unpacked_files_say_what_the_archive_says(tmp_path: Path) -> None:
    made = unpack(GOLDEN, tmp_path / "out")
    assert made.trials == ("walk_1", "walk_2")
    folder = made.folder
    person = json.loads((folder / "_subject.json").read_text())
    assert person == {"massKg": 70.5, "heightM": 1.8, "sex": "female", "ageYears": 33}
    coordinates = read_storage(folder / "walk_1_coordinates.mot")
    assert coordinates.names == ("first", "second")
    np.testing.assert_allclose(coordinates.column("second"), [1.0 + 0.1 * k for k in range(6)])
    np.testing.assert_array_equal(read_storage(folder / "walk_2_grf.mot").column("2_ground_force_px"), np.full(4, 1.5))
    with pytest.raises(ResultError, match="--force"):
        unpack(GOLDEN, folder)
    assert unpack(GOLDEN, folder, force=True).files == made.files


def test_an_archive_of_one_trial_is_a_recording(tmp_path: Path) -> None:
    found = read(_written(tmp_path / "one.b3d"))
    assert found.markers.labels == ("M0", "M1", "M2", "M3")
    assert found.markers.rate_hz == 100.0
    assert (len(found.plates), found.subject.mass_kg) == (1, 60.0)


def test_of_several_trials_one_has_to_be_made_a_file(tmp_path: Path) -> None:
    several = _written(tmp_path / "two.b3d", trials=2)
    with pytest.raises(InputFileError, match="archive of 2 trials"):
        read(several)
    assert unpack(several).trials == ("same", "same_2")
    assert read(tmp_path / "two" / "same_2.trc").plates


@pytest.mark.parametrize("counts", [{"plate_count": 2**31 - 1}, {"frame_count": 2**31 - 1}, {"frame_count": 0}])
def test_counts_of_a_header_that_the_file_does_not_hold_take_no_memory(tmp_path: Path, counts: dict[str, int]) -> None:
    """Frames and plates are counted before anything is made for them; 2**31 plates took all memory."""
    content = _written(tmp_path / "sound.b3d").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = message_class("Header").FromString(content[8 : 8 + length])
    for name, count in counts.items():
        setattr(header.trial[0], name, count)
    head = header.SerializeToString()
    (tmp_path / "bomb.b3d").write_bytes(len(head).to_bytes(8, "little") + head + content[8 + length :])
    with pytest.raises(InputFileError):
        read_archive(tmp_path / "bomb.b3d")


def test_damaged_archives_are_refused_in_a_sentence(tmp_path: Path) -> None:
    """Cut short, longer, and with changed bytes in the header: an InputFileError or an archive, never anything else."""
    content, random_bytes = GOLDEN.read_bytes(), random.Random(5)
    place = tmp_path / "damaged.b3d"
    for damaged in (content[:7], content[:100], content[:-1], content + b"\0", b"\x08" * 50):
        place.write_bytes(damaged)
        with pytest.raises(InputFileError):
            read_archive(place)
    for _ in range(150):
        changed = bytearray(content)
        for _ in range(random_bytes.randint(1, 4)):
            changed[random_bytes.randrange(0, 600)] = random_bytes.randrange(256)
        place.write_bytes(changed)
        try:
            read_archive(place)
        except InputFileError:
            continue


def test_two_markers_of_one_name_are_refused(tmp_path: Path) -> None:
    """Once, the markers behind the second took the places of others."""
    path = _written(tmp_path / "a.b3d", named=("A", "B ", "B", "C"))
    with pytest.raises(InputFileError, match="two of its markers are named 'B'"):
        read(path)


def test_a_header_that_promises_frames_without_bytes_is_refused(tmp_path: Path) -> None:
    header = message_class("Header")()
    header.trial.add(name="endless", frame_count=2_000_000_000, step_s=0.01)
    head = header.SerializeToString()
    place = tmp_path / "endless.b3d"
    place.write_bytes(len(head).to_bytes(8, "little") + head)
    with pytest.raises(InputFileError):
        read_archive(place)
