"""The person in motion, to be turned and stepped through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biodyn.output.report.page import resource, script_json
from biodyn.output.report.section import Data
from biodyn.output.report.still import still
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = '{% include "scene.html.j2" %}'


@SECTIONS.section("scene", place=15, title="The walk in 3-D", link="3-D", css="scene beside", template=_TEMPLATE)
def scene(page: TrialPage) -> Data | None:
    """What moves and the script that draws it; None where the result does not hold it."""
    data = page.scene
    if data is None:
        return None
    dots = "poses" if page.is_on_poses else "markers"
    words = [
        "Arrows: ground reaction force (1 m = 1000 N) of the right and left foot; at the pelvis the residual force, ten times as long."
    ]
    if data["markers"] is not None:
        points = "four points of each measured pose" if page.is_on_poses else "measured markers"
        words.append(
            f"Dots: {points}, filtered; rings: their places on the body model; a red line where they are more than 2 cm apart."
        )
    if len(data["plates"]) < len(page.view.arrays["plate_numbers"]):
        words.append("Force plates whose edges are not known are not drawn.")
    seen = f"The body model in motion with {dots}, force plates and ground reaction forces"
    return scene_context(data, seen, dots, " ".join(words))


def scene_context(data: Mapping[str, Any], seen: str, dots: str, drawn: str) -> dict[str, Any]:
    """What the template of a 3-D view is filled with; `seen`: for who cannot see it, `dots`: what they are, `drawn`: all else."""
    return {
        "scene": data,
        "scene_json": script_json(data),
        "script": resource("scene.js"),
        "still": still(data, seen),
        "seen": seen,
        "dots": dots,
        "drawn": drawn,
    }
