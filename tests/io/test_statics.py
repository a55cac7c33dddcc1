"""The static trial beside a walk: this person's, standing still, the one that belongs to it, and never another's."""

from __future__ import annotations

import numpy as np
import pytest
from simulator.trc_writer import write_trc
from support.stick_person import LABELS, person_mm

from biodyn.errors import InputFileError
from biodyn.io.formats.c3d.reader import read_c3d
from biodyn.session import find_static
from biodyn.session.static_trials import body_difference_m, typical_motion_m


def anna(**more):
    return {"SUBJECTS:NAMES": ["Anna"], "PROCESSING:Bodymass": [61.5], **more}


@pytest.fixture
def walk(write_c3d):
    """Return a writer of a walk (1.2 m/s) with the given parameters."""

    def write(name, parameters=None, **options):
        return write_c3d(f"study/all/{name}", points_mm=person_mm(80, 1200.0), parameters=parameters, **options)

    return write


@pytest.fixture
def standing(write_c3d):
    """Return a writer of a standing trial; `size` scales the person."""

    def write(name, parameters=None, size=1.0, frames=40, **options):
        return write_c3d(f"study/all/{name}", points_mm=size * person_mm(frames), parameters=parameters, **options)

    return write


def test_in_a_folder_beside_the_walks(walk, standing):
    path = walk("S1/Straight/S1_03.c3d", anna())
    static = standing("S1/Static/S1_01.c3d", anna())
    standing("S2/Static/S2_01.c3d", {"SUBJECTS:NAMES": ["Bob"]})
    walk("S1/Turn/S1_07.c3d", anna())
    search = find_static(path)
    assert search.path == static
    assert search.walk.path == path
    assert search.recording is not None
    assert search.recording.markers.frame_count == 40
    assert "same subject name 'Anna'" in search.reason
    assert "Static" in search.reason


def test_companions_are_of_the_walks_own_format(walk, standing):
    """What somebody exported beside the recordings is no second static trial."""
    path, static = walk("walk.c3d", anna()), standing("static.c3d", anna())
    for recorded in (path, static):
        write_trc(recorded.with_suffix(".trc"), read_c3d(recorded).markers)
    assert [c.path for c in find_static(path).candidates] == [static]
    search = find_static(path.with_suffix(".trc"))
    assert search.path == static.with_suffix(".trc")
    assert [c.path for c in search.candidates] == [search.path]


def test_a_static_trial_in_c3d_serves_walks_in_another_format(walk, standing):
    """Of subject DM of the Knee Grand Challenge the walks are TRC files, and the static trial is a C3D file."""
    path, static = walk("walk.c3d", anna()), standing("static.c3d", anna())
    write_trc(path.with_suffix(".trc"), read_c3d(path).markers)
    search = find_static(path.with_suffix(".trc"))
    assert search.path == static
    assert search.reason.startswith("static.c3d is used as the static trial: ")
    static.unlink()
    search = find_static(path.with_suffix(".trc"))
    assert search.path is None
    assert search.reason.startswith("No static trial was found among 1 recording in ")


def test_from_a_recording_that_is_already_read(walk, standing):
    path, static = walk("walk.c3d", anna()), standing("static.c3d", anna())
    recording = read_c3d(path)
    search = find_static(recording)
    assert search.path == static
    assert search.walk is recording


def test_of_several_calibrations_the_one_named_like_the_walk(walk, standing):
    for variant, subject in (("FF", "flat"), ("noFF", "notFlat"), ("FF_N18", "flat")):
        walk(f"P_Motion3_{variant}.c3d", {"SUBJECTS:NAMES": [subject]})
        standing(f"P_Calibration3_{variant}.c3d", {"SUBJECTS:NAMES": [subject]})
    folder = walk("P_Motion3_FF.c3d", {"SUBJECTS:NAMES": ["flat"]}).parent
    for variant in ("FF", "noFF", "FF_N18"):
        search = find_static(folder / f"P_Motion3_{variant}.c3d")
        assert search.path == folder / f"P_Calibration3_{variant}.c3d"


def test_without_stored_names_another_persons_folder_is_no_source(walk, standing):
    """Folders of two people side by side, their statics in subfolders or in folders that carry the person's number."""
    path = walk("S01_walk/w1.c3d")
    standing("S02_walk/static.c3d")
    standing("S02_static/static.c3d")
    assert find_static(path).path is None
    own = standing("S01_static/static.c3d")
    assert find_static(path).path == own


def test_the_same_folder_one_level_up_under_static(walk, standing):
    path = walk("dynamic/S01/w1.c3d")
    standing("static/S02/cal.c3d")
    own = standing("static/S01/cal.c3d")
    assert find_static(path).path == own


