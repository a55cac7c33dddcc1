"""Collect the results of all trials, in the order of the plan, into one tidy data set.

Input: result folders of the trials. Output: study.parquet and study.csv (one row per value of a cycle), summary.csv (one row
per trial), study_wide.csv and study.xlsx. Only one row group is in memory. Files are renamed to their final names when all are
complete.

Read `cycles` first: columns, rows of one trial with reasons for missing values, and its summary metrics (written by the trial
process). Then `result_aggregation` (writes the files from all trials) and `data_set_reader` (selected rows of the data set).

The same results give the same bytes: files contain no dates and no machine names.
"""

import lazy_loader

# A trial process needs only `cycles`.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
