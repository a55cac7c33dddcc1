"""Whose foot loads which plate: a walker with known steps over plates laid in every awkward way."""

from dataclasses import replace

import numpy as np
import pytest
from support.feet_on_plates import feet_on_plates
from support.walker import ANALOG_HZ, RATE_HZ, SMEAR_S, WEIGHT_N, Step, level_steps, plate, walk, wrench_about_origin

from biodyn.geometry.points import signed_distance
from biodyn.processing.contacts.foot_motion import floor_velocity, foot_outline
from biodyn.processing.contacts.ground_reaction import contact_diagnostics
from biodyn.processing.contacts.plate_loads import centre_of_pressure, find_loads, missed_times
from biodyn.processing.contacts.settings import ContactSettings

# Steps of level_steps(): heels at x = 0, 0.65, 1.3, 1.95, 2.6, 3.25; strikes at 0, 0.5, 1.0 ... s, 0.62 s each.
LEFT_PLATE = plate(0.5, 1.1, -0.3, 0.3)
RIGHT_PLATE = plate(1.15, 1.75, -0.3, 0.3)


def decide(scene, mass_kg=None, strikes_s=None, **changes):
    settings = ContactSettings(**changes)
    return feet_on_plates(
        scene.plates, scene.outlines, RATE_HZ, settings, smear_s=SMEAR_S, mass_kg=mass_kg, strikes_s=strikes_s
    )


def decisions(contacts):
    return [(contact.plate, contact.side, contact.decision) for contact in contacts]


def frames(first_s, last_s):
    return slice(round(first_s * RATE_HZ), round(last_s * RATE_HZ))


def test_one_foot_on_each_plate():
    scene = walk(level_steps(), [LEFT_PLATE, RIGHT_PLATE], 3.2)
    contacts, reaction = decide(scene, mass_kg=WEIGHT_N / 9.80665)
    assert decisions(contacts) == [(1, "l", "assigned"), (2, "r", "assigned")]
    left = contacts[0]
    # The force crosses 20 N within 1 ms of the step's own start and end (square root of a sine).
    assert left.start_s == pytest.approx(0.5, abs=1e-3)
    assert left.end_s == pytest.approx(1.12, abs=1e-3)
    assert left.evidence["cop_distance_95_m"] == 0.0
    assert left.evidence["share_inside"] == 1.0
    assert left.evidence["rival_cop_distance_median_m"] > 0.2
    assert 0.8 < left.evidence["peak_bw"] < 1.1
    # The wrench of a foot is the truth wherever it is said to be measured: also in the filter's skirts.
    for side in "rl":
        known = reaction.balanced_frames(side)
        assert known.any()
        # What is left is the ringing of the filtered floor steps: below 1 % of the weight, at arms below 3 m.
        error = np.abs(reaction.wrench[side][known] - scene.truth[side][known])
        assert error[:, 3:].max() < 0.01 * WEIGHT_N
        assert error[:, :3].max() < 0.03 * WEIGHT_N
        assert np.isnan(reaction.wrench[side][~reaction.measured[side]]).all()
    assert reaction.measured["l"][frames(0.5, 1.12)].all()
    assert reaction.measured["r"][frames(1.0, 1.62)].all()
    # The right foot's steps at 0 s and 2 s are on the floor.
    assert not reaction.measured["r"][frames(0.05, 0.6)].any()
    assert not reaction.measured["r"][frames(2.0, 2.6)].any()
    assert reaction.reason["r"][30] == "right foot on the floor outside the plates"
    # Mid-swing is known to be zero.
    assert reaction.measured["r"][frames(0.78, 0.85)].all()
    np.testing.assert_array_equal(reaction.wrench["l"][frames(0.1, 0.2)], 0.0)


