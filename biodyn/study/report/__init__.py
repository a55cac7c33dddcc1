"""The report of a study: one page for the study, and one page per subject.

Input: the output folder of a study (summary, records of the trials, group tables). Output: `report.html` and
`subjects/<subject>.html`; equal results give equal bytes. Trials and subjects are read once, one at a time.

Read `report_inputs.py` (the files) and `pages.py` (the content of each page), then `sections/`: a section is a template and the
function that fills it. `aggregation.py` counts and averages over trials and subjects; `figures.py` describes figures;
`pdf_reports.py` writes the PDF. Frame and sections are shared with the page of a trial: `output/report/page.py`.
"""

from biodyn.study.report.pages import write_study_report

__all__ = ["write_study_report"]
