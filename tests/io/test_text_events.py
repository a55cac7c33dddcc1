"""Events in text exports are those of the C3D of the same trial; and every layout in which Nexus writes its tables is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulator.files import write_c3d
from support.sessions import Laboratory
from support.vendor_exports import write_cortex, write_nexus, write_qtm, write_visual3d

from biodyn.io import read
from biodyn.io.events import StoredEvent, gait_events
from biodyn.io.ground_forces import with_forces_of_file
from biodyn.io.tables.spreadsheet import contains_trajectories
from biodyn.recording import Recording
from biodyn.trial.run import analyse_trial

#: Nexus' files are written to a microsecond, Qualisys' to ten; C3D holds single precision.
TIME_S = 1e-5


def same_events(found: Recording, truth: Recording) -> None:
    assert [(e.side, e.kind, e.source) for e in found.events] == [(e.side, e.kind, e.source) for e in truth.events]
    np.testing.assert_allclose([e.time_s for e in found.events], [e.time_s for e in truth.events], atol=TIME_S)


def noted(recording: Recording, code: str) -> list[str]:
    return [note.message for note in recording.diagnostics if note.code == code]


def warnings_of(recording: Recording) -> list[str]:
    return [note.message for note in recording.diagnostics if note.severity == "warning"]


@pytest.fixture(scope="module")
def truth(laboratory: Laboratory) -> Recording:
    recording = read(laboratory.walk)
    assert len(recording.events) > 6
    return recording


@pytest.fixture(scope="module")
def nexus(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text that Nexus writes of the walk."""
    return write_nexus(tmp_path_factory.mktemp("nexus") / "walk.csv", laboratory.trials["walk"]).read_text("utf-8")


def read_text(folder: Path, text: str, name: str = "walk.csv", encoding: str = "utf-8") -> Recording:
    path = folder / name
    path.write_text(text, encoding=encoding)
    return read(path)


# -- the same events as the C3D ----------------------------------------------------------------------------------------


def test_events_of_nexus_are_those_of_the_c3d(nexus: str, truth: Recording, tmp_path: Path) -> None:
    found = read_text(tmp_path, nexus)
    same_events(found, truth)
    assert not noted(found, "data-not-used")


def test_events_of_a_trimmed_export_are_on_the_clock_of_its_first_frame(
    laboratory: Laboratory, truth: Recording, tmp_path: Path
) -> None:
    found = read(write_nexus(tmp_path / "walk.csv", laboratory.trials["walk"], first_frame=231))
    same_events(found, truth)
    assert found.first_frame == 231


@pytest.mark.parametrize("timed", [True, False])
def test_events_of_qualisys_are_those_of_the_c3d(
    laboratory: Laboratory, truth: Recording, tmp_path: Path, timed
) -> None:
    write_qtm(tmp_path / "walk.tsv", laboratory.trials["walk"])
    text = (tmp_path / "walk.tsv").read_text("utf-8")
    if not timed:  # of an event, only the frame
        lines = [line.rsplit("\t", 1)[0] if line.startswith("EVENT") else line for line in text.splitlines()]
        text = "\n".join(lines) + "\n"
    found = read_text(tmp_path, text, "walk.tsv")
    if timed:
        same_events(found, truth)
    else:
        half_s = 0.5 / truth.markers.rate_hz
        times = np.array([e.time_s for e in found.events])
        assert np.abs(times - [e.time_s for e in truth.events]).max() <= half_s + TIME_S
    assert len(found.plates) == len(truth.plates)  # the files of the plates beside it


def test_more_events_than_a_head_has_lines_are_read(laboratory: Laboratory, truth: Recording, tmp_path: Path) -> None:
    write_qtm(tmp_path / "walk.tsv", laboratory.trials["walk"])
    text = (tmp_path / "walk.tsv").read_text("utf-8")
    more = "".join(f"EVENT\tManual event\t{k + 1}\t{k / truth.markers.rate_hz:.5f}\n" for k in range(90))
    found = read_text(tmp_path, text.replace("DATA_INCLUDED", more + "DATA_INCLUDED", 1), "walk.tsv")
    same_events(found, truth)
    np.testing.assert_array_equal(found.markers.labels, truth.markers.labels)
    assert "90 stored events are ignored: not foot strikes" in noted(found, "data-not-used")[0]
    assert contains_trajectories(tmp_path / "walk.tsv")


def test_an_event_whose_frame_and_time_differ_is_left_out(
    laboratory: Laboratory, truth: Recording, tmp_path: Path
) -> None:
    write_qtm(tmp_path / "walk.tsv", laboratory.trials["walk"])
    text = (tmp_path / "walk.tsv").read_text("utf-8")
    line = next(line for line in text.splitlines() if line.startswith("EVENT"))
    word, name, frame, time = line.split("\t")
    found = read_text(tmp_path, text.replace(line, f"{word}\t{name}\t{int(frame) + 4}\t{time}"), "walk.tsv")
    assert len(found.events) == len(truth.events) - 1
    assert len(noted(found, "data-not-used")) == 1


