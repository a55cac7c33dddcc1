"""Tests of curves keep their error rate, find what is there, and treat gaps and exchanges as the theory says."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats
from support.real import slow_but
from support.smooth_noise import smooth_noise

from biodyn.errors import StatisticsError
from biodyn.statistics import spm
from biodyn.statistics.spm.inference import find_clusters, largest_cluster_mass
from biodyn.statistics.spm.linear_model import all_arrangements, arrangement_count, random_arrangements

NODES = 101


def draw(rng: np.random.Generator, count: int, fwhm: float = 20.0) -> np.ndarray:
    return smooth_noise(count, NODES, fwhm, rng)


# -- fields are what scipy says at each node ---------------------------------------------------------------------------


def test_fields_are_the_scalar_tests_of_each_node() -> None:
    rng = np.random.default_rng(1)
    a, b, c = draw(rng, 7), draw(rng, 11), draw(rng, 5)
    x = rng.random(7)
    slopes = [stats.linregress(x, a[:, node]) for node in range(NODES)]
    for ours, theirs in (
        (spm.one_sample_t(a - 0.3), stats.ttest_1samp(a, 0.3).statistic),
        (spm.paired_t(a, b[:7]), stats.ttest_rel(a, b[:7]).statistic),
        (spm.two_sample_t(a, b), stats.ttest_ind(a, b).statistic),
        (spm.two_sample_t(a, b, equal_variance=False), stats.ttest_ind(a, b, equal_var=False).statistic),
        (spm.regression(a, x), np.array([fit.slope / fit.stderr for fit in slopes])),
        (spm.anova(np.vstack([a, b, c]), ["a"] * 7 + ["b"] * 11 + ["c"] * 5), stats.f_oneway(a, b, c).statistic),
    ):
        np.testing.assert_allclose(ours.z, theirs, rtol=1e-9, atol=1e-10)  # round-off of two algorithms
    np.testing.assert_allclose(spm.two_sample_t(a, b).effect, a.mean(axis=0) - b.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(spm.regression(a, x).effect, [fit.slope for fit in slopes], atol=1e-12)
    np.testing.assert_allclose(spm.regression(a, x).standard_error, [fit.stderr for fit in slopes], atol=1e-12)


def test_repeated_measures_of_two_conditions_is_the_paired_test() -> None:
    rng = np.random.default_rng(2)
    a, b = draw(rng, 8), draw(rng, 8)
    field = spm.anova_repeated(np.vstack([a, b]), ["a"] * 8 + ["b"] * 8, list(range(8)) * 2)
    np.testing.assert_allclose(field.z, spm.paired_t(a, b).z ** 2, rtol=1e-9)
    assert field.fwhm == pytest.approx(spm.paired_t(a, b).fwhm, rel=1e-9)


# -- error rate and power ----------------------------------------------------------------------------------------------

TRIALS = 500


def null_fields(name: str, rng: np.random.Generator) -> spm.StatisticField:
    if name == "one sample":
        return spm.one_sample_t(draw(rng, 12))
    if name == "pooled":
        return spm.two_sample_t(draw(rng, 8, 12.0), draw(rng, 14, 12.0))
    if name == "welch":
        return spm.two_sample_t(3.0 * draw(rng, 8), draw(rng, 16), equal_variance=False)
    if name == "regression":
        return spm.regression(draw(rng, 12, 30.0), rng.random(12))
    if name == "anova":
        return spm.anova(draw(rng, 21), [0] * 5 + [1] * 7 + [2] * 9)
    if name == "repeated":
        subject = np.repeat(np.arange(8), 3)
        return spm.anova_repeated(draw(rng, 24) + 2.0 * draw(rng, 8)[subject], [0, 1, 2] * 8, subject, True)
    curves = draw(rng, 12, 10.0)
    curves[:, 40:55] = np.nan  # a moment that is known in two stretches only
    return spm.one_sample_t(curves)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    slow_but(
        ["one sample", "pooled", "welch", "regression", "anova", "repeated", "broken"],
        quick=["one sample", "welch", "broken"],
    ),
)
def test_error_rate(name: str) -> None:
    rng = np.random.default_rng(4)
    found = sum(spm.random_field_inference(null_fields(name, rng)).is_significant for _ in range(TRIALS))
    # a true rate of 4 to 6 % gives counts in this range but once in a thousand
    low, high = stats.binom.ppf(0.0005, TRIALS, 0.04), stats.binom.ppf(0.9995, TRIALS, 0.06)
    assert low <= found <= high


@pytest.mark.slow
def test_permutation_keeps_the_error_rate_exactly() -> None:
    rng = np.random.default_rng(5)
    found = sum(
        spm.permutation_inference(spm.one_sample_t(draw(rng, 7, 10.0)), permutations=128).is_significant
        for _ in range(400)
    )
    # 6 of 128 sign patterns may exceed the threshold: 4.7 %, whatever the curves are like
    assert stats.binom.ppf(0.0005, 400, 6 / 128) <= found <= stats.binom.ppf(0.9995, 400, 6 / 128)


def test_power_on_a_bump_and_where_it_is_found() -> None:
    """A bump of 1.5 SD at 50 % in 12 against 12: found nearly always, and over its middle."""
    rng = np.random.default_rng(6)
    bump = 1.5 * np.exp(-0.5 * ((np.arange(NODES) - 50.0) / 8.0) ** 2)
    results = [spm.random_field_inference(spm.two_sample_t(draw(rng, 12) + bump, draw(rng, 12))) for _ in range(200)]
    # noncentral t at the middle: 1.5 / sqrt(2 / 12) = 3.67 against a threshold of about 3.2: 0.68 at this one node
    assert np.mean([result.is_significant for result in results]) > stats.nct.sf(results[0].threshold, 22, 3.67) - 0.1
    clusters = [cluster for result in results for cluster in result.clusters if cluster.sign > 0]
    assert np.median([0.5 * (cluster.start + cluster.end) for cluster in clusters]) == pytest.approx(50.0, abs=2.0)


def test_random_field_theory_agrees_with_permutation() -> None:
    rng = np.random.default_rng(7)
    for field in (
        spm.two_sample_t(draw(rng, 14), draw(rng, 10)),
        spm.anova(draw(rng, 30), [0] * 8 + [1] * 10 + [2] * 12),
        spm.regression(draw(rng, 25), rng.random(25)),
    ):
        theory, drawn = spm.random_field_inference(field), spm.permutation_inference(field, permutations=4000)
        # two estimates of one threshold, each a few percent off: smoothness from ~20 curves, quantile of 4000 draws
        assert drawn.threshold == pytest.approx(theory.threshold, rel=0.08)


@pytest.mark.slow
def test_unequal_conditions_need_the_correction() -> None:
    """One of four conditions varies four times as much: the uncorrected test finds what is not there."""
    rng = np.random.default_rng(21)
    subject, condition = np.repeat(np.arange(10), 4), np.tile(np.arange(4), 10)
    size = np.where(condition == 3, 4.0, 1.0)[:, None]
    found = {True: 0, False: 0}
    for _ in range(300):
        curves = size * draw(rng, 40)
        for assume_sphericity in found:
            field = spm.anova_repeated(curves, condition, subject, assume_sphericity)
            found[assume_sphericity] += spm.random_field_inference(field).is_significant
    assert found[True] > 0.15 * 300
    # 5 % of 300 is 15; more than 27 once in a thousand
    assert found[False] <= stats.binom.ppf(0.999, 300, 0.05)


# -- smoothness and search region --------------------------------------------------------------------------------------


@pytest.mark.parametrize("fwhm", [8.0, 20.0, 40.0])
def test_smoothness_is_recovered(fwhm: float) -> None:
    field = spm.one_sample_t(draw(np.random.default_rng(8), 400, fwhm))
    # 400 curves estimate it within about 2 %; central differences see kernels of 8 nodes about 2 % wider
    assert field.fwhm == pytest.approx(fwhm, rel=0.05)


def test_expected_upcrossings_of_known_noise() -> None:
    """Rice's formula by counting: t of many degrees of freedom goes up through u R1 rho1(u) times on average."""
    curves = draw(np.random.default_rng(9), 20_000, 15.0)
    field = spm.RandomField("t", (1.0, 1e7), (1.0, (NODES - 1) / 15.0), NODES)
    for u in (1.0, 2.0, 2.5):
        counted = np.mean(np.sum((curves[:, 1:] > u) & (curves[:, :-1] <= u), axis=1))
        # 20,000 curves: 1 to 3 % by chance; nodes are 1 apart, so quick double crossings are missed
        assert counted == pytest.approx(field.resels[1] * field.upcrossing_density(u), rel=0.05)


