"""Comparisons of single numbers, repeatability and mixed models against published tables and independent computation."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from biodyn.errors import StatisticsError
from biodyn.statistics import (
    assess_repeatability,
    compare_groups,
    compare_independent,
    compare_paired,
    fit_mixed_model,
    hedges_g,
    holm_adjusted,
    paired_dz,
)

# Student (1908, Biometrika 6:1-25): extra sleep (h) of the same ten patients under two drugs
DRUG_1 = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
DRUG_2 = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])


def test_students_sleep_data() -> None:
    """R's documentation of t.test prints these (datasets::sleep)."""
    paired, apart = compare_paired(DRUG_1, DRUG_2), compare_independent(DRUG_1, DRUG_2)
    assert (paired.t, paired.df, paired.p) == (pytest.approx(-4.0621, abs=5e-5), 9, pytest.approx(0.002833, abs=5e-7))
    assert (paired.low, paired.high) == (pytest.approx(-2.4598858, abs=5e-8), pytest.approx(-0.7001142, abs=5e-8))
    assert (apart.t, apart.df) == (pytest.approx(-1.8608, abs=5e-5), pytest.approx(17.776, abs=5e-4))
    assert (apart.p, apart.low) == (pytest.approx(0.07939, abs=5e-6), pytest.approx(-3.3654832, abs=5e-8))
    assert paired.difference == pytest.approx(-1.58)
    assert paired.effect.value == pytest.approx(-4.0621 / math.sqrt(10), abs=1e-4)


def test_limits_of_effects_contain_t_at_their_edge() -> None:
    """By definition: at the limits the observed t lies at the 2.5 % points of its noncentral distribution."""
    g, dz = hedges_g(DRUG_1, DRUG_2), paired_dz(DRUG_1 - DRUG_2)
    t = stats.ttest_ind(DRUG_1, DRUG_2).statistic
    correction = math.gamma(9.0) / (math.sqrt(9.0) * math.gamma(8.5))
    per_t = math.sqrt(0.2)
    assert g.value == pytest.approx(correction * t * per_t, rel=1e-12)
    assert stats.nct.cdf(t, 18, g.low / correction / per_t) == pytest.approx(0.975, abs=1e-6)
    assert stats.nct.cdf(t, 18, g.high / correction / per_t) == pytest.approx(0.025, abs=1e-6)
    assert stats.nct.cdf(dz.value * math.sqrt(10), 9, dz.low * math.sqrt(10)) == pytest.approx(0.975, abs=1e-6)


def test_limits_of_huge_effects_are_found() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(0.0, 1.0, 15)
    for shift in (5.0, 30.0):
        effect = hedges_g(a + shift, rng.normal(0.0, 1.0, 12))
        assert effect.low < effect.value < effect.high


def test_missing_values_are_left_out() -> None:
    gone = DRUG_1.copy()
    gone[3] = np.nan
    paired = compare_paired(gone, DRUG_2)
    assert paired.counts == (9, 9)
    assert paired.t == pytest.approx(compare_paired(np.delete(DRUG_1, 3), np.delete(DRUG_2, 3)).t)
    assert compare_independent(gone, DRUG_2).counts == (9, 10)


def test_groups_are_compared_by_sums_of_squares() -> None:
    rng = np.random.default_rng(1)
    parts = [rng.normal(mean, 1.0, n) for mean, n in ((0.0, 6), (0.5, 9), (1.5, 4))]
    labels = ["a"] * 6 + ["b"] * 9 + ["c"] * 4
    found = compare_groups(np.concatenate(parts), labels)
    grand = np.concatenate(parts).mean()
    between = sum(len(part) * (part.mean() - grand) ** 2 for part in parts)
    within = sum(np.sum((part - part.mean()) ** 2) for part in parts)
    error = within / 16
    assert found.df == (2.0, 16.0)
    assert found.f == pytest.approx(between / 2 / error)
    assert found.p == pytest.approx(stats.f.sf(found.f, 2, 16))
    assert found.omega_squared == pytest.approx((between - 2 * error) / (between + within + error))


