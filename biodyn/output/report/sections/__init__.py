"""The sections of a trial's page, one file each: its template, and the function that fills it.

In comes a `TrialPage` (record, tables, arrays, replay, drawings by name), out goes what the template needs, or None where
the page does not show the section. `place` is its place on the page. A new file is a new section, with its word in the
navigation; nothing else is edited. What a section is, and the macros its template may use, says `report/section.py`.
"""
