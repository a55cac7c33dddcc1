"""A known wrench, written into the channels of every plate type, must come back; so must what real plates measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import real

from biodyn.errors import PlateError
from biodyn.processing.contacts.plate_loads import centre_of_pressure_at_height
from biodyn.processing.signals.plate_channels import missing_times, remove_spikes
from biodyn.processing.signals.plate_wrenches import plate_wrench, resample_wrench
from biodyn.recording import ForcePlate
from biodyn.recording.wrenches import PlateWrench

RATE_HZ = 1000.0
FRAMES, MARKER_RATE_HZ = 100, 100.0
HALF_X, HALF_Y = 0.3, 0.2
# Plate axes in World: x ahead, y to the right, z down, as AMTI, Kistler and Vicon files have it.
R_WP = np.column_stack([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])
P_WS = np.array([1.2, 0.05, -0.4])
ORIGIN = np.array([0.01, -0.02, -0.05])  # from the sensor to the surface


def corners(R=R_WP, p=P_WS):
    local = np.array([[HALF_X, HALF_Y, 0], [-HALF_X, HALF_Y, 0], [-HALF_X, -HALF_Y, 0], [HALF_X, -HALF_Y, 0]])
    return local @ R.T + p


def step():
    """One step: where it acts (T, 3) on the surface, its force (T, 3), the moment about the vertical (T,); World."""
    n = round(FRAMES * RATE_HZ / MARKER_RATE_HZ)
    s = np.clip((np.arange(n) / n - 0.3) / 0.5, 0, 1)
    load = np.sin(np.pi * s)
    point = P_WS + np.column_stack([-0.2 + 0.4 * s, np.zeros(n), 0.05 * np.cos(3 * s)])
    force = np.column_stack([100 * np.sin(2 * np.pi * s) * load, 800 * load, 40 * load])
    return point, force, 5.0 * load


def expected_wrench():
    point, force, twist = step()
    moment = np.cross(point, force) + twist[:, None] * [0, 1.0, 0]
    return np.hstack([moment, force])


def channels(kind, R=R_WP, p=P_WS):
    """The plate's channels for `step`, by statics in plate axes from scratch, not by the formulas under test."""
    point, force, twist = step()
    F = force @ R
    r = (point - p) @ R
    T = (twist[:, None] * [0, 1.0, 0]) @ R
    if kind == 1:
        return np.column_stack([F, r[:, :2], T[:, 2]])
    if kind == 3:
        a, b, depth = 0.12, 0.2, 0.05
        M = np.cross(r + [0, 0, -depth], F) + T  # about the centre of the sensors, which lie deeper (z is down)
        # four vertical forces at (a, b), (-a, b), (-a, -b), (a, -b): their sum and moments, and no twisting pattern
        ones = np.ones(4)
        places = np.array([[a, b], [-a, b], [-a, -b], [a, -b]])
        system = np.array([ones, places[:, 1], -places[:, 0], [1, -1, 1, -1]])
        z = np.linalg.solve(system, np.column_stack([F[:, 2], M[:, 0], M[:, 1], 0 * M[:, 0]]).T).T
        # horizontal pairs: x12 at y = +b, x34 at y = -b; y14 at x = +a, y23 at x = -a
        x12, x34 = F[:, 0] / 2 - M[:, 2] / (2 * b), F[:, 0] / 2 + M[:, 2] / (2 * b)
        return np.column_stack([x12, x34, F[:, 1] / 2, F[:, 1] / 2, z])
    M = np.cross(r + ORIGIN, F) + T
    return np.column_stack([F, M])


def plate(kind=2, **changes):
    origin = np.array([0.12, 0.2, -0.05]) if kind == 3 else ORIGIN
    made = ForcePlate(1, kind, corners(), origin, channels(kind), RATE_HZ)
    return replace(made, **changes)


def solved(made):
    return plate_wrench(made, FRAMES, MARKER_RATE_HZ)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_every_type_gives_the_wrench_that_was_put_in(kind):
    result = solved(plate(kind))
    # plain double arithmetic on 1000 N and metres
    np.testing.assert_allclose(result.wrench, expected_wrench(), atol=1e-9)
    assert result.diagnostics == ()
    assert result.rate_hz == RATE_HZ


