"""Tests of mean curves, one curve per subject: statistical parametric mapping by the designs of the study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError
from biodyn.statistics.spm import designs as spm
from biodyn.statistics.spm.field import StatisticField
from biodyn.statistics.spm.inference import permutation_inference, random_field_inference
from biodyn.statistics.spm.result import Cluster, SpmResult
from biodyn.study.group.designs import Design
from biodyn.study.group.observations import Cell
from biodyn.study.group.options import AnalysisOptions
from biodyn.study.group.results import joined_finding, joined_notes, reason_of
from biodyn.study.group.subject_cycles import PERCENT

#: A subject that lacks more of the nodes than this, of those that at least half of the subjects hold, is left out.
LARGEST_MISSING_SHARE = 0.1
KEY_COLUMNS = ["family", "factor", "within", "comparison", "side", "variable", "unit"]
TEST_COLUMNS = ["test", "inference", "subjects", "df1", "df2", "fwhm", "threshold", "p", "p_adjusted"]
CLUSTER_COLUMNS = ["cluster", "start_percent", "end_percent", "peak", "peak_percent", "p_cluster", "mean_effect"]
SPM_COLUMNS = [*KEY_COLUMNS, *TEST_COLUMNS, *CLUSTER_COLUMNS]
CURVE_COLUMNS = [*KEY_COLUMNS, "percent", "statistic", "threshold", "effect", "lower", "upper"]


@dataclass(frozen=True)
class CurveTest:
    """One variable of one design, tested; `subjects` are those whose curves were complete enough."""

    design: Design
    side: str
    variable: str
    unit: str
    subjects: int
    result: SpmResult

    @property
    def key(self) -> list[str]:
        """Values of `KEY_COLUMNS`."""
        design = self.design
        return [design.family, design.factor, design.within, design.label, self.side, self.variable, self.unit]


@dataclass(frozen=True)
class CurveTests:
    """All tests of a study's curves, and sentences about those that could not be made."""

    tests: tuple[CurveTest, ...]
    notes: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


def curve_tests(
    cells: Sequence[Cell],
    designs: Sequence[Design],
    side: str,
    variables: Sequence[tuple[int, str, str]],
    predictor: FloatArray,
    options: AnalysisOptions,
) -> CurveTests:
    """Test every variable in every design.

    Parameters:
        cells: the designs' rows. variables: (place in the cells' curves, name, unit).
        predictor: (cells,) of regressions.
    """
    tests: list[CurveTest] = []
    notes: list[tuple[str, str]] = []
    doubts: dict[str, list[tuple[str, str]]] = {}
    for design in designs:
        for number, variable, unit in variables:
            curves = [np.stack([cells[row].curves[number] for row in rows]) for rows in design.rows]
            if not any(np.isfinite(part).any() for part in curves):
                continue
            where = design.label + (f", {design.within}" if design.within else "")
            try:
                field, subjects = _field(design, curves, predictor, options.least_subjects)
                result = _inference(field, options)
            except (StatisticsError, np.linalg.LinAlgError) as error:
                notes.append((variable, f"not tested ({where}). {reason_of(error)}"))
                continue
            if subjects < (total := _subjects(design)):
                gaps = f"{total - subjects} of {total} subjects left out, their curves have too many gaps ({where})."
                notes.append((variable, gaps))
            for finding in result.diagnostics:
                doubts.setdefault(finding.code, []).append((f"{variable}, {where}", finding.message))
            tests.append(CurveTest(design, side, variable, unit, subjects, result))
    return CurveTests(
        tuple(tests), joined_notes(notes), tuple(joined_finding(code, found, "tests") for code, found in doubts.items())
    )


