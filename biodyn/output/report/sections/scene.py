"""The person in motion, to be turned and stepped through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biodyn.output.report.page import resource, script_json
from biodyn.output.report.section import Data
from biodyn.output.report.still import still
from biodyn.output.report.trial_page import SECTIONS, TrialPage

_TEMPLATE = '{% include "scene.html.j2" %}'


# What the ghost means: the largest extent of each covariance is drawn.
_BAND = "95 % band: a joint lies this close to where it is drawn, in any one direction, with 95 % probability (1.96 SD of the input errors)."


@SECTIONS.section("scene", place=15, title="The walk in 3-D", link="3-D", css="scene beside", template=_TEMPLATE)
def scene(page: TrialPage) -> Data | None:
    """What moves and the script that draws it; None where the result does not hold it."""
    data = page.scene
    if data is None:
        return None
    (person,) = data["persons"]
    plates = len(page.view.arrays["plate_numbers"])
    words = drawn_words(person, page.is_on_poses, plates, filtered=not page.record.get("estimate"))
    return scene_context(data, SEEN, words, hidden_dots=page.is_on_poses)


#: For who cannot see it.
SEEN = "The body model in motion, measured points, force plates and ground reaction forces"


def drawn_words(person: Mapping[str, Any], on_poses: bool, plates: int, filtered: bool | None) -> str:
    """What the marks mean, in sentences; `plates`: how many the recording has; `filtered`: its points, None = of some."""
    words = [
        "Arrows: ground reaction force (1 m = 1000 N) of the right and left foot; at the pelvis the residual force, ten times as long."
    ]
    if person["ghost"] is not None:
        words.append(_BAND)
    if person["markers"] is not None:
        points = "four points of each measured pose" if on_poses else "measured markers"
        seen_as = {True: ", filtered", False: ", as recorded", None: ""}[filtered]
        words.append(
            f"Dots: {points}{seen_as}; rings: their places on the body model; a red line where they are more than 2 cm apart."
        )
    if len(person["plates"]) < plates:
        words.append("Force plates whose edges are not known are not drawn.")
    return " ".join(words)


def scene_context(data: Mapping[str, Any], seen: str, drawn: str, hidden_dots: bool = False) -> dict[str, Any]:
    """What the template of a 3-D view is filled with.

    `seen`: for who cannot see it, `drawn`: what is drawn, in sentences. `hidden_dots`: the measured points are those of poses and
    are shown when asked for. A page with several views empties "script" of all but one.
    """
    return {
        "scene": data,
        "scene_json": script_json(data),
        "script": resource("scene.js"),
        "still": still(data, seen, dots=not hidden_dots),
        "seen": seen,
        "dots": "points of the poses" if hidden_dots else "markers",
        "hidden_dots": hidden_dots,
        "drawn": drawn,
    }
