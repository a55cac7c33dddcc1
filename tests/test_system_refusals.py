"""What the operating system refuses is told in one sentence, exit code 2, and nothing half-written stays."""

from __future__ import annotations

import errno
import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.sessions import Laboratory
from typer.testing import CliRunner

from biodyn.cli import app
from biodyn.errors import system_refusal
from biodyn.trial.run import run_trial

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="limits and signals of POSIX"),
    pytest.mark.usefixtures("blank_figures"),
]

BAD_INPUT = 2
# Bands are left out: they are most of the time of a run.
QUICK = "[uncertainty]\ncompute = false\n[output]\nfigures = {figures}\nreport = {figures}\n"


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A settings file that leaves out what takes time."""
    path = tmp_path_factory.mktemp("settings") / "quick.toml"
    path.write_text(QUICK.format(figures="false"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def result(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole result folder."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "s.toml").write_text(QUICK.format(figures="true"), encoding="utf-8")
    return run_trial(laboratory.walk, settings=folder / "s.toml").save(folder / "walk")


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """As `ulimit -f` in a shell.

    Python writes byte code of what it imports for the first time and does not look whether all of it arrived: a module cut off
    by the limit could not be imported ever after. So nobody writes it meanwhile, neither this process nor those that it starts.
    """
    import resource

    before, writes_none = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            sys.dont_write_bytecode = writes_none


def refused(*arguments: object, said: tuple[str, ...]) -> None:
    """Run a command: exit code 2 and one sentence that says each of `said`."""
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == BAD_INPUT, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    (line,) = done.stderr.splitlines()
    assert line.startswith("biodyn: ")
    assert line.endswith(".")
    for part in said:
        assert part in line, line


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder and its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def started(*arguments: object) -> subprocess.Popen[bytes]:
    """A command in a process of its own that hears SIGINT: what a shell runs in the background ignores it, and all it starts."""
    words = [sys.executable, "-m", "biodyn.cli", *(str(a) for a in arguments)]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    finally:
        signal.signal(signal.SIGINT, before)


# -- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_run_at_a_limit_of_file_sizes_leaves_nothing(laboratory: Laboratory, tmp_path: Path, quick: Path) -> None:
    with files_of_at_most(20_000):
        refused(
            "run", laboratory.walk, "--settings", quick, "--out", tmp_path / "out", said=("File too large", "ulimit")
        )
    assert list(tmp_path.iterdir()) == []


def test_the_limit_of_these_tests_cuts_no_byte_code_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module imported for the first time at the limit, here and in a process that is started, can be imported afterwards."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("first_here", "first_there"):
        (tmp_path / f"{name}.py").write_text("\n".join(f"x{i} = {i}" for i in range(2000)), encoding="utf-8")
    with files_of_at_most(5_000):
        importlib.import_module("first_here")
        there = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import first_there"]
        subprocess.run(there, check=True)
    assert [path.name for path in tmp_path.rglob("*.pyc")] == []
    del sys.modules["first_here"]


@pytest.mark.parametrize("what", ["report", pytest.param("replay", marks=pytest.mark.slow)])
def test_a_result_stays_as_it_was_where_there_is_no_room(result: Path, tmp_path: Path, what: str) -> None:
    out = tmp_path / "walk"
    shutil.copytree(result, out)
    before = content(tmp_path)
    with files_of_at_most(5_000):
        refused(what, out, said=("File too large",))
    assert content(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == {"walk"}


@pytest.mark.slow
def test_study_at_a_limit_of_file_sizes_leaves_nothing_half_written(laboratory: Laboratory, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with files_of_at_most(20_000):
        refused("study", laboratory.folder.parent, "--out", out, "--workers", 1, said=("File too large",))
    assert [path.name for path in out.rglob("*") if path.is_file()] == [".running"]


@pytest.mark.parametrize("what", ["run", "study"])
def test_a_name_that_is_too_long_is_told_before_any_work(
    laboratory: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("this takes minutes")

    monkeypatch.setattr("biodyn.trial.run.run_trial", work)
    monkeypatch.setattr("biodyn.study.study.run_locally", work)
    source = laboratory.walk if what == "run" else laboratory.folder.parent
    refused(what, source, "--out", tmp_path / ("x" * 300), said=("File name too long", "--out"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("refusal", [errno.ENOSPC])
def test_a_disk_that_refuses_while_it_is_written_to(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int
) -> None:
    out = tmp_path / "walk"
    shutil.copytree(result, out)
    before = content(tmp_path)

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(refusal, os.strerror(refusal), str(path))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    refused("report", out, said=(os.strerror(refusal),))
    monkeypatch.undo()
    assert content(tmp_path) == before


def test_a_screen_that_takes_nothing() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "biodyn.cli", "models"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == BAD_INPUT, done.stderr
    assert "No space left on device" in done.stderr
    assert "fault of biodyn" not in done.stderr


# -- signals ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow)]
)
def test_a_stopped_run_leaves_nothing(
    laboratory: Laboratory, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """Stopped behind the first table, with figures, report and PDF to come."""
    out = tmp_path / "out"
    run = started("run", laboratory.walk, "--out", out, "--pdf")
    _wait_for(lambda: any(tmp_path.glob(".out.*.part/tables/*.csv")), run)
    run.send_signal(number)
    said = b"".join(part or b"" for part in run.communicate(timeout=60)).decode()
    assert run.returncode == code
    assert list(tmp_path.iterdir()) == []
    assert "stopped. Unfinished files were removed" in said


def test_ctrl_c_before_the_command_is_read() -> None:
    """While libraries are loaded no command hears it: one sentence and the usual exit code, no traceback."""
    code = """
import sys
import biodyn.cli.exit_codes as start

class Stopped:
    def find_spec(self, name, path, target=None):
        if name == "biodyn.cli.commands":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Stopped())
start.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr.startswith("biodyn: stopped.")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_stopped_study_leaves_nothing_half_written(laboratory: Laboratory, tmp_path: Path) -> None:
    out = tmp_path / "out"
    study = started("study", laboratory.folder.parent, "--out", out, "--workers", 1)
    _wait_for(lambda: any(out.glob("trials/*/.*.part/tables/*.csv")), study)
    study.send_signal(signal.SIGTERM)
    said = study.communicate(timeout=60)[0].decode()
    assert study.returncode == 128 + signal.SIGTERM
    assert re.search(
        r"Stopped: 0 of \d+ trials are finished and kept, \d+ remain. The same command resumes", " ".join(said.split())
    )
    assert list(out.rglob("*.part")) == []


def _wait_for(happened: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    last = time.monotonic() + 300.0
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < last
        time.sleep(0.002)


# -- what counts as a refusal -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE, errno.EIO])
def test_a_refusal_names_the_place_and_what_helps(code: int) -> None:
    refusal = system_refusal(OSError(code, os.strerror(code), "/data/out/run.json"))
    assert refusal is not None
    assert refusal.message == f"'/data/out/run.json': {os.strerror(code)}."
    assert refusal.hint.endswith(".")


def test_a_fault_of_ours_stays_one() -> None:
    assert system_refusal(FileNotFoundError(errno.ENOENT, "No such file", "/data/out/run.json")) is None
    assert system_refusal(OSError("no number")) is None
    assert system_refusal(MemoryError()) is not None
