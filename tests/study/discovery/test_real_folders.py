"""Real laboratories' folders, without any option."""

from __future__ import annotations

from pathlib import Path

import pytest

from biodyn.study.discovery import discover_trials

_SAMPLE = Path(__file__).parents[3] / "sample_data"


def test_the_sample_data() -> None:
    plan = discover_trials(_SAMPLE)
    assert [(t.subject, t.trial, t.condition, str(t.static)) for t in plan.trials] == [
        (subject, trial, "", f"{subject}/static.c3d")
        for subject in ("subject01", "subject02")
        for trial in ("walk01", "walk02")
    ]


@pytest.mark.real
def test_seven_laboratories_in_one_folder(real_data: Path) -> None:
    plan = discover_trials(real_data / "gait")
    pig = ("btk_pig/PiG_Calibration3_FF.c3d", "btk_pig/PiG_Calibration3_FF_N18.c3d")
    fmc = ("fmc/static/MH0222_BP01.c3d", "fmc/static/MH0222_BP08.c3d")
    expected: list[tuple[str, str, str, tuple[str, ...]]] = [
        ("2014001", "C1", "2014001_C1_01", ("schreiber2019/2014001_ST.c3d",)),
        ("flatFoot", "", "PiG_Motion3_FF", pig),
        ("flatFoot", "", "PiG_Motion3_FF_N18", pig[::-1]),
        ("noFlatFoot", "", "PiG_Motion3_noFF", ("btk_pig/PiG_Calibration3_noFF.c3d",)),
        ("MH0222_BP", "", "MH0222_BP06", fmc),
        ("MH0222_BP", "", "MH0222_BP15", fmc),
        ("ANTO_M", "", "PiG_Motion-FlatFoot-One", ("btk_flatfoot/PiG_Calibration-FlatFoot-One.c3d",)),
        ("BELT_C", "", "PiG_Motion-FlatFoot-Full", ("btk_flatfoot/PiG_Calibration-FlatFoot-Full.c3d",)),
        ("unzeroed_plate", "", "Gait_with_EMG", ("unzeroed_plate/Static Pose.c3d",)),
    ]
    expected += [
        (subject, condition, f"{subject}{number}", (f"biomechzoo/{subject}/Static/{subject}{static}.c3d",))
        for subject, condition, number, static in (
            ("HC002D", "Straight", "06", "02"),
            ("HC030A", "Straight", "05", "01"),
            ("HC032A", "Straight", "03", "01"),
            ("HC032A", "Turn", "18", "01"),
            ("HC038A", "Straight", "11", "01"),
        )
    ]
    expected += [("S4-AM", "", f"S4-AMGait0{i}", ("sydney/static/S4 AM Cal 01.c3d",)) for i in range(3, 8)]
    found = [
        (t.subject, t.condition, t.trial, tuple(s.as_posix() for s in t.statics or (t.static,) if s))
        for t in plan.trials
    ]
    assert sorted(found) == sorted(expected)
    assert {t.session for t in plan.trials} == {""}
    assert sum(f.role == "static" for f in plan.files) == 14
    assert len(plan.files) == 33


@pytest.mark.real
def test_odd_and_damaged_files_are_all_accounted_for(real_data: Path) -> None:
    plan = discover_trials(real_data / "reader")
    files = [path for path in (real_data / "reader").rglob("*") if path.suffix.lower() == ".c3d"]
    assert len(plan.files) == len(files)
    unreadable = {f.path.name for f in plan.files if f.role == "unreadable"}
    assert unreadable == {"Empty.c3d"}
    subjects = {t.path.name: t.subject for t in plan.trials}
    assert subjects["sgi_int.c3d"] == subjects["pc_int.c3d"] == "Norm_Walker"
    assert {"Dance.c3d", "golfswing.c3d"} <= {f.path.name for f in plan.files if f.role == "other"}
