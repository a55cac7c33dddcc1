"""A user's own table is held against a schema and the names there are: what is wrong is said in one sentence."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from simulator.person import Person, embody

from biodyn.errors import BiodynError, SettingsError, TableError
from biodyn.library.schema import SCHEMAS
from biodyn.library.tables import entry_names, library_entry
from biodyn.library.toml_files import load_table, read_user_toml, resolve_table_name, suggest_name
from biodyn.model.from_library.user_tables import TableChoice, load_user_tables
from biodyn.settings import Settings, settings_from

LIBRARY = files("biodyn.library")
DEFAULT = Settings().table_names
RENAME = 'extends = "plug_in_gait_full"\n[rename]\n"Left_Front_Hip" = "LASI"\n'
MARKER = 'extends = "plug_in_gait_lower"\n[[marker]]\nlabels = ["{S}KIN"]\nlandmark = "knee_medial_{s}"\nbody = "femur_{s}"\n'
HIP = "x = { PD = -0.2, constant = 0.0 }\ny = { PW = -0.3 }\nz = { PW = 0.3 }\n"


def library_text(name: str) -> str:
    return (LIBRARY / f"{name}.toml").read_text(encoding="utf-8")


TEXTS = {
    "marker_set": library_text("body/markersets/plug_in_gait_lower"),
    "anthropometry": library_text("body/anthropometry/winter_2009"),
    "skeleton": library_text("body/skeletons/full_body"),
    "hip_centre": HIP,
    "magnitudes": library_text("uncertainty/magnitudes"),
}


def choice(folder: Path, entry: str, text: str | bytes) -> TableChoice:
    """The default tables with one of the user's own."""
    path = folder / "own.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return replace(DEFAULT, **{entry: str(path)})


@pytest.mark.parametrize("kind", ["skeletons", "markersets", "anthropometry"])
def test_the_library_s_entries_have_names_and_sources(kind: str) -> None:
    for name in entry_names(kind):
        table = library_entry(kind, name)
        assert table["name"] == name
        assert table["title"]
        assert table["citation"]


def test_every_hip_regression_could_be_a_user_s() -> None:
    for row in load_table("body/joint_centres/hip").values():
        SCHEMAS["hip_centres"].model_validate(row)


@pytest.mark.parametrize("entry", TEXTS)
def test_a_copy_of_the_library_is_a_table_of_one_s_own(entry: str, tmp_path: Path) -> None:
    (file,) = load_user_tables(choice(tmp_path, entry, TEXTS[entry]))
    assert file.path == tmp_path / "own.toml"
    assert file.data == TEXTS[entry].encode()
    with_mark = choice(tmp_path, entry, b"\xef\xbb\xbf" + TEXTS[entry].encode())
    assert load_user_tables(with_mark)[0].content == file.content


