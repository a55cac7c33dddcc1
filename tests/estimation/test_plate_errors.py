"""Errors of force plates: their effect on the balance; gross ones are suggested and reported, but the plates stay in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from biodyn.analysis import TrialAnalysis
from biodyn.checks.estimators.synchronisation import TIME_OFFSET_S
from biodyn.errors import EstimateError
from biodyn.estimation.estimate import Estimate, estimate_trial
from biodyn.estimation.settings import EstimationSettings
from biodyn.estimation.shared_parameters import InformationForm
from biodyn.estimation.summary import estimate_findings
from biodyn.estimation.unknown_parameters import PlateUnknowns, plate_unknowns
from biodyn.recording import Contact, GroundReaction
from biodyn.trial.run import analyse_trial
from biodyn.uncertainty.propagation_inputs import load_magnitudes

WALK = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"
RATE_HZ = 100.0
LATE_S = TIME_OFFSET_S
TURNED = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])  # World from a laboratory whose z is up


@pytest.fixture(scope="module")
def walk() -> TrialAnalysis:
    """A walk on two plates, as it was fitted."""
    return analyse_trial(WALK, settings={"signals": {"method": "butterworth"}}, torques_only=True)


def estimated(walk: TrialAnalysis, reaction: GroundReaction, others: tuple[InformationForm, ...] = ()) -> Estimate:
    assert walk.propagation is not None
    chosen = EstimationSettings()  # type: ignore[call-arg]
    return estimate_trial(walk.propagation, reaction, 6.0, chosen, load_magnitudes(), R_WL=TURNED, others=others)


def fit_unknowns(walk: TrialAnalysis) -> PlateUnknowns:
    assert walk.propagation is not None
    centres = {plate.number: plate.corners.mean(axis=0) for plate in walk.propagation.signals.raw_plates}
    return plate_unknowns(walk.contacts, tuple(walk.reaction.wrench), len(walk.time_s), RATE_HZ, TURNED, centres)


def with_errors(walk: TrialAnalysis, planted: Mapping[int, float]) -> GroundReaction:
    """The walk's reaction as plates with errors would have given it: `planted` values by the place of the unknown."""
    unknowns, reaction = fit_unknowns(walk), walk.reaction
    values = np.zeros(unknowns.count)
    for at, value in planted.items():
        values[at] = value / unknowns.prior_sd[at]
    sides = tuple(reaction.wrench)
    whole = np.stack([reaction.wrench[side] for side in sides], axis=1)
    wrong = np.where(np.isnan(whole), np.nan, unknowns.remove_errors(np.nan_to_num(whole), -values))
    return replace(reaction, wrench={side: wrong[:, k] for k, side in enumerate(sides)})


