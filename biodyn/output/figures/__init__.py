"""Figures: descriptions of drawings, and renderers for SVG, PNG, PDF and matplotlib.

In: the stored values of a trial (`TrialView`), the curves of a study, or a replay. Out: SVG for pages (`svg.render_svg`), PNG
for files (`png.render_png`), vectors in PDF (`pdf.py`), a matplotlib Figure (`matplotlib_backend.draw_with_matplotlib`).

Read `description.py` (panels, axes, layers, legend), `style.py` (colours, sizes, font), `drawing.py` (layout, and the
strokes, shapes and text that the pens of SVG, PNG and PDF draw), `curves.py` (gait cycles, stances, bands), then `trial/`, in
which every registered function is a figure. Figures over the gait cycle are entries of library/figures/display.toml;
`svg.standard_grid` is the standard page of a report. Figures of studies are in study/report.
"""
