"""What the variables of a gait cycle mean: title, unit, clinical sign, side rule, norms, physiological limits.

Goes in: `variables.toml` and `norms/` of the library. Comes out: `Variable`, `Norms`, and the faults of a curve that no
person can walk. Tables keep the coordinates' signs (docs/conventions.md); whoever shows, averages over sides or compares
asks here, never a figure:

    variable("pelvis_tilt").clinical_sign      # -1: anterior is positive for people, negative in the tables
    variable("pelvis_list").side_sign("l")     # -1: the left side is reversed before both are averaged
    variable("pelvis_list").clinical("l")      # both at once: table value -> what people are shown

Read in this order: `meaning` (a variable, its limits), `norms` (curves of groups of people at several speeds), `norm_choice`
(which of them fit a person and a walk).
"""

from __future__ import annotations

from biodyn.variables.meaning import (
    PERCENT,
    CurveFault,
    Variable,
    coordinate_title,
    curve_faults,
    is_known,
    same_side,
    variable,
    variables,
)
from biodyn.variables.norm_choice import NormChoice, ScoreReference, Walker, choose_norms, score_reference
from biodyn.variables.norms import NormCurve, Norms, NormScalar, NormSet, load_norm_set, load_norms, unknown_norms

__all__ = [
    "PERCENT",
    "CurveFault",
    "NormChoice",
    "NormCurve",
    "NormScalar",
    "NormSet",
    "Norms",
    "ScoreReference",
    "Variable",
    "Walker",
    "choose_norms",
    "coordinate_title",
    "curve_faults",
    "is_known",
    "load_norm_set",
    "load_norms",
    "same_side",
    "score_reference",
    "unknown_norms",
    "variable",
    "variables",
]
