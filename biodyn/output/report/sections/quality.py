"""Can these numbers be trusted: the verdict, what decided it, every check, warnings and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from biodyn.diagnostics import STATUS_WORDS
from biodyn.output.report.data_checks import frames_words
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_VERDICTS = {
    "pass": "Every check passed.",
    "warn": "Usable; review recommended.",
    "fail": "Do not use these numbers before the cause is corrected.",
    "not_assessed": "Agreement of motion and forces could not be assessed.",
}
_SEVERITIES = {"error": ("error", "errors"), "warning": ("warning", "warnings"), "info": ("note", "notes")}
_TEMPLATE = """
<div class="verdict">{{ state(record.verdict) }}<span>{{ sentence }}</span></div>
{% if record.verdict_checks %}
<ul class="causes">
{% for cause in record.verdict_checks %}
<li>{{ state(cause.status) }} <b>{{ cause.title }}</b>: {{ cause.text }}{% if cause.hint %} <span class="quiet">{{ cause.hint }}</span>{% endif %}</li>
{% endfor %}
</ul>
{% endif %}
<details class="printed"><summary><b>All checks</b> <span class="quiet">{{ counted }}</span></summary>
<ul class="checks">
{% for check in record.checks %}
<li>{{ state(check.status) }}<div><b>{{ check.title }}</b></div>
<div>{{ check.text }}{% if check.hint %} <span class="hint">{{ check.hint }}</span>{% endif %}
{% if check.source %}<br><span class="word">Limit: {{ check.source }}</span>{% endif %}</div></li>
{% endfor %}
</ul>
</details>
{% if record.diagnostics %}
<details class="printed"{{ " open" if errors else "" }}><summary><b>Warnings and notes</b> <span class="quiet">{{ noted }}</span></summary>
<table><tbody>
{% for severity in ("error", "warning", "info") %}{% for d in record.diagnostics if d.severity == severity %}
<tr><td><span class="tag {{ d.severity }}">{{ d.severity }}</span></td>
<td>{{ d.message }}{% if d.hint %} <span class="quiet">{{ d.hint }}</span>{% endif %}
{% if d.frames %} <span class="quiet small">({{ frames_words(d.frames, rate_hz) }})</span>{% endif %}</td></tr>
{% endfor %}{% endfor %}
</tbody></table>
</details>
{% endif %}
<script>addEventListener("beforeprint", () => document.querySelectorAll("details.printed").forEach((one) => { one.open = true; }));</script>
"""


@SECTIONS.section("quality", place=10, title="Can these numbers be trusted?", link="Quality", template=_TEMPLATE)
def quality(page: TrialPage) -> Data:
    """The sentence of the verdict, and what is folded below it in numbers; all else stands in the record."""
    statuses = [str(check["status"]) for check in page.record["checks"]]
    severities = [str(note["severity"]) for note in page.record["diagnostics"]]
    return {
        "counted": _counted(statuses, {status: (word, word) for status, word in STATUS_WORDS.items()}),
        "noted": _counted(severities, _SEVERITIES),
        "errors": "error" in severities,
        "sentence": _VERDICTS[page.record["verdict"]],
        "frames_words": frames_words,
        "rate_hz": float(page.record["input"]["rate_hz"]),
    }


def _counted(found: Sequence[str], words: Mapping[str, tuple[str, str]]) -> str:
    """How many there are of each kind, in words of one and of several: "10 pass, 1 warn"."""
    counts = {kind: sum(one == kind for one in found) for kind in words}
    return ", ".join(f"{count} {words[kind][count > 1]}" for kind, count in counts.items() if count)
