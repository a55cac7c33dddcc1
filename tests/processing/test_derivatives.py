"""Velocities and accelerations on the configuration manifold."""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from biodyn.processing.signals.derivatives import fit_configuration_spline, motion_from_configuration


def wxyz(rotation: Rotation) -> np.ndarray:
    return np.roll(rotation.as_quat(), 1, axis=-1)


def wobble(time_s):
    """A rich analytic motion: R_WB = Rz(a) Rx(b) Ry(c) with smooth angles; q, v, vdot by hand from the angles."""
    a = 0.8 * np.sin(2.1 * time_s)
    b = 0.5 * np.cos(1.3 * time_s) + 0.2
    c = 1.7 * time_s + 0.3 * np.sin(3.0 * time_s)
    da, dda = 0.8 * 2.1 * np.cos(2.1 * time_s), -0.8 * 2.1**2 * np.sin(2.1 * time_s)
    db, ddb = -0.5 * 1.3 * np.sin(1.3 * time_s), -0.5 * 1.3**2 * np.cos(1.3 * time_s)
    dc, ddc = 1.7 + 0.9 * np.cos(3.0 * time_s), -2.7 * np.sin(3.0 * time_s)
    R_WB = Rotation.from_euler("ZXY", np.column_stack([a, b, c]))
    sb, cb, sc, cc = np.sin(b), np.cos(b), np.sin(c), np.cos(c)
    # omega_B = Ry(c)^T (Rx(b)^T ez da + ex db) + ey dc
    omega = np.column_stack([db * cc - da * cb * sc, da * sb + dc, db * sc + da * cb * cc])
    d_omega = np.column_stack(
        [
            ddb * cc - db * sc * dc - dda * cb * sc + da * sb * db * sc - da * cb * cc * dc,
            dda * sb + da * cb * db + ddc,
            ddb * sc + db * cc * dc + dda * cb * cc - da * sb * db * cc - da * cb * sc * dc,
        ]
    )
    p = np.column_stack([1.2 * time_s, 0.9 + 0.03 * np.sin(4 * time_s), 0.02 * np.cos(2 * time_s)])
    pdot = np.column_stack([np.full_like(time_s, 1.2), 0.12 * np.cos(4 * time_s), -0.04 * np.sin(2 * time_s)])
    pddot = np.column_stack([np.zeros_like(time_s), -0.48 * np.sin(4 * time_s), -0.08 * np.cos(2 * time_s)])
    v_B = R_WB.inv().apply(pdot)
    a_B = R_WB.inv().apply(pddot) - np.cross(omega, v_B)
    return np.hstack([p, wxyz(R_WB)]), np.hstack([omega, v_B]), np.hstack([d_omega, a_B])


def test_rotation_about_a_fixed_axis():
    axis = np.array([1.0, -2.0, 0.5]) / np.linalg.norm([1.0, -2.0, 0.5])
    time_s = np.arange(200) / 100
    angle, rate, acceleration = 2.5 * np.sin(3 * time_s), 7.5 * np.cos(3 * time_s), -22.5 * np.sin(3 * time_s)
    q = np.hstack([np.zeros((200, 3)), wxyz(Rotation.from_rotvec(angle[:, None] * axis))])
    motion = motion_from_configuration(time_s, q)
    # Sixth-order spline, step 0.01 s, up to 7.5 rad/s: the error of the rate is far below a millionth of it.
    np.testing.assert_allclose(motion.v[:, :3], rate[:, None] * axis, atol=1e-6)
    np.testing.assert_allclose(motion.vdot[:, :3], acceleration[:, None] * axis, atol=1e-3)
    np.testing.assert_allclose(motion.vdot[10:-10, :3], (acceleration[:, None] * axis)[10:-10], atol=2e-6)


def test_screw_has_a_constant_body_twist():
    """p = R(wt) p0 + pitch w t: constant twist in body axes, so every component of vdot is zero."""
    time_s = np.arange(150) / 100
    omega_W = np.array([0.0, 0.0, 2.0])
    R_WB = Rotation.from_rotvec(time_s[:, None] * omega_W)
    p = R_WB.apply([0.3, -0.1, 0.0]) + 0.2 * time_s[:, None] * omega_W
    motion = motion_from_configuration(time_s, np.hstack([p, wxyz(R_WB)]))
    expected = np.concatenate([omega_W, np.cross(omega_W, [0.3, -0.1, 0.0]) + 0.2 * omega_W])
    np.testing.assert_allclose(motion.v, np.tile(expected, (150, 1)), atol=1e-9)
    np.testing.assert_allclose(motion.vdot, 0.0, atol=1e-6)


