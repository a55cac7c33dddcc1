"""Everything that compares subjects' means: scores, symmetry, tests of curves and numbers, mixed models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES
from biodyn.diagnostics import Diagnostic
from biodyn.study.group.curve_tests import CurveTest, curve_tests, spm_curve_table, spm_table
from biodyn.study.group.designs import designs_of
from biodyn.study.group.mixed_models import mixed_models
from biodyn.study.group.number_tests import adjusted, comparison_table, number_tests
from biodyn.study.group.observations import Observations
from biodyn.study.group.options import AnalysisOptions
from biodyn.study.group.scores import Reference, group_reference, norm_reference, score_table
from biodyn.study.group.symmetry import symmetry_table
from biodyn.variables import load_norms, usual_norms


@dataclass(frozen=True)
class Compared:
    """Tables and sentences by the name of the table, and doubts."""

    tables: dict[str, pd.DataFrame]
    notes: dict[str, tuple[str, ...]]
    diagnostics: tuple[Diagnostic, ...]


def compared(
    observations: Observations, units: Mapping[str, str], parameter_units: Sequence[str], options: AnalysisOptions
) -> Compared:
    """Compare the means of all subjects; `units` by variable, `parameter_units` in the order of the definitions."""
    variables = observations.variables
    curves = [(variables.index(name), name, units[name]) for name in options.curve_variables if name in units]
    names = [definition.name for definition in observations.definitions]
    parameters = [(names.index(name), name, parameter_units[names.index(name)]) for name in options.compared_parameters]
    scores = score_table(observations.cells, variables, _reference(observations, options))
    mixed = mixed_models(observations.trials, parameters, options)
    found = _tests(observations, curves, parameters, options)
    tables = {"gait_scores": scores.table, **found.tables, "mixed_models": mixed.table}
    notes = {"gait_scores": scores.notes, **found.notes, "mixed_models": mixed.notes}
    if options.symmetry:
        tables["symmetry"] = symmetry_table(observations.cells, observations.definitions, list(parameter_units), curves)
        notes["symmetry"] = _symmetry_notes(tables["symmetry"])
    return Compared(tables, notes, found.diagnostics + mixed.diagnostics)


def _reference(observations: Observations, options: AnalysisOptions) -> Reference:
    if options.reference_group is not None:
        return group_reference(observations.cells, options.reference_group, observations.variables)
    named = options.norms not in ("none", "auto")
    return norm_reference(load_norms(options.norms) if named else usual_norms()[0])


def _tests(
    observations: Observations,
    curves: Sequence[tuple[int, str, str]],
    parameters: Sequence[tuple[int, str, str]],
    options: AnalysisOptions,
) -> Compared:
    """Tests of curves and numbers of each side, or of the mean of both."""
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
    p = adjusted([test.key[0] for test in tests], np.array([test.result.p for test in tests]), options)
    tables = {
        "comparisons": comparison_table(rows, options),
        "spm": spm_table(tests, p),
        "spm_curves": spm_curve_table(tests),
    }
    if any(test.design.kind == "regression" for test in tests):
        notes["comparisons"].append(f"Parameters are not regressed on {options.predictor}; curves are (spm).")
    for name, made in (("spm", len(tests)), ("comparisons", len(rows))):
        notes[name] = [*reasons, *(_what_was_done(options, name) if made else ()), *notes[name]]
    return Compared(tables, {name: tuple(found) for name, found in notes.items()}, tuple(diagnostics))


def _what_was_done(options: AnalysisOptions, name: str) -> tuple[str, ...]:
    unit = {
        "mean": "the mean of its right and left curve or number",
        "each": "the mean of each side, tested side by side",
        "r": "the mean of its right side",
        "l": "the mean of its left side",
    }[options.side]
    corrected = "" if options.correction == "none" else (
        " p_adjusted is corrected over all tests of a family (Holm 1979); a family are the tests of one kind and factor."
    )  # fmt: skip
    method = "random field theory" if options.inference == "random_field" else "permutation"
    kind = f" Thresholds and p of clusters by {method}, each for one curve." if name == "spm" else ""
    return (f"One observation per subject and condition: {unit}.{kind}{corrected}",)


def _symmetry_notes(table: pd.DataFrame) -> tuple[str, ...]:
    if not len(table):
        return ("No symmetry: no subject has cycles of both sides.",)
    return (
        "Symmetry of each subject: right minus left; symmetry index 100 (R - L) / (0.5 (R + L)) (Robinson et al. 1987) and "
        "symmetry angle (Zifchock et al. 2008) in percent; of curves the root mean square of right minus left.",
    )
