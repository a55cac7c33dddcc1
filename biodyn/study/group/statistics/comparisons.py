"""Compare conditions and groups: tests of curves (SPM) and numbers, corrected over their families, and mixed models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES, BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import StatisticsError
from biodyn.statistics.comparisons import compare_groups, compare_independent, compare_paired, holm_adjusted
from biodyn.statistics.mixed_models import MixedModel, fit_mixed_model
from biodyn.statistics.spm import designs as spm
from biodyn.statistics.spm.inference import Cluster, SpmResult, permutation_inference, random_field_inference
from biodyn.statistics.spm.linear_model import StatisticField
from biodyn.study.group.group_data import (
    GroupData,
    StatisticOutput,
    SubjectMean,
    failure_reason,
    group_statistic,
    merged_finding,
    merged_notes,
)
from biodyn.study.options import LEAST_SUBJECTS, AnalysisOptions
from biodyn.variables import PERCENT

Kind = Literal["paired", "independent", "repeated anova", "anova", "regression"]
Factor = Literal["condition", "group", "predictor"]


@dataclass(frozen=True)
class Design:
    """Statistical design of one comparison.

    Attributes:
        kind: kind of test. factor: compared factor.
        within: level of the other factor, "" if it has only one level.
        levels: compared levels; the effect of a pair is the second minus the first.
        rows: rows of the cells for each level. In designs within people, row i of every level is the same subject.
    """

    kind: Kind
    factor: Factor
    within: str
    levels: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]

    @property
    def is_within_subjects(self) -> bool:
        """Return whether every level is measured in the same subjects."""
        return self.kind in ("paired", "repeated anova")

    @property
    def family(self) -> str:
        """Return the family of tests that are corrected together: all of one kind and factor."""
        return f"{self.kind}, {self.factor}"

    @property
    def label(self) -> str:
        """Return a text for the comparison, such as "fast - slow"."""
        names = [level_name(level) for level in self.levels]
        if self.kind == "regression":
            return names[0]
        return f"{names[1]} - {names[0]}" if len(names) == 2 else ", ".join(names)


def comparison_designs(cells: Sequence[SubjectMean], options: AnalysisOptions) -> tuple[list[Design], list[str]]:
    """Return the comparisons that options and data allow, and notes on comparisons that are not possible.

    cells: means of each subject, condition and group.
    """
    conditions = _chosen_levels([cell.condition for cell in cells], options.conditions)
    groups = _chosen_levels([cell.group for cell in cells], options.groups)
    designs: list[Design] = []
    notes: list[str] = []
    if options.tests == ():
        return [], ["No comparisons were requested."]
    if is_requested(options, "paired", "anova"):
        for group in groups if len(conditions) > 1 else ():
            rows = _rows_by_level(cells, "condition", conditions, group)
            designs += _within_subject_designs(rows, group if len(groups) > 1 else "", options, notes)
    if is_requested(options, "independent", "anova"):
        for condition in conditions if len(groups) > 1 else ():
            rows = _rows_by_level(cells, "group", groups, condition)
            designs += _between_subject_designs(rows, condition if len(conditions) > 1 else "", options, notes)
    if options.predictor is not None and is_requested(options, "regression"):
        designs += _regression_designs(cells, conditions, options, notes)
    elif len(conditions) < 2 and len(groups) < 2:
        notes.append("There are no comparisons, because all trials have the same condition and group.")
    return designs, notes


def is_requested(options: AnalysisOptions, *tests: str) -> bool:
    """Return whether the options request one of these kinds of tests."""
    return options.tests == "auto" or any(test in options.tests for test in tests)


def level_name(level: str) -> str:
    """Return the name of a condition or group for texts, also if it is ""."""
    return level or "(no name)"


def _chosen_levels(present: Sequence[str], chosen: Sequence[str] | None) -> list[str]:
    levels = list(dict.fromkeys(present))
    return levels if chosen is None else [level for level in chosen if level in levels]


def _rows_by_level(
    cells: Sequence[SubjectMean], factor: Factor, levels: Sequence[str], within: str
) -> dict[str, dict[str, int]]:
    """Return the row of every subject for each level of a factor, within one level of the other factor."""
    other = "group" if factor == "condition" else "condition"
    return {
        level: {
            cell.subject: row
            for row, cell in enumerate(cells)
            if getattr(cell, factor) == level and getattr(cell, other) == within
        }
        for level in levels
    }


def _within_subject_designs(
    rows: dict[str, dict[str, int]], within: str, options: AnalysisOptions, notes: list[str]
) -> list[Design]:
    designs: list[Design] = []
    measured = [level for level, subjects in rows.items() if subjects]
    if len(measured) < 2:
        return designs
    where = f" in group {within}" if within else ""
    listed = ", ".join(level_name(level) for level in measured)
    shared = {pair: [s for s in rows[pair[0]] if s in rows[pair[1]]] for pair in combinations(measured, 2)}
    enough = {pair: both for pair, both in shared.items() if len(both) >= LEAST_SUBJECTS}
    if not enough:
        most = max(len(both) for both in shared.values())
        notes.append(
            f"Conditions are not compared{where}: each pair needs at least {LEAST_SUBJECTS} common subjects; the pairs of "
            f"{listed} have at most {most}."
        )
        return designs
    complete = [subject for subject in rows[measured[0]] if all(subject in rows[level] for level in measured)]
    if len(measured) > 2 and is_requested(options, "anova"):
        if len(complete) >= LEAST_SUBJECTS:
            designs.append(_make_within_subject_design("repeated anova", "condition", within, measured, rows, complete))
        else:
            notes.append(
                f"No repeated-measures analysis of variance of {listed}{where}: "
                f"{_subject_count_text(len(complete))} measured in all of "
                f"them, {LEAST_SUBJECTS} are needed."
            )
    for (first, second), both in shared.items() if is_requested(options, "paired") else ():
        if (first, second) in enough:
            designs.append(_make_within_subject_design("paired", "condition", within, [first, second], rows, both))
        else:
            notes.append(
                f"{level_name(second)} is not compared with {level_name(first)}{where}: "
                f"{_subject_count_text(len(both))} measured in both, "
                f"{LEAST_SUBJECTS} are needed."
            )
    return designs


def _between_subject_designs(
    rows: dict[str, dict[str, int]], within: str, options: AnalysisOptions, notes: list[str]
) -> list[Design]:
    designs: list[Design] = []
    where = f" in condition {within}" if within else ""
    enough = [level for level, subjects in rows.items() if len(subjects) >= LEAST_SUBJECTS]
    for level in rows:
        if level not in enough:
            notes.append(
                f"Group {level_name(level)} is not compared{where}: {_subject_count_text(len(rows[level]))} measured, "
                f"{LEAST_SUBJECTS} are needed."
            )
    shared = [s for a, b in combinations(enough, 2) for s in rows[a] if s in rows[b]]
    if shared:
        notes.append(
            f"Groups are not compared{where}: {shared[0]} belongs to more than one, so they are not independent."
        )
        return designs
    if len(enough) > 2 and is_requested(options, "anova"):
        designs.append(Design("anova", "group", within, tuple(enough), tuple(tuple(rows[x].values()) for x in enough)))
    for pair in combinations(enough, 2) if is_requested(options, "independent") else ():
        designs.append(Design("independent", "group", within, pair, tuple(tuple(rows[x].values()) for x in pair)))
    return designs


def _regression_designs(
    cells: Sequence[SubjectMean], conditions: Sequence[str], options: AnalysisOptions, notes: list[str]
) -> list[Design]:
    """Return one regression per condition on the predictor of each subject, with all groups together."""
    designs: list[Design] = []
    least = LEAST_SUBJECTS + 1  # a line has one parameter more than a mean
    for condition in conditions:
        members = [(row, cell.subject) for row, cell in enumerate(cells) if cell.condition == condition]
        within = condition if len(conditions) > 1 else ""
        if len(members) >= least and len({subject for _, subject in members}) == len(members):
            rows = (tuple(row for row, _ in members),)
            designs.append(Design("regression", "predictor", within, (str(options.predictor),), rows))
        else:
            notes.append(
                f"No regression on {options.predictor} in condition {level_name(condition)}: {_subject_count_text(len(members))} "
                f"measured, {least} are needed, each in one group."
            )
    return designs


def _make_within_subject_design(
    kind: Kind,
    factor: Factor,
    within: str,
    levels: Sequence[str],
    rows: dict[str, dict[str, int]],
    subjects: Sequence[str],
) -> Design:
    return Design(
        kind, factor, within, tuple(levels), tuple(tuple(rows[level][s] for s in subjects) for level in levels)
    )


def _subject_count_text(count: int) -> str:
    return {0: "no subject was", 1: "one subject was"}.get(count, f"{count} subjects were")


# -- Tests of numbers -----------------------------------------------------------------------------------------------


COMPARISON_COLUMNS = [
    "family", "factor", "within", "comparison", "side", "parameter", "unit", "test", "subjects", "first", "first_mean",
    "first_sd", "second", "second_mean", "second_sd", "difference", "low", "high", "statistic", "df1", "df2", "p",
    "p_adjusted", "effect_size", "effect", "effect_low", "effect_high", "rank_test", "rank_p",
]  # fmt: skip


def parameter_tests(
    cells: Sequence[SubjectMean],
    designs: Sequence[Design],
    side: str,
    parameters: Sequence[tuple[int, str, str]],
    options: AnalysisOptions,
) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Test every parameter in every design except regressions; return rows of comparisons.csv without p_adjusted, and notes.

    cells: rows of the designs. parameters: (index in the parameters of a cell, name, unit).
    """
    rows: list[dict[str, Any]] = []
    notes: list[tuple[str, str]] = []
    for design in designs:
        if design.kind == "regression":
            continue
        for place, name, unit in parameters:
            values = [np.array([cells[row].parameters[place] for row in level_rows]) for level_rows in design.rows]
            if not np.isfinite(np.concatenate(values)).any():
                continue
            where = f", {design.within}" if design.within else ""
            try:
                test_result = _test_parameter(design, values, options)
            except (StatisticsError, np.linalg.LinAlgError) as error:
                notes.append((name, f"not compared ({design.label}{where}). {failure_reason(error)}"))
                continue
            key = {
                "family": design.family,
                "factor": design.factor,
                "within": design.within,
                "comparison": design.label,
            }
            rows.append({**key, "side": side, "parameter": name, "unit": unit, **test_result})
    return rows, merged_notes(notes)