def test_a_swing_is_known_up_to_a_strike_that_no_plate_sees():
    scene = walk(level_steps(), [LEFT_PLATE, RIGHT_PLATE], 3.2, noise_n=0.5)
    # The right foot strikes the floor at 2.0 s. Its sole comes to rest two frames before, and the gait tells the strike.
    _, by_sole = decide(scene)
    _, reaction = decide(scene, strikes_s={"r": np.array([0.0, 1.0, 2.0])})
    for found, strike in ((by_sole, 199), (reaction, 200)):
        # The swing before is known, the last 0.02 s may be the strike already.
        assert found.measured["r"][frames(1.75, 1.95)].all()
        texts = found.reason["r"]
        assert texts[strike - 1] == "right foot within 0.02 s of an unmeasured strike"
        assert texts[strike] == "right foot on the floor outside the plates"
        assert found.on_floor["r"][strike]
        assert not found.on_floor["r"][strike - 1]
    # What the filter spreads ahead of the strike is expected from the measured strikes, and that is better than nothing.
    near = reaction.near_unmeasured["r"] & (np.arange(len(scene.truth["r"])) > 175)
    near &= np.arange(len(near)) < 200
    assert near.any()
    true, found = scene.truth["r"][near, 4], reaction.wrench["r"][near, 4]
    assert np.abs(true).max() > 0.01 * WEIGHT_N
    # 10 %: forces pass 20 N, where a strike counts, 0.4 ms after it, and move by a tenth in 1.6 ms.
    assert np.linalg.norm(found - true) < 0.1 * np.linalg.norm(true)
    # Its error is told: strikes differ, and the strike's time is not known better.
    sd = np.sqrt(np.sum(reaction.expected_sd["r"][:, near, 4] ** 2, axis=0))
    assert np.mean(np.abs(found - true) <= 2.0 * sd + 1.0) > 0.9
    assert not (reaction.balanced_frames("r") & near).any()


def test_no_wrench_is_lost_or_doubled_where_everything_is_assigned():
    steps = [
        Step("l", 0.5, 1.12, (0.65, 0, -0.05)),
        Step("r", 1.0, 1.62, (1.3, 0, 0.05)),
        Step("l", 1.7, 2.3, (1.95, 0, -0.05)),
    ]
    floor = [LEFT_PLATE, RIGHT_PLATE, plate(1.8, 2.4, -0.3, 0.3)]
    scene = walk(steps, floor, 3.0)
    contacts, reaction = decide(scene)
    assert all(contact.decision == "assigned" for contact in contacts)
    both = reaction.measured["r"] & reaction.measured["l"]
    assert both.all()
    total = sum(one.wrench for one in scene.plates)
    feet = reaction.wrench["r"] + reaction.wrench["l"]
    # What is left out has fallen below a thousandth of the load's peak (0.7 N, arm about 2 m).
    np.testing.assert_allclose(feet[:, 3:], total[:, 3:], atol=1e-3 * WEIGHT_N)
    np.testing.assert_allclose(feet[:, :3], total[:, :3], atol=2.5e-3 * WEIGHT_N)


def test_two_successive_steps_on_one_plate_share_its_skirts_half_way():
    steps = [
        Step("r", 0.5, 1.0, (0.6, 0, 0.05)),
        Step("l", 1.15, 1.7, (0.7, 0, -0.05)),
        Step("r", 2.2, 2.6, (2.0, 0, 0.05)),
    ]
    scene = walk(steps, [LEFT_PLATE], 2.1)
    contacts, reaction = decide(scene)
    assert decisions(contacts) == [(1, "r", "assigned"), (1, "l", "assigned")]
    total = np.nan_to_num(reaction.wrench["r"]) + np.nan_to_num(reaction.wrench["l"])
    overlap = frames(0.5, 1.7)
    np.testing.assert_allclose(total[overlap], scene.plates[0].wrench[overlap], atol=1e-9)


def test_one_foot_across_two_plates_adds_both():
    # The left foot spans x 0.65..0.91, the seam lies at 0.8 with a gap of 1 cm.
    plates = [plate(0.4, 0.795, -0.3, 0.3), plate(0.805, 1.2, -0.3, 0.3)]
    scene = walk(level_steps(3), plates, 2.0)
    contacts, reaction = decide(scene)
    assert decisions(contacts) == [(1, "l", "assigned"), (2, "l", "assigned")]
    stance = frames(0.5, 1.12)
    assert reaction.measured["l"][stance].all()
    np.testing.assert_allclose(reaction.wrench["l"][stance], scene.truth["l"][stance], atol=1.0)
    # The summed centre of pressure runs over the seam, heel (10 %) to toe (90 %).
    x = reaction.centre_of_pressure["l"][frames(0.6, 1.0), 0]
    assert x[0] < 0.75 < 0.84 < x[-1]
    assert np.all(np.diff(x) > 0)


