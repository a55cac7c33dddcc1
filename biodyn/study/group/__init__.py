"""From the data set to group results: parameters, mean curves, scores, repeatability, statistics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from biodyn.study.group.options import AnalysisOptions

if TYPE_CHECKING:
    from biodyn.study.group.results import GroupResults
    from biodyn.study.plan import StudyPlan

__all__ = ["AnalysisOptions", "analyse_study"]


def analyse_study(plan: StudyPlan, out: Path, options: AnalysisOptions | None = None) -> GroupResults:
    """Analyse the collected data set of a study and write OUT/group; see `analyse.analyse_study`."""
    # Who only reads study.toml should not wait for statistics to be loaded.
    from biodyn.study.group import analyse

    return analyse.analyse_study(plan, out, options)
