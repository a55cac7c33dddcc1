"""How the numbers were verified and computed: independent algorithms, forward replay, conventions, methods, sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from biodyn.output.figures.curves import CycleCurves, display_table, unit_words
from biodyn.output.figures.trial import ReplayView
from biodyn.output.report.page import METHODS, Data
from biodyn.output.report.page import methods as written_methods
from biodyn.output.report.trial_page import SECTIONS, TrialPage, analysis_facts
from biodyn.variables import coordinate_title, is_known, variable

_TEMPLATE = """
<p>Every frame was computed again by independent algorithms. This verifies that the equations of motion were solved correctly. It does not verify markers, segment masses or plates: see the checks of the data and the pelvis residual.</p>
<div class="scroll"><table><thead><tr><th></th><th>consistency check</th><th>what was compared</th><th class="number">relative error</th><th class="number">limit</th><th class="number">frames</th></tr></thead><tbody>
{% for check in proof.identities %}
<tr><td>{{ lamp("not_assessed" if check.holds is none else ("pass" if check.holds else "fail")) }}</td>
<td><b>{{ check.title }}</b><br><span class="mono small">{{ check.equation }}</span></td>
<td class="small">{{ check.text }}</td>
<td class="number nowrap">{{ "%.1e" % check.relative_error if check.relative_error is not none else "–" }}</td>
<td class="number nowrap">{{ "%.0e" % check.limit }}</td>
<td class="number">{{ check.frames }}</td></tr>
{% endfor %}
</tbody></table></div>
<p class="small quiet">Relative to the largest acceleration of the coordinate (at least that of gravity), to the largest sum of the magnitudes that cancel in the torque, the residual or the power.{% if proof.share_of_trial %} Took {{ "%.0f" % (1000 * proof.seconds) }} ms, {{ "%.0f" % (100 * proof.share_of_trial) }} % of the trial's own computing time.{% endif %}</p>
{{ pictures("consistency") }}
"""


@SECTIONS.section("proof", place=90, title="Verification", folded=True, template=_TEMPLATE)
def verification(page: TrialPage) -> Data | None:
    """What the record keeps of the comparison; None where nothing was compared."""
    proof = page.record.get("proof")
    return {"proof": proof} if proof else None


# Cases of the drift table in words, by case and kind of torques, in the order of the report.
_CASES = {
    ("walk", "recorded"): "Walk, recorded torques",
    ("walk", "recomputed"): "Walk, recomputed torques",
    ("rest", "recorded"): "Standing still",
}
_TEMPLATE_replay = """
<p>Forward dynamics with the computed torques and the measured ground reaction should reproduce the recorded motion. Walking is unstable: without feedback every replay drifts away in time. The drift is reported here.</p>
{% if replay %}
<ul>
{% for sentence in replay.sentences %}<li>{{ sentence }}</li>
{% endfor %}
</ul>
{{ picture("replay_drift", "Drift without feedback: error of the joint angles against the time since the start of a window, over all windows. Red: " ~ "%g" % replay.angle_deg ~ " degrees. Dotted: the longest window in which every replay stays within the limit.") }}
<div class="scroll"><table><thead><tr><th class="number">window (s)</th><th class="number">windows</th><th class="number">joint error, median (°)</th><th class="number">worst (°)</th><th class="number">position, worst (cm)</th><th class="number">within limits (%)</th><th>largest drift</th></tr></thead><tbody>
{% for case, rows in replay.drift.items() if rows %}
<tr><td colspan="7"><b>{{ case }}</b></td></tr>
{% for row in rows %}
<tr><td class="number">{{ row.window }}</td><td class="number">{{ row.windows }}</td><td class="number">{{ row.median }}</td><td class="number">{{ row.worst }}</td><td class="number">{{ row.position }}</td><td class="number">{{ row.within }}</td><td>{{ row.most_drifted }}</td></tr>
{% endfor %}
{% endfor %}
</tbody></table></div>
<p class="small quiet">Within limits: joints within {{ "%g" % replay.angle_deg }}° and pelvis position within {{ "%g" % replay.position_cm }} cm at the end of the window. Lost: the replay had diverged. Recorded torques are interpolated between the frames; recomputed torques come from inverse dynamics at every step of the integrator, which leaves only its error and the instability of the body.</p>
{{ picture("replay_feedback", "Tracked replay: recorded torque and the feedback torque that keeps the body on its recorded motion.") }}
<div class="scroll"><table><thead><tr><th>torque</th><th class="number">recorded, largest (Nm)</th><th class="number">feedback, largest (Nm)</th><th class="number">largest angle error (degrees)</th></tr></thead><tbody>
{% for row in replay.feedback %}
<tr><td>{{ row.label }}</td><td class="number">{{ row.recorded }}</td><td class="number">{{ row.feedback }}</td><td class="number">{{ row.error }}</td></tr>
{% endfor %}
</tbody></table></div>
{{ picture("replay_convergence", "Convergence of the integrators: error against the number of evaluations; the slope is the order of the method.") }}
{% if replay.animation %}
<p><a href="{{ replay.animation }}">Animation of the recorded, the open-loop and the tracked motion</a> (<span class="mono">{{ replay.animation }}</span> beside this page).</p>
{% endif %}
<p class="small quiet">Every window, frame and step: the tables in <span class="mono">replay/</span> beside this page.</p>
{% else %}
<p class="quiet">This result was not replayed. <span class="mono">biodyn replay RESULT_DIR</span> takes some seconds; <span class="mono">biodyn report RESULT_DIR</span> then shows it here: drift against the length of the replay, a replay under feedback with its torques beside the recorded ones, and an animation.</p>
{% endif %}
"""


@SECTIONS.section("replay", place=100, title="Forward replay", folded=True, template=_TEMPLATE_replay)
def replay(page: TrialPage) -> Data:
    """Sentences and tables of the replay, if there was one."""
    found = page.view.replay
    return {"replay": None if found is None else replay_section(found)}


def replay_section(view: ReplayView) -> dict[str, Any]:
    """Return sentences, rows of both tables and figure names for the page."""
    settings = view.record["settings"]
    return {
        "sentences": list(view.record["text"]),
        "angle_deg": settings["angle_deg"],
        "position_cm": 100.0 * settings["position_m"],
        "drift": drift_rows(view.drift),
        "feedback": feedback_rows(view.feedback),
        "animation": view.animation,
    }


def drift_rows(drift: pd.DataFrame) -> dict[str, list[dict[str, str]]]:
    """By case: one row per window length, over all windows, wherever the feet stood."""
    cases = {}
    for (case, torques), words in _CASES.items():
        own = drift[(drift["case"] == case) & (drift["torques"] == torques) & (drift["ground"] == "all")]
        cases[words] = [
            {
                "window": f"{row['window_s']:g}",
                "windows": f"{row['windows']:d}",
                "median": _error(row["joint_median_deg"]),
                "worst": _error(row["joint_worst_deg"]),
                "position": _error(row["position_worst_cm"]),
                "within": f"{100.0 * row['share_within_tolerance']:.0f}",
                "most_drifted": coordinate_title(str(row["most_drifted"])),
            }
            for row in own.to_dict("records")
        ]
    return cases


def feedback_rows(feedback: pd.DataFrame) -> list[dict[str, str]]:
    """Recorded torque and feedback of the coordinates the overview shows, and of that with the largest feedback."""
    sizes = feedback[["recorded_Nm", "feedback_Nm", "error_deg"]].abs()
    peaks = sizes.groupby(feedback["coordinate"].astype(str), sort=False).max()
    shown = {moment.removesuffix("_moment") for moment in display_table()["overview"]["moments"]}
    names = [name for name in peaks.index if any(name in (base, f"{base}_r", f"{base}_l") for base in shown)]
    if len(peaks) and np.isfinite(peaks["feedback_Nm"]).any():
        largest = str(peaks["feedback_Nm"].idxmax())
        names += [largest] if largest not in names else []
    return [
        {
            "label": coordinate_title(name),
            "recorded": f"{peaks.loc[name, 'recorded_Nm']:.1f}",
            "feedback": f"{peaks.loc[name, 'feedback_Nm']:.2g}",
            "error": _error(float(peaks.loc[name, "error_deg"])),
        }
        for name in names
    ]


def _error(value: float) -> str:
    """Two digits; a replay that was lost is said to be so."""
    return f"{value:.2g}" if np.isfinite(value) else "lost"


_TEMPLATE_about = """
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
    "conventions",
    place=130,
    title="Conventions",
    link="Conventions",
    css="printed",
    folded=True,
    template=_TEMPLATE_about,
)
def conventions(page: TrialPage) -> Data:
    """Every variable of this trial, and the groups it is compared with."""
    return {"rows": convention_rows(page.curves), "norms": [norm for norm in page.view.norms if norm.curves]}


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
    written = written_methods(page.record, template, beside=page.view.norms)
    return {"methods": written, "facts": analysis_facts(page)}
