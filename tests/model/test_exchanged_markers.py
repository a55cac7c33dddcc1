"""Exchanged labels are found by where the markers are, and nothing is changed on people whose labels are right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from support.real import slow_but
from support.standing_people import SETS, standing_person

from biodyn.checks.files import FileFacts, find_problems
from biodyn.io import read
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.recognition.articulated_marker_model import person_with_places, place_table
from biodyn.model.from_library.recognition.label_correction import correct_labels, places_by_label
from biodyn.model.from_library.recognition.swap_detection import find_swaps, swap_gain
from biodyn.model.from_library.recognition.swap_over_time import TimedSwap, swapped_recording
from biodyn.processing.calibration.standing_posture import average_quiet_standing
from biodyn.processing.signals.world_frame import find_world
from biodyn.recording import Markers
from biodyn.trial.run import analyse_trial
from biodyn.trial.trial_files import read_files

SEEDS = range(100, 112)
FAST = {"uncertainty": {"compute": False}}


def swapped(points: Mapping[str, np.ndarray], one: str, other: str) -> dict[str, np.ndarray]:
    return {**points, one: points[other], other: points[one]}


def other_side(label: str) -> str:
    return {"L": "R", "R": "L"}.get(label[0], label[0]) + label[1:]


def test_derivatives_of_the_person_are_those_of_its_places() -> None:
    person = person_with_places(place_table().names)
    x = np.random.default_rng(0).normal(size=person.size)
    _, J = person.linearise_positions(x)
    h = 1e-6
    steps = [(person.positions(x + h * e) - person.positions(x - h * e)).ravel() / (2 * h) for e in np.eye(person.size)]
    np.testing.assert_allclose(J, np.transpose(steps), atol=1e-7)


@pytest.mark.parametrize("marker_set", SETS)
def test_people_whose_labels_are_right_are_left_alone(marker_set: str) -> None:
    for seed in SEEDS:
        points = standing_person(marker_set, np.random.default_rng(seed))
        search = find_swaps(points, places_by_label(recognise_marker_set(tuple(points))))
        assert search.labels
        assert (search.swaps, search.ambiguous) == ((), ()), seed


def test_an_exchange_with_a_marker_of_no_known_place_is_judged_by_the_other_one() -> None:
    """A person's shape knows where the knee marker is, whatever the other label means."""
    for seed in SEEDS:
        points = standing_person(SETS[0], np.random.default_rng(seed))
        places = places_by_label(recognise_marker_set(tuple(points)))
        knee, wand = (next(label for label in places if label.startswith(start)) for start in ("LKNE", "LTIB"))
        unknown = {label: place for label, place in places.items() if label != wand}
        gain = swap_gain(points, unknown, knee, wand)
        assert gain < -10.0, seed
        assert swap_gain(swapped(points, knee, wand), unknown, knee, wand) == pytest.approx(-gain)


@pytest.mark.parametrize("marker_set", slow_but(SETS, SETS[:1]))
def test_exchanged_markers_are_found(marker_set: str) -> None:
    found = wrong = total = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        points = standing_person(marker_set, rng)
        places = places_by_label(recognise_marker_set(tuple(points)))
        pairs = [(a, b) for a, b in combinations(points, 2) if np.linalg.norm(points[a] - points[b]) > 0.1]
        sides = [(a, b) for a, b in pairs if other_side(a) == b]
        chosen = [pairs[rng.integers(len(pairs))], sides[rng.integers(len(sides))]]
        for one, other in chosen:
            search = find_swaps(swapped(points, one, other), places)
            total += 1
            found += [set(swap.corrections) for swap in search.swaps] == [{one, other}]
            wrong += any(not {one, other} >= set(swap.corrections) for swap in search.swaps)
    assert wrong == 0
    assert found >= 0.95 * total


@pytest.mark.parametrize("marker_set", slow_but(SETS, SETS[:1]))
@pytest.mark.parametrize("lower", [False, True])
def test_both_sides_exchanged_are_found(marker_set: str, lower: bool) -> None:
    legs = ("THI", "KNE", "TIB", "ANK", "HEE", "TOE")
    for seed in list(SEEDS)[:5]:
        points = standing_person(marker_set, np.random.default_rng(seed))
        meant = {a: other_side(a) for a in points if other_side(a) in points and (not lower or a[1:] in legs)}
        spoilt = {label: points[meant.get(label, label)] for label in points}
        search = find_swaps(spoilt, places_by_label(recognise_marker_set(tuple(points))))
        assert {a: b for swap in search.swaps for a, b in swap.corrections.items()} == {
            a: b for a, b in meant.items() if b != a
        }


