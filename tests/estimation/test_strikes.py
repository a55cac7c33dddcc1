"""How fast torques and motion may change about foot strikes."""

from __future__ import annotations

import numpy as np
import pytest
from simulator.person import Person, embody

from biodyn.conventions import SIDES, Side
from biodyn.estimation.noise_model import (
    FRAME_S,
    CoordinateKinds,
    StrikeMap,
    coordinate_kinds,
    map_by_time_after_strike,
    midpoint_time_since_strike,
    smooth_torque_indices,
    strike_torque_change_rms,
    times_since_strikes,
)
from biodyn.model.body_model import SubjectModel
from biodyn.recording import Contact

RATE_HZ, FRAMES = 100.0, 200
STRIKES: tuple[tuple[Side, float], ...] = (("r", 0.4), ("l", 0.9), ("r", 1.4))


@pytest.fixture(scope="module")
def model() -> SubjectModel:
    return embody(Person("Anyone", height_m=1.75, mass_kg=70.0, sex="male")).model


def contact(side: Side, start_s: float) -> Contact:
    return Contact(1, start_s, start_s + 0.6, side, "assigned", "")


def shares_of(model: SubjectModel, rate_hz: float = RATE_HZ, late_s: float = 0.0) -> dict[str, np.ndarray]:
    """Shares (T, P) of each torque in everything that is alike; strikes come late_s later."""
    places = smooth_torque_indices(model)
    names = {c.v_index: c.name for c in model.coordinates}
    frames = round(FRAMES * rate_hz / RATE_HZ)
    since_s = times_since_strikes([contact(side, at_s + late_s) for side, at_s in STRIKES], frames, rate_hz)
    every = dense(map_by_time_after_strike(coordinate_kinds(model, places), since_s))
    return {names[at]: every[:, i] for i, at in enumerate(places.tolist())}


def dense(shares: StrikeMap) -> np.ndarray:
    """Shares as an array (T, R, P)."""
    return np.stack([shares.apply(one) for one in np.eye(shares.count)], axis=-1)


def test_the_same_time_after_a_strike_is_alike_on_both_sides(model: SubjectModel) -> None:
    of = shares_of(model)
    right, left = of["knee_angle_r"], of["knee_angle_l"]
    np.testing.assert_allclose(right[142], right[42], atol=1e-9)  # 20 ms after a strike of the own side
    np.testing.assert_allclose(left[92], right[42], atol=1e-9)
    np.testing.assert_allclose(right[92], left[42], atol=1e-9)  # after one of the other side
    assert right[42] @ left[42] < 1e-9
    assert right[42] @ right[43] < 1e-9
    np.testing.assert_array_equal(right[20], right[70])  # the rest of the stride
    np.testing.assert_array_equal(right[20], left[120])
    assert np.abs(right @ of["hip_flexion_r"].T).max() < 1e-9
    trunk = of["lumbar_extension"]
    np.testing.assert_allclose(trunk[42], trunk[92], atol=1e-9)  # the trunk is struck from both sides


def test_shares_do_not_depend_on_the_rate(model: SubjectModel) -> None:
    slow, fast = shares_of(model, late_s=0.0033), shares_of(model, 2.0 * RATE_HZ, late_s=0.0033)
    for name, shares in slow.items():
        np.testing.assert_allclose(fast[name][::2], shares, atol=1e-9)


def test_shares_of_a_value_are_one_together_and_change_no_faster_than_time(model: SubjectModel) -> None:
    """From far before a strike, through both of its ends and where both feet strike at once: no share jumps."""
    step_s = 1e-3
    times_s = np.arange(-0.2, 0.3, step_s) + 0.0003
    kinds = coordinate_kinds(model, smooth_torque_indices(model))
    for apart_s in (0.0, 0.1, np.inf):
        shares = dense(map_by_time_after_strike(kinds, np.stack([times_s, times_s - apart_s], axis=1)))
        np.testing.assert_allclose(shares.sum(axis=2), 1.0, atol=1e-12)
        assert (shares >= 0.0).all()
        assert np.abs(np.diff(shares, axis=0)).max() <= 2.001 * step_s / FRAME_S  # both strikes act on the trunk


def test_feet_that_strike_at_once_have_half_of_it_each(model: SubjectModel) -> None:
    since_s = np.full((1, 2), 0.02)
    kinds = coordinate_kinds(model, smooth_torque_indices(model))
    shares = dense(map_by_time_after_strike(kinds, since_s))[0]
    sided = np.array([bool(side) for side in kinds.side])
    np.testing.assert_allclose(np.sort(shares[sided], axis=1)[:, -2:], 0.5)
    np.testing.assert_allclose(shares[~sided].max(axis=1), 1.0)


