"""Text from files and from the file system: clean inside, printable outside."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biodyn.cli.console_output import open_console, show_progress
from biodyn.errors import InputFileError, ResultError, printable_text
from biodyn.io.text_decoding import clean_text, clean_texts


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        (b"LASI    ", "LASI"),
        (b" LASI\0\0\0", "LASI"),
        (b"LASI\0rest of an older text", "LASI"),
        (b"\0\0LASI", "LASI"),
        (b"M\xfcller", "Müller"),
        ("Müller".encode(), "Müller"),
        ("Mu\u0308ller".encode(), "Müller"),
        ("M\udcfcller", "Müller"),  # as C++ libraries hand undecodable bytes over
        (b"\x8aimon \x8ei\x9eka", "Šimon Žižka"),
        (b"H\xe9ctor", "Héctor"),
        (b"Schr\xf6der", "Schröder"),
        ("右膝".encode("shift_jis"), "右膝"),
        ("ヤマダ タロウ".encode("shift_jis"), "ヤマダ タロウ"),
        ("山田_01".encode("shift_jis"), "山田_01"),
        ("\u200f\u202aLASI\u202c".encode(), "LASI"),
        ("\ufeffLASI".encode(), "LASI"),
        (b"L\tASI\r\n", "L ASI"),
        (b"L\x07ASI\x1b", "LASI"),
        ("L\u00a0ASI".encode(), "L ASI"),
        (b"\xed\xa0\x80", "í\xa0€".replace("\xa0", " ")),  # a surrogate in bytes is no UTF-8
        (b"", ""),
        ("", ""),
    ],
)
def test_clean_text(raw: bytes | str, clean: str) -> None:
    assert clean_text(raw) == clean


@pytest.mark.parametrize(
    ("texts", "encoding"),
    [
        (["右ASI", "左ASI", "C7"], "shift_jis"),
        (["R膝", "L膝", "R踵", "L踵"], "shift_jis"),
        (["右ASI", "左ASI", "右KNE"], "gbk"),
        (["右髂前上棘", "左髂前上棘", "右踝"], "gbk"),
        (["右ASI", "左ASI"], "utf-8"),
        (["Müller", "Hüfte außen", "Rücken äöü"], "latin-1"),
        (["Señal 1", "Tobillo ó", "LASI"], "cp1252"),
    ],
)
@pytest.mark.parametrize("fill", [b" ", b"\0"])
def test_one_encoding_for_the_texts_of_a_list(texts: list[str], encoding: str, fill: bytes) -> None:
    raws = [text.encode(encoding) for text in texts]
    width = max(len(raw) for raw in raws) + 2
    assert clean_texts([raw.ljust(width, fill) for raw in raws]) == tuple(texts)


def test_bytes_after_the_end_of_a_text_are_ignored() -> None:
    assert clean_texts([b"LASI\0er", b"RASI\0xy", b"C7\0ASI\0\0"]) == ("LASI", "RASI", "C7")


@given(st.lists(st.binary(max_size=12), max_size=6))
def test_any_list_of_bytes_becomes_clean_unicode(raws: list[bytes]) -> None:
    texts = clean_texts(raws)
    assert len(texts) == len(raws)
    for text in texts:
        text.encode("utf-8")
        assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in text)


@given(st.binary(max_size=40))
def test_any_bytes_become_clean_unicode(raw: bytes) -> None:
    text = clean_text(raw)
    text.encode("utf-8")
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in text)
    assert text == text.strip()
    assert clean_text(text) == text


@given(st.text(max_size=40))
def test_any_text_can_be_printed(text: str) -> None:
    printable_text(text).encode("utf-8")
    printable_text(os.fsdecode(text.encode("utf-8", "replace"))).encode("utf-8")


def test_a_word_without_end_is_cut_in_a_sentence() -> None:
    error = InputFileError(f"'{'x' * 1_000_000}' is no joint.", f"Rename '{'y' * 255}'.")
    assert len(error.message) < 120
    assert error.message.endswith("is no joint.")
    assert "y" * 255 in error.hint  # as long as a file's name may be


def test_a_path_that_is_no_unicode() -> None:
    path = Path(os.fsdecode(b"/data/gr\xfcn/geh\xfc.c3d"))
    assert printable_text(path) == r"/data/gr\xfcn/geh\xfc.c3d"
    error = InputFileError(f"'{path}' does not exist.", "Check the path.")
    str(error).encode("utf-8")


# -- the command line on files of a laboratory that writes Latin-1, on a terminal that knows ASCII only ----------------

posix_names = pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")


def latin_copy(path: Path, to: Path) -> Path:
    """The file with a subject and a marker that are no ASCII, in Latin-1."""
    data = path.read_bytes()
    assert b"STRN" in data
    assert b"Subject01" in data
    to.write_bytes(data.replace(b"STRN", b"ST\xdcN").replace(b"Subject01", b"M\xfcller\xa001"))
    return to


def biodyn(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONIOENCODING": "ascii:strict",
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    command = [sys.executable, "-m", "biodyn.cli", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
@posix_names
def test_names_in_latin_1_and_paths_that_are_no_unicode(laboratory, tmp_path: Path) -> None:
    """`check` and `run` end as they do with ASCII names, and what they write can be read again."""
    folder = tmp_path / os.fsdecode(b"gr\xfcn")
    folder.mkdir()
    walk = latin_copy(laboratory.walk, folder / os.fsdecode(b"geh\xfc.c3d"))
    static = latin_copy(laboratory.static, folder / "static.c3d")
    checked = biodyn("check", walk)
    assert checked.returncode == 0, checked.stderr
    assert "ST\\xdcN" in checked.stdout
    assert "C3D library could not" not in checked.stdout
    settings = tmp_path / "settings.toml"  # the report is made by the command after it, once
    settings.write_text("[output]\nfigures = false\nreport = false\n[uncertainty]\ncompute = false\n", encoding="utf-8")
    result = folder / os.fsdecode(b"\xe4us")
    done = biodyn("run", walk, "--static", static, "--settings", settings, "--out", result)
    assert done.returncode in (0, 1), done.stderr
    assert biodyn("report", result).returncode == 0
    assert "Müller 01" in (result / "report.html").read_text(encoding="utf-8")
    assert "M\\u00fcller 01" in (result / "run.json").read_text(encoding="utf-8")
    assert "STÜN" in (result / "tables" / "marker_errors.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["walk03.c3d", "Müller", "歩行", "👩‍🦯 walk", "a b", "é", 'it\'s "so"', ""])
def test_what_can_be_shown_stays(text: str) -> None:
    assert printable_text(text) == text


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
    assert printable_text(text) == shown
    printable_text(text).encode("utf-8")


def test_an_error_can_always_be_printed() -> None:
    error = ResultError(f"'{os.fsdecode(b'M' + bytes([0xFC]))}' is no result.", "Try\tagain.")
    assert str(error).encode("utf-8") == rb"'M\xfc' is no result. Try" + b"\tagain."


def test_what_is_printed_neither_steers_the_terminal_nor_is_markup(capsys: pytest.CaptureFixture[str]) -> None:
    console = open_console()
    console.print("Result: [/x] [bold]b[/] :smile: \x1b[31m\u202e\x07 Größe 股\nnext")
    with show_progress(console) as step:
        step("[/nothing opened] \x1b[5m")
    assert capsys.readouterr().out == "Result: [/x] [bold]b[/] :smile: \\x1b[31m\\u202e\\x07 Größe 股\nnext\n"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes that break are POSIX's")
@pytest.mark.parametrize("way", ["open_console().print('x' * 99)", "print_data('x' * 99 + chr(10))"])
def test_a_reader_who_leaves_is_not_told_as_failed_checks(way: str) -> None:
    lines = f"from biodyn.cli.console_output import open_console, print_data\nfor _ in range(9999):\n    {way}"
    with subprocess.Popen([sys.executable, "-c", lines], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.readline()
        writer.stdout.close()
        assert writer.stderr.read() == b""
        assert writer.wait(60) == 141
