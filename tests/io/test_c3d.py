"""What a sound C3D file says arrives complete, in SI, with markers told from everything else."""

from __future__ import annotations

import struct
from pathlib import Path

import ezc3d
import numpy as np
import pytest
from support.several import read_many
from support.stick_person import LABELS, PERSON_MM, RATE_HZ, person_mm, plate_parameters

from biodyn.io.formats.c3d import file_facts, read_c3d

# C3D stores positions as 4-byte floats: 24 bits on 1000 mm are 0.06 micrometres
FLOAT32_M = 1e-6


def test_positions_rate_and_labels_in_si(write_c3d):
    points = person_mm(speed_mm_s=1200.0)
    recording = read_c3d(write_c3d(points_mm=points))
    assert recording.markers.labels == tuple(LABELS)
    assert recording.markers.rate_hz == RATE_HZ
    np.testing.assert_allclose(recording.markers.positions, points / 1000, atol=FLOAT32_M)
    assert len(recording.sha256) == 64


def test_several_files_keep_their_order(write_c3d):
    paths = [write_c3d(f"{i}.c3d", points_mm=person_mm(10 + i)) for i in range(9)]
    counts = [r.markers.frame_count for r in read_many(paths)]  # type: ignore[union-attr]
    assert counts == [10 + i for i in range(9)]


def test_unseen_points_are_nan_whether_by_residual_or_by_zeros(write_c3d):
    points = person_mm(20)
    points[3, 2] = 0.0
    unseen = np.zeros((20, 16), dtype=bool)
    unseen[5:8, 4] = True
    positions = read_c3d(write_c3d(points_mm=points, unseen=unseen)).markers.positions
    missing = np.isnan(positions).any(axis=2)
    expected = unseen.copy()
    expected[3, 2] = True
    np.testing.assert_array_equal(missing, expected)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([f"Anna:{label}" for label in LABELS], LABELS),
        ([f"Anna_{label}" for label in LABELS], LABELS),
        ([f"R_{label}" for label in LABELS], [f"R_{label}" for label in LABELS]),  # a side is no subject
        ([f" {label} " for label in LABELS], LABELS),
        ([f"p{label}" for label in LABELS], LABELS),  # as Xsens writes its points
        (
            [f"{part}:{label}" for part, label in zip(["pelvis", "r_leg", "l_leg", "foot"] * 4, LABELS, strict=True)],
            LABELS,
        ),
    ],
)
def test_subject_prefix(write_c3d, labels, expected):
    assert read_c3d(write_c3d(labels=labels)).markers.labels == tuple(expected)


def test_a_prefix_that_nearly_all_labels_have(write_c3d):
    """Points without a name, what software computed and a stranger stand beside the markers without it."""
    labels = [f"P1_{label}" for label in LABELS[:12]] + ["*12", "CentreOfMass", "LHipAngles", "Wand"]
    labels[13:15] = ["LHipAngles", "RHipAngles"]
    found = read_c3d(write_c3d(labels=labels)).markers.labels
    assert found == (*LABELS[:12], "Wand")


def test_of_two_people_the_best_seen_is_taken_and_said(write_c3d):
    points = np.concatenate([person_mm(30), person_mm(30) + 500.0], axis=1)
    unseen = np.zeros((30, 32), dtype=bool)
    unseen[10:, :16] = True
    labels = [f"Anna:{label}" for label in LABELS] + [f"Bob:{label}" for label in LABELS]
    recording = read_c3d(write_c3d(points_mm=points, labels=labels, unseen=unseen))
    assert recording.markers.labels == tuple(LABELS)
    np.testing.assert_allclose(recording.markers.positions[0], PERSON_MM / 1000 + 0.5, atol=FLOAT32_M)
    assert "several-subjects" in {d.code for d in recording.diagnostics}


def test_unnamed_points_are_dropped_but_c7_written_c_7_is_kept(write_c3d):
    extra = ["*12", "U_3", "unlabeled 4", "", "C_7"]
    points = np.concatenate([person_mm(5), person_mm(5)[:, :5] + 40.0], axis=1)
    recording = read_c3d(write_c3d(points_mm=points, labels=[*LABELS, *extra]))
    assert set(recording.markers.labels) - set(LABELS) == {"U_3", "C_7"}  # one alone may be a name
    many = ["C_1", "C_2", "C_3", "C_4", "U_3"]
    recording = read_c3d(write_c3d(points_mm=points, labels=[*LABELS, *many]))
    assert recording.markers.labels == (*LABELS, "U_3")
    assert "points-dropped" in {d.code for d in recording.diagnostics}


