"""TRC files: what a sound one gives, what an odd one gives with a note, and one sentence for everything else."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from simulator.trc_writer import write_trc
from support.stick_person import LABELS, person_mm

from biodyn.errors import BiodynError, InputFileError
from biodyn.io import read, read_facts
from biodyn.io.formats.trc import read_trc
from biodyn.recording import Markers, Recording
from biodyn.trial.inspection import check_file

Write = Callable[..., Path]
FRAMES = 30
HEAD = {"DataRate": "100", "CameraRate": "100", "NumFrames": str(FRAMES), "NumMarkers": "16", "Units": "mm",
        "OrigDataRate": "100", "OrigDataStartFrame": "1", "OrigNumFrames": str(FRAMES)}  # fmt: skip


def cells(positions: np.ndarray = person_mm(FRAMES)) -> list[list[str]]:  # noqa: B008
    """The lines of frames, as cells."""
    return [
        [str(i + 1), f"{i / 100:.3f}", *(f"{value:.3f}" for value in frame)]
        for i, frame in enumerate(positions.reshape(len(positions), -1))
    ]


def axes(count: int = 16) -> list[str]:
    return [f"{axis}{i}" for i in range(1, count + 1) for axis in "XYZ"]


def names(labels: Sequence[str] = LABELS) -> list[str]:
    return ["Frame#", "Time", *(cell for label in labels for cell in (label, "", ""))]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a writer of TRC files whose parts can be spoilt one by one."""

    def write(
        rows: Sequence[Sequence[str]] | None = None,
        labels: Sequence[str] | None = None,
        components: Sequence[str] | None = None,
        end: str = "\n",
        between: str = "\t",
        last: str | None = None,
        name: str = "walk.trc",
        **head: str,
    ) -> Path:
        stated = {**HEAD, **head}
        lines = [
            ["PathFileType", "4", "(X/Y/Z)", name],
            list(stated),
            list(stated.values()),
            list(names() if labels is None else labels),
            ["", "", *(axes() if components is None else components)],
            [],
            *(cells() if rows is None else rows),
        ]
        path = tmp_path / name
        text = end.join(between.join(line) for line in lines) + (end if last is None else last)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        return path

    return write


def said(path: Path) -> str:
    """The one sentence about a file that cannot be read."""
    with pytest.raises(InputFileError) as caught:
        read(path)
    assert str(path) in caught.value.message
    assert "\n" not in str(caught.value)
    return caught.value.message


def codes(recording: Recording) -> set[str]:
    return {note.code for note in recording.diagnostics}


# -- sound files --------------------------------------------------------------------------------------------------


def test_what_is_in_a_file(write: Write) -> None:
    recording = read(write())
    assert recording.markers.labels == tuple(LABELS)
    assert recording.markers.rate_hz == 100.0
    np.testing.assert_allclose(recording.markers.positions, person_mm(FRAMES) / 1000.0, atol=1e-9)
    assert (recording.plates, recording.events, recording.vertical, recording.diagnostics) == ((), (), None, ())


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    positions = person_mm(FRAMES) / 1000.0 + rng.normal(scale=0.01, size=(FRAMES, 16, 3))
    positions[3:7, 2] = np.nan
    positions[-1, -1] = np.nan
    labels = (*LABELS[:-1], "Zehe_ü")
    write_trc(tmp_path / "a.trc", Markers(labels, positions, 119.88), first_frame=241)
    recording = read(tmp_path / "a.trc")
    np.testing.assert_allclose(recording.markers.positions, positions, atol=1e-9)
    assert (recording.markers.labels, recording.markers.rate_hz, recording.first_frame) == (labels, 119.88, 241)
    assert recording.diagnostics == ()


def test_any_name_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "two\nlines\udcfc.trc"
    write_trc(path, Markers(tuple(LABELS), person_mm(3) / 1000.0, 100.0))
    assert read(path).markers.frame_count == 3


@pytest.mark.parametrize("label", ["two\tcells", "two\nlines", "", " ASI"])
def test_a_label_that_would_spoil_the_file_is_refused(tmp_path: Path, label: str) -> None:
    with pytest.raises(BiodynError, match="label"):
        write_trc(tmp_path / "a.trc", Markers((label,), np.ones((3, 1, 3)), 100.0))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("between", ["\t", "  "])
def test_ends_of_lines_and_separators(write: Write, end: str, between: str) -> None:
    labels = names() if between == "\t" else ["Frame#", "Time", *LABELS]
    recording = read(write(labels=labels, end=end, between=between))
    np.testing.assert_allclose(recording.markers.positions, person_mm(FRAMES) / 1000.0, atol=1e-9)