def test_densities_of_large_samples_are_gaussian() -> None:
    density = math.sqrt(4.0 * math.log(2.0)) / (2.0 * math.pi) * math.exp(-0.5 * 2.5**2)
    for kind, u, tails in (("t", 2.5, 1.0), ("f", 6.25, 2.0)):  # a square has both tails
        field = spm.RandomField(kind, (1.0, 1e7), (1.0, 5.0), NODES)
        assert field.upcrossing_density(u) == pytest.approx(tails * density, rel=1e-5)
        assert field.node_probability(u) == pytest.approx(tails * stats.norm.sf(2.5), rel=1e-5)


def test_a_gap_breaks_the_region() -> None:
    rng = np.random.default_rng(10)
    whole = draw(rng, 9)
    broken = whole.copy()
    broken[3, 60:70] = np.nan
    field = spm.one_sample_t(broken)
    assert field.resels == pytest.approx((2.0, (59 + 30) / field.fwhm))
    assert np.array_equal(np.isnan(field.z), np.isin(np.arange(NODES), np.arange(60, 70)))
    np.testing.assert_allclose(field.z[field.nodes], spm.one_sample_t(whole).z[field.nodes], rtol=1e-12)
    assert [entry.code for entry in field.diagnostics] == ["spm-missing-nodes"]
    assert "60-69" in field.diagnostics[0].message