@pytest.mark.parametrize("start_s", [0.0, 3.21])
def test_events_in_columns_of_visual3d_are_those_of_the_c3d(
    laboratory: Laboratory, truth: Recording, tmp_path: Path, start_s
) -> None:
    found = read(write_visual3d(tmp_path / "walk.txt", laboratory.trials["walk"], start_s))
    same_events(found, truth)
    assert not noted(found, "columns-not-read")


def test_a_column_that_is_called_as_an_event_and_holds_a_signal_is_none(laboratory: Laboratory, tmp_path: Path) -> None:
    lines = write_visual3d(tmp_path / "walk.txt", laboratory.trials["walk"]).read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    for number, row in enumerate(rows[5:]):
        row[-1] = f"{0.01 * number:.3f}"
    found = read_text(tmp_path, "\n".join("\t".join(row) for row in rows) + "\n", "walk.txt")
    assert not [event for event in found.events if (event.side, event.kind) == ("l", "foot_off")]
    assert "LTO" in noted(found, "columns-not-read")[0]


def test_a_trc_of_cortex_holds_no_events(laboratory: Laboratory, tmp_path: Path) -> None:
    write_cortex(tmp_path / "walk.trc", laboratory.trials["walk"])
    assert read(tmp_path / "walk.trc").events == ()


@pytest.mark.slow
def test_a_walk_by_the_files_events_has_the_cycles_of_the_c3d(laboratory: Laboratory, tmp_path: Path) -> None:
    by_file = {"gait": {"events": "file"}, "uncertainty": {"compute": False}}
    for name in ("static", "walk"):
        write_nexus(tmp_path / f"{name}.csv", laboratory.trials[name])
    found = analyse_trial(tmp_path / "walk.csv", settings=by_file)
    reference = analyse_trial(laboratory.walk, settings=by_file)
    assert len(found.cycles) == len(reference.cycles) > 0
    for mine, theirs in zip(found.events, reference.events, strict=True):
        assert (mine.side, mine.kind, mine.source) == (theirs.side, theirs.kind, theirs.source)
        assert mine.time_s == pytest.approx(theirs.time_s, abs=TIME_S)


# -- what people write -------------------------------------------------------------------------------------------------


def test_events_outside_the_frames_and_other_names_are_left_out_as_in_a_c3d(
    nexus: str, laboratory: Laboratory, truth: Recording, tmp_path: Path
) -> None:
    more = [
        "P,Left,Foot Strike,99.0,",
        "P,Right,Foot Off,-3.0,",
        "P,General,Foot Strike,0.5,",  # of no side
        "P,Left,Clap,0.5,",
        "P,Left,Foot Strike,soon,",
        "P,Left",
    ]
    head = "Subject,Context,Name,Time (s),Description\n"
    found = read_text(tmp_path, nexus.replace(head, head + "\n".join(more) + "\n"))
    same_events(found, truth)
    assert noted(found, "events-outside") == ["2 stored gait events are outside the stored frames and are ignored."]
    assert "3 stored events are ignored: not foot strikes" in noted(found, "data-not-used")[0]


def test_the_columns_of_events_may_stand_in_any_order(nexus: str, truth: Recording, tmp_path: Path) -> None:
    def turned(line: str) -> str:
        cells = line.split(",")
        return ",".join([cells[3], cells[2], cells[0], cells[1]]) if len(cells) == 5 else line

    events, rest = nexus.split("\n\n", 1)
    same_events(read_text(tmp_path, "\n".join(turned(line) for line in events.splitlines()) + "\n\n" + rest), truth)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_odd_encodings(nexus: str, truth: Recording, tmp_path: Path, encoding) -> None:
    text = nexus.replace("P:", "Müller:").replace("\nP,", "\nMüller,")
    found = read_text(tmp_path, text, "walk.txt", encoding)
    same_events(found, truth)
    assert found.markers.labels == truth.markers.labels
    assert len(read(tmp_path / "walk.txt").plates) == len(truth.plates)
    assert contains_trajectories(tmp_path / "walk.txt")


def test_the_subject_of_events_is_that_of_the_markers(nexus: str, truth: Recording, tmp_path: Path) -> None:
    head = "Subject,Context,Name,Time (s),Description\n"
    found = read_text(tmp_path, nexus.replace(head, head + "Q,Left,Foot Strike,0.71,\n"))
    same_events(found, truth)
    assert "1 stored event is ignored: recorded for Q" in noted(found, "data-not-used")[0]