def test_without_stored_names_the_code_in_the_file_name_decides(walk, standing):
    path = walk("2014001_C1_01.c3d")
    standing("2014002_ST.c3d")
    assert find_static(path).path is None
    own = standing("2014001_ST.c3d")
    assert find_static(path).path == own


@pytest.mark.parametrize(
    ("parameters", "size", "why"),
    [
        ({"SUBJECTS:NAMES": ["Bob"]}, 1.0, "subject is 'Bob'"),
        (anna(**{"PROCESSING:Bodymass": [80.0]}), 1.0, "body mass"),
        (anna(**{"PROCESSING:Height": [1900.0]}), 1.0, "height"),
        (anna(), 1.15, "another person"),
    ],
)
def test_another_person_is_never_taken(walk, standing, parameters, size, why):
    path = walk("walk.c3d", anna(**{"PROCESSING:Height": [1650.0]}))
    standing("static.c3d", parameters, size=size)
    search = find_static(path)
    assert search.path is None
    assert why in search.candidates[0].rejected
    assert "static.c3d" in search.reason


def test_a_file_called_static_in_which_the_person_walks_is_not_taken(walk):
    path = walk("walk.c3d", anna())
    walk("static.c3d", anna())
    search = find_static(path)
    assert search.path is None
    assert "moves" in search.candidates[0].rejected


def test_a_still_trial_is_found_without_any_name(walk, standing):
    path = walk("trial02.c3d", anna())
    walk("trial03.c3d", anna())
    static = standing("trial01.c3d", anna())
    assert find_static(path).path == static


