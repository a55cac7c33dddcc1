"""Every check of the trial with its numbers and limits, and all warnings and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from biodyn.diagnostics import STATUS_WORDS
from biodyn.output.report.data_checks import frames_words
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_SEVERITIES = {"error": ("error", "errors"), "warning": ("warning", "warnings"), "info": ("note", "notes")}
_TEMPLATE = """
<p class="quiet small">{{ counted }}</p>
<ul class="checks">
{% for check in record.checks %}
<li>{{ state(check.status) }}<div><b>{{ check.title }}</b></div>
<div>{{ check.text }}{% if check.hint %} <span class="hint">{{ check.hint }}</span>{% endif %}
{% if check.source %}<br><span class="word">Limit: {{ check.source }}</span>{% endif %}</div></li>
{% endfor %}
</ul>
{% if record.diagnostics %}
<h3>Warnings and notes</h3>
<p class="quiet small">{{ noted }}</p>
<div class="scroll"><table><tbody>
{% for severity in ("error", "warning", "info") %}{% for d in record.diagnostics if d.severity == severity %}
<tr><td><span class="tag {{ d.severity }}">{{ d.severity }}</span></td>
<td>{{ d.message }}{% if d.hint %} <span class="quiet">{{ d.hint }}</span>{% endif %}
{% if d.frames %} <span class="quiet small">({{ frames_words(d.frames, rate_hz) }})</span>{% endif %}</td></tr>
{% endfor %}{% endfor %}
</tbody></table></div>
{% endif %}
"""


@SECTIONS.section(
    "checks",
    place=35,
    title="All checks, warnings and notes",
    link="Checks",
    css="printed",
    folded=True,
    template=_TEMPLATE,
)
def all_checks(page: TrialPage) -> Data:
    """How many there are of each kind; all else stands in the record."""
    statuses = [str(check["status"]) for check in page.record["checks"]]
    severities = [str(note["severity"]) for note in page.record["diagnostics"]]
    return {
        "counted": _counted(statuses, {status: (word, word) for status, word in STATUS_WORDS.items()}),
        "noted": _counted(severities, _SEVERITIES),
        "frames_words": frames_words,
        "rate_hz": float(page.record["input"]["rate_hz"]),
    }


def _counted(found: Sequence[str], words: Mapping[str, tuple[str, str]]) -> str:
    """How many there are of each kind, in words of one and of several: "10 pass, 1 warn"."""
    counts = {kind: sum(one == kind for one in found) for kind in words}
    return ", ".join(f"{count} {words[kind][count > 1]}" for kind, count in counts.items() if count)