def test_holm_by_hand() -> None:
    # sorted .01 .02 .03 .04: times 4 3 2 1 = .04 .06 .06 .04, never falling: .04 .06 .06 .06
    np.testing.assert_allclose(holm_adjusted([0.03, 0.01, np.nan, 0.04, 0.02]), [0.06, 0.04, np.nan, 0.06, 0.06])
    np.testing.assert_allclose(holm_adjusted([[0.9, 0.8]]), [[1.0, 1.0]])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: compare_paired([1.0, 2.0], [1.0, 2.0, 3.0]), "equal size"),
        (lambda: compare_paired([1.0, 2.0, 3.0], [2.0, 3.0, 4.0]), "do not vary"),
        (lambda: compare_independent([1.0], [2.0, 3.0]), "At least 2"),
        (lambda: compare_groups([1.0, 1.0, 2.0, 2.0], ["a", "a", "b", "b"]), "do not vary"),
        (lambda: holm_adjusted([1.2]), "between 0 and 1"),
        (lambda: assess_repeatability([[1.0], [2.0]]), "two sessions"),
        (lambda: assess_repeatability([[1.0, 1.0], [2.0, 2.0]]), "repeat exactly"),
        (lambda: fit_mixed_model([1.0, 2.0, 3.0], ["a", "b", "c"], factors={"x": [0, 1, 0]}), "too few"),
        (lambda: fit_mixed_model(np.arange(4.0), [0, 0, 1, 1], factors={"x": [1, 1, 1, 1]}), "two levels"),
    ],
)
def test_impossible_questions_say_why(make, text: str) -> None:
    with pytest.raises(StatisticsError, match=text):
        make()


# -- repeatability -----------------------------------------------------------------------------------------------------

# Shrout & Fleiss (1979), table 2: six targets, four judges
RATINGS = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)


def test_shrout_and_fleiss() -> None:
    """Their table 4; the limits as McGraw & Wong's formulas give them in R's psych::ICC (2 to 3 printed digits)."""
    found = assess_repeatability(RATINGS)
    for icc, value, low, high in (
        (found.icc_2_1, 0.29, 0.019, 0.76),
        (found.icc_3_1, 0.71, 0.342, 0.95),
    ):
        assert icc.value == pytest.approx(value, abs=0.005)
        assert icc.low == pytest.approx(low, abs=0.0006)
        assert icc.high == pytest.approx(high, abs=0.006)
    assert found.mean_squares == pytest.approx((11.24, 32.49, 1.02), abs=0.005)


def test_measurement_error_is_recovered() -> None:
    """Known spread: error 2, shifts between sessions 3, subjects 5."""
    rng = np.random.default_rng(2)
    table = rng.normal(0, 5, (4000, 1)) + np.array([3.0, -3.0]) + rng.normal(0, 2, (4000, 2))
    found = assess_repeatability(table)
    # 4000 subjects: about 1 % each; two fixed shifts of +-3 are a variance of 18 between sessions
    assert found.sem == pytest.approx(math.sqrt(4.0 + 18.0), rel=0.04)
    assert found.icc_3_1.value == pytest.approx(25 / 29, abs=0.02)
    assert found.mdc95 == pytest.approx(1.96 * math.sqrt(2) * found.sem, rel=1e-4)


def test_limits_cover_the_truth() -> None:
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(400):
        table = rng.normal(0, 2, (12, 1)) + rng.normal(0, 1, (12, 3))
        found = assess_repeatability(table).icc_3_1
        inside += found.low <= 0.8 <= found.high
    # exact limits: 95 % of 400, within what chance allows once in a thousand
    assert stats.binom.ppf(0.0005, 400, 0.95) <= inside <= stats.binom.ppf(0.9995, 400, 0.95)


def test_incomplete_subjects_are_left_out() -> None:
    more = np.vstack([RATINGS, [5.0, np.nan, 2.0, 1.0]])
    found = assess_repeatability(more)
    assert found.subjects == 6
    assert found.icc_2_1 == assess_repeatability(RATINGS).icc_2_1


# -- mixed models ------------------------------------------------------------------------------------------------------

# Potthoff & Roy (1964, Biometrika 51:313-326), table 1: distance (mm) from pituitary to maxillary fissure at 8, 10, 12, 14 years
GIRLS = [
    [21, 20, 21.5, 23], [21, 21.5, 24, 25.5], [20.5, 24, 24.5, 26], [23.5, 24.5, 25, 26.5], [21.5, 23, 22.5, 23.5],
    [20, 21, 21, 22.5], [21.5, 22.5, 23, 25], [23, 23, 23.5, 24], [20, 21, 22, 21.5], [16.5, 19, 19, 19.5],
    [24.5, 25, 28, 28],
]  # fmt: skip
BOYS = [
    [26, 25, 29, 31], [21.5, 22.5, 23, 26.5], [23, 22.5, 24, 27.5], [25.5, 27.5, 26.5, 27], [20, 23.5, 22.5, 26],
    [24.5, 25.5, 27, 28.5], [22, 22, 24.5, 26.5], [24, 21.5, 24.5, 25.5], [23, 20.5, 31, 26], [27.5, 28, 31, 31.5],
    [23, 23, 23.5, 25], [21.5, 23.5, 24, 28], [17, 24.5, 26, 29.5], [22.5, 25.5, 25.5, 26], [23, 24.5, 26, 30],
    [22, 21.5, 23.5, 25],
]  # fmt: skip
DISTANCE = np.array(BOYS + GIRLS).reshape(-1)
CHILD, AGE = np.repeat(np.arange(27), 4), np.tile([8.0, 10.0, 12.0, 14.0], 27)
SEX = np.repeat(["boy"] * 16 + ["girl"] * 11, 4)


