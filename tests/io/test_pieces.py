"""Trajectories that a file holds in pieces: joined where they are one marker, left apart where they are two."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import biodyn
from biodyn.io.formats.c3d.write import C3dContent, write_c3d
from biodyn.io.formats.trc import write_trc
from biodyn.io.labels import PointRoles, point_roles
from biodyn.recording import Markers

WALK = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"


@pytest.fixture(scope="module")
def walk() -> Markers:
    return biodyn.read(WALK).markers


def broken(markers: Markers, label: str, other: str, at: int, gap: int = 3) -> tuple[list[str], np.ndarray]:
    """Labels and points with one trajectory cut at a frame; the rest of it is another point, of that name."""
    points = np.concatenate([markers.positions, np.full_like(markers.positions[:, :1], np.nan)], axis=1)
    i = markers.labels.index(label)
    points[at + gap :, -1] = points[at + gap :, i]
    points[at:, i] = np.nan
    return [*markers.labels, other], points


def named(roles: PointRoles, label: str) -> np.ndarray:
    return np.array([i for i in roles.markers if roles.labels[i] == label])


@pytest.mark.parametrize("unit", [1.0, 1000.0, 39.37])
@pytest.mark.parametrize("label", ["LASI", "RKNE", "LHEE", "RTHI", "C7", "LWRA"])
@pytest.mark.parametrize("second", ["{}", "{}_2", "{}-2", "{} (2)", "*110"])
def test_pieces_of_a_marker_are_joined(walk, label, second, unit):
    labels, points = broken(walk, label, second.format(label), 120)
    roles = point_roles(labels, unit * points, {}, ())
    (column,) = named(roles, label)
    found = roles.whole(unit * points)[:, column]
    seen = np.isfinite(found[:, 0])
    assert list(np.flatnonzero(~seen)) == [120, 121, 122]
    np.testing.assert_array_equal(found[seen], unit * walk.positions[seen, walk.labels.index(label)])
    assert roles.kinds[-1] == "piece"
    assert [note.code for note in roles.diagnostics] == ["trajectory-joined"]


@pytest.mark.parametrize(
    ("label", "taken"), [("LASI", "RASI"), ("LKNE", "RKNE"), ("LANK", "LHEE"), ("LTHI", "LKNE"), ("C7", "T10")]
)
@pytest.mark.parametrize("second", ["{}", "{}_2", "*110"])
def test_another_marker_is_no_piece(walk, label, taken, second):
    """From the cut on, the second point is another marker of the body, which has lost its own label there."""
    labels, points = broken(walk, label, second.format(label), 120)
    other = walk.labels.index(taken)
    points[123:, -1] = points[123:, other]
    points[120:, other] = np.nan
    pieces = point_roles(labels, points, {}, ()).pieces
    assert pieces in ((), ((other, len(labels) - 1),))  # none, or one of the marker that it is


def test_points_that_are_seen_together_are_two(walk):
    labels, points = broken(walk, "LASI", "LASI_2", 120)
    points[:, -1] = walk.positions[:, walk.labels.index("LASI")] + [0.05, 0.0, 0.0]
    assert point_roles(labels, points, {}, ()).pieces == ()


def test_clusters_that_are_numbered_stay_apart(walk):
    """RTHI_2 beside RTHI on one plate, each hidden while the other is seen, 4 cm apart."""
    labels, points = broken(walk, "RTHI", "RTHI_2", 120)
    points[:, -1, 2] += 0.04
    assert point_roles(labels, points, {}, ()).pieces == ()


def test_pieces_that_only_meet_each_other_are_joined_one_after_the_other(walk):
    labels, points = broken(walk, "RHEE", "*110", 100)
    points = np.concatenate([points, points[:, -1:]], axis=1)
    points[180:, -2] = np.nan
    points[:183, -1] = np.nan
    roles = point_roles([*labels, "*111"], points, {}, ())
    at = walk.labels.index("RHEE")
    assert roles.pieces == ((at, len(labels) - 1), (at, len(labels)))
    seen = np.isfinite(roles.whole(points)[:, at, 0])
    assert list(np.flatnonzero(~seen)) == [100, 101, 102, 180, 181, 182]


def test_two_unnamed_points_at_one_time_are_left(walk):
    """Which of them is the marker nobody can tell: neither is taken."""
    labels, points = broken(walk, "LASI", "*110", 120)
    points = np.concatenate([points, points[:, -1:] + 0.004], axis=1)
    roles = point_roles([*labels, "*111"], points, {}, ())
    assert roles.pieces == ()
    assert roles.kinds[-2:] == ("dropped", "dropped")


def test_files_of_points_and_tables_are_read_alike(tmp_path, walk):
    labels, points = broken(walk, "RANK", "RANK_2", 150)
    write_c3d(tmp_path / "walk.c3d", C3dContent(labels, 1000.0 * points, walk.rate_hz))
    write_trc(tmp_path / "walk.trc", Markers(tuple(labels), points, walk.rate_hz))
    for path in (tmp_path / "walk.c3d", tmp_path / "walk.trc"):
        found = biodyn.read(path)
        assert found.markers.labels == walk.labels
        at = walk.labels.index("RANK")
        np.testing.assert_allclose(found.markers.positions[160:, at], walk.positions[160:, at], atol=1e-6)
        assert [note.message for note in found.diagnostics if note.code == "trajectory-joined"] == [
            "The file holds 1 trajectory in pieces that continue each other; they are joined: RANK (with RANK_2)."
        ]
