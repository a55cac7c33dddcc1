"""How it was done, with sources."""

from __future__ import annotations

from biodyn.output.report.page import Data
from biodyn.study.report.methods import study_methods
from biodyn.study.report.study_page import SECTIONS, StudyPage

_TEMPLATE = """
{% for heading, text in methods.paragraphs %}<p><b>{{ heading }}.</b> {{ text }}</p>{% endfor %}
<h3>Sources</h3>
<ol class="small">{% for reference in methods.references %}<li>{{ reference }}</li>{% endfor %}</ol>
<p class="small quiet">Versions: {% for package, version in versions.items() %}{{ package }} {{ version }}{{ ", " if not loop.last }}{% endfor %}.</p>
"""


@SECTIONS.section("methods", place=140, title="Methods", link="Methods", css="new-page", template=_TEMPLATE)
def methods(page: StudyPage) -> Data | None:
    """The methods as they are written from the records of the trials; None where no trial has a result."""
    written = study_methods(page.source, page.facts)
    return None if written is None else {"methods": written, "versions": page.facts.versions}
