"""Representative cycles, gait scores, symmetry."""

from __future__ import annotations

import numpy as np
import pytest
from support.made_studies import PERCENT, MadeCycle, made_subject

from biodyn.study.group.group_data import SubjectMean
from biodyn.study.group.statistics.gait_scores import (
    ScoreReference,
    group_reference,
    norm_reference,
    score_names,
    score_table,
    score_variables,
)
from biodyn.study.group.statistics.symmetry import symmetry_table
from biodyn.study.group.subject_cycles import SubjectCycles, cycle_distance_table, subject_cycles
from biodyn.variables import load_norms
from biodyn.variables import variable as shown
from biodyn.variables.cycle_parameters import default_definitions

UNITS = {"knee_angle": "deg", "knee_angle_moment": "Nm/kg"}
SHAPE = np.sin(2 * np.pi * PERCENT / 100.0)
NINE = list(score_names())


def walk(offsets: list[float], without_moment: tuple[int, ...] = ()) -> SubjectCycles:
    """Cycles of one shape, each moved by an offset in degrees (and a hundredth of it in Nm/kg)."""
    cycles = []
    for i, offset in enumerate(offsets):
        moment = SHAPE + 0.01 * offset
        if i in without_moment:
            moment = np.where(PERCENT < 70.0, np.nan, moment)
        cycles.append(MadeCycle("t", "r", i + 1, {"knee_angle": 20 * SHAPE + offset, "knee_angle_moment": moment}))
    return subject_cycles(made_subject("S", cycles, UNITS).frame)


def test_the_middle_cycle_represents_and_the_far_one_is_an_outlier() -> None:
    table = cycle_distance_table(walk([-2.0, -1.0, 0.0, 1.0, 2.0, 30.0, 0.5]), list(UNITS))
    assert table["representative"].tolist() == [False, False, False, False, False, False, True]  # the median offset
    assert table["outlier"].tolist() == [False] * 5 + [True, False]
    # 29.5 degrees are 5.9 times 5 degrees, 0.295 Nm/kg 2.95 times 0.1 Nm/kg: their mean
    assert table["distance"][5] == pytest.approx((5.9 + 2.95) / 2)


def test_a_cycle_without_its_moments_does_not_represent() -> None:
    offsets = [-2.0, -1.0, 0.1, 1.0, 2.0]
    table = cycle_distance_table(walk(offsets, without_moment=(2,)), list(UNITS))
    assert np.isnan(table["distance"][2])
    assert not table["representative"][2]
    few = cycle_distance_table(walk(offsets, without_moment=(0, 2, 4)), list(UNITS))
    # most cycles lack the moment: angles judge all of them, and one with a moment represents
    assert few["variables"].tolist() == ["knee_angle"] * 5
    assert few["distance"].notna().all()
    assert np.flatnonzero(few["representative"]).tolist() == [1] or np.flatnonzero(few["representative"]).tolist() == [
        3
    ]


def test_cycles_that_cannot_be_judged_are_not() -> None:
    table = cycle_distance_table(walk([0.0, 1.0], without_moment=(0, 1)), ["knee_angle_moment"])
    assert not table["representative"].any()
    assert table["distance"].isna().all()


def cell(
    side: str, curves: dict[str, np.ndarray], subject: str = "S", group: str = "", condition: str = ""
) -> SubjectMean:
    rows = np.stack([curves.get(name, np.full(101, np.nan)) for name in NINE])
    return SubjectMean(subject, "", condition, group, side, np.zeros(1), rows, 1)


def flat_reference() -> ScoreReference:
    return ScoreReference("zero", False, {("", name, side): np.zeros(101) for name in NINE for side in ("r", "l")})