def test_outputs_by_group_and_by_description_are_no_markers(write_c3d):
    labels = [*LABELS[:-2], "X1", "X2"]
    descriptions = [""] * (len(labels) - 2) + ["Right hip joint centre (SCoRE)", "a marker"]
    groups = {"POINT:TYPE_GROUPS": ["FUNCTIONAL", "POINTS"], "POINT:FUNCTIONAL": [LABELS[0]]}
    recording = read_c3d(write_c3d(labels=labels, parameters={"POINT:DESCRIPTIONS": descriptions, **groups}))
    assert set(labels) - set(recording.markers.labels) == {"X1", LABELS[0]}
    (note,) = [d for d in recording.diagnostics if d.code == "computed-points"]
    assert "X1" in note.message


def test_of_two_points_with_one_label_the_better_seen_stays(write_c3d):
    points = np.concatenate([person_mm(20), person_mm(20)[:, :1] + 300.0], axis=1)
    unseen = np.zeros((20, 17), dtype=bool)
    unseen[:15, 0] = True
    recording = read_c3d(write_c3d(points_mm=points, labels=[*LABELS, LABELS[0]], unseen=unseen))
    assert recording.markers.labels.count(LABELS[0]) == 1
    np.testing.assert_allclose(
        recording.markers.positions[0, recording.markers.index(LABELS[0])], (PERSON_MM[0] + 300) / 1000, atol=FLOAT32_M
    )
    assert "recording-repaired" in {d.code for d in recording.diagnostics}


def test_an_empty_second_place_for_a_label_is_no_second_point(write_c3d):
    """A laboratory's list may name a marker twice; nothing was seen for it."""
    points = np.concatenate([person_mm(20), person_mm(20)[:, :1] + 300.0], axis=1)
    unseen = np.zeros((20, 17), dtype=bool)
    unseen[:, 16] = True
    recording = read_c3d(write_c3d(points_mm=points, labels=[*LABELS, LABELS[0]], unseen=unseen))
    assert recording.markers.labels.count(LABELS[0]) == 1
    assert "recording-repaired" not in {d.code for d in recording.diagnostics}


def test_labels_continue_beyond_255(write_c3d):
    count = 300
    points = np.random.default_rng(1).uniform(10, 1500, (3, count, 3))
    labels = [f"MARK{i:03d}" for i in range(count)]
    recording = read_c3d(write_c3d(points_mm=points, labels=labels))
    assert recording.markers.labels == tuple(labels)


def test_computed_points_are_told_from_markers(write_c3d):
    """By list, by name, by four points that are axes; four that are no axes stay, whatever they are called."""
    frames = 12
    axes = PERSON_MM[5] + np.array([[0, 0, 0], [100, 0, 0], [0, 100, 0], [0, 0, 100]], dtype=float)
    crooked = PERSON_MM[5] + np.array([[5, 9, 7], [100, 30, 0], [0, 80, 40], [10, 20, 120]], dtype=float)
    extra = {
        "LHipAngles": [10.0, 5.0, 2.0],
        "LKNEfoo": [1.0, 2.0, 30.0],
        "LHJC": [-80.0, 20.0, 870.0],
        "CentreOfMassFloor": [0.5, 20.0, 0.0],
        "LViconLegLength": [0.0, 0.0, 870.0],
        **dict(zip(["LFEO", "LFEA", "LFEL", "LFEP"], axes, strict=True)),
        **dict(zip(["LTRO", "LTRA", "LTRL", "LTRP"], crooked, strict=True)),
    }
    block = np.broadcast_to(np.array(list(extra.values())), (frames, len(extra), 3))
    points = np.concatenate([person_mm(frames), block], axis=1)
    recording = read_c3d(
        write_c3d(points_mm=points, labels=[*LABELS, *extra], parameters={"POINT:ANGLES": ["LKNEfoo", "LHipAngles"]})
    )
    assert recording.markers.labels == (*LABELS, "LTRO", "LTRA", "LTRL", "LTRP")
    kinds = {label: output.kind for label, output in recording.model_outputs.items()}
    assert kinds == {
        "LHipAngles": "angle",
        "LKNEfoo": "angle",
        "LHJC": "virtual_point",
        "CentreOfMassFloor": "virtual_point",
        "LViconLegLength": "scalar",
        "LFEO": "virtual_point",
        "LFEA": "virtual_point",
        "LFEL": "virtual_point",
        "LFEP": "virtual_point",
    }
    np.testing.assert_allclose(recording.model_outputs["LHipAngles"].values[3], [10, 5, 2])