@pytest.mark.parametrize("kind", [4, 5])
def test_calibrated_types_apply_their_matrix(kind):
    """Raw channels that the matrix turns into the wrench: type 4 from six, type 5 from eight inputs."""
    rng = np.random.default_rng(3)
    inputs = {4: 6, 5: 8}[kind]
    matrix = rng.normal(size=(6, inputs)) + 5 * np.eye(6, inputs)
    raw = channels(2) @ np.linalg.pinv(matrix).T
    result = solved(plate(kind, channels=raw, cal_matrix=matrix))
    np.testing.assert_allclose(result.wrench, expected_wrench(), atol=1e-7)  # condition of the matrix


@pytest.mark.parametrize("order", ["by sensor", "by axis"])
def test_twelve_forces_in_either_order(order):
    """Type 6: three forces of each of four sensors, behind a matrix of 12 by 12."""
    x12, x34, y14, y23, *z = channels(3).T
    of_sensor = (
        np.stack([[x12, x12, x34, x34], [y14, y23, y23, y14], [2 * one for one in z]], axis=0) / 2
    )  # axis, sensor, time
    rows = of_sensor.transpose(1, 0, 2) if order == "by sensor" else of_sensor
    matrix = np.random.default_rng(5).normal(size=(12, 12)) * 0.02 + np.diag(np.arange(3.0, 15.0))
    raw = np.linalg.solve(matrix, rows.reshape(12, -1)).T
    origin = np.array([0.12, 0.2, -0.05])
    result = solved(replace(plate(3), type=6, channels=raw, cal_matrix=matrix, origin=origin))
    np.testing.assert_allclose(result.wrench, expected_wrench(), atol=1e-8)


