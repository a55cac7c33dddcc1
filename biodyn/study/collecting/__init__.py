"""Stream the results of all trials, in the order of the plan, into one tidy data set.

In: the result folders of a plan's trials. Out: study.parquet and study.csv (a row a value of a cycle), summary.csv (a row a
trial), and on request study_wide.csv and study.xlsx. A few trials at a time are in memory, however many there are; files take
their names when all of them are whole.

Read `schema` (the columns), `shard` (a trial's own curves, written by the trial process), `collection` (all trials),
`data_set` and `text` (how rows become Parquet and CSV), `summary` with `metrics` (a row a trial), `read` (asking the data set
for rows). `options` is section [output] of study.toml; `wide`, `xlsx` and `exporting` are the files for other programs;
`atomic_files` give files their names at the end, `readable` and `reasons` say what is wrong with a damaged or missing value.
"""

import lazy_loader

# A trial process writes curves: what makes Parquet of them is loaded by who collects.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
