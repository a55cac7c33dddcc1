"""Stream the results of all trials, in the order of the plan, into one tidy data set."""

from __future__ import annotations

from biodyn.study.collecting.collection import CollectedStudy, collect
from biodyn.study.collecting.exporting import export
from biodyn.study.collecting.options import OutputOptions
from biodyn.study.collecting.read import iterate_subjects, read_cycles

__all__ = ["CollectedStudy", "OutputOptions", "collect", "export", "iterate_subjects", "read_cycles"]
