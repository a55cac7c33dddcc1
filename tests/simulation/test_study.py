"""The simulated study: the same bytes again, people who differ, trials that differ a little, damage that is damage."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from simulator import embody
from simulator.damage import KINDS, LIST_NAME, PUT_RIGHT, damage_file, damage_files
from simulator.study import someone, write_study
from support.real import slow_but
from support.sessions import Laboratory

from biodyn.errors import BiodynError, ResultError
from biodyn.io.formats.c3d.reader import read_c3d
from biodyn.trial.run import analyse_trial

pytestmark = pytest.mark.slow

QUICK = {"uncertainty": {"compute": False}}


@pytest.fixture(scope="session")
def study(tmp_path_factory) -> Path:
    """Two people, two conditions, two walks each."""
    folder = tmp_path_factory.mktemp("simulated") / "study"
    write_study(folder, subjects=2, trials=4, seed=5)
    return folder


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.c3d"))}


def test_files_and_names(study):
    expected = {"static.c3d", *(f"walk_{c}_{n:02d}.c3d" for c in ("normal", "fast") for n in (1, 2))}
    assert {path.name for path in study.iterdir()} == {"S01", "S02"}
    for subject in study.iterdir():
        assert {path.name for path in subject.iterdir()} == expected


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes(study, tmp_path):
    write_study(tmp_path, subjects=2, trials=4, seed=5, processes=1)
    assert _bytes(tmp_path) == _bytes(study)


def test_people_differ_and_keep_their_height():
    people = [someone(1, number) for number in range(50)]
    assert len({(person.height_m, person.mass_kg, person.leg_length) for person in people}) == 50
    assert {person.sex for person in people} == {"male", "female"}
    legs = [person.leg_length for person in people]
    longest, shortest = people[int(np.argmax(legs))], people[int(np.argmin(legs))]
    for person in (longest, shortest):
        body = embody(person)
        assert body.model.height_m == pytest.approx(person.height_m)
        # the head stays where the height says, the pelvis rises with the legs
        assert max(point[1] for point in body.static_points.values()) == pytest.approx(0.95 * person.height_m, abs=0.02)
    share = [
        embody(person).measures[name] / person.height_m
        for person in (longest, shortest)
        for name in sorted(embody(person).measures)
        if name.startswith("leg_length")
    ]
    assert share[0] / share[2] == pytest.approx(longest.leg_length / shortest.leg_length)


@pytest.mark.slow
def test_trials_of_one_person_differ_a_little_and_are_analysed_well(study):
    torques = []
    for number in (1, 2):
        found = analyse_trial(study / "S01" / f"walk_normal_{number:02d}.c3d", settings=QUICK)
        assert [contact.decision for contact in found.contacts] == ["assigned"] * 3
        assert found.static.path == study / "S01" / "static.c3d"
        assert not [note for note in found.diagnostics if note.severity == "error"]
        peak = np.nanmax(np.abs(found.dynamics.torques), axis=0) / found.subject.mass_kg
        torques.append(peak)
    change = np.abs(torques[1] - torques[0])
    assert 0.02 < np.nanmax(change) < 0.7  # Nm/kg; walking's largest torques are about 1.5


@pytest.mark.parametrize("kind", slow_but(KINDS, KINDS[:3]), ids=lambda kind: kind.name)
def test_every_kind_of_damage_is_refused_with_its_reason(study, tmp_path, kind):
    walks = sorted(study.rglob("walk_*.c3d"))
    for number in range(3):
        path = tmp_path / f"{number}.c3d"
        shutil.copy(walks[number], path)
        damage_file(path, kind, number, np.random.default_rng([8, number]))
        with pytest.raises(BiodynError) as caught:
            analyse_trial(path, walks[number].parent / "static.c3d", torques_only=True)
        assert any(words in str(caught.value) for words in kind.expected), str(caught.value)
        assert caught.value.hint


@pytest.mark.slow
def test_a_wrong_unit_of_lengths_is_put_right(study, tmp_path):
    walk = study / "S02" / "walk_fast_01.c3d"
    true = analyse_trial(walk, torques_only=True)
    for number in range(2):
        path = tmp_path / f"{number}.c3d"
        shutil.copy(walk, path)
        damage_file(path, PUT_RIGHT, number, np.random.default_rng(0))
        found = analyse_trial(path, walk.parent / "static.c3d", torques_only=True)
        assert any(words in note.message for words in PUT_RIGHT.expected for note in found.diagnostics)
        # float32 of other numbers: a micrometre of a marker, hundredths of a newton metre through two derivatives
        np.testing.assert_allclose(found.dynamics.torques, true.dynamics.torques, atol=0.05)


def test_damage_is_seeded_and_listed(study, tmp_path):
    lists = []
    for name in ("a", "b"):
        shutil.copytree(study, tmp_path / name)
        walks = sorted((tmp_path / name).rglob("walk_*.c3d"))
        with pytest.raises(BiodynError, match="more than 8 files"):
            damage_files(walks, 0.02, 1)
        for number in range(2):  # enough files for all kinds
            for path in walks[:4]:
                shutil.copy(path, path.with_name(f"{path.stem}_{number}.c3d"))
        walks = sorted((tmp_path / name).rglob("walk_*.c3d"))
        damaged = damage_files(walks, 0.02, 1)
        assert [entry.kind for entry in damaged] == [kind.name for kind in KINDS]
        lists.append([(entry.path.relative_to(tmp_path / name), entry.kind) for entry in damaged])
        assert not (tmp_path / name / LIST_NAME).exists()
    assert lists[0] == lists[1]
    regular = [path.relative_to(tmp_path / "a") for path in sorted((tmp_path / "a").rglob("*.c3d")) if path.is_file()]
    assert all((tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes() for path in regular)


def test_a_mark_for_not_seen_is_no_damage(study, tmp_path):
    """One number again and again is how an exporter says 'not seen', in all three coordinates or some; so is NaN on a plate."""
    data = (study / "S01" / "walk_normal_01.c3d").read_bytes()
    points = int.from_bytes(data[2:4], "little")
    start = (int.from_bytes(data[16:18], "little") - 1) * 512
    frames = np.frombuffer(data, dtype="<f4", offset=start).reshape(400, -1).copy()
    frames[100:140, 4 * 3 : 4 * 3 + 3] = 9999999.0  # mm, with a valid residual
    frames[100:140, 4 * 5 : 4 * 5 + 3] = 9999999.0, 9999999.0, 0.0
    frames[-3:, 4 * points :] = np.nan
    path = tmp_path / "marked.c3d"
    path.write_bytes(data[:start] + frames.astype("<f4").tobytes())
    found = read_c3d(path)
    assert np.isnan(found.markers.positions[100:140, [3, 5]]).all()
    assert [note.value for note in found.diagnostics if note.code == "recording-repaired"] == [40.0]


def test_the_simulator_replaces_no_recording_of_others(laboratory: Laboratory, tmp_path: Path) -> None:
    files = laboratory.copy(tmp_path)
    laboratory.copy(tmp_path)  # its own ones it does
    files.walk.write_bytes(b"somebody's walk")
    with pytest.raises(ResultError, match="was not written by the simulator"):
        laboratory.copy(tmp_path)
    assert files.walk.read_bytes() == b"somebody's walk"