def test_events_of_a_person_whose_markers_are_not_read() -> None:
    def stored(subject: str) -> list[StoredEvent]:
        return [StoredEvent("Foot Strike", "Left", 0.5, subject)]

    def count(subject: str, *people: object) -> int:
        return len(gait_events(stored(subject), 100, 100.0, *people)[0])

    assert count("Q", "P", ("Q",)) == 0  # the file holds points of both
    assert count("Q", "P") == 1  # nobody else is there: the person was renamed
    assert count("", "P", ("Q",)) == 1
    assert count("p ", "P", ("Q",)) == 1
    both = [*stored("Q"), StoredEvent("Foot Off", "Left", 0.7, "P")]
    assert [event.kind for event in gait_events(both, 100, 100.0, "P")[0]] == ["foot_off"]


def test_events_before_the_first_frame_that_forces_cover_go_with_its_frames(
    laboratory: Laboratory, truth: Recording, nexus: str, tmp_path: Path
) -> None:
    """Forces that begin 50 frames late: the frames before are left out, and times count from the first one that stays."""
    rate_hz = truth.markers.rate_hz
    (tmp_path / "late.csv").write_text("\n".join(_late_forces(rate_hz, 50, truth.markers.frame_count)), "utf-8")
    whole = read_text(tmp_path, nexus)
    cut = with_forces_of_file(whole, tmp_path / "late.csv")
    first = truth.markers.frame_count - cut.markers.frame_count
    assert 47 < first <= 50  # a row's time of slack
    kept = [event for event in truth.events if event.time_s >= first / rate_hz]
    assert 0 < len(kept) < len(truth.events)
    assert [(e.side, e.kind) for e in cut.events] == [(e.side, e.kind) for e in kept]
    np.testing.assert_allclose([e.time_s for e in cut.events], [e.time_s - first / rate_hz for e in kept], atol=TIME_S)


def _late_forces(rate_hz: float, first: int, frames: int) -> list[str]:
    names = [f"ground_force_{what}{axis}" for what in "vp" for axis in "xyz"]
    rows = [f"{k / rate_hz:.5f},10.0,20.0,700.0,{0.1 + 1e-3 * k:.4f},0.2,0.0" for k in range(first - 1, frames)]
    return [",".join(["time", *names]), *rows]


def test_events_of_another_person_in_a_c3d(laboratory: Laboratory, truth: Recording, tmp_path: Path) -> None:
    """A C3D of two people: the events of the one whose markers are read."""
    trial = laboratory.trials["walk"]
    two = replace(
        trial,
        labels=(*(f"P:{label}" for label in trial.labels), *(f"Q:{label}" for label in trial.labels)),
        markers=np.concatenate([trial.markers, np.full_like(trial.markers, np.nan)], axis=1),
    )
    write_c3d(tmp_path / "walk.c3d", two)
    found = read(tmp_path / "walk.c3d")
    assert found.markers.labels == truth.markers.labels
    same_events(found, truth)  # whose names nobody stored


# -- layouts of Nexus --------------------------------------------------------------------------------------------------


def trajectories(text: str) -> tuple[list[str], list[str]]:
    """The lines before the table of trajectories, and those of it."""
    lines = text.splitlines()
    at = lines.index("Trajectories")
    return lines[:at], lines[at:]


def with_separator(text: str, sign: str, comma: bool) -> str:
    cells = [line.split(",") for line in text.splitlines()]
    return "\n".join(sign.join(cell.replace(".", ",") if comma else cell for cell in row) for row in cells) + "\n"


def other_tables(frames: int, rate_hz: float) -> str:
    """Tables that Nexus exports beside: gait cycle parameters, joints, model outputs and segments."""
    rows = "\n".join(f"{k + 1},0,{0.1 * k:.3f},2,3,4,5,6" for k in range(frames))
    six = "Frame,Sub Frame,RX,RY,RZ,TX,TY,TZ\n,,deg,deg,deg,mm,mm,mm"
    outputs = "Frame,Sub Frame,X,Y,Z,X,Y,Z\n,,deg,deg,deg,N.mm/kg,N.mm/kg,N.mm/kg"
    return (
        "Gait Cycle Parameters\nSubject,Context,Name,Value,Units\nP,Left,Cadence,112,steps/min\n\n"
        f"Joints\n{rate_hz:g}\n,,P:Pelvis_LFemur,,,,,\n{six}\n{rows}\n\n"
        f"Model Outputs\n{rate_hz:g}\n,,P:LHipAngles,,,P:LHipMoment,,\n{outputs}\n{rows}\n\n"
        f"Segments\n{rate_hz:g}\n,,P:Pelvis,,,,,\n{six}\n{rows}\n\n"
    )