CASES = [
    # typos in keys
    (
        "marker_set",
        ('[[marker]]\nlabels = ["{S}KNE"]\nlandmark', '[[marker]]\nlabels = ["{S}KNE"]\nlandmrk'),
        ("5 ({S}KNE)", "'landmrk'", "Did you mean 'landmark'"),
    ),
    (
        "marker_set",
        ('body = "femur_{s}"\nweight = 0.5', "weight = 0.5"),
        ("[[marker]] 4 ({S}THI)", "'body'", "missing"),
    ),
    ("anthropometry", ('name = "thigh"\nbody', 'name = "thigh"\nbdy'), ("[[segment]] 4 (thigh)", "'bdy'", "'body'")),
    ("anthropometry", ('[[segment]]\nname = "foot"', '[[segmnt]]\nname = "foot"'), ("'segmnt'", "'segment'")),
    ("skeleton", ('joint = "neck"\n', ""), ("[[body]] 6 (head)", "'joint'", "missing")),
    ("hip_centre", ("PD =", "PDX ="), ("'x.PDX'", "PD")),
    ("magnitudes", ("sd_hz", "sd_hs"), ("'cutoff.sd_hs'", "sd_hz")),
    # names that do not exist
    (
        "marker_set",
        ('landmark = "heel_{s}"', 'landmark = "heal_{s}"'),
        ("({S}HEE)", "no landmark 'heal_r'", "'heel_r'"),
    ),
    ("marker_set", ('body = "calcn_{s}"', 'body = "calcaneus_{s}"'), ("no body 'calcaneus_r'", "'calcn_r'")),
    (
        "anthropometry",
        ('to = "knee_centre_{s}"', 'to = "knee_center_{s}"'),
        ("(thigh)", "'to'", "knee_center_r", "'knee_centre_r'"),
    ),
    ("anthropometry", ('body = "head"', 'body = "hed"'), ("(head neck)", "no body 'hed'", "'head'")),
    ("skeleton", ('origin = "neck_base"', 'origin = "nek_base"'), ("6 (head)", "'origin'", "'neck_base'")),
    ("skeleton", ('width = "foot_width_{s}"', 'width = "foot_with_{s}"'), ("sole.width", "'foot_width_r'")),
    (
        "skeleton",
        ('coordinate = "knee_angle_{s}", known', 'coordinate = "knee_angel_{s}", known'),
        ("knee_angel_r", "'knee_angle_r'"),
    ),
    ("magnitudes", ("torso = 1.8", "trunk = 1.8"), ("sd_mm.trunk", "no body 'trunk'")),
    (
        "magnitudes",
        ('believed = ["torso", "humerus_{s}"]', 'believed = ["tibia_{s}"]'),
        ("joint_centres", "tibia_{s}", "either a number in 'sd_mm' or 'believed'"),
    ),
    ("magnitudes", ('believed = ["torso"', 'believed = ["trunk"'), ("believed", "no believed centre 'trunk'")),
    (
        "anthropometry",
        ('to = "knee_centre_{s}"', 'to = "knee_centre_{s}"\ny = ["knee_centre_{s}", "hip_centre_{s}"]'),
        ("(thigh)", "'y' needs an 'origin'"),
    ),
    (
        "anthropometry",
        ('to = "knee_centre_{s}"', 'to = "knee_centre_{s}"\ny = ["knee_centre_{s}"]'),
        ("(thigh)", "'y.2'"),
    ),
    # wrong types and impossible numbers
    ("marker_set", ("weight = 5.0", "weight = -5.0"), ("1 ({S}ASI)", "'weight'", "from 0 to 1000", "found -5")),
    ("marker_set", ("weight = 5.0", "weight = nan"), ("'weight'", "from 0 to 1000", "found nan")),
    ("marker_set", ("weight = 5.0", 'weight = "5"'), ("'weight'", "a number", "found '5'")),
    ("marker_set", ('labels = ["SACR"]', 'labels = "SACR"'), ("3 (SACR)", "'labels'", "a list", "found 'SACR'")),
    ("marker_set", ('labels = ["SACR"]', "labels = []"), ("'labels'", "at least 1")),
    ("marker_set", ("static_only = true", "static_only = 1"), ("'static_only'", "true or false")),
    ("marker_set", ('labels = ["SACR"]', 'labels = ["RASI"]'), ("two markers", "'RASI'")),
    ("marker_set", ('labels = ["{S}HEE"]', 'labels = ["HEE"]'), ("'HEE' is the same for both sides", "{S}")),
    (
        "anthropometry",
        ("mass = 0.1,", "mass = -0.1,"),
        ("(thigh)", "'male.mass'", "above 0 and at most 1", "found -0.1"),
    ),
    ("anthropometry", ("mass = 0.1,", "mass = 10.0,"), ("'male.mass'", "at most 1", "found 10")),
    (
        "anthropometry",
        ("male = { mass = 0.1,", "male = { mass = 0.4,"),
        ("male.mass", "over all segments of both sides is 1.6", "0.9 to 1.1"),
    ),
    ("anthropometry", ("radii = [0.323, 0.149, 0.323]", "radii = [0.323, 0.149]"), ("'male.radii'", "at least 3")),
    ("anthropometry", ("com = 0.433", "com = inf"), ("(thigh)", "'com'", "found inf")),
    ("skeleton", ('axis = "x"', 'axis = "w"'), ("'axis'", "x, y, z", "'w'")),
    ("skeleton", ("range_deg = [-40.0, 130.0]", "range_deg = [130.0, -40.0]"), ("range_deg", "must increase")),
    ("skeleton", ('parent = "torso"\njoint = "neck"', 'parent = "trso"\njoint = "neck"'), ("parents of head",)),
    ("hip_centre", ("-0.2,", "1e20,"), ("'x.PD'", "from -1 to 1", "found 1e+20")),
    ("hip_centre", ("PW = 0.3 }", "PW = 3.0 }"), ("'z.PW'", "from -1 to 1", "found 3")),
    ("hip_centre", ("{ PW = -0.3 }", "{}"), ("'y'", "at least 1")),
    ("anthropometry", ("com = 0.433", "com = 4.33"), ("(thigh)", "'com'", "from -0.5 to 1.5", "found 4.33")),
    (
        "skeleton",
        ('axis = "x", coordinate = "hip_ad', 'axis = "z", coordinate = "hip_ad'),
        ("(femur_{s})", "same axis"),
    ),
    ("skeleton", ('["z", "asis_l", "asis_r"]', '["z", "asis_l", "asis_l"]'), ("1 (pelvis)", "'asis_l' twice")),
    ("skeleton", ('front = "toe_tip_{s}"', 'front = "heel_back_{s}"'), ("(calcn_{s})", "'sole'")),
    ("hip_centre", ("z = { PW = 0.3 }", ""), ("'z' is missing",)),
    ("magnitudes", ("shares = [0.3, 0.5, 0.2]", "shares = [0.3, 0.5]"), ("shares", "must be 1", "0.8")),
    ("magnitudes", ("sd_mm = 0.3", "sd_mm = -0.3"), ("'marker_noise.sd_mm'", "from 0 to 200")),
]


