"""Figures: tables and arrays in, the description of a figure out, and renderers that draw it alike.

In: a trial's record, tables and arrays (`curves.TrialValues`), the curves of a study, a replay. Out: SVG for pages
(`svg.svg`), PNG for files (`png.png`), vectors on paper (`pdf.py`), a matplotlib Figure (`matplotlib_backend.draw`).

Read `description.py` (what a figure shows: panels, axes, layers, keys), `style.py` (colours and sizes), `layout.py` (places,
limits, ticks, legends), `drawing.py` (strokes, shapes and words of a layout, for the pens of SVG, PNG and PDF), `curves.py`
(what several figures share: cycles, stances, bands), then `trial/`: a file added there is a figure, nothing else names it.
Figures over the gait cycle are entries of library/figures/display.toml; `svg.standard_grid` is the standard page of reports.
`replay.py` has those of a forward replay and its moving picture; those of studies are in study/report.
"""