def test_a_knee_device_marker_is_kept_where_the_device_is_there(write_c3d):
    """The same label is a computed point beside the axes of a foot model, and a marker beside the device's others."""
    axes = PERSON_MM[8] + np.array([[0, 0, 0], [50, 0, 0], [0, 50, 0], [0, 0, 50]], dtype=float)
    foot = dict(zip(["LHDF0", "LHDF1", "LHDF2", "LHDF3"], axes, strict=True))
    knee = {"LKAX": PERSON_MM[5] + [-60.0, 0, 0]}
    device = {"LKD1": PERSON_MM[5] + [0, 60.0, 60], "LKD2": PERSON_MM[5] + [0, 60.0, -60]}
    for extra, kept in (({**foot, **knee}, False), ({**foot, **knee, **device}, True), (knee, True)):
        block = np.broadcast_to(np.array(list(extra.values())), (6, len(extra), 3))
        points = np.concatenate([person_mm(6), block], axis=1)
        labels = read_c3d(write_c3d(points_mm=points, labels=[*LABELS, *extra])).markers.labels
        assert ("LKAX" in labels) is kept


@pytest.mark.parametrize(
    ("unit", "stored_per_m", "code"),
    [
        ("m", 1.0, None),
        ("cm", 100.0, None),
        ("m", 1000.0, "unit-corrected"),
        ("mm", 1.0, "unit-corrected"),
        ("furlong", 1000.0, "unit-corrected"),
    ],
)
def test_length_units(write_c3d, unit, stored_per_m, code):
    points = person_mm(10) * stored_per_m / 1000
    recording = read_c3d(write_c3d(points_mm=points, parameters={"POINT:UNITS": [unit]}))
    # 4-byte floats, at worst on metres: 1e-7 relative
    np.testing.assert_allclose(recording.markers.positions[0], PERSON_MM / 1000, atol=FLOAT32_M)
    assert {d.code for d in recording.diagnostics} == ({code} if code else set())


def test_a_small_object_in_metres_is_not_taken_for_millimetres(write_c3d):
    """Ten centimetres across: no person, so nothing is certain and nothing is changed."""
    points = person_mm(4) / 10000
    recording = read_c3d(write_c3d(points_mm=points, parameters={"POINT:UNITS": ["m"]}))
    np.testing.assert_allclose(recording.markers.positions[0], PERSON_MM / 10000, atol=FLOAT32_M)


def test_a_position_kilometres_away_counts_as_not_seen(write_c3d):
    """What one flipped bit makes of a 4-byte float."""
    points = person_mm(20)
    points[7, 3, 1] = 3e30
    recording = read_c3d(write_c3d(points_mm=points))
    assert np.isnan(recording.markers.positions[7, 3]).all()
    assert np.isfinite(recording.markers.positions).sum() == 20 * 16 * 3 - 3
    assert [d.code for d in recording.diagnostics] == ["recording-repaired"]


@pytest.mark.parametrize(("text", "vertical"), [("+Z", [0, 0, 1]), ("-Y", [0, -1, 0]), ("", None)])
def test_vertical(write_c3d, text, vertical):
    parameters = {"POINT:Y_SCREEN": [text]} if text else {}
    found = read_c3d(write_c3d(parameters=parameters)).vertical
    assert (found is None) if vertical is None else np.array_equal(found, vertical)


def events(times_s, labels, contexts=None):
    parameters = {
        "EVENT:USED": [len(times_s)],
        "EVENT:TIMES": np.array([np.zeros(len(times_s)), times_s]),
        "EVENT:LABELS": list(labels),
    }
    return parameters | ({"EVENT:CONTEXTS": list(contexts)} if contexts else {})