def family_adjusted_p(families: Sequence[str] | pd.Series, p: FloatArray | pd.Series) -> FloatArray:
    """Return the p-values adjusted for the number of tests in each family (Holm 1979)."""
    values = np.asarray(p, dtype=np.float64)
    result = np.full(values.shape, np.nan)
    labels = np.asarray(families, dtype=object)
    for family in dict.fromkeys(labels.tolist()):
        result[labels == family] = holm_adjusted(values[labels == family])
    return result


def _test_parameter(design: Design, values: Sequence[FloatArray], options: AnalysisOptions) -> dict[str, Any]:
    known = [np.isfinite(part) for part in values]
    if design.is_within_subjects:
        known = [np.logical_and.reduce(known)] * len(known)
    values = [part[rows] for part, rows in zip(values, known, strict=True)]
    fewest = min(len(part) for part in values)
    if fewest < LEAST_SUBJECTS:
        raise StatisticsError(f"The value is known for {fewest} subjects; {LEAST_SUBJECTS} are needed.")
    if design.kind in ("paired", "independent"):
        return _test_pair(design, values, 1.0 - options.alpha)
    count = fewest if design.is_within_subjects else sum(len(part) for part in values)
    joined = np.concatenate(values)
    levels = np.repeat(np.array(design.levels, dtype=object), [len(part) for part in values])
    if design.kind == "anova":
        result = compare_groups(joined, levels)
        return {
            "test": "one-way analysis of variance", "subjects": count, "statistic": result.f, "df1": result.df[0],
            "df2": result.df[1], "p": result.p, "effect_size": "omega squared", "effect": result.omega_squared,
            "rank_test": result.rank_test, "rank_p": result.rank_p,
        }  # fmt: skip
    people = np.tile(np.arange(fewest), len(values))
    test = fit_mixed_model(joined, people, {design.factor: levels}).tests[0]
    return {
        "test": "repeated measures (mixed model, Wald F)", "subjects": count, "statistic": test.f, "df1": test.df[0],
        "df2": test.df[1], "p": test.p,
    }  # fmt: skip


