"""Linear mixed models of the parameters."""

from __future__ import annotations

import pandas as pd

from biodyn.output.report.page import Data
from biodyn.study.report.source import rows_of
from biodyn.study.report.study_page import SECTIONS, StudyPage
from biodyn.study.report.table import Table, table
from biodyn.study.report.words import Names, number, probability, unit

_TEMPLATE = """
{{ sentences(notes("mixed_models")) }}
{% if effects %}{{ folded("Effects", effects, true) }}{{ folded("Coefficients", coefficients) }}{% endif %}
"""


@SECTIONS.section("mixed", place=80, title="Mixed models", link="Mixed models", template=_TEMPLATE)
def mixed_models(page: StudyPage) -> Data | None:
    """Effects and coefficients; None where there is nothing to say of them."""
    effects, coefficients = mixed_tables(page.table("mixed_models"), page.names, page.options.alpha)
    if not page.views or not (effects or page.notes("mixed_models")):
        return None
    found = {"effects": effects, "coefficients": coefficients}
    return found if effects else {**found, "link": ""}


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
