"""From the data set to group results: parameters, mean curves, scores, repeatability, statistics."""

from biodyn.study.group.options import AnalysisOptions

__all__ = ["AnalysisOptions"]
