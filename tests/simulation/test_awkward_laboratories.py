"""Recordings as less careful laboratories make them: what is missing is said, what can be known comes out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulator import SimulatedTrial, simulate_trial, write_c3d
from simulator.c3d_writer import C3dContent
from simulator.c3d_writer import write_c3d as write_content
from simulator.files import analog_channels, trial_parameters
from simulator.person import dressed
from simulator.recovery import compare
from support.real import slow_but

from biodyn.analysis import TrialAnalysis
from biodyn.errors import MarkerSetError, StaticTrialError
from biodyn.io import read
from biodyn.trial.inspection import check_file, write_check_page
from biodyn.trial.run import analyse_trial

QUICK = {"uncertainty": {"compute": False}}


def without(trial: SimulatedTrial, *labels: str) -> SimulatedTrial:
    """The trial with some markers never worn."""
    kept = [i for i, label in enumerate(trial.labels) if label not in labels]
    return replace(trial, labels=tuple(trial.labels[i] for i in kept), markers=trial.markers[:, kept])


def in_an_empty_volume(trial: SimulatedTrial, before: int, after: int) -> SimulatedTrial:
    """The trial as a part of a long recording: frames before and after it in which nobody is there."""
    ratio = round(trial.options.analog_rate_hz / trial.options.rate_hz)
    count = before + len(trial.time_s) + after

    def empty(values: np.ndarray, fill: float, times: int = 1) -> np.ndarray:
        pads = [np.full((times * frames, *values.shape[1:]), fill) for frames in (before, after)]
        return np.concatenate([pads[0], values, pads[1]])

    return replace(
        trial,
        time_s=np.arange(count) / trial.options.rate_hz,
        markers=empty(trial.markers, np.nan),
        components=tuple(empty(values, 0.0, ratio) for values in trial.components),
        events=(),
    )


def twice(trial: SimulatedTrial, between: int) -> SimulatedTrial:
    """Two passes in one recording, with frames between them in which nobody is there."""
    first, second = (
        in_an_empty_volume(trial, 0, between + len(trial.time_s)),
        in_an_empty_volume(trial, between + len(trial.time_s), 0),
    )
    return replace(
        first,
        markers=np.where(np.isfinite(first.markers), first.markers, second.markers),
        components=tuple(a + b for a, b in zip(first.components, second.components, strict=True)),
    )


def cut(trial: SimulatedTrial, first: int, stop: int) -> SimulatedTrial:
    """The trial with the frames [first, stop) only."""
    ratio = round(trial.options.analog_rate_hz / trial.options.rate_hz)
    return replace(
        trial,
        time_s=trial.time_s[: stop - first],
        markers=trial.markers[first:stop],
        components=tuple(values[ratio * first : ratio * stop] for values in trial.components),
        events=(),
    )


def leg_torques(analysis: TrialAnalysis) -> np.ndarray:
    """(T, 6) Nm/kg of the legs' flexions, NaN where not valid."""
    wanted = ("hip_flexion", "knee_angle", "ankle_angle")
    columns = [n for n, coordinate in enumerate(analysis.model.coordinates) if coordinate.name.startswith(wanted)]
    dynamics = analysis.dynamics
    torques = np.where(dynamics.torque_valid, dynamics.torques, np.nan)[:, columns]
    return torques / analysis.subject.mass_kg


def without_measures(path: Path, trial: SimulatedTrial) -> None:
    """Write the trial as a laboratory does that stores neither mass, height nor any width."""
    channels, labels, units = analog_channels(trial)
    parameters = {
        group: entries for group, entries in trial_parameters(trial, True, "").items() if group != "PROCESSING"
    }
    positions = 1e3 * trial.markers @ trial.options.R_LW.T
    write_content(
        path,
        C3dContent(
            list(trial.labels),
            positions,
            trial.options.rate_hz,
            analog=channels,
            analog_labels=labels,
            analog_units=units,
            parameters=parameters,
        ),
    )


def test_neither_mass_height_nor_widths_are_needed(standing, walking, tmp_path):
    without_measures(tmp_path / "static.c3d", standing)
    without_measures(tmp_path / "walk.c3d", walking)
    analysis = analyse_trial(
        tmp_path / "walk.c3d", tmp_path / "static.c3d", settings={**QUICK, "signals": {"cutoff_hz": 0.0}}
    )
    person = walking.body.person
    # The truth is a template scaled by height, whose legs are within a few cm of the 0.491 of height that Winter gives.
    assert analysis.model.height_m == pytest.approx(person.height_m, abs=0.03)
    assert analysis.subject.mass_kg == pytest.approx(person.mass_kg, rel=1e-3)  # float32 forces
    codes = [note.code for note in analysis.diagnostics]
    assert "height-estimated" in codes
    # Widths said to be taken from height are taken from the height that is said.
    knee = next(note for note in analysis.diagnostics if note.message.startswith("The right and left knee width "))
    assert knee.value == pytest.approx(0.062 * analysis.model.height_m, rel=1e-6)
    # Widths 2 to 3 mm off move the knee and ankle axes by a millimetre or two: 800 N x 2 mm / 70 kg = 0.02 Nm/kg.
    for joint in ("hip", "knee", "ankle"):
        assert compare(analysis, walking).sagittal_rms_nm_kg(joint) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("stored", [False, True], ids=["none stored", "wrong ones stored"])
