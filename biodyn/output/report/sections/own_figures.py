"""Figures that name no section of the page: each has one of its own."""

from __future__ import annotations

from biodyn.output.report.section import Data
from biodyn.output.report.trial_page import SECTIONS, TrialPage


@SECTIONS.section("own_figures", place=75, folded=True, template="{{ picture(name) }}")
def own_figures(page: TrialPage) -> list[Data]:
    """A section a figure, under the figure's title."""
    return [{"name": name, "title": page.view.figures[name].title} for name in page.figures_in.get("", ())]
