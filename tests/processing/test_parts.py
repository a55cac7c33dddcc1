"""Parts of a torque sum to it, are what they are called, and do not depend on a steadily moving observer."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_proof import driven, walk  # noqa: F401  (fixtures)

from biodyn.processing.parts import PARTS, torque_parts
from biodyn.rigid_body import centre_of_mass, inverse_dynamics


def test_the_parts_sum_to_the_torque_to_round_off(driven):  # noqa: F811
    parts = torque_parts(driven)
    size = np.sum([np.abs(parts.values[name]) for name in PARTS], axis=0).max()
    # a few hundred additions of double precision
    np.testing.assert_allclose(parts.total, driven.tau, atol=1e-13 * size)


def test_at_rest_gravity_and_ground_are_all_there_is(driven):  # noqa: F811
    mb = driven.multibody
    q = driven.q[:5]
    still = np.zeros((5, mb.nv))
    weight = -mb.total_mass_kg * np.array(mb.gravity_W)
    wrench = np.concatenate([np.cross(centre_of_mass(mb, q), weight), np.tile(weight, (5, 1))], axis=1)
    wrenches = np.stack([wrench, np.zeros_like(wrench)], axis=1)
    tau = inverse_dynamics(mb, q, still, still, wrenches, driven.wrench_bodies)
    rest = replace(
        driven, time_s=driven.time_s[:5], q=q, v=still, vdot=still, tau=tau, wrenches=wrenches,
        measured=driven.measured[:5],
    )  # fmt: skip
    parts = torque_parts(rest).values
    assert not parts["inertia"].any()
    assert not parts["velocity"].any()
    # the weight below the centre of mass balances the whole body: nothing is left for the base
    np.testing.assert_allclose((parts["gravity"] + parts["ground"])[:, :6], 0.0, atol=1e-9)


def test_without_ground_and_gravity_their_parts_vanish(driven):  # noqa: F811
    mb = replace(driven.multibody, gravity_W=(0.0, 0.0, 0.0))
    tau = inverse_dynamics(mb, driven.q, driven.v, driven.vdot)
    free = replace(driven, multibody=mb, tau=tau, wrenches=np.zeros_like(driven.wrenches))
    parts = torque_parts(free).values
    assert not parts["gravity"].any()
    assert not parts["ground"].any()
    assert parts["velocity"].any()


def test_velocity_part_grows_with_the_square_of_speed(driven):  # noqa: F811
    fast = replace(driven, v=2.0 * driven.v, vdot=driven.vdot)
    fast = replace(fast, tau=inverse_dynamics(driven.multibody, fast.q, fast.v, fast.vdot))
    slow = torque_parts(driven).values["velocity"]
    np.testing.assert_allclose(torque_parts(fast).values["velocity"], 4.0 * slow, atol=1e-11 * np.abs(slow).max())


@pytest.mark.parametrize("speed_W", [(-1.3, 0.0, 0.0), (0.4, 0.2, -5.0)])
def test_a_treadmill_finds_the_same_parts_as_the_floor(driven, speed_W):  # noqa: F811
    R_WB = Rotation.from_quat(driven.q[:, [4, 5, 6, 3]]).as_matrix()
    v, vdot, q = driven.v.copy(), driven.vdot.copy(), driven.q.copy()
    moved_B = np.einsum("tji,j->ti", R_WB, np.array(speed_W))
    v[:, 3:6] += moved_B
    # the classical acceleration is the same, so the spatial one differs by omega x the belt's speed
    vdot[:, 3:6] -= np.cross(v[:, :3], moved_B)
    tau = inverse_dynamics(driven.multibody, q, v, vdot, driven.wrenches, driven.wrench_bodies)
    belt = replace(driven, v=v, vdot=vdot, tau=tau)
    floor_parts, belt_parts = torque_parts(driven).values, torque_parts(belt).values
    np.testing.assert_allclose(belt.tau, driven.tau, atol=1e-9)
    for name in PARTS:
        np.testing.assert_allclose(belt_parts[name], floor_parts[name], atol=1e-9)