def test_nodes_without_variance_are_left_out() -> None:
    curves = draw(np.random.default_rng(11), 9)
    curves[:, :4] = 0.1  # clamped, e.g. a force in swing; not exactly zero variance in floating point
    field = spm.one_sample_t(curves)
    assert not field.nodes[:4].any()
    assert field.nodes[4:].all()
    assert field.diagnostics[0].code == "spm-no-variance"
    assert np.isfinite(field.z[4:]).all()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda y: spm.one_sample_t(y[0]), "curves, nodes"),
        (lambda y: spm.one_sample_t(y[:1]), "degree of freedom"),
        (lambda y: spm.one_sample_t(np.vstack([y, np.full((1, NODES), np.nan)])), "rows 6"),
        (lambda y: spm.one_sample_t(np.ones((5, NODES))), "No node can be tested"),
        (lambda y: spm.paired_t(y, y[:4]), "equal shapes"),
        (lambda y: spm.two_sample_t(y, y[:, :50]), "same number of nodes"),
        (lambda y: spm.regression(y, np.ones(6)), "cannot be estimated"),
        (lambda y: spm.anova(y, ["a"] * 6), "two groups"),
        (lambda y: spm.anova(y, ["a"] * 5), "one label per curve"),
        (lambda y: spm.anova_repeated(y, [0, 0, 1, 1, 0, 1], [0, 0, 0, 1, 1, 1]), "several curves"),
        (lambda y: spm.permutation_inference(spm.one_sample_t(y[:4])), "smallest possible p-value"),
        (lambda y: spm.random_field_inference(spm.one_sample_t(y), alpha=0.9), "alpha"),
    ],
)
def test_impossible_tests_say_why(make, text: str) -> None:
    with pytest.raises(StatisticsError, match=text):
        make(draw(np.random.default_rng(12), 6))