@pytest.mark.parametrize(("unit", "per_m"), [("mm", 1000.0), ("m", 1.0), ("cm", 100.0)])
def test_units(write: Write, unit: str, per_m: float) -> None:
    rows = [[*row[:2], *(f"{float(c) / 1000.0 * per_m:.6f}" for c in row[2:])] for row in cells()]
    recording = read(write(rows, Units=unit))
    np.testing.assert_allclose(recording.markers.positions, person_mm(FRAMES) / 1000.0, atol=1e-6)


def test_a_unit_that_makes_nobody_is_corrected_and_said(write: Write) -> None:
    recording = read(write(Units="m"))
    assert codes(recording) == {"unit-corrected"}
    assert "states 'm' as Units" in recording.diagnostics[0].message
    np.testing.assert_allclose(recording.markers.positions, person_mm(FRAMES) / 1000.0, atol=1e-9)


@pytest.mark.parametrize("cell", ["", "NaN", "nan", "-1.#IND", "-nan(ind)", "inf"])
def test_empty_cells_are_markers_that_were_not_seen(write: Write, cell: str) -> None:
    rows = cells()
    rows[5][2:5] = [cell] * 3
    rows[6][2:5] = ["0", "0", "0"]
    seen = np.isfinite(read(write(rows)).markers.positions[..., 0])
    assert (np.argwhere(~seen) == [[5, 0], [6, 0]]).all()


def test_tabs_left_out_at_the_end_of_a_line(write: Write) -> None:
    rows = cells()
    rows[5] = rows[5][:-6]
    seen = np.isfinite(read(write(rows)).markers.positions[..., 0])
    assert (np.argwhere(~seen) == [[5, 14], [5, 15]]).all()


def test_labels_over_every_second_column(write: Write) -> None:
    """As OpenSim writes what it read from a C3D file."""
    labels = ["Frame#", "Time", *(cell for label in LABELS for cell in ("", label))]
    assert read(write(labels=labels, components=["", *axes()])).markers.labels == tuple(LABELS)


def test_columns_without_a_name_are_left_out_and_said(write: Write) -> None:
    recording = read(write(labels=names([*LABELS[:4], "", *LABELS[5:]])))
    assert recording.markers.labels == tuple(label for label in LABELS if label != LABELS[4])
    assert codes(recording) == {"points-dropped"}


def test_no_line_of_axes(write: Write, tmp_path: Path) -> None:
    lines = write().read_text(encoding="utf-8").split("\n")
    (tmp_path / "b.trc").write_text("\n".join(line for line in lines if "X1" not in line), encoding="utf-8")
    assert read(tmp_path / "b.trc").markers.labels == tuple(LABELS)


def test_subject_prefix_and_computed_points(write: Write) -> None:
    recording = read(write(labels=names([f"Anna:{label}" for label in (*LABELS[:-1], "RHJC")])))
    assert recording.markers.labels == tuple(LABELS[:-1])
    assert list(recording.model_outputs) == ["RHJC"]


def test_byte_order_marks_and_other_encodings(write: Write, tmp_path: Path) -> None:
    text = write(labels=names([*LABELS[:-1], "Füße"])).read_text(encoding="utf-8")
    for i, encoding in enumerate(("utf-8-sig", "utf-16", "cp1252")):
        path = tmp_path / f"{i}.trc"
        path.write_bytes(text.encode(encoding))
        assert read(path).markers.labels[-1] == "Füße"


def test_facts(write: Write) -> None:
    facts = read_facts(write())
    assert (facts.labels, facts.frame_count, facts.rate_hz, facts.plate_count) == (frozenset(LABELS), FRAMES, 100.0, 0)


# -- rates --------------------------------------------------------------------------------------------------------


def timed(step: Callable[[int], str]) -> list[list[str]]:
    return [[row[0], step(i), *row[2:]] for i, row in enumerate(cells())]


def test_times_rounded_to_milliseconds_belong_to_the_stated_rate(write: Write) -> None:
    recording = read(write(timed(lambda i: f"{2.5 + i / 119.88:.3f}"), DataRate="119.88"))
    assert (recording.markers.rate_hz, recording.diagnostics) == (119.88, ())


@pytest.mark.parametrize("stated", ["100", "", "-1", "fast"])
def test_times_that_contradict_the_stated_rate_are_believed(write: Write, stated: str) -> None:
    recording = read(write(timed(lambda i: f"{i / 250:.4f}"), DataRate=stated))
    assert recording.markers.rate_hz == pytest.approx(250.0)
    assert codes(recording) == {"recording-repaired"}


