"""Settings: one default each, said in the documentation, checked before anything runs."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from biodyn.errors import SettingsError
from biodyn.library.subject_record import SubjectRecord
from biodyn.library.toml_files import load_table
from biodyn.settings import Settings, settings_from

DOCS = Path(__file__).parents[1] / "docs"


def test_the_documentation_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("settings_table", DOCS / "settings_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / "settings.md").read_text(encoding="utf-8") == module.page(), "run: python docs/settings_table.py"


def test_every_entry_says_what_it_is() -> None:
    for name, section in Settings.model_fields.items():
        annotation: Any = section.annotation
        if not hasattr(annotation, "model_fields"):
            assert section.description, name
            continue
        silent = [entry for entry, field in annotation.model_fields.items() if not field.description]
        assert silent == [], name


def test_defaults_survive_a_round_trip() -> None:
    assert Settings.model_validate(Settings().model_dump()) == Settings() == settings_from(None) == settings_from({})


def test_a_file_changes_only_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('[signals]\ncutoff_hz = 8\n[model]\nhip_centre = "bell_1990"\n', encoding="utf-8")
    found, default = settings_from(path), Settings()
    assert found.signals.cutoff_hz == 8.0
    assert found.model.hip_centre == "bell_1990"
    assert found.signals.model_copy(update={"cutoff_hz": "auto"}) == default.signals
    assert found.contacts == default.contacts
    assert settings_from(str(path)) == found == settings_from(tomllib.loads(path.read_text(encoding="utf-8")))


def test_forces_are_filtered_like_markers_unless_told() -> None:
    assert settings_from({"signals": {"cutoff_hz": 8.0}}).force_cutoff_hz == 8.0
    assert settings_from({"signals": {"force_cutoff_hz": 20.0}}).force_cutoff_hz == 20.0
    assert settings_from({"signals": {"force_cutoff_hz": 0.0}}).force_cutoff_hz == 0.0  # 0 = off, not "as the markers"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"signals": {"cutof_hz": 6}}, r"signals\.cutof_hz.*cutoff_hz"),
        ({"signal": {}}, r"'signal'.*signals"),
        ({"signals": {"filter_order": 3}}, r"signals\.filter_order"),
        ({"signals": {"cutoff_hz": float("inf")}}, r"signals\.cutoff_hz"),
        ({"contacts": {"threshold_n": 0}}, r"contacts\.threshold_n"),
        ({"limits": {"marker_rms_m": -1}}, r"limits\.marker_rms_m"),
        ({"output": {"tables": "odf"}}, r"output\.tables"),
        ({"gait": {"events": "guess"}}, r"gait\.events"),
        ({"inverse_kinematics": {"marker_weights": {"LASI": -1}}}, r"marker_weights\.LASI"),
        ({"signals": 6}, "'signals'"),
    ],
)
def test_an_impossible_entry_is_named(source: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        settings_from(source)


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().signals.cutoff_hz = 7.0  # type: ignore[misc]


def test_a_preset_lies_under_what_else_is_set(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text('preset = "plug_in_gait"\n[signals]\ncutoff_hz = 8.0\n')
    for found in (settings_from(path), settings_from({"signals": {"cutoff_hz": 8.0}}, preset="plug_in_gait")):
        assert (found.signals.cutoff_hz, found.signals.force_cutoff_hz) == (8.0, 0.0)
        assert (found.model.hip_centre, found.model.fit) == ("davis_1991", "none")
        assert Settings.model_validate(found.model_dump()) == found
    assert settings_from(path, preset="opensim").model.knee == "hinge"
    with pytest.raises(SettingsError, match=r"no preset 'plugingait'.*Did you mean 'plug_in_gait'"):
        settings_from({"preset": "plugingait"})


@pytest.mark.parametrize("name", ["plug_in_gait", "visual3d", "opensim"])
def test_every_preset_is_made_of_settings(name: str) -> None:
    preset = settings_from({}, preset=name)
    assert preset.preset == name
    assert preset != Settings(preset=None)


def test_an_entry_stands_over_everything_else(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[signals]\ncutoff_hz = 8.0\nfilter_order = 2\n", encoding="utf-8")
    chosen = settings_from(file, "visual3d", ["signals.cutoff_hz=9", "signals.cutoff_hz = 10", "model.fit=none"])
    assert chosen.preset == "visual3d"
    assert (chosen.signals.cutoff_hz, chosen.signals.filter_order, chosen.model.fit) == (10.0, 2, "none")
    given = Settings(signals=settings_from({"signals": {"filter_order": 2}}).signals)
    for source in (given, {"signals": given.signals}):
        signals = settings_from(source, entries=['signals.method="spline"']).signals
        assert (signals.filter_order, signals.method) == (2, "spline")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("cutoff", "is not an entry of the settings"),
        ("signals.cutoff_hz=", "is not an entry of the settings"),
        ("signals.cutoff_hz=8\n[model]", "is not an entry of the settings"),
        ("=8", "is not an entry of the settings"),
        ("signals.cutof_hz=8", "Did you mean 'cutoff_hz'"),
        ("cutoff_hz=8", "Did you mean an entry of a section? signals.cutoff_hz."),
        ("signals.cutoff_hz=fast", "signals.cutoff_hz"),
        ("signals..cutoff_hz=8", "not a valid TOML file"),
        ("signals=8", "signals"),
    ],
)
def test_an_impossible_entry_of_the_command_line_is_named(entry: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings_from(None, entries=[entry])
    assert said in f"{caught.value} {caught.value.hint}"


def test_a_measure_of_the_person_is_that_of_both_sides_or_by_side() -> None:
    found = settings_from({"subject": {"knee_width_mm": 104, "inter_asis_distance_mm": 240}}).subject.measures
    assert found == pytest.approx({"knee_width_r": 0.104, "knee_width_l": 0.104, "inter_asis_distance": 0.24})
    one = settings_from(None, entries=["subject.knee_width_mm.r=104", "subject.knee_width_mm.l=99.5"]).subject
    assert one.measures == pytest.approx({"knee_width_r": 0.104, "knee_width_l": 0.0995})
    assert settings_from({"subject": one}).subject == one
    assert settings_from(None).subject.measures == {}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (10.5, r"subject\.knee_width_mm\.r.*from 30 to 250, found 10\.5"),  # cm
        (0.105, r"subject\.knee_width_mm\.r.*from 30 to 250"),  # m
        ({"right": 104}, r"subject\.knee_width_mm"),
        ("wide", r"subject\.knee_width_mm"),
        (True, r"subject\.knee_width_mm"),
    ],
)
def test_a_measure_that_no_person_has_is_refused(value: object, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        settings_from({"subject": {"knee_width_mm": value}})


def test_measures_have_the_ranges_that_those_of_files_have() -> None:
    """What is refused by hand is passed over in a file."""
    rules = load_table("formats/c3d_names")["subject"]["measures"]
    for entry in (name for name in SubjectRecord.model_fields if name.endswith("_mm")):
        low, high = (1000.0 * limit for limit in rules[entry.removesuffix("_mm")]["range"])
        for value in (low, high):
            found = settings_from({"subject": {entry: round(value, 9)}}).subject.measures
            assert list(found.values()) == pytest.approx([value / 1000.0] * len(found))
        for value in (0.999 * low, 1.001 * high):
            with pytest.raises(SettingsError, match=entry):
                settings_from({"subject": {entry: value}})


def test_every_measure_that_height_stands_in_for_can_be_given() -> None:
    """The warning names the entry."""
    asked = {
        str(recipe[key]).removesuffix("_{s}")
        for row in load_table("body/landmarks")["landmark"]
        for recipe in row["recipes"]
        for key in ("width", "measure")
        if key in recipe
    }
    assert asked
    assert {f"{name}_mm" for name in asked} <= set(SubjectRecord.model_fields)
