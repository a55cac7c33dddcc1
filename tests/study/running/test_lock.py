"""One run at a time, and one study a folder."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from biodyn.errors import StudyError
from biodyn.study.running import task as lock
from biodyn.study.study import require_usable_output_folder

fcntl = pytest.importorskip("fcntl", reason="how a lock outlives its process is POSIX")


def test_a_second_run_is_refused_and_the_next_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "_PATIENCE_S", 0.2)
    with (
        lock.lock_output_folder(tmp_path, "in"),
        pytest.raises(StudyError, match="Another run"),
        lock.lock_output_folder(tmp_path, "in"),
    ):
        pass
    with lock.lock_output_folder(tmp_path, "in"):
        pass


@pytest.mark.slow
def test_the_lock_lasts_while_a_process_of_a_killed_run_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial processes inherit the lock: nobody begins beside what they are still writing."""
    code = (
        "import os, subprocess, sys\nfrom pathlib import Path\nfrom biodyn.study.running.task import lock_output_folder\n"
        f"with lock_output_folder(Path({str(tmp_path)!r}), 'in') as kept:\n"
        "    orphan = subprocess.Popen(['sleep', '60'], pass_fds=kept, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "    print(orphan.pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    orphan = int(killed.stdout)
    try:
        monkeypatch.setattr(lock, "_PATIENCE_S", 0.2)
        with pytest.raises(StudyError, match="Another run"), lock.lock_output_folder(tmp_path, "in"):
            pass
    finally:
        os.kill(orphan, signal.SIGKILL)
    monkeypatch.setattr(lock, "_PATIENCE_S", 5.0)
    with lock.lock_output_folder(tmp_path, "in"):
        pass


@pytest.mark.parametrize("refusal", [OSError(errno.ENOLCK, "no locks"), OSError(errno.ENOSYS, "no flock")])
def test_a_file_system_without_locks_is_used_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: OSError
) -> None:
    def refuse(*_: object) -> None:
        raise refusal

    monkeypatch.setattr(fcntl, "flock", refuse)
    with lock.lock_output_folder(tmp_path, "in") as kept:
        assert kept == ()
    assert lock.read_owner(tmp_path) == "in"


def test_a_folder_belongs_to_one_study(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    require_usable_output_folder(out, tmp_path / "a")
    with lock.lock_output_folder(out, os.path.relpath(tmp_path / "a", out)):
        pass
    require_usable_output_folder(out, tmp_path / "a")
    with pytest.raises(StudyError, match="another folder"):
        require_usable_output_folder(out, tmp_path / "b")
    other = tmp_path / "photographs"
    other.mkdir()
    (other / "holiday.jpg").touch()
    with pytest.raises(StudyError, match="not empty"):
        require_usable_output_folder(other, tmp_path / "a")
