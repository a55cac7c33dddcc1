"""Labels as exports write them: all small, or with one ending behind all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import biodyn
from biodyn.io.point_classification import classify_points

WALK = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"
COMPUTED = {"LFEO": "virtual_point", "LFEA": "virtual_point", "LKneeAngles": "angle", "LHJC": "virtual_point"}
OTHERS = ("LFEL", "LFEP")


@pytest.fixture(scope="module")
def points() -> tuple[list[str], np.ndarray]:
    """Markers of a walk, the axes of a thigh, and what else a model computed."""
    markers = biodyn.read(WALK).markers
    hip = markers.positions[:, [markers.labels.index("LASI")]]
    axes = [hip + offset for offset in ([0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1])]
    labels = [*markers.labels, "LFEO", "LFEA", "LFEL", "LFEP", "LKneeAngles", "LHJC"]
    return labels, np.concatenate([markers.positions, *axes, hip, hip], axis=1)


def test_small_letters_say_the_same(points):
    labels, places = points
    usual = classify_points(labels, places, {}, ())
    small = classify_points([label.lower() for label in labels], places, {}, ())
    assert small.kinds == usual.kinds
    assert {label: usual.kinds[labels.index(label)] for label in COMPUTED} == COMPUTED
    assert small.labels == tuple(label.lower() for label in usual.labels)


@pytest.mark.parametrize("names", [("R_", "L_"), ("Right ", "Left "), ("Rt. ", "Lt. "), ("re_", "li_"), ("dx.", "sx.")])
def test_sides_before_the_same_labels_are_no_people(names):
    stems = ("ASIS", "PSIS", "thigh", "knee", "shank", "ankle", "heel", "toe", "met5")
    labels = [name + stem for name in names for stem in stems]
    places = np.random.default_rng(1).normal(size=(20, len(labels), 3))
    assert classify_points(labels, places, {}, ()).labels == tuple(labels)


def test_segments_before_numbers_are_no_people():
    labels = [f"{segment}_{number}" for segment in ("thighR", "thighL", "shankR") for number in range(1, 10)]
    places = np.random.default_rng(1).normal(size=(20, len(labels), 3))
    assert classify_points(labels, places, {}, ()).labels == tuple(labels)


@pytest.mark.parametrize("ending", ["_01", ".Trial3", "-walk"])
def test_an_ending_shared_by_nearly_all_labels_is_ignored(points, ending):
    labels, places = points
    written = [label if label == "LHJC" else label + ending for label in labels]
    assert classify_points(written, places, {}, ()).labels == tuple(labels)


@pytest.mark.parametrize("ending", ["_L", "_right", "_li", "_DX"])
def test_an_ending_that_names_a_side_is_kept(points, ending):
    labels, places = points
    written = tuple(label + ending for label in labels)
    assert classify_points(written, places, {}, ()).labels == written


@pytest.mark.parametrize("names", [("P1_", "P2_"), ("Anna_", "Ben_"), ("S01-", "S02-"), ("a ", "b ", "c ")])
def test_persons_are_distinguished_by_the_start_of_equal_labels(points, names):
    """The person who is seen most is read, as with a colon."""
    labels, places = points
    hidden = places.copy()
    hidden[:100] = np.nan
    seen = [*[hidden] * (len(names) - 1), places]
    roles = classify_points([name + label for name in names for label in labels], np.concatenate(seen, axis=1), {}, ())
    count = len(labels)
    assert roles.labels[-count:] == tuple(labels)
    assert set(roles.kinds[:-count]) == {"dropped"}
    assert roles.subject == names[-1].rstrip("_- ")
    assert next(note.code for note in roles.diagnostics) == "several-subjects"
