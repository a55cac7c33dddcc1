"""The report of a study: one HTML file, and one page per subject."""

from biodyn.study.report.write import write_study_report

__all__ = ["write_study_report"]