def test_a_contact_that_nobody_was_given_is_no_strike() -> None:
    refused = Contact(1, 0.5, 1.0, None, "rejected", "two feet")
    assert np.isinf(times_since_strikes([refused], FRAMES, RATE_HZ)).all()


def test_a_foot_that_stands_already_does_not_strike() -> None:
    """Neither one that is on its plate in the first frame, nor one that rolls on to the next plate."""
    standing = Contact(1, 0.0, 0.5, "l", "assigned", "")
    heel, toes = Contact(2, 0.6, 1.1, "r", "assigned", ""), Contact(3, 0.9, 1.3, "r", "assigned", "")
    since_s = times_since_strikes([standing, heel, toes], FRAMES, RATE_HZ)
    assert np.isinf(since_s[:, SIDES.index("l")]).all()
    np.testing.assert_allclose(since_s[:, SIDES.index("r")], np.arange(FRAMES) / RATE_HZ - 0.6)


def test_the_nearest_strike_counts() -> None:
    strikes = [contact(*strike) for strike in STRIKES]
    since_s = times_since_strikes(strikes, FRAMES, RATE_HZ)[:, SIDES.index("r")]
    np.testing.assert_allclose(since_s[[30, 89, 91, 150]], [-0.1, 0.49, -0.49, 0.1])


def test_halfway_from_one_strike_to_the_next_is_no_strike() -> None:
    """Half a second after one and before the other: the mean of both times would be that of a strike."""
    since_s = times_since_strikes([contact(*strike) for strike in STRIKES], FRAMES, RATE_HZ)
    middle_s = midpoint_time_since_strike(since_s[:-1], since_s[1:])[:, SIDES.index("r")]
    np.testing.assert_allclose(middle_s[:89], np.arange(89) / RATE_HZ - 0.4 + 0.5 / RATE_HZ)
    assert (np.abs(middle_s[85:95]) > 0.4).all()
    assert np.isinf(midpoint_time_since_strike(np.full((3, 2), np.inf), np.full((3, 2), np.inf))).all()


def test_the_root_is_struck_by_both_feet(model: SubjectModel) -> None:
    since_s = times_since_strikes([contact(*strike) for strike in STRIKES], FRAMES, RATE_HZ)
    shares = dense(map_by_time_after_strike(coordinate_kinds(model, np.arange(model.multibody.nv)), since_s))
    np.testing.assert_allclose(shares[42, :6], shares[92, :6], atol=1e-9)  # 20 ms after a strike, right and left
    assert np.abs(shares[42, :6] @ shares[20, :6].T).max() < 1e-9
    np.testing.assert_allclose(shares[42, :6] @ shares[42, :6].T, np.eye(6), atol=1e-9)


def test_changes_of_all_that_is_alike_are_pooled() -> None:
    rng = np.random.default_rng(3)
    since_s = np.full((400, 2), np.inf)
    for first in (100, 300):  # strikes of both feet in turns
        since_s[first - 30 : first + 60, (0, 1)[first == 300]] = np.arange(-30, 60) / 100.0
    kinds = CoordinateKinds(np.zeros(2, dtype=np.int64), ("r", "l"))
    shares = map_by_time_after_strike(kinds, since_s[1:-1])
    loud = np.full((398, 2), 0.5)
    loud[97:107, 0] = loud[297:307, 1] = 5.0  # each knee about strikes of its own foot
    second = loud * rng.normal(size=loud.shape)
    tau = np.zeros((400, 2))
    tau[2:] = np.cumsum(np.cumsum(second, axis=0), axis=0)
    found = strike_torque_change_rms(tau, np.ones(tau.shape, dtype=bool), shares, 0.01)
    np.testing.assert_allclose(found[95:109, 0], found[295:309, 1])  # both columns, both times, are one
    np.testing.assert_allclose(np.mean(found[99:105, 0]), 5.0, rtol=0.35)  # of some 20 values: 16 % are one SD
    np.testing.assert_allclose(found[200], 0.5, rtol=0.1)
    unknown = np.ones(tau.shape, dtype=bool)
    unknown[98:108, 0] = False
    only = strike_torque_change_rms(tau, unknown, shares, 0.01)
    assert not np.isclose(only[102, 0], found[102, 0])  # what is not known tells nothing
    assert (strike_torque_change_rms(tau, np.zeros(tau.shape, dtype=bool), shares, 0.01) == 0.0).all()
