"""Labels read word by word: sides by their mirror images, meanings by all labels of the file, doubt said."""

from __future__ import annotations

import pytest
from support.benchmark import load
from support.marker_corpus import cases, gathered

from biodyn.model.from_library.label_reading.label_resolution import read_labels
from biodyn.model.from_library.label_reading.spelling import mirror_label


def landmarks(labels: list[str]) -> dict[str, str]:
    reading = read_labels(labels)
    return {label: point.landmark for label, point in reading.points.items()}


def both(*stems: str) -> list[str]:
    return [side + stem for stem in stems for side in "RL"]


def test_a_side_is_told_by_the_label_of_the_other_side() -> None:
    """LLKN begins with its side because RLKN is there; KNEL and KNER would end with it."""
    found = landmarks(both("LKN", "MKN", "LAK", "MAK", "ASI"))
    assert (found["LLKN"], found["LMKN"], found["RLAK"]) == ("knee_lateral_l", "knee_medial_l", "ankle_lateral_r")
    found = landmarks([stem + side for stem in ("ASIS", "KNE", "ANK", "HEE", "TOE") for side in "LR"])
    assert (found["KNEL"], found["ASISR"]) == ("knee_lateral_l", "asis_r")
    found = landmarks(both("KNEL", "KNEM", "MALL", "MALM", "ASI"))
    assert (found["LKNEL"], found["RMALM"]) == ("knee_lateral_l", "ankle_medial_r")


@pytest.mark.parametrize(
    ("right", "left", "landmark"),
    [
        ("R_Knee_Med", "L_Knee_Med", "knee_medial"),
        ("RKneeMedial", "LKneeMedial", "knee_medial"),
        ("MedKneeR", "MedKneeL", "knee_medial"),
        ("KneeLatR", "KneeLatL", "knee_lateral"),
        ("Right Lateral Malleolus", "Left Lateral Malleolus", "ankle_lateral"),
        ("genou_int_D", "genou_int_G", "knee_medial"),
        ("Knöchel außen re", "Knöchel außen li", "ankle_lateral"),
        ("dx.Malleolo.mediale", "sx.Malleolo.mediale", "ankle_medial"),
        ("rodilla-ext-der", "rodilla-ext-izq", "knee_lateral"),
        ("R5thMet", "L5thMet", "met5"),
        ("R_1MTH", "L_1MTH", "met1"),
        ("EIAS_D", "EIAS_G", "asis"),
        ("MFK5_re", "MFK5_li", "met5"),
        ("R.Mittelfuss.1", "L.Mittelfuss.1", "met1"),
        ("GranTrocantere.dx", "GranTrocantere.sx", "trochanter"),
        ("metatarso der", "metatarso izq", "toe"),
        ("R_WTS", "L_WTS", "wrist_radial"),
        ("右膝外側", "左膝外側", "knee_lateral"),
        ("右内果", "左内果", "ankle_medial"),
        ("右上前腸骨棘", "左上前腸骨棘", "asis"),
        ("右髂前上棘", "左髂前上棘", "asis"),
        ("右踵", "左踵", "heel"),
        ("Ｒ膝内", "Ｌ膝内", "knee_medial"),
    ],
)
def test_orders_languages_and_separators(right: str, left: str, landmark: str) -> None:
    found = landmarks([right, left, "C7"])
    assert (found[right], found[left]) == (f"{landmark}_r", f"{landmark}_l")


def test_a_letter_that_means_by_contrast_needs_the_contrast() -> None:
    found = landmarks(both("KNE", "KNI", "ANE", "ANI", "HEE"))
    assert (found["RKNE"], found["RKNI"], found["LANI"]) == ("knee_lateral_r", "knee_medial_r", "ankle_medial_l")
    assert "RANI" not in landmarks(both("ANI", "HEE", "ASI"))


def test_letters_that_mean_something_beside_others_only() -> None:
    """Visual3D's MK and MA are the medial side beside LK and LA; MA alone is the malleolus, which is the lateral one."""
    found = landmarks(both("ASIS", "LK", "MK", "LA", "MA"))
    assert (found["RMK"], found["LLK"], found["LMA"]) == ("knee_medial_r", "knee_lateral_l", "ankle_medial_l")
    assert landmarks(both("ASIS", "MA"))["RMA"] == "ankle_lateral_r"
    assert "RMK" not in landmarks(both("ASIS", "MK"))