def test_eight_forces_behind_a_matrix():
    """Type 7: type 3 behind a matrix of 8 by 8."""
    matrix = np.random.default_rng(6).normal(size=(8, 8)) * 0.05 + np.diag(np.arange(2.0, 10.0))
    raw = np.linalg.solve(matrix, channels(3).T).T
    result = solved(replace(plate(3), type=7, channels=raw, cal_matrix=matrix))
    np.testing.assert_allclose(result.wrench, expected_wrench(), atol=1e-8)


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_a_plate_at_any_height_and_tilt(kind):
    """A step on a ramp, turned and raised: the wrench is the same statics in other axes."""
    ramp = np.array([[0.95, 0.0, 0.31], [0.31, 0.0, -0.95], [0.0, 1.0, 0.0]])
    ramp, _ = np.linalg.qr(ramp)
    R = ramp * np.sign(np.linalg.det(ramp))
    R = R if (R @ [0, 0, 1.0])[1] < 0 else R @ np.diag([1.0, -1.0, -1.0])
    p = np.array([0.4, 0.73, -0.2])
    n = len(step()[0])
    local = np.column_stack([np.linspace(-0.2, 0.2, n), 0.05 * np.cos(np.linspace(0, 3, n)), np.zeros(n)])
    F = np.column_stack([np.sin(np.linspace(0, 6, n)) * 60, np.full(n, 30.0), np.full(n, -700.0)])
    F[: n // 3] = 0.0
    T = np.column_stack([np.zeros((n, 2)), np.where(F[:, 2] < 0, 4.0, 0.0)])
    if kind == 1:
        made = np.column_stack([F, local[:, :2], T[:, 2]])
    elif kind == 2:
        made = np.column_stack([F, np.cross(local + ORIGIN, F) + T])
    else:
        a, b, depth = 0.12, 0.2, 0.05
        M = np.cross(local + [0, 0, -depth], F) + T
        u, w = M[:, 0] / b, M[:, 1] / a
        z = [(F[:, 2] + u - w) / 4, (F[:, 2] + u + w) / 4, (F[:, 2] - u + w) / 4, (F[:, 2] - u - w) / 4]
        made = np.column_stack(
            [F[:, 0] / 2 - M[:, 2] / (2 * b), F[:, 0] / 2 + M[:, 2] / (2 * b), F[:, 1] / 2, F[:, 1] / 2, *z]
        )
    tilted = plate(kind, corners=corners(R, p), channels=made)
    point, force = local @ R.T + p, F @ R.T
    expected = np.hstack([np.cross(point, force) + T @ R.T, force])
    np.testing.assert_allclose(solved(tilted).wrench, expected, atol=1e-9)


def test_origin_with_positive_z_is_the_opposite_vector():
    """Vicon writes where the sensor is from the surface; the format means the way back."""
    result = solved(plate(origin=-ORIGIN))
    np.testing.assert_allclose(result.wrench, expected_wrench(), atol=1e-9)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_plate_whose_z_points_up_has_its_sensor_below_the_surface_too(sign):
    """Corners the other way round and channels to match: x ahead, y to the left, z up. Either sign of ORIGIN means one place."""
    upright = R_WP * [1.0, -1.0, -1.0]
    point, force, twist = step()
    to_surface = np.array([0.01, 0.02, 0.05])  # ORIGIN in these axes
    F, r = force @ upright, (point - P_WS) @ upright
    M = np.cross(r + to_surface, F) + (twist[:, None] * [0, 1.0, 0]) @ upright
    result = solved(plate(corners=corners(upright), channels=np.hstack([F, M]), origin=sign * to_surface))
    np.testing.assert_allclose(result.wrench, expected_wrench(), atol=1e-9)
    assert result.diagnostics == ()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_origin_without_depth_takes_the_sign_that_puts_the_load_on_the_plate(sign):
    """A treadmill's sensor far beside the belt (Bertec): z is 0, so only the data can tell."""
    point, force, twist = step()
    beside = np.array([0.5, 0.9, 0.0])
    F, r = force @ R_WP, (point - P_WS) @ R_WP
    M = np.cross(r + beside, F) + (twist[:, None] * [0, 1.0, 0]) @ R_WP
    result = solved(plate(channels=np.hstack([F, M]), origin=sign * beside))
    np.testing.assert_allclose(result.wrench, expected_wrench(), atol=1e-9)
    assert [d.code for d in result.diagnostics] == ([] if sign > 0 else ["plate-sign"])


def test_action_stored_instead_of_reaction_is_turned_round_and_said():
    result = solved(plate(channels=-channels(2)))
    np.testing.assert_allclose(result.wrench, expected_wrench(), atol=1e-9)
    assert [d.code for d in result.diagnostics] == ["plate-sign"]


def test_a_plate_nobody_steps_on_gives_zeros_without_complaint():
    noise = np.random.default_rng(0).normal(scale=0.5, size=(1000, 6))
    result = solved(plate(channels=noise))
    assert result.diagnostics == ()
    assert np.abs(result.wrench[:, 3:]).max() < 3.0


def test_unloaded_offset_is_removed_and_said():
    offset = np.array([3.0, -2.0, -20.0, 1.0, 2.0, -0.5])
    noise = np.random.default_rng(1).normal(scale=0.5, size=(1000, 6)) * [1, 1, 1, 0.01, 0.01, 0.01]
    result = solved(plate(channels=channels(2) + offset + noise))
    # the mean of several hundred samples of noise of 0.5 N, on top of the noise itself (5 sigma)
    np.testing.assert_allclose(result.wrench[:, 4], expected_wrench()[:, 4], atol=2.7)
    assert [d.code for d in result.diagnostics] == ["plate-baseline"]
    assert result.diagnostics[0].value == pytest.approx(20.0, abs=0.2)


def test_offset_in_the_frames_the_file_names():
    offset = np.array([3.0, -2.0, 210.0, 1.0, 2.0, -0.5])  # far more than drift, but named
    result = solved(plate(channels=channels(2) + offset, zero_frames=(0, 9)))
    np.testing.assert_allclose(result.wrench, expected_wrench(), atol=1e-9)
    assert "FORCE_PLATFORM:ZERO" in result.diagnostics[0].message


def test_named_frames_with_a_foot_on_the_plate_are_not_believed():
    result = solved(plate(zero_frames=(50, 60)))
    np.testing.assert_allclose(result.wrench, expected_wrench(), atol=1e-9)
    assert [d.code for d in result.diagnostics] == ["plate-zero-loaded"]


def test_a_load_of_the_opposite_sign_in_the_named_frames_is_not_a_baseline():
    """A file that stores the action on the plate: a foot in the named frames pushes the force far below zero."""
    result = solved(plate(channels=-channels(2), zero_frames=(50, 60)))
    np.testing.assert_allclose(result.wrench, expected_wrench(), atol=1e-9)
    assert [d.code for d in result.diagnostics] == ["plate-zero-loaded", "plate-sign"]
    assert result.diagnostics[0].value < -700.0


def test_a_person_leaving_upwards_is_not_a_baseline():
    """Somebody on the plate in the named frames and nowhere an empty moment within reach: neither sense is believed."""
    offset = np.array([0.0, 0.0, 90.0, 0.0, 0.0, 0.0])
    for sense in (1.0, -1.0):
        stored = sense * channels(2) + offset  # empty, it reads 90 N: too much to be told from a load
        result = solved(plate(channels=stored, zero_frames=(50, 60)))
        assert "plate-zero-loaded" in [d.code for d in result.diagnostics]
        assert "plate-baseline" not in [d.code for d in result.diagnostics]
        # what was stored is what comes out, in the sense that pushes a person up
        assert np.ptp(result.wrench[:, 4]) == pytest.approx(np.ptp(expected_wrench()[:, 4]))


def test_a_person_standing_all_the_time_is_not_a_baseline():
    standing = np.tile(channels(2)[550], (1000, 1))
    for zero in (None, (0, 9)):
        result = solved(plate(channels=standing, zero_frames=zero))
        np.testing.assert_allclose(result.wrench[:, 4], expected_wrench()[550, 4], atol=1e-9)


def test_missing_samples_stay_missing_and_spoil_nothing():
    broken = channels(2)
    broken[-51:] = np.nan  # seen at the end of a Qualisys export
    result = solved(plate(channels=broken))
    assert np.isnan(result.wrench[-51:]).all()
    np.testing.assert_allclose(result.wrench[:-51], expected_wrench()[:-51], atol=1e-9)


@pytest.mark.parametrize("kind", [8, 11, 12, 21])
def test_other_types_are_refused_by_name(kind):
    with pytest.raises(PlateError, match=f"type {kind}"):
        solved(plate(type=kind))


def test_impossible_plates_are_refused():
    with pytest.raises(PlateError, match="calibration matrix"):
        solved(plate(type=4))
    with pytest.raises(PlateError, match="expected 1000"):
        solved(plate(channels=channels(2)[:-5]))
    with pytest.raises(PlateError, match="surface"):
        solved(plate(corners=np.zeros((4, 3))))


def test_a_load_beside_the_plate_is_said():
    beside = channels(2)
    beside[:, 3] += 0.5 * beside[:, 2]  # half a metre along y, with a plate of 0.4 m
    result = solved(plate(channels=beside))
    assert "plate-cop-outside" in {d.code for d in result.diagnostics}


@settings(max_examples=50, deadline=None)
@given(st.floats(-2, 2), st.floats(-2, 2), st.floats(-0.3, 0.5), st.floats(-150, 150), st.floats(-60, 60),
       st.floats(30, 2000), st.floats(-20, 20))  # fmt: skip
def test_centre_of_pressure_and_free_moment_give_back_point_and_twist(x, z, height, fx, fz, fy, twist):
    point, force = np.array([x, height, z]), np.array([fx, fy, fz])
    wrench = np.concatenate([np.cross(point, force) + [0, twist, 0], force])[None]
    # moments of up to 5000 Nm divided by 30 N: 1e-12 relative becomes 1e-9 m
    pressure, free_moment = centre_of_pressure_at_height(wrench, height, 20.0)
    np.testing.assert_allclose(pressure[0], point, atol=1e-8)
    np.testing.assert_allclose(free_moment, twist, atol=1e-6)


def test_centre_of_pressure_is_undefined_below_the_threshold():
    wrench = np.array([[0, 0, 1.0, 0, 19.9, 0], [0, 0, 1.0, 0, 20.0, 0], [0, 0, 1.0, 0, np.nan, 0]])
    pressure, free_moment = centre_of_pressure_at_height(wrench, 0.0, 20.0)
    np.testing.assert_array_equal(np.isfinite(pressure).all(axis=1), [False, True, False])
    np.testing.assert_array_equal(np.isfinite(free_moment), [False, True, False])


def test_resampling_takes_the_sample_of_each_frame():
    times = np.arange(1000) / RATE_HZ
    source = PlateWrench(1, corners(), np.tile(times[:, None], (1, 6)), RATE_HZ)
    np.testing.assert_allclose(resample_wrench(source, 100, 100.0).wrench[:, 3], np.arange(100) / 100)
    odd = resample_wrench(source, 59, 60.0)  # no integer ratio: a straight line is reproduced by interpolation
    np.testing.assert_allclose(odd.wrench[:, 0], np.arange(59) / 60, atol=1e-12)
    assert odd.rate_hz == 60.0


# ---- real plates -----------------------------------------------------------------------------------------------------

Z_UP = np.array([[1.0, 0, 0], [0, 0, 1.0], [0, -1.0, 0]])


@pytest.fixture(scope="module")
def data() -> Path:
    return real.recordings()


def recording_in_world(path):
    from biodyn.io.formats.c3d.reader import read_c3d

    return read_c3d(path).rotated(Z_UP)


def at_markers(recording, number=0):
    markers = recording.markers
    full = plate_wrench(recording.plates[number], markers.frame_count, markers.rate_hz)
    return resample_wrench(full, markers.frame_count, markers.rate_hz)


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "plate_sides"),
    [
        ("biomechzoo/HC030A/Straight/HC030A05.c3d", "LR"),
        ("biomechzoo/HC032A/Straight/HC032A03.c3d", "LR"),
        ("btk_pig/PiG_Motion3_FF.c3d", "LRL"),
    ],
)
def test_vicon_plates_agree_with_the_laboratory_software(data, name, plate_sides):
    """Its ground reaction (N/kg) and the moment the wrench has about its ankle centre against its ankle moment.

    Forces: it filters, we do not. Moments: the foot's weight and inertia, which it includes, are worth 0.03 Nm/kg;
    with ORIGIN's other sign the difference would be 0.08, with the surface's depth ignored 0.045.
    """
    recording = recording_in_world(data / "gait" / name)
    mass = recording.subject.mass_kg
    for number, side in enumerate(plate_sides):
        wrench = at_markers(recording, number).wrench
        loaded = wrench[:, 4] > 0.3 * 9.81 * mass
        assert loaded.sum() > 20
        theirs = recording.model_outputs[f"{side}GroundReactionForce"].values @ Z_UP.T
        difference = (theirs - wrench[:, 3:] / mass)[loaded]
        assert np.sqrt(np.nanmean(difference**2)) < 0.1
        ankle = recording.model_outputs[f"{side}TIO"].values @ Z_UP.T / 1000
        about_ankle = np.linalg.norm(wrench[:, :3] - np.cross(ankle, wrench[:, 3:]), axis=1) / mass
        stored = np.linalg.norm(recording.model_outputs[f"{side}AnkleMoment"].values, axis=1) / 1000
        error = (about_ankle - stored)[loaded & np.isfinite(stored)]
        assert np.sqrt(np.mean(error**2)) < 0.03