@pytest.mark.parametrize(("entry", "change", "said"), CASES)
def test_a_wrong_entry_is_named(entry: str, change: tuple[str, str], said: tuple[str, ...], tmp_path: Path) -> None:
    assert change[0] in TEXTS[entry]
    with pytest.raises(BiodynError) as caught:
        load_user_tables(choice(tmp_path, entry, TEXTS[entry].replace(change[0], change[1], 1)))
    text = str(caught.value)
    assert "\n" not in text
    assert [word for word in ("own.toml", *said) if word not in text] == [], text


@pytest.mark.parametrize("entry", TEXTS)
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", ""),
        (b'name = "mine"\n', ""),
        ("# Müller\n".encode("latin-1"), "UTF-8"),
        ("name = 'mine'\n".encode("utf-16"), "UTF-8"),
        (b'name = "a\\u0000b"\n', "control character"),
        (b'"a\\u0000b" = 1\n', "control character"),
        (b"a = " + b"[" * 100_000, "not a valid TOML|too deeply"),
        (b"a = " + b"[" * 300 + b"]" * 300, "too deeply"),
        (b".".join([b"a"] * 3000) + b" = 1", "too deeply"),
        (b"a = " + b"9" * 5000, "not a valid TOML"),
        (b"[[marker", "not a valid TOML"),
    ],
)
def test_no_table_at_all(entry: str, data: bytes, said: str, tmp_path: Path) -> None:
    import re

    with pytest.raises(TableError) as caught:
        load_user_tables(choice(tmp_path, entry, data))
    assert "own.toml" in str(caught.value)
    assert re.search(said, str(caught.value))


def test_places_that_hold_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    for path in (
        tmp_path / "folder.toml",
        tmp_path / "none.toml",
        f"{tmp_path}/{'x' * 5000}.toml",
        "a\0b.toml",
        "~nobody-here/x.toml",
    ):
        with pytest.raises(TableError):
            read_user_toml(path, "table")
        with pytest.raises(BiodynError):
            load_user_tables(replace(DEFAULT, marker_set=str(path)))
    big = tmp_path / "big.toml"
    big.write_bytes(b"#" * 6_000_000)
    with pytest.raises(TableError, match="MB"):
        read_user_toml(big, "table")


