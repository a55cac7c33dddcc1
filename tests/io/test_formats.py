"""The entrance: content decides what a file is, one module is one format, and one sentence says what cannot be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from simulator.trc_writer import write_trc
from support.several import read_many
from support.stick_person import LABELS, Writer, person_mm

import biodyn
from biodyn.errors import InputFileError
from biodyn.io import format_of, read, read_facts
from biodyn.io.format import FORMATS
from biodyn.io.formats.c3d.reader import read_c3d
from biodyn.io.recording_reader import recording_facts
from biodyn.recording import Markers, Recording

MARKERS = Markers(tuple(LABELS), person_mm(30) / 1000.0, 100.0)

# A format in one file, as docs and readers of the code may write one.
STICKS = '''
"""Comma-separated marker positions in metres, 100 frames per second: "sticks", then labels, then a line for every frame."""

import hashlib

import numpy as np

from biodyn.errors import InputFileError
from biodyn.io.file_access import file_bytes
from biodyn.io.format import FORMATS, Format
from biodyn.recording import Markers, Recording, StoredMotion


def read_sticks(path):
    content = file_bytes(path)
    _, labels, *rows = content.decode("utf-8").splitlines()
    labels = tuple(labels.split(","))
    try:
        numbers = np.array([[float(cell) for cell in row.split(",")] for row in rows]).reshape(len(rows), len(labels), 3)
    except ValueError as error:
        raise InputFileError(f"'{path}' is damaged: {error}.") from error
    markers = Markers(labels, numbers, 100.0)
    return Recording(path, hashlib.sha256(content).hexdigest(), StoredMotion(markers))


FORMATS.add("sticks", Format("Sticks", (".csv",), lambda head: head.startswith(b"sticks"), read_sticks))
'''


def message_of(path: Path) -> str:
    with pytest.raises(InputFileError) as caught:
        read(path)
    return caught.value.message


def test_the_formats_there_are() -> None:
    assert {name: entry.title for name, entry in FORMATS.items()} == {
        "b3d": "AddBiomechanics archive",
        "c3d": "C3D",
        "opensim_table": "OpenSim table",
        "qualisys_mat": "MATLAB file of QTM",
        "trc": "TRC",
        "parquet": "Parquet",
        "spreadsheet": "CSV",
    }
    assert biodyn.read is read


def test_c3d_is_read_as_by_its_own_reader(write_c3d: Writer) -> None:
    path = write_c3d()
    ours, own = read(path), read_c3d(path)
    np.testing.assert_array_equal(ours.markers.positions, own.markers.positions)
    assert (ours.sha256, ours.diagnostics) == (own.sha256, own.diagnostics)


@pytest.mark.parametrize("suffix", [".c3d", ".trc", ".C3D", ".txt", ""])
def test_content_decides(write_c3d: Writer, tmp_path: Path, suffix: str) -> None:
    binary = write_c3d("binary.c3d").rename(tmp_path / f"binary{suffix}")  # its writer adds .c3d by itself
    write_trc(tmp_path / f"text{suffix}", MARKERS)
    for path, title, right in ((binary, "C3D", ".c3d"), (tmp_path / f"text{suffix}", "TRC", ".trc")):
        assert format_of(path).title == title
        recording = read(path)
        assert recording.markers.labels == tuple(LABELS)
        misnamed = suffix.lower() in {".c3d", ".trc"} - {right}
        assert [note.code for note in recording.diagnostics] == ["recording-repaired"] * misnamed


def test_where_no_format_knows_the_content_the_suffix_says_who_explains(tmp_path: Path) -> None:
    for name, sentence in (("a.c3d", "is not a C3D file"), ("b.trc", "is not a TRC file")):
        (tmp_path / name).write_text("hello\n", encoding="utf-8")
        assert sentence in message_of(tmp_path / name)
        with pytest.raises(InputFileError, match=sentence):
            read_facts(tmp_path / name)


def test_an_unknown_file_gets_one_sentence_with_what_is_readable(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello\n", encoding="utf-8")
    text = message_of(tmp_path / "notes.txt")
    assert (
        "notes.txt' is not a recording of a known format; expected AddBiomechanics archive (.b3d), C3D (.c3d), "
        "OpenSim table (.mot, .sto), MATLAB file of QTM (.mat), TRC (.trc)," in text
    )
    assert "Parquet (.parquet) or CSV (.csv, .tsv)." in text


def test_no_file_to_read(tmp_path: Path) -> None:
    (tmp_path / "empty.trc").touch()
    assert "is empty" in message_of(tmp_path / "empty.trc")
    assert "does not exist" in message_of(tmp_path / "no.trc")
    assert "is a folder" in message_of(tmp_path)


def test_many_files_of_several_formats_come_back_in_their_order(write_c3d: Writer, tmp_path: Path) -> None:
    write_trc(tmp_path / "b.trc", MARKERS)
    paths = [write_c3d("a.c3d"), tmp_path / "no.c3d", tmp_path / "b.trc", write_c3d("c.c3d"), tmp_path / "no.trc"]
    found = read_many(paths)
    assert [isinstance(result, Recording) for result in found] == [True, False, True, True, False]
    assert [result.path for result in found if isinstance(result, Recording)] == [paths[0], paths[2], paths[3]]
    assert read_many([]) == []


def test_facts_of_the_head_are_those_of_the_whole_file(write_c3d: Writer) -> None:
    parameters = {"SUBJECTS:NAMES": ["Anna"], "PROCESSING:Bodymass": [61.5], "SUBJECTS:IS_STATIC": [1]}
    path = write_c3d(parameters=parameters)
    assert recording_facts(read(path)) == read_facts(path)


def test_a_format_is_one_file(tmp_path: Path) -> None:
    """A module beside `trc.py`, and nothing else: `biodyn check` reads its files."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "sticks.py").write_text(STICKS, encoding="utf-8")
    rows = [",".join(f"{value:.4f}" for value in frame.ravel()) for frame in MARKERS.positions]
    path = tmp_path / "standing.csv"
    path.write_text("\n".join(["sticks", ",".join(LABELS), *rows]), encoding="utf-8")
    command = f"import biodyn.io.formats as f; f.__path__.append({str(tmp_path / 'more')!r}); import biodyn.cli as c; c.main()"

    def check(file: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", command, "check", str(file)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    assert "standing.csv: 30 frames at 100 Hz" in check(path).stdout
    (tmp_path / "notes.txt").write_text("hello\n", encoding="utf-8")
    assert (
        "expected AddBiomechanics archive (.b3d), C3D (.c3d), OpenSim table (.mot, .sto), "
        "MATLAB file of QTM (.mat), Sticks (.csv), TRC (.trc), Parquet (.parquet) or CSV (.csv, .tsv)"
        in " ".join(check(tmp_path / "notes.txt").stderr.split())
    )


def test_two_formats_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two recording formats are called 'trc'"):
        FORMATS.add("trc", FORMATS["trc"])


@pytest.mark.parametrize("asked", ["walk01", "WALK01.c3d", "wakl01.c3d", "walk1.c3d"])
def test_a_name_that_is_not_there_is_told_with_the_nearest_that_is(tmp_path: Path, asked: str) -> None:
    for name in ("walk01.c3d", "static.c3d"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(InputFileError) as caught:
        read(tmp_path / asked)
    if not (tmp_path / asked).exists():  # some systems take capitals for small letters
        assert caught.value.hint == "Check the path; a similar file is 'walk01.c3d'."
    with pytest.raises(InputFileError) as far:
        read(tmp_path / "another.trc")
    assert far.value.hint == "Check the path."
    with pytest.raises(InputFileError) as folder:
        read(tmp_path)
    assert "biodyn study" in folder.value.hint