@pytest.mark.parametrize(
    ("rows", "line", "what"),
    [
        (timed(lambda i: f"{(i if i < 20 else i + 3) / 100:.2f}"), 27, "are not uniform: the step is"),
        (timed(lambda i: f"{(i if i != 20 else 2) / 100:.2f}"), 27, "do not increase"),
        (timed(lambda i: "0"), 8, "do not increase"),
    ],
)
def test_uneven_times(write: Write, rows: list[list[str]], line: int, what: str) -> None:
    text = said(write(rows))
    assert what in text
    assert f"ine {line} " in text or text.endswith(f"line {line}.")


# -- damaged files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", ["12", "8", "9.5", "", "x"])
def test_frames_that_do_not_follow_each_other(write: Write, frame: str) -> None:
    rows = cells()
    rows[9][0] = frame
    assert "ine 16 " in said(write(rows))


def test_a_message_shows_the_beginning_of_a_cell(write: Write) -> None:
    rows = cells()
    rows[2][:2] = "3", "9" * 1000
    text = said(write(rows))
    assert "Line 9 " in text
    assert len(text) < 400


@pytest.mark.parametrize("labels", [["Time", *names()[2:]], names()[2:], ["Frame#"], ["#", "s"]])
def test_no_frame_column(write: Write, labels: list[str]) -> None:
    text = said(write(labels=labels))
    assert "Line 4 " in text
    assert "Frame#" in text


def test_decimal_commas_throughout(write: Write, tmp_path: Path) -> None:
    point = write()
    comma = tmp_path / "comma.trc"
    head, numbers = point.read_text().splitlines()[:2], point.read_text().splitlines()[2:]
    comma.write_text("\n".join([*head, *(line.replace(".", ",") for line in numbers)]))
    assert "," in comma.read_text()
    found, same = read(comma), read(point)
    np.testing.assert_array_equal(found.markers.positions, same.markers.positions)
    assert found.markers.rate_hz == same.markers.rate_hz
    assert found.markers.labels == same.markers.labels


@pytest.mark.parametrize("cell", ["12,5", "1_0", "abc", "0x10", "--"])
def test_no_number(write: Write, cell: str) -> None:
    rows = cells()
    rows[2][7] = cell
    text = said(write(rows))
    assert "Line 9 " in text
    assert f"'{cell}'" in text


def test_wrong_counts(write: Write) -> None:
    assert "specifies 31 frames but the file contains 30" in said(write(NumFrames="31"))
    assert "specifies 99999999999999991611392 frames" in said(write(NumFrames="99999999999999999999999"))
    recording = read(write(NumFrames="29", NumMarkers="17"))
    assert codes(recording) == {"recording-repaired"}
    assert recording.markers.positions.shape == (FRAMES, 16, 3)
    assert codes(read(write(NumFrames="0"))) == {"recording-repaired"}
    assert codes(read(write(NumFrames=""))) == set()
    assert "labels of 15 markers" in said(write(labels=["Frame#", "Time", *LABELS[:15]]))
    assert "labels of 17 markers" in said(write(labels=names([*LABELS, "M17"])))
    assert "holds 51 cells, expected 50" in said(write([*cells()[:-1], [*cells()[-1], "1"]]))
    assert "X1 Y1 Z1" in said(write(components=[*axes()[:-3], "Y16", "X16", "Z16"]))


@pytest.mark.parametrize("keep", [0, 5, 40, 120, 200, 420, 1000, 3000, -1, -60, -100])
def test_truncated_anywhere(write: Write, keep: int) -> None:
    path = write(last="")
    path.write_bytes(path.read_bytes()[:keep])
    if keep == -1:  # the last digit of the last number: nothing tells
        return
    assert said(path)


def test_what_is_cut_off_is_said_before_what_follows_from_it(write: Write) -> None:
    assert "is truncated" in said(write(cells()[:5], DataRate="fast"))
    assert "does not state a valid frame rate: DataRate is missing" in said(
        write(cells()[:5], DataRate="", NumFrames="5")
    )


def test_a_last_line_that_is_cut_off_is_not_an_unseen_marker(write: Write) -> None:
    rows = cells()
    assert "is truncated: line 36 " in said(write([*rows[:-1], rows[-1][:-3]], last=""))