@pytest.mark.slow
def test_which_way_a_person_faces_is_told_by_the_feet_not_by_the_labels() -> None:
    """Markers of one side alone (an amputee's, a one-legged set) are no reason to exchange anything."""
    points = standing_person("plug_in_gait_full", np.random.default_rng(3))
    kept = {label: p for label, p in points.items() if label not in ("LTIB", "LANK", "LHEE", "LTOE")}
    search = find_swaps(kept, places_by_label(recognise_marker_set(tuple(points))))
    assert (search.swaps, search.ambiguous) == ((), ())


# -- a whole analysis ---------------------------------------------------------------------------------------------------


def with_labels(trial: object, change: Callable[[list[str]], list[str]], rows: slice = slice(None)) -> object:
    """The trial with the trajectories of some frames under other labels."""
    labels = list(trial.labels)  # type: ignore[attr-defined]
    order = [labels.index(label) for label in change(labels)]
    markers = trial.markers.copy()  # type: ignore[attr-defined]
    markers[rows] = markers[rows][:, order]
    return replace(trial, markers=markers)  # type: ignore[type-var]


def pair(one: str, other: str) -> Callable[[list[str]], list[str]]:
    return lambda labels: [{one: other, other: one}.get(label, label) for label in labels]


def all_sides(labels: list[str]) -> list[str]:
    return [other_side(label) if other_side(label) in labels else label for label in labels]


@pytest.mark.parametrize(
    ("change", "files", "rows", "named"),
    [
        (pair("RKNE", "RANK"), ("walk", "static"), slice(None), ("RKNE", "RANK")),
        pytest.param(pair("LASI", "RASI"), ("static",), slice(None), ("LASI", "RASI"), marks=pytest.mark.slow),
        pytest.param(pair("LTOE", "LHEE"), ("walk",), slice(None), ("LTOE", "LHEE"), marks=pytest.mark.slow),
        (pair("RKNE", "LKNE"), ("walk",), slice(60, 130), ("RKNE", "LKNE")),
        pytest.param(all_sides, ("walk", "static"), slice(None), ("RKNE", "LKNE"), marks=pytest.mark.slow),
        pytest.param(all_sides, ("walk",), slice(None), ("RKNE", "LKNE"), marks=pytest.mark.slow),
    ],
    ids=["pair in both", "pair in static", "pair in walk", "pair for a while", "sides in both", "sides in walk"],
)
def test_a_mended_trial_gives_the_torques_of_the_sound_one(
    laboratory, walk_result, tmp_path, change, files, rows, named
):
    frames = {"walk": rows, "static": slice(None)}
    trials = {file: with_labels(laboratory.trials[file], change, frames[file]) for file in files}
    spoilt = laboratory.copy(tmp_path, **trials)
    analysis = analyse_trial(spoilt.walk, spoilt.static, settings=FAST)
    notes = [note for note in analysis.diagnostics if note.code == "markers-exchanged"]
    assert notes
    assert all(note.severity == "warning" for note in notes)
    assert any(set(named) <= set(note.message.replace(",", " ").split()) for note in notes)
    assert not {"labels-exchanged", "sides-exchanged"} & {note.code for note in analysis.diagnostics}
    sound = walk_result.analysis.dynamics.tau
    np.testing.assert_allclose(analysis.dynamics.tau, sound, atol=0.02 * np.nanmax(np.abs(sound)))


@pytest.mark.slow
def test_a_mirrored_laboratory_is_no_exchange_of_sides(laboratory, walk_result) -> None:
    files = read_files(laboratory.walk, laboratory.static)
    swapped_axes = np.eye(3)[[1, 0, 2]]  # x for y: left-handed
    files = replace(files, walk=files.walk.rotated(swapped_axes), static=files.static.rotated(swapped_axes))
    analysis = analyse_trial(laboratory.walk, files=files, settings=FAST)
    codes = [note.code for note in analysis.diagnostics]
    assert "laboratory-mirrored" in codes
    assert not {"markers-exchanged", "plate-sign"} & set(codes)
    sound = walk_result.analysis
    assert [contact.side for contact in analysis.contacts] == [contact.side for contact in sound.contacts]
    np.testing.assert_allclose(
        analysis.dynamics.tau, sound.dynamics.tau, atol=1e-6 * np.nanmax(np.abs(sound.dynamics.tau))
    )
    np.testing.assert_allclose(analysis.R_WL @ swapped_axes, sound.R_WL, atol=1e-12)
    in_check = find_problems(FileFacts(files.walk.rotated(find_world(files.walk).R_WL), sound.settings, "auto"))
    assert "laboratory-mirrored" in [note.code for note in in_check]
    assert "markers-exchanged" not in [note.code for note in in_check]