def test_a_foot_partly_on_the_floor_is_not_measured():
    scene = walk(level_steps(3), [plate(0.4, 0.8, -0.3, 0.3)], 2.0)  # heel on the plate, toes beyond its edge
    contacts, reaction = decide(scene)
    assert decisions(contacts) == [(1, "l", "rejected")]
    assert contacts[0].evidence["overhang_m"] == pytest.approx(0.11, abs=0.002)
    assert "11.1 cm beyond the plate" in contacts[0].reason
    assert not reaction.measured["l"][frames(0.5, 1.12)].any()
    assert "plate 1" in reaction.reason["l"][80]


@pytest.mark.parametrize(
    ("corners", "decision"),
    [
        (plate(0.6, 0.9, -0.3, 0.3), "assigned"),  # the toes 1 cm over the edge: the outline is not known better
        (plate(0.6, 0.885, -0.3, 0.3), "rejected"),  # 2.5 cm
        (plate(0.5, 1.1, -0.085, 0.3), "assigned"),  # the outer edge, 1 cm
        (plate(0.5, 1.1, -0.07, 0.3), "rejected"),  # 2.5 cm, although the centre of pressure stays 2 cm inside
    ],
)
def test_overhang_counts_beyond_the_error_of_the_outline(corners, decision):
    contacts, _ = decide(walk(level_steps(3), [corners], 2.0))
    assert decisions(contacts) == [(1, "l", decision)]


def test_two_feet_on_one_plate_are_known_while_one_is_alone():
    scene = walk(level_steps(4), [plate(0.5, 1.75, -0.3, 0.3)], 2.6)  # holds the left step at 0.65 and the right at 1.3
    contacts, reaction = decide(scene)
    assert decisions(contacts) == [(1, "l", "assigned"), (1, None, "ambiguous"), (1, "r", "assigned")]
    ambiguous = contacts[1]
    # Double support is 1.0..1.12 s; the filter mixes half a cut-off period more on both sides.
    assert ambiguous.start_s < 1.0 - SMEAR_S + 0.03
    assert ambiguous.end_s > 1.12 + SMEAR_S - 0.03
    assert ambiguous.end_s - ambiguous.start_s < 0.12 + 2 * SMEAR_S + 0.1
    assert not reaction.measured["l"][frames(1.0, 1.12)].any()
    assert not reaction.measured["r"][frames(1.0, 1.12)].any()
    for side, alone in (("l", frames(0.5, 0.88)), ("r", frames(1.25, 1.62))):
        assert reaction.measured[side][alone].all()
        # 2 % of body weight: what the other foot's filtered edge leaves beyond the ambiguous stretch.
        np.testing.assert_allclose(reaction.wrench[side][alone, 4], scene.truth[side][alone, 4], atol=0.02 * WEIGHT_N)


def test_stairs_need_no_floor_height():
    tread = [0.0, 0.17, 0.34, 0.51]
    steps = [
        Step("rl"[n % 2], 0.6 * n, 0.6 * n + 0.75, (0.3 * n, tread[n], 0.06 if n % 2 == 0 else -0.06)) for n in range(4)
    ]
    # Plates are the treads 1 and 2; the left foot's toes hang over the edge of its tread by 3 cm.
    plates = [plate(0.27, 0.53, -0.3, 0.3, tread[1]), plate(0.57, 0.9, -0.3, 0.3, tread[2])]
    scene = walk(steps, plates, 2.6)
    contacts, reaction = decide(scene)
    assert decisions(contacts) == [(1, "l", "assigned"), (2, "r", "assigned")]
    assert reaction.measured["l"][frames(0.6, 1.35)].all()
    assert reaction.measured["r"][frames(1.2, 1.95)].all()
    assert not reaction.measured["l"][frames(1.85, 2.5)].any()  # on the uninstrumented top step
    assert reaction.on_floor["l"][frames(1.85, 2.5)].all()
    assert np.nanmedian(reaction.centre_of_pressure["r"][:, 1]) == pytest.approx(tread[2], abs=1e-9)


