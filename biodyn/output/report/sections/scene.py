"""The person in motion, to be turned and stepped through."""

from __future__ import annotations

from biodyn.output.report.page import resource, script_json
from biodyn.output.report.section import Data
from biodyn.output.report.still import still
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = """
{{ still }}
<canvas hidden tabindex="0" role="img" aria-label="The body model in motion with {{ dots }}, force plates and ground reaction forces"></canvas>
<div class="controls" hidden>
<button type="button" data-do="play" aria-pressed="false">Play</button>
<button type="button" data-do="back" aria-label="one frame back">‹</button>
<button type="button" data-do="on" aria-label="one frame on">›</button>
<input type="range" min="0" value="0" step="1" aria-label="time">
<output class="mono small"></output>
<label class="small">Speed <select aria-label="speed"><option value="1">1</option><option value="0.5">1/2</option><option value="0.25" selected>1/4</option><option value="0.1">1/10</option></select></label>
</div>
<div class="controls small" hidden>
<span>View: <button type="button" data-view="right">right</button> <button type="button" data-view="front">front</button> <button type="button" data-view="top">top</button> <button type="button" data-view="free">oblique</button></span>
<label><input type="checkbox" data-show="follow" checked> follow</label>
<label><input type="checkbox" data-show="body" checked> body</label>
{% if has_markers %}<label><input type="checkbox" data-show="markers" checked> {{ dots }}</label>{% endif %}
<label><input type="checkbox" data-show="forces" checked> forces</label>
</div>
<details class="small"><summary>What is drawn, and keys</summary><p class="quiet">Drag or arrow keys turn, wheel or + and − come nearer, space plays, comma and full stop step. Arrows: ground reaction
force (1 m = 1000 N) of the right and left foot; at the pelvis the residual force, ten times as long.{% if has_markers %} Dots:
{{ "four points of each measured pose" if on_poses else "measured markers" }}, filtered; rings: their places on the body model; a red line
where they are more than 2 cm apart.{% endif %}{% if edges_unknown %} Force plates whose edges are not known are not drawn.{% endif %}</p></details>
<script type="application/json" id="scene-data">{{ scene }}</script>
<script>{{ script }}</script>
"""


@SECTIONS.section("scene", place=15, title="The walk in 3-D", link="3-D", css="scene beside", template=_TEMPLATE)
def scene(page: TrialPage) -> Data | None:
    """What moves and the script that draws it; None where the result does not hold it."""
    data = page.scene
    if data is None:
        return None
    return {
        "scene": script_json(data),
        "still": still(data, "The body model in the middle of the walk, seen from its right and in front"),
        "script": resource("scene.js"),
        "has_markers": data["markers"] is not None,
        "on_poses": page.is_on_poses,
        "dots": "poses" if page.is_on_poses else "markers",
        "edges_unknown": len(data["plates"]) < len(page.view.arrays["plate_numbers"]),
    }
