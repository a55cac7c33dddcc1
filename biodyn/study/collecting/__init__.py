"""Collect the results of all trials, in the order of the plan, into one tidy data set.

Input: result folders of the trials. Output: study.parquet and study.csv (one row per value of a cycle), summary.csv (one row per
trial), study_wide.csv and study.xlsx. Memory holds one group of trials. Files get their names when all are complete.

Read `cycles` first: columns, rows of one trial with the reasons of missing values, and its summary metrics (written by the trial
process). Then `collection` (all trials into files) and `read` (selected rows of the data set).

The same results give the same bytes: files contain no dates and no machine names.
"""

import lazy_loader

# A trial process needs `cycles` only.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
