"""The sections of the pages of a study and of its subjects: templates, and the functions that fill them.

In: a `StudyPage` (what the study's folder holds, and what was added up while its trials were gone through once) or a
`SubjectPage` (trials, cycles and group rows of one subject). Out: what the template needs, or None where the page does not
show the section.

A file of this folder registers its sections, each with a place on the page. Read `trials` first, then `results` (which also
shows the tables of a statistic without a section of its own) and `subject`. `output/report/page.py` defines a section,
`pages.py` what the pages add for studies.
"""