def test_events_are_relative_to_the_first_stored_frame(write_c3d):
    """Frame 101 at 100 Hz is 1 s after the start of the capture."""
    parameters = events(
        [1.2, 1.1, 1.3, 1.25, 9.0, 1.2],
        ["Foot Strike", "Foot Off", "General", "Foot Strike", "Foot Off", "Foot Strike"],
        ["Left", "Right", "Left", "General", "Left", "Left"],
    )
    recording = read_c3d(write_c3d(parameters=parameters, first_frame=101))
    assert recording.first_frame == 101
    found = [(round(e.time_s, 6), e.side, e.kind, e.source) for e in recording.events]
    assert found == [(0.1, "r", "foot_off", "file"), (0.2, "l", "foot_strike", "file")]
    assert "events-outside" in {d.code for d in recording.diagnostics}


@pytest.mark.parametrize(
    "labels", [["RHS", "LTO"], ["Right heel strike", "left toe off"], ["Foot Strike1 R", "LFoot Off"]]
)
def test_events_without_contexts_take_the_side_from_the_label(write_c3d, labels):
    found = read_c3d(write_c3d(parameters=events([0.1, 0.2], labels))).events
    assert [(e.side, e.kind) for e in found] == [("r", "foot_strike"), ("l", "foot_off")]


def test_numbered_event_labels(write_c3d):
    parameters = events([0.1, 0.4], ["Foot Strike1", "Foot Strike2"], ["Left", "Left"])
    assert [e.kind for e in read_c3d(write_c3d(parameters=parameters)).events] == ["foot_strike"] * 2


def test_more_events_than_one_parameter_can_hold(write_c3d):
    """C3D continues a list of more than 255 in TIMES2, LABELS2 ..."""
    parameters = events([0.1], ["Foot Strike"], ["Left"])
    parameters |= {name + "2": value for name, value in events([0.3], ["Foot Off"], ["Right"]).items()}
    found = [(round(e.time_s, 6), e.side) for e in read_c3d(write_c3d(parameters=parameters)).events]
    assert found == [(0.1, "l"), (0.3, "r")]


def with_header_events(path, stored, key=12345):
    """Words 150 to 234 of the header (c3d.org): how labels are stored, number, seconds since the first frame, labels."""
    content = bytearray(path.read_bytes())
    struct.pack_into("<2H", content, 298, key, len(stored))
    for i, (time_s, label) in enumerate(stored):
        struct.pack_into("<f", content, 304 + 4 * i, time_s)
        struct.pack_into("4s", content, 396 + 4 * i, label.encode().ljust(4))
    path.write_bytes(content)
    return path


def test_events_of_the_header_count_from_the_first_stored_frame(write_c3d):
    stored = [(0.1, "RHS"), (0.15, "STRT"), (0.3, "LTO"), (9.0, "RTO")]
    recording = read_c3d(with_header_events(write_c3d(first_frame=101), stored))
    found = [(round(e.time_s, 6), e.side, e.kind) for e in recording.events]
    assert found == [(0.1, "r", "foot_strike"), (0.3, "l", "foot_off")]
    assert "events-outside" in {d.code for d in recording.diagnostics}
    assert file_facts(recording.path).gait_events == 3


def test_events_of_the_group_go_before_those_of_the_header(write_c3d):
    path = write_c3d(parameters=events([0.2], ["Foot Strike"], ["Left"]))
    assert [e.side for e in read_c3d(with_header_events(path, [(0.1, "RHS")])).events] == ["l"]
    path = write_c3d("other.c3d", parameters=events([0.2], ["General"], ["General"]))
    assert [e.side for e in read_c3d(with_header_events(path, [(0.1, "RHS")])).events] == ["r"]


@pytest.mark.parametrize(("key", "count"), [(0, 1), (12345, 40)])
def test_a_header_that_does_not_say_how_its_events_are_stored_has_none(write_c3d, key, count):
    path = with_header_events(write_c3d(), [(0.1, "RHS")], key)
    content = bytearray(path.read_bytes())
    struct.pack_into("<H", content, 300, count)
    path.write_bytes(content)
    assert read_c3d(path).events == ()


@pytest.mark.parametrize("processor", ["Eb015pi", "Eb015vi"])  # of Intel, and of DEC: its floats are not those of Intel
def test_header_events_of_a_real_recording(real_data, processor):
    found = read_c3d(real_data / f"reader/c3d_org/sample_01/{processor}.c3d").events
    assert [(round(e.time_s, 2), e.side, e.kind) for e in found] == [
        (2.72, "r", "foot_strike"),
        (5.4, "r", "foot_strike"),
        (7.32, "r", "foot_off"),
    ]


