"""How fast torques and motion may change about foot strikes."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.conventions import SIDES, Side
from biodyn.estimation.strikes import alike, kinds_of, midway, shown_changes, since_strikes
from biodyn.estimation.torques import torque_places
from biodyn.model.body_model import SubjectModel
from biodyn.recording import Contact
from biodyn.simulation.person import Person, embody

RATE_HZ, FRAMES = 100.0, 200
STRIKES: tuple[tuple[Side, float], ...] = (("r", 0.4), ("l", 0.9), ("r", 1.4))


@pytest.fixture(scope="module")
def model() -> SubjectModel:
    return embody(Person("Anyone", height_m=1.75, mass_kg=70.0, sex="male")).model


def contact(side: Side, start_s: float) -> Contact:
    return Contact(1, start_s, start_s + 0.6, side, "assigned", "")


def labels_of(model: SubjectModel, rate_hz: float = RATE_HZ) -> dict[str, np.ndarray]:
    places = torque_places(model)
    names = {c.v_index: c.name for c in model.coordinates}
    frames = round(FRAMES * rate_hz / RATE_HZ)
    since_s = since_strikes([contact(*strike) for strike in STRIKES], frames, rate_hz)
    labels = alike(kinds_of(model, places), since_s)
    return {names[at]: labels[:, i] for i, at in enumerate(places.tolist())}


def test_the_same_time_after_a_strike_is_alike_on_both_sides(model: SubjectModel) -> None:
    of = labels_of(model)
    right, left = of["knee_angle_r"], of["knee_angle_l"]
    assert right[42] == right[142] == left[92]  # 20 ms after a strike of the own side
    assert right[92] == left[42] != right[42]  # after one of the other side
    assert right[42] != right[43]
    assert right[20] == right[70] == left[120]  # the rest of the stride
    assert len({right[20], right[42], right[92]} & set(of["hip_flexion_r"].tolist())) == 0
    assert of["lumbar_extension"][42] == of["lumbar_extension"][92]  # the trunk is struck from both sides


def test_labels_do_not_depend_on_the_rate(model: SubjectModel) -> None:
    slow, fast = labels_of(model), labels_of(model, 2.0 * RATE_HZ)
    for name, labels in slow.items():
        np.testing.assert_array_equal(fast[name][::2], labels)


def test_a_contact_that_nobody_was_given_is_no_strike() -> None:
    refused = Contact(1, 0.5, 1.0, None, "rejected", "two feet")
    assert np.isinf(since_strikes([refused], FRAMES, RATE_HZ)).all()


def test_a_foot_that_stands_already_does_not_strike() -> None:
    """Neither one that is on its plate in the first frame, nor one that rolls on to the next plate."""
    standing = Contact(1, 0.0, 0.5, "l", "assigned", "")
    heel, toes = Contact(2, 0.6, 1.1, "r", "assigned", ""), Contact(3, 0.9, 1.3, "r", "assigned", "")
    since_s = since_strikes([standing, heel, toes], FRAMES, RATE_HZ)
    assert np.isinf(since_s[:, SIDES.index("l")]).all()
    np.testing.assert_allclose(since_s[:, SIDES.index("r")], np.arange(FRAMES) / RATE_HZ - 0.6)


def test_the_nearest_strike_counts() -> None:
    strikes = [contact(*strike) for strike in STRIKES]
    since_s = since_strikes(strikes, FRAMES, RATE_HZ)[:, SIDES.index("r")]
    np.testing.assert_allclose(since_s[[30, 89, 91, 150]], [-0.1, 0.49, -0.49, 0.1])


def test_halfway_from_one_strike_to_the_next_is_no_strike() -> None:
    """Half a second after one and before the other: the mean of both times would be that of a strike."""
    since_s = since_strikes([contact(*strike) for strike in STRIKES], FRAMES, RATE_HZ)
    middle_s = midway(since_s[:-1], since_s[1:])[:, SIDES.index("r")]
    np.testing.assert_allclose(middle_s[:89], np.arange(89) / RATE_HZ - 0.4 + 0.5 / RATE_HZ)
    assert (np.abs(middle_s[85:95]) > 0.4).all()
    assert np.isinf(midway(np.full((3, 2), np.inf), np.full((3, 2), np.inf))).all()


def test_the_root_is_struck_by_both_feet(model: SubjectModel) -> None:
    since_s = since_strikes([contact(*strike) for strike in STRIKES], FRAMES, RATE_HZ)
    labels = alike(kinds_of(model, np.arange(model.multibody.nv)), since_s)
    np.testing.assert_array_equal(labels[42, :6], labels[92, :6])  # 20 ms after a strike, right and left
    assert (labels[42, :6] != labels[20, :6]).all()
    assert len(set(labels[42, :6].tolist())) == 6


def test_changes_of_all_that_is_alike_are_pooled() -> None:
    rng = np.random.default_rng(3)
    labels = np.zeros((400, 2), dtype=np.int64)
    labels[100:110] = labels[300:310] = 1
    loud = np.where(labels[1:-1] == 1, 5.0, 0.5)
    second = loud * rng.normal(size=loud.shape)
    tau = np.zeros((400, 2))
    tau[2:] = np.cumsum(np.cumsum(second, axis=0), axis=0)
    found = shown_changes(tau, np.ones(tau.shape, dtype=bool), labels, 0.01)
    np.testing.assert_allclose(found[104, 0], found[304, 1])  # both columns, both times, are one
    np.testing.assert_allclose(found[104, 0], 5.0, rtol=0.25)  # of 40 values: one standard deviation is 11 %
    np.testing.assert_allclose(found[200], 0.5, rtol=0.1)
    unknown = np.ones(tau.shape, dtype=bool)
    unknown[100:110, 1] = False
    only = shown_changes(tau, unknown, labels, 0.01)
    assert not np.isclose(only[104, 0], found[104, 0])  # what is not known tells nothing
    assert (shown_changes(tau, np.zeros(tau.shape, dtype=bool), labels, 0.01) == 0.0).all()
