"""A static trial that was named: its own person's is taken without a word, another person's with a warning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.small_person import Tiny, new_person

from biodyn.io import read
from biodyn.session import other_person_warning
from biodyn.trial.trial_files import read_files


def recording(path: Path, motion: str, person: int, **more: object) -> Path:
    """The same number is the same person with the markers in the same places."""
    placement = new_person(np.random.default_rng(person))
    return Tiny(placement, motion, seed=sum(map(ord, path.name)), **more).write(path)  # type: ignore[arg-type]


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    return recording(tmp_path / "walk.c3d", "walk", 1)


def test_ones_own_static_trial_is_taken_without_a_word(tmp_path: Path, walk: Path) -> None:
    files = read_files(walk, recording(tmp_path / "static.c3d", "standing", 1))
    assert files.why == "given by the user"
    assert not [note for note in files.walk.diagnostics if note.code == "static-doubtful"]


def test_another_persons_static_trial_is_told_by_the_markers(tmp_path: Path, walk: Path) -> None:
    files = read_files(walk, recording(tmp_path / "static.c3d", "standing", 2))
    (note,) = [note for note in files.walk.diagnostics if note.code == "static-doubtful"]
    assert note.severity == "warning"
    assert note.value is not None
    assert note.limit is not None
    assert note.value > note.limit
    assert f"differ from the walk by {1000 * note.value:.0f} mm" in note.message


def test_a_name_typed_otherwise_is_no_other_person(tmp_path: Path) -> None:
    walk = recording(tmp_path / "walk.c3d", "walk", 1, subject="Anna")
    own = recording(tmp_path / "own.c3d", "standing", 1, subject="Ana")
    other = recording(tmp_path / "other.c3d", "standing", 2, subject="Berta")
    assert other_person_warning(read(walk), read(own)) is None
    note = other_person_warning(read(walk), read(other))
    assert note is not None
    assert "its subject is 'Berta', that of the walk 'Anna'" in note.message
