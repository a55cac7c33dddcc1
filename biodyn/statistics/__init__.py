"""Statistics of numbers and curves: tests, repeatability, symmetry, gait scores. See docs/statistics.md.

Input: arrays of numbers or curves, one row per subject or measurement. Output: frozen results (statistic, degrees of freedom, p,
confidence limits, effect size) with a sentence that describes the test. The package does not depend on trials or studies.
Missing values are excluded; data that do not allow a test raise StatisticsError.

Read `comparisons` (two samples, several groups, effect sizes), `mixed_models` (mixed models of repeated measures),
`repeatability`, `gait_measures` (symmetry, waveform similarity, gait scores) and `prediction_bands`. Tests of whole
curves are in `spm`.
"""

from biodyn.statistics.comparisons import (
    Comparison,
    EffectSize,
    GroupComparison,
    compare_groups,
    compare_independent,
    compare_paired,
    hedges_g,
    holm_adjusted,
    paired_dz,
)
from biodyn.statistics.gait_measures import (
    GaitDeviationIndex,
    Typicality,
    curve_difference,
    find_typical_cycle,
    fit_deviation_index,
    gait_profile_score,
    gait_variable_score,
    multiple_correlation,
    symmetry_angle,
    symmetry_index,
)
from biodyn.statistics.mixed_models import MixedModel, MixedTerm, MixedTest, fit_mixed_model
from biodyn.statistics.repeatability import IntraclassCorrelation, Repeatability, assess_repeatability

__all__ = [
    "Comparison",
    "EffectSize",
    "GaitDeviationIndex",
    "GroupComparison",
    "IntraclassCorrelation",
    "MixedModel",
    "MixedTerm",
    "MixedTest",
    "Repeatability",
    "Typicality",
    "assess_repeatability",
    "compare_groups",
    "compare_independent",
    "compare_paired",
    "curve_difference",
    "find_typical_cycle",
    "fit_deviation_index",
    "fit_mixed_model",
    "gait_profile_score",
    "gait_variable_score",
    "hedges_g",
    "holm_adjusted",
    "multiple_correlation",
    "paired_dz",
    "symmetry_angle",
    "symmetry_index",
]