@pytest.mark.real
def test_centre_of_pressure_lies_on_the_plate_and_under_the_foot(data):
    recording = recording_in_world(data / "gait" / "sydney" / "dynamic" / "S4-AMGait04.c3d")
    plate_ = recording.plates[1]
    height = float(plate_.corners[:, 1].mean())
    p, _ = centre_of_pressure_at_height(at_markers(recording, 1).wrench, height, 50.0)
    loaded = np.isfinite(p).all(axis=1)
    low, high = plate_.corners.min(axis=0), plate_.corners.max(axis=0)
    assert ((p[loaded] >= low - 0.01) & (p[loaded] <= high + 0.01)).all()
    markers = recording.markers
    toe, heel = (markers.positions[:, markers.index(label)] for label in ("LTOE", "LHEE"))
    # along the walk the load stays between heel and toes; the marker on the toe's head is 5 cm behind their tips
    ahead = np.sign(toe[loaded, 0] - heel[loaded, 0])
    assert (ahead * (p[loaded, 0] - heel[loaded, 0]) > -0.03).all()
    assert (ahead * (p[loaded, 0] - toe[loaded, 0]) < 0.08).all()


@pytest.mark.real
def test_standing_on_two_calibrated_plates_weighs_one_person(data):
    """Qualisys static, type 4, ORIGIN beside the belts without depth: weight shared, pressure between the feet."""
    recording = recording_in_world(data / "static_only" / "qualisys_type4" / "anat_pose_ECH.c3d")
    wrenches = [at_markers(recording, number).wrench for number in (0, 1)]
    forces = [np.nanmedian(w[:, 4]) for w in wrenches]
    assert min(forces) > 250.0
    markers = recording.markers
    for wrench, side in zip(wrenches, "LR", strict=True):
        p = np.nanmedian(centre_of_pressure_at_height(wrench, 0.0, 50.0)[0], axis=0)
        foot = [
            np.nanmedian(markers.positions[:, markers.index(side + m)], axis=0) for m in ("CAL", "TT2", "LM", "SPH")
        ]
        assert min(q[0] for q in foot) < p[0] < max(q[0] for q in foot)
        assert min(q[2] for q in foot) - 0.03 < p[2] < max(q[2] for q in foot) + 0.03


