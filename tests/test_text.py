"""Any text can be printed, and printable ones stay as they are."""

from __future__ import annotations

import os

import pytest

from biodyn.errors import ResultError
from biodyn.text import printable


@pytest.mark.parametrize("text", ["walk03.c3d", "Müller", "歩行", "👩‍🦯 walk", "a b", "é", 'it\'s "so"', ""])
def test_what_can_be_shown_stays(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (os.fsdecode(b"M\xfcller.c3d"), r"M\xfcller.c3d"),
        ("two\nlines", r"two\nlines"),
        ("bell\a", r"bell\x07"),
        ("nul\0", r"nul\x00"),
        ("\u202ed3c.klaw", r"\u202ed3c.klaw"),
        ("lone \ud83d", r"lone \ud83d"),
        ("esc\x1b[31m", r"esc\x1b[31m"),
    ],
)
def test_what_cannot_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown
    printable(text).encode("utf-8")


def test_an_error_can_always_be_printed() -> None:
    error = ResultError(f"'{os.fsdecode(b'M' + bytes([0xFC]))}' is no result.", "Try\tagain.")
    assert str(error).encode("utf-8") == rb"'M\xfc' is no result. Try" + b"\tagain."
