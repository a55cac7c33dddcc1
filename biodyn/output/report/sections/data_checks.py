"""The checks of the data: each one, also where it found nothing."""

from __future__ import annotations

from biodyn.output.report.data_checks import data_check_rows
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = """
<p>Markers, plates and subject data are redundant; a contradiction means that one of them is wrong. All checks are listed. No check changes the data.</p>
<div class="scroll"><table class="fixed"><colgroup><col style="width:3%"><col style="width:39%"><col style="width:11%"><col style="width:9%"><col></colgroup><thead><tr><th></th><th>check</th><th class="number">measured</th><th class="number">limit</th><th>finding</th></tr></thead><tbody>
{% for row in rows %}
<tr><td>{{ lamp(row.status) }}</td>
<td><b>{{ row.title }}</b><br><span class="small quiet">{{ row.compares }}</span></td>
<td class="number">{{ row.value or "–" }}</td>
<td class="number">{{ row.limit or "–" }}</td>
<td>{% for finding in row.findings %}<p class="small">{{ finding.message }}{% if finding.frames %} <span class="quiet">({{ finding.frames }})</span>{% endif %}{% if finding.hint %} <span class="hint">{{ finding.hint }}</span>{% endif %}</p>
{% else %}<span class="small quiet">{% if row.status == "not_assessed" %}Not assessed: {{ row.why_not }}.{% elif row.text %}{{ row.text }}{% else %}No finding. Possible causes of one: {{ row.causes }}.{% endif %}</span>{% endfor %}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="small quiet">Limits: settings [limits] and <span class="mono">library/checks/checks.toml</span>, with their sources. A number beyond its limit is a finding only where it is certain enough: a shift must exceed its own error, correcting a fault of channels or axes must remove most of the mismatch, a unit must be wrong by a factor of seven, a time offset must exceed the uncertainty of slow walking. Forces: a factor below 1 counts like its inverse.</p>
"""


@SECTIONS.section("data", place=80, title="Checks of the data", folded=True, template=_TEMPLATE)
def data_checks(page: TrialPage) -> Data | None:
    """A row a check; older results have none."""
    rows = data_check_rows(page.record)
    return {"rows": rows} if rows else None
