"""How it was done, with sources, and of which files."""

from __future__ import annotations

from biodyn.output.report.methods import METHODS
from biodyn.output.report.methods import methods as written_methods
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage, analysis_facts

_TEMPLATE = """
<table class="small"><tbody>
{% for fact in facts %}<tr><td>{{ fact.label }}</td><td>{{ fact.value }}{% if fact.note %} <span class="quiet">({{ fact.note }})</span>{% endif %}</td></tr>
{% endfor %}
</tbody></table>
{% for heading, text in methods.paragraphs %}
<p><b>{{ heading }}.</b> {{ text }}</p>
{% endfor %}
<h3>Sources</h3>
<ol class="small">{% for source in methods.references %}<li>{{ source }}</li>{% endfor %}</ol>
<h3>Provenance</h3>
<table class="small"><tbody>
<tr><td>Walk</td><td>{{ record.input.file }}, first frame {{ record.input.first_frame }}<br><span class="mono">SHA-256 {{ record.input.sha256 }}</span></td></tr>
<tr><td>{{ "Model" if record.static.get("source") == "model" else "Static" }}</td><td>{{ record.static.file }}<br><span class="mono">SHA-256 {{ record.static.sha256 }}</span></td></tr>
<tr><td>Versions</td><td>{% for name, version in record.versions.items() %}{{ name }} {{ version }}{{ ", " if not loop.last }}{% endfor %}</td></tr>
</tbody></table>
"""


@SECTIONS.section("methods", place=140, title="Methods", link="Methods", css="printed", folded=True, template=_TEMPLATE)
def methods(page: TrialPage) -> Data:
    """The methods as they are written from the settings that ran."""
    template = "model_methods.txt.j2" if page.is_on_model else METHODS
    written = written_methods(page.record, template, beside=page.view.values.norms)
    return {"methods": written, "facts": analysis_facts(page)}