def test_tumbling_body_against_hand_derivatives():
    time_s = np.arange(300) / 100
    q, v, vdot = wobble(time_s)
    motion = motion_from_configuration(time_s, q)
    np.testing.assert_allclose(motion.v, v, atol=1e-6)
    np.testing.assert_allclose(motion.vdot, vdot, atol=1e-3)  # the last frames, where the spline hangs free
    np.testing.assert_allclose(motion.vdot[10:-10], vdot[10:-10], atol=1e-6)


def test_order_of_convergence():
    """Halving the step divides the error of v by 2^5 and of vdot by 2^4 (quintic spline, whole trial, ends too)."""
    errors = []
    for frames in (40, 80, 160):
        time_s = np.linspace(0.0, 2.0, frames + 1)
        q, v, vdot = wobble(time_s)
        motion = motion_from_configuration(time_s, q)
        errors.append((np.abs(motion.v - v).max(), np.abs(motion.vdot - vdot).max()))
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert orders[-1][0] > 4.6
    assert orders[-1][1] > 3.6


def test_integrating_the_velocity_gives_the_configurations_back():
    time_s = np.arange(60) / 50
    q, _, _ = wobble(time_s)
    curve = fit_configuration_spline(time_s, q)

    def rate(t, state):
        _, v, _ = curve(np.array([t]))
        w, x, y, z = state[3:]
        wx, wy, wz = v[0, :3]
        pdot = Rotation.from_quat([x, y, z, w]).apply(v[0, 3:])
        qdot = 0.5 * np.array(
            [-x * wx - y * wy - z * wz, w * wx + y * wz - z * wy, w * wy + z * wx - x * wz, w * wz + x * wy - y * wx]
        )
        return np.concatenate([pdot, qdot])

    solution = solve_ivp(rate, (0.0, time_s[-1]), q[0], t_eval=time_s, rtol=1e-10, atol=1e-12, max_step=0.02)
    expected, _, _ = curve(time_s)
    np.testing.assert_allclose(solution.y.T, expected, atol=1e-8)  # integrator tolerance times 60 steps


def test_acceleration_is_the_derivative_of_the_velocity_between_the_frames():
    time_s = np.arange(80) / 50
    q = np.hstack([wobble(time_s)[0], np.sin(5 * time_s)[:, None]])
    curve = fit_configuration_spline(time_s, q)
    at = np.linspace(0.1, 1.4, 37)
    h = 1e-5
    difference = (curve(at + h)[1] - curve(at - h)[1]) / (2 * h)
    np.testing.assert_allclose(curve(at)[2], difference, atol=1e-7)  # h^2 and rounding / h


def test_passes_through_q_whatever_the_quaternion_sign():
    time_s = np.arange(100) / 100
    q, v, _ = wobble(time_s)
    flipped = q.copy()
    flipped[::3, 3:] *= -1.0
    motion = motion_from_configuration(time_s, flipped)
    np.testing.assert_allclose(motion.v, v, atol=1e-5)
    np.testing.assert_allclose(np.abs(np.sum(motion.q[:, 3:] * q[:, 3:], axis=1)), 1.0, atol=1e-13)
    np.testing.assert_allclose(motion.q[:, :3], q[:, :3], atol=1e-14)
    assert np.sum(motion.q[1:, 3:] * motion.q[:-1, 3:], axis=1).min() > 0.9


def test_coordinates_follow_the_base():
    time_s = np.arange(100) / 100
    q, v, vdot = wobble(time_s)
    motion = motion_from_configuration(time_s, np.hstack([q, np.sin(time_s)[:, None], (time_s**2)[:, None]]))
    expected = np.hstack([v, np.cos(time_s)[:, None], 2 * time_s[:, None]])
    np.testing.assert_allclose(motion.v, expected, atol=1e-5)
    np.testing.assert_allclose(motion.vdot[:, -1], 2.0, atol=1e-8)
    np.testing.assert_allclose(motion.vdot[10:-10, :6], vdot[10:-10], atol=1e-5)


def test_frames_without_a_solution_split_the_trial():
    time_s = np.arange(120) / 100
    q, v, _ = wobble(time_s)
    q[50, 4] = np.nan
    q[55] = np.nan
    motion = motion_from_configuration(time_s, q)
    solved = np.r_[0:50, 56:120]
    np.testing.assert_allclose(motion.v[solved], v[solved], atol=1e-5)
    assert np.isnan(motion.v[50:56]).all()  # four frames between two holes are no stretch
    assert np.isnan(motion.q[[50, 55]]).all()
    np.testing.assert_allclose(motion.q[51:55], q[51:55], atol=1e-14)
    np.testing.assert_array_equal(motion.v[:50], motion_from_configuration(time_s[:50], q[:50]).v)
