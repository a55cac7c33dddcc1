"""What failed, grouped by reason, and what was analysed but counts in no group result."""

from __future__ import annotations

from biodyn.output.report.page import Data
from biodyn.output.store.old_words import OLD_TRIAL_STATUS
from biodyn.study.report.findings import exclusions
from biodyn.study.report.findings import failures as failed_groups
from biodyn.study.report.study_page import SECTIONS, StudyPage

_FEW = 40  # failures that are shown without unfolding
_TEMPLATE = """
{% if groups %}
<p class="quiet">{{ failed_count }} {{ "trial has" if failed_count == 1 else "trials have" }} no result and {{ "is" if failed_count == 1 else "are" }} in no mean. Grouped by reason.</p>
{% for group in groups %}
<div class="failure">
<h3>{{ group.title }}{% if group.trials | length > 1 %} <span class="tag error">{{ group.trials | length }} trials</span>{% endif %}</h3>
{% if group.trials | length == 1 %}{% set trial = group.trials[0] %}
<p class="small"><a href="{{ trial.link }}">{{ trial.subject }}, {{ trial.trial }}</a> <span class="mono quiet">{{ trial.file }}</span></p>
{% endif %}
{% if group.hint %}<p class="do">What to do: {{ group.hint }}</p>{% endif %}
{% if group.trials | length > 1 %}
<details{{ " open" if failed_count <= few }}><summary>Trials</summary>
<div class="scroll{{ " tall" if group.trials | length > 30 }}"><table class="sortable numbers"><thead><tr><th>subject</th><th>trial</th><th>file</th><th>reason</th>{% if not group.hint %}<th>what to do</th>{% endif %}</tr></thead><tbody>
{% for trial in group.trials %}<tr><td><a href="{{ trial.link }}">{{ trial.subject }}</a></td><td>{{ trial.trial }}</td><td class="mono">{{ trial.file }}</td><td>{{ trial.reason }}</td>{% if not group.hint %}<td>{{ trial.hint }}</td>{% endif %}</tr>
{% endfor %}
</tbody></table></div></details>
{% endif %}
</div>
{% endfor %}
{% else %}
<p>Every trial was analysed.</p>
{% endif %}
{% if exclusions %}
<h3 id="excluded">Excluded from the group results</h3>
<p class="quiet">These trials were analysed and are in no curve, number, score or test below. <span class="mono">include_failed = true</span> under [analysis] in study.toml counts those whose checks failed; trials of another activity belong in a condition of their own.</p>
{% for group in exclusions %}
<p class="small"><span class="tag error">{{ group.trials | length }} {{ "trial" if group.trials | length == 1 else "trials" }}</span> {{ (group.title[0] | upper) ~ group.title[1:] }}: {% for trial in group.trials %}<a href="{{ trial.link }}">{{ trial.subject }}, {{ trial.trial }}</a>{{ ", " if not loop.last }}{% endfor %}.</p>
{% endfor %}
{% endif %}
"""


@SECTIONS.section("failures", place=10, link="Failures", template=_TEMPLATE)
def failures(page: StudyPage) -> Data:
    """The failed trials by reason; the title says whether there are any."""
    trials = page.source.trials
    groups = failed_groups(trials)
    any_fail = any(OLD_TRIAL_STATUS.get(trial.status, trial.status) == "fail" for trial in trials)
    return {
        "title": "Failed trials" if groups else "Every trial has a result" if any_fail else "Nothing failed",
        "groups": groups,
        "failed_count": sum(len(group.trials) for group in groups),
        "few": _FEW,
        "exclusions": exclusions(trials),
    }