@pytest.mark.real
def test_one_trial_as_type_2_and_type_4(data):
    """c3d.org sample 10: the same recording with the main sensitivities and with the whole matrix."""
    folder = data / "reader" / "c3d_org" / "sample_10"
    two, four = (recording_in_world(folder / f"TYPE-{kind}a.c3d") for kind in (2, 4))
    for number in (0, 1):
        a, b = (at_markers(r, number).wrench for r in (two, four))
        loaded = a[:, 4] > 100
        # AMTI states cross-talk below 2 %
        np.testing.assert_allclose(b[loaded, 4], a[loaded, 4], rtol=0.02)
        cop = [centre_of_pressure_at_height(w[loaded], 0.0, 50.0)[0] for w in (a, b)]
        assert np.abs(cop[0] - cop[1]).max() < 0.01


@pytest.mark.real
def test_four_plates_of_types_2_and_3_carry_the_same_walker(data):
    """c3d.org sample 10: four steps in a row over two Kistler and two AMTI plates with offsets of up to 212 N."""
    recording = recording_in_world(data / "reader" / "c3d_org" / "sample_10" / "TYPE-3.c3d")
    peaks = [np.percentile(at_markers(recording, number).wrench[:, 4], 99) for number in range(4)]
    assert np.ptp(peaks) < 0.2 * np.mean(peaks)
    for number in range(4):
        wrench = at_markers(recording, number)
        p, _ = centre_of_pressure_at_height(wrench.wrench, float(wrench.corners[:, 1].mean()), 50.0)
        on = np.isfinite(p).all(axis=1)
        low, high = wrench.corners.min(axis=0) - 0.02, wrench.corners.max(axis=0) + 0.02
        assert ((p[on] > low) & (p[on] < high))[:, [0, 2]].mean() > 0.97
        assert np.abs(wrench.wrench[~on, 4]).max() < 50.0


