"""Group results from the data set: discrete parameters, mean curves, scores, repeatability, comparisons.

In: the data set, one subject at a time, stride parameters, section [analysis] of study.toml. Out: tables in OUT/group, and
group.json with the options and notes. Each subject counts once, whatever the number of cycles. Analyses that the data do not
allow are omitted with a note.

- `group_analysis`: validates the options before any trial runs, adds subjects one by one, then computes every statistic.
- `subject_cycles`: cycles of a subject as arrays, mean curves, representative and outlier cycles.
- `registry`: input, output and list of the statistics; `statistics/`: one file per statistic.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from biodyn.study.options import AnalysisOptions

if TYPE_CHECKING:
    from biodyn.study.group.registry import GroupResults
    from biodyn.study.plan import StudyPlan

__all__ = ["AnalysisOptions", "analyse_study"]


def analyse_study(plan: StudyPlan, out: Path, options: AnalysisOptions | None = None) -> GroupResults:
    """Analyse the collected data set of a study and write OUT/group; see `group_analysis.analyse_study`."""
    # imported here because reading study.toml needs no statistics
    from biodyn.study.group import group_analysis

    return group_analysis.analyse_study(plan, out, options)