# -- clusters ----------------------------------------------------------------------------------------------------------


def test_ends_area_and_peak_of_a_cluster() -> None:
    z = np.array([0.0, 1.0, 3.0, 4.0, 2.0, 0.0, -3.0, -3.0])
    found = find_clusters(z, 2.0, True)
    above = found[0]
    # crosses 2 halfway between nodes 1 and 2, and exactly at node 4
    assert (above.start, above.end, above.peak, above.peak_node, above.sign) == (1.5, 4.0, 4.0, 3, 1)
    assert above.mass == pytest.approx(0.25 + 1.5 + 1.0)
    # the other begins 2/3 into the step to node 6 and ends at the edge
    assert (found[1].start, found[1].end, found[1].peak, found[1].sign) == (pytest.approx(5 + 2 / 3), 7.0, -3.0, -1)


@pytest.mark.parametrize("two_tailed", [False, True])
def test_thousands_of_fields_are_measured_as_one(two_tailed: bool) -> None:
    rng = np.random.default_rng(13)
    fields = smooth_noise(300, 60, 6.0, rng)
    nodes = np.ones(60, dtype=bool)
    nodes[[20, 21, 40]] = False
    gaps = (np.diff(np.flatnonzero(nodes)) == 1).astype(float)
    mass = largest_cluster_mass(fields[:, nodes], gaps, 0.8, two_tailed)
    for at, z in enumerate(np.where(nodes, fields, np.nan)):
        found = find_clusters(z, 0.8, two_tailed)
        assert mass[at] == pytest.approx(max((cluster.mass for cluster in found), default=0.0), abs=1e-9)


# -- permutation -------------------------------------------------------------------------------------------------------


