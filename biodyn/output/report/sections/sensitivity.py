"""What other choices do to the moments, where they were tried."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from biodyn.output.figures.curves import display_table
from biodyn.output.figures.trial.quality import level_words
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.variables import variable

_TEMPLATE = """
{{ pictures("sensitivity") }}
<div class="scroll"><table><thead><tr><th>factor</th><th>level</th>{% for label in heads.values() %}<th class="number">{{ label }} (%)</th>{% endfor %}</tr></thead><tbody>
{% for row in rows %}
<tr><td>{{ row.factor }}</td><td>{{ row.level }}</td>{% for name in heads %}<td class="number">{{ row.cells.get(name, "–") }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
<p class="small quiet">Change of the peak / rms change over the cycle, per cent of the peak, mean of both sides. All moments: <span class="mono">tables/sensitivity</span>
and <span class="mono">tables/sensitivity_summary</span>.</p>
"""


@SECTIONS.section("sensitivity", place=120, title="Sensitivity to modelling choices", folded=True, template=_TEMPLATE)
def sensitivity(page: TrialPage) -> Data | None:
    """A row a level; None where the trial was analysed once only."""
    rows = sensitivity_rows(page.tables)
    return {"rows": rows, "heads": sensitivity_heads()} if rows else None


def sensitivity_rows(tables: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """One row per level: change of the peak and rms change of the overview's moments, per cent of the peak, mean of the sides.

    Empty where the trial was analysed once only.
    """
    summary = tables.get("sensitivity_summary")
    if summary is None or summary.empty:
        return []
    moments = display_table()["overview"]["moments"]
    rows = []
    for (factor, level), block in summary.groupby(["factor", "level"], observed=True, sort=False):
        cells = {}
        for moment in moments:
            own = block[block["variable"].astype(str) == moment]
            if len(own):
                peak, rms = own["peak_change_percent"].mean(), own["rms_change_percent"].mean()
                cells[moment] = f"{peak:+.1f} / {rms:.1f}"
        rows.append({"factor": str(factor).replace("_", " "), "level": level_words(str(level)), "cells": cells})
    return rows


def sensitivity_heads() -> dict[str, str]:
    """Words for the columns of `sensitivity_rows` by variable."""
    return {moment: variable(moment).title for moment in display_table()["overview"]["moments"]}
