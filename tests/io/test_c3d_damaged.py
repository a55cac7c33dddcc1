"""Files that are missing, empty, cut, scrambled or deadly end in one sentence, never in a crash."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from support.several import read_many
from support.stick_person import LABELS, person_mm, plate_parameters

from biodyn.errors import InputFileError
from biodyn.io.formats.c3d import read_c3d
from biodyn.recording import Recording


def message_of(path) -> str:
    with pytest.raises(InputFileError) as caught:
        read_c3d(path)
    text = str(caught.value)
    assert "\n" not in text
    assert str(path) in caught.value.message
    assert caught.value.hint
    return caught.value.message


def changed(path: Path, at: int, value: bytes) -> Path:
    data = bytearray(path.read_bytes())
    data[at : at + len(value)] = value
    path.write_bytes(bytes(data))
    return path


def value_of(path: Path, name: bytes) -> int:
    """Byte at which the first parameter of a name has its first value: behind name, step, type and dimensions."""
    data = path.read_bytes()
    at = data.index(name, 512) + len(name) + 3
    return at + 1 + data[at]


def test_no_such_file(tmp_path):
    assert "does not exist" in message_of(tmp_path / "no.c3d")


def test_a_folder(tmp_path):
    assert "is a folder" in message_of(tmp_path)


def test_empty(tmp_path):
    path = tmp_path / "empty.c3d"
    path.touch()
    assert "is empty" in message_of(path)


@pytest.mark.parametrize("content", [b"time,x,y\n0,1,2\n" * 100, b"\x00" * 4096, b"\x02", b"PK\x03\x04" * 200])
def test_not_a_c3d(tmp_path, content):
    path = tmp_path / "table.c3d"
    path.write_bytes(content)
    assert "not a C3D file" in message_of(path)


def test_an_unknown_processor_type_is_no_damage(write_c3d):
    """The processor type stands in the fourth byte of the parameter section, here block 2."""
    text = message_of(changed(write_c3d("b.c3d"), 512 + 3, bytes([99])))
    assert "unknown processor type (99" in text
    with pytest.raises(InputFileError) as caught:
        read_c3d(changed(write_c3d("c.c3d"), 512 + 3, bytes([99])))
    assert "Copy" not in caught.value.hint  # nothing is wrong with the copy


@pytest.mark.parametrize("keep", [100, 700, 1500, 0.3, 0.7, -1])
def test_truncated_anywhere(write_c3d, keep):
    """In the header, in the parameters, in the data, by a single byte."""
    path = write_c3d(points_mm=person_mm(200))
    data = path.read_bytes()
    used = len(data) - (len(data) % 512 or 512) + 1  # the last block may be padding: cut into its first byte
    length = used - 512 if keep == -1 else int(keep * len(data)) if isinstance(keep, float) else keep
    path.write_bytes(data[:length])
    text = message_of(path)
    assert "truncated" in text or "damaged" in text or "could not be read" in text
    if keep in (0.3, 0.7, -1):
        assert "specifies 200 frames" in text


def test_no_points(write_c3d):
    path = write_c3d()
    path = changed(changed(path, 2, struct.pack("<H", 0)), value_of(path, b"USED"), struct.pack("<H", 0))
    assert "neither marker trajectories" in message_of(path)


def test_no_marker_seen_at_all(write_c3d):
    unseen = np.ones((60, 16), dtype=bool)
    assert "no marker is seen" in message_of(write_c3d(unseen=unseen))


def test_nothing_but_computed_points(write_c3d):
    labels = [f"L{joint}Angles{i}" for joint in ("Hip", "Knee") for i in range(8)]
    text = message_of(
        write_c3d(labels=[*labels[:8], *(f"*{i}" for i in range(8))], parameters={"POINT:ANGLES": labels})
    )
    assert "contains no marker" in text


def with_rates(path: Path, header: float, parameter: float) -> Path:
    """Header word and POINT:RATE set to these; the bytes of a file of the tests' own writer."""
    return changed(changed(path, 20, struct.pack("<f", header)), value_of(path, b"RATE"), struct.pack("<f", parameter))


@pytest.mark.parametrize("rate", [0.0, -100.0, float("nan"), float("inf"), 3e38, 1e-30])
def test_an_impossible_frame_rate(write_c3d, rate):
    """Said in one sentence where both places hold it; taken from the other place, and said, where one does."""
    assert "frame rate" in message_of(with_rates(write_c3d(), rate, rate))
    for i, rates in enumerate(((rate, 100.0), (100.0, rate))):
        recording = read_c3d(with_rates(write_c3d(f"{i}.c3d"), *rates))
        assert recording.markers.rate_hz == 100.0
        if rates[0] != 100.0 or np.isfinite(rate):
            assert "recording-repaired" in {d.code for d in recording.diagnostics}


