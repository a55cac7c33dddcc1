"""Text exports of Motek D-Flow: stamps, frames' numbers, trajectories and plates in one table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.sessions import Laboratory
from support.vendor_exports import write_dflow

from biodyn.io import read
from biodyn.io.tables.spreadsheet import contains_trajectories, frame_times
from biodyn.session.static_trials import static_candidates
from biodyn.trial.run import analyse_trial

QUICK = {"uncertainty": {"compute": False}}


def lengths(points: np.ndarray) -> np.ndarray:
    """Distances (T,) of two markers from frame to frame and of one from another: the same in any axes."""
    return np.linalg.norm(points[1:] - points[:-1], axis=-1)


def test_trajectories_and_forces_are_read(laboratory: Laboratory, tmp_path: Path) -> None:
    trial = laboratory.trials["walk"]
    path = write_dflow(tmp_path / "mocap-001.txt", trial)
    found, truth = read(path), read(laboratory.walk)
    assert found.markers.labels == truth.markers.labels
    assert found.markers.rate_hz == trial.options.rate_hz
    np.testing.assert_allclose(lengths(found.markers.positions), lengths(truth.markers.positions), atol=1e-5)
    assert found.markers.positions[..., 1].max() > 1.2  # Y is up
    assert len(found.plates) == len(truth.plates)
    assert contains_trajectories(path)


@pytest.mark.parametrize("dropped", [[], [40, 41, 77]])
def test_frames_are_told_by_their_numbers_where_stamps_are_late(
    laboratory: Laboratory, tmp_path: Path, dropped: list[int]
) -> None:
    """Stamps up to 8 ms late would move a foot by centimetres."""
    trial = laboratory.trials["walk"]
    kept = np.delete(np.arange(len(trial.markers)), dropped)
    found = read(write_dflow(tmp_path / "mocap-001.txt", trial, late_s=0.008, kept=kept))
    truth = read(laboratory.walk).markers.positions
    assert found.markers.rate_hz == pytest.approx(trial.options.rate_hz, rel=2e-4)
    assert found.markers.frame_count == len(truth)
    difference = np.abs(lengths(found.markers.positions) - lengths(truth))
    far = np.ones(len(difference), dtype=bool)
    far[[k + near for k in dropped for near in (-2, -1, 0, 1)]] = False
    assert difference[far].max() < 2e-3  # the rate itself is known to 2e-4
    assert np.isnan(found.markers.positions[dropped]).all()
    assert any("lacks" in note.message for note in found.diagnostics) == bool(dropped)


def test_places_between_a_marker_and_the_zeros_of_one_that_was_not_seen_are_none(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    trial = laboratory.trials["walk"]
    path = write_dflow(tmp_path / "mocap-001.txt", trial, kept=np.delete(np.arange(len(trial.markers)), 60))
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    names = head.split("\t")
    first = names.index(f"{trial.labels[0]}.PosX")
    cells = [row.split("\t") for row in rows]
    for row in cells[20:40]:
        row[first : first + 3] = ["0.000000"] * 3
    path.write_text("\n".join([head, *("\t".join(row) for row in cells)]) + "\n", encoding="utf-8")
    seen = read(path).markers.positions[:, 0]
    others = read(laboratory.walk).markers.positions[:, 0]
    assert np.isnan(seen[21:39]).all()
    np.testing.assert_allclose(seen[np.isfinite(seen).all(axis=1), 1].min(), others[:, 2].min(), atol=0.02)


@pytest.mark.parametrize("dropped", [[], [77]])
def test_a_held_marker_is_told_where_stamps_are_late_and_a_row_was_dropped(
    laboratory: Laboratory, tmp_path: Path, dropped: list[int]
) -> None:
    """Stored places are read as they are, not ones between two of them: one that stays is seen to, a gap is as long as it was."""
    trial = laboratory.trials["walk"]
    kept = np.delete(np.arange(len(trial.markers)), dropped)
    markers = trial.markers.copy()
    markers[20:40, 0] = markers[20, 0]
    markers[50:60, 1] = np.nan
    path = write_dflow(tmp_path / "mocap-001.txt", replace(trial, markers=markers), late_s=0.008, kept=kept)
    seen = read(path).markers.positions
    assert np.isfinite(seen[20, 0]).all()
    assert np.isnan(seen[21:40, 0]).all()
    assert np.isnan(seen[50:60, 1]).all()
    assert np.isfinite(seen[[49, 60], 1]).all()


def test_a_frame_that_is_stored_twice_counts_once(laboratory: Laboratory, tmp_path: Path) -> None:
    """As where the program asked twice before the next frame came: with another stamp, or with the same."""
    trial = laboratory.trials["walk"]
    rows = np.sort(np.append(np.arange(len(trial.markers)), [30, 55, 90]))
    found = read(write_dflow(tmp_path / "mocap-001.txt", trial, late_s=0.004, kept=rows))
    assert found.markers.frame_count == len(trial.markers)
    assert found.markers.rate_hz == pytest.approx(trial.options.rate_hz, rel=2e-4)
    note = next(note for note in found.diagnostics if note.code == "recording-repaired")
    assert "3 rows repeat the previous frame" in note.message
    assert note.value == pytest.approx(0.004 / np.sqrt(12.0), rel=0.2)  # the RMS of even ones about their middle


def test_two_frames_with_one_stamp_are_told_by_their_numbers(laboratory: Laboratory, tmp_path: Path) -> None:
    trial = laboratory.trials["walk"]
    path = write_dflow(tmp_path / "mocap-001.txt", trial, late_s=0.004)
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    cells = [row.split("\t") for row in rows]
    for k in (10, 44):
        cells[k][0] = cells[k + 1][0]
    path.write_text("\n".join([head, *("\t".join(row) for row in cells)]) + "\n", encoding="utf-8")
    assert read(path).markers.frame_count == len(trial.markers)


def test_a_large_gap_between_times_in_milliseconds_is_one_of_dropped_rows(tmp_path: Path) -> None:
    """At 120 Hz most of them are 8 ms apart: a gap of a second is 120 rows, not 125."""
    count = 400
    rows = np.delete(np.arange(count), np.arange(200, 320))
    path = tmp_path / "walk.csv"
    labels = ("LASI", "RASI", "LKNE", "RKNE")
    places = [[(0.2 * i, 0.01 * k, 1.0 + 0.02 * np.sin(0.1 * k + i)) for i in range(len(labels))] for k in rows]
    head = ",".join(["Time", *(f"{label}_{axis}" for label in labels for axis in "XYZ")])
    cells = [
        ",".join([f"{k / 120.0:.3f}", *(f"{value:.5f}" for point in points for value in point)])
        for k, points in zip(rows, places, strict=True)
    ]
    path.write_text("\n".join([head, *cells]) + "\n")
    found = read(path)
    assert (found.markers.rate_hz, found.markers.frame_count) == (120.0, count)
    assert "recording-repaired" in {note.code for note in found.diagnostics}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_study_takes_it_in_any_encoding(laboratory: Laboratory, tmp_path: Path, encoding: str) -> None:
    path = write_dflow(tmp_path / "mocap-001.txt", laboratory.trials["walk"])
    path.write_text(path.read_text(encoding="utf-8"), encoding=encoding)
    assert contains_trajectories(path)
    assert read(path).markers.frame_count == len(laboratory.trials["walk"].markers)


def test_numbers_that_count_something_else_tell_no_time() -> None:
    stamps = np.array([0.0, 0.013, 0.0195, 0.0302, 0.04])
    found = frame_times(stamps, np.arange(5.0))
    assert found is not None
    np.testing.assert_allclose(np.diff(found[1]), 0.01, atol=1e-3)
    for frames in (
        None,
        np.array([1.0, 2.0, 2.0, 1.0, 4.0]),
        np.array([1.0, 2.0, 300.0, 301.0, 302.0]),
        np.arange(5) + 0.5,
        np.ones(5),
    ):
        assert frame_times(stamps, frames) is None


@pytest.mark.slow
def test_a_walk_with_its_static_trial(laboratory: Laboratory, tmp_path: Path) -> None:
    """Torques are those of the C3D, but for the forces' rate."""
    walk, static = (
        write_dflow(tmp_path / f"mocap-{name}.txt", laboratory.trials[name], late_s=0.004)
        for name in ("walk", "static")
    )
    (tmp_path / "notes.txt").write_text("TimeStamp of nothing\n")
    assert [path.name for path in static_candidates(walk) if path.parent == tmp_path] == [static.name]
    found, truth = analyse_trial(walk, settings=QUICK), analyse_trial(laboratory.walk, settings=QUICK)
    assert found.static is not None
    assert found.static.path == static
    assert [contact.side for contact in found.contacts] == [contact.side for contact in truth.contacts]
    # widths and height are estimated where no file stores them, and forces come at the frames' rate; measured .02
    apart = (found.dynamics.torques - truth.dynamics.torques)[:, 6:] / truth.subject.mass_kg
    assert float(np.sqrt(np.nanmean(apart**2))) < 0.04
