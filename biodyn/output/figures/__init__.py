"""Figures: tables and arrays in, the description of a figure out, and backends that draw it alike.

In: a trial's record, tables and arrays (`values.TrialValues`), the curves of a study, a replay. Out: SVG for pages
(`svg.svg`), PNG for files (`png.png`), vectors on paper (`pdf.py`), a matplotlib Figure (`matplotlib_backend.draw`).

Read in this order:
    description.py         what a figure shows, as values: panels, axes, layers, keys; no pen, no place
    style.py               the one home of colours, sizes and fonts
    layout.py              places, limits, ticks, legends
    drawing.py             strokes, shapes and words of a layout, for the pens of svg.py, png.py and pdf.py
    trial/                 the figures of a trial: a file added there is a figure, nothing else names it
    standard.py            the standard page of reports: small panels (`svg.small_svg`) in a grid that the page lays out
    cycles.py, ground.py, uncertainty.py, display.py   what several figures share: cycles, stances, bands, lists of panels
    differences.py                                     the figure of a comparison
    replay.py, animation.py                            figures of a forward replay; its moving picture is matplotlib's own
Figures over the gait cycle are entries of library/figures/display.toml; those of studies are in study/report.
"""
