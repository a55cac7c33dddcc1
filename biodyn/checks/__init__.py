"""Checks of a recording and of its results, and the verdict that follows from them. Nothing is corrected here.

Input: a complete `TrialAnalysis`. Output: the same analysis with findings (`diagnostics`), with the values measured by the
checks of the recording (`TrialAnalysis.data_checks`), and with a `verdict`. `biodyn check FILE` runs the checks of a file
without an analysis.

A check is one decorated function in a module of this folder: `files`, `markers`, `plates`, `body`, `motion`. All modules of the
folder are imported: a new function is part of the verdict, run.json and the report without any further list.

Read in this order: `registry` (definition and order of checks), one of the checks, `facts` (quantities shared by checks),
`verdict`. `estimators/` contains the estimators: they take values and return numbers and findings, without an analysis.
"""

from biodyn.checks.verdict import examine, judge

__all__ = ["examine", "judge"]
