"""Comparisons of conditions and groups: tests of curves (SPM) and of numbers, corrected over their families."""

from __future__ import annotations

import numpy as np

from biodyn.conventions import SIDES
from biodyn.diagnostics import Diagnostic
from biodyn.study.group.designs import (
    CurveTest,
    adjusted,
    comparison_table,
    curve_tests,
    designs_of,
    number_tests,
    spm_curve_table,
    spm_table,
)
from biodyn.study.group.options import AnalysisOptions
from biodyn.study.group.registry import Found, GroupData, group_statistic


@group_statistic("comparisons", place=20)
def comparisons(data: GroupData) -> Found:
    """comparisons.csv, spm.csv and spm_curves.csv: tests of curves and numbers of each side, or of the mean of both."""
    observations, options = data.observations, data.options
    curves, parameters = data.curves, data.parameters
    sides = SIDES if options.side == "each" else (options.side,)
    tests: list[CurveTest] = []
    rows: list[dict[str, object]] = []
    reasons: list[str] = []
    notes: dict[str, list[str]] = {"spm": [], "comparisons": []}
    diagnostics: list[Diagnostic] = []
    names = [definition.name for definition in observations.definitions]
    for side in sides:
        cells = observations.per_subject(side)
        designs = designs_of(cells, options)
        reasons += [note for note in designs.notes if note not in reasons]
        predictor = np.full(len(cells), np.nan)
        if options.predictor is not None:
            predictor = np.array([cell.parameters[names.index(options.predictor)] for cell in cells])
        on_curves = curve_tests(cells, designs.designs, side, curves, predictor, options)
        on_numbers = number_tests(cells, designs.designs, side, parameters, options)
        tests += on_curves.tests
        rows += on_numbers.rows
        notes["spm"] += on_curves.notes
        notes["comparisons"] += on_numbers.notes
        diagnostics += on_curves.diagnostics
    p = adjusted([test.key[0] for test in tests], np.array([test.result.p for test in tests]))
    tables = {
        "comparisons": comparison_table(rows),
        "spm": spm_table(tests, p),
        "spm_curves": spm_curve_table(tests),
    }
    if any(test.design.kind == "regression" for test in tests):
        notes["comparisons"].append(f"Parameters are not regressed on {options.predictor}; curves are (spm).")
    for name, made in (("spm", len(tests)), ("comparisons", len(rows))):
        notes[name] = [*reasons, *(_what_was_done(options, name) if made else ()), *notes[name]]
    return Found(tables, {name: tuple(found) for name, found in notes.items()}, tuple(diagnostics))


def _what_was_done(options: AnalysisOptions, name: str) -> tuple[str, ...]:
    unit = {
        "mean": "the mean of its right and left curve or number",
        "each": "the mean of each side, tested side by side",
        "r": "the mean of its right side",
        "l": "the mean of its left side",
    }[options.side]
    corrected = " p_adjusted is corrected over all tests of a family (Holm 1979); a family are the tests of one kind and factor."
    method = "random field theory" if options.inference == "random_field" else "permutation"
    kind = f" Thresholds and p of clusters by {method}, each for one curve." if name == "spm" else ""
    return (f"One observation per subject and condition: {unit}.{kind}{corrected}",)
