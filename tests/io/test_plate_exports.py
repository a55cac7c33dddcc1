"""Force plates in text exports of Vicon Nexus, Qualisys Track Manager and Cortex are those of the C3D of the same trial."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.sessions import Laboratory
from support.vendor_exports import write_cortex, write_nexus, write_qtm

from biodyn.errors import InputFileError
from biodyn.io import read
from biodyn.io.ground_forces import force_files, with_forces_of_file
from biodyn.io.plate_exports import read_exported_plates
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.recording import Recording
from biodyn.trial.run import analyse_trial

QUICK = {"uncertainty": {"compute": False}}


def wrenches(recording: Recording) -> np.ndarray:
    """(plates, T, 6) about the laboratory's origin, as stored, in the first frames that all recordings have."""
    markers = recording.markers
    # plates are solved in axes whose Y points up: those of the file turned by a quarter
    to_y_up = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
    return np.array(
        [
            plate_wrench(plate.rotated(to_y_up), markers.frame_count, markers.rate_hz).wrench
            for plate in recording.plates
        ]
    )


def apart(found: Recording, truth: Recording) -> tuple[float, float]:
    """Largest differences of moments, Nm, and forces, N, of all plates where they carry more than 20 N."""
    mine, theirs = wrenches(found), wrenches(truth)
    assert mine.shape == theirs.shape
    loaded = theirs[..., 4] > 20.0
    difference = np.abs(mine - theirs)[loaded]
    return float(difference[:, :3].max()), float(difference[:, 3:].max())


# written to a tenth of a micrometre and a tenth of a millinewton; the C3D's samples are in single precision
MOST_NM, MOST_N = 0.02, 0.01


@pytest.mark.parametrize(("about", "sense"), [("middle", 1.0), ("origin", -1.0), ("centre of pressure", 1.0)])
def test_devices_of_nexus_are_read_with_the_trajectories(laboratory: Laboratory, tmp_path: Path, about, sense) -> None:
    path = write_nexus(tmp_path / "walk.csv", laboratory.trials["walk"], about, sense)
    found, truth = read(path), read(laboratory.walk)
    assert found.markers.labels == truth.markers.labels
    np.testing.assert_allclose(found.markers.positions, truth.markers.positions, atol=1e-6)
    moment, force = apart(found, truth)
    assert moment < MOST_NM
    assert force < MOST_N
    assert not [note for note in found.diagnostics if note.severity == "warning"]
    assert [file.name for file in force_files(path)] == ["walk.csv"]


# every two of these choices meet
@pytest.mark.parametrize(
    ("axes", "about", "sense", "timed", "described"),
    [
        ("plate", "middle", -1.0, False, True),
        ("plate", "centre of pressure", 1.0, True, False),
        ("laboratory", "middle", -1.0, False, False),
        ("laboratory", "centre of pressure", 1.0, True, True),
    ],
)
def test_plates_of_qualisys_lie_in_files_of_their_own(
    laboratory: Laboratory, tmp_path: Path, axes, about, sense, timed, described
) -> None:
    files = write_qtm(tmp_path / "walk.tsv", laboratory.trials["walk"], axes, about, sense, timed, described)
    found, truth = read(tmp_path / "walk.tsv"), read(laboratory.walk)
    moment, force = apart(found, truth)
    assert moment < MOST_NM
    assert force < MOST_N
    for plate, true in zip(found.plates, truth.plates, strict=True):
        assert plate.outlined
        np.testing.assert_allclose(plate.corners, true.corners, atol=1e-6)
    assert not [note for note in found.diagnostics if note.severity == "warning"]
    assert force_files(tmp_path / "walk.tsv") == files
    assert {path.name: len(hashed) for path, hashed in found.also_read} == {path.name: 64 for path in files}


@pytest.mark.parametrize("name", ["walk.txt", "walk.csv"])
def test_an_export_is_known_by_its_first_words(laboratory: Laboratory, tmp_path: Path, name) -> None:
    """Nexus and Qualisys Track Manager also write .txt, with tabs between the cells."""
    path = write_nexus(tmp_path / name, replace(laboratory.trials["walk"], events=()))
    path.write_text(path.read_text(encoding="utf-8").replace(",", "\t"), encoding="utf-8")
    write_qtm(tmp_path / f"q{name}", laboratory.trials["walk"])
    for found in (read(path), read(tmp_path / f"q{name}")):
        assert len(found.markers.labels) == 39
        assert len(found.plates) == 3


@pytest.mark.parametrize("moment", ["Nm", "Nmm"])
def test_forces_of_cortex_lie_beside_the_trc(laboratory: Laboratory, tmp_path: Path, moment) -> None:
    forces = write_cortex(tmp_path / "walk.trc", laboratory.trials["walk"], moment)
    found, truth = read(tmp_path / "walk.trc"), read(laboratory.walk)
    apart_nm, apart_n = apart(found, truth)
    assert apart_nm < MOST_NM
    assert apart_n < MOST_N
    assert [path for path, _ in found.also_read] == [forces]
    assert not [note for note in found.diagnostics if note.severity == "warning"]


@pytest.mark.parametrize(("change", "sentence"), [("SampleRate", "has no SampleRate"), ("MZ2", "no column 'MZ2'")])
def test_a_damaged_file_of_cortex_is_refused_in_one_sentence(
    laboratory: Laboratory, tmp_path: Path, change, sentence
) -> None:
    forces = write_cortex(tmp_path / "walk.trc", laboratory.trials["walk"])
    forces.write_text(forces.read_text(encoding="utf-8").replace(change, "other", 1), encoding="utf-8")
    with pytest.raises(InputFileError, match=sentence):
        read_exported_plates(forces)
    assert "forces-unusable" in [note.code for note in read(tmp_path / "walk.trc").diagnostics]


