"""A study that is killed, damaged, repeated or sent to a cluster: small versions of benchmarks/study.py."""

from __future__ import annotations

import argparse
import shutil
import sys
from types import ModuleType

import pytest
from simulator.study import write_study
from support import benchmark

from biodyn.study import Study, StudyResult

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="watches processes through /proc"),
]


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """The benchmark, loaded as a module."""
    return benchmark.load("study")


def test_exactly_the_damaged_fail_each_with_its_reason(bench, tmp_path):
    assert bench.damaged(tmp_path, 1, 12, 0.02)


def test_killed_and_resumed_gives_the_same_bytes(bench, tmp_path):
    assert bench.interruptions(tmp_path, 2, 2, whole=1, single=1, seed=1)


def test_a_cluster_gives_the_same_bytes(bench, tmp_path):
    pytest.importorskip("distributed")
    assert bench.cluster(tmp_path, 2, 2)


def test_a_deployer_of_dask_gives_the_same_bytes(bench, tmp_path):
    """As docs/clusters.md says it, with the deployer that needs no cluster; asked for reports, both make the same trials'."""
    distributed = pytest.importorskip("distributed")
    write_study(tmp_path / "in", 1, 3, seed=12)
    study = Study.open(tmp_path / "in", reports="warn")
    study.run(tmp_path / "here", workers=1)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        study.run(tmp_path / "there", scheduler=cluster.scheduler_address)
    there = [bench.fingerprint(tmp_path / name) for name in ("here", "there")]
    assert bench.differences(*there) == []
    made = {name.split("/")[2] for name in there[0] if name.endswith("/report.html") and name.startswith("trials/")}
    summary = StudyResult(tmp_path / "here").trials
    assert made == set(summary.loc[summary["status"].isin(["warn", "fail"]), "trial"])


def test_a_study_takes_no_harm(tmp_path):
    """A second study in its folder, a stop by a signal: a small version of benchmarks/study_attacks.py."""
    attacks = benchmark.load("study_attacks")
    asked = argparse.Namespace(trials=4, seed=3, whole=1, single=1, stops=1)
    assert attacks.attack(tmp_path, ["two", "stopped"], asked) == []


def test_nothing_is_done_twice(bench, tmp_path):
    assert bench.again(tmp_path, 2, 2)


def test_the_checks_of_the_benchmark_can_fail(bench, tmp_path):
    """Files that differ, are missing or left over are found, and so are sound trials that fail."""
    mine, theirs = tmp_path / "a", tmp_path / "b"
    for folder in (mine, theirs):
        (folder / "trials" / "S01" / "walk").mkdir(parents=True)
        (folder / "study.csv").write_text("1\n")
        (folder / "trials" / "S01" / "walk" / "run.json").write_text(str(folder))  # timings may differ
    assert bench.differences(bench.fingerprint(mine), bench.fingerprint(theirs)) == []
    (theirs / "study.csv").write_text("2\n")
    (theirs / "report.html").touch()
    found = bench.differences(bench.fingerprint(mine), bench.fingerprint(theirs))
    assert found == ["only one has report.html", "study.csv differs"]
    (theirs / "trials" / "S01" / ".walk.abc.part").mkdir()
    assert bench.left_over(theirs) == ["trials/S01/.walk.abc.part"]

    folder = tmp_path / "study"
    walks, _ = write_study(folder, subjects=1, trials=2, seed=6)
    shutil.copy(walks[0], tmp_path / "spare.c3d")
    walks[0].write_bytes(b"")
    out = tmp_path / "out"
    bench.finish(folder, out, "--workers", "1")
    assert not bench.account(folder, out, walks, [])
