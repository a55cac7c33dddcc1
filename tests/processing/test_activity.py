"""What a person does in a trial: motions with known torques, recorded by the simulator, and what is made of each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from simulator.recovery import compare
from simulator.scenes import record_scene, record_treadmill, with_labels
from support.motions import OPTIONS, Recorded, mover, recorded, stored_motion
from support.real import slow_but
from support.sessions import Laboratory

from biodyn.analysis import TrialAnalysis
from biodyn.checks.estimators.signals import LEAST_IMPACT_HZ, report_low_cutoff
from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2
from biodyn.output.tables.gait import spatiotemporal_table
from biodyn.processing.contacts.foot_motion import floor_velocity, foot_outline
from biodyn.processing.contacts.plate_loads import LoadWithoutFoot, loads_without_foot
from biodyn.processing.gait.activity import foot_steps
from biodyn.recording import GaitEvent
from biodyn.trial.run import analyse_trial
from biodyn.trial.trial_files import NO_STATIC, read_files

QUICK = {"uncertainty": {"compute": False}}

Analysed = Callable[[str], TrialAnalysis]


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Analysed:
    """Analyse a scene, each once."""
    done: dict[str, TrialAnalysis] = {}

    def ask(name: str) -> TrialAnalysis:
        if name not in done:
            done[name] = recorded(name).analysed(tmp_path_factory.mktemp("motion"))
        return done[name]

    return ask


def torque_error(found: TrialAnalysis, name: str, joint: str) -> float:
    return compare(found, recorded(name).trial).sagittal_rms_nm_kg(joint)


# -- the simulated motions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["running", "jump", "squat", "turn", "stairs", "crutches"])
def test_a_simulated_motion_obeys_physics(name: str) -> None:
    """Feet and aids carry what the body needs, in flight nothing does, and each plate shows its own part of it."""
    trial = recorded(name).trial
    assert np.abs(trial.tau[:, 3:6]).max() < 3.0  # N: what the splines leave in flight
    total = sum(wrench[:, 4] for wrench in trial.wrench.values())
    assert total.max() > 0.8 * mover().model.mass_kg * STANDARD_GRAVITY_M_S2
    flight = total < 1e-9
    assert flight.any() == (name in ("running", "jump"))


@pytest.mark.slow
def test_who_stands_all_the_time_is_told_to_run_a_walk(laboratory: Laboratory) -> None:
    # laboratory software stores strikes in static trials too, of which no foot off follows
    stored = tuple(GaitEvent(time_s, side, "foot_strike", "file") for side in SIDES for time_s in (0.3, 1.0))
    files = read_files(laboratory.static, NO_STATIC)
    standing = replace(files.walk, events=stored)
    files = replace(files, walk=standing, static=standing)
    found = analyse_trial(laboratory.static, files=files, settings={"uncertainty": {"compute": False}})
    assert "gait-event-missing" not in [note.code for note in found.diagnostics]
    assert found.activity.is_standing
    assert found.verdict is not None
    hints = {check.code: check.hint for check in found.verdict.checks}
    assert "as in a static trial" in hints["contacts"]
    walk = analyse_trial(laboratory.walk, laboratory.static, settings={"uncertainty": {"compute": False}})
    assert not walk.activity.is_standing


# -- recognised ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "direction", "cycles"),
    [
        ("running", "running", "forwards", True),
        ("stairs", "stairs", "forwards", True),
        ("turn", "turning", "forwards", True),
        pytest.param("start", "walking", "forwards", True, marks=pytest.mark.slow),
        pytest.param("side steps", "other", "sideways", True, marks=pytest.mark.slow),
        pytest.param("backwards", "other", "backwards", True, marks=pytest.mark.slow),
        ("squat", "squat", "", False),
        ("jump", "jump", "", False),
        pytest.param("hop", "jump", "", False, marks=pytest.mark.slow),
    ],
)
def test_the_activity_is_told_from_the_motion(
    analysed: Analysed, name: str, kind: str, direction: str, cycles: bool
) -> None:
    found = analysed(name)
    activity = found.activity
    assert (activity.kind, activity.direction, activity.steps) == (kind, direction, cycles)
    assert bool(found.cycles) == cycles
    assert len(spatiotemporal_table(found)) == len(found.cycles)


# -- events --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    slow_but(
        ["running", "turn", "start", "side steps", "backwards", "jump", "hop", "squat", "stairs"],
        quick=["running", "turn", "jump", "squat", "stairs"],
    ),
)
def test_every_event_found_is_one_and_most_are_found(analysed: Analysed, name: str) -> None:
    """Nothing is found where a pelvis sways over standing feet; ends of the recording may hide an event."""
    truth = recorded(name).trial.events
    found = analysed(name).events
    assert all(event.time_s >= 0.0 for event in found)
    for event in found:
        near = [t.time_s - event.time_s for t in truth if (t.side, t.kind) == (event.side, event.kind)]
        assert near, event
        assert min(map(abs, near)) < 0.08, event
    assert len(found) >= 0.7 * len(truth)


def test_running_has_flights_and_no_double_support(analysed: Analysed) -> None:
    table = spatiotemporal_table(analysed("running"))
    assert table["double_support_percent"].isna().all()
    np.testing.assert_allclose(table["contact_time_s"], 0.24, atol=0.02)
    np.testing.assert_allclose(table["flight_time_s"], 0.11, atol=0.03)
    np.testing.assert_allclose(table["speed_m_s"], 3.3, atol=0.1)


def test_steps_of_a_turn_are_measured_along_the_turn(analysed: Analysed) -> None:
    """The feet stay apart through the turn; against the mean direction of the stride they would cross by 10 cm."""
    table = spatiotemporal_table(analysed("turn"))
    assert table["step_width_m"].min() > -0.05
    assert table["toe_out_deg"].abs().max() < 8.0


@pytest.mark.slow
def test_steps_backwards_have_the_width_and_the_toes_of_steps_ahead(analysed: Analysed) -> None:
    table = spatiotemporal_table(analysed("backwards"))
    np.testing.assert_allclose(table["step_width_m"], 0.18, atol=0.02)
    assert table["toe_out_deg"].abs().max() < 5.0


# -- torques -------------------------------------------------------------------------------------------------------------


def test_torques_in_flight_are_those_of_a_body_that_nothing_touches(analysed: Analysed) -> None:
    found, truth = analysed("jump"), recorded("jump").trial
    flight = (found.time_s > 1.65) & (found.time_s < 1.87)
    assert found.dynamics.residual_valid[flight].all()
    weight = found.subject.mass_kg * STANDARD_GRAVITY_M_S2
    assert np.linalg.norm(found.dynamics.residual_force[flight], axis=1).max() < 0.06 * weight
    columns = [i for i, c in enumerate(found.model.coordinates) if c.joint.startswith("knee")]
    true = [next(c for c in truth.body.model.coordinates if c.name == found.model.coordinates[i].name) for i in columns]
    error = found.dynamics.torques[flight][:, columns] - truth.tau[flight][:, [c.v_index for c in true]]
    assert np.abs(error).max() / found.subject.mass_kg < 0.12


@pytest.mark.parametrize(("name", "limit"), [("squat", 0.02), ("stairs", 0.04), ("turn", 0.05)])
def test_torques_come_back(analysed: Analysed, name: str, limit: float) -> None:
    found = analysed(name)
    for joint in ("hip", "knee", "ankle"):
        assert torque_error(found, name, joint) < limit
    assert found.verdict is not None
    assert found.verdict.status in ("pass", "warn")


def test_a_filter_for_walking_is_named_where_there_are_impacts(analysed: Analysed) -> None:
    low = {
        name: [note.code for note in report_low_cutoff(6.0, analysed(name).activity.kind)]
        for name in ("running", "squat")
    }
    assert low == {"running": ["cutoff-low"], "squat": []}
    chosen = analysed("running")
    assert chosen.cutoff_hz >= LEAST_IMPACT_HZ  # by default the recording chooses
    assert "cutoff-low" not in [note.code for note in chosen.diagnostics]


def test_a_hop_in_the_middle_of_a_plate_is_no_wrong_unit(analysed: Analysed) -> None:
    found = analysed("hop")
    assert not [note for note in found.diagnostics if note.severity == "error"]


# -- other loads -----------------------------------------------------------------------------------------------------------


def test_a_crutch_is_named_and_given_to_no_foot(analysed: Analysed) -> None:
    """One tip stands alone on a plate, the other beside the foot: that leg has no torque rather than a wrong one."""
    found = analysed("crutches")
    (note,) = [note for note in found.diagnostics if note.code == "other-load"]
    assert note.value == pytest.approx(130.0, abs=15.0)
    by_plate = {contact.plate: contact for contact in found.contacts if contact.plate in (2, 3)}
    assert by_plate[3].decision == "rejected"
    assert by_plate[2].decision == "ambiguous"
    assert torque_error(found, "crutches", "knee") < 0.03
    assert found.verdict is not None
    (residual,) = [check for check in found.verdict.checks if check.code == "residual-force"]
    assert residual.status == "not_assessed"
    assert found.method.name == "butterworth"  # feet and body are not in balance: no estimate can be made of them
    assert "carries part of the body" in found.method.reason


@pytest.mark.slow
def test_loads_that_no_foot_made_are_looked_for_once(laboratory: Laboratory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contacts, the forces of the estimate and whether one can be made all ask for them."""
    asked = []

    def counting(*given: Any) -> tuple[LoadWithoutFoot, ...]:
        asked.append(given)
        return loads_without_foot(*given)

    monkeypatch.setattr("biodyn.trial.steps.loads_without_foot", counting)
    found = analyse_trial(laboratory.walk, laboratory.static, torques_only=True)
    assert found.method.is_estimate
    assert len(asked) == 1


