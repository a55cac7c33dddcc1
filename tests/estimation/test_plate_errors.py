"""Errors of force plates: what they do to the balance, that planted ones are found, told and taken out, and only those."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from biodyn.analysis import TrialAnalysis
from biodyn.checks.estimators.synchronisation import TIME_OFFSET_S
from biodyn.conventions import FloatArray
from biodyn.errors import EstimateError
from biodyn.estimation.estimate import Estimate, estimate_trial
from biodyn.estimation.parameters import PlateUnknowns, plate_unknowns
from biodyn.estimation.settings import EstimationSettings
from biodyn.estimation.shared_parameters import InformationForm
from biodyn.estimation.summary import estimate_findings
from biodyn.recording import Contact, GroundReaction
from biodyn.trial.run import analyse_trial
from biodyn.uncertainty.inputs import load_magnitudes

WALK = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"
RATE_HZ = 100.0
LATE_S = TIME_OFFSET_S
TURNED = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])  # World from a laboratory whose z is up


@pytest.fixture(scope="module")
def walk() -> TrialAnalysis:
    """A walk on two plates, as it was fitted."""
    return analyse_trial(WALK, settings={"signals": {"method": "butterworth"}}, torques_only=True)


def settings(**changed: float) -> EstimationSettings:
    return EstimationSettings(**changed)  # type: ignore[arg-type]


def estimated(
    walk: TrialAnalysis, reaction: GroundReaction, chosen: EstimationSettings, others: tuple[InformationForm, ...] = ()
) -> Estimate:
    assert walk.propagation is not None
    return estimate_trial(walk.propagation, reaction, 6.0, chosen, load_magnitudes(), R_WL=TURNED, others=others)


def fit_unknowns(walk: TrialAnalysis, chosen: EstimationSettings) -> PlateUnknowns:
    return plate_unknowns(walk.contacts, tuple(walk.reaction.wrench), len(walk.time_s), RATE_HZ, TURNED, chosen)


def with_errors(walk: TrialAnalysis, planted: Mapping[int, float]) -> GroundReaction:
    """The walk's reaction as plates with errors would have given it: `planted` values by the place of the unknown."""
    unknowns, reaction = fit_unknowns(walk, settings()), walk.reaction
    values = np.zeros(unknowns.count)
    for at, value in planted.items():
        values[at] = value / unknowns.scales[at]
    sides = tuple(reaction.wrench)
    whole = np.stack([reaction.wrench[side] for side in sides], axis=1)
    wrong = np.where(np.isnan(whole), np.nan, unknowns.corrected(np.nan_to_num(whole), -values))
    return replace(reaction, wrench={side: wrong[:, k] for k, side in enumerate(sides)})


