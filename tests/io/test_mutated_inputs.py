"""Damaged inputs of every kind never crash, hang or deceive: a small version of benchmarks/mutated_inputs.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import benchmark

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the benchmark forks its workers")


@pytest.mark.slow
def test_forty_damaged_files_of_every_kind(tmp_path: Path) -> None:
    bench = benchmark.load("mutated_inputs")
    (tmp_path / "sound").mkdir()
    made = bench.made_files(tmp_path / "sound")
    for kind in bench.kinds(made):
        place = tmp_path / kind.name.replace(" ", "_")
        place.mkdir()
        line = bench.line_of(bench.outcomes_of(kind, 40, 12, place, 0))
        assert line.said == []
        assert line.tried == 40
        assert line.refused > 0  # void if the damage hit nothing
