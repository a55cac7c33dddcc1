"""Collect the results of all trials, in the order of the plan, into one tidy data set.

In: result folders of the trials. Out: study.parquet and study.csv (a row per value of a cycle), summary.csv (a row per trial),
on request study_wide.csv and study.xlsx. Memory holds one group of trials. Files get their names when all are complete.

- `cycles`: columns; rows of one trial with the reasons of missing values, and its summary metrics (written by the trial process).
- `collection`: all trials -> files. `read`: selected rows of the data set.
"""

import lazy_loader

# A trial process needs `cycles` only.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
