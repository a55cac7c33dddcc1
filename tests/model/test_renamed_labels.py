"""Labels of a laboratory taught in two lines: label in the file = label of the set that it stands for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from biodyn.errors import MarkerSetError, TableError
from biodyn.library.tables import expand_sides
from biodyn.model.from_library.marker_set_table import load_marker_set
from biodyn.model.from_library.markersets import draft_marker_set, recognise_marker_set
from biodyn.model.from_library.user_tables import load_user_tables
from biodyn.settings import settings_from

LABELS = ["LASI", "RASI", "LPSI", "RPSI"]
LABELS += [s + m for s in "LR" for m in ("THI", "KNE", "TIB", "ANK", "HEE", "TOE")]


def own_set(folder: Path, text: str) -> str:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def swapped(labels: list[str], new: dict[str, str]) -> list[str]:
    return [new.get(label, label) for label in labels]


def test_two_lines_rename_a_required_label(tmp_path: Path) -> None:
    name = own_set(tmp_path, 'extends = "plug_in_gait_lower"\nrename = { "Left_Front_Corner" = "LASI" }\n')
    labels = swapped(LABELS, {"LASI": "Left_Front_Corner"})
    with pytest.raises(MarkerSetError):
        recognise_marker_set(labels)
    mapping = recognise_marker_set(labels, name)
    role = mapping.role("Left_Front_Corner")
    assert role is not None
    assert (role.landmark, role.body, role.weight) == ("asis_l", "pelvis", 5.0)
    assert mapping.unknown == ()
    assert mapping.name == "own"
    assert "own.toml" in mapping.title
    assert mapping.scores["own"] == recognise_marker_set(LABELS).scores["plug_in_gait_lower"]


def test_both_sides_in_one_line(tmp_path: Path) -> None:
    name = own_set(tmp_path, 'extends = "plug_in_gait_lower"\n[rename]\n"Knee ({S})" = "{S}KNE"\n')
    mapping = recognise_marker_set(swapped(LABELS, {"LKNE": "Knee (L)", "RKNE": "Knee (R)"}), name)
    assert {r.label: r.landmark for r in mapping.roles if r.landmark.startswith("knee")} == {
        "Knee (L)": "knee_lateral_l",
        "Knee (R)": "knee_lateral_r",
    }


def test_labels_can_change_places(tmp_path: Path) -> None:
    name = own_set(tmp_path, 'extends = "plug_in_gait_lower"\n[rename]\nLTHI = "LKNE"\nLKNE = "LTHI"\n')
    mapping = recognise_marker_set(LABELS, name)
    assert {label: mapping.role(label).landmark for label in ("LTHI", "LKNE", "RKNE")} == {  # type: ignore[union-attr]
        "LTHI": "knee_lateral_l",
        "LKNE": "thigh_wand_l",
        "RKNE": "knee_lateral_r",
    }


def test_a_renamed_label_goes_before_one_of_the_same_name(tmp_path: Path) -> None:
    name = own_set(tmp_path, 'extends = "plug_in_gait_lower"\n[rename]\nHIPFRONT = "LASI"\n')
    mapping = recognise_marker_set([*LABELS, "HIPFRONT"], name)
    assert mapping.role("HIPFRONT").landmark == "asis_l"  # type: ignore[union-attr]
    assert mapping.role("LASI") is None


def test_renaming_of_a_renamed_set(tmp_path: Path) -> None:
    (tmp_path / "parent.toml").write_text(
        'extends = "plug_in_gait_lower"\n[rename]\nHIPFRONT = "LASI"\n', encoding="utf-8"
    )
    name = own_set(tmp_path, 'extends = "parent.toml"\n[rename]\nNEW = "HIPFRONT"\n"KNEE" = "LKNE"\n')
    mapping = recognise_marker_set(swapped(LABELS, {"LASI": "NEW", "LKNE": "KNEE"}), name)
    assert mapping.unknown == ()


def test_what_the_extending_set_says_goes_first(tmp_path: Path) -> None:
    name = own_set(
        tmp_path,
        'extends = "plug_in_gait_lower"\n[[marker]]\nlabels = ["{S}THI"]\nlandmark = "thigh_wand_{s}"\n'
        'body = "femur_{s}"\nweight = 0.0\n',
    )
    role = recognise_marker_set(LABELS, name).role("LTHI")
    assert role is not None
    assert role.weight == 0.0
    keys = [key for entry in load_marker_set(name).entries for key in entry.keys]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("rename", "said"),
    [
        ('HIP = "LASY"', r"own\.toml.*\[rename\].*LASY.*Did you mean 'LASI'"),
        ('LTHI = "LKNE"', r"LTHI.*no label remains"),
        ('HIP = "LASI"\n"H I P" = "RASI"', "renamed to two"),
        ("HIP = 3", r"'rename\.HIP'.*text"),
    ],
)
def test_an_impossible_renaming_is_said(rename: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=said):
        load_marker_set(own_set(tmp_path, f'extends = "plug_in_gait_lower"\n[rename]\n{rename}\n'))


# -- a file to start from -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        [f"My {label}" for label in LABELS],
        ["Left_Front_Hip", *LABELS[1:], 'quote"d\\', "tab\tline\nend", "*12", "Müller"],
        [],
    ],
)
def test_a_written_set_loads_as_it_stands(labels: list[str], tmp_path: Path) -> None:
    text = draft_marker_set(labels, "walk.c3d", "own.toml")
    name = own_set(tmp_path, text)
    assert load_user_tables(settings_from({"model": {"marker_set": name}}).table_names)[0].content["rename"] == {}
    # every proposal loads too, once its '#' is taken away and its question answered
    proposals = [line[2:] for line in text.splitlines() if line.startswith('# "')]
    for line in proposals:
        assert len(tomllib.loads(line.replace('"?"', '"LASI"'))) == 1


def test_a_written_set_proposes_what_reads_alike(tmp_path: Path) -> None:
    text = draft_marker_set(swapped(LABELS, {"LASI": "LASI_1", "RKNE": "R_Knee_Lateral"}), "walk.c3d", "own.toml")
    assert '# "LASI_1" = "LASI"' in text
    assert '# "R_Knee_Lateral" = "RKNE"' in text
    name = own_set(tmp_path, text.replace('# "LASI_1"', '"LASI_1"').replace('# "R_Knee', '"R_Knee'))
    assert recognise_marker_set(swapped(LABELS, {"LASI": "LASI_1", "RKNE": "R_Knee_Lateral"}), name).unknown == ()


def test_both_sides_of_a_pair_are_written_out() -> None:
    assert [pair for _, pair in expand_sides(["My {S}KNE", "{S}KNE"])] == [["My RKNE", "RKNE"], ["My LKNE", "LKNE"]]
