"""What the numbers mean and how they were computed: conventions, methods, sources, provenance."""

from __future__ import annotations

from collections.abc import Mapping

from biodyn.output.figures.curves import CycleCurves, unit_words
from biodyn.output.report.page import METHODS, Data
from biodyn.output.report.page import methods as written_methods
from biodyn.output.report.trial_page import SECTIONS, TrialPage, analysis_facts
from biodyn.variables import is_known, variable

_TEMPLATE = """
<p class="quiet small">The points the ISB asks authors to state with joint moments (Derrick et al. 2020).</p>
<table><tbody>
<tr><td>Moment</td><td>internal, net; of the proximal on the distal segment, at the joint centre</td></tr>
<tr><td>Frames</td><td>along the coordinates of the joint; in the tables also proximal, distal and joint coordinate system (Grood and Suntay 1983)</td></tr>
<tr><td>Normalisation</td><td>moments Nm/kg and powers W/kg by body mass, ground reaction by body weight, time by the gait cycle; whole-trial tables in Nm, W, N</td></tr>
<tr><td>World</td><td>X forward (laboratory axis nearest to the walking direction), Y up, Z right</td></tr>
<tr><td>Segments</td><td>X anterior, Y proximal, Z right, the same handedness on both sides (ISB)</td></tr>
<tr><td>Torque in the tables</td><td>positive where it accelerates its coordinate positively: a hip extension moment is a negative <span class="mono">hip_flexion</span> torque. Figures say on each axis what + means.</td></tr>
<tr><td>Missing</td><td>empty, never zero</td></tr>
{% if record.model.citations %}
<tr><td>Inertial parameters</td><td>{{ record.model.citations.anthropometry.title }}, scaled to body mass and segment lengths</td></tr>
<tr><td>Hip joint centre</td><td>{{ record.model.citations.hip_centre.title }}</td></tr>
{% else %}
<tr><td>Coordinates</td><td>joint_angles and joint_torques hold those of the model, in its signs and its own ground; gait cycles and figures the variables of this list</td></tr>
<tr><td>Bodies, joints, inertias</td><td>of the OpenSim model {{ record.model.title }}</td></tr>
{% endif %}
<tr><td>Comparison</td><td>{% for norm in norms %}{{ norm.words }} ({{ norm.band }}){{ "; " if not loop.last }}{% else %}no norms{% endfor %}; see Norms.</td></tr>
</tbody></table>
{% if rows %}<details><summary>Every variable: name in the tables, meaning of + on the figures</summary>
<div class="scroll"><table><thead><tr><th>in the tables</th><th>on the figures</th><th>unit</th><th>+ on the figures</th><th>sign on the figures</th></tr></thead><tbody>
{% for row in rows %}
<tr><td class="mono">{{ row.name }}</td><td>{{ row.label }}</td><td>{{ row.unit }}</td><td>{{ row.positive }}</td><td>{{ row.relation }}</td></tr>
{% endfor %}
</tbody></table></div></details>{% endif %}
"""


@SECTIONS.section(
    "conventions", place=130, title="Conventions", link="Conventions", css="printed", folded=True, template=_TEMPLATE
)
def conventions(page: TrialPage) -> Data:
    """Every variable of this trial, and the groups it is compared with."""
    return {"rows": convention_rows(page.curves), "norms": [norm for norm in page.view.values.norms if norm.curves]}


def convention_rows(curves: Mapping[str, Mapping[str, CycleCurves]]) -> list[dict[str, str]]:
    """Every shown variable of this trial: its name in the tables, what + means there and on the figures."""
    rows = []
    for name, sides in curves.items():
        if not is_known(name):
            continue
        shown = variable(name)
        if shown.mirrored:
            relation = "as in the tables for one side, reversed for the other"
        else:
            relation = "as in the tables" if shown.clinical_sign > 0 else "reversed"
        rows.append(
            {
                "name": name,
                "label": shown.title,
                "unit": unit_words(next(iter(sides.values())).unit),
                "positive": f"{shown.positive} +",
                "relation": relation,
            }
        )
    return rows


_TEMPLATE_methods = """
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


@SECTIONS.section(
    "methods", place=140, title="Methods", link="Methods", css="printed", folded=True, template=_TEMPLATE_methods
)
def methods(page: TrialPage) -> Data:
    """The methods as they are written from the settings that ran."""
    template = "model_methods.txt.j2" if page.is_on_model else METHODS
    written = written_methods(page.record, template, beside=page.view.values.norms)
    return {"methods": written, "facts": analysis_facts(page)}
