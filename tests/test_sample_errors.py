"""The errors that docs/validation.md states of the sample walks are those that this version makes."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample_errors", DOCS / "sample_errors.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _numbers(row: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+\.\d+", row.split("|", 2)[2])]


@pytest.mark.slow
def test_the_stated_errors_are_those_of_today() -> None:
    script = _script()
    page = (DOCS / "validation.md").read_text(encoding="utf-8")
    stated = [row for row in page.partition(script.BEGIN)[2].partition(script.END)[0].splitlines() if ".c3d" in row]
    found = list(script.rows())
    assert [row.split("|")[1] for row in stated] == [row.split("|")[1] for row in found]
    for old, new in zip(stated, found, strict=True):
        # round-off on another machine may move the last digit
        for before, now, step in zip(_numbers(old), _numbers(new), [0.001, 0.1] * 3, strict=True):
            assert abs(before - now) < 1.5 * step, "run: python docs/sample_errors.py"
