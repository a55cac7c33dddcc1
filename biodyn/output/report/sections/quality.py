"""Can these numbers be trusted: the verdict, what decided it, every check, warnings and notes."""

from __future__ import annotations

from biodyn.output.report.data_checks import frames_words
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_VERDICTS = {
    "pass": "Every check passed.",
    "warn": "Usable; review recommended.",
    "fail": "Do not use these numbers before the cause is corrected.",
    "not_assessed": "Agreement of motion and forces could not be assessed.",
}
_TEMPLATE = """
<div class="verdict">{{ state(record.verdict) }}<span>{{ sentence }}</span></div>
{% if record.verdict_checks %}
<ul class="causes">
{% for cause in record.verdict_checks %}
<li>{{ state(cause.status) }} <b>{{ cause.title }}</b>: {{ cause.text }}{% if cause.hint %} <span class="quiet">{{ cause.hint }}</span>{% endif %}</li>
{% endfor %}
</ul>
{% endif %}
<h3>Checks</h3>
<ul class="checks">
{% for check in record.checks %}
<li>{{ state(check.status) }}<div><b>{{ check.title }}</b></div>
<div>{{ check.text }}{% if check.hint %} <span class="hint">{{ check.hint }}</span>{% endif %}
{% if check.source %}<br><span class="word">Limit: {{ check.source }}</span>{% endif %}</div></li>
{% endfor %}
</ul>
{% if record.diagnostics %}
<h3>Warnings and notes</h3>
<table><tbody>
{% for severity in ("error", "warning", "info") %}{% for d in record.diagnostics if d.severity == severity %}
<tr><td><span class="tag {{ d.severity }}">{{ d.severity }}</span></td>
<td>{{ d.message }}{% if d.hint %} <span class="quiet">{{ d.hint }}</span>{% endif %}
{% if d.frames %} <span class="quiet small">({{ frames_words(d.frames, rate_hz) }})</span>{% endif %}</td></tr>
{% endfor %}{% endfor %}
</tbody></table>
{% endif %}
"""


@SECTIONS.section("quality", place=10, title="Can these numbers be trusted?", link="Quality", template=_TEMPLATE)
def quality(page: TrialPage) -> Data:
    """The sentence of the verdict; all else stands in the record."""
    return {
        "sentence": _VERDICTS[page.record["verdict"]],
        "frames_words": frames_words,
        "rate_hz": float(page.record["input"]["rate_hz"]),
    }
