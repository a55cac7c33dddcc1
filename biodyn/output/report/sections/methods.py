"""How it was done, with sources, and of which files."""

from __future__ import annotations

from biodyn.output.report.methods import methods as written_methods
from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = """
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


@SECTIONS.section("methods", place=140, title="Methods", link="Methods", template=_TEMPLATE)
def methods(page: TrialPage) -> Data:
    """The methods as they are written from the settings that ran."""
    template = "model_methods.txt.j2" if page.is_on_model else "methods.txt.j2"
    return {"methods": written_methods(page.record, template)}
