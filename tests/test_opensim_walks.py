"""A walk as OpenSim's laboratories keep it, markers and a table of forces, gives the torques of its C3D."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.opensim_tables import as_opensim
from support.real import recordings
from support.sessions import Laboratory

from biodyn.analysis import TrialAnalysis
from biodyn.io import read
from biodyn.recording import Recording, SubjectParameters
from biodyn.settings import settings_from
from biodyn.trial.request import TrialRequest
from biodyn.trial.result import TrialResult
from biodyn.trial.run import analyse_trial, run_trial
from biodyn.trial.steps import STEPS, run_steps
from biodyn.trial.trial_files import TrialFiles

BODY = (70.0, 1.75)  # a TRC stores no person
QUICK = {"uncertainty": {"compute": False}}


def _bare(recording: Recording) -> Recording:
    """What a TRC and a table can hold of a recording."""
    return replace(
        recording, subject=SubjectParameters(), events=(), model_outputs={}, declared_static=None, first_frame=1
    )


def _both(
    walk: Path, static: Path | None, folder: Path, settings: dict[str, object], **forces: object
) -> list[TrialAnalysis]:
    """The analysis of a C3D, and of the same walk as TRC and table."""
    moving = _bare(read(walk))
    standing = moving if static is None else _bare(read(static))
    source = "walk" if static is None else "static trial"
    own = TrialFiles(moving, standing, "named by the user", source)
    text = as_opensim(moving, folder, **forces)
    text_static = "none" if static is None else as_opensim(replace(standing, plates=()), folder, "static")
    return [
        analyse_trial(walk, None, *BODY, settings, files=own, torques_only=True),
        analyse_trial(text, text_static, *BODY, settings, torques_only=True),
    ]


def _difference(pair: list[TrialAnalysis]) -> tuple[float, float]:
    """Largest difference of a joint torque and largest torque, Nm; frames in which either is not valid must be the same."""
    own, text = (one.dynamics for one in pair)
    np.testing.assert_array_equal(own.torque_valid, text.torque_valid)
    joints = [c.v_index for c in pair[0].model.coordinates]
    valid = own.torque_valid
    difference, size = (np.abs(values[:, joints])[valid].max() for values in (own.tau - text.tau, own.tau))
    return float(difference), float(size)


def test_contacts_of_a_table_are_those_of_the_plates(
    walk_result: TrialResult, laboratory: Laboratory, tmp_path: Path
) -> None:
    path, (mass_kg, height_m) = as_opensim(read(laboratory.walk), tmp_path), BODY
    settings = settings_from({**QUICK, "subject": {"mass_kg": mass_kg, "height_m": height_m}})
    request = TrialRequest(path=path, settings=settings, static_path=laboratory.static)
    state = run_steps(request, STEPS, "contacts")
    known = walk_result.analysis.contacts
    assert [(c.plate, c.side, c.decision) for c in state.contacts] == [(c.plate, c.side, c.decision) for c in known]
    for ours, theirs in zip(state.contacts, known, strict=True):
        assert ours.start_s == pytest.approx(theirs.start_s, abs=1e-3)
        assert np.isnan(ours.evidence["cop_to_edge_m"])


@pytest.mark.slow
def test_markers_and_a_table_of_forces_give_the_torques_of_the_c3d(laboratory: Laboratory, tmp_path: Path) -> None:
    pair = _both(laboratory.walk, laboratory.static, tmp_path, QUICK)
    difference, largest = _difference(pair)
    # the zero of a plate is taken where no foot is over it, that of a table from its force alone
    assert difference < 3e-4 * largest
    assert [(c.plate, c.side, c.decision) for c in pair[0].contacts] == [
        (c.plate, c.side, c.decision) for c in pair[1].contacts
    ]


@pytest.mark.slow
@pytest.mark.parametrize("least_n", [-np.inf, 10.0])
def test_a_real_walk_gives_the_same_torques_both_ways(tmp_path: Path, least_n: float) -> None:
    folder = recordings() / "gait" / "schreiber2019"
    pair = _both(folder / "2014001_C1_01.c3d", folder / "2014001_ST.c3d", tmp_path, QUICK, least_n=least_n)
    assert _difference(pair)[0] < (1e-4 if least_n < 0.0 else 0.5)


@pytest.mark.slow
def test_the_file_s_word_for_the_foot_is_taken_where_the_pressure_agrees(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    recording = read(laboratory.walk)
    contacts = analyse_trial(laboratory.walk, laboratory.static, settings=QUICK, torques_only=True).contacts
    sides = {c.plate: c.side for c in contacts if c.side}
    right = [f"{'right' if sides[n] == 'r' else 'left'}_{'abc'[n - 1]}_" for n in sorted(sides)]
    static = laboratory.static
    told = analyse_trial(
        as_opensim(recording, tmp_path / "right", prefixes=right), static, *BODY, QUICK, torques_only=True
    )
    assert {c.plate: c.side for c in told.contacts if c.side} == sides
    wrong = [name.replace("right", "x").replace("left", "right").replace("x", "left") for name in right]
    doubted = analyse_trial(
        as_opensim(recording, tmp_path / "wrong", prefixes=wrong), static, *BODY, QUICK, torques_only=True
    )
    assert not any(c.decision == "assigned" for c in doubted.contacts)
    assert sum("which is in swing" in c.reason for c in doubted.contacts) == len(sides)


@pytest.mark.slow
def test_opensim_s_own_example_runs_from_markers_and_forces() -> None:
    folder = recordings() / "opensim"
    walk = folder / "gait2354_tutorial/subject01_walk1.trc"
    result = run_trial(walk, folder / "core_scale/subject01_static.trc", settings=QUICK)
    record = result.record
    assert abs(record["subject"]["mass_kg"] - 72.6) < 1.0  # what the example's set-up says
    assert [one["file"] for one in record["input"]["also_read"]] == [
        "subject01_walk1_grf.xml",
        "subject01_walk1_grf.mot",
    ]
    assert [(plate["outlined"], plate["side"]) for plate in record["plates"]] == [(False, "r"), (False, "l")]
    assert all(contact["evidence"]["cop_distance_median_m"] < 0.01 for contact in record["contacts"])


@pytest.mark.slow
def test_what_a_table_cannot_tell_is_all_that_differs(tmp_path: Path) -> None:
    """Both feet hang over an edge in this walk: the C3D says so, a table cannot; told to take the contacts, both agree."""
    walk = recordings() / "opensim" / "c3d_to_grf" / "walking2.c3d"
    override = [{"plate": 2, "from_s": 2.25, "side": "left"}, {"plate": 1, "from_s": 2.68, "side": "right"}]
    moving = _bare(read(walk))
    own = TrialFiles(moving, moving, "named by the user", "walk")
    taken = analyse_trial(walk, None, *BODY, QUICK | {"contacts": {"override": override}}, files=own, torques_only=True)
    text = analyse_trial(as_opensim(moving, tmp_path), "none", *BODY, QUICK, torques_only=True)
    apart, largest = _difference([taken, text])
    assert (
        apart < 0.2 + 2e-4 * largest
    )  # in one frame the pelvis is lost and found: torques of 40 kNm, of the same file twice
