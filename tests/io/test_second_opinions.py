"""What the C3D library says of a file, asked for after something else was done: the same notes, and nothing left behind."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from biodyn import run_trial
from biodyn.errors import InputFileError
from biodyn.io.formats.c3d import _ezc3d, _process
from biodyn.io.formats.c3d import read as module
from biodyn.io.formats.c3d.read import read_c3d, read_c3d_many
from biodyn.io.second_opinions import SecondOpinions

SAMPLE = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"
posix_fork = pytest.mark.skipif(
    not _process._may_fork(), reason="the library's place is taken in forks of this process"
)


def crash(path: str) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def differing(path: str):
    """The library's answer, with a tenth more in every coordinate."""
    facts, (points, samples) = PARSE(path)
    return facts, [np.ascontiguousarray(1.1 * points), samples]


PARSE = _ezc3d.parse


@posix_fork
@pytest.mark.parametrize(("parse", "code"), [(crash, "library-failed"), (differing, "library-disagrees")])
def test_it_says_later_what_it_says_at_once(write_c3d, with_parser, parse, code):
    with_parser(parse)
    path = write_c3d()
    at_once = read_c3d(path)
    with SecondOpinions() as opinions:
        with opinions.awaited():
            recording = read_c3d(path)
        said = opinions.of(path)
        assert opinions.of(path) == said  # asked twice
    assert [note.code for note in said] == [code]
    assert said[0] not in recording.diagnostics
    assert sorted(at_once.diagnostics, key=str) == sorted((*recording.diagnostics, *said), key=str)
    np.testing.assert_array_equal(at_once.markers.positions, recording.markers.positions)


@posix_fork
def test_each_file_has_its_own(write_c3d, with_parser):
    with_parser(lambda path: (crash if "bad" in path else PARSE)(path))
    paths = [write_c3d(name) for name in ("good.c3d", "bad.c3d", "fine.c3d")]
    with SecondOpinions() as opinions:
        with opinions.awaited():
            read_c3d_many(paths)
        assert [len(opinions.of(path)) for path in paths] == [0, 1, 0]


@posix_fork
def test_nobody_waits_for_it_before_it_is_asked(write_c3d, with_parser):
    with_parser(lambda path: time.sleep(60))
    start = time.monotonic()
    with SecondOpinions() as opinions, opinions.awaited():
        assert read_c3d(write_c3d()).markers.frame_count
    assert time.monotonic() - start < 20  # 60 if it were waited for, here or at the end


@posix_fork
@pytest.mark.parametrize("length", ["long", "outside"])
def test_others_wait_for_it(write_c3d, with_parser, monkeypatch, length):
    """Who reads outside the block, and who reads so much that the numbers had better not stay in memory."""
    with_parser(crash)
    with SecondOpinions() as opinions:
        if length == "long":
            monkeypatch.setattr(module, "_LARGEST_KEPT_BYTES", 0)
            with opinions.awaited():
                recording = read_c3d(write_c3d())
        else:
            recording = read_c3d(write_c3d())
        assert "library-failed" in {note.code for note in recording.diagnostics}
        assert opinions.of(recording.path) == ()


@posix_fork
def test_a_reader_that_somebody_keeps_killing_is_an_error_later_too(write_c3d, with_parser):
    with_parser(lambda path: os.kill(os.getpid(), signal.SIGKILL))
    with SecondOpinions() as opinions:
        with opinions.awaited():
            recording = read_c3d(write_c3d())
        with pytest.raises(InputFileError, match="killed from outside"):
            opinions.of(recording.path)


@posix_fork
def test_an_analysis_tells_of_it_once(with_parser):
    with_parser(crash)
    codes = [note.code for note in run_trial(SAMPLE).diagnostics]
    assert codes.count("library-failed") == 1
