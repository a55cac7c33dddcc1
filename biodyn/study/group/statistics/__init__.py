"""Group statistics: gait scores, symmetry, comparisons with mixed models, repeatability.

In: `GroupData`, the means of every subject by session, condition and side, with units and the options of study.toml; a
statistic that needs single cycles (`repeatability`) also receives each subject. Out: `StatisticOutput`, tables that are
written to OUT/group by their names, sentences on methods and omitted analyses, and findings.

A file of this folder registers its statistic by `@group_statistic(NAME, place=...)` of `study/group/group_data.py`.
Its tables are then written, listed in group.json and shown in the report. The numbers themselves come from
`biodyn.statistics`, which does not depend on studies. Read `symmetry` first, the smallest, then `comparisons` (designs, tests
of curves and numbers, corrected families), and `repeatability`, which accumulates subject by subject.
"""
