"""The report of a study: one page for the study, one for every subject.

In comes the output folder of a study (summary, records of the trials, group tables) and nothing else; out go `report.html`
and `subjects/<subject>.html`, the same bytes for the same results. Trials and subjects are gone through once, one at a time.

Read `source.py` (the files), `write.py` (the order: trials, subjects, study), `pages.py` (what the sections of each page are
made of), then `sections/`: a section is a template and the function that fills it, found in its package. `aggregate.py`
adds up what the trials and subjects say; `table.py` says how tables and numbers look; `figures.py` describes figures.
`papers.py` makes a PDF. Frame and sections are those of a trial's page: `output/report/page.py`.
"""

from biodyn.study.report.pages import write_study_report

__all__ = ["write_study_report"]
