"""A toe marker over the big toe is told from one over the second metatarsal by the heel and the fifth metatarsal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.real import recordings, slow_but

from biodyn.io import read
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.recognition.label_correction import assign_big_toe_markers
from biodyn.model.marker_roles import MarkerMapping
from biodyn.recording import Markers
from biodyn.trial.run import analyse_trial

LABELS = (
    *("RASI", "LASI", "RPSI", "LPSI", "RLFC", "LLFC", "RLMAL", "LLMAL", "RTH1", "LTH1", "RTB1", "LTB1"),
    *("RCAL", "RTOE", "RMT5", "LCAL", "LTOE", "LMT5"),
)


def feet(*degrees: float) -> Markers:
    """Feet that stand anywhere, the toe so many degrees inwards of the fifth metatarsal: right, left."""
    rng = np.random.default_rng(7)
    positions = rng.normal(size=(5, len(LABELS), 3))
    for side, angle, inwards in zip("RL", degrees, (-1.0, 1.0), strict=False):
        heel = rng.normal(size=3)
        for name, away, length in (("CAL", 0.0, 0.0), ("MT5", 0.0, 0.17), ("TOE", angle, 0.21)):
            turn = np.radians(away) * inwards
            positions[:, LABELS.index(side + name)] = heel + length * np.array([np.cos(turn), 0.0, np.sin(turn)])
    return Markers(LABELS, positions, 100.0)


def landmarks(mapping: MarkerMapping) -> dict[str, str]:
    return {role.label: role.landmark for role in mapping.roles if role.label[1:] == "TOE"}


@pytest.mark.parametrize(("degrees", "inside"), [(14.7, False), (21.7, False), (26.2, True), (34.0, True)])
def test_the_angle_at_the_heel_tells_which_toe_it_is(degrees: float, inside: bool) -> None:
    found, notes = assign_big_toe_markers(recognise_marker_set(LABELS), feet(degrees, degrees))
    name = "toe_medial" if inside else "toe"
    assert landmarks(found) == {"RTOE": f"{name}_r", "LTOE": f"{name}_l"}
    assert [note.code for note in notes] == ["toe-marker"] * inside
    assert all(note.value == pytest.approx(degrees, abs=1e-6) for note in notes)


def test_both_feet_are_read_alike_and_a_foot_that_is_never_seen_does_not_count() -> None:
    mapping, markers = recognise_marker_set(LABELS), feet(27.0, 23.0)
    assert landmarks(assign_big_toe_markers(mapping, markers)[0]) == {"RTOE": "toe_medial_r", "LTOE": "toe_medial_l"}
    assert landmarks(assign_big_toe_markers(mapping, feet(25.0, 20.0))[0]) == {"RTOE": "toe_r", "LTOE": "toe_l"}
    unseen = markers.positions.copy()
    unseen[:, LABELS.index("LTOE")] = np.nan
    assert assign_big_toe_markers(mapping, replace(markers, positions=unseen))[1][0].value == pytest.approx(
        27.0, abs=1e-6
    )
    unseen[:, LABELS.index("RMT5")] = np.nan
    assert assign_big_toe_markers(mapping, replace(markers, positions=unseen)) == (mapping, ())


def test_a_foot_with_a_marker_on_the_tip_of_the_big_toe_is_left_alone() -> None:
    both = (*LABELS, "RHLX", "LHLX")
    mapping = recognise_marker_set(both)
    assert "hallux_r" in {role.landmark for role in mapping.roles}
    markers = feet(28.0, 28.0)
    beside = np.concatenate([markers.positions, np.zeros((5, 2, 3))], axis=1)
    assert assign_big_toe_markers(mapping, Markers(both, beside, 100.0)) == (mapping, ())


SECOND_RAYS = ("biomechzoo/HC002D/Static/HC002D02.c3d", "schreiber2019/2014001_ST.c3d")


@pytest.mark.parametrize("name", slow_but(SECOND_RAYS, SECOND_RAYS[1:]))
def test_real_markers_on_the_second_ray_are_left_alone(name: str) -> None:
    markers = read(recordings() / "gait" / name).markers
    bare = [label for label in markers.labels if "HLX" not in label]  # the big toe's would settle it
    mapping = recognise_marker_set(bare)
    assert {"toe_r", "met5_r", "heel_r"} <= {role.landmark for role in mapping.roles}
    assert assign_big_toe_markers(mapping, markers) == (mapping, ())


@pytest.mark.slow
@pytest.mark.parametrize("subject", slow_but(("subject18", "subject19"), ("subject18",)))
def test_published_people_of_rajagopals_set_stand_on_their_feet(subject: str) -> None:
    """Their centres of pressure lay 3 to 4 cm beside the middle of the foot, and a plate was said to stand 4.1 cm elsewhere."""
    walk = recordings() / "opensim/arnold2013_synthetic" / subject / "trials/walk2"
    fast = {"uncertainty": {"compute": False}}
    found = analyse_trial(walk / "markers.trc", forces=walk / "grf.mot", settings=fast)
    assert landmarks(found.mapping) == {"RTOE": "toe_medial_r", "LTOE": "toe_medial_l"}
    codes = {note.code for note in found.diagnostics}
    assert "toe-marker" in codes
    assert not codes & {"plate-moved", "marker-moved", "cop-outside-sole"}


@pytest.mark.slow
def test_a_head_with_temples_alone_is_a_segment_with_markers() -> None:
    """OpenSim's own example: its three markers on the head were left out, and the head's motion was assumed."""
    data = recordings() / "opensim"
    static = data / "core_scale/subject01_static.trc"
    fast = {"uncertainty": {"compute": False}, "signals": {"method": "butterworth"}}
    found = analyse_trial(data / "gait2354_tutorial/subject01_walk1.trc", static, settings=fast)
    assert {"R.Temple", "L.Temple", "Top.Head"} <= {m.label for m in found.model.markers if m.body == "head"}
    assert "head" not in {coordinate.body for coordinate in found.model.assumed}