def test_on_a_treadmill_each_foot_has_its_belt():
    belts = [plate(-1.0, 2.0, -0.6, 0.0), plate(-1.0, 2.0, 0.0, 0.6)]
    steps = level_steps(8)
    scene = walk(steps, belts, 4.6, belt_m_s=1.3)
    np.testing.assert_allclose(floor_velocity(scene.outlines["r"], RATE_HZ), [-1.3, 0.0, 0.0], atol=0.02)
    contacts, reaction = decide(scene)
    assert decisions(contacts) == [(1 + (step.side == "r"), step.side, "assigned") for step in steps]
    inside = frames(0.7, 3.9)  # away from the flights of the scene's first and last steps
    for side in "rl":
        assert reaction.measured[side][inside].all()
        np.testing.assert_allclose(reaction.wrench[side][inside], scene.truth[side][inside], atol=1e-2 * WEIGHT_N)


def test_a_foot_across_the_belts_of_a_treadmill_is_ambiguous():
    belts = [plate(-1.0, 2.0, -0.6, 0.0), plate(-1.0, 2.0, 0.0, 0.6)]
    steps = level_steps(8)
    steps[4] = Step("r", steps[4].strike_s, steps[4].off_s, (2.6, 0.0, -0.1))  # a right step on the left belt
    contacts, reaction = decide(walk(steps, belts, 4.6, belt_m_s=1.3))
    assert (1, None, "ambiguous") in decisions(contacts)
    both = frames(2.02, 2.1)
    assert not reaction.measured["r"][both].any()
    assert not reaction.measured["l"][both].any()


def test_a_load_without_a_foot_is_rejected_and_leaves_the_feet_alone():
    steps = level_steps(4)
    clean = walk(steps, [RIGHT_PLATE, plate(3.0, 3.5, 1.0, 1.5)], 2.6)
    t = np.arange(len(clean.plates[0].vertical_force)) / ANALOG_HZ
    push = np.where((t > 0.8) & (t < 1.3), 150.0 * np.sin(np.pi * (t - 0.8) / 0.5), 0.0)
    knock = np.where((t > 2.0) & (t < 2.05), 300.0, 0.0)
    force = np.outer(push + knock, [0.0, 1.0, 0.0])
    scene = walk(
        steps, [RIGHT_PLATE, plate(3.0, 3.5, 1.0, 1.5)], 2.6, {1: wrench_about_origin(np.array([3.2, 0, 1.2]), force)}
    )
    contacts, reaction = decide(scene)
    assert decisions(contacts) == [(2, None, "rejected"), (1, "r", "assigned"), (2, None, "rejected")]
    assert contacts[0].reason == "no foot is above the plate, which measures 104 N"  # mean of a half sine above 20 N
    assert "the load lasts only 0.05 s" in contacts[2].reason
    _, expected = decide(clean)
    for side in "rl":
        np.testing.assert_array_equal(reaction.wrench[side], expected.wrench[side])


def test_a_foot_that_is_not_seen_is_not_measured():
    scene = walk(level_steps(4), [RIGHT_PLATE], 2.6)
    scene.outlines["r"][:] = np.nan
    contacts, reaction = decide(scene)
    assert decisions(contacts) == [(1, None, "rejected")]
    assert "right foot is not visible" in contacts[0].reason
    assert not reaction.measured["r"].any()
    assert "right foot not visible" in reaction.reason["r"][0]
    assert reaction.measured["l"][frames(0.2, 0.35)].all()


def test_noise_of_plates_and_markers_changes_no_decision():
    scene = walk(level_steps(), [LEFT_PLATE, RIGHT_PLATE], 3.2, noise_n=3.0)
    generator = np.random.default_rng(5)
    for side in "rl":
        scene.outlines[side] += 0.003 * generator.normal(size=(1, 1, 3)) + 0.0005 * generator.normal(
            size=scene.outlines[side].shape
        )
    contacts, reaction = decide(scene)
    assert decisions(contacts) == [(1, "l", "assigned"), (2, "r", "assigned")]
    assert reaction.measured["l"][frames(0.5, 1.12)].all()
    assert not reaction.measured["l"][frames(1.55, 2.1)].any()