def test_orthodontic_growth_as_published() -> None:
    """R's nlme prints these for its Orthodont data (Pinheiro & Bates 2000): distance ~ age + Sex, random = ~ 1."""
    found = fit_mixed_model(DISTANCE, CHILD, factors={"sex": SEX}, covariates={"age": AGE})
    intercept, sex, age = found.terms
    assert (intercept.estimate, intercept.standard_error, intercept.df) == pytest.approx(
        (17.70671, 0.83392, 80), rel=1e-5
    )
    assert (sex.estimate, sex.standard_error, sex.df) == pytest.approx((-2.32102, 0.76142, 25), rel=1e-5)
    assert (age.estimate, age.standard_error, age.df) == pytest.approx((0.66019, 0.06161, 80), rel=1e-4)
    assert math.sqrt(found.subject_variance) == pytest.approx(1.80743, rel=1e-4)
    assert math.sqrt(found.residual_variance) == pytest.approx(1.43159, rel=1e-4)
    assert (sex.term, sex.p) == ("sex[girl]", pytest.approx(0.0054, abs=5e-5))
    assert found.tests[0].f == pytest.approx(sex.t**2)
    assert found.converged
    assert found.diagnostics == ()


# Belenky et al. (2003), reaction times, ms, on days 0 to 9 of 3 hours in bed a night; the lme4 package's sleepstudy
SLEEP = np.array(
    [
        [249.5600, 258.7047, 250.8006, 321.4398, 356.8519, 414.6901, 382.2038, 290.1486, 430.5853, 466.3535],
        [222.7339, 205.2658, 202.9778, 204.7070, 207.7161, 215.9618, 213.6303, 217.7272, 224.2957, 237.3142],
        [199.0539, 194.3322, 234.3200, 232.8416, 229.3074, 220.4579, 235.4208, 255.7511, 261.0125, 247.5153],
        [321.5426, 300.4002, 283.8565, 285.1330, 285.7973, 297.5855, 280.2396, 318.2613, 305.3495, 354.0487],
        [287.6079, 285.0000, 301.8206, 320.1153, 316.2773, 293.3187, 290.0750, 334.8177, 293.7469, 371.5811],
        [234.8606, 242.8118, 272.9613, 309.7688, 317.4629, 309.9976, 454.1619, 346.8311, 330.3003, 253.8644],
        [283.8424, 289.5550, 276.7693, 299.8097, 297.1710, 338.1665, 332.0265, 348.8399, 333.3600, 362.0428],
        [265.4731, 276.2012, 243.3647, 254.6723, 279.0244, 284.1912, 305.5248, 331.5229, 335.7469, 377.2990],
        [241.6083, 273.9472, 254.4907, 270.8021, 251.4519, 254.6362, 245.4523, 235.3110, 235.7541, 237.2466],
        [312.3666, 313.8058, 291.6112, 346.1222, 365.7324, 391.8385, 404.2601, 416.6923, 455.8643, 458.9167],
        [236.1032, 230.3167, 238.9256, 254.9220, 250.7103, 269.7744, 281.5648, 308.1020, 336.2806, 351.6451],
        [256.2968, 243.4543, 256.2046, 255.5271, 268.9165, 329.7247, 379.4445, 362.9184, 394.4872, 389.0527],
        [250.5265, 300.0576, 269.8939, 280.5891, 271.8274, 304.6336, 287.7466, 266.5955, 321.5418, 347.5655],
        [221.6771, 298.1939, 326.8785, 346.8555, 348.7402, 352.8287, 354.4266, 360.4326, 375.6406, 388.5417],
        [271.9235, 268.4369, 257.2424, 277.6566, 314.8222, 317.2135, 298.1353, 348.1229, 340.2803, 366.5131],
        [225.2640, 234.5235, 238.9008, 240.4730, 267.5373, 344.1937, 281.1481, 347.5855, 365.1630, 372.2288],
        [269.8804, 272.4428, 277.8989, 281.7895, 279.1705, 284.5120, 259.2658, 304.6306, 350.7807, 369.4692],
        [269.4117, 273.4740, 297.5968, 310.6316, 287.1726, 329.6076, 334.4818, 343.2199, 369.1417, 364.1236],
    ]
)
SLEEPER, DAY = np.repeat(np.arange(18), 10), np.tile(np.arange(10.0), 18)


def test_random_intercepts_alone_test_within_subjects() -> None:
    found = fit_mixed_model(SLEEP.reshape(-1), SLEEPER, covariates={"days": DAY})
    assert [term.df for term in found.terms] == [161.0, 161.0]  # nlme's