def test_nothing_is_changed_where_the_settings_say_so(laboratory, tmp_path) -> None:
    trials = {file: with_labels(laboratory.trials[file], pair("RKNE", "RANK")) for file in ("walk", "static")}
    spoilt = laboratory.copy(tmp_path, **trials)
    analysis = analyse_trial(spoilt.walk, spoilt.static, settings=FAST | {"model": {"geometry": False}})
    assert "markers-exchanged" not in {note.code for note in analysis.diagnostics}


# -- real recordings ----------------------------------------------------------------------------------------------------

SESSIONS = {
    "biomechzoo/HC030A/Straight/HC030A05": "biomechzoo/HC030A/Static/HC030A01",
    "schreiber2019/2014001_C1_01": "schreiber2019/2014001_ST",
    "unzeroed_plate/Gait with EMG": "unzeroed_plate/Static Pose",
    "sydney/dynamic/S4-AMGait03": "sydney/static/S4 AM Cal 01",
    "btk_flatfoot/PiG_Motion-FlatFoot-Full": "btk_flatfoot/PiG_Calibration-FlatFoot-Full",
    "fmc/dynamic/MH0222_BP15": "fmc/static/MH0222_BP01",
}


def in_world(path) -> Markers:
    recording = read(path)
    return recording.rotated(find_world(recording).R_WL).markers


@pytest.mark.real
@pytest.mark.parametrize("walk", slow_but(tuple(SESSIONS), tuple(SESSIONS)[:2]))
def test_real_recordings_are_left_alone_and_their_exchanged_labels_are_found(real_data, walk) -> None:
    moving, static = (in_world(real_data / "gait" / f"{name}.c3d") for name in (walk, SESSIONS[walk]))
    mapping = recognise_marker_set(tuple(dict.fromkeys(moving.labels + static.labels)))
    points = average_quiet_standing(static).points
    as_it_is = correct_labels(moving, static, points, mapping)
    assert as_it_is.notes == ()
    assert as_it_is.walk is moving
    assert as_it_is.static is static
    places = {label: place for label, place in places_by_label(mapping).items() if label in points}
    rng = np.random.default_rng(4)
    pairs = [(a, b) for a, b in combinations(places, 2) if np.linalg.norm(points[a] - points[b]) > 0.15]
    found = 0
    for k in rng.permutation(len(pairs))[:5]:
        search = find_swaps(swapped(points, *pairs[k]), places)
        assert all(set(swap.corrections) == set(pairs[k]) for swap in search.swaps)
        found += len(search.swaps)
    assert found >= 4


@pytest.mark.parametrize(
    ("in_static", "in_walk", "told"),
    [(True, False, "static trial"), (False, True, "walk")],
)
@pytest.mark.parametrize("shown", ["both", "static", "walk", "neither"])
def test_whose_an_exchange_of_labels_without_places_is_told_by_segments(
    in_static: bool, in_walk: bool, told: str, shown: str
) -> None:
    """Two clusters; a marker with a place on each segment in one recording is enough, without any nothing is said."""
    points = standing_person(SETS[0], np.random.default_rng(100))
    places = places_by_label(recognise_marker_set(tuple(points)))
    roles = {role.label: role.body for role in recognise_marker_set(tuple(points)).roles}
    knee, ankle = (
        next(label for label, place in places.items() if place == f"{name}_lateral_r") for name in ("knee", "ankle")
    )
    points |= {"T9": points[knee] + (0.02, 0.15, 0.0), "S9": points[ankle] + (0.02, 0.12, 0.0)}
    bodies = {**roles, "T9": roles[knee], "S9": roles[ankle]}
    on_legs = {label for label in points if bodies.get(label) in (roles[knee], roles[ankle]) and label in places}
    found = TimedSwap("T9", "S9", 0, 9, 10, 10, 0.3)

    def recorded(exchanged: bool, seen: bool) -> dict[str, np.ndarray]:
        kept = {label: point for label, point in points.items() if seen or label not in on_legs}
        return swapped(kept, "T9", "S9") if exchanged else kept

    standing = recorded(in_static, shown in ("both", "static"))
    moving = recorded(in_walk, shown in ("both", "walk"))
    walk = Markers(tuple(moving), np.repeat(np.stack([*moving.values()])[None], 10, axis=0), 100.0)
    expected = told if shown != "neither" else ""
    assert swapped_recording(found, standing, walk, places, bodies) == expected
    same = {**bodies, "S9": bodies["T9"]}
    assert swapped_recording(found, standing, walk, places, same) == "either"
