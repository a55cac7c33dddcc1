"""The sections of a study's page, one file each: its template, and the function that fills it.

In: a `StudyPage`: what the study's folder holds, and what was added up while its trials were gone through once. Out: what the
template needs, or None where the page does not show the section.

A file of this folder is found by lying here; its place on the page is a number it gives itself. Read `subjects` first, a
table; then `curves` (figures) and `further_statistics` (what shows the tables of a statistic without a section of its own).
What a section is, says `output/report/section.py`; what the page adds for studies, `study_page.py`.
"""
