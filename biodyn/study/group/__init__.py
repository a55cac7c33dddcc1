"""Group results from the data set: discrete parameters, mean curves, scores, repeatability, comparisons.

In: the data set, one subject at a time, stride parameters, section [analysis] of study.toml. Out: tables in OUT/group, and
group.json with the options and notes. Each subject counts once, whatever the number of cycles. Analyses that the data do not
allow are omitted with a note.

- `group_analysis`: validates the options before any trial runs, adds subjects one by one, then computes every statistic.
- `subject_cycles`: cycles of a subject as arrays, mean curves, representative and outlier cycles.
- `group_data`: input, output and list of the statistics; `statistics/`: one file per statistic.
"""