@pytest.mark.parametrize(
    ("entry", "own"),
    [("marker_set", 'extends = "{0}.toml"\n'), ("skeleton", 'extends = "{0}.toml"\nfree = ["pelvis"]\n')],
)
def test_a_circle_of_files_is_said(entry: str, own: str, tmp_path: Path) -> None:
    for name, parent in (("a", "b"), ("b", "c"), ("c", "a")):
        (tmp_path / f"{name}.toml").write_text(own.format(parent), encoding="utf-8")
    with pytest.raises(TableError, match="circular reference"):
        load_user_tables(replace(DEFAULT, **{entry: str(tmp_path / "a.toml")}))


def test_an_extended_file_lies_beside_the_one_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "child.toml").write_text('extends = "../parent.toml"\n', encoding="utf-8")
    (tmp_path / "parent.toml").write_text(RENAME, encoding="utf-8")
    found = load_user_tables(replace(DEFAULT, marker_set=str(tmp_path / "deep" / "child.toml")))
    assert [file.name for file in found] == ["child.toml", "parent.toml"]
    (tmp_path / "parent.toml").write_text(RENAME.replace("LASI", "LASY"), encoding="utf-8")
    with pytest.raises(TableError, match=r"parent\.toml.*LASY.*LASI"):
        load_user_tables(replace(DEFAULT, marker_set=str(tmp_path / "deep" / "child.toml")))