def test_numbers_with_a_decimal_comma(laboratory: Laboratory, tmp_path: Path) -> None:
    files = write_qtm(tmp_path / "walk.tsv", laboratory.trials["walk"], "laboratory")
    for path in (tmp_path / "walk.tsv", *files):
        text = path.read_text(encoding="utf-8").replace("FREQUENCY\t1000", "FREQUENCY\t1000.0")
        path.write_text(text.replace(".", ","), encoding="utf-8")
    moment, force = apart(read(tmp_path / "walk.tsv"), read(laboratory.walk))
    assert moment < MOST_NM
    assert force < MOST_N


def test_the_plates_of_another_trial_are_not_taken(laboratory: Laboratory, tmp_path: Path) -> None:
    write_qtm(tmp_path / "walk.tsv", laboratory.trials["walk"])
    (tmp_path / "walk_f_1.tsv").rename(tmp_path / "walk2_f_1.tsv")
    (tmp_path / "walk_f_2.tsv").rename(tmp_path / "walk_fast_f_2.tsv")
    (tmp_path / "walk_f_3.tsv").rename(tmp_path / "walk_f_30.tsv")
    assert [path.name for path, _ in read(tmp_path / "walk.tsv").also_read] == ["walk_f_30.tsv"]


def test_one_plate_named_brings_all_of_its_trial(laboratory: Laboratory, tmp_path: Path) -> None:
    write_qtm(tmp_path / "walk.tsv", laboratory.trials["walk"])
    other = tmp_path / "elsewhere"
    other.mkdir()
    for path in tmp_path.glob("*_f_*.tsv"):
        path.rename(other / path.name)
    alone = read(tmp_path / "walk.tsv")
    assert alone.plates == ()
    assert len(with_forces_of_file(alone, other / "walk_f_2.tsv").plates) == 3


def test_moments_about_no_point_are_named_and_only_forces_taken(laboratory: Laboratory, tmp_path: Path) -> None:
    (first, *_) = write_qtm(tmp_path / "walk.tsv", laboratory.trials["walk"], "laboratory")
    lines = first.read_text(encoding="utf-8").splitlines()
    head = next(k for k, line in enumerate(lines) if line.startswith("Force_X")) + 1
    rows = np.array([line.split("\t") for line in lines[head:]], dtype=float)
    rows[:, 3] = 100.0 * np.sin(np.arange(len(rows)))
    text = ["\t".join(f"{value:.4f}" for value in row) for row in rows]
    first.write_text("\n".join([*lines[:head], *text]) + "\n", encoding="utf-8")
    notes = [note for note in read(tmp_path / "walk.tsv").diagnostics if note.severity == "warning"]
    assert [note.code for note in notes] == ["forces-incomplete"]
    assert "plate 1" in notes[0].message


def test_files_of_different_lengths_are_refused_in_one_sentence(laboratory: Laboratory, tmp_path: Path) -> None:
    files = write_qtm(tmp_path / "walk.tsv", laboratory.trials["walk"])
    lines = files[1].read_text(encoding="utf-8").splitlines()
    files[1].write_text("\n".join(lines[:-50]) + "\n", encoding="utf-8")
    with pytest.raises(InputFileError, match="differ in their times"):
        read_exported_plates(files[0])


def test_a_plate_without_corners_is_refused_in_one_sentence(laboratory: Laboratory, tmp_path: Path) -> None:
    (first, *_) = write_qtm(tmp_path / "walk.tsv", laboratory.trials["walk"])
    kept = [line for line in first.read_text(encoding="utf-8").splitlines() if "POSX_NEGY_Z" not in line]
    first.write_text("\n".join(kept) + "\n", encoding="utf-8")
    with pytest.raises(InputFileError, match="does not state the four corners"):
        read_exported_plates(first)


def test_devices_without_centres_of_pressure_are_no_plates(laboratory: Laboratory, tmp_path: Path) -> None:
    path = write_nexus(tmp_path / "walk.csv", laboratory.trials["walk"])
    path.write_text(path.read_text(encoding="utf-8").replace(" - CoP", " - Other"), encoding="utf-8")
    found = read(path)
    assert found.plates == ()
    assert len(found.markers.labels) == 39


@pytest.mark.slow
@pytest.mark.parametrize("form", ["nexus", "qtm"])
def test_a_walk_is_analysed_without_any_set_up(laboratory: Laboratory, tmp_path: Path, form) -> None:
    suffix = "csv" if form == "nexus" else "tsv"
    for name in ("static", "walk"):
        write = write_nexus if form == "nexus" else write_qtm
        write(tmp_path / f"{name}.{suffix}", laboratory.trials[name])
    found = analyse_trial(tmp_path / f"walk.{suffix}", settings=QUICK)
    truth = analyse_trial(laboratory.walk, settings=QUICK)
    assert [contact.side for contact in found.contacts] == [contact.side for contact in truth.contacts]
    # widths and height are estimated where no file stores them: knees lie 5 mm elsewhere; measured .02
    apart = (found.dynamics.torques - truth.dynamics.torques)[:, 6:] / truth.subject.mass_kg
    assert float(np.sqrt(np.nanmean(apart**2))) < 0.04
