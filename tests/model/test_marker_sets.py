"""Which laboratory's markers are these?"""

from __future__ import annotations

from pathlib import Path

import pytest

from biodyn.errors import MarkerSetError, ModelError
from biodyn.model.from_library.label_reading.spelling import normalise
from biodyn.model.from_library.markersets import recognise_marker_set

SIDES = ("L", "R")
PELVIS = ["LASI", "RASI", "LPSI", "RPSI"]
LEGS = [s + m for s in SIDES for m in ("THI", "KNE", "TIB", "ANK", "HEE", "TOE")]
UPPER = ["C7", "T10", "CLAV", "STRN", "RBAK"]
UPPER += [s + m for s in SIDES for m in ("SHO", "UPA", "ELB", "FRM", "WRA", "WRB", "FIN", "FHD", "BHD")]
# Leardini 2007 with van Sint Jan's names
IOR = [
    f"{s}_{m}"
    for s in SIDES
    for m in ("IAS", "IPS", "FTC", "FLE", "FME", "FAX", "TTC", "FAL", "TAM", "FCC", "FM1", "FM2", "FM5")
]
# Fukuchi, WBDS
WBDS = [
    f"{s}.{m}"
    for s in SIDES
    for m in (
        "ASIS",
        "PSIS",
        "Iliac.Crest",
        "GTR",
        "Knee",
        "Knee.Medial",
        "HF",
        "TT",
        "Ankle",
        "Ankle.Medial",
        "Heel",
        "MT1",
        "MT5",
    )
]
OPENCAP = [
    f"{s}{m}"
    for s in ("r", "l")
    for m in (".ASIS", ".PSIS", "_knee", "_mknee", "_ankle", "_mankle", "_calc", "_toe", "_5meta")
]
OPENCAP = [label.replace("r.ASIS", "r.ASIS_study") for label in OPENCAP]


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (PELVIS + LEGS, "plug_in_gait_lower"),
        (["LASI", "RASI", "SACR", *LEGS], "plug_in_gait_lower"),
        (PELVIS + LEGS + UPPER, "plug_in_gait_full"),
        (IOR, "ior_lower"),
        (WBDS, "anatomical"),
        (OPENCAP, "opencap"),
    ],
)
def test_sets_are_recognised(labels: list[str], name: str) -> None:
    mapping = recognise_marker_set(labels)
    assert mapping.name == name
    assert mapping.unknown == ()
    marks = [role.landmark for role in mapping.roles if role.landmark]
    assert len(marks) == len(set(marks))  # one marker a landmark
    for landmark in ("asis_r", "knee_lateral_l", "ankle_lateral_r", "heel_l"):
        assert landmark in marks


@pytest.mark.parametrize(
    ("labels", "landmarks"),
    [
        (IOR, {"R_FLE": "knee_lateral_r", "L_FME": "knee_medial_l", "R_TAM": "ankle_medial_r", "L_FM2": "toe_l"}),
        (WBDS, {"R.Knee": "knee_lateral_r", "L.Knee.Medial": "knee_medial_l", "R.Heel": "heel_r", "L.MT5": "met5_l"}),
        (PELVIS + LEGS, {"RKNE": "knee_lateral_r", "LTHI": "thigh_wand_l", "RTOE": "toe_r"}),
    ],
)
def test_labels_mean_what_their_laboratories_mean(labels: list[str], landmarks: dict[str, str]) -> None:
    mapping = recognise_marker_set(labels)
    for label, landmark in landmarks.items():
        role = mapping.role(label)
        assert role is not None
        assert role.landmark == landmark


def test_sides_are_not_exchanged() -> None:
    for labels in (PELVIS + LEGS + UPPER, IOR, WBDS, OPENCAP):
        for role in recognise_marker_set(labels).roles:
            if role.landmark.endswith(("_r", "_l")):
                assert role.label[0].lower() == role.landmark[-1]
                assert not role.body.endswith("_r" if role.landmark.endswith("_l") else "_l")


def test_spelling_does_not_matter() -> None:
    assert normalise("r_Knee.medial") == normalise("R KNEE-MEDIAL") == "RKNEEMEDIAL"
    assert recognise_marker_set([label.lower() for label in PELVIS + LEGS]).name == "plug_in_gait_lower"


def test_what_nobody_explains_is_kept_for_the_fit() -> None:
    mapping = recognise_marker_set([*PELVIS, *LEGS, "LTHX", "CUSTOM7"])
    assert mapping.unknown == ("LTHX", "CUSTOM7")
    assert mapping.role("CUSTOM7") is None


def test_anatomical_names_help_a_specific_set() -> None:
    """Medial markers under another laboratory's names, beside Plug-in Gait: understood, and said where from."""
    mapping = recognise_marker_set([*PELVIS, *LEGS, "R_FME", "L_FME"])
    assert mapping.name == "plug_in_gait_lower"
    role = mapping.role("R_FME")
    assert role is not None
    assert (role.landmark, role.source) == ("knee_medial_r", "anatomical")