def test_measures_that_are_given_stand_for_those_of_the_file(standing, walking, tmp_path, stored):
    person, measures = walking.body.person, walking.body.measures
    for name, trial in (("static", standing), ("walk", walking)):
        write_c3d(tmp_path / f"sound_{name}.c3d", trial)
        if stored:
            wrong = {key: 1.15 * value for key, value in measures.items()}
            write_c3d(tmp_path / f"{name}.c3d", replace(trial, body=replace(trial.body, measures=wrong)))
        else:
            without_measures(tmp_path / f"{name}.c3d", trial)
    by_hand = {
        f"{name}_mm": {side: 1e3 * measures[f"{name}_{side}"] for side in ("r", "l")}
        for name in sorted({key.rpartition("_")[0] for key in measures})
    }
    sound, found = (
        analyse_trial(
            tmp_path / f"{prefix}walk.c3d",
            tmp_path / f"{prefix}static.c3d",
            mass_kg=person.mass_kg,
            height_m=person.height_m,
            settings={**QUICK, "model": {"hip_centre": "davis_1991"}, "subject": {**given, "sex": person.sex}},
        )
        for prefix, given in (("sound_", {}), ("", by_hand))
    )
    # Equal numbers by another way: measures of 4-byte floats in the sound file.
    assert np.nanmax(np.abs(found.dynamics.torques - sound.dynamics.torques)) < 1e-3
    assert found.subject.leg_length_source == "given by the user"
    assert found.subject.leg_length_m == pytest.approx(sound.subject.leg_length_m)
    notes = {note.code: note for note in found.diagnostics}
    assert not [note for note in found.diagnostics if note.code == "assumed-measure" and note.severity == "warning"]
    knee = 1e3 * measures["knee_width_r"]
    told = f"knee_width_r {knee:.0f} mm" + (f" (the file: {1.15 * knee:.0f} mm)" if stored else "")
    assert told in notes["measure-given"].message


@pytest.mark.slow
def test_a_given_width_that_nobody_of_this_height_has_is_doubted(standing, walking, tmp_path):
    """Half of the width, for the whole; and a measure that the markers make needless is said to be so."""
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", walking)
    given = {"knee_width_mm": 1e3 * walking.body.measures["knee_width_r"] / 2, "asis_trochanter_distance_mm": 60}
    found = analyse_trial(
        tmp_path / "walk.c3d", tmp_path / "static.c3d", settings={**QUICK, "subject": {**given, "elbow_width_mm": 75}}
    )
    (doubt, _) = [note for note in found.diagnostics if note.code == "measure-doubtful"]
    assert doubt.severity == "warning"
    assert doubt.message.startswith("knee_width_r of ")


def with_stored(path: Path, trial: SimulatedTrial, **person: float) -> None:
    """Write the trial with other numbers for the person."""
    channels, labels, units = analog_channels(trial)
    parameters = {group: dict(entries) for group, entries in trial_parameters(trial, True, "").items()}
    parameters["PROCESSING"].update(person)
    positions = 1e3 * trial.markers @ trial.options.R_LW.T
    rates = {"analog": channels, "analog_labels": labels, "analog_units": units, "parameters": parameters}
    write_content(path, C3dContent(list(trial.labels), positions, trial.options.rate_hz, **rates))


def test_a_stored_mass_in_pounds_is_taken_as_pounds_where_the_static_trial_stands_on_plates(
    standing, walking, tmp_path
):
    true_kg = walking.body.person.mass_kg
    for name, trial in (("static", standing), ("walk", walking)):
        with_stored(tmp_path / f"{name}.c3d", trial, Bodymass=true_kg / 0.45359237)
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert analysis.subject.mass_kg == pytest.approx(true_kg, rel=1e-6)  # float32 in the file
    assert analysis.subject.mass_source == "stored in walk.c3d, in pounds"
    assert analysis.verdict is not None
    assert [cause.code for cause in analysis.verdict.causes] == ["unit-corrected"]
    # Every sentence with a body mass tells the one that is used; the file's number stands in the warning alone.
    sentences = [note.message for note in analysis.diagnostics] + [check.text for check in analysis.verdict.checks]
    assert [text for text in sentences if "154" in text] == [analysis.verdict.causes[0].text]
    for joint in ("hip", "knee", "ankle"):
        assert compare(analysis, walking).sagittal_rms_nm_kg(joint) < 0.03


