"""The sections of the pages of a study and of its subjects: templates, and the functions that fill them.

In: a `StudyPage` (contents of the study folder, and facts aggregated over its trials) or a `SubjectPage` (trials, cycles and
group rows of one subject). Out: the data of the template, or None if the page does not have the section.

A file of this folder registers its sections, each with a place on the page. Read `trials` first, then `results` (which also
shows the tables of statistics without a separate section) and `subject`. `output/report/page.py` defines a section, `pages.py`
the pages of studies.
"""
