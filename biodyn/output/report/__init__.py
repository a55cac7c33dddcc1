"""Pages that stand alone: no network, no file next to them.

In comes a `TrialView` (exactly what a result folder keeps, so a page can be made again from one) with its drawings; out
goes one HTML text, or the pages of a PDF. A page is a frame and a list of sections; a section is a template and the function
that fills it, and is found in its package. The pages of a study have the same frame and the same kind of sections.

Read `view.py` (what a page is made of), `page.py` (frame, sections, methods text), `trial_page.py` (the page of a trial), then
`sections/` in the order of their places. `numbers.py` names columns and compares numbers with norms, `scene.py` is the 3-D view.
`check_page.py` shows a recording that was not analysed, `compare_page.py` two results, `in_python.py` results in Python and in a
notebook, `paper.py` and `trial_paper.py` a PDF. `templates/macros.html.j2` has what sections share.
"""
