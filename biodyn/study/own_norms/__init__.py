"""A laboratory's own norms from a study of its healthy people.

In: the output folder of a finished study. Out: norms as a TOML file (docs/norms.md): curves as a function of the dimensionless
walking speed, 95 % prediction bands, numbers of the stride. A person counts once a condition, by the mean of the cycles of
each side; trials whose checks failed do not count.

The file is read, and stands behind the curves, like the published norms of the library (`biodyn.variables.norms`). The bands
themselves come from `biodyn.statistics.prediction_bands`, which knows nothing of studies.

Read in this order: `people` (what is taken from the study), `build` (what is made of it), `write` (the file).
"""

from biodyn.study.own_norms.build import build_norms

__all__ = ["build_norms"]
