"""The page of `biodyn check`: a recording to be looked at before it is analysed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from biodyn.checks.files import FileFacts
from biodyn.diagnostics import Diagnostic
from biodyn.output.report.page import Fact, Frame, Section, framed, page_environment
from biodyn.output.report.recording_scene import MarkerMotion, marker_motions, recording_scene
from biodyn.output.report.sections.scene import scene_context

_SCENE = '{% include "scene.html.j2" %}'
_FINDINGS = """
<ul class="causes">
{% for d in findings %}<li><span class="tag {{ d.severity }}">{{ d.severity }}</span> {{ d.message }}{% if d.hint %} <span class="quiet">{{ d.hint }}</span>{% endif %}</li>
{% else %}<li>Nothing looks wrong.</li>
{% endfor %}
</ul>
"""
_MARKERS = """
<p class="quiet small">Jump: how far a place lies from the even course of its neighbours in time. Stretch: how much the distance to the joined markers of the
segment varies. An exchange of two labels has a large jump in both at one time. Those with the largest jumps come first; a time goes there.</p>
<div class="scroll list"><table class="tight"><thead><tr><th>marker</th><th>segment</th><th class="number">seen (%)</th><th class="number">jump (mm)</th><th class="number">at</th><th class="number">stretch (mm)</th></tr></thead><tbody>
{% for row in rows %}
<tr><td>{{ row.label }}</td><td>{{ row.body or "–" }}</td><td class="number">{{ row.seen }}</td><td class="number">{{ row.jump }}</td>
<td class="number">{% if row.time %}<button type="button" data-time="{{ row.time }}" data-marker="{{ row.label }}">{{ row.time }} s</button>{% else %}–{% endif %}</td><td class="number">{{ row.stretch }}</td></tr>
{% endfor %}
</tbody></table></div>
"""
_LINES = """<ul class="small">{% for line in lines %}<li>{{ line }}</li>{% endfor %}</ul>"""
_DRAWN = (
    "Dots: markers as they were recorded, with their trail; lines join those of one segment; blue: right, orange: left, green: middle, "
    "grey: not understood. Arrows: reaction force of the plates (1 m = 1000 N)."
)


def check_page(file: FileFacts, lines: Sequence[str], findings: Sequence[Diagnostic], program: str) -> str | None:
    """Return the page of a recording: what looks wrong, the scene, how each marker moves; None where no marker is seen."""
    scene = recording_scene(file)
    if scene is None:
        return None
    recording = file.recording
    context = scene_context(scene, "The markers of the recording in motion, force plates and forces", _DRAWN)
    sections = [
        _section("findings", "What looks wrong", _FINDINGS, {"findings": _ordered(findings)}, "slim"),
        _section("scene", "The recording in 3-D", _SCENE, context, "scene beside"),
        _section("markers", "Markers", _MARKERS, {"rows": [_row(one) for one in marker_motions(file)]}, "beside"),
        _section("contents", "What the file holds", _LINES, {"lines": lines}, ""),
    ]
    markers = recording.markers
    frame = Frame(
        title=f"{recording.path.name} – check",
        heading=recording.path.name,
        line="",
        facts=[
            Fact("Frames", f"{markers.frame_count} at {markers.rate_hz:g} Hz"),
            Fact("Markers", str(len(markers.labels))),
            Fact("Force plates", str(len(recording.plates))),
        ],
        program=program,
        foot="This page needs no network.",
    )
    return framed(frame, sections)


def _section(name: str, title: str, template: str, data: dict[str, Any], css: str) -> Section:
    body = Markup(page_environment().from_string(template).render(data))
    return Section(name, title, body, link=title if name != "contents" else "", css=css)


def _ordered(findings: Sequence[Diagnostic]) -> list[Diagnostic]:
    order = ("error", "warning", "info")
    return sorted(findings, key=lambda one: order.index(one.severity))


def _row(one: MarkerMotion) -> dict[str, str]:
    return {
        "label": one.label,
        "body": one.body,
        "seen": f"{100 * one.seen:.0f}",
        "jump": f"{1000 * one.jump_m:.1f}" if np.isfinite(one.jump_m) else "–",
        "time": f"{one.jump_s:.2f}" if np.isfinite(one.jump_s) else "",
        "stretch": f"{1000 * one.stretch_m:.1f}" if np.isfinite(one.stretch_m) else "–",
    }
