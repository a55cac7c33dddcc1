"""One-dimensional statistical parametric mapping: tests of whole curves."""

from biodyn.statistics.spm.designs import (
    anova,
    anova_repeated,
    cell_means,
    linear_model,
    one_sample_t,
    paired_t,
    regression,
    two_sample_t,
)
from biodyn.statistics.spm.factorial import TwoFactors, anova_mixed, anova_two_way, anova_two_way_repeated
from biodyn.statistics.spm.field import StatisticField
from biodyn.statistics.spm.inference import permutation_inference, random_field_inference
from biodyn.statistics.spm.noise import smooth_noise
from biodyn.statistics.spm.random_field import RandomField
from biodyn.statistics.spm.result import Cluster, Permutations, SpmResult

__all__ = [
    "Cluster",
    "Permutations",
    "RandomField",
    "SpmResult",
    "StatisticField",
    "TwoFactors",
    "anova",
    "anova_mixed",
    "anova_repeated",
    "anova_two_way",
    "anova_two_way_repeated",
    "cell_means",
    "linear_model",
    "one_sample_t",
    "paired_t",
    "permutation_inference",
    "random_field_inference",
    "regression",
    "smooth_noise",
    "two_sample_t",
]
