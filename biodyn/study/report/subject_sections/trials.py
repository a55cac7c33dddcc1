"""The trials of a subject: outcome, why, quality."""

from __future__ import annotations

from biodyn.diagnostics import STATUS_WORDS
from biodyn.output.report.page import Data
from biodyn.output.store.old_words import OLD_TRIAL_STATUS
from biodyn.study.collecting.metrics import NOT_RUN
from biodyn.study.group.cycles import representative_walks
from biodyn.study.record import FAILED
from biodyn.study.report.subject_page import SECTIONS, SubjectPage
from biodyn.study.report.words import number

#: State that is drawn for every outcome of a trial; results of version 0.1.0 among them.
LAMPS: dict[str, str] = {status: status for status in STATUS_WORDS}
LAMPS |= {**OLD_TRIAL_STATUS, FAILED: "fail", NOT_RUN: "not_assessed"}
#: The outcome in words.
OUTCOMES: dict[str, str] = {str(status): word for status, word in STATUS_WORDS.items()} | {FAILED: "no result"}
_TEMPLATE = """
<div class="scroll"><table class="sortable numbers"><thead><tr><th>trial</th><th>session, condition</th><th>outcome</th><th>why, what to do</th><th class="number">tracking error, RMS (mm)</th><th class="number">residual force (% of limit)</th><th class="number">residual moment (% of limit)</th><th class="number">cycles R, L</th><th class="number">with moments R, L</th></tr></thead><tbody>
{% for trial in trials %}
<tr id="{{ trial.trial }}"><td>{% if trial.done %}<a href="{{ base }}{{ trial.folder | urlencode }}/{{ "report.html" if trial.trial in reports else "" }}">{{ trial.trial }}</a>{% else %}{{ trial.trial }}{% endif %}{% if trial.trial in typical %} <span class="tag">representative</span>{% endif %}<br><span class="small quiet mono">{{ trial.file }}</span></td><td>{{ trial.place }}</td>
<td class="nowrap outcome">{{ lamp(lamps[trial.status]) }}{{ outcomes.get(trial.status, trial.status) }}</td>
<td class="why">{{ trial.reason }}{% if trial.hint %} <span class="quiet">{{ trial.hint }}</span>{% endif %}{% if trial.metrics.get("checks_failed") %}{{ "<br>" | safe if trial.reason }}Fail: {{ trial.metrics["checks_failed"] }}.{% endif %}{% if trial.excluded %}<br><b>In no group result:</b> {{ trial.excluded }}.{% endif %}{% if trial.metrics.get("checks_warn") %}{{ "<br>" | safe if trial.reason or trial.metrics.get("checks_failed") }}Warn: {{ trial.metrics["checks_warn"] }}.{% endif %}</td>
{% if trial.done %}
<td class="number">{{ number(trial.number("marker_rms_mm"), "%") }}</td><td class="number">{{ number(trial.number("residual_force_rms_percent_of_limit"), "%") }}</td><td class="number">{{ number(trial.number("residual_moment_rms_percent_of_limit"), "%") }}</td>
<td class="number">{{ trial.metrics.get("cycles_right", 0) }}, {{ trial.metrics.get("cycles_left", 0) }}</td><td class="number">{{ trial.metrics.get("kinetic_cycles_right", 0) }}, {{ trial.metrics.get("kinetic_cycles_left", 0) }}</td>
{% else %}<td class="number">–</td><td class="number">–</td><td class="number">–</td><td class="number">–</td><td class="number">–</td>{% endif %}</tr>
{% endfor %}
</tbody></table></div>
{% if typical %}<p class="small quiet">Representative: the walk whose cycles are the nearest to the median cycles of both sides{{ ", of each session and condition" if typical | length > 1 }}.</p>{% endif %}
"""


@SECTIONS.section("trials", place=10, title="Trials", link="Trials", template=_TEMPLATE)
def trials(page: SubjectPage) -> Data:
    """A row a trial."""
    typical = set(representative_walks(page.tables.cycles).values())
    return {
        "typical": typical,
        "trials": page.trials,
        "lamps": LAMPS,
        "outcomes": OUTCOMES,
        "number": number,
        "reports": page.reports,
    }