def refitted(field: spm.StatisticField, matrix: np.ndarray, contrast: np.ndarray, y: np.ndarray) -> np.ndarray:
    """F of a contrast by least squares with and without it."""
    free = np.linalg.svd(contrast)[2][len(contrast) :].T
    errors = [np.sum((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2, axis=0) for x in (matrix, matrix @ free)]
    return np.asarray((errors[1] - errors[0]) / len(contrast) / (errors[0] / field.df[1]))


def test_exchanged_rows_are_the_refitted_model_of_exchanged_residuals() -> None:
    """Freedman & Lane by the book: permute the reduced model's residuals, add its fit, fit the full model again."""
    rng = np.random.default_rng(14)
    y, matrix = draw(rng, 9), np.column_stack([rng.random(9), np.ones(9)])
    contrast = np.array([[1.0, 0.0]])
    field = spm.regression(y, matrix[:, 0])
    arrangements = random_arrangements(field.statistic.exchange, 20, rng)
    reduced = matrix[:, 1:]
    fit = reduced @ np.linalg.lstsq(reduced, y, rcond=None)[0]
    for rows, t in zip(arrangements.rows, field.statistic.statistic_fields(arrangements), strict=True):
        places = np.argsort(rows)  # curve j goes to place rows[j]
        again = fit + (y - fit)[places]
        np.testing.assert_allclose(t**2, refitted(field, matrix, contrast, again), rtol=1e-7, atol=1e-9)


def test_within_subject_exchange_is_the_refitted_table() -> None:
    rng = np.random.default_rng(15)
    subject, condition = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
    y = draw(rng, 12) + 3.0 * draw(rng, 4)[subject]
    field = spm.anova_repeated(y, condition, subject, assume_sphericity=True)
    arrangements = all_arrangements(field.statistic.exchange)
    assert len(arrangements.rows) == 6**4 == arrangement_count(field.statistic.exchange)
    assert len(np.unique(arrangements.rows, axis=0)) == 6**4
    assert (subject[arrangements.rows] == subject).all()
    some = slice(0, None, 97)
    fields = field.statistic.statistic_fields(type(arrangements)(arrangements.rows[some], arrangements.signs[some]))
    for rows, z in zip(arrangements.rows[some], fields, strict=True):
        np.testing.assert_allclose(z, spm.anova_repeated(y, condition[rows], subject).z, rtol=1e-8)


def test_every_arrangement_once() -> None:
    rng = np.random.default_rng(16)
    y = draw(rng, 7)
    labels = np.array([0, 1, 0, 2, 1, 2, 2])
    field = spm.anova(y, labels)
    arrangements = all_arrangements(field.statistic.exchange)
    found = {tuple(row) for row in labels[arrangements.rows]}
    assert found == set(permutations(labels))
    assert len(arrangements.rows) == len(found) == math.factorial(7) // (2 * 2 * 6)
    flips = all_arrangements(spm.one_sample_t(y).statistic.exchange)
    assert {tuple(signs) for signs in flips.signs} == set(product([1.0, -1.0], repeat=7))


def test_seed_decides_and_the_data_are_among_the_draws() -> None:
    rng = np.random.default_rng(17)
    field = spm.two_sample_t(draw(rng, 12) + 4.0, draw(rng, 12))
    one, same, other = (spm.permutation_inference(field, permutations=500, seed=seed) for seed in (1, 1, 2))
    assert one.threshold == same.threshold != other.threshold
    assert one.maxima is not None
    assert len(one.maxima) == 500
    assert one.p == pytest.approx(1 / 500)  # beyond every other draw, never zero
    assert one.clusters[0].p == pytest.approx(1 / 500)


def test_welch_exchange_is_the_refitted_test() -> None:
    rng = np.random.default_rng(18)
    y = draw(rng, 9)
    field = spm.two_sample_t(y[:3], y[3:], equal_variance=False)
    arrangements = all_arrangements(field.statistic.exchange)
    group = np.array([0] * 3 + [1] * 6)
    for rows, t in zip(arrangements.rows[::7], field.statistic.statistic_fields(arrangements)[::7], strict=True):
        there = group[rows] == 0
        np.testing.assert_allclose(t, stats.ttest_ind(y[there], y[~there], equal_var=False).statistic, rtol=1e-8)


# -- bands and corrections ---------------------------------------------------------------------------------------------


def test_band_excludes_zero_where_the_test_finds_a_difference() -> None:
    rng = np.random.default_rng(19)
    bump = np.where(np.abs(np.arange(NODES) - 50) < 10, 5.0, 0.0)
    theory = spm.random_field_inference(spm.two_sample_t(draw(rng, 8) + bump, draw(rng, 8)))
    low, high = theory.confidence_band()
    np.testing.assert_array_equal((low > 0.0) | (high < 0.0), np.abs(theory.field.z) > theory.threshold)


def test_greenhouse_geisser_is_one_for_spherical_and_less_for_others() -> None:
    rng = np.random.default_rng(20)
    subject, condition = np.repeat(np.arange(60), 3), np.tile(np.arange(3), 60)
    spherical = draw(rng, 180, 10.0)
    field = spm.anova_repeated(spherical, condition, subject)
    assert field.df[0] / 2.0 > 0.95  # 60 subjects x ~10 independent nodes estimate it within about 1 %
    # one condition that varies wildly: S has one large eigenvalue, epsilon near 1 / (k - 1)
    wild = spherical * np.where(condition == 2, 20.0, 1.0)[:, None]
    field = spm.anova_repeated(wild, condition, subject)
    assert field.df[0] / 2.0 == pytest.approx(0.5, abs=0.02)
    assert field.df[1] / field.df[0] == pytest.approx(59.0)
