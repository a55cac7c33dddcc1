"""One-dimensional statistical parametric mapping: tests of whole curves (Friston; Pataky 2010).

Input: curves (J, Q), one per subject or observation, and their groups. Output: an `SpmResult`: the statistic at every node, the
threshold, and clusters with p. Thresholds come from random field theory or from permutations.

Read `designs` (the tests), then `linear_model` (the statistic at every node, its smoothness, nodes that can be tested) and
`inference` (thresholds, clusters, p).

Sources are listed in docs/statistics.md.
"""

from biodyn.statistics.spm.designs import anova, anova_repeated, one_sample_t, paired_t, regression, two_sample_t
from biodyn.statistics.spm.inference import Cluster, SpmResult, permutation_inference, random_field_inference
from biodyn.statistics.spm.linear_model import RandomField, StatisticField

__all__ = [
    "Cluster",
    "RandomField",
    "SpmResult",
    "StatisticField",
    "anova",
    "anova_repeated",
    "one_sample_t",
    "paired_t",
    "permutation_inference",
    "random_field_inference",
    "regression",
    "two_sample_t",
]
