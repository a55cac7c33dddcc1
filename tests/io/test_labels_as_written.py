"""Labels as exports write them: all small, or with one ending behind all of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import biodyn
from biodyn.io.labels import point_roles

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
    usual = point_roles(labels, places, {}, ())
    small = point_roles([label.lower() for label in labels], places, {}, ())
    assert small.kinds == usual.kinds
    assert {label: usual.kinds[labels.index(label)] for label in COMPUTED} == COMPUTED
    assert small.labels == tuple(label.lower() for label in usual.labels)


@pytest.mark.parametrize("ending", ["_01", ".Trial3", "-walk"])
def test_an_ending_behind_nearly_all_labels_says_nothing(points, ending):
    labels, places = points
    written = [label if label == "LHJC" else label + ending for label in labels]
    assert point_roles(written, places, {}, ()).labels == tuple(labels)


@pytest.mark.parametrize("ending", ["_L", "_right"])
def test_a_side_behind_all_labels_stays(points, ending):
    labels, places = points
    written = tuple(label + ending for label in labels)
    assert point_roles(written, places, {}, ()).labels == written
