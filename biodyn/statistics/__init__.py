"""Statistics of numbers and curves: tests, repeatability, symmetry, gait scores. See docs/statistics.md.

In: arrays of numbers or curves, one row a subject or a measurement. Out: frozen results (statistic, degrees of freedom, p,
confidence limits, effect size) that say in a sentence what was done. Nothing here knows of trials or studies; missing values
are left out and said (`missing`), and what the data do not allow raises StatisticsError.

Read `comparisons` (two samples, several groups, families) with `effect_sizes`; `mixed` (repeated measures; `mixed_design`,
`mixed_fit`, `mixed_df` are its parts); `repeatability`; `symmetry`; `waveforms` and `scores` (whole curves as one number). Tests
of whole curves are in `spm`. `levels` holds the error rates that are taken when a caller does not say.
"""

from biodyn.statistics.comparisons import (
    Comparison,
    GroupComparison,
    compare_groups,
    compare_independent,
    compare_paired,
    holm,
)
from biodyn.statistics.effect_sizes import EffectSize, hedges_g, paired_dz
from biodyn.statistics.mixed import MixedModel, MixedTerm, MixedTest, mixed_model
from biodyn.statistics.repeatability import Intraclass, Repeatability, repeatability
from biodyn.statistics.scores import MovementProfile, gait_profile_score, gait_variable_score, movement_profile
from biodyn.statistics.symmetry import curve_difference, symmetry_angle, symmetry_index, symmetry_ratio
from biodyn.statistics.waveforms import Typicality, multiple_correlation, typicality

__all__ = [
    "Comparison",
    "EffectSize",
    "GroupComparison",
    "Intraclass",
    "MixedModel",
    "MixedTerm",
    "MixedTest",
    "MovementProfile",
    "Repeatability",
    "Typicality",
    "compare_groups",
    "compare_independent",
    "compare_paired",
    "curve_difference",
    "gait_profile_score",
    "gait_variable_score",
    "hedges_g",
    "holm",
    "mixed_model",
    "movement_profile",
    "multiple_correlation",
    "paired_dz",
    "repeatability",
    "symmetry_angle",
    "symmetry_index",
    "symmetry_ratio",
    "typicality",
]
