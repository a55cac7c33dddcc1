"""Reports as self-contained files: HTML pages and PDF.

In: a `TrialView` and its drawings. Out: one HTML text, or the bytes of a PDF. A page is a head, a list of sections and a
foot; a section is a title, a template and the function that returns the values for the template. Pages of a study use the
same parts.

Read `page.py` (page, sections, methods text), `trial_page.py` (report of a trial), then `sections/` in order of their
places. `formatted_parameters.py` names parameters and compares them with norms, `scene.py` is the 3-D view,
`check_page.py` the page of `biodyn check`, `comparison_page.py` the comparison of two results, `plotting.py` the
figures of a result in Python and notebooks, `pdf_report.py` the PDF. `templates/macros.html.j2` has the macros that
sections share.
"""
