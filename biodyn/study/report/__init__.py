"""The report of a study: one page for the study, one for every subject.

In comes the output folder of a study (summary, records of the trials, group tables) and nothing else; out go `report.html`
and `subjects/<subject>.html`, the same bytes for the same results. Trials and subjects are gone through once, one at a time.

Read `source.py` (the files), `write.py` (the order: trials, subjects, study), `study_page.py` and `subject_page.py` (what
their sections are made of), then `sections/` and `subject_sections/`: a section is one file with its template, found in its
package. `findings.py`, `means.py` and `methods.py` add up what the trials and subjects say; `table.py` and `words.py` say
how tables and numbers look; `curve_figures.py` and `bar_figures.py` describe figures. The frame of the pages and what a
section is are those of a trial's page: `output/report/page.py` and `output/report/section.py`.
"""

from biodyn.study.report.write import write_study_report

__all__ = ["write_study_report"]
