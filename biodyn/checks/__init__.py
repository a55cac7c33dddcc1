"""What can be said against a trial: checks of the recording and of the result, and the verdict that follows from them.

Goes in: a `TrialAnalysis` with everything computed. Comes out: the same with its findings (`diagnostics`), with what the
checks of the recording measured (`TrialAnalysis.data_checks`), and with the `verdict`; nothing is corrected.
`biodyn check FILE` asks the checks of a file before anything is analysed.

A check is one decorated function in one file of this folder, named by its subject: `labels`, `markers`, `gaps`, `plates`,
`synchronisation`, `mass`, `filters`, `contacts`, `residual`, `cycles`, `consistency`, `files`. The folder is searched: a new
function is in the verdict, in run.json and in the report without being listed anywhere else.

Read in this order: `registry` (what a check is, and in which order they are asked), one of the checks, `facts` (what several
of them compute once), `verdict`. `evidence/` holds the estimators: values in, numbers and findings out, no analysis.
"""

from biodyn.checks.verdict import examine, judge

__all__ = ["examine", "judge"]