@pytest.mark.slow
@pytest.mark.parametrize("stored_in_inches", [True, False])
def test_a_height_that_is_not_of_these_legs_is_doubted(standing, walking, tmp_path, stored_in_inches):
    """Inches of the file are read as cm; 1.08 is given for 1.80. Widths, unusual of such a height, are not blamed."""
    true_m = walking.body.person.height_m
    for name, trial in (("static", standing), ("walk", walking)):
        with_stored(tmp_path / f"{name}.c3d", trial, Height=true_m / 0.0254 if stored_in_inches else 1e3 * true_m)
    found = analyse_trial(
        tmp_path / "walk.c3d",
        tmp_path / "static.c3d",
        height_m=None if stored_in_inches else 0.6 * true_m,
        settings=QUICK,
    )
    (doubt,) = [note for note in found.diagnostics if note.code == "measure-doubtful"]
    assert doubt.code == "measure-doubtful"
    assert doubt.limit == pytest.approx(true_m, rel=0.1)  # people's legs differ
    assert (f"inches are {true_m:.2f} m" in doubt.message) == stored_in_inches
    assert found.verdict is not None
    assert found.verdict.status == "warn"


@pytest.mark.slow
def test_a_stored_width_that_nobody_of_this_height_has_is_doubted(standing, walking, tmp_path):
    """Inches of the file are read as cm."""
    knee = walking.body.measures["knee_width_r"] / 0.0254
    for name, trial in (("static", standing), ("walk", walking)):
        with_stored(tmp_path / f"{name}.c3d", trial, RKneeWidth=knee)
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    (doubt,) = [note for note in found.diagnostics if note.code == "measure-doubtful"]
    assert doubt.message.startswith(f"knee_width_r of {10 * knee:.0f} mm is in the file")


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.5])
def test_a_stored_mass_that_is_wrong_otherwise_is_used_and_named(standing, walking, tmp_path, factor):
    wrong_kg = factor * walking.body.person.mass_kg
    for name, trial in (("static", standing), ("walk", walking)):
        with_stored(tmp_path / f"{name}.c3d", trial, Bodymass=wrong_kg)
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert analysis.subject.mass_kg == wrong_kg
    notes = {note.code: note for note in analysis.diagnostics}
    assert "unit-corrected" not in notes
    assert f"mass used: {wrong_kg:.1f} kg" in notes["mass-mismatch"].message
    # what an estimate found is drawn towards the stated mass, and no body mass to be told
    assert f"kg less than the {wrong_kg:.0f} kg that are used" in notes["estimate-not-made"].message


@pytest.mark.slow
def test_a_mass_in_pounds_that_the_user_gives_stays_and_is_named(standing, walking, tmp_path):
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", walking)
    pounds = walking.body.person.mass_kg / 0.45359237
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", mass_kg=pounds, settings=QUICK)
    assert analysis.subject.mass_kg == pounds
    (note,) = [note for note in analysis.diagnostics if note.code == "mass-mismatch"]
    assert "in pounds: 154.3 lb are 70.0 kg" in note.hint


@pytest.mark.slow
def test_a_marker_that_only_the_static_trial_has_is_named(standing, walking, tmp_path):
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", without(walking, "LKNE"))
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    note = next(note for note in analysis.diagnostics if note.code == "marker-not-in-walk")
    assert note.severity == "warning"
    assert "LKNE" in note.message
    assert "LANK" not in note.message


@pytest.mark.slow
def test_markers_of_the_static_trial_alone_raise_nothing(standing, walking, tmp_path):
    """A knee device and medial markers are taken off before the walk: nobody is to be warned of that."""
    column = standing.labels.index("LKNE")
    extra = ("LKD1", "RKD1", "LMED", "RMED")
    shifts = 0.01 * np.arange(1, len(extra) + 1)[None, :, None]
    markers = np.concatenate([standing.markers, standing.markers[:, [column] * len(extra)] + shifts], axis=1)
    write_c3d(tmp_path / "static.c3d", replace(standing, markers=markers, labels=(*standing.labels, *extra)))
    write_c3d(tmp_path / "walk.c3d", walking)
    analysis = analyse_trial(
        tmp_path / "walk.c3d", tmp_path / "static.c3d", settings={"uncertainty": {"compute": False}}
    )
    assert [note for note in analysis.diagnostics if note.code == "marker-not-in-walk"] == []


