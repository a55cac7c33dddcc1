"""The group results as tables for people: one function a section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES
from biodyn.study.report.curve_figures import TEST_KEY, View, test_letters
from biodyn.study.report.means import BOTH, Cell
from biodyn.study.report.source import parts_of, rows_of, subject_link
from biodyn.study.report.table import Table, Value, link, table
from biodyn.study.report.words import MISSING, Names, level_words, number, probability, side_words, spread, unit
from biodyn.variables import variable


@dataclass(frozen=True)
class Section:
    """A table with a title; `long` ones are folded up."""

    title: str
    table: Table
    long: bool = False


def cell_words(cell: Cell, cells: Sequence[Cell]) -> str:
    """A condition and group in words; only what differs between the cells."""
    several = [len({other[i] for other in cells}) > 1 for i in (0, 1)]
    words = [level_words(cell[i], factor) for i, factor in enumerate(("condition", "group")) if several[i]]
    return ", ".join(words)


def parameter_table(means: pd.DataFrame, names: Names, shown: Sequence[str], cells: Sequence[Cell]) -> Table:
    """Mean ± SD between subjects of each parameter: one column per condition and group, or a side where there is one."""
    columns = [(cell_words(cell, cells), cell, BOTH) for cell in cells]
    if len(cells) == 1:
        columns = [(side_words(side), cells[0], side) for side in (*SIDES, BOTH)]
    found = {
        (row.parameter, row.condition, row.group, row.side): row for row in rows_of(means) if row.parameter in shown
    }
    rows = []
    for name in shown:
        title, of = names.parameters.get(name, (name, ""))
        values = [found.get((name, *cell, side)) for _, cell, side in columns]
        if not any(values):
            continue
        texts = [MISSING if v is None else f"{spread(v.mean, v.sd, of)} ({v.subjects:.0f})" for v in values]
        rows.append((title, unit(of), *texts))
    return table(("parameter", "unit", *(f"#{words}" for words, _, _ in columns)), rows)


def comparison_sections(comparisons: pd.DataFrame, names: Names, alpha: float) -> list[Section]:
    """A table a comparison: means of both, difference with its interval, effect size, p; several levels at once: F."""
    if not len(comparisons):
        return []
    found = []
    for (_, within, comparison, side), rows in parts_of(comparisons, "family", "within", "comparison", "side"):
        pair = bool((rows["second"] != "").any())
        first = rows.iloc[0]
        title = f"{first['test'][:1].upper()}{first['test'][1:]}: {_versus(comparison)}" + (
            f" ({within})" if within else ""
        )
        title += "" if side == BOTH else f", {side_words(side)} side"
        strong = [i for i, p in enumerate(rows["p_adjusted"]) if p < alpha]
        made = _pair_table(rows, names, strong) if pair else _several_table(rows, names, strong)
        found.append(Section(title, made, True))
    return found


def _pair_table(rows: pd.DataFrame, names: Names, strong: Sequence[int]) -> Table:
    first = rows.iloc[0]
    heads = (
        "parameter", "unit", f"#{level_words(first['first'], 'name')}", f"#{level_words(first['second'], 'name')}",
        "#difference (interval)", f"#{_effect(first['effect_size'])}", "#p", "#p corrected", "#p of ranks", "#n",
    )  # fmt: skip
    cells = [
        (
            names.title(r.parameter), unit(r.unit), spread(r.first_mean, r.first_sd, r.unit),
            spread(r.second_mean, r.second_sd, r.unit), _interval(r), number(r.effect), probability(r.p),
            probability(r.p_adjusted), probability(r.rank_p), f"{r.subjects:.0f}",
        )
        for r in rows_of(rows)
    ]  # fmt: skip
    return table(heads, cells, strong)


def _interval(row: Any) -> str:
    low, high = number(row.low, row.unit), number(row.high, row.unit)
    return f"{number(row.difference, row.unit)} ({low} to {high})"


def _several_table(rows: pd.DataFrame, names: Names, strong: Sequence[int]) -> Table:
    effect = _effect(rows.iloc[0]["effect_size"])
    heads = ("parameter", "unit", "#F", "#degrees of freedom", f"#effect size ({effect})", "#p", "#p corrected",
             "#p of ranks", "#subjects")  # fmt: skip
    cells = [
        (
            names.title(r.parameter), unit(r.unit), number(r.statistic), f"{r.df1:g}, {r.df2:.3g}", number(r.effect),
            probability(r.p), probability(r.p_adjusted), probability(r.rank_p), f"{r.subjects:.0f}",
        )
        for r in rows_of(rows)
    ]  # fmt: skip
    return table(heads, cells, strong)


def _effect(name: object) -> str:
    return {"dz": "Cohen's dz", "g": "Hedges' g"}.get(str(name), str(name) or "none")


def cluster_table(view: View, names: Names, alpha: float) -> Table:
    """The supra-threshold parts of the curves of a view; signs as in the figures."""
    tests = view.tests
    if not len(tests):
        return table((), ())
    letters = test_letters(tests)
    rows: list[tuple[Value, ...]] = []
    strong: list[int] = []
    for r in rows_of(tests[tests["start_percent"].notna()]):
        # differences and slopes have a direction, F has none
        sign = 1.0 if "anova" in r.family else variable(r.variable).clinical(SIDES[0])
        if r.p_adjusted < alpha:
            strong.append(len(rows))
        rows.append((
            letters[tuple(getattr(r, name) for name in TEST_KEY)], names.title(r.variable),
            "" if r.side == BOTH else side_words(r.side), f"{r.start_percent:.0f} to {r.end_percent:.0f}",
            probability(r.p_cluster), probability(r.p_adjusted), number(sign * r.mean_effect, r.unit), unit(r.unit),
            number(sign * r.peak), number(r.threshold), f"{r.subjects:.0f}",
        ))  # fmt: skip
    heads = ("test", "variable", "side", "#% of the cycle", "#p", "#p of the curve, corrected", "#mean effect there",
             "unit", "#peak statistic", "#threshold", "#n")  # fmt: skip
    return table(heads, rows, strong)


def test_lines(view: View) -> list[str]:
    """What each row below the panels compares, and how many curves differ in it."""
    if not len(view.tests):
        return []
    found = []
    letters = test_letters(view.tests)
    for key, rows in parts_of(view.tests, *TEST_KEY):
        _, within, comparison, side = key
        curves = rows["variable"].nunique()
        beyond = rows[rows["start_percent"].notna()]["variable"].nunique()
        first = rows.iloc[0]
        where = f" in {within}" if within and first["factor"] == "predictor" else ""
        sides = "" if side == BOTH else f", {side_words(side)} side"
        found.append(
            f"{letters[key]}: {_versus(comparison)}{where}{sides} ({first['test']}, n {first['subjects']:.0f}): "
            f"{beyond} of {curves} curves beyond the threshold."
        )
    return found


def _versus(comparison: str) -> str:
    return comparison.replace(" - ", " − ")


def mixed_tables(models: pd.DataFrame, names: Names, alpha: float) -> tuple[Table, Table]:
    """Whole effects (tests) and coefficients of the mixed models."""
    if not len(models):
        return table((), ()), table((), ())
    effects = models[models["kind"] == "effect"]
    strong = [i for i, p in enumerate(effects["p_adjusted"]) if p < alpha]
    tests = table(
        ("parameter", "effect", "#F", "#degrees of freedom", "#p", "#p corrected", "#between subjects, SD",
         "#within, SD", "unit", "#values"),
        [
            (
                names.title(r.parameter), _term(r.term), number(r.statistic), f"{r.df1:g}, {r.df2:.3g}", probability(r.p),
                probability(r.p_adjusted), number(r.subject_sd, r.unit), number(r.residual_sd, r.unit), unit(r.unit),
                f"{r.observations:.0f}",
            )
            for r in rows_of(effects)
        ],
        strong,
    )  # fmt: skip
    terms = table(
        ("parameter", "term", "unit", "#estimate", "#confidence interval", "#p"),
        [
            (
                names.title(r.parameter), _term(r.term), unit(r.unit), number(r.estimate, r.unit),
                f"{number(r.low, r.unit)} to {number(r.high, r.unit)}", probability(r.p),
            )
            for r in rows_of(models[models["kind"] != "effect"])
        ],
    )  # fmt: skip
    return tests, terms


def _term(term: str) -> str:
    return term.replace(":", " × ")


def symmetry_table(symmetry: pd.DataFrame, names: Names, shown: Sequence[str] | None, kind: str) -> Table:
    """Means over subjects of the symmetry of parameters or curves, by condition and group."""
    if not len(symmetry):
        return table((), ())
    own = symmetry[symmetry["kind"] == kind]
    if shown is not None:
        own = own[own["name"].isin(shown)]
    rows = []
    condition_of = _condition_words(own)
    for (name, condition, group), part in parts_of(own, "name", "condition", "group"):
        of = str(part["unit"].iloc[0])
        subject = part.groupby("subject", sort=False)[["right", "left", "difference", "symmetry_index"]].mean()
        mean, sd = subject.mean(), subject.std()
        rows.append((
            names.title(name), condition_of[condition], group, unit(of), spread(mean["right"], sd["right"], of),
            spread(mean["left"], sd["left"], of), spread(mean["difference"], sd["difference"], of),
            spread(mean["symmetry_index"], sd["symmetry_index"], "%"), str(len(subject)),
        ))  # fmt: skip
    difference = "#right − left" if kind == "parameter" else "#right − left, RMS over the cycle"
    heads = (kind, "condition", "group", "unit", "#right", "#left", difference, "#symmetry index (%)", "#subjects")
    return table(heads, rows)


def _condition_words(rows: pd.DataFrame) -> dict[str, str]:
    """Conditions in words; nothing where there is one without a name."""
    found = list(dict.fromkeys(rows["condition"]))
    return {condition: level_words(condition, "condition") if len(found) > 1 else condition for condition in found}


def repeatability_table(found: pd.DataFrame, names: Names, shown: Sequence[str] | None, kind: str, level: str) -> Table:
    """SEM, MDC, CMC and ICC of parameters or curves, within or between sessions."""
    if not len(found):
        return table((), ())
    own = found[(found["kind"] == kind) & (found["level"] == level)]
    condition_of = _condition_words(found)
    if shown is not None:
        own = own[own["name"].isin(shown)]
    heads = (kind, "condition", "side", "unit", "#mean", "#SD", "#SEM", "#MDC95", "#CMC", "#ICC(2,1)", "#95 % interval",
             "#ICC(3,1)", "#subjects", "#measurements")  # fmt: skip
    rows = [
        (
            names.title(r.name), condition_of[r.condition], side_words(r.side), unit(r.unit), number(r.mean, r.unit),
            number(r.sd, r.unit), number(r.sem, r.unit), number(r.mdc95, r.unit), number(r.cmc), number(r.icc_2_1),
            f"{number(r.icc_2_1_low)} to {number(r.icc_2_1_high)}" if np.isfinite(r.icc_2_1) else "", number(r.icc_3_1),
            number_of(r.subjects), number_of(r.measurements),
        )
        for r in rows_of(own)
    ]  # fmt: skip
    return table(heads, rows)


def number_of(count: float) -> str:
    """A count."""
    return f"{count:.0f}" if np.isfinite(count) else MISSING


def score_table(scores: pd.DataFrame, labels: Sequence[str], columns: Sequence[str], of_one: bool = False) -> Table:
    """Scores of every subject, or `of_one`, by session, condition and side."""
    rows = [
        (
            *(() if of_one else (link(subject_link(r["subject"]), r["subject"]), r["group"])), r["session"],
            r["condition"], "both" if r["side"] == "both" else side_words(r["side"]),
            *(number(r[column], "deg") for column in columns),
        )
        for r in scores.to_dict("records")
    ]  # fmt: skip
    heads = (*(() if of_one else ("subject", "group")), "session", "condition", "side")
    return table((*heads, *(f"#{label}" for label in labels)), rows)


def outlier_table(cycles: pd.DataFrame) -> Table:
    """Cycles unlike the others of their subject, the farthest first."""
    if not len(cycles):
        return table((), ())
    odd = cycles[cycles["outlier"]].assign(times=lambda t: t["distance"] / t["limit"])
    odd = odd.sort_values("times", ascending=False, kind="stable")
    rows = [
        (
            link(subject_link(r.subject), r.subject), r.session, r.condition, r.trial, side_words(r.side), f"{r.cycle:.0f}",
            f"{r.distance:.3f}", f"{r.limit:.3f}",
        )
        for r in rows_of(odd)
    ]  # fmt: skip
    heads = ("subject", "session", "condition", "trial", "side", "#cycle", "#distance to the median cycle", "#limit")
    return table(heads, rows)