def test_the_next_best_is_tried_when_the_best_cannot_be_read(walk, standing):
    path = walk("walk.c3d", anna())
    good = standing("calibration2.c3d", anna())
    broken = standing("calibration_walk.c3d", anna())
    data = broken.read_bytes()
    broken.write_bytes(data[: len(data) // 2])
    search = find_static(path)
    assert search.path == good
    assert any("truncated" in c.rejected for c in search.candidates)


def test_one_frame_is_enough(walk, standing):
    path = walk("walk.c3d", anna())
    assert find_static(path).path is None
    static = standing("ST.c3d", anna(), frames=1)
    assert find_static(path).path == static


def test_other_markers_are_no_static_of_this_walk(walk, standing):
    path = walk("walk.c3d", anna())
    standing("static.c3d", anna(), labels=[f"X{i}" for i in range(len(LABELS))])
    search = find_static(path)
    assert search.path is None
    assert "only 0 of the 16 point labels of the walk" in search.candidates[0].rejected


OFFSETS = {"LThighRotation": -0.117, "RThighRotation": -0.281, "LTibialTorsion": -0.216, "RTibialTorsion": -0.271}


def with_offsets(change=0.0):
    return anna(**{f"PROCESSING:{name}": [value + change] for name, value in OFFSETS.items()})


@pytest.mark.parametrize("belongs", [0, 1])
def test_of_two_alike_by_name_the_one_with_the_walks_markers(walk, standing, belongs):
    path = walk("walk.c3d", anna())
    statics = [standing(f"static0{i + 1}.c3d", anna(), size=1.0 if i == belongs else 1.004) for i in range(2)]
    search = find_static(path)
    assert search.path == statics[belongs]
    assert f"agree to 0.00 mm, against 1.85 mm in static0{2 - belongs}.c3d" in search.reason
    assert search.diagnostics == ()


@pytest.mark.parametrize("belongs", [0, 1])
def test_of_two_alike_by_markers_the_one_with_the_walks_joint_offsets(walk, standing, belongs):
    path = walk("walk.c3d", with_offsets())
    statics = [
        standing(
            f"static0{i + 1}.c3d", with_offsets(0.0 if i == belongs else 0.04), size=1.001 if i == belongs else 1.0
        )
        for i in range(2)
    ]
    search = find_static(path)
    assert search.path == statics[belongs]
    assert "its stored joint offsets equal those of the walk" in search.reason
    assert search.diagnostics == ()


def test_markers_put_on_again_count_more_than_stored_offsets_and_it_is_said(walk, standing):
    path = walk("walk.c3d", with_offsets())
    standing("static01.c3d", with_offsets(), size=1.01)
    own = standing("static02.c3d", with_offsets(0.04))
    search = find_static(path)
    assert search.path == own
    assert [d.code for d in search.diagnostics] == ["static-doubtful"]
    assert search.diagnostics[0].value == pytest.approx(0.01 * 0.4625, abs=1e-5)  # 1 % of the median distance


def test_two_that_belong_alike_are_named(walk, standing):
    path = walk("walk.c3d", anna())
    first = standing("static01.c3d", anna())
    standing("static02.c3d", anna())
    search = find_static(path)
    assert search.path == first
    (note,) = search.diagnostics
    assert (note.code, note.severity) == ("static-doubtful", "info")
    assert "static02.c3d (0.00 mm)" in note.message


def test_among_known_files_nothing_else_is_looked_at(walk, standing):
    path = walk("S1/walk.c3d", anna())
    standing("S1/static.c3d", anna())
    others = [standing(f"elsewhere/day{i}.c3d", anna(), size=1.0 + 0.004 * i) for i in (1, 0)]
    search = find_static(path, among=others)
    assert search.path == others[1]
    assert {candidate.path for candidate in search.candidates} == set(others)


def test_nothing_there_says_where_it_looked(walk):
    path = walk("alone/walk.c3d", anna())
    search = find_static(path)
    assert search.path is None
    assert search.recording is None
    assert str(path.parent) in search.reason
    assert path.parent.resolve() in search.folders


def test_in_a_large_folder_files_named_like_statics_are_looked_at_first(walk, standing):
    path = walk("w000.c3d", anna())
    for i in range(1, 12):
        walk(f"w{i:03d}.c3d", anna())
    static = standing("z_static.c3d", anna())
    search = find_static(path, max_headers=5)
    assert search.path == static
    assert len(search.candidates) == 5


def test_an_unreadable_walk_is_an_error(tmp_path):
    with pytest.raises(InputFileError, match="does not exist"):
        find_static(tmp_path / "no.c3d")


def test_motion_and_body_are_measured_in_metres(write_c3d):
    walking = read_c3d(write_c3d("w.c3d", points_mm=person_mm(101, 1200.0))).markers
    still = read_c3d(write_c3d("s.c3d", points_mm=1.1 * person_mm(1))).markers
    assert typical_motion_m(walking) == pytest.approx(1.2, abs=1e-5)
    assert typical_motion_m(still) == 0.0
    distances = [np.linalg.norm(a - b) for i, a in enumerate(walking.positions[0]) for b in walking.positions[0, :i]]
    assert body_difference_m(walking, still) == pytest.approx(0.1 * np.median(distances), rel=1e-4)


@pytest.mark.real
@pytest.mark.parametrize(
    ("walk_name", "static_name"),
    [
        ("biomechzoo/HC002D/Straight/HC002D06.c3d", "biomechzoo/HC002D/Static/HC002D02.c3d"),
        ("biomechzoo/HC032A/Turn/HC032A18.c3d", "biomechzoo/HC032A/Static/HC032A01.c3d"),
        ("btk_pig/PiG_Motion3_FF.c3d", "btk_pig/PiG_Calibration3_FF.c3d"),
        ("btk_pig/PiG_Motion3_noFF.c3d", "btk_pig/PiG_Calibration3_noFF.c3d"),
        ("btk_pig/PiG_Motion3_FF_N18.c3d", "btk_pig/PiG_Calibration3_FF_N18.c3d"),
        ("sydney/dynamic/S4-AMGait05.c3d", "sydney/static/S4 AM Cal 01.c3d"),
        ("schreiber2019/2014001_C1_01.c3d", "schreiber2019/2014001_ST.c3d"),
        # two statics of one morning: the joint offsets stored in the walks tell which made them, marker distances agree
        ("fmc/dynamic/MH0222_BP06.c3d", "fmc/static/MH0222_BP01.c3d"),
        ("fmc/dynamic/MH0222_BP15.c3d", "fmc/static/MH0222_BP08.c3d"),
    ],
)
def test_real_folders(real_data, walk_name, static_name):
    search = find_static(real_data / "gait" / walk_name)
    assert search.path is not None
    assert search.path.resolve() == (real_data / "gait" / static_name).resolve()


@pytest.mark.real
def test_real_statics_of_other_people_have_other_bodies(real_data):
    """Why the limits are where they are: one person up to 5 mm, two people at least 5.7 mm, most over 12 mm."""
    people = ["HC002D", "HC030A", "HC032A", "HC038A"]
    folder = real_data / "gait" / "biomechzoo"
    walks = [read_c3d(next((folder / p / "Straight").glob("*.c3d"))).markers for p in people]
    statics = [read_c3d(next((folder / p / "Static").glob("*.c3d"))).markers for p in people]
    for i, walking in enumerate(walks):
        for j, still in enumerate(statics):
            difference = body_difference_m(walking, still)
            assert difference is not None
            assert difference < 0.005 if i == j else difference > 0.010