def test_one_plate_leaves_a_leg_without_moments_and_does_not_pass(tmp_path, walking):
    """One plate under the right foot: the left leg was never measured, and the person is told which and why."""
    person = walking.body.person
    options = replace(walking.options, plate_types=(2,))
    for kind in ("static", "walk"):
        write_c3d(tmp_path / f"{kind}.c3d", simulate_trial(person, options, kind))
    analysis = analyse_trial(
        tmp_path / "walk.c3d",
        tmp_path / "static.c3d",
        mass_kg=person.mass_kg,
        settings={"uncertainty": {"compute": False}},
    )
    assert analysis.verdict is not None
    assert analysis.verdict.status == "warn"
    assert [cause.code for cause in analysis.verdict.causes] == ["coverage-left"]
    assert "left leg" in analysis.verdict.causes[0].text
    assert {check.code: check.status for check in analysis.verdict.checks}["coverage-right"] == "pass"


@pytest.mark.slow
def test_a_pelvis_marker_that_only_the_walk_has_is_carried_over_by_the_others(standing, walking, tmp_path):
    label = "LASI"
    write_c3d(tmp_path / "static.c3d", without(standing, label))
    write_c3d(tmp_path / "walk.c3d", walking)
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    (note,) = [note for note in analysis.diagnostics if note.code == "marker-carried-over"]
    assert note.message.startswith(f"{label} is not in the static trial")
    assert analysis.verdict is not None
    assert [cause.code for cause in analysis.verdict.causes] == ["marker-carried-over"]
    # Markers on bone: a rigid pelvis, exact to the float32 of the file and what gap filling and smoothing leave.
    assert note.value < 1e-3
    assert (
        np.abs(analysis.static.points[label] - standing.markers[:, standing.labels.index(label)].mean(axis=0)).max()
        < 1e-3
    )
    # filtered and fitted, as with all markers
    for joint in ("hip", "knee", "ankle"):
        assert compare(analysis, walking).sagittal_rms_nm_kg(joint) < 0.03


@pytest.mark.slow
def test_a_pelvis_marker_whose_place_the_walk_contradicts_is_not_carried_over(standing, walking, tmp_path):
    """Another marker of the pelvis was moved by 6 cm between the recordings: nobody knows where the missing one was."""
    moved = walking.markers.copy()
    moved[:, walking.labels.index("RPSI"), 2] += 0.06
    write_c3d(tmp_path / "static.c3d", without(standing, "LASI"))
    write_c3d(tmp_path / "walk.c3d", replace(walking, markers=moved))
    with pytest.raises(StaticTrialError, match=r"lacks asis_l\."):
        analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)


def test_a_pelvis_marker_that_nothing_carries_over_is_named(standing, walking, tmp_path):
    """One ASIS in the static trial, the other one in the walk: they share two markers, about which a pelvis turns."""
    write_c3d(tmp_path / "static.c3d", without(standing, "LASI"))
    write_c3d(tmp_path / "walk.c3d", without(walking, "RASI"))
    with pytest.raises(
        StaticTrialError, match=r"lacks asis_l\. Use a static trial .* or a walk in which they are visible"
    ):
        analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)


@pytest.mark.parametrize(
    ("label", "in_walk"), slow_but([("LKNE", False), ("LANK", False), ("RTOE", True)], quick=[("LKNE", False)])
)
def test_a_session_without_a_marker_of_one_leg_leaves_the_other_leg(standing, walking, tmp_path, label, in_walk):
    """Whichever side it is: the other leg is analysed, this one is named, and no other marker takes the missing one's name."""
    write_c3d(tmp_path / "static.c3d", without(standing, label))
    write_c3d(tmp_path / "walk.c3d", walking if in_walk else without(walking, label))
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert "markers-named" not in [note.code for note in analysis.diagnostics]
    (note,) = [note for note in analysis.diagnostics if note.code == "leg-not-seen"]
    assert ("left" if label.startswith("L") else "right") in note.message
    recovery = compare(analysis, walking)
    legs = [row for row in recovery.coordinates if row.sagittal and row.joint in ("hip", "knee", "ankle")]
    assert {row.side for row in legs} == ({"r"} if label.startswith("L") else {"l"})
    # filtered and fitted, as with all markers
    assert max(row.rms_nm for row in legs) < 0.03 * recovery.mass_kg


