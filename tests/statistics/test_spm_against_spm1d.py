"""Fields, smoothness, thresholds, clusters and permutations are those of spm1d on the example data it brings along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

spm1d = pytest.importorskip("spm1d")

from support.reference_cases import (  # noqa: E402
    Case,
    field_difference,
    one_effect_cases,
    reference_inference,
    repeated_case,
)

from biodyn.statistics import spm  # noqa: E402
from biodyn.statistics.spm.linear_model import arrangement_count  # noqa: E402

SAME = list(one_effect_cases())
REPEATED = [repeated_case()]
# spm1d looks its thresholds up by minimisation, to 7 digits or so; three are asked for
DIGITS = 1e-5


def by_name(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", [*SAME, *REPEATED], ids=by_name)
def test_field_and_degrees_of_freedom(case: Case) -> None:
    # round-off of two algorithms; Weather and SpeedGRF have F up to 1e5
    assert field_difference(case) < 1e-9
    assert case.ours.df == pytest.approx(tuple(float(value) for value in case.theirs.df))


@pytest.mark.parametrize("two_tailed", [True, False])
@pytest.mark.parametrize("case", SAME, ids=by_name)
def test_inference(case: Case, two_tailed: bool) -> None:
    ours, theirs = spm.random_field_inference(case.ours, 0.05, two_tailed), reference_inference(case, two_tailed)
    assert case.ours.fwhm == pytest.approx(case.theirs.fwhm, rel=1e-9)
    assert case.ours.resels == pytest.approx(tuple(float(value) for value in case.theirs.resels), rel=1e-9)
    assert ours.threshold == pytest.approx(theirs.zstar, rel=DIGITS)
    assert len(ours.clusters) == len(theirs.clusters)
    for found, reference in zip(ours.clusters, theirs.clusters, strict=True):
        assert (found.start, found.end) == pytest.approx(reference.endpoints, abs=1e-4)
        # its probabilities below 1e-12 are round-off
        assert found.p == pytest.approx(reference.P, rel=1e-3, abs=1e-12)


@pytest.mark.parametrize("case", REPEATED, ids=by_name)
def test_inference_from_their_smoothness(case: Case) -> None:
    """Where spm1d's residuals are approximate, our theory on its resels gives its threshold."""
    field = spm.RandomField("f", case.ours.df, tuple(case.theirs.resels), case.ours.z.size)
    assert field.threshold(0.05) == pytest.approx(reference_inference(case, False).zstar, rel=DIGITS)


def permuted(name: str) -> tuple[spm.StatisticField, Any]:
    """Small designs; spm1d's repeated-measures permutation takes minutes and fails with current numpy, so it is not here."""
    data, tests = spm1d.data.uv1d, spm1d.stats.nonparam
    if name == "one sample":
        curves, mean = data.t1.SimulatedPataky2015b().get_data()
        return spm.one_sample_t(curves[:8] - np.asarray(mean)), tests.ttest(curves[:8], mean)
    if name == "paired":
        first, second = data.tpaired.PlantarArchAngle().get_data()
        return spm.paired_t(first, second), tests.ttest_paired(first, second)
    if name == "two samples":
        first, second = data.t2.SimulatedTwoLocalMax().get_data()
        return spm.two_sample_t(first[:4], second[:4]), tests.ttest2(first[:4], second[:4])
    if name == "unbalanced":
        first, second = data.t2.SimulatedTwoLocalMax().get_data()
        return spm.two_sample_t(first[:4], second), tests.ttest2(first[:4], second)
    if name == "regression":
        curves, predictor = data.regress.SimulatedPataky2015c().get_data()
        rows = [0, 2, 4, 6, 8, 9]
        return spm.regression(curves[rows], predictor[rows]), tests.regress(curves[rows], predictor[rows])
    curves, groups = data.anova1.Weather().get_data()
    rows = [0, 1, 2, 15, 16, 20, 21, 22]
    return spm.anova(curves[rows], groups[rows]), tests.anova1(curves[rows], groups[rows])


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["one sample", "paired", "two samples", "unbalanced", "regression", "anova"])
def test_permutation_enumerates_the_same_maxima(name: str) -> None:
    field, reference = permuted(name)
    ours = spm.permutation_inference(field, 0.05, two_tailed=False)
    assert ours.maxima is not None
    assert len(ours.maxima) == arrangement_count(field.statistic.exchange)
    arguments = {"two_tailed": False} if field.kind == "t" else {}
    theirs = reference.inference(0.05, iterations=-1, force_iterations=True, **arguments)
    maxima = np.sort(reference.mgr.Z)
    # the smallest difference between maxima of different arrangements is about 1e-6; round-off 1e-13
    np.testing.assert_allclose(np.sort(ours.maxima), maxima, rtol=1e-9)
    # its threshold is an interpolated quantile, ours the least maximum that no more than 5 % exceed: its neighbour
    assert np.quantile(ours.maxima, 0.95) == pytest.approx(theirs.zstar, rel=1e-9)
    assert np.mean(maxima > ours.threshold * (1 + 1e-9)) <= 0.05
    low, high = sorted([theirs.zstar, ours.threshold])
    assert np.count_nonzero((maxima > low * (1 + 1e-9)) & (maxima < high * (1 - 1e-9))) == 0


@pytest.mark.parametrize("name", ["one sample", "paired", "two samples"])
def test_two_tailed_permutation_by_symmetry(name: str) -> None:
    """spm1d computes one of each pair of opposite arrangements; we compute both."""
    field, reference = permuted(name)
    ours = spm.permutation_inference(field, 0.05, two_tailed=True)
    reference.inference(0.05, two_tailed=True, iterations=-1, force_iterations=True)
    assert ours.maxima is not None
    np.testing.assert_allclose(np.sort(ours.maxima)[::2], np.sort(reference.mgr.Z), rtol=1e-9)
