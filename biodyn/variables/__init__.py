"""Variables of the gait cycle: title, unit, clinical sign, rule for sides, norms, physiological limits.

Input: `variables.toml` and `norms/` of the library. Output: `Variable`, `Norms`, and faults of curves beyond physiological
limits. Tables keep the signs of the coordinates (docs/conventions.md); displays, averages over sides and comparisons convert
them:

    variable("pelvis_tilt").clinical_sign      # -1: anterior is positive clinically, negative in the tables
    variable("pelvis_list").side_sign("l")     # -1: the left side is reversed before averaging over sides
    variable("pelvis_list").clinical("l")      # product of both: table value -> displayed value

Read `gait_variables` (variables and their limits), then `norms` (normative curves, selected for a person and a walk).
"""

from __future__ import annotations

from biodyn.variables.gait_variables import (
    PERCENT,
    CurveFault,
    Variable,
    coordinate_title,
    curve_faults,
    is_known_variable,
    side_sign_factors,
    variable,
    variables,
)
from biodyn.variables.norms import (
    NormChoice,
    NormCovariates,
    NormCurve,
    Norms,
    NormScalar,
    NormSet,
    choose_norms,
    load_norm_set,
    load_norms,
    norm_name_error,
    score_reference,
)

__all__ = [
    "PERCENT",
    "CurveFault",
    "NormChoice",
    "NormCovariates",
    "NormCurve",
    "NormScalar",
    "NormSet",
    "Norms",
    "Variable",
    "choose_norms",
    "coordinate_title",
    "curve_faults",
    "is_known_variable",
    "load_norm_set",
    "load_norms",
    "norm_name_error",
    "score_reference",
    "side_sign_factors",
    "variable",
    "variables",
]