def _test_pair(design: Design, values: Sequence[FloatArray], confidence: float) -> dict[str, Any]:
    """Return the paired or unpaired test of the second level minus the first."""
    first, second = values
    result = (compare_paired if design.kind == "paired" else compare_independent)(second, first, confidence=confidence)
    return {
        "test": result.test, "subjects": result.counts[0] if design.is_within_subjects else sum(result.counts),
        "first": design.levels[0], "first_mean": result.means[1], "first_sd": result.sds[1],
        "second": design.levels[1], "second_mean": result.means[0], "second_sd": result.sds[0],
        "difference": result.difference, "low": result.low, "high": result.high,
        "statistic": result.t, "df1": 1.0, "df2": result.df, "p": result.p,
        "effect_size": result.effect.name, "effect": result.effect.value, "effect_low": result.effect.low,
        "effect_high": result.effect.high, "rank_test": result.rank_test, "rank_p": result.rank_p,
    }  # fmt: skip


# -- Tests of curves ------------------------------------------------------------------------------------------------


#: Largest share of missing nodes of an included subject, among nodes that at least half of the subjects have.
LARGEST_MISSING_SHARE = 0.1
KEY_COLUMNS = ["family", "factor", "within", "comparison", "side", "variable", "unit"]
TEST_COLUMNS = ["test", "inference", "subjects", "df1", "df2", "fwhm", "threshold", "p", "p_adjusted"]
CLUSTER_COLUMNS = ["cluster", "start_percent", "end_percent", "peak", "peak_percent", "p_cluster", "mean_effect"]
SPM_COLUMNS = [*KEY_COLUMNS, *TEST_COLUMNS, *CLUSTER_COLUMNS]
CURVE_COLUMNS = [*KEY_COLUMNS, "percent", "statistic", "threshold", "effect", "lower", "upper"]