@pytest.mark.slow
def test_one_psis_is_enough_and_the_missing_one_is_named(standing, walking, tmp_path):
    """A pelvis is symmetric: one PSIS tells the middle of both. The torques are those of all markers."""
    write_c3d(tmp_path / "static.c3d", without(standing, "RPSI"))
    write_c3d(tmp_path / "walk.c3d", without(walking, "RPSI"))
    analysis = analyse_trial(
        tmp_path / "walk.c3d", tmp_path / "static.c3d", settings={**QUICK, "signals": {"cutoff_hz": 0.0}}
    )
    (note,) = [note for note in analysis.diagnostics if note.code == "assumed-measure" and note.about]
    assert (
        note.message
        == "No marker for psis_mid: it was estimated from the left PSIS, projected to the mid-plane of both ASIS."
    )
    # The simulated pelvis is symmetric to a millimetre of the template: 800 N x 1 mm / 70 kg = 0.01 Nm/kg.
    for joint in ("hip", "knee", "ankle"):
        assert compare(analysis, walking).sagittal_rms_nm_kg(joint) < 0.01


def exchanged(trial: SimulatedTrial, one: str, other: str, rows: slice | np.ndarray) -> SimulatedTrial:
    """The trial with two labels on each other's marker in some frames."""
    pair = [trial.labels.index(one), trial.labels.index(other)]
    markers = trial.markers.copy()
    markers[rows, pair[0]], markers[rows, pair[1]] = trial.markers[rows, pair[1]], trial.markers[rows, pair[0]]
    return replace(trial, markers=markers)


FEW, MOST = np.arange(100, 115), np.delete(np.arange(290), np.arange(100, 115))


@pytest.mark.parametrize(
    ("pair", "rows"),
    [
        pytest.param(("LKNE", "LTIB"), FEW, id="thigh, few"),
        pytest.param(("LKNE", "LTIB"), slice(None), id="thigh, all", marks=pytest.mark.slow),
        pytest.param(("RTOE", "LTOE"), MOST, id="feet, most", marks=pytest.mark.slow),
        pytest.param(("RTOE", "LTOE"), FEW, id="feet, few", marks=pytest.mark.slow),
        pytest.param(("LPSI", "RPSI"), slice(None), id="pelvis, all", marks=pytest.mark.slow),
        pytest.param(("LBHD", "RBHD"), MOST, id="head, most", marks=pytest.mark.slow),
    ],
)
def test_two_labels_exchanged_in_a_walk_are_exchanged_back(standing, walking, tmp_path, pair, rows):
    """Feet that pass each other look right either way, and a pelvis or a head is its own mirror image: the shape of the person in
    most frames decides, and which trajectories jump."""
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", exchanged(walking, *pair, rows))
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    notes = [note for note in analysis.diagnostics if note.code == "markers-exchanged"]
    assert notes
    assert all(note.severity == "warning" and all(label in note.message for label in pair) for note in notes)
    assert {note.code for note in analysis.diagnostics if note.severity != "info"} == {"markers-exchanged"}
    for label in pair:
        back = analysis.recording.markers.positions[:, analysis.recording.markers.index(label)]
        # to float32 of the file
        assert np.abs(back - walking.markers[:, walking.labels.index(label)]).max() < 1e-5


@pytest.fixture(scope="module")
def clusters(walking) -> tuple[SimulatedTrial, SimulatedTrial]:
    """Static trial and walk of the same person with clusters on thighs and shanks, whose markers mark no place of the body."""
    walk = replace(walking.walk, body=dressed(walking.body, "cast"))
    person = walking.body.person
    return simulate_trial(person, walking.options, "static", walk), simulate_trial(
        person, walking.options, "walk", walk
    )


@pytest.fixture(scope="module")
def torques_of_clusters(clusters, tmp_path_factory) -> np.ndarray:
    folder = tmp_path_factory.mktemp("clusters")
    for name, trial in zip(("static", "walk"), clusters, strict=True):
        write_c3d(folder / f"{name}.c3d", trial)
    return leg_torques(analyse_trial(folder / "walk.c3d", folder / "static.c3d", settings=QUICK))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "pair"), [("static", ("RT2", "RS2")), ("walk", ("RT2", "LT2")), ("walk", ("RT2", "RT3"))]
)
def test_labels_of_clusters_are_put_right_in_the_recording_that_has_them_wrong(
    clusters, torques_of_clusters, tmp_path, pair, which
):
    """By the segment that each belongs to; on one segment it does not matter, and no recording is called wrong."""
    for name, trial in zip(("static", "walk"), clusters, strict=True):
        spoilt = exchanged(trial, *pair, slice(None)) if name == which else trial
        write_c3d(tmp_path / f"{name}.c3d", spoilt)
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert [note.code for note in found.diagnostics if note.severity != "info"] == ["markers-exchanged"]
    (note,) = [note for note in found.diagnostics if note.code == "markers-exchanged"]
    assert all(label in note.message for label in pair)
    where = {"static": "in the static trial", "walk": "in the whole walk"}[which]
    same = pair == ("RT2", "RT3")
    assert ("between the static trial and the walk" if same else where) in note.message
    # the same numbers under the same labels; on one segment a marker may have the other one's weight
    assert np.nanmax(np.abs(leg_torques(found) - torques_of_clusters)) < 1e-6