@pytest.mark.slow
def test_crutches_that_no_plate_shows_are_put_into_no_torque(tmp_path) -> None:
    """To an estimate they look like another body and plates elsewhere: it was off by 0.04 to 0.25 Nm/kg at the knee."""
    made = recorded("crutches", 1.0)
    aids = tuple(replace(aid, plate=None) for aid in made.scene.plan.aids)
    scene = replace(made.scene, plan=replace(made.scene.plan, aids=aids), plates=made.scene.plates[:2])
    trial = record_scene(scene, stored_motion("crutches", scene), replace(OPTIONS, noise_mm=1.0))
    found = Recorded(scene, made.static, trial).analysed(tmp_path)
    assert not [note for note in found.diagnostics if note.code == "other-load"]
    (note,) = [note for note in found.diagnostics if note.code == "estimate-not-made"]
    assert re.search("disagree by|the body mass is at least", note.message)  # a moved plate would not make them agree
    assert compare(found, trial).sagittal_rms_nm_kg("knee") < 0.03
    assert found.verdict is not None
    assert found.verdict.status == "warn"


# -- one leg, belts ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_one_leg_is_analysed_without_the_other(laboratory: Laboratory, tmp_path) -> None:
    left = ("LTHI", "LKNE", "LTIB", "LANK", "LHEE", "LTOE")
    keep = [label for label in laboratory.trials["walk"].labels if label not in left]
    static, walk = (with_labels(laboratory.trials[kind], keep) for kind in ("static", "walk"))
    place = laboratory.copy(tmp_path / "one", static=static, walk=walk)
    found, whole = (analyse_trial(one.walk, one.static, settings=QUICK) for one in (place, laboratory))
    (note,) = [note for note in found.diagnostics if note.code == "leg-not-seen"]
    assert note.about == "left"
    sides = {c.side for i, c in enumerate(found.model.coordinates) if found.dynamics.torque_valid[:, i].any()}
    assert "r" in sides
    assert "l" not in {
        c.side for i, c in enumerate(found.model.coordinates) if found.dynamics.torque_valid[:, i].any()
    } - {c.side for c in found.model.coordinates if c.joint.startswith(("shoulder", "elbow", "wrist"))}
    assert not found.dynamics.residual_valid.any()
    knee, same = (
        next(i for i, c in enumerate(a.model.coordinates) if c.name == "knee_angle_r") for a in (found, whole)
    )
    both = found.dynamics.torque_valid[:, knee] & whole.dynamics.torque_valid[:, same]
    assert both.any()
    difference = found.dynamics.torques[both, knee] - whole.dynamics.torques[both, same]
    assert np.sqrt(np.mean(difference**2)) / found.subject.mass_kg < 0.02


