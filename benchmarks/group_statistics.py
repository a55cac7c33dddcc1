"""Are the statistics right, and quick? `python benchmarks/group_statistics.py [--runs 2000]`

Curves against spm1d (PyPI, GPL: a reference here, no part of the program) on the example data it brings along; the error rate on
smooth curves without effect, and the power on a known bump; permutation against spm1d's time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import spm1d
from common import Record, Stopwatch, parser_of, take_turns, tell
from support.reference_cases import field_difference, one_effect_cases, reference_inference, repeated_case
from support.smooth_noise import smooth_noise

from biodyn.statistics import spm

_NODES = 101
Draw = Callable[[np.random.Generator, int], np.ndarray]


def against_spm1d(record: Record) -> None:
    """Print one row per data set: ours / spm1d's."""
    print("statistic (largest difference), FWHM, resels, threshold and cluster p: ours / spm1d, two-tailed where t")
    worst = 0.0
    for case in (*one_effect_cases(), repeated_case()):
        theirs = reference_inference(case, two_tailed=True)
        ours = spm.random_field_inference(case.ours)
        field, reference = case.ours, case.theirs
        ps = " ".join(
            f"{a.p:.2e}/{b.P:.2e}" for a, b in zip(ours.clusters, theirs.clusters, strict=False)
        )  # spm1d's p of 1e-16 are round-off
        note = "" if case.same_residuals else "  (spm1d: approximate residuals)"
        if case.same_residuals:
            worst = max(worst, abs(ours.threshold / theirs.zstar - 1.0), abs(field.fwhm / reference.fwhm - 1.0))
        print(
            f"  {case.name:46s} dz {field_difference(case):.0e}  FWHM {field.fwhm:8.4f}/{reference.fwhm:8.4f}  "
            f"R1 {field.resels[1]:7.4f}/{reference.resels[1]:7.4f}  u {ours.threshold:8.5f}/{theirs.zstar:8.5f}  "
            f"clusters {len(ours.clusters)}/{len(theirs.clusters)} {ps[:58]}{note}"
        )
    tell(f"largest relative difference of threshold or FWHM where the residuals are the same: {worst:.0e}")
    record.add("threshold or FWHM against spm1d, largest difference", worst, "of the value")


def null_tests(draw: Draw, subjects: int) -> dict[str, Callable[[np.random.Generator], spm.StatisticField]]:
    """The tests on curves without effect, n subjects (groups of n and about n / 2 more)."""
    n, more = subjects, subjects + subjects // 2
    labels = [0] * n + [1] * more + [2] * n
    table = np.repeat(np.arange(n), 3)
    return {
        "one-sample t": lambda rng: spm.one_sample_t(draw(rng, n)),
        "two-sample t": lambda rng: spm.two_sample_t(draw(rng, n), draw(rng, more)),
        "Welch t, SD 2:1": lambda rng: spm.two_sample_t(2.0 * draw(rng, n), draw(rng, more), equal_variance=False),
        "regression": lambda rng: spm.regression(draw(rng, n), rng.random(n)),
        "ANOVA, 3 groups": lambda rng: spm.anova(draw(rng, len(labels)), labels),
        "repeated, 3 conditions": lambda rng: spm.anova_repeated(
            draw(rng, 3 * n) + 2.0 * draw(rng, n)[table], [0, 1, 2] * n, table, assume_sphericity=True
        ),
    }


def error_rates(runs: int, record: Record) -> None:
    """Print the share of null data sets with anything beyond the 5 % threshold."""
    print(
        f"\nfalse positives in % of {runs} null data sets at alpha 5 % (1 SD of chance: {100 * (0.0475 / runs) ** 0.5:.1f})"
    )
    names = list(null_tests(lambda rng, count: np.zeros((count, _NODES)), 4))
    print(f"  {'FWHM':>5s} {'n':>3s}  " + "  ".join(f"{name:>22s}" for name in names))
    everything = []
    for fwhm in (10.0, 20.0, 35.0):
        for subjects in (6, 10, 20):
            rng = np.random.default_rng(round(1000 * fwhm) + subjects)
            tests = null_tests(lambda rng, count, width=fwhm: smooth_noise(count, _NODES, width, rng), subjects)
            rates = [
                100.0 * np.mean([spm.random_field_inference(make(rng)).is_significant for _ in range(runs)])
                for make in tests.values()
            ]
            everything.append(rates)
            tell(f"  {fwhm:5.0f} {subjects:3d}  " + "  ".join(f"{rate:22.2f}" for rate in rates))
    rates = np.array(everything)
    record.add("false positives, mean", rates.mean(), "%, 5 expected")
    record.add("false positives, highest", rates.max(), "%, 5 expected")
    print(f"  mean {rates.mean():.2f}, lowest {rates.min():.2f}, highest {rates.max():.2f}; from n = 10: ", end="")
    rates = rates[[1, 2, 4, 5, 7, 8]]
    print(f"mean {rates.mean():.2f}, lowest {rates.min():.2f}, highest {rates.max():.2f}")
    approximate_residuals(runs, record)