def test_a_leg_that_may_be_labelled_otherwise_is_not_left_out(standing, walking, tmp_path):
    """A label that nobody understands could be the missing marker: the laboratory is asked."""

    def renamed(trial: SimulatedTrial) -> SimulatedTrial:
        return replace(trial, labels=tuple("Zork" if label == "LTOE" else label for label in trial.labels))

    write_c3d(tmp_path / "static.c3d", renamed(standing))
    write_c3d(tmp_path / "walk.c3d", renamed(walking))
    with pytest.raises(MarkerSetError, match="also needs LTOE"):
        analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings={**QUICK, "model": {"geometry": False}})


@pytest.mark.slow
def test_without_both_psis_and_sacrum_nothing_is_guessed(standing, walking, tmp_path):
    for name, trial in (("static", standing), ("walk", walking)):
        write_c3d(tmp_path / f"{name}.c3d", without(trial, "LPSI", "RPSI"))
    with pytest.raises(MarkerSetError, match="SACR or LPSI"):
        analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)


@pytest.mark.slow
def test_long_gaps_everywhere_never_break_the_analysis(standing, walking, tmp_path):
    """Every marker hidden for 30 % of the time in stretches of up to 0.4 s, also longer than any filling."""
    rng = np.random.default_rng(5)
    markers = walking.markers.copy()
    frames = len(markers)
    for marker in range(markers.shape[1]):
        while np.isnan(markers[:, marker, 0]).mean() < 0.3:
            length = int(rng.integers(3, 40))
            first = int(rng.integers(0, frames - length))
            markers[first : first + length, marker] = np.nan
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", replace(walking, markers=markers))
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert analysis.fit.solved.any()
    assert np.isnan(analysis.dynamics.torques[~analysis.dynamics.torque_valid]).all()


def gaps_of(trial: SimulatedTrial, frames: int) -> tuple[SimulatedTrial, list[slice]]:
    """The trial with a gap of every marker, somewhere, and where it is."""
    rng = np.random.default_rng(2)
    markers, gaps = trial.markers.copy(), []
    for marker in range(markers.shape[1]):
        first = int(rng.integers(2, len(markers) - frames - 2))
        gaps.append(slice(first, first + frames))
        markers[gaps[-1], marker] = np.nan
    return replace(trial, markers=markers), gaps


@pytest.mark.parametrize("mark", [-9999.0, 9999.99, -999.0])
def test_a_number_that_stands_for_not_seen_is_no_place(standing, walking, tmp_path, mark):
    empty, _ = gaps_of(walking, 8)
    in_axes_of_file = np.full(3, 1e-3 * mark) @ walking.options.R_LW
    marked = replace(empty, markers=np.where(np.isnan(empty.markers), in_axes_of_file, empty.markers))
    write_c3d(tmp_path / "static.c3d", standing)
    for name, trial in (("empty", empty), ("marked", marked)):
        write_c3d(tmp_path / f"{name}.c3d", trial)
    with_nothing, with_marks = (read(tmp_path / f"{name}.c3d").markers for name in ("empty", "marked"))
    np.testing.assert_array_equal(with_marks.positions, with_nothing.positions)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["walk", "static"])
def test_ghost_markers_for_a_frame_do_not_spoil_the_model(standing, walking, tmp_path, which):
    """Forty of them, 0.3 m off: the filter spread them before the model was fitted, and an ankle lay 2 cm beside its place."""
    rng = np.random.default_rng(1)
    trials = {"static": standing, "walk": walking}
    markers = trials[which].markers.copy()
    for _ in range(40):
        markers[rng.integers(2, len(markers) - 2), rng.integers(0, markers.shape[1])] += rng.normal(0.0, 0.3, 3)
    trials[which] = replace(trials[which], markers=markers)
    for name, trial in trials.items():
        write_c3d(tmp_path / f"{name}.c3d", trial)
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert ("marker-spike" in {note.code for note in found.diagnostics}) == (which == "walk")
    for joint in ("hip", "knee", "ankle"):
        assert compare(found, walking).sagittal_rms_nm_kg(joint) < 0.03  # filtered and fitted, as without them


@pytest.mark.slow
def test_frames_that_the_cameras_missed_are_not_seen(standing, walking, tmp_path):
    """Software repeats the frame before: stretches of one to four frames, a tenth of all."""
    rng = np.random.default_rng(4)
    markers = walking.markers.copy()
    for first in range(12, len(markers) - 12, 20):
        markers[first : first + int(rng.integers(1, 5))] = markers[first - 1]
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", replace(walking, markers=markers))
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    (note,) = [note for note in found.diagnostics if note.code == "recording-repaired"]
    assert "the cameras dropped them" in note.message
    assert {note.code for note in found.diagnostics if note.severity != "info"} == {"recording-repaired"}
    for joint in ("hip", "knee", "ankle"):
        assert compare(found, walking).sagittal_rms_nm_kg(joint) < 0.03  # as with all frames


