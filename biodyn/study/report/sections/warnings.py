"""Checks that did not pass and findings of all trials, by what they say; doubts about the study as a whole."""

from __future__ import annotations

from biodyn.output.report.page import Data
from biodyn.study.report.study_page import SECTIONS, StudyPage

_TEMPLATE = """
{% if found %}
<p class="quiet">Findings and checks that did not pass, in how many trials. Text and numbers are those of the first of them.</p>
{% for finding in found %}
<div class="failure">
<h3><span class="tag {{ finding.severity }}">{{ "fail" if finding.severity == "error" else "warn" }}</span> {{ finding.title }}: {{ finding.count }} {{ "trial" if finding.count == 1 else "trials" }}</h3>
<p class="small">{{ "" if finding.count == 1 else "For example: " }}{{ finding.example }}{% if finding.hint %} <span class="quiet">{{ finding.hint }}</span>{% endif %}</p>
<details class="small"><summary>{{ "Trial" if finding.count == 1 else "Trials" }}</summary><p class="links">{% for trial in finding.trials %}<a href="{{ trial.link }}">{{ trial.subject }}, {{ trial.trial }}</a> {% endfor %}{% if finding.more %}<span class="quiet">and {{ finding.more }} more (summary.csv)</span>{% endif %}</p></details>
</div>
{% endfor %}
{% else %}
<p>{{ "No trial has a result." if not any_result else "All checks of all trials passed." }}</p>
{% endif %}
{% if infos %}
<details><summary>Notes ({{ infos | length }})</summary>
{% for finding in infos %}
<p class="small"><b>{{ finding.title }}</b> in {{ finding.count }} {{ "trial" if finding.count == 1 else "trials" }}: {{ finding.example }}</p>
{% endfor %}
</details>
{% endif %}
{% if doubts %}
<h3>About all trials together</h3>
<table><tbody>{% for d in doubts %}<tr><td><span class="tag {{ d.severity }}">{{ d.severity }}</span></td><td class="small">{% if d.message | length > 400 %}{{ d.message[:200] }} … <details><summary>all of it</summary>{{ d.message }}</details>{% else %}{{ d.message }}{% endif %}{% if d.hint %} <span class="quiet">{{ d.hint }}</span>{% endif %}</td></tr>{% endfor %}</tbody></table>
{% endif %}
"""


@SECTIONS.section("warnings", place=20, link="Warnings", template=_TEMPLATE)
def warnings(page: StudyPage) -> Data:
    """The findings, the gravest and most frequent first."""
    found = page.findings.of("error", "warning")
    return {
        "title": "Warnings" if found else "No warnings",
        "found": found,
        "infos": page.findings.of("info"),
        "doubts": [{**d, "message": page.names.spoken(d["message"])} for d in page.source.record["diagnostics"]],
        "any_result": bool(page.facts.variants),
    }
