"""Stream the results of all trials, in the order of the plan, into one tidy data set.

In: the result folders of a plan's trials. Out: study.parquet and study.csv (a row a value of a cycle), summary.csv (a row a
trial), and on request study_wide.csv and study.xlsx. A few trials at a time are in memory, however many there are; files take
their names when all of them are whole.

Read `cycles` (the columns, and the rows of one trial with the reasons of missing values, written by the trial process),
`collection` (all trials), `metrics` (a row a trial, summary.csv), `read` (asking the data set for rows). `options` is section
[output] of study.toml; `exporting` writes the files for other programs.
"""

import lazy_loader

# A trial process writes curves: what makes Parquet of them is loaded by who collects.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
