"""Parts of a torque sum to it, are what they are called, and do not depend on a steadily moving observer."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_consistency import actuated, walk  # noqa: F401  (fixtures)

from biodyn.rigid_body import centre_of_mass, inverse_dynamics
from biodyn.verification.contributions import CONTRIBUTIONS, torque_contributions


def test_the_parts_sum_to_the_torque_to_round_off(actuated):  # noqa: F811
    parts = torque_contributions(actuated)
    size = np.sum([np.abs(parts[name]) for name in CONTRIBUTIONS], axis=0).max()
    # a few hundred additions of double precision
    np.testing.assert_allclose(sum(parts.values()), actuated.tau, atol=1e-13 * size)


def test_at_rest_gravity_and_ground_are_all_there_is(actuated):  # noqa: F811
    mb = actuated.multibody
    q = actuated.q[:5]
    still = np.zeros((5, mb.nv))
    weight = -mb.total_mass_kg * np.array(mb.gravity_W)
    wrench = np.concatenate([np.cross(centre_of_mass(mb, q), weight), np.tile(weight, (5, 1))], axis=1)
    wrenches = np.stack([wrench, np.zeros_like(wrench)], axis=1)
    tau = inverse_dynamics(mb, q, still, still, wrenches, actuated.wrench_bodies)
    rest = replace(
        actuated, time_s=actuated.time_s[:5], q=q, v=still, vdot=still, tau=tau, wrenches=wrenches,
        measured=actuated.measured[:5],
    )  # fmt: skip
    parts = torque_contributions(rest)
    assert not parts["inertia"].any()
    assert not parts["velocity"].any()
    # the weight below the centre of mass balances the whole body: nothing is left for the base
    np.testing.assert_allclose((parts["gravity"] + parts["ground"])[:, :6], 0.0, atol=1e-9)


def test_without_ground_and_gravity_their_parts_vanish(actuated):  # noqa: F811
    mb = replace(actuated.multibody, gravity_W=(0.0, 0.0, 0.0))
    tau = inverse_dynamics(mb, actuated.q, actuated.v, actuated.vdot)
    free = replace(actuated, multibody=mb, tau=tau, wrenches=np.zeros_like(actuated.wrenches))
    parts = torque_contributions(free)
    assert not parts["gravity"].any()
    assert not parts["ground"].any()
    assert parts["velocity"].any()


def test_velocity_part_grows_with_the_square_of_speed(actuated):  # noqa: F811
    fast = replace(actuated, v=2.0 * actuated.v, vdot=actuated.vdot)
    fast = replace(fast, tau=inverse_dynamics(actuated.multibody, fast.q, fast.v, fast.vdot))
    slow = torque_contributions(actuated)["velocity"]
    np.testing.assert_allclose(torque_contributions(fast)["velocity"], 4.0 * slow, atol=1e-11 * np.abs(slow).max())


@pytest.mark.parametrize("speed_W", [(-1.3, 0.0, 0.0), (0.4, 0.2, -5.0)])
def test_a_treadmill_finds_the_same_parts_as_the_floor(actuated, speed_W):  # noqa: F811
    R_WB = Rotation.from_quat(actuated.q[:, [4, 5, 6, 3]]).as_matrix()
    v, vdot, q = actuated.v.copy(), actuated.vdot.copy(), actuated.q.copy()
    moved_B = np.einsum("tji,j->ti", R_WB, np.array(speed_W))
    v[:, 3:6] += moved_B
    # the classical acceleration is the same, so the spatial one differs by omega x the belt's speed
    vdot[:, 3:6] -= np.cross(v[:, :3], moved_B)
    tau = inverse_dynamics(actuated.multibody, q, v, vdot, actuated.wrenches, actuated.wrench_bodies)
    belt = replace(actuated, v=v, vdot=vdot, tau=tau)
    floor_parts, belt_parts = torque_contributions(actuated), torque_contributions(belt)
    np.testing.assert_allclose(belt.tau, actuated.tau, atol=1e-9)
    for name in CONTRIBUTIONS:
        np.testing.assert_allclose(belt_parts[name], floor_parts[name], atol=1e-9)
