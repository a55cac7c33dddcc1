"""The page of `biodyn check`: what is exchanged or jumps is seen at once, and nothing else is touched."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.sessions import Laboratory
from typer.testing import CliRunner

from biodyn.checks.files import FileFacts
from biodyn.cli import app
from biodyn.errors import InputFileError, ResultError
from biodyn.io import read
from biodyn.output.report.check_page import marker_links, marker_motions, recording_scene, render_check_page
from biodyn.settings import Settings
from biodyn.trial.inspection import check_file, write_check_page


@pytest.fixture(scope="module")
def file(laboratory: Laboratory) -> FileFacts:
    """The walk; its laboratory frame does for World here: nothing below depends on directions."""
    return FileFacts(read(laboratory.walk), Settings(), "auto")


def exchanged(file: FileFacts, one: str, other: str, frames: slice) -> FileFacts:
    """The recording with two labels exchanged in some frames."""
    markers = file.recording.markers
    positions, pair = markers.positions.copy(), [markers.labels.index(one), markers.labels.index(other)]
    positions[frames, pair[0]], positions[frames, pair[1]] = (
        markers.positions[frames, pair[1]],
        markers.positions[frames, pair[0]],
    )
    motion = replace(file.recording.motion, markers=replace(markers, positions=positions))
    return FileFacts(replace(file.recording, motion=motion), file.settings, file.marker_set)


def test_exchanged_markers_stand_first_at_their_time(file: FileFacts) -> None:
    labels = file.recording.markers.labels
    rate_hz = file.recording.markers.rate_hz
    rng = np.random.default_rng(3)
    sound = marker_motions(file)[0]["jump_m"]
    for _ in range(5):
        one, other = rng.choice(labels, 2, replace=False)
        start = int(rng.integers(20, 40))
        first, second, third = marker_motions(exchanged(file, one, other, slice(start, start + 15)))[:3]
        assert {first["label"], second["label"]} == {one, other}
        assert first["jump_m"] > 3.0 * sound
        assert third["jump_m"] == pytest.approx(sound)
        for motion in (first, second):
            edges = np.array([start - 1, start, start + 14, start + 15]) / rate_hz
            assert np.abs(edges - motion["jump_s"]).min() < 1.0 / rate_hz + 1e-9


def test_lines_hold_a_segment_together_with_the_least_length() -> None:
    """A row of markers in any order is joined neighbour to neighbour; what was never seen together is not joined."""
    order = [2, 0, 3, 1]
    places = np.zeros((4, 5, 3))
    places[:, :4, 0] = np.array(order) * 0.1
    places[:, 4] = np.nan
    found = {frozenset((order[i], order[j])) for i, j in marker_links(places, ["a", "a", "a", "a", "a"])}
    assert found == {frozenset((0, 1)), frozenset((1, 2)), frozenset((2, 3))}
    assert marker_links(places, ["a", "", "b", "b", "b"]) == [[2, 3]]


def test_the_page_holds_every_marker_and_only_replaces_its_own(
    laboratory: Laboratory, file: FileFacts, tmp_path: Path
) -> None:
    checked, page = write_check_page(laboratory.walk, tmp_path / "look")
    assert checked == check_file(laboratory.walk)
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    scene = json.loads(re.search(r'data-scene>.*?<script type="application/json">(.*?)</script>', text, re.S)[1])  # type: ignore[index]
    (data,) = scene["persons"]
    assert tuple(data["markers"]["labels"]) == tuple(file.recording.markers.labels)
    assert [plate["number"] for plate in data["plates"]] == [1, 2, 3]
    assert len(json.dumps(data)) <= 300_000
    assert all(f"<td>{label}</td>" in text for label in file.recording.markers.labels)
    write_check_page(laboratory.walk, tmp_path / "look")  # its own
    page.write_text("mine", encoding="utf-8")
    with pytest.raises(ResultError, match="is not replaced"):
        write_check_page(laboratory.walk, tmp_path / "look")
    assert page.read_text(encoding="utf-8") == "mine"


def test_names_cannot_become_markup_and_no_marker_is_no_page(file: FileFacts, tmp_path: Path) -> None:
    bad = "</script><b>x"
    markers = file.recording.markers
    labels = (bad, *markers.labels[1:])
    motion = replace(file.recording.motion, markers=replace(markers, labels=labels))
    page = render_check_page(FileFacts(replace(file.recording, motion=motion), Settings(), "auto"), [bad], (), "0")
    assert page is not None
    assert bad not in page
    unseen = replace(markers, positions=np.full_like(markers.positions, np.nan))
    nothing = FileFacts(replace(file.recording, motion=replace(motion, markers=unseen)), Settings(), "auto")
    assert recording_scene(nothing) is None
    table = tmp_path / "angles.mot"
    table.write_text(
        "Coordinates\nversion=1\nnRows=2\nnColumns=2\ninDegrees=yes\nendheader\ntime\tknee_angle_r\n0\t1\n0.01\t2\n",
        encoding="utf-8",
    )
    with pytest.raises(InputFileError, match="no visible marker"):
        write_check_page(table, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_command_writes_and_opens_the_page(
    laboratory: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: not opened.append(address))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    done = CliRunner().invoke(app, ["check", str(laboratory.walk), "--open"], env={"COLUMNS": "300"})
    assert done.exit_code == 0, done.output
    (page,) = tmp_path.rglob("*.check.html")
    assert opened == [page.as_uri()]
    assert f"Page: {page}" in done.output
    blocked = tmp_path / "file"
    blocked.write_text("", encoding="utf-8")
    done = CliRunner().invoke(app, ["check", str(laboratory.walk), "--out", str(blocked)], env={"COLUMNS": "300"})
    assert done.exit_code == 2
    assert blocked.read_text(encoding="utf-8") == ""
