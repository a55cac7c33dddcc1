"""How well all trials fit, and which fit worst."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.output.report.page import Data, resource
from biodyn.study.report.bar_figures import Limits, quality_figure
from biodyn.study.report.methods import RunFacts
from biodyn.study.report.scenes import worst_scenes
from biodyn.study.report.source import Trial
from biodyn.study.report.study_page import SECTIONS, StudyPage
from biodyn.study.report.table import Table, link, table
from biodyn.study.report.words import number

_WORST = 5
#: Columns of summary.csv that tell the quality, with words and unit.
MEASURES = (
    ("marker_rms_mm", "marker tracking error, RMS", "mm"),
    ("residual_force_rms_percent_of_limit", "pelvis residual force, RMS", "% of its limit"),
    ("residual_moment_rms_percent_of_limit", "pelvis residual moment, RMS", "% of its limit"),
)
_TEMPLATE = """
{{ picture("quality") }}
<p class="small quiet">Of the trials with a result; "beyond" counts trials beyond the limit, of the residual by its RMS and by its largest value. {{ limits }} Only where all contacts of both feet are known can motion and forces be compared.</p>
{% if worst %}<h3>Trials with the largest errors</h3>{{ table(worst) }}{% endif %}
{% if scenes %}
<h3>Look at these first</h3>
{% for one in scenes %}
<details class="worst"{{ " open" if loop.first }}><summary>{{ one.who }}: {{ one.measure }}{% if one.failed %}; fail: {{ one.failed }}{% endif %}</summary>
<p class="small"><a href="{{ one.link }}">{{ one.who }}</a>{% if one.why %} <span class="quiet">No 3-D view: {{ one.why }}</span>{% endif %}</p>
{{ one.view }}
</details>
{% endfor %}
<script>{{ script }}</script>
{% endif %}
"""


@SECTIONS.section("quality", place=30, title="Quality over all trials", link="Quality", template=_TEMPLATE)
def quality(page: StudyPage) -> Data | None:
    """The figure, its limits and the worst trials; None where no trial has a result."""
    if not page.facts.variants:
        return None
    trials = page.source.trials
    return {
        "figures": {"quality": quality_figure(trials, limits_of(page.facts))},
        "limits": limit_sources(page.facts),
        "worst": worst_trials(trials),
        "scenes": worst_scenes(page.source, {name: f"{words} ({unit})" for name, words, unit in MEASURES}),
        "script": resource("scene.js"),
    }


def limits_of(facts: RunFacts) -> Limits:
    """Limits of the settings that most trials ran with."""
    return Limits(1000.0 * float(facts.usual.settings["limits"]["marker_rms_m"]))


def limit_sources(facts: RunFacts) -> str:
    """The limits that are drawn, in words, with their sources."""
    limits = facts.usual.settings["limits"]
    return (
        f"Limits: marker tracking error {1000 * limits['marker_rms_m']:.0f} mm (OpenSim checklist; Hicks et al. 2015); "
        f"residual force {100 * limits['residual_force_fraction']:.0f} % of the peak ground force, residual moment "
        f"{100 * limits['residual_moment_fraction']:.0f} % of peak ground force times height of the centre of mass "
        "(Hicks et al. 2015, doi 10.1115/1.4029304), both widened by what tables and markers cannot know (docs/methods.md). "
        "Settings: limits."
    )


def worst_trials(trials: Sequence[Trial]) -> Table:
    """The trials that fit worst by each measure."""
    rows = []
    done = [trial for trial in trials if trial.done]
    for name, words, unit in MEASURES:
        known = [(trial.number(name), trial) for trial in done if np.isfinite(trial.number(name))]
        known.sort(key=lambda pair: -pair[0])
        for rank, (value, trial) in enumerate(known[:_WORST]):
            rows.append((
                words if rank == 0 else "", link(trial.report or trial.link, f"{trial.subject}, {trial.trial}"), trial.place, number(value, "%"),
                unit, trial.metrics.get("marker_worst", "") if name == "marker_rms_mm" else "",
            ))  # fmt: skip
    return table(("measure", "trial", "session, condition", "#value", "unit", "worst marker"), rows)
