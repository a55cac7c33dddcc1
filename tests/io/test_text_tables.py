"""Tables through time as recordings: what the columns are, in which units, and every file of OpenSim's at hand."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from support.opensim_tables import write_table
from support.real import recordings, reference_vectors

from biodyn.errors import BiodynError, InputFileError
from biodyn.io import read
from biodyn.io.tables import determine_column_roles
from biodyn.trial.inspection import check_file

TIMES = np.arange(11) / 50.0
FORCES = [f"ground_force_{what}{axis}" for what in "vp" for axis in "xyz"]
POINTS = [f"{label}_t{axis}" for label in ("R.ASIS", "L.ASIS", "Sternum") for axis in "xyz"]
COORDINATES = ["pelvis_tilt", "pelvis_tx", "pelvis_ty", "pelvis_tz", "knee_angle_r"]


def test_columns_are_told_by_their_names() -> None:
    found = determine_column_roles(
        [*COORDINATES, *POINTS, *FORCES, "knee_angle_r_moment", "soleus_r.activation", "Fx1"]
    )
    assert found.coordinates == tuple(COORDINATES)
    assert list(found.markers) == ["R.ASIS", "L.ASIS", "Sternum"]
    assert [one.force for one in found.forces] == [tuple(FORCES[:3])]
    assert found.others == ("knee_angle_r_moment", "soleus_r.activation", "Fx1")


def test_a_table_of_everything_is_read_in_si(tmp_path: Path) -> None:
    values = np.ones((11, 20))
    values[:, 0], values[:, 4] = 90.0, np.linspace(0.0, 60.0, 11)
    values[:, 5:14] = np.tile([0.1, 1.0, 0.1, 0.1, 1.0, -0.1, 0.0, 1.4, 0.0], (11, 1))
    values[:, 15] = 700.0
    found = read(write_table(tmp_path / "all.mot", [*COORDINATES, *POINTS, *FORCES], 2.0 + TIMES, values))
    assert found.start_s == 2.0
    assert found.coordinates.units == ("rad", "m", "m", "m", "rad")
    np.testing.assert_allclose(found.coordinates.column("pelvis_tilt"), np.pi / 2)
    np.testing.assert_allclose(found.coordinates.column("pelvis_tx"), 1.0)
    np.testing.assert_allclose(found.markers.positions[0, 2], [0.0, 1.4, 0.0])
    (plate,) = found.plates
    assert (plate.outlined, plate.side, plate.rate_hz) == (False, None, 50.0)
    np.testing.assert_allclose(np.linalg.norm(plate.channels[:, :3], axis=1), np.sqrt(700.0**2 + 2.0))


@pytest.mark.parametrize(("largest", "factor"), [(1.2, 1.0), (60.0, np.pi / 180.0)])
def test_an_unsaid_unit_of_angle_is_told(tmp_path: Path, largest: float, factor: float) -> None:
    path = write_table(tmp_path / "q.sto", ["knee_angle_r"], TIMES, np.linspace(0.0, largest, 11)[:, None])
    path.write_text(path.read_text().replace("inDegrees=yes\n", ""))
    found = read(path)
    assert found.coordinates.values.max() == pytest.approx(largest * factor)
    assert "angle-unit-assumed" in [note.code for note in found.diagnostics]


def test_uneven_rows_are_told_and_doubled_columns_not_read(tmp_path: Path) -> None:
    times = TIMES + 0.004 * np.sin(np.arange(11.0)) ** 2
    values = np.column_stack([times, times, 2.0 * times])
    found = read(write_table(tmp_path / "q.sto", ["hip", "knee", "knee"], times, values))
    assert found.coordinates.labels == ("hip",)
    np.testing.assert_allclose(np.degrees(found.coordinates.values[:, 0]), np.linspace(times[0], times[-1], 11))
    assert {"recording-repaired", "columns-not-read"} <= {note.code for note in found.diagnostics}


HOSTILE = {
    "a million columns": b"endheader\ntime" + b"\tx" * 1_000_000 + b"\n0\t1\n",
    "NUL bytes": b"endheader\ntime\ta\n0\t1\n" + b"\0" * 2000,
    "a million empty lines": b"\n" * 1_000_000 + b"endheader\n",
    "wrong counts": b"nRows=9\nnColumns=9\nendheader\ntime\ta\n0\t1\t2\n1\t2\n",
    "times without end": b"endheader\ntime\ta\n0\t1\n1e308\t1\n2e308\t1\n",
    "one row": b"endheader\ntime\tknee\n0\t1\n",
    "huge numbers": b"endheader\ntime\t"
    + "\t".join(FORCES).encode()
    + b"\n0"
    + b"\t1e300" * 6
    + b"\n1"
    + b"\t1e300" * 6
    + b"\n",
    "names without end": b"endheader\ntime\t" + b"_force_" * 20_000 + b"vx\n0\t1\n1\t1\n",
    "nothing but names": b"endheader\ntime\ta\tb\n",
    "not a number anywhere": b"endheader\ntime\tknee\n0\tnan\n0.1\tnan\n",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_tables_are_read_or_refused_in_one_sentence(tmp_path: Path, case: str) -> None:
    path = tmp_path / "x.sto"
    path.write_bytes(HOSTILE[case])
    message = ""
    try:
        check_file(path)
    except InputFileError as error:
        message = error.message
    assert len(message.splitlines()) <= 1
    assert len(message) < 400


#: What the files at hand hold: markers, coordinates, forces; or the word of their refusal.
HELD = {
    "id.sto": "joint torques",
    "_analog.sto": "neither markers",
    "InverseDynamics.sto": "joint torques",
    "id_6hz.sto": "joint torques",
    "id_nofilter.sto": "joint torques",
    "std_walking2_markers.trc": "are not uniform",
    "std_walking5_markers.trc": "are not uniform",
    "grf.mot": (False, False, 2),
    "grfs.sto": (False, False, 2),
    "arm26_InverseKinematics.mot": (True, True, 0),
    "std_markers_coords_ik.sto": (True, True, 0),
    "core_rra/subject01_walk1_ik.mot": (True, True, 0),
    "gait2354_tutorial/subject01_walk1.trc": (True, False, 2),
    "walk2/markers.trc": (True, False, 2),
    ".trc": (True, False, 0),
    ".mot": (False, True, 0),
    ".sto": (False, True, 0),
}


def test_every_table_at_hand_is_read_or_refused_in_one_sentence() -> None:
    folders = (recordings() / "opensim", reference_vectors() / "opensim")
    files = [
        path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in (".mot", ".sto", ".trc")
    ]
    assert len(files) > 40
    for path in files:
        expected = next(held for end, held in HELD.items() if path.as_posix().endswith(end))
        if isinstance(expected, str):
            with pytest.raises(InputFileError, match=expected):
                read(path)
            continue
        found = read(path)
        motion = found.motion
        held = (motion.markers is not None, motion.coordinates is not None, len(found.plates))
        assert held == expected, path


def test_check_says_what_a_table_and_a_model_hold() -> None:
    folder = recordings() / "opensim" / "core_id"
    coordinates = "\n".join(check_file(folder / "subject01_walk1_ik.mot").lines)
    assert "Joint coordinates: 23" in coordinates
    assert "knee_angle_r -69.5 to 1.58 deg" in coordinates
    forces = "\n".join(check_file(folder / "subject01_walk1_grf.mot").lines)
    assert "l_ground_force_vx ...: on the left foot, up to 831 N" in forces
    model = check_file(folder / "subject01.osim")
    assert "72.60 kg" in model.lines[0]
    assert "54 unused forces" in model.diagnostics[0].message
    with pytest.raises(BiodynError, match="is not a recording of a known format"):
        check_file(folder.parent / "core_scale" / "subject01_Setup_Scale.xml")


@pytest.mark.parametrize("name", ["walk.mot", "walk.csv"])
def test_the_hash_is_that_of_the_bytes_that_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A file that is copied over just behind its reading: what is recorded is what the numbers came from."""
    path = tmp_path / name
    head = "endheader\ntime\tpelvis_tilt\tpelvis_tx\n" if name.endswith("mot") else "time,pelvis_tilt,pelvis_tx\n"
    mark = "\t" if name.endswith("mot") else ","
    text = head + "".join(mark.join((f"{0.01 * k:.2f}", "1.5", "0.5")) + "\n" for k in range(9))
    path.write_text(text)
    sound = path.read_bytes()
    read_bytes = Path.read_bytes

    def changing(self: Path) -> bytes:
        content = read_bytes(self)
        if self == path:
            self.write_text(text.replace("1.5", "9.5"))
        return content

    monkeypatch.setattr(Path, "read_bytes", changing)
    assert read(path).sha256 == hashlib.sha256(sound).hexdigest()