def _field(
    design: Design, curves: Sequence[FloatArray], predictor: FloatArray, least: int
) -> tuple[StatisticField, int]:
    """The statistic of a design, first level first in `curves` [(subjects, 101)], and how many subjects are in it."""
    kept = _complete(curves, design.same_people)
    parts = [part[rows] for part, rows in zip(curves, kept, strict=True)]
    fewest = min(len(part) for part in parts)
    if fewest < least:
        raise StatisticsError(f"{fewest} subjects have curves without large gaps, {least} are needed.")
    count = len(parts[0]) if design.same_people else sum(len(part) for part in parts)
    if design.kind == "paired":
        return spm.paired_t(parts[1], parts[0]), count
    if design.kind == "independent":
        # each group has its own variance: groups of patients and controls differ in it
        return spm.two_sample_t(parts[1], parts[0], equal_variance=False), count
    if design.kind == "regression":
        return spm.regression(parts[0], predictor[np.array(design.rows[0])][kept[0]]), count
    labels = np.repeat(np.array(design.levels, dtype=object), [len(part) for part in parts])
    stacked = np.vstack(parts)
    if design.kind == "anova":
        return spm.anova(stacked, labels), count
    people = np.tile(np.arange(count), len(parts))
    return spm.anova_repeated(stacked, labels, people, sphericity="greenhouse-geisser"), count


def _complete(curves: Sequence[FloatArray], same_people: bool) -> list[BoolArray]:
    """Which curves of each level have no large gaps; within people a subject needs all of its curves."""
    known = np.isfinite(np.vstack(curves))
    usual = known.mean(axis=0) >= 0.5
    if not usual.any():
        usual = known.any(axis=0)
    enough = (~known[:, usual]).mean(axis=1) <= LARGEST_MISSING_SHARE
    kept = np.split(enough, np.cumsum([len(part) for part in curves])[:-1])
    if same_people:
        everywhere = np.logical_and.reduce(kept)
        return [everywhere] * len(kept)
    return list(kept)


def _inference(field: StatisticField, options: AnalysisOptions) -> SpmResult:
    if options.inference == "permutation":
        return permutation_inference(field, options.alpha, permutations=options.permutations, seed=options.seed)
    return random_field_inference(field, options.alpha)


def _subjects(design: Design) -> int:
    return len(design.rows[0]) if design.same_people else sum(len(rows) for rows in design.rows)


def spm_table(tests: Sequence[CurveTest], adjusted: FloatArray) -> pd.DataFrame:
    """Return spm.csv: one row per cluster; a test without one has one row with an empty cluster. `adjusted` p of each test."""
    rows: list[list[Any]] = []
    for test, p_adjusted in zip(tests, adjusted, strict=True):
        field = test.result.field
        head = [
            *test.key,
            field.test, test.result.method, test.subjects, *field.df, field.fwhm, test.result.threshold, test.result.p,
            p_adjusted,
        ]  # fmt: skip
        clusters = [_cluster_row(i, cluster, field) for i, cluster in enumerate(test.result.clusters)]
        rows += [head + row for row in clusters or [[np.nan] * len(CLUSTER_COLUMNS)]]
    return pd.DataFrame(rows, columns=SPM_COLUMNS)


def _cluster_row(number: int, cluster: Cluster, field: StatisticField) -> list[Any]:
    inside = (cluster.start_percent <= PERCENT) & (cluster.end_percent >= PERCENT)
    inside[cluster.peak_node] = True  # a cluster may be narrower than a node
    effect = field.effect[inside]
    mean = float(np.nanmean(effect)) if np.isfinite(effect).any() else np.nan
    peak_percent = float(PERCENT[cluster.peak_node])
    return [number + 1, cluster.start_percent, cluster.end_percent, cluster.peak, peak_percent, cluster.p, mean]


def spm_curve_table(tests: Sequence[CurveTest]) -> pd.DataFrame:
    """Return spm_curves.csv: statistic, threshold, effect and its simultaneous band at every percent, NaN where not tested."""
    return pd.concat(list(_curve_parts(tests)), ignore_index=True) if tests else pd.DataFrame(columns=CURVE_COLUMNS)


def _curve_parts(tests: Sequence[CurveTest]) -> Iterator[pd.DataFrame]:
    for test in tests:
        lower, upper = test.result.band()
        values = {
            "percent": PERCENT,
            "statistic": test.result.z,
            "threshold": test.result.threshold,
            "effect": test.result.field.effect,
            "lower": lower,
            "upper": upper,
        }
        yield pd.DataFrame({**dict(zip(KEY_COLUMNS, test.key, strict=True)), **values})