def approximate_residuals(runs: int, record: Record) -> None:
    """Print the error rate of repeated measures with either program's smoothness."""
    rng, n = np.random.default_rng(1), 10
    subject, condition = np.repeat(np.arange(n), 3), np.tile(np.arange(3), n)
    found = np.zeros(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(runs):
            curves = smooth_noise(3 * n, _NODES, 12.0, rng) + 2.0 * smooth_noise(n, _NODES, 40.0, rng)[subject]
            ours = spm.random_field_inference(spm.anova_repeated(curves, condition, subject, True))
            theirs = spm1d.stats.anova1rm(curves, condition, subject, equal_var=True).inference(0.05)
            found += [ours.is_significant, theirs.h0reject]
    a, b = 100.0 * found / runs
    print(f"  repeated measures, subjects smoother (FWHM 40) than errors (12), n = 10: {a:.2f} %, spm1d {b:.2f} %")
    record.add("false positives, repeated measures of smooth subjects", a, "%, 5 expected")


def power(runs: int, record: Record) -> None:
    """Print how often a Gaussian bump at 50 % (FWHM 20 nodes) is found, 12 against 12 curves."""
    print(
        "\npower: a bump at 50 %, two samples of 12, curves of FWHM 20; share found by theory / 1000 permutations, its middle"
    )
    shape = np.exp(-4.0 * np.log(2.0) * ((np.arange(_NODES) - 50.0) / 20.0) ** 2)
    for height in (0.0, 0.75, 1.0, 1.5, 2.0):
        rng = np.random.default_rng(2)
        found, middles = np.zeros(2), []
        for _ in range(runs):
            first, second = (smooth_noise(12, _NODES, 20.0, rng) for _ in range(2))
            field = spm.two_sample_t(first + height * shape, second)
            theory = spm.random_field_inference(field)
            found += [theory.is_significant, spm.permutation_inference(field, permutations=1000).is_significant]
            middles += [0.5 * (cluster.start + cluster.end) for cluster in theory.clusters if cluster.sign > 0]
        middle = np.median(middles) if middles else np.nan
        tell(f"  {height:4.2f} SD: {found[0] / runs:.3f} / {found[1] / runs:.3f}   {middle:.1f} %")
        record.add(f"bump of {height:g} SD found", 100 * found[0] / runs, "% of the data sets")


def permutation_times(record: Record, count: int = 10_000) -> None:
    """Print the time of a permutation test, and spm1d's."""
    print(f"\n{count} permutations of {_NODES} nodes: s, and how much longer spm1d takes")
    rng = np.random.default_rng(3)
    y, x = smooth_noise(24, _NODES, 15.0, rng), rng.random(24)
    labels = np.repeat([0, 1, 2], 8)
    tests = spm1d.stats.nonparam
    for name, field, reference in (
        ("one-sample t, 24", spm.one_sample_t(y), tests.ttest(y)),
        ("two-sample t, 14 + 10", spm.two_sample_t(y[:14], y[14:]), tests.ttest2(y[:14], y[14:])),
        ("regression, 24", spm.regression(y, x), tests.regress(y, x)),
        ("ANOVA, 3 x 8", spm.anova(y, labels), tests.anova1(y, labels)),
        ("repeated ANOVA, 8 x 3", spm.anova_repeated(y, labels, np.tile(np.arange(8), 3), True), None),
    ):
        spm.permutation_inference(field, permutations=100)
        calls: dict[str, Callable[[], object]] = {"ours": partial(spm.permutation_inference, field, permutations=count)}
        if reference is not None:
            # spm1d takes all iterations in one stride, at 1000 already; its time is proportional
            tails = {"two_tailed": True} if field.kind == "t" else {}
            calls["theirs"] = partial(reference.inference, 0.05, iterations=count // 10, **tails)
        timings = take_turns(calls, turns=3)
        seconds = timings["ours"].median
        text = f"  {name:34s} {seconds:6.2f}"
        record.add(f"{count} permutations, {name}", seconds)
        if "theirs" in timings:
            ratio = 10 * timings["theirs"].median / seconds
            text += f"  x {ratio:5.1f}"
            record.add(f"{count} permutations, {name}: spm1d", ratio, "x our time")
        tell(text)


def main() -> None:
    """Print everything."""
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="data sets without effect; a quarter with one")
    arguments = parser.parse_args()
    record, watch = Record("group_statistics", vars(arguments)), Stopwatch()
    against_spm1d(record)
    permutation_times(record)
    error_rates(arguments.runs, record)
    power(arguments.runs // 4, record)
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
