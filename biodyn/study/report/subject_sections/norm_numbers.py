"""Spatio-temporal parameters, dimensionless ones and peaks of a subject against norms that fit the person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.output.report.numbers import NumberRow, number_rows
from biodyn.output.report.page import Data
from biodyn.study.group.curves import mean_and_sd
from biodyn.study.group.subject_cycles import SubjectCycles
from biodyn.study.report.subject_page import SECTIONS, SubjectPage
from biodyn.study.report.table import Table, table
from biodyn.variables import choose_norms, variable

_TEMPLATE = """
{% for part in parts %}
{% if parts | length > 1 %}<h3>{{ part.title }}</h3>{% endif %}
{{ sentences(part.reasons) }}
{{ table(part.rows) }}
{% for source in part.sources %}<p class="small quiet">{{ source }}</p>{% endfor %}
{% endfor %}
<p class="small quiet">Mean over the cycles. Dimensionless: lengths by leg length, times by √(l/g), speed by √(g l) (Hof 1996). ↑ ↓: beyond the range of 95 % of the norm's people.</p>
"""


@SECTIONS.section("norms", place=35, title="Against norms", link="Norms", template=_TEMPLATE)
def norm_numbers(page: SubjectPage) -> Data | None:
    """A table a session and condition; None where there is no cycle."""
    found = norm_parts(page)
    return {"parts": found} if found else None


def norm_parts(page: SubjectPage) -> list[dict[str, Any]]:
    """Of every session and condition: its title, why these norms, the table of numbers, and the sources."""
    if page.data is None or page.walker is None:
        return []
    cells: dict[tuple[str, ...], dict[str, np.ndarray]] = {}
    for key, rows in page.data.cells():
        cells.setdefault(key[:2], {})[key[3]] = rows
    parts = []
    for key, sides in cells.items():
        strides, curves = _means(page.data, sides)
        speeds = [values.get("speed_m_s", np.nan) for values in strides.values()]
        activity = _activity(page, key[0], key[1]) or page.walker.activity
        walker = replace(page.walker, speed_m_s=float(np.mean(speeds)), activity=activity)
        choice = choose_norms(page.norm_setting, walker)
        parts.append(
            {
                "title": ", ".join(filter(None, key)) or "All cycles",
                "reasons": choice.reasons,
                "rows": _table(number_rows(strides, curves, walker, choice.norms)),
                "sources": [f"{one.words}: {one.citation}. Licence: {one.licence}." for one in choice.norms],
            }
        )
    return parts


def _activity(page: SubjectPage, session: str, condition: str) -> str:
    """What the person does in the trials of a condition, "" where they differ or none of them tells."""
    own = [trial for trial in page.trials if trial.done and (trial.session, trial.condition) == (session, condition)]
    found = {trial.metrics.get("activity", "") for trial in own if not trial.excluded}
    return found.pop() if len(found) == 1 else ""


def _means(
    data: SubjectCycles, sides: Mapping[str, np.ndarray]
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, FloatArray]]]:
    """Mean parameters of the stride by side, and mean curves in the clinical sign by variable and side."""
    strides: dict[str, dict[str, float]] = {}
    curves: dict[str, dict[str, FloatArray]] = {}
    for side, rows in sides.items():
        strides[side] = {name: float(mean_and_sd(data.stride(name)[rows])[0]) for name in data.stride_columns}
        means = mean_and_sd(data.values[rows])[0]
        for number, name in enumerate(data.variables):
            curves.setdefault(name, {})[side] = variable(name).clinical(side) * means[number]
    return strides, curves


def _table(rows: list[NumberRow]) -> Table:
    heads = ("parameter", "unit", "#right", "#left", "#norm: mean (95 % of people)", "norm of")
    return table(heads, [(r.title, r.unit_text, r.text("r"), r.text("l"), r.norm_text, r.whose) for r in rows])
