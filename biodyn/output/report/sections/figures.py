"""The 3-D view, and sections that show figures only."""

from __future__ import annotations

from collections.abc import Callable

from biodyn.output.report.page import Data
from biodyn.output.report.scene import SCENE_TEMPLATE, SEEN, drawn_words, scene_context
from biodyn.output.report.trial_page import SECTIONS, TrialPage

# Sections of figures: anchor, which is the section that the figures name, place on the page and title.
_OF_FIGURES = (("trial", 60, "The whole trial"), ("fit", 70, "Marker tracking error and pelvis residual"))


@SECTIONS.section("scene", place=15, title="The walk in 3-D", link="3-D", css="scene beside", template=SCENE_TEMPLATE)
def scene(page: TrialPage) -> Data | None:
    """What moves and the script that draws it; None where the result does not hold it."""
    data = page.scene
    if data is None:
        return None
    (person,) = data["persons"]
    plates = len(page.view.arrays["plate_numbers"])
    words = drawn_words(person, page.is_on_poses, plates, filtered=not page.record.get("estimate"))
    return scene_context(data, SEEN, words, hidden_dots=page.is_on_poses)


@SECTIONS.section("own_figures", place=75, folded=True, template="{{ picture(name) }}")
def own_figures(page: TrialPage) -> list[Data]:
    """A section for every figure that names none, under the figure's title."""
    return [{"name": name, "title": page.view.figures[name].title} for name in page.figures_in.get("", ())]


def _figures_of(name: str) -> Callable[[TrialPage], Data | None]:
    """Return what fills a section of figures; None where there is none of them."""
    return lambda page: {"name": name} if page.figures_in.get(name) else None


for _name, _place, _title in _OF_FIGURES:
    _section = SECTIONS.section(_name, place=_place, title=_title, folded=True, template="\n{{ pictures(name) }}\n")
    _section(_figures_of(_name))
