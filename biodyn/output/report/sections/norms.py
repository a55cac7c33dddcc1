"""Which norms stand beside the curves and why, with source and licence; numbers of the walk against them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from biodyn.conventions import SIDES
from biodyn.output.report.norm_numbers import NumberRow, number_rows
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage
from biodyn.variables.norm_choice import walker_of

_TEMPLATE = """
{% for reason in reasons %}<p class="small">{{ reason }}</p>{% endfor %}
{% if rows %}
<div class="scroll"><table><thead><tr><th>parameter</th><th>unit</th>
{% for side, side_name, color in sides %}<th class="number">{{ side_name }}</th>{% endfor %}
<th class="number">norm: mean (95 % of people)</th><th>norm of</th></tr></thead><tbody>
{% for row in rows %}
<tr><td>{{ row.title }}</td><td>{{ row.unit_text }}</td>
{% for side, side_name, color in sides %}<td class="number">{{ row.text(side) }}</td>{% endfor %}
<td class="number nowrap">{{ row.norm_text }}</td><td>{{ row.whose }}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="small quiet">{% if leg %}Dimensionless: lengths by leg length l ({{ leg }}), times by √(l/g), speed by √(g l) (Hof 1996). {% endif %}Peaks and ranges are those of a side's mean curve. ↑ ↓: beyond the range of 95 % of the norm's people.</p>
{% endif %}
{% for norm in norms %}<p class="small quiet">{{ norm.words }}, {{ norm.band }}: {{ norm.citation }}. Licence: {{ norm.licence }}.</p>{% endfor %}
"""


@SECTIONS.section("norms", place=22, title="Norms", link="Norms", folded=True, template=_TEMPLATE)
def norms(page: TrialPage) -> Data:
    """The choice in words, the table of numbers, and the sources."""
    values = page.view.values
    walker = walker_of(page.record, values.speed_m_s)
    source = page.record["subject"].get("leg_length_source", "not known")
    stored = "" if walker.leg_length_m else ", 0.530 of the body height"
    return {
        "reasons": values.norm_reasons,
        "rows": numbers_against_norms(page),
        "norms": values.norms,
        "leg": "" if not np.isfinite(walker.leg_m) else f"{walker.leg_m:.3f} m{stored or f', {source}'}",
    }


def numbers_against_norms(page: TrialPage) -> list[NumberRow]:
    """Dimensionless parameters of the stride, and every number that the walk's norms know; none where nobody walked."""
    values = page.view.values
    if not values.walking or not np.isfinite(values.speed_m_s):
        return []
    strides = page.tables["spatiotemporal"]
    sides = strides["side"].astype(str)
    means = {str(side): _means(strides[sides == side]) for side in SIDES}
    curves = {name: {side: one.mean for side, one in found.items()} for name, found in page.curves.items()}
    return number_rows(means, curves, walker_of(page.record, values.speed_m_s), values.norms)


def _means(strides: pd.DataFrame) -> dict[str, float]:
    """Mean of every number of these strides."""
    return {str(name): float(value) for name, value in strides.mean(numeric_only=True).items()}