def test_two_different_frame_rates_are_told_by_the_analog_rate(write_c3d):
    analogs = np.ones((600, 6))
    options = {"analogs": analogs, "analog_labels": list("abcdef"), "analog_units": ["N"] * 6}
    for i, rates in enumerate(((100.0, 50.0), (50.0, 100.0))):
        recording = read_c3d(with_rates(write_c3d(f"{i}.c3d", **options), *rates))
        assert recording.markers.rate_hz == 100.0  # ANALOG:RATE is 1000 Hz, ten samples a frame
        assert "recording-repaired" in {d.code for d in recording.diagnostics}


@pytest.mark.parametrize("value", [5e6, 1e9])
def test_no_position_left(write_c3d, value):
    """Every marker kilometres away, the same or not: one sentence, not an empty recording."""
    text = message_of(write_c3d(points_mm=np.full((60, 16, 3), value)))
    assert "kilometres away" in text or "no marker is seen" in text


def test_no_frames(write_c3d):
    path = write_c3d()
    path = changed(changed(path, 6, struct.pack("<HH", 10, 9)), value_of(path, b"FRAMES"), struct.pack("<H", 0))
    assert "no frames" in message_of(path)


def test_first_and_last_frame_the_wrong_way_round(write_c3d):
    """POINT:FRAMES and the size of the file tell how many there are."""
    path = changed(write_c3d(), 6, struct.pack("<HH", 60, 1))
    assert read_c3d(path).markers.frame_count == 60


def test_an_intact_file_without_markers_is_not_to_be_copied_again(write_c3d):
    with pytest.raises(InputFileError) as caught:
        read_c3d(write_c3d(unseen=np.ones((60, 16), dtype=bool)))
    assert "Copy" not in caught.value.hint
    assert "label" in caught.value.hint


def test_a_list_of_parameters_that_breaks_off(write_c3d):
    path = write_c3d()
    at = path.read_bytes().index(b"LABELS", 512) + 6
    assert "parameter section is incomplete" in message_of(changed(path, at, b"\xff\xff"))


def test_one_bad_file_does_not_spoil_the_others(write_c3d, tmp_path):
    results = read_many([write_c3d("a.c3d"), tmp_path / "no.c3d", write_c3d("b.c3d")])
    assert [type(r) for r in results] == [Recording, InputFileError, Recording]


@pytest.mark.slow
def test_scrambled_bytes_never_get_past_the_reader(write_c3d):
    """Random bytes in header, parameters and data: every file is read or refused with InputFileError."""
    analogs = np.random.default_rng(0).normal(size=(600, 6))
    path = write_c3d(points_mm=person_mm(speed_mm_s=1000.0), analogs=analogs, analog_labels=list("abcdef"),
                     analog_units=["N"] * 3 + ["Nmm"] * 3, parameters=plate_parameters())  # fmt: skip
    sound = path.read_bytes()
    section_end = 512 + 512 * sound[512 + 2]
    rng = np.random.default_rng(7)
    scrambled = []
    for trial in range(60):
        data = bytearray(sound)
        low, high = [(0, 512), (512, section_end), (512, section_end), (0, len(sound))][trial % 4]
        for position in rng.integers(low, high, int(rng.integers(1, 12))):
            data[position] = int(rng.integers(0, 256))
        scrambled.append(path.with_name(f"scrambled{trial}.c3d"))
        scrambled[-1].write_bytes(bytes(data))
    results = read_many(scrambled)
    assert all(isinstance(result, (Recording, InputFileError)) for result in results)
    # the test would be void if the bytes hit nothing, or everything
    refused = sum(isinstance(result, InputFileError) for result in results)
    assert 5 < refused < 55


def test_the_reader_is_sound_after_all_that(write_c3d):
    assert read_c3d(write_c3d()).markers.labels == tuple(LABELS)


@pytest.mark.parametrize("block", [0, 1])
def test_data_that_would_begin_in_the_header_begin_where_the_parameters_say(write_c3d, block):
    path = write_c3d()
    expected = read_c3d(path).markers.positions
    found = read_c3d(changed(path, 16, block.to_bytes(2, "little")))
    np.testing.assert_array_equal(found.markers.positions, expected)
    assert "recording-repaired" in {note.code for note in found.diagnostics}
    path.write_bytes(path.read_bytes() + bytes(5000))  # behind the last block: no count of frames fills the file
    np.testing.assert_array_equal(read_c3d(path).markers.positions, expected)
