"""The sections of a subject's page in a study, one file each: its template, and the function that fills it.

In comes a `SubjectPage` (trials, cycles and rows of one subject), out goes what the template needs, or None where the page
does not show the section. A new file is a new section; see `output/report/section.py`.
"""