def test_a_number_behind_every_label_is_none_of_the_markers() -> None:
    legs = both(*(f"{word}1" for word in ("ASI", "PSI", "KNE", "ANK", "HEE")))
    found = landmarks([*legs, "C7", "T10"])
    assert (found["RHEE1"], found["LASI1"], found["C7"]) == ("heel_r", "asis_l", "c7")
    assert landmarks(both("ASI", "PSI", "KNE", "ANK", "HEE1", "HEE2"))["RHEE1"] == ""  # two on one heel


def test_what_could_be_two_things_marks_neither_and_is_named() -> None:
    reading = read_labels(["LSHO", "RSHO", "STERNUM"])
    assert reading.ambiguous["STERNUM"] == ("xiphoid", "suprasternale")
    assert reading.points["STERNUM"].landmark == ""  # it rides on the trunk, whichever it is
    assert landmarks(["CLAV", "STRN"])["STRN"] == "xiphoid"
    assert landmarks(["XYPH", "STRN"])["STRN"] == "suprasternale"


def test_a_clearer_label_goes_first() -> None:
    reading = read_labels(both("KNE", "KNEL", "KNEM"))
    assert reading.points["RKNEL"].landmark == "knee_lateral_r"
    assert reading.repeated["RKNE"] == "knee_lateral_r"
    assert landmarks(both("TOE", "MT2"))["RMT2"] == "toe_r"


def test_an_elbow_where_no_arm_is_marked_is_not_believed() -> None:
    legs = both("ASIS", "PSIS", "LFC", "MFC", "LMA", "MMA")
    assert "RLHE" not in landmarks([*legs, *both("LHE")])
    assert landmarks([*legs, *both("LHE", "MHE", "WRA")])["RLHE"] == "elbow_lateral_r"


def test_words_that_say_nothing_stay_unknown() -> None:
    reading = read_labels(["WAND1", "Box_01", "XQ7", "RABBIT", "LABEL", "P01", "", "*12"])
    assert reading.points == {}
    assert reading.ambiguous == {}


@pytest.mark.parametrize(
    ("label", "side", "other"),
    [("R_Heel", "r", "L_Heel"), ("heel.Left", "l", "heel.Right"), ("ASISr", "r", "ASISl"), ("C7", "r", "")],
)
def test_the_label_of_the_other_side_in_the_same_spelling(label: str, side: str, other: str) -> None:
    assert mirror_label(label, side) == other


def test_a_small_part_of_the_corpus() -> None:
    """A small version of benchmarks/recognition.py."""
    recognition = load("recognition")
    total = recognition.tally(cases(150, seed=11))
    assert total.share("right") >= 0.99
    assert total.labels["wrong"] == 0, total.faults
    for half in ("held", "fresh"):  # laboratories by which no rule was chosen
        part = recognition.tally(recognition.independent(half))
        assert part.share("right") >= 0.95
        assert part.labels["wrong"] == 0, part.faults


def test_an_epicondyle_is_the_elbow_s_where_the_knee_is_marked_otherwise() -> None:
    """LEP and LE are the knee's in a file of legs; beside LFC or KNE they are the elbow's."""
    legs = both("ASI", "PSI", "LMAL", "MMAL", "MT5")
    assert landmarks([*legs, *both("LEP", "MEP")])["RMEP"] == "knee_medial_r"
    for lateral, medial in (("LEP", "MEP"), ("LE", "ME")):
        found = landmarks([*both(lateral, medial), *legs, *both("LFC", "MFC")])
        assert (found[f"R{lateral}"], found[f"L{medial}"]) == ("elbow_lateral_r", "elbow_medial_l")
        assert (found["RLFC"], found["LMFC"]) == ("knee_lateral_r", "knee_medial_l")
    assert landmarks([*legs, *both("KNE", "LEP")])["LLEP"] == "elbow_lateral_l"
    assert landmarks([*legs, *both("HEL")])["RHEL"] == "heel_r"
    assert landmarks([*legs, *both("CAL", "HEL")])["RHEL"] == "elbow_lateral_r"