def test_subject_parameters_in_processing(write_c3d):
    parameters = {
        "SUBJECTS:NAMES": ["Anna"],
        "SUBJECTS:IS_STATIC": [1],
        "PROCESSING:Bodymass": [61.5],
        "PROCESSING:Height": [1683.0],
        "PROCESSING:LLegLength": [880.0],
        "PROCESSING:RLegLength": [0.0],  # 0 is how the software says "not measured"
        "PROCESSING:KneeWidth": [101.0],
        "PROCESSING:MarkerDiameter": [14.0],
        "PROCESSING:LTibialTorsion": [-0.3],
    }
    recording = read_c3d(write_c3d(parameters=parameters))
    subject = recording.subject
    assert (subject.name, subject.mass_kg, recording.declared_static) == ("Anna", 61.5, True)
    assert subject.height_m == pytest.approx(1.683)
    # 4-byte floats
    assert dict(subject.measures) == pytest.approx(
        {"leg_length_l": 0.88, "knee_width_r": 0.101, "knee_width_l": 0.101, "marker_diameter": 0.014,
         "tibial_torsion_l": -0.3}, rel=1e-6,
    )  # fmt: skip


def test_subject_parameters_as_pairs_with_units(write_c3d):
    parameters = {
        "SUBJECT:LABELS": ["age", "gender", "weight", "height", "R_legLength"],
        "SUBJECT:UNITS": ["years", "adimensioned (0: woman, 1: man)", "kg", "cm", "m"],
        "SUBJECT:VALUES": [30.0, 0.0, 67.0, 165.5, 0.73],
    }
    subject = read_c3d(write_c3d(parameters=parameters)).subject
    assert (subject.mass_kg, subject.sex) == (67.0, "female")
    assert subject.height_m == pytest.approx(1.655)
    assert dict(subject.measures) == pytest.approx({"leg_length_r": 0.73})


def test_an_impossible_body_mass_is_not_given(write_c3d):
    assert read_c3d(write_c3d(parameters={"PROCESSING:Bodymass": [0.0]})).subject.mass_kg is None
    assert read_c3d(write_c3d(parameters={"PROCESSING:Bodymass": [74000.0]})).subject.mass_kg is None


def plate_file(write_c3d, units, **changes):
    analogs = np.tile(np.array([10.0, 20.0, -700.0, 3000.0, -4000.0, 500.0]), (600, 1))
    parameters = plate_parameters() | changes
    return write_c3d(analogs=analogs, analog_labels=["Fx", "Fy", "Fz", "Mx", "My", "Mz"], analog_units=units,
                     parameters={k: v for k, v in parameters.items() if v is not None})  # fmt: skip


@pytest.mark.parametrize(
    ("units", "moment_factor"),
    [
        (["N"] * 3 + ["Nmm"] * 3, 1e-3),
        (["N"] * 3 + ["Nm"] * 3, 1.0),
        (["N"] * 3 + ["N*mm"] * 3, 1e-3),
        ([""] * 6, 1e-3),
    ],
)
def test_plate_channels_in_newtons_and_newton_metres(write_c3d, units, moment_factor):
    plate = read_c3d(plate_file(write_c3d, units)).plates[0]
    expected = [10, 20, -700, 3000 * moment_factor, -4000 * moment_factor, 500 * moment_factor]
    np.testing.assert_allclose(plate.channels[7], expected, rtol=1e-6)  # 4-byte floats
    assert (plate.type, plate.rate_hz, plate.zero_frames) == (2, 1000.0, None)
    np.testing.assert_allclose(plate.corners[0], [0.2, 0.6, 0.0], atol=1e-7)
    np.testing.assert_allclose(plate.origin, [0, 0, -0.04], atol=1e-7)
    assert plate.channel_labels == ("Fx", "Fy", "Fz", "Mx", "My", "Mz")


