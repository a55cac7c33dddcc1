"""Which comparisons a study gets without being asked, and what is said about the others."""

from __future__ import annotations

import numpy as np

from biodyn.study.group.group_data import SubjectMean
from biodyn.study.group.statistics.comparisons import comparison_designs
from biodyn.study.options import AnalysisOptions


def cells(*entries: tuple[str, str, str]) -> list[SubjectMean]:
    """Cells of (subject, condition, group)."""
    return [SubjectMean(s, "", c, g, "mean", np.zeros(1), np.zeros((1, 101)), 1) for s, c, g in entries]


def crossed(subjects: int, conditions: str, group: str = "") -> list[tuple[str, str, str]]:
    return [(f"{group}{n}", condition, group) for n in range(subjects) for condition in conditions]


def test_two_conditions_in_the_same_people_are_paired_row_by_row() -> None:
    entries = [*crossed(4, "ab"), ("alone", "b", "")]
    designs, _notes = comparison_designs(cells(*entries), AnalysisOptions())
    (design,) = designs
    assert (design.kind, design.levels, design.label) == ("paired", ("a", "b"), "b - a")
    first, second = ([entries[row] for row in rows] for rows in design.rows)
    assert [e[0] for e in first] == [e[0] for e in second]
    assert {e[1] for e in first} == {"a"}
    assert {e[1] for e in second} == {"b"}
    assert "alone" not in {e[0] for e in second}


def test_fewer_shared_subjects_than_needed_is_said_and_not_compared() -> None:
    entries = [*crossed(2, "ab"), ("2", "a", ""), ("3", "b", "")]
    designs, notes = comparison_designs(cells(*entries), AnalysisOptions())
    assert designs == []
    (note,) = notes
    assert "each pair needs at least 3 common subjects; the pairs of a, b have at most 2" in note
    designs, notes = comparison_designs(
        cells(*entries, *[(f"x{n}", c, "") for n in range(3) for c in "bc"]), AnalysisOptions()
    )
    assert [design.label for design in designs] == ["c - b"]
    assert any("b is not compared with a: 2 subjects were measured in both, 3 are needed" in note for note in notes)


def test_three_conditions_get_an_analysis_of_variance_before_their_pairs() -> None:
    designs, _notes = comparison_designs(cells(*crossed(5, "abc"), ("5", "a", ""), ("5", "b", "")), AnalysisOptions())
    assert [d.kind for d in designs] == ["repeated anova", "paired", "paired", "paired"]
    assert len(designs[0].rows[0]) == 5  # complete subjects
    assert len(designs[1].rows[0]) == 6  # a and b have one more


def test_groups_are_compared_within_each_condition_and_conditions_within_each_group() -> None:
    designs, _notes = comparison_designs(cells(*crossed(3, "ab", "old"), *crossed(4, "ab", "young")), AnalysisOptions())
    assert [(d.kind, d.within) for d in designs] == [
        ("paired", "old"),
        ("paired", "young"),
        ("independent", "a"),
        ("independent", "b"),
    ]
    assert [len(rows) for rows in designs[2].rows] == [3, 4]


def test_people_of_two_groups_are_not_independent() -> None:
    designs, notes = comparison_designs(
        cells(*crossed(3, "a", "old"), ("old0", "a", "young"), *crossed(3, "a", "young")), AnalysisOptions()
    )
    assert designs == []
    assert "old0 belongs to more than one" in notes[0]


def test_one_condition_and_one_group_leave_nothing_to_compare() -> None:
    designs, notes = comparison_designs(cells(*crossed(9, "a")), AnalysisOptions())
    assert designs == []
    assert notes == ["There are no comparisons, because all trials have the same condition and group."]
    assert comparison_designs([], AnalysisOptions())[0] == []


def test_options_choose_levels_their_order_and_the_tests() -> None:
    data = cells(*crossed(5, "abc"))
    designs, _notes = comparison_designs(data, AnalysisOptions(conditions=("c", "a")))
    assert [d.label for d in designs] == ["a - c"]
    assert [d.kind for d in comparison_designs(data, AnalysisOptions(tests=("anova",)))[0]] == ["repeated anova"]
    assert comparison_designs(data, AnalysisOptions(tests=()))[0] == []


def test_a_predictor_is_regressed_on_in_each_condition_by_itself() -> None:
    designs, _notes = comparison_designs(
        cells(*crossed(5, "ab")), AnalysisOptions(tests=("regression",), predictor="speed")
    )
    assert [(d.kind, d.within, len(d.rows[0])) for d in designs] == [
        ("regression", "a", 5),
        ("regression", "b", 5),
    ]