def test_a_plate_that_shows_nothing_under_a_foot_is_said():
    scene = walk(level_steps(4), [RIGHT_PLATE], 2.6)
    dead = [type(p)(p.number, p.corners_W, 0 * p.wrench, 0 * p.vertical_force, p.analog_rate_hz) for p in scene.plates]
    contacts, reaction = feet_on_plates(dead, scene.outlines, RATE_HZ, ContactSettings(), smear_s=SMEAR_S)
    assert contacts == ()
    assert "right foot on plate 1, which measured no force" in reaction.reason["r"][130]


def test_no_plates_at_all():
    scene = walk(level_steps(4), [], 2.6)
    contacts, reaction = decide(scene)
    assert contacts == ()
    assert not reaction.measured["r"][frames(1.0, 1.6)].any()
    assert reaction.measured["r"][frames(0.78, 0.82)].all()


def test_threshold_crossings_are_sub_sample_and_dips_are_bridged():
    force = np.zeros(1000)
    force[100:400] = np.interp(np.arange(300), [0, 10, 290, 299], [0, 500, 500, 0])
    force[250:260] = 5.0
    ((start, end),) = find_loads(force, 1000.0, 20.0)
    assert start == pytest.approx((100 + 20 / 50) / 1000, abs=1e-12)
    assert end == pytest.approx((399 - 20 * 9 / 500) / 1000, abs=1e-12)
    assert find_loads(np.full(50, 100.0), 1000.0, 20.0) == [(0.0, 0.049)]


def test_centre_of_pressure_on_a_tilted_plate():
    corners = plate(0.0, 0.6, 0.0, 0.4) + np.array([0, 1.0, 0]) * np.array([[0.06], [0.0], [0.0], [0.06]])
    point = np.array([0.2, 0.02, 0.1])  # on the plane y = 0.1 x
    normal = np.array([-0.1, 1.0, 0.0]) / np.hypot(0.1, 1.0)
    force = np.array([[-30.0, 400.0, 12.0]])
    wrench = wrench_about_origin(point, force)
    wrench[:, :3] += 7.0 * normal
    np.testing.assert_allclose(centre_of_pressure(wrench, corners, 20.0), point[None], atol=1e-12)
    assert np.isnan(centre_of_pressure(wrench, corners, 500.0)).all()


def test_signed_distance_to_a_polygon():
    square = plate(0, 1, 0, 1)
    points = np.array([[0.5, 9, 0.5], [0.5, 0, 0.9], [2.0, 0, 0.5], [-3.0, 0, -4.0], [np.nan, 0, 0]])
    np.testing.assert_allclose(signed_distance(points, square), [-0.5, -0.1, 1.0, 5.0, np.nan])


def test_stance_is_found_from_the_sole_alone():
    scene = walk(level_steps(), [], 3.2)
    sole = foot_outline(scene.outlines["r"], RATE_HZ)
    truth = np.zeros(len(scene.time_s), dtype=bool)
    for step in level_steps():
        if step.side == "r":
            truth |= (scene.time_s >= step.strike_s) & (scene.time_s <= step.off_s)
    wrong = np.flatnonzero(sole.bearing != truth)
    edges = np.array([0.62, 1.0, 1.62, 2.0, 2.62])
    # 60 ms: this walker's minimum-jerk swing starts and lands softer than a real foot.
    assert np.abs(wrong[:, None] / RATE_HZ - edges).min(axis=1).max() < 0.06


def test_a_force_that_the_software_cut_to_zero_is_noticed():
    t = np.arange(1000) / 1000.0
    whole = np.clip(2000.0 * np.minimum(t - 0.2, 0.8 - t), 0.0, 500.0)  # 20 N at 0.21 s and 0.79 s
    cut = np.where(whole < 50.0, 0.0, whole)
    ((start, end),) = find_loads(cut, 1000.0, 20.0)
    earlier, later = missed_times(cut, 1000.0, start, end, 20.0)
    # The straight edges are continued exactly, to one sample: the stored samples begin somewhere above 50 N.
    assert start - earlier == pytest.approx(0.21, abs=1.1e-3)
    assert end + later == pytest.approx(0.79, abs=1.1e-3)
    ((start, end),) = find_loads(whole, 1000.0, 20.0)
    assert missed_times(whole, 1000.0, start, end, 20.0) == (0.0, 0.0)


