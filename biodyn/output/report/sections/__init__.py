"""Sections of the report of a trial: functions that return the values for their templates.

In: a `TrialPage` (record, tables, arrays, replay, drawings by name). Out: the values for the template, None if the page does not
show the section, or several values for several sections.

A function decorated with `@SECTIONS.section` (name, place on the page, title, navigation entry) is a section; its template is
the file NAME.html.j2 in `templates`, or given as text. New files in this folder are registered automatically. `page.py` defines
sections and their macros. Read `verdict` first (checks and findings), then `curves`, whose last section shows all figures
without a section.
"""
