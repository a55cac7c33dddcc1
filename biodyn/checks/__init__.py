"""Checks of a recording and its results, and the resulting verdict. The checks correct nothing.

Input: a complete `TrialAnalysis`. Output: the analysis with findings (`diagnostics`), with the values of the checks of the
recording (`TrialAnalysis.data_checks`), and with a `verdict`. `biodyn check FILE` runs the checks of a file without an
analysis.

A check is one decorated function in a module of this folder: `files`, `markers`, `plates`, `body`, `motion`. All modules of the
folder are imported, so that a new function is part of the verdict, run.json and the report without further registration.

Read in this order: `registry` (definition and order of checks), one of the checks, `trial_facts` (quantities shared by checks),
`verdict`. `estimators/` contains the estimators, which take values and return numbers and findings, independent of an analysis.
"""

from biodyn.checks.verdict import add_verdict, check_recording

__all__ = ["add_verdict", "check_recording"]
