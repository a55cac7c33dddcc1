"""From the data set to group results: parameters, mean curves, scores, repeatability, comparisons.

In: the data set of a study subject by subject, the parameters of the strides, section [analysis] of study.toml (`options`).
Out: tables in OUT/group, group.json with what was done and could not be done, and doubts. A subject counts once, however many
cycles; what the data do not allow is left out with a sentence.

Read `analyse` first: it refuses a wrong entry before any trial runs, takes in subjects one by one and then asks every statistic.
`subject_cycles` is a subject as arrays and says which cycle is representative or an outlier, `curves` and `parameters` (defined
in `options`) are its means and numbers. The statistics are files of `statistics/`, listed by `registry`, which also has what they
work on; `designs` is what comparisons are made of.
"""

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