def test_no_marker(write: Write) -> None:
    assert "no marker labels" in said(write(labels=["Frame#", "Time"], components=[]))
    assert "no marker is seen" in said(write([[*row[:2], *[""] * 48] for row in cells()]))
    assert "holds no frames" in said(write([], NumFrames="0"))


def test_scrambled_bytes_never_get_past_the_reader(write: Write) -> None:
    sound = write().read_bytes()
    path = write(name="spoilt.trc")
    chance = random.Random(8)
    outcomes = set()
    for _ in range(300):
        spoilt = bytearray(sound)
        for _ in range(chance.choice((1, 3, 30))):
            at = chance.randrange(len(spoilt))
            spoilt[at : at + chance.choice((0, 1, 5))] = chance.randbytes(chance.choice((0, 1, 4)))
        path.write_bytes(bytes(spoilt))
        try:
            outcomes.add(type(read_trc(path)))
        except InputFileError as error:
            outcomes.add(type(error))
    assert outcomes == {Recording, InputFileError}


@pytest.mark.parametrize("content", [b"PathFileType", b"PathFileType\n\n\n", b"PathFileType\na\nb\nFrame# Time\n1 0\n"])
def test_hardly_anything(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.trc").write_bytes(content)
    assert said(tmp_path / "a.trc")


# -- files that nobody here wrote ---------------------------------------------------------------------------------


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "frames", "markers", "rate_hz"),
    [
        ("arnold2013_synthetic/subject18/trials/walk2/markers.trc", 215, 54, 200.0),
        ("core_ik/subject01_synthetic_marker_data.trc", 73, 31, 60.0),
        ("core_scale/subject01_static.trc", 300, 49, 60.0),
        ("gait2354_tutorial/subject01_walk1.trc", 151, 41, 60.0),
    ],
)
def test_files_of_other_programs(real_data: Path, name: str, frames: int, markers: int, rate_hz: float) -> None:
    found = read(real_data / "opensim" / name).markers
    assert found.positions.shape == (frames, markers, 3)
    assert found.rate_hz == pytest.approx(rate_hz)
    height = np.nanmax(found.positions[..., 1]) - np.nanmin(found.positions[..., 1])
    assert 1.2 < height < 2.0


@pytest.mark.real
def test_rows_left_out_are_no_frame_rate(real_data: Path) -> None:
    """Every tenth frame of a 250 Hz recording, and one more: its times say so, its header does not."""
    assert "the step is 0.04 s, but 0.008 s to line 118" in said(
        real_data / "opensim/c3d_to_grf/std_walking5_markers.trc"
    )


def test_a_file_that_no_walk_fills_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.trc"
    with path.open("wb") as stream:
        stream.write(b"PathFileType\t4\t(X/Y/Z)\thuge.trc\n")
        stream.truncate(20_000_000_000)  # holds no blocks on the disk
    with pytest.raises(InputFileError, match="larger than 4 GB"):
        read(path)


@pytest.mark.parametrize("label", ["h" * 20_000, "h-" * 10_000, "h" + "_" * 20_000 + "1", "hl" * 10_000])
def test_a_file_with_a_label_of_20_000_letters_is_checked_in_seconds(write: Write, label: str) -> None:
    path = write(labels=names([label, *LABELS[1:]]))
    begin = time.process_time()
    check_file(path)
    assert time.process_time() - begin < 10.0  # 140 s before the patterns of labels took linear time


def test_tables_wider_than_any_motion_are_refused_at_once(tmp_path: Path) -> None:
    """A TRC of 100,000 markers and a MOT of 20,000 columns took minutes."""
    labels = "\t\t\t".join(f"M{k}" for k in range(100_000))
    head = "PathFileType\t4\t(X/Y/Z)\twide.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\n100\t100\t1\t100000\tmm\n"
    row = "1\t0.0\t" + "\t".join(["1.0"] * 300_000)
    (tmp_path / "wide.trc").write_text(f"{head}Frame#\tTime\t{labels}\n\t\t\n\n{row}\n")
    names = "\t".join(f"c{k}" for k in range(20_000))
    values = "\n".join("\t".join([f"{0.01 * t:.2f}", *["1.0"] * 20_000]) for t in range(20))
    lines = "version=1\nnRows=20\nnColumns=20001\ninDegrees=yes\nendheader"
    (tmp_path / "wide.mot").write_text(f"wide\n{lines}\ntime\t{names}\n{values}\n")
    begin = time.process_time()
    for name in ("wide.trc", "wide.mot"):
        with pytest.raises(InputFileError, match="are accepted for a motion"):
            read(tmp_path / name)
    assert time.process_time() - begin < 10.0
