"""Mean curves of subjects and groups against numpy on all the data at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from support.made_studies import PERCENT, MadeCycle, made_study, made_subject

from biodyn.errors import ResultError
from biodyn.study.group.subject_cycles import (
    GroupCurves,
    SubjectCycles,
    mean_curves,
    norm_table,
    subject_curve_table,
    subject_cycles,
)
from biodyn.variables import load_norms

UNITS = {"knee_angle": "deg", "pelvis_list": "deg"}


def wave(number: int, condition: str, side: str, random: np.random.Generator) -> dict[str, np.ndarray]:
    shape = np.sin(2 * np.pi * PERCENT / 100.0)
    faster = 1.0 if condition == "fast" else 0.0
    return {name: (10 + number) * shape + faster + random.standard_normal() for name in UNITS}


def gapped() -> SubjectCycles:
    """Three cycles of one variable: 0, 1 and 5 everywhere, the last one without its second half."""
    last = np.where(PERCENT <= 50.0, 5.0, np.nan)
    curves = (np.zeros(101), np.ones(101), last)
    cycles = [MadeCycle("t", "r", i + 1, {"knee_angle": curve}) for i, curve in enumerate(curves)]
    return subject_cycles(made_subject("S", cycles, UNITS).frame)


def test_rows_become_arrays() -> None:
    subject = made_study(wave, UNITS, subjects=1, conditions=("normal", "fast")).subjects[0]
    ordered = subject_cycles(subject.frame)
    assert ordered.values.shape == (2 * 3 * 2 * 2, 2, 101)
    one = subject.frame.query("trial == 'fast02' and side == 'l' and cycle == 2 and variable == 'pelvis_list'")
    row = ordered.cycles.query("trial == 'fast02' and side == 'l' and cycle == 2").index[0]
    np.testing.assert_array_equal(ordered.values[row, 1], one["value"])


def test_a_curve_with_a_missing_row_is_refused() -> None:
    frame = made_study(wave, UNITS, subjects=1).subjects[0].frame
    with pytest.raises(ResultError, match="at 0, 1"):
        subject_cycles(frame.drop(index=frame.index[7]))
    with pytest.raises(ResultError, match="at 0, 1"):
        subject_cycles(frame.sample(frac=1.0, random_state=1))


def test_a_gap_counts_in_neither_mean_nor_number() -> None:
    (found,) = mean_curves(gapped())
    assert found.cycles[0, [50, 51]].tolist() == [3, 2]
    assert found.mean[0, [50, 51]].tolist() == [2.0, 0.5]
    assert found.sd[0, 50] == pytest.approx(np.std([0, 1, 5], ddof=1))
    assert found.sd[0, 51] == pytest.approx(np.std([0, 1], ddof=1))


def test_cycles_can_be_left_out() -> None:
    (found,) = mean_curves(gapped(), np.array([True, False, False]))
    assert found.mean[0, 10] == 3.0
    assert found.mean[0, 60] == 1.0
    assert np.isnan(found.sd[0, 60])  # of one cycle


def test_a_group_counts_each_subject_once_and_each_of_its_sessions_alike() -> None:
    study = made_study(wave, UNITS, subjects=5, conditions=("normal", "fast"), sessions=("a", "b"), trials=2)
    group = GroupCurves()
    means = []
    for subject in study.subjects:
        data = subject_cycles(subject.frame)
        group.add(data, mean_curves(data))
        frame = subject.frame.query("condition == 'fast' and side == 'l' and variable == 'knee_angle'")
        by_session = frame.groupby(["session", "percent"], observed=True)["value"].mean().unstack(0)
        means.append(by_session.mean(axis=1).to_numpy())
    table = group.table().query("condition == 'fast' and side == 'l' and variable == 'knee_angle'")
    # running and direct sums differ by round-off only
    np.testing.assert_allclose(table["mean"], np.mean(means, axis=0), atol=1e-12)
    np.testing.assert_allclose(table["sd"], np.std(means, axis=0, ddof=1), atol=1e-12)
    assert set(table["subjects"]) == {5}
    assert len(group.table()) == 2 * 2 * 2 * 101


def test_subject_curves_are_rows_of_their_schema() -> None:
    data = gapped()
    table: pa.Table = subject_curve_table(data, mean_curves(data))
    frame = table.to_pandas()
    labels = ["subject", "session", "condition", "group", "side", "variable", "unit"]
    assert list(frame) == [*labels, "percent", "mean", "sd", "cycles"]
    assert len(frame) == 101
    assert frame["cycles"].tolist() == [3] * 51 + [2] * 50


def test_norms_of_the_left_side_follow_the_sign_of_the_tables() -> None:
    norms = load_norms("children_schwartz_2008")
    table = norm_table([norms], UNITS, ("r", "l"))
    right, left = (table[table["side"] == side].set_index(["variable", "percent"])["mean"] for side in ("r", "l"))
    np.testing.assert_array_equal(right["knee_angle"], left["knee_angle"])
    # pelvic obliquity is signed to the right side for both: the same posture of the own side has the other sign
    np.testing.assert_array_equal(right["pelvis_list"], -left["pelvis_list"])