def test_unknowns_are_what_they_are_called(walk: TrialAnalysis) -> None:
    """A shift moves the pressure, a gain scales, a delay is made up for; axes are those of the laboratory."""
    unknowns = fit_unknowns(walk, settings())
    frames, feet = len(walk.time_s), 2
    assert unknowns.axes == ("x", "y")
    np.testing.assert_allclose(unknowns.axes_W, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    time_s = np.arange(frames) / RATE_HZ
    wrench = np.zeros((frames, feet, 6))
    wrench[..., 4] = 700.0 + 100.0 * time_s[:, None]
    values = np.zeros(unknowns.count)
    values[0], values[2], values[-1] = (
        2.0,
        3.0,
        4.0,
    )  # the first plate 10 mm along x, reads 3 % too much; forces 4 ms late
    right = unknowns.corrected(wrench, values)
    on_first = unknowns.plate_of_foot == 0
    assert on_first.any()
    force = np.where(on_first, 0.97, 1.0) * wrench[..., 4] + 100.0 * 0.004
    np.testing.assert_allclose(right[..., 4], force, rtol=1e-9)
    moment = np.where(on_first, -0.01 * wrench[..., 4], 0.0)  # z x force up = - force about World's x
    np.testing.assert_allclose(right[..., 0], moment, atol=1e-9)


def test_a_foot_on_two_plates_at_once_belongs_to_none() -> None:
    contacts = [
        Contact(number, start, end, "r", "assigned", "") for number, start, end in ((1, 0.2, 0.6), (2, 0.5, 0.9))
    ]
    carried = plate_unknowns(contacts, ("r", "l"), 100, 100.0, np.eye(3), settings()).plate_of_foot
    assert (carried[:49, 0] == 0).all()
    assert (carried[51:60, 0] == -1).all()
    assert (carried[62:, 0] == 1).all()
    assert (carried[:, 1] == -1).all()


def test_a_delay_makes_no_force_where_it_ceases_to_be_known() -> None:
    """A steady load is the same some milliseconds earlier, whatever is unknown beside it."""
    contacts = [Contact(1, 0.1, 0.9, "r", "assigned", "")]
    known = np.ones((100, 1), dtype=bool)
    known[30:60] = known[70] = known[72] = False
    unknowns = plate_unknowns(contacts, ("r",), 100, RATE_HZ, np.eye(3), settings(), known)
    load = np.where(known[..., None], [0.0, 0.0, 0.0, 0.0, 700.0, 0.0], 0.0)
    late = np.zeros(unknowns.count)
    late[-1] = 3.0
    np.testing.assert_array_equal(unknowns.corrected(load, late)[known], load[known])


HELD = {"plate_place_sd_m": 0.0, "plate_gain_sd_share": 0.0, "force_delay_sd_s": 0.0}


@pytest.fixture(scope="module")
def sound(walk: TrialAnalysis) -> Estimate:
    """The walk as it was recorded."""
    return estimated(walk, walk.reaction, settings())


@pytest.fixture(scope="module")
def held(walk: TrialAnalysis) -> Estimate:
    """The same with plates that are as their file says."""
    return estimated(walk, walk.reaction, settings(**HELD))


@pytest.mark.parametrize(
    ("place", "planted", "least", "code"),
    [
        (0, 0.03, 0.8, "estimate-plate-place"),  # places and gains are seldom grossly off, and then found whole
        (2, 0.08, 0.8, "estimate-plate-gain"),
    ],
)
def test_a_planted_error_is_found_taken_out_and_told(
    walk: TrialAnalysis, sound: Estimate, held: Estimate, place: int, planted: float, least: float, code: str
) -> None:
    """Beside what the walk itself shows; and it does less to the torques than where plates are taken as they are."""
    wrong = with_errors(walk, {place: planted})

    def error_of(found: Estimate) -> float:
        plate = found.summary.plates.errors[0]
        return plate.gain if place == 2 else float(plate.shift_m[0])

    found = estimated(walk, wrong, settings())
    assert least * planted < error_of(found) - error_of(sound) < 1.1 * planted
    (note,) = [note for note in estimate_findings(found.summary, LATE_S) if note.code == code]
    (alone,) = re.findall(r"suggests about (\d+) (?:cm|%)\.", note.hint)
    size = {"m": 100.0, "%": 1.0}[note.unit]  # of cm, %: what was found, and what there is
    assert note.value * size < float(alone) + 0.5 < 2.0 * planted * 100.0
    assert code not in [note.code for note in estimate_findings(sound.summary, LATE_S)]
    assert _apart(found, sound) < 0.6 * _apart(estimated(walk, wrong, settings(**HELD)), held)


@pytest.mark.parametrize("more", [0, 9], ids=["alone", "with nine others"])
def test_late_forces_are_told_alike_by_a_walk_and_by_a_session(
    walk: TrialAnalysis, sound: Estimate, held: Estimate, more: int
) -> None:
    """Nine more walks that tell the same make more of the delay found; what they ask for, and what is said of it, stays."""
    planted = 0.02
    wrong = with_errors(walk, {fit_unknowns(walk, settings()).count - 1: planted})
    found = estimated(walk, wrong, settings())
    assert found.shared_parameters is not None
    assert sound.shared_parameters is not None
    with_more = estimated(walk, wrong, settings(), (found.shared_parameters,) * more)
    (note,) = [n for n in estimate_findings(with_more.summary, LATE_S) if n.code == "estimate-force-delay"]
    (of_one,) = [n for n in estimate_findings(found.summary, LATE_S) if n.code == "estimate-force-delay"]
    # gross errors and the balance's own error are found anew with each walk
    assert note.value == pytest.approx(of_one.value, rel=0.15)
    assert found.summary.plates.delay_s - sound.summary.plates.delay_s > 0.5 * planted
    sound_more = estimated(walk, walk.reaction, settings(), (sound.shared_parameters,) * more)
    assert "estimate-force-delay" not in [n.code for n in estimate_findings(sound_more.summary, LATE_S)]
    assert not more or with_more.summary.plates.delay_s > 1.1 * found.summary.plates.delay_s
    assert _apart(with_more, sound_more) < 0.6 * _apart(estimated(walk, wrong, settings(**HELD)), held)


def _apart(one: Estimate, other: Estimate) -> float:
    return float(np.sqrt(np.nanmean((one.dynamics.torques - other.dynamics.torques) ** 2)))


def test_what_every_plate_reads_alike_is_a_wrong_body_mass(walk: TrialAnalysis) -> None:
    """That each of several plates is grossly wrong by the same share is less likely than that one mass is."""
    gains = range(2, fit_unknowns(walk, settings()).count - 1, 3)
    found = estimated(walk, with_errors(walk, dict.fromkeys(gains, 0.1)), settings())
    assert walk.propagation is not None
    assert 0.085 < found.summary.mass_change_kg / walk.propagation.model.mass_kg < 0.11
    assert all(abs(error.gain) < 0.02 for error in found.summary.plates.errors)
    codes = {note.code for note in estimate_findings(found.summary, LATE_S)}
    assert "estimate-mass" in codes
    assert "estimate-plate-gain" not in codes


def test_a_force_that_no_plate_measured_does_not_make_the_body_lighter(walk: TrialAnalysis) -> None:
    """A handrail that bears a fifth of the weight now and then: no scale of body and plates together explains it.

    A body of half the mass on plates that read twice too much would leave half of what is out of balance.
    """
    borne = 1.0 - 0.2 * np.maximum(np.sin(2.0 * np.pi * 0.9 * walk.time_s), 0.0)
    reaction = replace(walk.reaction, wrench={s: borne[:, None] * w for s, w in walk.reaction.wrench.items()})
    with pytest.raises(EstimateError, match=r"disagree by \d+ N even with the body mass changed by -\d\.\d kg"):
        estimated(walk, reaction, settings())  # the rail bears 6 % of 76 kg on average
    plates = estimated(walk, half_as_much(walk.reaction, reaction), settings()).summary.plates
    assert all(abs(error.gain) < 0.05 for error in plates.errors)


def half_as_much(one: GroundReaction, other: GroundReaction) -> GroundReaction:
    return replace(one, wrench={side: (one.wrench[side] + other.wrench[side]) / 2.0 for side in one.wrench})


@pytest.mark.parametrize(
    ("gain", "said"), [(1.0, r"gain of plate \d that is \d+ % too high"), (-0.6, "a body mass of")]
)
def test_what_no_plate_and_no_scale_can_be_is_refused(walk: TrialAnalysis, gain: float, said: str) -> None:
    """One of three plates that reads twice too much; all that read 40 % of what they should."""
    gains = range(2, fit_unknowns(walk, settings()).count - 1, 3)
    planted = {2: gain} if gain > 0 else dict.fromkeys(gains, gain)
    with pytest.raises(EstimateError, match=said) as raised:
        estimated(walk, with_errors(walk, planted), settings())
    assert "a force that was not measured" in str(raised.value.hint)


def test_plates_that_are_as_they_are_leave_the_reaction_alone(walk: TrialAnalysis, held: Estimate) -> None:
    assert held.reaction is walk.reaction
    assert held.summary.plates.errors == ()


def test_what_people_are_shown_stays_as_measured(walk: TrialAnalysis, sound: Estimate) -> None:
    assert sound.reaction.as_measured is walk.reaction.as_measured
    expected = sound.summary.plates.expected.place_m
    assert all((0.1 * expected < error.shift_sd_m).all() for error in sound.summary.plates.errors)
    assert all((error.shift_sd_m < expected).all() for error in sound.summary.plates.errors)
    side = next(iter(walk.reaction.wrench))
    moved: FloatArray = sound.reaction.centre_of_pressure[side] - walk.reaction.centre_of_pressure[side]
    assert np.nanmax(np.abs(moved)) > 0.0
    assert np.nanmax(np.abs(moved[:, 1])) < 1e-12  # along the floor


def test_several_walks_tell_more_of_a_plate_than_one(walk: TrialAnalysis, sound: Estimate) -> None:
    """A shift of 3 cm, of which a prior of 5 mm lets one walk say a part: others that saw the same plate bring it nearer."""
    wrong = with_errors(walk, {0: 0.03})
    alone = estimated(walk, wrong, settings())
    assert alone.shared_parameters is not None
    again = estimated(walk, wrong, settings(), others=(alone.shared_parameters,) * 3)
    expected = float(sound.summary.plates.errors[0].shift_m[0]) + 0.03
    missed = [abs(float(found.summary.plates.errors[0].shift_m[0]) - expected) for found in (alone, again)]
    assert missed[1] < 0.7 * missed[0]
    assert again.summary.walks == 4
    left = [found.summary.plates.errors[0].shift_sd_m[0] for found in (alone, again)]
    assert left[1] < 0.9 * left[0]
