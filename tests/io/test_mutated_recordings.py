"""Damaged files never crash, hang or deceive the reader: small versions of benchmarks/mutated_recordings.py."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from support import benchmark

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the benchmark forks its workers")


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """The benchmark, loaded as a module."""
    return benchmark.load("mutated_recordings")


def require_nothing_gave_way(bench: ModuleType, folder: Path, count: int, seed: int) -> None:
    counts = bench.run(count, seed, folder, tell=lambda line: None)
    assert counts.bad == []
    assert len(counts.outcomes) == count
    # void if the damage hit nothing or everything, or if nothing could be compared
    assert 0.2 * count < counts.number("read") < 0.9 * count
    assert sum(outcome.compared for outcome in counts.outcomes) > 0.1 * count


@pytest.mark.slow
def test_two_hundred_damaged_files(bench: ModuleType, tmp_path: Path) -> None:
    require_nothing_gave_way(bench, tmp_path, 200, seed=12)
