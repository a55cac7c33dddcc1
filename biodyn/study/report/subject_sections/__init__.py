"""The sections of a subject's page in a study, one file each: its template, and the function that fills it.

In: a `SubjectPage` (trials, cycles and group rows of one subject). Out: what the template needs, or None where the page does
not show the section.

A file of this folder is found by lying here; its place on the page is a number it gives itself. Read `trials` first, a
table; then `curves` (figures), `parameters`, `symmetry` and `scores`. What a section is, says `output/report/section.py`;
what the page adds for subjects, `subject_page.py`.
"""