@pytest.mark.parametrize(
    ("force", "moment", "newtons", "newton_metres"),
    [
        ("lb", "in-lb", 4.4482216, 4.4482216 * 0.0254),
        ("Lbs", "ft-lbs", 4.4482216, 4.4482216 * 0.3048),
        ("kg", "kg*m", 9.80665, 9.80665),
        ("kN", "N*cm", 1000.0, 0.01),
    ],
)
def test_plate_channels_in_other_units_of_force(write_c3d, force, moment, newtons, newton_metres):
    plate = read_c3d(plate_file(write_c3d, [force] * 3 + [moment] * 3)).plates[0]
    factors = np.repeat([newtons, newton_metres], 3)
    np.testing.assert_allclose(plate.channels[7], np.array([10, 20, -700, 3000, -4000, 500]) * factors, rtol=1e-6)


def test_plate_parameters_of_odd_shapes(write_c3d):
    """Two-dimensional USED and TYPE as some exporters write them; ZERO in 1-based frames."""
    changes = {
        "FORCE_PLATFORM:USED": np.array([[1]]),
        "FORCE_PLATFORM:TYPE": np.array([[2]]),
        "FORCE_PLATFORM:ZERO": [1, 10],
    }
    plate = read_c3d(plate_file(write_c3d, ["N"] * 3 + ["Nmm"] * 3, **changes)).plates[0]
    assert (plate.type, plate.zero_frames) == (2, (0, 9))


@pytest.mark.parametrize(
    "changes",
    [
        {"FORCE_PLATFORM:CORNERS": np.zeros((3, 4, 1))},
        {"FORCE_PLATFORM:CORNERS": np.ones((3, 2, 1))},
        {"FORCE_PLATFORM:CHANNEL": np.array([[1, 2, 3, 4, 5, 9]]).T},
        {"FORCE_PLATFORM:CHANNEL": np.array([[1, 2, 3]]).T},
        {"FORCE_PLATFORM:TYPE": None},
        {"FORCE_PLATFORM:TYPE": [4]},
    ],
)
def test_a_plate_that_is_not_fully_described_is_left_out_with_the_reason(write_c3d, changes):
    recording = read_c3d(plate_file(write_c3d, ["N"] * 3 + ["Nmm"] * 3, **changes))
    assert recording.plates == ()
    if changes.get("FORCE_PLATFORM:TYPE", 0) is not None:
        assert [d.code for d in recording.diagnostics] == ["plate-not-used"]


def test_calibration_matrix_is_read_by_column_and_scaled_to_si(write_c3d):
    matrix = np.diag([2.0, 2.0, 10.0, 2000.0, 2000.0, 1000.0])
    matrix[3, 0] = 7.0  # Nmm per unit of the first channel
    changes = {"FORCE_PLATFORM:TYPE": [4], "FORCE_PLATFORM:CAL_MATRIX": matrix[:, :, None]}
    plate = read_c3d(plate_file(write_c3d, ["V"] * 6, **changes)).plates[0]
    expected = matrix.copy()
    expected[3:] /= 1000
    np.testing.assert_allclose(plate.cal_matrix, expected, rtol=1e-6)
    np.testing.assert_allclose(plate.channels[0], [10, 20, -700, 3000, -4000, 500], rtol=1e-6)


def test_of_the_analog_channels_only_the_plates_are_kept(write_c3d):
    analogs = np.arange(9.0)[None] + np.zeros((60, 1))
    parameters = plate_parameters() | {"FORCE_PLATFORM:CHANNEL": np.array([[4, 5, 6, 7, 8, 9]]).T}
    path = write_c3d(analogs=analogs, analog_labels=list("abcdefghi"), analog_units=["V"] * 3 + ["N"] * 3 + ["Nm"] * 3,
                     parameters=parameters)  # fmt: skip
    plate = read_c3d(path).plates[0]
    assert plate.channel_labels == ("d", "e", "f", "g", "h", "i")
    np.testing.assert_allclose(plate.channels[0], [3, 4, 5, 6, 7, 8])


