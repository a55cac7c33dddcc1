"""Repeatability: identical sessions agree fully; noise that was put in is the error that is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.made_studies import PERCENT, MadeCycle, MadeStudy, made_subject

from biodyn.study.group.group_analysis import analyse_frames
from biodyn.study.group.group_data import GroupResults
from biodyn.study.options import AnalysisOptions

UNITS = {"knee_angle": "deg"}
SHAPE = np.sin(2.0 * np.pi * PERCENT / 100.0)
Offset = Callable[[int, str, int], float]


def sessions(offset: Offset, subjects: int, labels: tuple[str, ...], cycles: int = 4) -> MadeStudy:
    """Knee angles of 20 degrees amplitude moved by `offset(subject, session, cycle)`."""
    made = []
    for number in range(subjects):
        found = [
            MadeCycle(
                f"{label}1", "r", cycle + 1, {"knee_angle": 20.0 * SHAPE + offset(number, label, cycle)}, session=label,
                stride={"stride_time_s": 1.0, "stance_percent": 60.0},
            )
            for label in labels
            for cycle in range(cycles)
        ]  # fmt: skip
        made.append(made_subject(f"S{number:02d}", found, UNITS))
    return MadeStudy(tuple(made))


def analysed(study: MadeStudy, out: Path) -> GroupResults:
    return analyse_frames(study.frames(), study.strides, out, AnalysisOptions())


def row(table: pd.DataFrame, level: str, name: str) -> pd.Series:
    return table[(table["level"] == level) & (table["name"] == name)].iloc[0]


def test_two_identical_sessions_agree_fully(tmp_path: Path) -> None:
    def same(number: int, session: str, cycle: int) -> float:
        return 3.0 * number + 0.5 * cycle

    table = analysed(sessions(same, 5, ("one", "two")), tmp_path).tables["repeatability"]
    between = row(table, "sessions", "knee_flexion_swing")
    assert (between["icc_2_1"], between["icc_3_1"], between["sem"]) == (1.0, 1.0, 0.0)
    assert between["subjects"] == 5


@pytest.mark.slow
def test_the_error_between_sessions_is_the_one_put_in(tmp_path: Path) -> None:
    subjects, error, spread = 200, 2.0, 6.0
    random = np.random.default_rng(4)
    moved = {(n, s): error * random.standard_normal() for n in range(subjects) for s in ("one", "two")}
    people = spread * random.standard_normal(subjects)

    def offset(number: int, session: str, cycle: int) -> float:
        return people[number] + moved[number, session] + (3.0 if session == "two" else 0.0)

    found = row(
        analysed(sessions(offset, subjects, ("one", "two"), 2), tmp_path).tables["repeatability"],
        "sessions",
        "knee_flexion_swing",
    )
    # standard errors: of a variance of 200 differences 10 %, so 5 % of sem; the shift of 3 degrees has variance 4.5
    assert found["sem"] == pytest.approx(np.sqrt(error**2 + 4.5), rel=0.1)
    assert found["mdc95"] == pytest.approx(1.96 * np.sqrt(2.0) * found["sem"], rel=1e-3)
    assert found["icc_3_1"] == pytest.approx(spread**2 / (spread**2 + error**2), abs=0.04)
    assert found["icc_2_1"] == pytest.approx(spread**2 / (spread**2 + error**2 + 4.5), abs=0.05)
    assert found["icc_2_1_low"] < found["icc_2_1"] < found["icc_2_1_high"]


def test_the_spread_of_cycles_is_pooled_within_subjects(tmp_path: Path) -> None:
    def steps(number: int, session: str, cycle: int) -> float:
        return 10.0 * number + (-1.0 if cycle % 2 else 1.0) * (1.0 + number)

    results = analysed(sessions(steps, 3, ("",)), tmp_path)
    within = row(results.tables["repeatability"], "cycles of a session", "knee_flexion_swing")
    # four cycles at +-a have variance 4/3 a^2; a = 1, 2, 3
    expected = np.sqrt(np.mean(4.0 / 3.0 * np.array([1.0, 4.0, 9.0])))
    assert within["sd"] == pytest.approx(expected)
    assert within["measurements"] == 12
    curve = results.tables["repeatability"].query("kind == 'curve' and name == 'knee_angle'").iloc[0]
    assert curve["sd"] == pytest.approx(expected)  # a shift is the same at every percent
    assert 0.9 < curve["cmc"] < 1.0  # 1-3 degrees of shift in a curve of +-20
    assert not (results.tables["repeatability"]["level"] == "sessions").any()
    assert "no subject was measured in more than one" in results.notes["repeatability"][1]


def test_too_few_subjects_with_two_sessions_are_said(tmp_path: Path) -> None:
    study = sessions(lambda number, session, cycle: number + 0.1 * cycle, 2, ("one", "two"))
    results = analysed(study, tmp_path)
    levels = results.tables["repeatability"].query("kind == 'parameter'")["level"]
    assert set(levels) == {"cycles of a session"}
