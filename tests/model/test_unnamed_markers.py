"""Markers without a name, or with one that nobody knows, are named by where they are, or it is said why not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.standing_people import standing_person

from biodyn.errors import MarkerSetError
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.recognition.label_correction import places_by_label
from biodyn.model.from_library.recognition.labelling_by_position import is_conclusive, marker_slots
from biodyn.model.from_library.recognition.point_labelling import label_points
from biodyn.trial.run import analyse_trial

FAST = {"uncertainty": {"compute": False}}


@pytest.mark.slow
def test_no_unnamed_marker_gets_a_wrong_name() -> None:
    slots = marker_slots("plug_in_gait_lower")
    place = dict(zip(slots.labels, slots.places, strict=True))
    claimed = named = total = 0
    for seed in range(300, 308):
        points = standing_person("plug_in_gait_lower", np.random.default_rng(seed))
        places = places_by_label(recognise_marker_set(tuple(points)))
        own = {f"M{i:02d}": label for i, label in enumerate(points)}
        found = label_points({name: points[label] for name, label in own.items()}, [slots])
        assert found is not None
        if is_conclusive(found, len(points)):
            claimed += 1
            assert all(places[own[name]] == place[label] for name, label in found.labels.items())
            named += len(found.labels)
            total += len(points)
    assert claimed >= 6
    assert named >= 0.9 * total


def test_points_that_are_no_known_set_are_not_named() -> None:
    points = standing_person("plug_in_gait_lower", np.random.default_rng(5))
    half = {label: p for label, p in points.items() if label[0] == "R"}
    found = label_points(half, [marker_slots("plug_in_gait_lower")])
    assert found is None or not is_conclusive(found, len(half))
    cloud = {f"M{i}": p for i, p in enumerate(np.random.default_rng(6).uniform(-0.5, 1.5, size=(20, 3)))}
    found = label_points(cloud, [marker_slots("plug_in_gait_lower")])
    assert found is None or not is_conclusive(found, len(cloud))


def relabelled(trial, pattern: str, only: str = ""):
    labels = [pattern.format(i) if label == only or not only else label for i, label in enumerate(trial.labels)]
    return replace(trial, labels=tuple(labels))


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [pytest.param("M{:02d}", marks=pytest.mark.slow), "*{}"])
def test_a_trial_without_names_gives_the_torques_of_the_named_one(laboratory, walk_result, tmp_path, pattern) -> None:
    trials = {file: relabelled(trial, pattern) for file, trial in laboratory.trials.items()}
    spoilt = laboratory.copy(tmp_path, **trials)
    analysis = analyse_trial(spoilt.walk, spoilt.static, settings=FAST)
    (note,) = [note for note in analysis.diagnostics if note.code == "markers-named"]
    assert "RKNE" in note.message
    sound = walk_result.analysis.dynamics.tau
    legs = [
        i for i, c in enumerate(walk_result.analysis.model.coordinates) if c.name.startswith(("hip", "knee", "ankle"))
    ]
    columns = [walk_result.analysis.model.coordinates[i].v_index for i in legs]
    np.testing.assert_allclose(
        analysis.dynamics.tau[:, columns], sound[:, columns], atol=0.05 * np.nanmax(np.abs(sound[:, 6:]))
    )


def test_one_unknown_label_is_named_from_the_others(laboratory, tmp_path) -> None:
    trials = {file: relabelled(trial, "Q{}", only="RANK") for file, trial in laboratory.trials.items()}
    spoilt = laboratory.copy(tmp_path, **trials)
    analysis = analyse_trial(spoilt.walk, spoilt.static, settings=FAST)
    (note,) = [note for note in analysis.diagnostics if note.code == "markers-named"]
    assert "is RANK" in note.message
    with pytest.raises(MarkerSetError, match="also needs RANK"):
        analyse_trial(spoilt.walk, spoilt.static, settings=FAST | {"model": {"geometry": False}})
