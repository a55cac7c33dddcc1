"""Can these numbers be trusted: the verdict and what decided it, in as many lines as it has causes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_VERDICTS = {
    "pass": "Every check passed.",
    "warn": "Usable; review recommended.",
    "fail": "Do not use these numbers before the cause is corrected.",
    "not_assessed": "Agreement of motion and forces could not be assessed.",
}
_MOST = 3  # causes that are seen at once
_TEMPLATE = """
<div class="verdict">{{ state(record.verdict) }}<span>{{ sentence }}</span></div>
{% if causes %}
<ul class="causes">
{% for cause in causes %}
<li>{% if cause.status != record.verdict %}{{ state(cause.status) }} {% endif %}<b>{{ cause.title }}</b>: {{ cause.text }}{% if cause.hint %} <span class="quiet">{{ cause.hint }}</span>{% endif %}</li>
{% endfor %}
</ul>
{% endif %}
<p class="small"><a href="#checks">{{ "All checks" if not more else "All checks, " ~ more ~ " more of these" }}</a></p>
"""


@SECTIONS.section(
    "quality", place=10, title="Can these numbers be trusted?", link="Verdict", css="slim", template=_TEMPLATE
)
def quality(page: TrialPage) -> Data:
    """The sentence of the verdict and the first of its causes."""
    causes = page.record.get("verdict_checks") or []
    return {
        "sentence": verdict_sentence(page.record),
        "causes": causes[:_MOST],
        "more": max(len(causes) - _MOST, 0),
    }


def verdict_sentence(record: Mapping[str, Any]) -> str:
    """What the verdict means; where checks were not assessed, "Every check passed" is not said of them."""
    skipped = [str(check["title"]) for check in record["checks"] if check["status"] == "not_assessed"]
    if record["verdict"] == "pass" and skipped:
        return f"Every check that could be made passed; not assessed: {', '.join(skipped)}."
    return _VERDICTS[record["verdict"]]
