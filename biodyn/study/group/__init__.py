"""From the data set to group results: parameters, mean curves, scores, repeatability, statistics."""

from biodyn.study.group.analyse import analyse_study
from biodyn.study.group.options import AnalysisOptions
from biodyn.study.group.results import GroupResults

__all__ = ["AnalysisOptions", "GroupResults", "analyse_study"]