@dataclass(frozen=True)
class CurveTest:
    """Test of one variable in one design; `subjects`: number of subjects with sufficiently complete curves."""

    design: Design
    side: str
    variable: str
    unit: str
    subjects: int
    result: SpmResult

    @property
    def key(self) -> list[str]:
        """Return the values of the columns `KEY_COLUMNS`, which identify the test."""
        design = self.design
        return [design.family, design.factor, design.within, design.label, self.side, self.variable, self.unit]


def curve_tests(
    cells: Sequence[SubjectMean],
    designs: Sequence[Design],
    side: str,
    variables: Sequence[tuple[int, str, str]],
    predictor: FloatArray,
    options: AnalysisOptions,
) -> tuple[list[CurveTest], tuple[str, ...], tuple[Diagnostic, ...]]:
    """Test every variable in every design; return tests, notes and findings.

    Parameters:
        cells: rows of the designs. variables: (index in the curves of a cell, name, unit).
        predictor: (cells,) predictor of regressions.
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
                field, subjects = _statistic_field(design, curves, predictor)
                infer = permutation_inference if options.inference == "permutation" else random_field_inference
                result = infer(field, options.alpha)
            except (StatisticsError, np.linalg.LinAlgError) as error:
                notes.append((variable, f"not tested ({where}). {failure_reason(error)}"))
                continue
            if subjects < (total := len(design.rows[0]) if design.is_within_subjects else sum(map(len, design.rows))):
                gaps = f"{total - subjects} of {total} subjects are excluded because their curves have too many gaps ({where})."
                notes.append((variable, gaps))
            for finding in result.diagnostics:
                doubts.setdefault(finding.code, []).append((f"{variable}, {where}", finding.message))
            tests.append(CurveTest(design, side, variable, unit, subjects, result))
    findings = tuple(merged_finding(code, messages, "tests") for code, messages in doubts.items())
    return tests, merged_notes(notes), findings


def _statistic_field(design: Design, curves: Sequence[FloatArray], predictor: FloatArray) -> tuple[StatisticField, int]:
    """Return the test statistic at every percent of the cycle for a design, and the number of subjects.

    curves: (subjects, 101) of each level.
    """
    included = _complete_curves(curves, design.is_within_subjects)
    parts = [part[rows] for part, rows in zip(curves, included, strict=True)]
    fewest = min(len(part) for part in parts)
    if fewest < LEAST_SUBJECTS:
        raise StatisticsError(f"{fewest} subjects have curves without large gaps, {LEAST_SUBJECTS} are needed.")
    count = len(parts[0]) if design.is_within_subjects else sum(len(part) for part in parts)
    if design.kind == "paired":
        return spm.paired_t(parts[1], parts[0]), count
    if design.kind == "independent":
        # separate variances, because those of patients and controls differ
        return spm.two_sample_t(parts[1], parts[0], equal_variance=False), count
    if design.kind == "regression":
        return spm.regression(parts[0], predictor[np.array(design.rows[0])][included[0]]), count
    labels = np.repeat(np.array(design.levels, dtype=object), [len(part) for part in parts])
    stacked = np.vstack(parts)
    if design.kind == "anova":
        return spm.anova(stacked, labels), count
    people = np.tile(np.arange(count), len(parts))
    return spm.anova_repeated(stacked, labels, people), count


def _complete_curves(curves: Sequence[FloatArray], same_people: bool) -> list[BoolArray]:
    """Return for each level a mask of the subjects with curves without large gaps.

    same_people: if True, a subject counts only if its curves are complete in all levels.
    """
    known = np.isfinite(np.vstack(curves))
    usual = known.mean(axis=0) >= 0.5
    if not usual.any():
        usual = known.any(axis=0)
    enough = (~known[:, usual]).mean(axis=1) <= LARGEST_MISSING_SHARE
    included = np.split(enough, np.cumsum([len(part) for part in curves])[:-1])
    if same_people:
        everywhere = np.logical_and.reduce(included)
        return [everywhere] * len(included)
    return list(included)


def spm_table(tests: Sequence[CurveTest], adjusted: FloatArray) -> pd.DataFrame:
    """Return spm.csv: one row per cluster, or one row without a cluster; `adjusted`: adjusted p of each test."""
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
    inside = (cluster.start <= PERCENT) & (cluster.end >= PERCENT)  # nodes are percents of the cycle
    inside[cluster.peak_node] = True  # a cluster may be narrower than a node
    effect = field.effect[inside]
    mean = float(np.nanmean(effect)) if np.isfinite(effect).any() else np.nan
    peak_percent = float(PERCENT[cluster.peak_node])
    return [number + 1, cluster.start, cluster.end, cluster.peak, peak_percent, cluster.p, mean]


def _curve_rows(test: CurveTest) -> pd.DataFrame:
    """Return the rows of spm_curves.csv for one test: statistic, threshold, effect and its simultaneous confidence band.

    There is one row per percent of the cycle; values are NaN where not tested.
    """
    lower, upper = test.result.confidence_band()
    values = {
        "percent": PERCENT,
        "statistic": test.result.field.z,
        "threshold": test.result.threshold,
        "effect": test.result.field.effect,
        "lower": lower,
        "upper": upper,
    }
    return pd.DataFrame({**dict(zip(KEY_COLUMNS, test.key, strict=True)), **values})


@group_statistic("comparisons", place=20)
def compute_comparisons(data: GroupData) -> StatisticOutput:
    """Return comparisons.csv, spm.csv and spm_curves.csv: tests of curves and numbers of each side or of the mean of both."""
    observations, options = data.observations, data.options
    curves, parameters = data.curves, data.parameters
    sides = SIDES if options.side == "each" else (options.side,)
    tests: list[CurveTest] = []
    rows: list[dict[str, Any]] = []
    reasons: list[str] = []
    notes: dict[str, list[str]] = {"spm": [], "comparisons": []}
    diagnostics: list[Diagnostic] = []
    names = [definition.name for definition in observations.definitions]
    for side in sides:
        cells = observations.subject_means(side)
        designs, design_notes = comparison_designs(cells, options)
        reasons += [note for note in design_notes if note not in reasons]
        predictor = np.full(len(cells), np.nan)
        if options.predictor is not None:
            predictor = np.array([cell.parameters[names.index(options.predictor)] for cell in cells])
        side_tests, curve_notes, findings = curve_tests(cells, designs, side, curves, predictor, options)
        side_rows, number_notes = parameter_tests(cells, designs, side, parameters, options)
        tests += side_tests
        rows += side_rows
        notes["spm"] += curve_notes
        notes["comparisons"] += number_notes
        diagnostics += findings
    p = family_adjusted_p([test.key[0] for test in tests], np.array([test.result.p for test in tests]))
    numbers = pd.DataFrame(rows, columns=COMPARISON_COLUMNS)
    numbers["p_adjusted"] = family_adjusted_p(numbers["family"], numbers["p"])
    tables = {
        "comparisons": numbers,
        "spm": spm_table(tests, p),
        "spm_curves": pd.concat(map(_curve_rows, tests), ignore_index=True)
        if tests
        else pd.DataFrame(columns=CURVE_COLUMNS),
    }
    if any(test.design.kind == "regression" for test in tests):
        notes["comparisons"].append(f"Only curves (spm) and no parameters are regressed on {options.predictor}.")
    for name, made in (("spm", len(tests)), ("comparisons", len(rows))):
        notes[name] = [*reasons, *(_method_sentences(options, name) if made else ()), *notes[name]]
    return StatisticOutput(tables, {name: tuple(sentences) for name, sentences in notes.items()}, tuple(diagnostics))


def _method_sentences(options: AnalysisOptions, name: str) -> tuple[str, ...]:
    unit = {
        "mean": "the mean of its right and left curve or number",
        "each": "the mean of each side, tested side by side",
        "r": "the mean of its right side",
        "l": "the mean of its left side",
    }[options.side]
    corrected = (
        " p_adjusted is corrected over all tests of a family (Holm 1979), which are the tests of one kind and factor."
    )
    method = "random field theory" if options.inference == "random_field" else "permutation"
    kind = f" Thresholds and p of clusters by {method}, each for one curve." if name == "spm" else ""
    return (f"One observation per subject and condition: {unit}.{kind}{corrected}",)


# -- Mixed models: value ~ condition * group, a random intercept for each subject -------------------------------------


MIXED_COLUMNS = [
    "parameter", "unit", "kind", "term", "estimate", "standard_error", "low", "high", "statistic", "df1", "df2", "p",
    "p_adjusted", "observations", "subjects", "subject_sd", "residual_sd", "icc", "converged",
]  # fmt: skip


@group_statistic("mixed_models", place=30)
def fit_mixed_models(data: GroupData) -> StatisticOutput:
    """Return mixed_models.csv: one row per coefficient (kind "term") and per effect (kind "effect") of every parameter.

    Observations are values of trials. Requires several conditions or groups, and several trials per subject.
    """
    trials, parameters, options = data.observations.trials, data.parameters, data.options
    empty = pd.DataFrame(columns=MIXED_COLUMNS)
    included = [
        (subject, condition, group, means)
        for subject, condition, group, means in trials
        if (options.conditions is None or condition in options.conditions)
        and (options.groups is None or group in options.groups)
    ]
    labels = {
        "condition": [condition for _, condition, _, _ in included],
        "group": [group for *_, group, _ in included],
    }
    factors = {name: levels for name, levels in labels.items() if len(set(levels)) > 1}
    subjects = [subject for subject, *_ in included]
    reason = _omission_reason(subjects, factors, options)
    if reason:
        return StatisticOutput({"mixed_models": empty}, {"mixed_models": (reason,)})
    crossed = len(factors) == 2 and _are_fully_crossed(factors)
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    failed: list[tuple[str, str]] = []
    doubts: dict[str, list[tuple[str, str]]] = {}
    model = None
    for place, name, unit in parameters:
        values = np.array([means[place] for *_, means in included])
        if not np.isfinite(values).any():
            continue
        try:
            model = fit_mixed_model(
                values,
                subjects,
                factors,
                interactions=[("condition", "group")] if crossed else [],
                references=_reference_levels(factors, options),
                confidence=1.0 - options.alpha,
            )
        except (StatisticsError, np.linalg.LinAlgError) as error:
            failed.append((name, f"no mixed model. {failure_reason(error)}"))
            continue
        rows += _mixed_model_rows(name, unit, model)
        for finding in model.diagnostics:
            doubts.setdefault(finding.code, []).append((name, finding.message))
    if model is not None:
        formula = " * ".join(factors) if crossed else " + ".join(factors)
        references = ", ".join(f"{name} {level_name(str(level))}" for name, level in model.references.items())
        notes.append(f"Values of each trial ~ {formula}, reference {references}. {model.methods_text()}")
    if len(factors) == 2 and not crossed:
        notes.append("No interaction of condition and group: some group was not measured in some condition.")
    table = pd.DataFrame(rows, columns=MIXED_COLUMNS)
    effects = table["kind"] == "effect"
    table.loc[effects, "p_adjusted"] = family_adjusted_p(table.loc[effects, "term"], table.loc[effects, "p"])
    return StatisticOutput(
        {"mixed_models": table},
        {"mixed_models": (*notes, *merged_notes(failed))},
        tuple(merged_finding(code, messages, "models") for code, messages in doubts.items()),
    )


def _omission_reason(subjects: Sequence[str], factors: Mapping[str, Sequence[str]], options: AnalysisOptions) -> str:
    """Return the reason why no mixed model is fitted, as a sentence; "" if one is."""
    if options.tests != "auto" and "mixed" not in options.tests:
        return "No mixed models were requested."
    if not factors:
        return "There are no mixed models, because all trials have the same condition and group."
    levels = len(set(factors.get("condition", ("",))))
    repeated = sum(count > levels for count in Counter(subjects).values())
    if repeated < LEAST_SUBJECTS:
        return (
            f"There are no mixed models: {LEAST_SUBJECTS} subjects with several trials in a condition are needed, "
            f"but there are {repeated or 'none'}. With one value per subject and condition the comparisons are equivalent."
        )
    return ""


def _are_fully_crossed(factors: Mapping[str, Sequence[str]]) -> bool:
    first, second = factors.values()
    return len(set(zip(first, second, strict=True))) == len(set(first)) * len(set(second))


def _reference_levels(factors: Mapping[str, Sequence[str]], options: AnalysisOptions) -> dict[str, str]:
    """Return the reference level of each factor: the first one in the options, else in the data."""
    chosen = {"condition": options.conditions or (), "group": options.groups or ()}
    return {
        name: next(level for level in (*chosen[name], *labels) if level in labels) for name, labels in factors.items()
    }


def _mixed_model_rows(parameter: str, unit: str, model: MixedModel) -> Iterator[dict[str, Any]]:
    common = {
        "parameter": parameter, "unit": unit, "observations": model.observations, "subjects": model.subjects,
        "subject_sd": float(np.sqrt(model.subject_variance)), "residual_sd": float(np.sqrt(model.residual_variance)),
        "icc": model.icc, "converged": model.converged,
    }  # fmt: skip
    for test in model.tests:
        yield {
            **common, "kind": "effect", "term": test.effect, "statistic": test.f, "df1": test.df[0], "df2": test.df[1],
            "p": test.p,
        }  # fmt: skip
    for term in model.terms:
        yield {
            **common, "kind": "term", "term": term.term, "estimate": term.estimate,
            "standard_error": term.standard_error, "low": term.low, "high": term.high, "statistic": term.t, "df1": 1.0,
            "df2": term.df, "p": term.p,
        }  # fmt: skip