def test_scores_are_root_mean_squares_as_defined() -> None:
    right = {name: np.full(101, float(i + 1)) for i, name in enumerate(NINE)}
    left = {name: np.full(101, 2.0 * (i + 1)) for i, name in enumerate(NINE)}
    table = score_table([cell("r", right), cell("l", left)], NINE, flat_reference())[0].set_index("side")
    ones = np.arange(1.0, 10.0)
    assert table.loc["r", [f"gvs_{name}" for name, _, _ in score_variables()]].tolist() == ones.tolist()
    assert table.loc["r", "gps"] == pytest.approx(np.sqrt(np.mean(ones**2)))
    assert table.loc["l", "gps"] == pytest.approx(2.0 * np.sqrt(np.mean(ones**2)))
    fifteen = np.concatenate([2.0 * ones, ones[3:]])  # the pelvis once, in the left cycle
    assert table.loc["both", "gps"] == pytest.approx(np.sqrt(np.mean(fifteen**2)))


def test_no_profile_score_is_made_of_fewer_variables_and_it_is_said() -> None:
    curves = {name: np.ones(101) for name in NINE if name != "foot_progression"}
    scores, notes = score_table([cell("r", curves), cell("l", curves)], NINE, flat_reference())
    assert scores["gps"].isna().all()
    assert scores["gvs_hip_flexion"].notna().sum() == 2
    assert "foot_progression (all of 2)" in notes[1]


def test_walkers_like_the_published_norms_score_zero_on_both_sides() -> None:
    norms = load_norms("children_schwartz_2008")
    cells = []
    for side in ("r", "l"):
        turn = {name: shown(name).side_sign(side) for name in NINE}
        cells.append(cell(side, {name: turn[name] * norms.curves[name].mean for name in NINE}))
    table = score_table(cells, NINE, norm_reference(norms))[0]
    assert table["gps"].tolist() == [0.0, 0.0, 0.0]


def test_a_group_of_the_study_is_a_reference_condition_by_condition() -> None:
    cells = [
        cell(side, {name: np.full(101, value) for name in NINE}, subject, group, condition)
        for side in ("r", "l")
        for subject, group, condition, value in (
            ("a", "control", "slow", 1.0),
            ("b", "control", "slow", 3.0),
            ("a", "control", "fast", 10.0),
            ("p", "patient", "slow", 5.0),
            ("p", "patient", "fast", 5.0),
        )
    ]
    reference = group_reference(cells, "control", NINE)
    table = score_table(cells, NINE, reference)[0]
    of_patient = table[(table["subject"] == "p") & (table["side"] == "both")].set_index("condition")["gps"]
    assert of_patient.to_dict() == pytest.approx({"slow": 3.0, "fast": 5.0})


def test_a_symmetric_walker_has_no_asymmetry_and_a_limping_one_that_which_was_put_in() -> None:
    definitions = default_definitions()[:2]
    names = ["pelvis_list", "knee_angle"]
    curves = [(i, name, "deg") for i, name in enumerate(names)]

    def made(side: str, parameters: list[float], knee: float) -> SubjectMean:
        lean = 3.0 * SHAPE * (1.0 if side == "r" else -1.0)  # signed to the right for both sides
        values = np.stack([lean, 20.0 * SHAPE + knee])
        return SubjectMean("S", "", "", "", side, np.array(parameters), values, 1)

    even = symmetry_table(
        [made("r", [1.2, 110.0], 0.0), made("l", [1.2, 110.0], 0.0)], definitions, ["m/s", ""], curves
    )
    assert len(even) == 4
    assert (even["difference"].abs() < 1e-12).all()  # round-off
    assert (even["symmetry_index"].dropna() == 0.0).all()
    limp = symmetry_table(
        [made("r", [1.2, 110.0], 4.0), made("l", [0.8, 110.0], 0.0)], definitions, ["m/s", ""], curves
    )
    by_name = limp.set_index("name")
    assert by_name.loc["speed", "symmetry_index"] == pytest.approx(40.0)
    assert by_name.loc["knee_angle", "difference"] == pytest.approx(4.0)
    assert by_name.loc["pelvis_list", "difference"] == pytest.approx(0.0)
