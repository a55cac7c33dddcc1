"""Lists that grow by a file: whole for every thread, and never short of a file in silence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from biodyn.library.registry import Registry

PACKAGE = "listed_by_a_test"
INIT = """
from biodyn.library.registry import Registry
LIST = Registry(__name__, "thing")
"""
ENTRY = """
import time
from listed_by_a_test import LIST
time.sleep(0.05)
LIST.add(__name__, 1)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a list and two entries."""
    place = tmp_path / PACKAGE
    place.mkdir()
    for name, text in {"__init__": INIT, "a": ENTRY, "b": ENTRY}.items():
        (place / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield place
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def _list() -> Registry[int]:
    from listed_by_a_test import LIST  # type: ignore[import-not-found]

    found: Registry[int] = LIST
    return found


def test_threads_that_ask_at_once_all_see_the_whole_list(folder: Path) -> None:
    things = _list()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: len(things), range(4))) == [2, 2, 2, 2]


def test_a_file_that_cannot_be_imported_is_told_each_time(folder: Path) -> None:
    (folder / "aa.py").write_text("raise RuntimeError('not finished')", encoding="utf-8")
    things = _list()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="not finished"):
            len(things)


def test_a_module_of_the_package_may_ask_for_the_list(folder: Path) -> None:
    (folder / "c.py").write_text("from listed_by_a_test import LIST\nSEEN = len(LIST)\n", encoding="utf-8")
    assert len(_list()) == 2
