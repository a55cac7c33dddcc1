"""The walks of a session in one 3-D view."""

from __future__ import annotations

from biodyn.output.report.page import Data
from biodyn.output.report.scene import SCENE_TEMPLATE
from biodyn.study.report.subject_page import SECTIONS, SubjectPage


@SECTIONS.section("scene", place=15, title="The walks in 3-D", link="3-D", css="scene", template=SCENE_TEMPLATE)
def scene(page: SubjectPage) -> Data | None:
    """What moves; None for the pages of a larger study, and where no result holds a motion."""
    return page.scene