def test_balanced_data_have_a_closed_form() -> None:
    """REML of a balanced design is the analysis of variance; its Wald F is the repeated-measures F."""
    rng = np.random.default_rng(4)
    n, k = 12, 3
    table = rng.normal(0, 2, (n, 1)) + np.array([0.0, 0.8, 0.3]) + rng.normal(0, 1, (n, k))
    found = fit_mixed_model(table.reshape(-1), np.repeat(np.arange(n), k), factors={"condition": list("abc") * n})
    anova = assess_repeatability(table)
    rows, columns, error = anova.mean_squares
    # 1e-4: a tenth of what is asked for; the optimiser stops near the maximum, not at it
    assert found.residual_variance == pytest.approx(error, rel=1e-4)
    assert found.subject_variance == pytest.approx((rows - error) / k, rel=1e-4)
    assert found.icc == pytest.approx(anova.icc_3_1.value, rel=1e-4)
    assert found.tests[0].f == pytest.approx(columns / error, rel=1e-4)
    assert found.tests[0].df == (k - 1, (n - 1) * (k - 1))
    assert found.terms[1].estimate == pytest.approx(table[:, 1].mean() - table[:, 0].mean(), rel=1e-6)


def reml_by_hand(y: np.ndarray, x: np.ndarray, z: list[np.ndarray], start: np.ndarray) -> np.ndarray:
    """Maximise the restricted likelihood over the subjects' SD (in units of the residual) and the log residual variance."""

    def minus_log_likelihood(parameters: np.ndarray) -> float:
        residual = math.exp(parameters[1])
        v = np.zeros((len(y), len(y)))
        for rows in z:
            v[np.ix_(rows, rows)] = residual * (np.eye(len(rows)) + parameters[0] ** 2)
        inverse = np.linalg.inv(v)
        information = x.T @ inverse @ x
        r = y - x @ np.linalg.solve(information, x.T @ inverse @ y)
        return float(0.5 * (np.linalg.slogdet(v)[1] + np.linalg.slogdet(information)[1] + r @ inverse @ r))

    found = minimize(
        minus_log_likelihood, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-11, "maxiter": 6000}
    )
    return math.exp(found.x[1]) * np.array([found.x[0] ** 2, 1.0])


def test_unbalanced_data_against_the_likelihood_itself() -> None:
    """Subjects with different numbers of trials, values missing: our own maximum of the likelihood."""
    rng = np.random.default_rng(5)
    who = np.repeat(np.arange(10), rng.integers(4, 9, 10))
    speed = rng.uniform(-1.0, 1.0, len(who))
    y = 10.0 + 2.0 * speed + rng.normal(0, 2, 10)[who] + rng.normal(0, 1, len(who))
    y[[3, 17]] = np.nan
    found = fit_mixed_model(y, who, covariates={"speed": speed})
    assert found.observations == len(y) - 2
    assert found.diagnostics[0].value == 2.0
    valid = np.isfinite(y)
    x = np.column_stack([np.ones(valid.sum()), speed[valid]])
    groups = [np.flatnonzero(who[valid] == subject) for subject in range(10)]
    mine = reml_by_hand(y[valid], x, groups, np.array([1.5, 0.2]))
    assert [found.subject_variance, found.residual_variance] == pytest.approx(mine.tolist(), rel=5e-4)


def test_units_do_not_matter() -> None:
    """The same data in m and in mm, far from zero: the same answer, scaled."""
    one = fit_mixed_model(DISTANCE, CHILD, covariates={"age": AGE})
    other = fit_mixed_model(1e-3 * DISTANCE + 50.0, CHILD, covariates={"age": 12.0 * AGE})
    assert other.terms[1].estimate == pytest.approx(one.terms[1].estimate / 12e3, rel=1e-4)
    assert other.subject_variance == pytest.approx(one.subject_variance * 1e-6, rel=1e-3)
    assert other.terms[0].estimate == pytest.approx(50.0 + 1e-3 * one.terms[0].estimate, rel=1e-6)


def test_no_variance_between_subjects_is_said() -> None:
    rng = np.random.default_rng(6)
    y = rng.normal(0, 1, (8, 4))
    y -= y.mean(axis=1, keepdims=True)  # subjects alike beyond chance: the best estimate is zero
    found = fit_mixed_model(y.reshape(-1), np.repeat(np.arange(8), 4), factors={"side": ["r", "l"] * 16})
    assert "mixed-singular" in [entry.code for entry in found.diagnostics]
    assert found.icc < 1e-3


def test_statsmodels_is_imported_only_to_fit() -> None:
    """It takes a second, which no other command should wait for."""
    code = "import sys, biodyn.statistics, biodyn.statistics.spm; sys.exit('statsmodels' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
