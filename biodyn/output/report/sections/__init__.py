"""The sections of a trial's page: templates, and the functions that fill them.

In: a `TrialPage` (record, tables, arrays, replay, drawings by name). Out: what the template needs, or None where the page
does not show the section; several make a section each.

A file of this folder is found by lying here: a function under `@SECTIONS.section` gives its name, its place on the page, its
title and its word in the navigation; nothing else is edited. `output/report/page.py` says what a section is, and which macros
its template may use. Read `verdict` first (checks and findings), then `curves`, whose last section shows every figure that
names no section.
"""