def test_in_and_out_do_not_tell_the_sides_of_a_wrist() -> None:
    """Laboratories mean either styloid by them; on knee and ankle they say medial and lateral."""
    reading = read_labels(both("WristIn", "WristOut", "ElbowOut", "KneeIn", "KneeOut"))
    assert {reading.points[label].landmark for label in both("WristIn", "WristOut")} == {""}
    assert {reading.points[label].body for label in ("RWristIn", "RWristOut")} == {"radius_r"}
    assert reading.points["RKneeIn"].landmark == "knee_medial_r"
    assert reading.points["LElbowOut"].landmark == "elbow_lateral_l"


@pytest.mark.parametrize(
    ("labels", "landmark"),
    [
        (["R5TH", "L5TH"], "met5_r"),
        (["R2ND", "L2ND"], "toe_r"),
        (["R_first", "L_first"], "met1_r"),
        (["R_TOE_5_MET", "L_TOE_5_MET"], "met5_r"),
        (["RightFifthMetatarsal", "LeftFifthMetatarsal"], "met5_r"),
        (["WaistRFront", "WaistLFront"], "asis_r"),
        (["R_Waist_Back", "L_Waist_Back"], "psis_r"),
        (["WaistBack", "R_ASIS", "L_ASIS"], "sacrum"),
        (["Psis", "R_Asis", "L_Asis"], "sacrum"),
        (["Rt Hip Front", "Lt Hip Front"], "asis_r"),
        (["SpineThoracic12", "SpineThoracic2"], "t12"),
        (["C7_TOP_SPINE"], "c7"),
        (["RShoulderTop", "LShoulderTop"], "acromion_r"),
        (["RxAsis", "LxAsis"], "asis_r"),
        (["R_D5MT", "L_D5MT"], "met5_r"),
    ],
)
def test_waist_spine_and_numbers_written_out(labels: list[str], landmark: str) -> None:
    assert landmarks(labels)[labels[0]] == landmark


def test_a_segment_s_name_before_a_landmark_says_nothing_more() -> None:
    found = landmarks(["Pelvis_R_ASIS", "Pelvis_L_ASIS", "Trunk_C7", "Foot_R_Heel", "Foot_L_Heel"])
    assert (found["Pelvis_L_ASIS"], found["Trunk_C7"], found["Foot_R_Heel"]) == ("asis_l", "c7", "heel_r")


def test_of_several_wands_on_a_segment_one_is_the_wand_and_the_others_follow_it() -> None:
    reading = read_labels(both("Thigh_Front", "Thigh_Back", "Thigh_Top", "ASIS", "KNE"))
    points = [reading.points[label] for label in both("Thigh_Front", "Thigh_Back", "Thigh_Top")]
    assert {point.body for point in points} == {"femur_r", "femur_l"}
    assert all(point.landmark in ("", "thigh_wand_r", "thigh_wand_l") for point in points)


def test_epicondyles_named_alike_go_with_one_another() -> None:
    """EPI is knee or elbow: with ELB on the lateral side of the elbow, MEPI is the medial side of the knee or nobody's."""
    legs = both("ASI", "PSI", "LMAL", "MMAL")
    found = landmarks([*legs, *both("LEPI", "MEPI")])
    assert (found["RLEPI"], found["RMEPI"]) == ("knee_lateral_r", "knee_medial_r")
    found = landmarks([*legs, *both("KNE", "LEPI", "MEPI", "WRA")])
    assert (found["RLEPI"], found["RMEPI"]) == ("elbow_lateral_r", "elbow_medial_r")


def test_sh_is_the_shoulder_or_the_shank() -> None:
    legs = both("SH", "ASI", "PSI", "KNE", "ANK")
    assert landmarks(legs)["RSH"] == "shank_wand_r"
    assert "RSH" in read_labels([*legs, "C7"]).ambiguous
    assert "RSH" in read_labels([*legs, *both("ELB")]).ambiguous
    assert landmarks(both("SH", "ELB", "WRA", "SHANK", "KNE"))["RSH"] == "acromion_r"


