"""The sections of a study's page, one file each: its template, and the function that fills it.

In comes a `StudyPage` (what the study's folder holds, and what went through its trials once), out goes what the template
needs, or None where the page does not show the section. A new file is a new section; see `output/report/section.py`.
"""
