"""Comparisons of discrete parameters, one number per subject and condition, by the designs of the study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import FloatArray
from biodyn.errors import StatisticsError
from biodyn.statistics.comparisons import compare_groups, compare_independent, compare_paired, holm
from biodyn.statistics.mixed import mixed_model
from biodyn.study.group.designs import Design
from biodyn.study.group.observations import Cell
from biodyn.study.group.options import AnalysisOptions
from biodyn.study.group.results import joined_notes, reason_of

COMPARISON_COLUMNS = [
    "family", "factor", "within", "comparison", "side", "parameter", "unit", "test", "subjects", "first", "first_mean",
    "first_sd", "second", "second_mean", "second_sd", "difference", "low", "high", "statistic", "df1", "df2", "p",
    "p_adjusted", "effect_size", "effect", "effect_low", "effect_high", "rank_test", "rank_p",
]  # fmt: skip


@dataclass(frozen=True)
class NumberTests:
    """Rows of comparisons.csv (p_adjusted still to be filled) and sentences about tests that could not be made."""

    rows: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]


def number_tests(
    cells: Sequence[Cell],
    designs: Sequence[Design],
    side: str,
    parameters: Sequence[tuple[int, str, str]],
    options: AnalysisOptions,
) -> NumberTests:
    """Test every parameter in every design but regressions.

    Parameters: `cells` the designs' rows; `parameters` (place in the cells' parameters, name, unit).
    """
    rows: list[dict[str, Any]] = []
    notes: list[tuple[str, str]] = []
    for design in designs:
        if design.kind == "regression":
            continue
        for place, name, unit in parameters:
            values = [np.array([cells[row].parameters[place] for row in own]) for own in design.rows]
            if not np.isfinite(np.concatenate(values)).any():
                continue
            where = f", {design.within}" if design.within else ""
            try:
                found = _tested(design, values, options)
            except (StatisticsError, np.linalg.LinAlgError) as error:
                notes.append((name, f"not compared ({design.label}{where}). {reason_of(error)}"))
                continue
            key = {
                "family": design.family,
                "factor": design.factor,
                "within": design.within,
                "comparison": design.label,
            }
            rows.append({**key, "side": side, "parameter": name, "unit": unit, **found})
    return NumberTests(tuple(rows), joined_notes(notes))


def comparison_table(rows: Sequence[dict[str, Any]], options: AnalysisOptions) -> pd.DataFrame:
    """Return comparisons.csv with p adjusted over each family."""
    table = pd.DataFrame(list(rows), columns=COMPARISON_COLUMNS)
    table["p_adjusted"] = adjusted(table["family"], table["p"], options)
    return table


def adjusted(families: Sequence[str] | pd.Series, p: FloatArray | pd.Series, options: AnalysisOptions) -> FloatArray:
    """Return p adjusted over the tests of each family, or as it is where no correction is wanted."""
    values = np.asarray(p, dtype=np.float64)
    if options.correction == "none":
        return values
    result = np.full(values.shape, np.nan)
    labels = np.asarray(families, dtype=object)
    for family in dict.fromkeys(labels.tolist()):
        result[labels == family] = holm(values[labels == family])
    return result


def _tested(design: Design, values: Sequence[FloatArray], options: AnalysisOptions) -> dict[str, Any]:
    known = [np.isfinite(part) for part in values]
    if design.same_people:
        known = [np.logical_and.reduce(known)] * len(known)
    values = [part[rows] for part, rows in zip(values, known, strict=True)]
    fewest = min(len(part) for part in values)
    if fewest < options.least_subjects:
        raise StatisticsError(f"Known for {fewest} subjects; {options.least_subjects} are needed.")
    if design.kind in ("paired", "independent"):
        return _pair(design, values, 1.0 - options.alpha)
    count = fewest if design.same_people else sum(len(part) for part in values)
    joined = np.concatenate(values)
    levels = np.repeat(np.array(design.levels, dtype=object), [len(part) for part in values])
    if design.kind == "anova":
        found = compare_groups(joined, levels)
        return {
            "test": "one-way analysis of variance", "subjects": count, "statistic": found.f, "df1": found.df[0],
            "df2": found.df[1], "p": found.p, "effect_size": "omega squared", "effect": found.omega_squared,
            "rank_test": found.rank_test, "rank_p": found.rank_p,
        }  # fmt: skip
    people = np.tile(np.arange(fewest), len(values))
    test = mixed_model(joined, people, {design.factor: levels}).tests[0]
    return {
        "test": "repeated measures (mixed model, Wald F)", "subjects": count, "statistic": test.f, "df1": test.df[0],
        "df2": test.df[1], "p": test.p,
    }  # fmt: skip


def _pair(design: Design, values: Sequence[FloatArray], confidence: float) -> dict[str, Any]:
    """Second level minus first."""
    first, second = values
    found = (compare_paired if design.kind == "paired" else compare_independent)(second, first, confidence=confidence)
    return {
        "test": found.test, "subjects": found.counts[0] if design.same_people else sum(found.counts),
        "first": design.levels[0], "first_mean": found.means[1], "first_sd": found.sds[1],
        "second": design.levels[1], "second_mean": found.means[0], "second_sd": found.sds[0],
        "difference": found.difference, "low": found.low, "high": found.high,
        "statistic": found.t, "df1": 1.0, "df2": found.df, "p": found.p,
        "effect_size": found.effect.name, "effect": found.effect.value, "effect_low": found.effect.low,
        "effect_high": found.effect.high, "rank_test": found.rank_test, "rank_p": found.rank_p,
    }  # fmt: skip