@pytest.mark.slow
def test_a_rate_that_is_not_the_cameras_is_told(standing, walking, tmp_path):
    """Cameras at 55 Hz, stored at 100: two or one frames to each of theirs, so that none is known to be of its time."""
    markers = walking.markers[np.round(np.floor(np.arange(len(walking.markers)) * 0.55) / 0.55).astype(int)]
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", replace(walking, markers=markers))
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    (note,) = [note for note in found.diagnostics if note.code == "recording-repaired"]
    assert "about 54.9" in note.message
    assert note.severity == "warning"


@pytest.mark.slow
def test_a_static_trial_of_one_pose_repeated_is_one(standing, walking, tmp_path):
    write_c3d(tmp_path / "static.c3d", replace(standing, markers=np.repeat(standing.markers[:1], 150, axis=0)))
    write_c3d(tmp_path / "walk.c3d", walking)
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert {note.code for note in found.diagnostics if note.severity != "info"} == set()


@pytest.mark.slow
def test_a_leg_without_a_marker_on_its_shank_and_thigh_has_no_torques(standing, walking, tmp_path):
    """Rigid thigh and shank would give every joint of the leg a wrong torque."""
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", without(walking, "LTHI", "LKNE", "LTIB"))
    found = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    (note,) = [note for note in found.diagnostics if note.code == "leg-not-seen"]
    assert "left shank" in note.message
    for side, known in (("r", True), ("l", False)):
        leg = [
            i for i, c in enumerate(found.model.coordinates) if c.side == side and c.joint.startswith(("hip", "ankle"))
        ]
        assert found.dynamics.torque_valid[:, leg].any() == known


@pytest.mark.slow
def test_a_person_in_a_fifth_of_a_long_recording_is_analysed_as_alone(standing, walking, tmp_path):
    """The cameras ran before the person came and after he or she left: empty frames say nothing about a marker."""
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", replace(walking, events=()))
    write_c3d(tmp_path / "long.c3d", in_an_empty_volume(walking, 500, 700))
    alone, found = (
        analyse_trial(tmp_path / f"{name}.c3d", tmp_path / "static.c3d", settings=QUICK) for name in ("walk", "long")
    )
    assert found.verdict is not None
    assert found.verdict.status == "pass"
    torques, rest = leg_torques(found)[500:-700], np.r_[leg_torques(found)[:500], leg_torques(found)[-700:]]
    assert np.isnan(rest).all()
    # Alone, the plates end with the markers; here they are filtered on, which moves the first and last valid frames a little.
    apart = torques - leg_torques(alone)
    assert np.isfinite(apart).any(axis=0).all()
    assert np.nanmax(np.abs(apart)) < 0.01
    assert np.sqrt(np.nanmean(apart**2)) < 1e-3


