"""The example data that spm1d (Pataky; GPL, here as a reference only) brings along, as our fields and as its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import spm1d

from biodyn.statistics import spm

_DATA = spm1d.data.uv1d
_TESTS = spm1d.stats


@dataclass(frozen=True)
class Case:
    """The same test by both programs.

    `same_residuals`: whether both estimate the smoothness from the same residuals. spm1d's repeated-measures designs with one
    curve a subject and condition do not (it warns that its residuals are approximate); ours are the residuals of the F.
    """

    name: str
    ours: spm.StatisticField
    theirs: Any
    same_residuals: bool = True


def one_effect_cases() -> Iterator[Case]:
    """One- and two-sample t, regression, one-way analysis of variance: balanced, and with curves left out."""
    for data in (
        _DATA.t1.Random,
        _DATA.t1.RandomRough,
        _DATA.t1.SimulatedPataky2015a,
        _DATA.t1.SimulatedPataky2015b,
    ):
        curves, mean = data().get_data()
        yield Case(
            f"t, one sample: {data.__name__}", spm.one_sample_t(curves - np.asarray(mean)), _TESTS.ttest(curves, mean)
        )
    first, second = _DATA.tpaired.PlantarArchAngle().get_data()
    yield Case("t, paired: PlantarArchAngle", spm.paired_t(first, second), _TESTS.ttest_paired(first, second))
    for data in (_DATA.t2.SmallSampleLargePosNegEffects, _DATA.t2.PlantarArchAngle, _DATA.t2.SimulatedTwoLocalMax):
        first, second = data().get_data()
        for left_out, kind in ((0, "two samples"), (2, "unbalanced")):
            part = first[: len(first) - left_out]
            yield Case(
                f"t, {kind}: {data.__name__}",
                spm.two_sample_t(part, second),
                _TESTS.ttest2(part, second, equal_var=True),
            )
    for data in (_DATA.regress.SimulatedPataky2015c, _DATA.regress.SpeedGRF):
        curves, predictor = data().get_data()
        yield Case(
            f"t, regression: {data.__name__}", spm.regression(curves, predictor), _TESTS.regress(curves, predictor)
        )
    for data in (_DATA.anova1.SpeedGRFcategorical, _DATA.anova1.Weather):
        curves, groups = data().get_data()
        for left_out, kind in ((0, "one-way"), (4, "unbalanced")):
            part, labels = curves[: len(curves) - left_out], groups[: len(groups) - left_out]
            yield Case(
                f"F, {kind}: {data.__name__}", spm.anova(part, labels), _TESTS.anova1(part, labels, equal_var=True)
            )


def repeated_case() -> Case:
    """Repeated measures on one factor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # spm1d says that its residuals are approximate
        curves, condition, subject = _DATA.anova1rm.SpeedGRFcategoricalRM().get_data()
        return Case(
            "F, repeated: SpeedGRFcategoricalRM",
            spm.anova_repeated(curves, condition, subject, assume_sphericity=True),
            _TESTS.anova1rm(curves, condition, subject, equal_var=True),
            same_residuals=False,
        )


def reference_inference(case: Case, two_tailed: bool, alpha: float = 0.05) -> Any:
    """spm1d's answer."""
    if case.ours.kind == "t":
        return case.theirs.inference(alpha, two_tailed=two_tailed)
    return case.theirs.inference(alpha)


def field_difference(case: Case) -> float:
    """Largest difference of the statistic, relative to one or to the statistic where that is larger."""
    return float(np.nanmax(np.abs(case.ours.z - case.theirs.z) / np.maximum(1.0, np.abs(case.theirs.z))))