def test_unknowns_are_what_they_are_called(walk: TrialAnalysis) -> None:
    """A shift moves the pressure, a gain scales, a delay is made up for; axes are those of the laboratory."""
    unknowns = fit_unknowns(walk)
    frames, feet = len(walk.time_s), 2
    assert unknowns.axes == ("x", "y")
    np.testing.assert_allclose(unknowns.axes_W, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    time_s = np.arange(frames) / RATE_HZ
    wrench = np.zeros((frames, feet, 6))
    wrench[..., 4] = 700.0 + 100.0 * time_s[:, None]
    values = np.zeros(unknowns.count)
    # the first plate 10 mm along x, reads 3 % too much; forces 4 ms late
    values[0], values[2], values[-1] = 2.0, 3.0, 0.8
    right = unknowns.remove_errors(wrench, values)
    on_first = unknowns.plate_of_foot == 0
    assert on_first.any()
    force = np.where(on_first, 0.97, 1.0) * wrench[..., 4] + 100.0 * 0.004
    np.testing.assert_allclose(right[..., 4], force, rtol=1e-9)
    moment = np.where(on_first, -0.01 * wrench[..., 4], 0.0)  # z x force up = - force about World's x
    np.testing.assert_allclose(right[..., 0], moment, atol=1e-9)


def test_a_turned_plate_gives_forces_that_are_turned_about_its_centre(walk: TrialAnalysis) -> None:
    unknowns = fit_unknowns(walk)
    point = unknowns.centres_W[0] + np.array([0.1, 0.0, 0.0])  # the force acts 10 cm in front of the centre
    force = np.array([20.0, 700.0, 0.0])
    wrench = np.broadcast_to(np.concatenate([np.cross(point, force), force]), (len(walk.time_s), 2, 6))
    values = np.zeros(unknowns.count)
    values[3] = np.radians(1.0) / unknowns.prior_sd[3]
    right = unknowns.remove_errors(wrench, values)[unknowns.plate_of_foot == 0][0]
    turn = Rotation.from_rotvec([0.0, np.radians(1.0), 0.0])
    true_force, true_point = turn.apply(force), unknowns.centres_W[0] + turn.apply([0.1, 0.0, 0.0])
    np.testing.assert_allclose(right[3:], true_force, atol=0.01)  # to first order
    np.testing.assert_allclose(right[:3], np.cross(true_point, true_force), atol=0.05)


AT_ORIGIN = {1: np.zeros(3), 2: np.zeros(3)}


def test_a_foot_on_two_plates_at_once_belongs_to_none() -> None:
    contacts = [
        Contact(number, start, end, "r", "assigned", "") for number, start, end in ((1, 0.2, 0.6), (2, 0.5, 0.9))
    ]
    carried = plate_unknowns(contacts, ("r", "l"), 100, 100.0, np.eye(3), AT_ORIGIN).plate_of_foot
    assert (carried[:49, 0] == 0).all()
    assert (carried[51:60, 0] == -1).all()
    assert (carried[62:, 0] == 1).all()
    assert (carried[:, 1] == -1).all()


def test_a_delay_makes_no_force_where_it_ceases_to_be_known() -> None:
    """A steady load is the same some milliseconds earlier, whatever is unknown beside it."""
    contacts = [Contact(1, 0.1, 0.9, "r", "assigned", "")]
    known = np.ones((100, 1), dtype=bool)
    known[30:60] = known[70] = known[72] = False
    unknowns = plate_unknowns(contacts, ("r",), 100, RATE_HZ, np.eye(3), AT_ORIGIN, known)
    load = np.where(known[..., None], [0.0, 0.0, 0.0, 0.0, 700.0, 0.0], 0.0)
    late = np.zeros(unknowns.count)
    late[-1] = 1.0
    np.testing.assert_array_equal(unknowns.remove_errors(load, late)[known], load[known])


@pytest.fixture(scope="module")
def sound(walk: TrialAnalysis) -> Estimate:
    """The walk as it was recorded."""
    return estimated(walk, walk.reaction)


@pytest.mark.parametrize(
    ("place", "planted", "code"), [(0, 0.03, "estimate-plate-place"), (2, 0.08, "estimate-plate-gain")]
)
def test_a_gross_error_is_suggested_and_reported_but_not_corrected(
    walk: TrialAnalysis, sound: Estimate, place: int, planted: float, code: str
) -> None:
    wrong = with_errors(walk, {place: planted})

    def suggested(estimate: Estimate) -> float:
        plate = estimate.summary.plates.errors[0]
        return plate.gain if place == 2 else float(plate.shift_m[0])

    found = estimated(walk, wrong)
    assert 0.8 * planted < suggested(found) - suggested(sound) < 1.1 * planted
    plate = found.summary.plates.errors[0]
    assert (plate.corrected_gain, plate.corrected_turn_rad, *plate.corrected_m) == (0.0, 0.0, 0.0, 0.0)
    for side in wrong.wrench:
        np.testing.assert_array_equal(found.reaction.wrench[side], wrong.wrench[side])
    (note,) = [note for note in estimate_findings(found.summary, LATE_S) if note.code == code]
    assert note.about == "plate 1"
    assert note.value == pytest.approx(suggested(found) * (100.0 if place == 2 else 1.0))
    assert code not in [note.code for note in estimate_findings(sound.summary, LATE_S)]


@pytest.mark.slow
def test_plates_that_are_all_offset_alike_are_reported_once(walk: TrialAnalysis) -> None:
    """A lean of the trunk, or axes of cameras and plates that do not agree, look like an offset of all plates."""
    places = range(1, fit_unknowns(walk).count - 1, 4)  # along the walkway
    found = estimated(walk, with_errors(walk, dict.fromkeys(places, 0.06)))
    notes = [note for note in estimate_findings(found.summary, LATE_S) if note.code == "estimate-plate-place"]
    assert [note.about for note in notes] == ["all plates"]
    assert "lean of the trunk" not in notes[0].hint
    torso = estimate_findings(found.summary, LATE_S, assumed={"torso"})
    assert any("lean of the trunk" in note.hint for note in torso)


@pytest.mark.slow
def test_late_forces_are_reported_and_used_as_recorded(walk: TrialAnalysis, sound: Estimate) -> None:
    planted = 0.02
    wrong = with_errors(walk, {fit_unknowns(walk).count - 1: planted})
    found = estimated(walk, wrong)
    (note,) = [n for n in estimate_findings(found.summary, LATE_S) if n.code == "estimate-force-delay"]
    assert note.value == pytest.approx(found.summary.plates.delay_s)
    assert "Soft tissue" in note.hint
    assert found.summary.plates.delay_s - sound.summary.plates.delay_s == pytest.approx(planted, rel=0.2)
    for side in wrong.wrench:
        np.testing.assert_array_equal(found.reaction.wrench[side], wrong.wrench[side])
    assert "estimate-force-delay" not in [n.code for n in estimate_findings(sound.summary, LATE_S)]


def test_what_every_plate_reads_alike_is_a_wrong_body_mass(walk: TrialAnalysis) -> None:
    """That each of several plates is grossly wrong by the same share is less likely than that one mass is."""
    gains = range(2, fit_unknowns(walk).count - 1, 4)
    found = estimated(walk, with_errors(walk, dict.fromkeys(gains, 0.1)))
    assert walk.propagation is not None
    assert 0.085 < found.summary.mass_change_kg / walk.propagation.model.mass_kg < 0.11
    assert all(abs(error.gain) < 0.02 for error in found.summary.plates.errors)
    codes = {note.code for note in estimate_findings(found.summary, LATE_S)}
    assert "estimate-mass" in codes
    assert "estimate-plate-gain" not in codes


@pytest.mark.slow
def test_a_force_that_no_plate_measured_does_not_make_the_body_lighter(walk: TrialAnalysis) -> None:
    """A handrail that bears a fifth of the weight now and then: no scale of body and plates together explains it.

    A body of half the mass on plates that read twice too much would leave half of what is out of balance.
    """
    borne = 1.0 - 0.2 * np.maximum(np.sin(2.0 * np.pi * 0.9 * walk.time_s), 0.0)
    reaction = replace(walk.reaction, wrench={s: borne[:, None] * w for s, w in walk.reaction.wrench.items()})
    with pytest.raises(EstimateError, match=r"disagree by \d+ N even with the body mass changed by -\d\.\d kg"):
        estimated(walk, reaction)  # the rail bears 6 % of 76 kg on average
    plates = estimated(walk, half_as_much(walk.reaction, reaction)).summary.plates
    assert all(abs(error.gain) < 0.05 for error in plates.errors)


def half_as_much(one: GroundReaction, other: GroundReaction) -> GroundReaction:
    return replace(one, wrench={side: (one.wrench[side] + other.wrench[side]) / 2.0 for side in one.wrench})


@pytest.mark.parametrize(
    ("gain", "said"), [(1.0, r"the gain of plate \d is \d+ % too high"), (-0.6, "the body mass is")]
)
def test_what_no_plate_and_no_scale_can_be_is_refused(walk: TrialAnalysis, gain: float, said: str) -> None:
    """One of three plates that reads twice too much; all that read 40 % of what they should."""
    gains = range(2, fit_unknowns(walk).count - 1, 4)
    planted = {2: gain} if gain > 0 else dict.fromkeys(gains, gain)
    with pytest.raises(EstimateError, match=said) as raised:
        estimated(walk, with_errors(walk, planted))
    assert "an unmeasured force" in str(raised.value.hint)


@pytest.mark.parametrize("both_ways", [True, False])
def test_an_error_that_walks_of_both_directions_show_is_corrected(walk: TrialAnalysis, both_ways: bool) -> None:
    wrong = with_errors(walk, {0: 0.03})
    alone = estimated(walk, wrong)
    one_way = alone.shared_parameters
    assert one_way is not None
    other_way = replace(one_way, heading=-one_way.heading if both_ways else one_way.heading)
    again = estimated(walk, wrong, others=(one_way, other_way, other_way))
    first, all_walks = (found.summary.plates.errors[0] for found in (alone, again))
    assert again.summary.walks == 4
    assert all_walks.shift_sd_m[0] < 0.9 * first.shift_sd_m[0]
    if both_ways:
        assert all_walks.corrected_m[0] == pytest.approx(all_walks.shift_m[0], rel=0.05)
    else:
        assert all_walks.corrected_m[0] == 0.0
