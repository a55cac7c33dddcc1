"""Two feet on one plate: each foot's part, against feet whose wrenches are known."""

from dataclasses import replace

import numpy as np
import pytest
from support.feet_on_plates import feet_on_plates
from support.walker import RATE_HZ, SMEAR_S, WEIGHT_N, Step, plate, walk, wrench_about_origin

from biodyn.processing.contacts.settings import ContactSettings
from biodyn.processing.contacts.shared_plate_loads import Sole, share_double_support
from biodyn.processing.signals.filtering import butterworth_lowpass

HZ, LENGTH_M, KG = 1000.0, 0.26, WEIGHT_N / 9.80665


def feet(n=700, side="r", step_m=0.65, width_m=0.1, seed=0):
    """A double support from 0.3 to 0.42 s with pressure points off the usual: soles, and each foot's true wrench (n, 6)."""
    rng = np.random.default_rng(seed)
    time = np.arange(n) / HZ
    sense = 1.0 if side == "r" else -1.0
    flat = np.zeros(n)
    rear_heel = np.column_stack([flat, flat, flat + sense * width_m])
    lead_heel = np.column_stack([flat + step_m, flat, flat])
    ahead = np.array([LENGTH_M, 0.0, 0.0])
    soles = Sole(rear_heel, rear_heel + ahead, LENGTH_M), Sole(lead_heel, lead_heel + ahead, LENGTH_M)
    progress = np.clip((time - 0.3) / 0.12, 0.0, 1.0)
    share = progress**2 * (3.0 - 2.0 * progress)
    vertical = WEIGHT_N * (1.0 + 0.1 * np.sin(20.0 * time))
    ends = 0.72 + rng.uniform(-0.05, 0.05), 0.30 + rng.uniform(-0.05, 0.05)
    p_rear = rear_heel + ahead * (ends[0] - 0.05 + 0.05 * np.minimum(time / 0.3, 1.0) + 0.06 * progress)[:, None]
    p_lead = lead_heel + ahead * (0.06 + (ends[1] - 0.06) * progress + 0.3 * np.maximum(time - 0.42, 0.0))[:, None]
    force = [
        np.column_stack([0.18 * (1.0 + 0.8 * progress), np.ones(n), 0.05 * sense * progress])
        * ((1.0 - share) * vertical)[:, None],
        np.column_stack([-0.16 + 0.0 * progress, np.ones(n), -0.05 * sense * (1.0 - progress)])
        * (share * vertical)[:, None],
    ]
    wrenches = [wrench_about_origin(p, f) for p, f in zip((p_rear, p_lead), force, strict=True)]
    return soles, wrenches


@pytest.mark.parametrize("side", ["r", "l"])
@pytest.mark.parametrize("seed", range(4))
def test_each_foot_gets_its_part(side, seed):
    (rear, lead), (of_rear, of_lead) = feet(side=side, seed=seed)
    noise = np.random.default_rng(seed).normal(size=of_rear.shape) * [0.3, 0.3, 0.3, 3.0, 3.0, 3.0]
    passing = share_double_support(of_rear + of_lead + noise, HZ, rear, lead, 0.0, 360, rear_is_right=side == "r")
    assert passing is not None
    assert abs(passing.first - 300) < 25
    assert abs(passing.stop - 420) < 25
    inside = slice(290, 430)
    error = butterworth_lowpass(passing.lead - of_lead, HZ, 20.0)[inside, 3:]
    assert np.sqrt((error**2).sum(axis=1).mean()) < 0.4 * KG
    sd = np.sqrt((passing.sd**2).sum(axis=0))[inside, 4]
    middle = sd > 0.5 * sd.max()
    assert np.mean(np.abs(error[middle, 1]) < 2.0 * sd[middle]) > 0.9
    # Before and after, one foot carries everything.
    np.testing.assert_array_equal(passing.lead[: passing.first], 0.0)


@pytest.mark.parametrize("reason", ["no lever", "beside", "a jump", "standing"])
def test_what_the_centre_of_pressure_does_not_tell_stays_unknown(reason):
    (rear, lead), (of_rear, of_lead) = feet()
    total = of_rear + of_lead
    if reason == "no lever":
        (rear, lead), (of_rear, of_lead) = feet(step_m=0.02, width_m=0.12)
        total = of_rear + of_lead
    elif reason == "beside":  # somebody else leans on the plate, too
        total = total + wrench_about_origin(np.tile([0.4, 0.0, 0.9], (700, 1)), np.tile([0.0, 250.0, 0.0], (700, 1)))
    elif reason == "a jump":
        total[340:380] = 0.0
    else:
        total = of_rear
    assert share_double_support(total, HZ, rear, lead, 0.0, 360, rear_is_right=True) is None


def test_both_feet_on_one_plate_are_measured_all_through():
    steps = [
        Step("r", 0.5, 1.25, (0.3, 0.0, 0.05)),
        Step("l", 1.1, 1.85, (0.95, 0.0, -0.05)),
        Step("r", 1.75, 2.4, (1.6, 0, 0.05)),
    ]
    scene = walk(steps, [plate(0.1, 1.4, -0.3, 0.3)], 2.6)
    whole = replace(scene.plates[0], raw=scene.raw[0], cutoff_hz=6.0)
    contacts, reaction = feet_on_plates([whole], scene.outlines, RATE_HZ, ContactSettings(), smear_s=SMEAR_S)
    assert [(c.side, c.decision) for c in contacts] == [("r", "assigned"), ("l", "assigned")]
    assert contacts[0].end_s > contacts[1].start_s
    assert all("together with the other" in c.reason for c in contacts)
    both = slice(105, 130)
    assert reaction.measured["r"][both].all()
    assert reaction.measured["l"][both].all()
    total = reaction.wrench["r"] + reaction.wrench["l"]
    np.testing.assert_allclose(total[both], whole.wrench[both], atol=1e-3 * WEIGHT_N)
    assert {load.side for load in reaction.shared} == {"r", "l"}
    # The walker's feet keep no usual pressure points (both ends of the sole at once): the error is that of a step of it.
    error = (reaction.wrench["l"] - scene.truth["l"])[both, 4]
    assert np.sqrt(np.mean(error**2)) < 1.5 * KG


def test_without_the_plate_s_own_samples_double_support_is_ambiguous():
    steps = [
        Step("r", 0.5, 1.25, (0.3, 0.0, 0.05)),
        Step("l", 1.1, 1.85, (0.95, 0.0, -0.05)),
        Step("r", 1.75, 2.4, (1.6, 0, 0.05)),
    ]
    scene = walk(steps, [plate(0.1, 1.4, -0.3, 0.3)], 2.6)
    contacts, _ = feet_on_plates(scene.plates, scene.outlines, RATE_HZ, ContactSettings(), smear_s=SMEAR_S)
    assert [c.decision for c in contacts] == ["assigned", "ambiguous", "assigned"]
