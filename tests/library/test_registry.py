"""A list that grows by a file is whole or says why not, whoever asks first."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from biodyn.errors import SettingsError
from biodyn.library.registry import Registry

_MODULE = """
import importlib
import time

LIST = importlib.import_module("{package}").LIST
time.sleep(0.05)
LIST.add("{name}", {place}, {place})
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with the entries "late" (place 2) and "early" (place 1)."""
    folder = tmp_path / "things_that_grow"
    folder.mkdir()
    head = "from biodyn.library.registry import Registry\nfrom biodyn.errors import SettingsError\n"
    (folder / "__init__.py").write_text(f"{head}LIST = Registry(__name__, 'thing', SettingsError)\n", encoding="utf-8")
    for module, name, place in (("a", "late", 2), ("b", "early", 1)):
        text = _MODULE.format(package=folder.name, name=name, place=place)
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for module in [name for name in sys.modules if name.split(".")[0] == folder.name]:
        del sys.modules[module]


def _list(package: Path) -> Registry[int]:
    found: Registry[int] = __import__(package.name).LIST
    return found


def test_entries_stand_in_the_order_of_their_places(package: Path) -> None:
    assert list(_list(package).items()) == [("early", 1), ("late", 2)]


def test_threads_that_ask_at_once_see_the_whole_list(package: Path) -> None:
    """An analysis beside another one must not miss the checks that are just being imported."""
    things, seen = _list(package), []
    threads = [threading.Thread(target=lambda: seen.append(list(things))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [["early", "late"]] * 4


def test_a_file_that_cannot_be_imported_is_told_every_time(package: Path) -> None:
    (package / "c.py").write_text("import no_such_library\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_library"):
            list(_list(package))
    (package / "c.py").unlink()
    assert list(_list(package)) == ["early", "late"]


def test_a_name_that_is_not_there_is_answered_with_the_nearest(package: Path) -> None:
    with pytest.raises(SettingsError, match="There is no thing 'earli'") as fault:
        _list(package).lookup("earli")
    assert "'early'" in fault.value.hint
    with pytest.raises(ValueError, match="two things are called 'late'"):
        _list(package).add("late", 3)