def test_what_was_not_assigned_and_what_was_cut_is_said():
    scene = walk(level_steps(3), [plate(0.4, 0.8, -0.3, 0.3)], 2.0, noise_n=0.5)
    contacts, _ = decide(scene)
    (note,) = contact_diagnostics(contacts, RATE_HZ)
    assert note.code == "contact-rejected"
    assert note.frames == (50, 108)
    assert "beyond the plate" in note.message

    clean = walk(level_steps(), [LEFT_PLATE, RIGHT_PLATE], 3.2, noise_n=0.5)
    assert contact_diagnostics(decide(clean)[0], RATE_HZ) == ()
    second = clean.plates[1]
    force = np.where(second.vertical_force < 200.0, 0.0, second.vertical_force)
    clean.plates[1] = type(second)(second.number, second.corners_W, second.wrench, force, second.analog_rate_hz)
    (note,) = contact_diagnostics(decide(clean)[0], RATE_HZ)
    assert (note.code, note.severity) == ("force-cut", "warning")
    assert "The force of plate 2 was stored as zero" in note.message


@pytest.mark.parametrize("seed", range(24))
def test_wherever_plates_and_feet_lie_what_counts_as_measured_is_the_truth(seed):
    """Random step lengths and times, plates of random size and place, some touching each other."""
    generator = np.random.default_rng(seed)
    step_m, step_s = generator.uniform(0.3, 0.8), generator.uniform(0.4, 0.8)
    stance_s, half_width_m = step_s * generator.uniform(1.1, 1.35), generator.uniform(0.02, 0.12)
    steps = []
    for n in range(6):
        x, z = n * step_m + 0.03 * generator.normal(), 0.02 * generator.normal()
        steps.append(Step("rl"[n % 2], n * step_s, n * step_s + stance_s, (x, 0, z + half_width_m * (1 - 2 * (n % 2)))))
    plates, x = [], generator.uniform(0, 1)
    for _ in range(generator.integers(1, 4)):
        length, width, z = generator.uniform(0.35, 1.3), generator.uniform(0.3, 0.7), generator.uniform(-0.15, 0.15)
        plates.append(plate(x, x + length, z - width / 2, z + width / 2))
        x += length + generator.choice([0.002, 0.002, 0.3])
    scene = walk(steps, plates, 6 * step_s + 0.3, noise_n=0.5)
    _, reaction = decide(scene)
    for side in "rl":
        known = reaction.balanced_frames(side)
        error = np.abs(reaction.wrench[side] - scene.truth[side])[known, 3:]
        # 3 % of weight: the ringing of unmeasured neighbours; a wrong decision costs 20 % and more.
        assert error.max(initial=0.0) < 0.03 * WEIGHT_N


def test_a_foot_on_a_step_above_a_plate_is_not_in_the_air():
    """Whether the plate below shows the load or nothing: the leg has no ground reaction, with the step or the load as reason."""
    steps = [Step("l", 0.5, 1.12, (0.65, 0.0, -0.05)), Step("r", 1.0, 1.62, (1.3, 0.0, 0.05))]
    scene = walk(steps, [LEFT_PLATE, RIGHT_PLATE], 2.2)
    outlines = {**scene.outlines, "r": scene.outlines["r"] + np.array([0.0, 0.18, 0.0])}
    below = scene.plates[1]
    silent = replace(below, wrench=0.0 * below.wrench, vertical_force=0.0 * below.vertical_force)
    rows = frames(1.15, 1.5)
    for second, settings in (
        (below, {}),
        (silent, {}),
        (below, {"override": ({"plate": 2, "from_s": 1.0, "side": "right"},)}),
    ):
        contacts, reaction = feet_on_plates(
            [scene.plates[0], second], outlines, RATE_HZ, ContactSettings(**settings), smear_s=SMEAR_S
        )
        known = reaction.measured["r"][rows]
        assert known.all() if settings else not known.any()
        if not settings:
            assert all(reaction.reason["r"][rows])
        sides = [contact.side for contact in contacts if contact.plate == 2]
        assert sides == (["r"] if settings else [None] if second is below else [])