@pytest.mark.slow
def test_a_marker_seen_in_a_third_of_the_persons_time_is_named_and_no_other(standing, walking, tmp_path):
    """Not a third of the recording: nobody is there for most of it."""
    markers = walking.markers.copy()
    markers[len(markers) // 3 :, walking.labels.index("LTHI")] = np.nan
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", in_an_empty_volume(replace(walking, markers=markers), 500, 700))
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    (note,) = [note for note in analysis.diagnostics if note.code == "marker-not-in-walk"]
    assert note.message.startswith("LTHI of the left thigh ")


def test_check_counts_the_frames_in_which_the_person_is_there(walking, tmp_path):
    """As the run does: an empty volume before and after hides nothing; a marker hidden in two thirds of the person's time is."""
    markers = walking.markers.copy()
    markers[len(markers) // 3 :, walking.labels.index("LTHI")] = np.nan
    write_c3d(tmp_path / "long.c3d", in_an_empty_volume(walking, 500, 700))
    write_c3d(tmp_path / "hidden.c3d", in_an_empty_volume(replace(walking, markers=markers), 500, 700))
    codes = {note.code for note in check_file(tmp_path / "long.c3d").diagnostics}
    assert "marker-gap" not in codes
    (note,) = [note for note in check_file(tmp_path / "hidden.c3d").diagnostics if note.code == "marker-gap"]
    assert note.message == "Visible in less than 90 % of the frames with the person present: LTHI 33 %."
    _, page = write_check_page(tmp_path / "hidden.c3d", tmp_path)
    row = next(line for line in page.read_text(encoding="utf-8").splitlines() if ">LTHI<" in line)
    assert '<td class="number">33</td>' in row


@pytest.mark.slow
@pytest.mark.parametrize(("first", "stop"), [(0, 215), (100, 297)])
def test_a_recording_cut_within_a_contact_moves_no_plate(standing, walking, tmp_path, first, stop):
    """The cut step's pressure does not run from the heel to the toes: that says nothing about the plate."""
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", cut(walking, first, stop))
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert analysis.verdict is not None
    assert "plate-moved" not in [cause.code for cause in analysis.verdict.causes]
    ends = {0, stop - first}
    assert any({round(100 * c.start_s), round(100 * c.end_s)} & ends for c in analysis.contacts)


@pytest.mark.slow
def test_two_passes_with_nobody_between_leave_no_gap_to_fill(standing, walking, tmp_path):
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", twice(walking, 250))
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert analysis.verdict is not None
    status = {check.code: check.status for check in analysis.verdict.checks}
    assert status["gaps"] == "pass"
    assert status["solved"] == "pass"
    # Strides of one pass or of the other, none from the first to the second.
    strides = [cycle.cycle.duration_s for cycle in analysis.cycles]
    assert len(strides) == 6
    assert max(strides) < 1.2
    assert "gait-event-missing" not in [note.code for note in analysis.diagnostics]
    found = leg_torques(analysis)
    apart = found[: len(walking.time_s)] - found[-len(walking.time_s) :]
    assert np.isfinite(apart).any(axis=0).all()
    # the same pass twice; the estimate looks at each by itself
    assert np.sqrt(np.nanmean(apart**2)) < 0.01


def there_and_back(trial: SimulatedTrial, between: int, turn_deg: float) -> SimulatedTrial:
    """Two passes in one recording, the second one turned about the vertical and beside the plates."""
    frames = len(trial.time_s)
    first, second = (
        in_an_empty_volume(trial, 0, between + frames),
        in_an_empty_volume(trial, between + frames, 0),
    )
    angle = np.radians(turn_deg)
    R = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    back = second.markers @ R.T + (1.5, 0.0, 1.2)
    return replace(first, markers=np.where(np.isfinite(first.markers), first.markers, back))


@pytest.mark.slow
@pytest.mark.parametrize(("turn_deg", "between"), [(90.0, 60), (180.0, 250)])
def test_a_walk_there_and_back_leaves_every_marker_at_its_place(standing, walking, tmp_path, turn_deg, between):
    """Who comes back faces the other way: the pose before says nothing of the next one, neither in the fit of the subject's
    model, which looks at some frames only, nor in that of the motion."""
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", there_and_back(walking, between, turn_deg))
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert "marker-off-place" not in [note.code for note in analysis.diagnostics]
    assert analysis.subject_fit is not None
    # Markers on bone: no marker is off by more than smoothing and rounding leave.
    assert analysis.subject_fit.rms_before_m < 1e-3
    assert np.sqrt(np.nanmean(analysis.fit.marker_error**2)) < 1e-3
    assert np.isfinite(analysis.fit.motion.q[-len(walking.time_s) :]).all()


@pytest.mark.slow
def test_markers_lost_over_a_loaded_plate_are_a_gap_to_fill(standing, walking, tmp_path):
    """All of them together, for longer than others could bridge: somebody is on the plate."""
    markers = walking.markers.copy()
    markers[85:145] = np.nan
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(tmp_path / "walk.c3d", replace(walking, markers=markers))
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert analysis.verdict is not None
    status = {check.code: check.status for check in analysis.verdict.checks}
    assert status["gaps"] == "warn"


@pytest.mark.slow
@pytest.mark.parametrize("dead", [slice(0, 6), slice(2, 3)])
def test_a_foot_on_a_plate_that_reads_nothing_is_not_called_beside_it(standing, walking, tmp_path, dead):
    """A plate that was not recorded, or whose vertical force is missing: the plate is named, not the foot."""
    spoilt = walking.components[1].copy()
    spoilt[:, dead] = 0.0
    write_c3d(tmp_path / "static.c3d", standing)
    write_c3d(
        tmp_path / "walk.c3d", replace(walking, components=(walking.components[0], spoilt, walking.components[2]))
    )
    analysis = analyse_trial(tmp_path / "walk.c3d", tmp_path / "static.c3d", settings=QUICK)
    assert analysis.verdict is not None
    causes = {cause.code: cause for cause in analysis.verdict.causes}
    assert "left foot on plate 2, which measured no force" in causes["coverage-left"].text
    assert "outside the plates" not in causes["coverage-left"].text
    assert "switched off" in causes["coverage-left"].hint
    assert ("plate-channel-constant" in causes) == (dead == slice(2, 3))
