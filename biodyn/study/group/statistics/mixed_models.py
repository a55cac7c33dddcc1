"""Linear mixed models of discrete parameters: value ~ condition * group, a random intercept for each subject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from biodyn.errors import StatisticsError
from biodyn.statistics.mixed import MixedModel, mixed_model
from biodyn.study.group.registry import (
    Found,
    GroupData,
    TrialMean,
    group_statistic,
    joined_finding,
    joined_notes,
    reason_of,
)
from biodyn.study.group.statistics.comparisons import adjusted, named
from biodyn.study.options import LEAST_SUBJECTS, AnalysisOptions

MIXED_COLUMNS = [
    "parameter", "unit", "kind", "term", "estimate", "standard_error", "low", "high", "statistic", "df1", "df2", "p",
    "p_adjusted", "observations", "subjects", "subject_sd", "residual_sd", "icc", "converged",
]  # fmt: skip


@group_statistic("mixed_models", place=30)
def mixed_models(data: GroupData) -> Found:
    """Return mixed_models.csv: a row per coefficient (kind "term") and per effect (kind "effect") of every parameter.

    Observations are values of trials. Requires several conditions or groups, and several trials per subject.
    """
    trials, parameters, options = data.observations.trials, data.parameters, data.options
    empty = pd.DataFrame(columns=MIXED_COLUMNS)
    included = _chosen(trials, options)
    factors = {
        name: labels
        for name, labels in (("condition", [t.condition for t in included]), ("group", [t.group for t in included]))
        if len(set(labels)) > 1
    }
    reason = _why_not(included, factors, options)
    if reason:
        return Found({"mixed_models": empty}, {"mixed_models": (reason,)})
    crossed = len(factors) == 2 and _all_cells(factors)
    interactions = [tuple(factors)] if crossed else []
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    failed: list[tuple[str, str]] = []
    doubts: dict[str, list[tuple[str, str]]] = {}
    model = None
    for place, name, unit in parameters:
        values = np.array([trial.parameters[place] for trial in included])
        if not np.isfinite(values).any():
            continue
        try:
            model = mixed_model(
                values,
                [trial.subject for trial in included],
                factors,
                interactions=[(pair[0], pair[1]) for pair in interactions],
                references={factor: levels[0] for factor, levels in _ordered(factors, options).items()},
                confidence=1.0 - options.alpha,
            )
        except (StatisticsError, np.linalg.LinAlgError) as error:
            failed.append((name, f"no mixed model. {reason_of(error)}"))
            continue
        rows += _rows(name, unit, model)
        for finding in model.diagnostics:
            doubts.setdefault(finding.code, []).append((name, finding.message))
    if model is not None:
        formula = " * ".join(factors) if crossed else " + ".join(factors)
        references = ", ".join(f"{name} {named(str(level))}" for name, level in model.references.items())
        notes.append(f"Values of each trial ~ {formula}, reference {references}. {model.methods()}")
    if len(factors) == 2 and not crossed:
        notes.append("No interaction of condition and group: some group was not measured in some condition.")
    table = pd.DataFrame(rows, columns=MIXED_COLUMNS)
    effects = table["kind"] == "effect"
    table.loc[effects, "p_adjusted"] = adjusted(table.loc[effects, "term"], table.loc[effects, "p"])
    return Found(
        {"mixed_models": table},
        {"mixed_models": (*notes, *joined_notes(failed))},
        tuple(joined_finding(code, messages, "models") for code, messages in doubts.items()),
    )


def _chosen(trials: Sequence[TrialMean], options: AnalysisOptions) -> list[TrialMean]:
    return [
        trial
        for trial in trials
        if (options.conditions is None or trial.condition in options.conditions)
        and (options.groups is None or trial.group in options.groups)
    ]


def _why_not(trials: Sequence[TrialMean], factors: Mapping[str, Sequence[str]], options: AnalysisOptions) -> str:
    """A sentence where no mixed model is fitted, "" where it is."""
    if options.tests != "auto" and "mixed" not in options.tests:
        return "No mixed models were asked for."
    if not factors:
        return "No mixed models: all trials have one condition and one group."
    counts: dict[str, int] = {}
    for trial in trials:
        counts[trial.subject] = counts.get(trial.subject, 0) + 1
    levels = len(set(factors.get("condition", ("",))))
    repeated = sum(count > levels for count in counts.values())
    if repeated < LEAST_SUBJECTS:
        return (
            f"No mixed models: several trials in a condition are needed of {LEAST_SUBJECTS} subjects, there are "
            f"{repeated or 'none'}; with one value per subject and condition the comparisons say the same."
        )
    return ""


def _all_cells(factors: Mapping[str, Sequence[str]]) -> bool:
    first, second = factors.values()
    return len(set(zip(first, second, strict=True))) == len(set(first)) * len(set(second))


def _ordered(factors: Mapping[str, Sequence[str]], options: AnalysisOptions) -> dict[str, list[str]]:
    """Return the levels of each factor, first the levels of the options in their order."""
    chosen = {"condition": options.conditions or (), "group": options.groups or ()}
    return {
        name: [level for level in dict.fromkeys((*chosen[name], *labels)) if level in labels]
        for name, labels in factors.items()
    }


def _rows(parameter: str, unit: str, model: MixedModel) -> Iterator[dict[str, Any]]:
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