@pytest.mark.parametrize(
    ("entry", "text", "said"),
    [
        ("marker_set", 'extends = "plug_in_gait_ful"\n', ("own.toml", "'extends'", "Did you mean 'plug_in_gait_full'")),
        ("marker_set", 'extends = "parent.toml"\n', ("own.toml", "'extends'", "no file", "parent.toml")),
        ("skeleton", 'extends = "ful_body"\nfree = ["pelvis"]\n', ("own.toml", "'extends'", "'full_body'")),
        ("skeleton", 'extends = "full_body"\nfree = ["pelvs"]\n', ("own.toml", "pelvs", "Did you mean 'pelvis'")),
        ("skeleton", 'extends = "full_body"\nfree = ["head"]\n', ("own.toml", "pelvis", "'free'")),
        ("anthropometry", 'extends = "de_leva_1969"\n', ("own.toml", "'extends'", "'de_leva_1996'")),
        (
            "anthropometry",
            'extends = "winter_2009"\nacross = "dumas_2006"\n',
            ("own.toml", "'across'", "'dumas_2006'", "'dumas_2007'"),
        ),
        ("anthropometry", 'across = "dumas_2007"\n', ("own.toml", "[[segment]]", "'extends'")),
    ],
)
def test_what_is_extended_must_be_there(entry: str, text: str, said: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(BiodynError) as caught:
        load_user_tables(choice(tmp_path, entry, text))
    assert [word for word in said if word not in str(caught.value)] == [], str(caught.value)


def test_masses_of_one_s_own_lie_across_the_segments_as_another_table_says(tmp_path: Path) -> None:
    """Rows of one's own, or those of an extended table, with the same mass centres across: the same body."""
    own = choice(tmp_path, "anthropometry", 'across = "dumas_2007"\n' + TEXTS["anthropometry"])
    (file,) = load_user_tables(own)
    short = tmp_path / "short.toml"
    short.write_text('extends = "winter_2009"\nacross = "dumas_2007"\n', encoding="utf-8")
    assert len(load_user_tables(replace(DEFAULT, anthropometry=str(short)))) == 1
    person = Person("Nina", height_m=1.70, mass_kg=65.0, sex="female")
    names = (str(file.path), str(short), "winter_2009")
    one, other, plain = (embody(replace(person, anthropometry=name)).model for name in names)
    for a, b, c in zip(one.bodies, other.bodies, plain.bodies, strict=True):
        np.testing.assert_array_equal(a.inertia.com, b.inertia.com)
        np.testing.assert_array_equal(a.inertia.tensor, c.inertia.tensor)
    thigh = [model.bodies[1].inertia.com for model in (one, plain)]
    assert one.bodies[1].definition.name.startswith("femur")
    assert thigh[0][0] < thigh[1][0] - 0.01  # behind the line from hip to knee


def test_a_landmark_of_one_s_own_needs_both_sides(tmp_path: Path) -> None:
    """A marker set may bring a landmark that the library does not know only where another own table uses it."""
    markers = MARKER.replace("knee_medial_{s}", "my_point_{s}")
    with pytest.raises(TableError, match="my_point_r"):
        load_user_tables(choice(tmp_path, "marker_set", markers))
    table = tmp_path / "masses.toml"
    table.write_text(TEXTS["anthropometry"].replace('to = "knee_centre_{s}"', 'to = "my_point_{s}"'), encoding="utf-8")
    assert len(load_user_tables(replace(choice(tmp_path, "marker_set", markers), anthropometry=str(table)))) == 2


def test_nearest_names() -> None:
    assert suggest_name("knee_medal_r", ["knee_medial_r", "heel_r"]).startswith("Did you mean 'knee_medial_r'?")
    assert suggest_name("lasi", ["LASI"]).startswith("Did you mean 'LASI'?")
    assert suggest_name("x", []) == "Valid names: none."


# -- settings -----------------------------------------------------------------------------------------------------


def test_a_table_lies_beside_the_settings_that_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes(b'\xef\xbb\xbf[model]\nmarker_set = "own.toml"\n[uncertainty]\nmagnitudes = "mine.toml"\n')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    found = settings_from(Path("../settings.toml"))
    assert Path(found.model.marker_set).resolve() == (tmp_path / "own.toml").resolve()
    assert found.table_names.magnitudes is not None
    assert Path(found.table_names.magnitudes).resolve() == (tmp_path / "mine.toml").resolve()
    assert settings_from({"model": {"marker_set": "own.toml"}}).model.marker_set == "own.toml"  # as on the command line
    assert resolve_table_name("de_leva_1996", path) == "de_leva_1996"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("contacts.threshold_n = 100000000000000000000", ("contacts.threshold_n", "above 0 and at most 1000")),
        ("signals.spline_gap_s = nan", ("signals.spline_gap_s", "from 0 to 10", "nan")),
        ("signals.cutoff_hz = 0.01", ("signals.cutoff_hz", "from 1 to 1000", "0.01", "removes the signal of walking")),
        ("signals.force_cutoff_hz = 0.5", ("signals.force_cutoff_hz", "removes the signal of walking")),
        ("signals.cutoff_hz = 1e308", ("signals.cutoff_hz", "from 0 to 1000")),
        ('signals.cutoff_hz = "6"', ("signals.cutoff_hz", "a number", "'6'")),
        ("signals.cutoff_hz = true", ("signals.cutoff_hz", "a number", "found true")),
        ("output.figures = 1", ("output.figures", "true or false", "found 1")),
        (
            "contacts.override = [{ plate = 1, from_s = inf, side = 'left' }]",
            ("contacts.override.1.from_s", "found inf"),
        ),
        ("contacts.min_contact_s = 0.1", ("contacts.min_contact_s", "removed", "0.1 s", "Delete this entry")),
        ("replay.windows_s = []", ("'replay'", "removed", "biodyn.replay")),
        ("contacts.threshold_n = 1e20", ("contacts.threshold_n", "above 0 and at most 1000")),
        ("uncertainty.scale = { inertias = 1 }", ("uncertainty.scale", "removed", "uncertainty.magnitudes")),
        ('model.marker_set = "a\\u0000b"', ("model.marker_set", "control character")),
        ('uncertainty.magnitudes = "mine"', ("uncertainty.magnitudes", "*.toml", "'mine'")),
        ("model = 3", ("'model'", "a table", "found 3")),
        ("subject.side = ['left']", ("subject.side", "'right', 'left' or 'both'", "found a list")),
        ("signals.str = 1", ("signals.str", "unknown entry")),
    ],
)
def test_an_impossible_setting_is_said_with_its_range(text: str, said: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(text + "\n", encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        settings_from(path)
    message = str(caught.value)
    assert [word for word in ("settings.toml", *said) if word not in message] == [], message


def test_the_filter_can_be_off_or_as_low_as_walking() -> None:
    for hz in (0, 1, 6.0, 1000):
        assert settings_from({"signals": {"cutoff_hz": hz}}).signals.cutoff_hz == hz