@pytest.mark.parametrize(
    ("group", "count", "share", "wrong", "refused"),
    [
        # wrong are the joints of two lists of keypoints, which are refused, and a forearm marker named as IOR names the ankle's
        ("mended", 54, 0.96, 22, 0),
        # opened once after that: 85 % right, 6 wrong, 5 of 19 refused; mended since
        ("held", 27, 0.95, 0, 0),
        # gathered after that: 88 % right, 11 wrong, 1 of 10 refused (its sacrum is "sa"); mended since
        ("later", 16, 0.92, 1, 1),
    ],
)
def test_lists_gathered_after_the_rules_stood(group: str, count: int, share: float, wrong: int, refused: int) -> None:
    recognition = load("recognition")
    total = recognition.tally(recognition.as_they_are(gathered(group)))
    assert total.cases == count
    assert total.share("right") >= share
    assert total.labels["wrong"] <= wrong, total.faults
    assert total.refused_wrongly <= refused


def test_a_bare_joint_gives_way_to_its_sides() -> None:
    """Elbow and wrist beside their lateral and medial sides are something else (a keypoint, a technical marker)."""
    found = landmarks(both("Elbow", "ElbowLat", "ElbowMed", "Wrist", "WristLat", "WristMed"))
    assert (found["RElbowLat"], found["LWristLat"]) == ("elbow_lateral_r", "wrist_radial_l")
    assert not {"RElbow", "LWrist"}.intersection(found)
    assert landmarks(both("Elbow", "Wrist"))["RElbow"] == "elbow_lateral_r"


@pytest.mark.parametrize(
    ("right", "left", "landmark"),
    [
        ("Höger knä lateralt", "Vänster knä lateralt", "knee_lateral"),
        ("HögerHäl", "VänsterHäl", "heel"),
        ("Knä_inre_H", "Knä_inre_V", "knee_medial"),
        ("hoger_fotled", "vanster_fotled", "ankle_lateral"),
        ("højre knæ", "venstre knæ", "knee_lateral"),
        ("H_tå", "V_tå", "toe"),
        ("høyre ankel indre", "venstre ankel indre", "ankle_medial"),
        ("HoyreHael", "VenstreHael", "heel"),
        ("oikea_kantapää", "vasen_kantapää", "heel"),
        ("OikeaNilkka", "VasenNilkka", "ankle_lateral"),
        ("Kolano_P", "Kolano_L", "knee_lateral"),
        ("prawa pięta", "lewa pięta", "heel"),
        ("prawy łokieć", "lewy łokieć", "elbow_lateral"),
        ("kostka_przyśrodkowa_P", "kostka_przyśrodkowa_L", "ankle_medial"),
        ("kolec biodrowy przedni górny prawy", "kolec biodrowy przedni górny lewy", "asis"),
        ("pravá pata", "levá pata", "heel"),
        ("Koleno_vnitřní_P", "Koleno_vnitřní_L", "knee_medial"),
        ("SağTopuk", "SolTopuk", "heel"),
        ("sağ diz iç", "sol diz iç", "knee_medial"),
        ("Sağ diz dış", "Sol diz dış", "knee_lateral"),
        ("sağ ayak bileği", "sol ayak bileği", "ankle_lateral"),
    ],
)
def test_languages_of_the_north_of_poland_bohemia_and_turkey(right: str, left: str, landmark: str) -> None:
    found = landmarks([right, left, "C7"])
    assert (found[right], found[left]) == (f"{landmark}_r", f"{landmark}_l")


def test_a_letter_that_is_left_in_one_language_names_no_right_side_of_another() -> None:
    """P is right beside L in Polish; where R is beside L, PS1 is on the pelvis or unknown, not on the right shank."""
    plates = [f"{side}S{number}" for side in "RLP" for number in "123"]
    assert not {"PS1", "PS2", "PS3"}.intersection(
        label for label, point in read_labels([*plates, *both("ASI", "KNE")]).points.items() if point.body == "tibia_r"
    )
    assert landmarks(["PKNE", "LKNE"]) == {"PKNE": "knee_lateral_r", "LKNE": "knee_lateral_l"}


def test_a_side_spelt_out_counts_where_the_other_side_is_missing() -> None:
    """One marked leg, and a pelvis whose markers name their sides by a letter."""
    found = landmarks([*both("ASI", "PSI", "ASIMID"), "Right_Hombro", "Right_KneeExt", "Right_Meta"])
    assert (found["Right_Hombro"], found["Right_KneeExt"]) == ("acromion_r", "knee_lateral_r")