def test_belts_move_and_the_body_stays(laboratory: Laboratory, tmp_path) -> None:
    walk = laboratory.trials["walk"].walk
    assert walk is not None
    trial = record_treadmill(walk, laboratory.trials["walk"].options)
    place = laboratory.copy(tmp_path / "belts", walk=trial)
    found = analyse_trial(place.walk, place.static, settings=QUICK)
    assert found.activity.kind == "walking"
    assert all(contact.decision == "assigned" for contact in found.contacts)
    assert not [note for note in found.diagnostics if note.code.startswith("plate-m")]
    np.testing.assert_allclose(spatiotemporal_table(found)["speed_m_s"], walk.speed_m_s, rtol=0.05)


# -- runners and steps of any height ---------------------------------------------------------------------------------------


def runner(rest_share: float, belt_m_s: float) -> np.ndarray:
    """Sole (T, 4, 3) of a running foot at 100 Hz: level for a share of each stride, and above the ground otherwise."""
    rate_hz, stride_s, strides = 100.0, 0.7, 5
    phase = (np.arange(round(strides * stride_s * rate_hz)) / rate_hz / stride_s) % 1.0
    on_floor = phase < rest_share
    swing = np.clip((phase - rest_share) / (1.0 - rest_share), 0.0, 1.0)
    travelled = np.floor(np.arange(len(phase)) / rate_hz / stride_s) + np.where(
        on_floor, 0.0, swing**2 * (3.0 - 2.0 * swing)
    )
    height = np.where(on_floor, 0.0, 0.3 * np.sin(np.pi * swing) ** 2 + 0.05 * np.sin(np.pi * swing))
    corners = np.array([[0.0, 0.0, 0.0], [0.25, 0.0, 0.0], [0.25, 0.0, 0.1], [0.0, 0.0, 0.1]])
    place = np.column_stack(
        [3.0 * stride_s * travelled - belt_m_s * np.arange(len(phase)) / rate_hz, height, 0.0 * height]
    )
    return place[:, None] + corners


@pytest.mark.parametrize("rest_share", [0.09, 0.14])
@pytest.mark.parametrize("belt_m_s", [0.0, 3.0])
def test_the_foot_of_a_runner_rests_on_floor_or_belt_for_a_tenth_of_the_stride(
    rest_share: float, belt_m_s: float
) -> None:
    sole = runner(rest_share, belt_m_s)
    np.testing.assert_allclose(floor_velocity(sole, 100.0), [-belt_m_s, 0.0, 0.0], atol=0.05)
    foot = foot_outline(sole, 100.0)
    assert 0.5 * rest_share < foot.bearing.mean() < 2.5 * rest_share


def test_bent_toes_make_no_step_of_a_stair() -> None:
    """At toe-off a rigid sole is below the floor; the height of a step is that of the resting foot."""
    sole = runner(0.5, 0.0)
    foot = foot_outline(sole, 100.0)
    height = foot.height - 0.1 * (foot.bearing & ~np.append(foot.bearing[1:], False))  # the last frame of each stance
    steps = foot_steps({"r": replace(foot, height=height)}, np.zeros(3), 100.0)
    assert len(steps) >= 3
    assert max(abs(step.rise_m) for step in steps) < 0.02
