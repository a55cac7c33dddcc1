"""Pages that stand alone: no network, no file beside them.

In comes a `TrialView` (exactly what a result folder keeps, so a page can be made again from one) with its drawings; out
goes one HTML text. A page is a frame and a list of sections; a section is one file with its template and the function that
fills it, and is found in its package. The pages of a study are made with the same frame and the same kind of sections.

Read `view.py` (what a page is made of), `page.py` (the frame: head, navigation, foot), `section.py` (what a section is and
how a file adds one), `trial_page.py` (the page of a trial), then `sections/` in the order of their places. `methods.py`
writes the methods from the settings that ran, `data_checks.py` tells the checks of the data, `words.py` names columns.
`scene.py` gives the numbers of the 3-D view, `still.py` one frame of it as SVG; `recording_scene.py` and `check_page.py` do
the same for a recording that was not analysed. `in_python.py` shows a result in Python and in a notebook, `overlay.py` several.
`templates/macros.html.j2` has what sections share: `lamp`, `state`, `by_side`, and `picture`, the one place that shows a figure.
"""
