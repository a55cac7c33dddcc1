"""Real recordings and reference vectors: found through the environment, or the test is skipped, here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest


def recordings() -> Path:
    """Return the folder of real recordings, BIODYN_TEST_DATA; skips the test where there is none."""
    return _folder("BIODYN_TEST_DATA", "real recordings")


def reference_vectors() -> Path:
    """Return the folder of reference vectors, BIODYN_TEST_REFERENCE; skips the test where there is none."""
    return _folder("BIODYN_TEST_REFERENCE", "reference vectors")


def slow_but(cases: Sequence[Any], quick: Collection[Any]) -> list[Any]:
    """Return the cases for `parametrize`: those not in `quick` run with the slow group, which .ci/run also runs."""
    missing = [case for case in quick if case not in cases]
    assert not missing, missing
    return [case if case in quick else pytest.param(*_values(case), marks=pytest.mark.slow) for case in cases]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)


def _folder(variable: str, what: str) -> Path:
    folder = os.environ.get(variable, "")
    if not folder or not Path(folder).is_dir():
        pytest.skip(f"{variable} does not name the folder of {what}")
    return Path(folder)