def same_markers(found: Recording, truth: Recording) -> None:
    assert found.markers.labels == truth.markers.labels
    np.testing.assert_allclose(found.markers.positions, truth.markers.positions, atol=1e-6)
    assert found.markers.rate_hz == truth.markers.rate_hz


@pytest.mark.parametrize(("sign", "comma"), [("\t", False), ("\t", True), (";", True), (";", False)])
def test_separators(nexus: str, truth: Recording, tmp_path: Path, sign, comma) -> None:
    found = read_text(tmp_path, with_separator(nexus, sign, comma))
    same_markers(found, truth)
    same_events(found, truth)
    assert len(found.plates) == len(truth.plates)
    assert not warnings_of(found)


def test_other_tables_stand_before_between_and_behind(nexus: str, truth: Recording, tmp_path: Path) -> None:
    before, own = trajectories(nexus)
    more = other_tables(truth.markers.frame_count, truth.markers.rate_hz)
    for name, text in {
        "first.csv": more + nexus,
        "between.csv": "\n".join(before) + "\n" + more + "\n".join(own) + "\n",
        "behind.csv": nexus + "\n" + more,
    }.items():
        found = read_text(tmp_path, text, name)
        same_markers(found, truth)
        same_events(found, truth)
        assert len(found.plates) == len(truth.plates)
        assert contains_trajectories(tmp_path / name)


def test_lines_filled_up_with_separators(nexus: str, truth: Recording, tmp_path: Path) -> None:
    """As a spreadsheet program saves it: every line with as many cells as the widest."""
    rows = [line.split(",") for line in nexus.splitlines()]
    width = max(map(len, rows))
    found = read_text(tmp_path, "\n".join(",".join(row + [""] * (width - len(row))) for row in rows) + "\n")
    same_markers(found, truth)
    same_events(found, truth)
    assert len(found.plates) == len(truth.plates)


def test_without_a_row_of_units_and_with_words_in_capitals(nexus: str, truth: Recording, tmp_path: Path) -> None:
    before, own = trajectories(nexus)
    assert own[4].startswith(",,mm")
    text = "\n".join([*before, *own[:4], *own[5:]]) + "\n"
    found = read_text(tmp_path, text.replace("Trajectories", "TRAJECTORIES").replace("Events", "EVENTS"))
    same_markers(found, truth)
    same_events(found, truth)


def test_velocities_and_accelerations_are_passed_over(nexus: str, truth: Recording, tmp_path: Path) -> None:
    before, own = trajectories(nexus)
    labels = [cell for cell in own[2].split(",") if cell]
    head = [
        *own[:2],
        ",," + "".join(f"{label}," + "," * 8 for label in labels),
        "Frame,Sub Frame" + ",X,Y,Z,X',Y',Z',X'',Y'',Z''" * len(labels),
        "," + ",mm,mm,mm,mm/s,mm/s,mm/s,mm/s^2,mm/s^2,mm/s^2" * len(labels),
    ]
    rows = []
    for line in own[5:]:
        cells = line.split(",")
        points = [cells[2 + 3 * k : 5 + 3 * k] for k in range(len(labels))]
        rows.append(",".join([*cells[:2], *(cell for point in points for cell in (*point, *"123456"))]))
    found = read_text(tmp_path, "\n".join([*before, *head, *rows]) + "\n")
    same_markers(found, truth)
    assert len(noted(found, "columns-not-read")) == 1


def test_several_people_and_points_without_a_name(nexus: str, truth: Recording, tmp_path: Path) -> None:
    """Of two people the better seen one is read, with its events; the other walks through the picture for a moment."""
    before, own = trajectories(nexus)
    labels = [cell.partition(":")[2] for cell in own[2].split(",") if cell]
    head = [
        *own[:2],
        own[2] + "".join(f",Q:{label},," for label in labels) + ",*12,,",
        own[3] + ",X,Y,Z" * (len(labels) + 1),
        own[4] + ",mm" * 3 * (len(labels) + 1),
    ]
    rows = []
    for k, line in enumerate(own[5:]):
        other = line.split(",")[2:] if 100 <= k < 110 else [""] * 3 * len(labels)
        rows.append(",".join([line, *other, "", "", ""]))
    at = before.index("Subject,Context,Name,Time (s),Description") + 1
    before = [*before[:at], "Q,Left,Foot Strike,0.5,", *before[at:]]
    found = read_text(tmp_path, "\n".join([*before, *head, *rows]) + "\n")
    assert noted(found, "several-subjects") == [
        "The file holds points of several subjects (P, Q); only P, who is seen in most frames, is used."
    ]
    same_markers(found, truth)
    same_events(found, truth)
    assert len(noted(found, "data-not-used")) == 1