@pytest.mark.real
def test_forces_agree_with_opensims_own_conversion(data):
    """Its conversion keeps the unloaded offset of 14-20 N that we remove, hence changes are compared."""
    folder = data / "opensim" / "c3d_to_grf"
    table = np.loadtxt(folder / "std_walking2_grfs.sto", skiprows=6)
    recording = recording_in_world(folder / "walking2.c3d")
    for number, first in ((0, 1), (1, 10)):
        full = plate_wrench(recording.plates[number], recording.markers.frame_count, recording.markers.rate_hz)
        ours = full.wrench[np.round(table[:-1, 0] * full.rate_hz).astype(int), 3:]
        theirs = table[:-1, first : first + 3] @ Z_UP.T
        assert np.abs(theirs[:, 1]).max() > 500  # it compares loaded frames, too
        np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=0.05)  # 8 digits in the table


def test_spikes_of_a_few_samples_are_interpolated_and_dropouts_are_named():
    """1000 Hz: jumps of three samples are faults of the converter; a load that vanishes for 20 or 150 ms is a dropout."""
    rate_hz = 1000.0
    time_s = np.arange(2000) / rate_hz
    load = 800.0 * np.sin(np.pi * np.clip((time_s - 0.5) / 0.7, 0.0, 1.0)) ** 0.5
    channels = np.zeros((2000, 6))
    channels[:, 2] = -load + np.random.default_rng(0).normal(0.0, 1.0, 2000)
    plate = ForcePlate(1, 2, corners(), np.zeros(3), channels, rate_hz)
    assert remove_spikes(plate)[1] == ()
    spoilt = channels.copy()
    for first in (300, 700, 1100):
        spoilt[first : first + 3, 2] += 1200.0
    mended, notes = remove_spikes(replace(plate, channels=spoilt))
    assert [note.code for note in notes] == ["recording-repaired"]
    assert np.abs(mended.channels - channels).max() < 20.0
    assert missing_times(load, rate_hz) == ()
    for stop in (820, 950):
        load[800:stop] = 0.0
        np.testing.assert_allclose(missing_times(load, rate_hz), [(0.799, stop / rate_hz)])
