"""Wrist markers whose labels are exchanged in both recordings: the forearm cannot follow, and the finding names them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from biodyn.io import read
from biodyn.recording import Recording
from biodyn.trial.run import analyse_trial
from biodyn.trial.trial_files import TrialFiles

SAMPLE = Path(__file__).parents[2] / "sample_data" / "subject01"
EXCHANGED = {"LWRA": "LWRB", "LWRB": "LWRA"}


def with_exchanged_wrist(path: Path) -> Recording:
    recording = read(path)
    labels = tuple(EXCHANGED.get(label, label) for label in recording.markers.labels)
    return recording.with_markers(replace(recording.markers, labels=labels))


@pytest.mark.slow
def test_the_markers_of_a_forearm_at_its_limit_are_named() -> None:
    walk, static = (with_exchanged_wrist(SAMPLE / f"{name}.c3d") for name in ("walk01", "static"))
    files = TrialFiles(walk, static, "named by the user")
    found = analyse_trial("walk01.c3d", files=files, settings={"uncertainty": {"compute": False}})
    (note,) = (note for note in found.diagnostics if note.code == "joint-limit")
    assert note.about == "pro_sup_l"
    assert "LWRA" in note.hint
    assert "LWRB" in note.hint
    assert "RWRA" not in note.hint