def test_a_landmark_is_marked_once() -> None:
    """RFLE would be the lateral knee too, but RKNE is there: it is not understood rather than averaged."""
    mapping = recognise_marker_set([*PELVIS, *LEGS, "RFLE"])
    assert mapping.role("RFLE") is None
    assert mapping.unknown == ("RFLE",)


def test_the_closest_set_says_what_it_lacks() -> None:
    with pytest.raises(MarkerSetError, match=r"also needs .*RTOE") as caught:
        recognise_marker_set([label for label in PELVIS + LEGS if label != "RTOE"], "plug_in_gait_lower")
    assert "marker_set" in caught.value.hint
    with pytest.raises(MarkerSetError, match="no known marker set"):
        recognise_marker_set(["M1", "M2"])
    with pytest.raises(MarkerSetError, match="the file has none"):
        recognise_marker_set([])


def test_an_own_marker_set(tmp_path: Path) -> None:
    """The example of docs/marker_sets.md: a laboratory's own labels beside a library set."""
    path = tmp_path / "my_markers.toml"
    path.write_text(
        'name = "mine"\ntitle = "Our laboratory"\nextends = "plug_in_gait_lower"\n\n'
        '[[marker]]\nlabels = ["{S}KNEEIN"]\nlandmark = "knee_medial_{s}"\nbody = "femur_{s}"\nweight = 2.0\n',
        encoding="utf-8",
    )
    mapping = recognise_marker_set([*PELVIS, *LEGS, "R_KneeIn", "L_KneeIn"], str(path))
    assert (mapping.name, mapping.title, mapping.unknown) == ("mine", "Our laboratory", ())
    role = mapping.role("R_KneeIn")
    assert role is not None
    assert (role.landmark, role.body, role.weight) == ("knee_medial_r", "femur_r", 2.0)


def test_a_marker_set_that_is_not_there() -> None:
    with pytest.raises(ModelError, match=r"mine.*plug_in_gait_lower"):
        recognise_marker_set(PELVIS + LEGS, "mine")


@pytest.mark.parametrize(
    ("labels", "without", "title", "said"),
    [
        (PELVIS + LEGS, ("LTOE",), "Plug-in Gait lower body", "LTOE"),
        (PELVIS + LEGS + UPPER, ("LTOE",), "Plug-in Gait full body", "LTOE"),
        (PELVIS + LEGS + UPPER, ("RTHI", "LANK", "RTOE"), "Plug-in Gait full body", "RTHI, LANK, RTOE"),
        (PELVIS + LEGS, ("RANK",), "Plug-in Gait lower body", "RANK"),
        (IOR, ("L_FLE",), "IOR gait lower body", "L_FLE"),
        (WBDS, ("R.Knee",), "natomical", "R.Knee"),
    ],
)
def test_the_closest_set_is_the_one_that_was_worn(
    labels: list[str], without: tuple[str, ...], title: str, said: str
) -> None:
    with pytest.raises(MarkerSetError) as caught:
        recognise_marker_set([label for label in labels if label not in without])
    message = caught.value.message
    assert title in message.split(" also needs ")[0]
    lacks = message.split(" also needs ")[1].split(" (the file")[0].split(", ")
    assert len(lacks) == len(without)
    assert all(label in message for label in said.split(", "))  # named by the label, as the laboratory knows it
    assert "second closest" in message
    assert "undetermined pose" in caught.value.hint


def test_labels_of_nobody_are_not_called_a_laboratory_s() -> None:
    with pytest.raises(MarkerSetError) as caught:
        recognise_marker_set(["P01", "P02", "P03"])
    assert "Plug-in" not in caught.value.message


def test_a_refused_file_is_told_which_labels_say_nothing_and_what_their_lack_costs() -> None:
    with pytest.raises(MarkerSetError, match="unknown labels: Wand, XQ7") as caught:
        recognise_marker_set([*[label for label in PELVIS + LEGS if label != "LTOE"], "Wand", "XQ7"])
    assert "torques" in caught.value.hint


def test_keypoints_of_a_video_are_told_from_markers() -> None:
    """The joints of OpenPose and MediaPipe; a file of markers on hips, knees and ankles has a pelvis."""
    joints = ["Shoulder", "Elbow", "Wrist", "Hip", "Knee", "Ankle", "BigToe", "Heel"]
    for labels in (
        ["Nose", "Neck", *[s + j for j in joints for s in "RL"]],
        ["nose", *[f"{s}_{j.lower()}" for j in joints for s in ("left", "right")]],
    ):
        with pytest.raises(MarkerSetError) as caught:
            recognise_marker_set(labels)
        assert "keypoints" in caught.value.hint
    with pytest.raises(MarkerSetError) as caught:
        recognise_marker_set(["NOSE", "RHIP", "LHIP", "RKNEE", "LKNEE", "RASI", "LASI"])
    assert "keypoints" not in caught.value.hint
