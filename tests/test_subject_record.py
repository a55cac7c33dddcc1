"""Test the subject record: subject.toml, options, and the head of a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from biodyn.errors import SettingsError, SubjectError
from biodyn.library.subject_record import SubjectRecord
from biodyn.output.report.trial_page import subject_facts
from biodyn.settings import settings_from
from biodyn.trial.request import TrialRequest, trial_request

RECORD = """
name = "P017"
birth_date = 2015-01-20
date = 2024-07-20
sex = "female"
mass_kg = 29.8
side = "right"
leg_length_mm = { r = 712, l = 718 }
"""


def request(folder: Path, text: str = RECORD, below: str = "", **given: object) -> TrialRequest:
    """Return the request of a walk in a folder with a subject.toml."""
    (folder / "subject.toml").write_text(text)
    return trial_request(folder / below / "walk.c3d", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("below", ["", "session1"])
def test_subject_toml_is_read_from_the_folder_of_the_recording_and_the_one_above(tmp_path: Path, below: str) -> None:
    asked = request(tmp_path, below=below)
    subject = asked.settings.subject
    assert (subject.name, subject.sex, subject.mass_kg, subject.side) == ("P017", "female", 29.8, "right")
    assert subject.age == pytest.approx(9.5, abs=0.01)
    assert subject.measures == pytest.approx({"leg_length_r": 0.712, "leg_length_l": 0.718})
    assert [file.name for file in asked.user_files] == ["subject.toml"]


def test_given_values_replace_settings_and_settings_replace_the_file(tmp_path: Path) -> None:
    settings = {"subject": {"mass_kg": 31.0, "sex": "male"}}
    subject = request(tmp_path, settings=settings, mass_kg=32.0, age_years=10.0, side="l").settings.subject
    assert (subject.mass_kg, subject.sex, subject.age, subject.side) == (32.0, "male", 10.0, "left")
    assert subject.date == "2024-07-20"


def test_the_mass_of_the_file_does_not_scale_an_opensim_model(tmp_path: Path) -> None:
    assert request(tmp_path, model="arm.osim").settings.subject.mass_kg is None


def test_an_unknown_key_is_named_with_the_nearest_known_one(tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match=r"'hight_m' of .*subject\.toml") as caught:
        request(tmp_path, "hight_m = 1.3")
    assert "height_m" in str(caught.value.hint) + caught.value.message


@pytest.mark.parametrize(
    ("text", "error"),
    [("mass_kg = 29800.0", SubjectError), ('sex = "x"', SubjectError), ("age_years = 300", SubjectError)],
)
def test_an_implausible_value_is_refused(tmp_path: Path, text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        request(tmp_path, text)


def test_an_age_without_date_of_recording_is_unknown() -> None:
    assert SubjectRecord(birth_date="2015-01-20").age is None


@pytest.mark.parametrize(
    ("old", "new"), [("report.age_years=9", "subject.age_years"), ("model.sex='male'", "subject.sex")]
)
def test_replaced_entries_name_their_successor(old: str, new: str) -> None:
    with pytest.raises(SettingsError, match=new):
        settings_from(None, entries=[old])


def test_the_head_says_what_to_add_for_norms() -> None:
    record = {
        "settings": {"subject": {"diagnosis": "none", "side": "left"}},
        "subject": {"mass_kg": 30.0, "mass_source": "", "height_m": None, "age_years": 9.5, "sex": "mean"},
    }
    facts = {fact.label: fact for fact in subject_facts(record)}
    assert facts["Age"].value == "10 years"
    assert facts["Affected side"].value == "left"
    assert "--sex" in facts["Not known"].note
    assert "--age" not in facts["Not known"].note
