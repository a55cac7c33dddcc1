"""What the operating system refuses is told in one sentence, exit code 2, and nothing half-written stays."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sessions import Laboratory

from biodyn.errors import system_refusal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits and signals of POSIX")

BAD_INPUT = 2


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "biodyn.cli", *(str(a) for a in arguments)]


def limited(bytes_at_most: int) -> Callable[[], None]:
    """As `ulimit -f` in a shell."""

    def limit() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_at_most, bytes_at_most))

    return limit


def refused(arguments: list[str], *said: str, file_bytes: int | None = None) -> None:
    """Run a command: exit code 2 and one sentence that says each of `said`."""
    done = subprocess.run(
        arguments,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=None if file_bytes is None else limited(file_bytes),
    )
    assert done.returncode == BAD_INPUT, done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("biodyn: ")
    assert line.endswith((".", ")."))
    for part in said:
        assert part in line, line


def content(folder: Path) -> dict[str, bytes]:
    """Every file below a folder and its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def result(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole result folder."""
    out = tmp_path_factory.mktemp("results") / "walk"
    subprocess.run(command("run", laboratory.walk, "--out", out), check=True, capture_output=True)
    return out


# -- limits -----------------------------------------------------------------------------------------------------------


def test_run_at_a_limit_of_file_sizes_leaves_nothing(laboratory: Laboratory, tmp_path: Path) -> None:
    refused(command("run", laboratory.walk, "--out", tmp_path / "out"), "File too large", file_bytes=20_000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["report", "replay"])
def test_a_result_stays_as_it_was_where_there_is_no_room(result: Path, tmp_path: Path, what: str) -> None:
    out = tmp_path / "walk"
    shutil.copytree(result, out)
    before = content(tmp_path)
    refused(command(what, out), "File too large", file_bytes=20_000)
    assert content(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == {"walk"}


def test_study_at_a_limit_of_file_sizes_leaves_nothing_half_written(laboratory: Laboratory, tmp_path: Path) -> None:
    out = tmp_path / "out"
    refused(
        command("study", laboratory.folder.parent, "--out", out, "--workers", 1), "File too large", file_bytes=20_000
    )
    assert [path.name for path in out.rglob("*") if path.is_file()] == [".running"]


@pytest.mark.parametrize("length", [250, 300])
def test_a_name_that_is_too_long(laboratory: Laboratory, tmp_path: Path, length: int) -> None:
    quick = tmp_path / "quick.toml"
    quick.write_text("[output]\nfigures = false\nreport = false\n", encoding="utf-8")
    out = tmp_path / ("x" * length)
    refused(command("run", laboratory.walk, "--settings", quick, "--out", out), "File name too long", "--out")
    assert [path.name for path in tmp_path.iterdir()] == ["quick.toml"]


def test_a_study_with_a_name_that_is_too_long(laboratory: Laboratory, tmp_path: Path) -> None:
    out = tmp_path / ("x" * 300)
    refused(command("study", laboratory.folder.parent, "--out", out), "File name too long", "--out")


def test_a_screen_that_takes_nothing(laboratory: Laboratory) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    for arguments in (["models"], ["check", str(laboratory.walk)]):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run(command(*arguments), stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == BAD_INPUT, done.stderr
        assert "No space left on device" in done.stderr
        assert "fault of biodyn" not in done.stderr


# -- signals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_stopped_run_leaves_nothing(
    laboratory: Laboratory, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    out = tmp_path / "out"
    run = subprocess.Popen(
        command("run", laboratory.walk, "--out", out), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    _wait_for(lambda: any(tmp_path.glob(".out.*.part/tables/*.csv")), run)
    run.send_signal(number)
    run.communicate(timeout=60)
    assert run.returncode == code
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_study_leaves_nothing_half_written(
    laboratory: Laboratory, tmp_path: Path, number: signal.Signals
) -> None:
    out = tmp_path / "out"
    study = subprocess.Popen(
        command("study", laboratory.folder.parent, "--out", out, "--workers", 1),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _wait_for(lambda: any(out.glob("trials/*/.*.part/tables/*.csv")), study)
    study.send_signal(number)
    said = study.communicate(timeout=60)[0].decode()
    assert study.returncode == 128 + number
    assert "goes on where it was" in said
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
