"""One run at a time, and one study a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from biodyn.errors import StudyError
from biodyn.study.running import lock
from biodyn.study.study import require_free

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks are POSIX")


def test_a_second_run_is_refused_and_the_next_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_PATIENCE_S", 0.2)
    with lock.only_run(tmp_path, "in"), pytest.raises(StudyError, match="Another run"), lock.only_run(tmp_path, "in"):
        pass
    with lock.only_run(tmp_path, "in"):
        pass


def test_the_lock_lasts_as_long_as_a_descriptor_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_PATIENCE_S", 0.2)
    with lock.only_run(tmp_path, "in") as (descriptor,):
        orphan = os.dup(descriptor)
    with pytest.raises(StudyError, match="Another run"), lock.only_run(tmp_path, "in"):
        pass
    os.close(orphan)
    with lock.only_run(tmp_path, "in"):
        pass


def test_a_folder_belongs_to_one_study(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    require_free(out, tmp_path / "a")
    with lock.only_run(out, os.path.relpath(tmp_path / "a", out)):
        pass
    require_free(out, tmp_path / "a")
    with pytest.raises(StudyError, match="another folder"):
        require_free(out, tmp_path / "b")
    other = tmp_path / "photographs"
    other.mkdir()
    (other / "holiday.jpg").touch()
    with pytest.raises(StudyError, match="not empty"):
        require_free(other, tmp_path / "a")
