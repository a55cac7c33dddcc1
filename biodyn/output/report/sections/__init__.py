"""The sections of a trial's page, one file each: its template, and the function that fills it.

In: a `TrialPage` (record, tables, arrays, replay, drawings by name). Out: what the template needs, or None where the page
does not show the section; several make a section each.

A file of this folder is found by lying here: a function under `@SECTIONS.section` gives its name, its place on the page, its
title and its word in the navigation; nothing else is edited. What a section is, and the macros that its template may use,
says `output/report/section.py`. Read `quality` first (checks and findings), then `curves` (figures over the cycle);
`own_figures` shows every figure that names no section.
"""