@pytest.mark.real
def test_every_walk_has_its_markers_and_nothing_computed(real_data):
    """Counts taken by eye from the files' label lists: physical markers, without virtual points and unnamed ones."""
    expected = {
        "biomechzoo/HC002D/Static/HC002D02.c3d": (65, {"LMMA", "LPCA", "LD1M"}, {"LKAX", "JUG", "LHFplantar", "LTIB1"}),
        "biomechzoo/HC002D/Straight/HC002D06.c3d": (59, {"LHFB", "LTUB", "SACR", "RBAK"}, {"LAJC", "LHE1", "LFEO"}),
        "biomechzoo/HC032A/Turn/HC032A18.c3d": (59, {"LHFB", "LTUB", "SACR", "RBAK"}, {"LAJC", "LHE1", "LFEO"}),
        "btk_pig/PiG_Motion3_FF.c3d": (16, {"LASI", "RTOE"}, {"*3", "LFEO"}),
        "sydney/static/S4 AM Cal 01.c3d": (22, {"LKAX", "LKD1", "LKD2", "LMED"}, {"LHJC", "LKJC", "*58"}),
        "sydney/dynamic/S4-AMGait03.c3d": (16, {"LKNE", "RKNE"}, {"PELO", "*52"}),
        "schreiber2019/2014001_ST.c3d": (52, {"L_IAS", "CV7", "R_HM5"}, set()),
    }
    paths = [real_data / "gait" / name for name in expected]
    for recording, (count, there, not_there) in zip(read_many(paths), expected.values(), strict=True):
        labels = set(recording.markers.labels)  # type: ignore[union-attr]
        assert len(labels) == count, recording.path.name  # type: ignore[union-attr]
        assert there <= labels
        assert not not_there & labels


@pytest.mark.real
def test_stored_events_agree_with_the_plates_in_time(real_data):
    """Sydney's events stand where the force passes 20 N, to the millisecond: an offset of a frame would show."""
    recording = read_c3d(real_data / "gait" / "sydney" / "dynamic" / "S4-AMGait04.c3d")
    plate = recording.plates[1]
    loaded = -plate.channels[:, 2] > 20.0
    on, off = np.flatnonzero(np.diff(loaded.astype(int)))[[0, -1]] + 1
    strikes = [e.time_s for e in recording.events if e.kind == "foot_strike"]
    offs = [e.time_s for e in recording.events if e.kind == "foot_off"]
    assert min(abs(t - on / plate.rate_hz) for t in strikes) < 0.002
    assert min(abs(t - off / plate.rate_hz) for t in offs) < 0.002


@pytest.mark.real
@pytest.mark.slow
def test_all_real_files_read_or_say_why_not(real_data):
    """Nothing crashes, hangs or is silent."""
    paths = sorted(p for p in Path(real_data).rglob("*") if p.suffix.lower() == ".c3d")
    results = read_many(paths)
    refused = {p.name for p, r in zip(paths, results, strict=True) if isinstance(r, Exception)}
    assert refused == {"Empty.c3d", "parameterOverflow.c3d"}  # nothing in it; no marker ever seen
    for result in results:
        if isinstance(result, Exception):
            assert str(result).count("\n") == 0


@pytest.mark.real
@pytest.mark.parametrize(
    "name",
    [
        "cases/ezc3d_rotation_group/rotation_unused.c3d",  # ROTATION:USED is 0, its DATA_START no place in the file
        "gait/sydney/dynamic/S4-AMGait03.c3d",
        "gait/fmc/dynamic/MH0222_BP06.c3d",
    ],
)
def test_markers_are_where_ezc3d_reads_them(real_data, name):
    markers = read_c3d(real_data / name).markers
    theirs = ezc3d.c3d(str(real_data / name))
    columns = [theirs["parameters"]["POINT"]["LABELS"]["value"].index(label) for label in markers.labels]
    np.testing.assert_allclose(
        markers.positions, 1e-3 * theirs["data"]["points"][:3, columns].transpose(2, 1, 0), atol=FLOAT32_M
    )


@pytest.mark.real
def test_byte_orders_and_number_formats_hold_the_same_trial(real_data):
    """c3d.org sample 1: one trial as Intel, DEC and SGI, integers and reals."""
    folder = real_data / "reader" / "c3d_org" / "sample_01"
    names = ["Eb015pi.c3d", "Eb015pr.c3d", "Eb015vi.c3d", "Eb015vr.c3d", "Eb015si.c3d", "Eb015sr.c3d"]
    first, *others = (read_c3d(folder / name) for name in names)
    for other in others:
        # integers have steps of 1/12 mm
        np.testing.assert_allclose(other.markers.positions, first.markers.positions, atol=1e-4)
        np.testing.assert_allclose(other.plates[0].channels, first.plates[0].channels, atol=1e-3, rtol=1e-5)
