"""Norms fit the person: by age and speed, and none where none fits."""

import math

import numpy as np
import pytest

from biodyn.errors import SettingsError
from biodyn.library.tables import entry_names
from biodyn.settings import settings_from
from biodyn.variables import NormCovariates, choose_norms, load_norm_set, load_norms, score_reference, variable
from biodyn.variables.norms import default_norm_names, dimensionless_parameters, norms_from_record, norms_record

_LEG = 0.7


def child(dimensionless: float, age: float | None = 9.0) -> NormCovariates:
    """Someone of 1.3 m at this dimensionless speed."""
    return NormCovariates(age, 1.3, _LEG, dimensionless * math.sqrt(9.80665 * _LEG))


def names(covariates: NormCovariates, setting: str = "auto") -> set[str]:
    """Norms that are chosen."""
    return {one.name for one in choose_norms(setting, covariates).norms}


def test_a_child_stands_beside_children_at_the_nearest_of_five_speeds() -> None:
    found = {}
    for speed in (0.17, 0.29, 0.43, 0.56, 0.69):
        (norms,) = choose_norms("children_schwartz_2008", child(speed)).norms
        found[norms.speed] = norms.curves["ankle_power"].mean.max()
    assert len(found) == 5
    assert list(found.values()) == sorted(found.values())  # faster walkers push off with more power


def test_an_adult_never_stands_beside_children() -> None:
    for covariates in (
        NormCovariates(34, 1.6, 0.85, 1.2),
        NormCovariates(None, 1.8, 0.95, 1.3),
        NormCovariates(None, 1.65, None, 1.1),
    ):
        found = choose_norms("auto", covariates)
        assert found.norms
        assert {one.name for one in found.norms} <= {"adults_fukuchi_2018", "adults_van_criekinge_2023"}
        assert all(one.licence and one.citation for one in found.norms)


def test_a_child_never_stands_beside_adults() -> None:
    for covariates in (child(0.43, None), NormCovariates(16, 1.8, 0.95, 1.3)):
        assert names(covariates) == set()
        assert "children_schwartz_2008" in " ".join(choose_norms("auto", covariates).reasons)


def test_norms_without_a_licence_are_shown_only_by_name() -> None:
    for name in entry_names("norms"):
        is_licensed = not load_norm_set(name).table["licence"].startswith("no licence")
        assert (name in default_norm_names()) == is_licensed
    assert names(NormCovariates(34, 1.7, 0.9, 1.3), "adults_bovi_2011") == {"adults_bovi_2011"}


@pytest.mark.parametrize(
    ("covariates", "word"),
    [
        (NormCovariates(None, 1.5, 0.8, 1.2), "age"),
        (NormCovariates(95, 1.6, 0.85, 1.0), "another age"),
        (NormCovariates(30, 1.8, 0.95, 0.2), "slower"),
        (NormCovariates(30, 1.8, 0.95, 3.4), "faster"),
        (NormCovariates(2, 0.9, 0.4, 0.8), "another age"),
        (NormCovariates(30, 1.8, 0.95, math.nan), "without a gait cycle"),
        (NormCovariates(30, 1.8, 0.95, 3.0, "running"), "running"),
    ],
)
def test_none_is_shown_where_none_fits_and_the_reason_is_said(covariates: NormCovariates, word: str) -> None:
    found = choose_norms("auto", covariates)
    assert not found.norms
    assert word in " ".join(found.reasons)


def test_named_norms_are_shown_whatever_the_age_but_never_beyond_their_speeds() -> None:
    adult = NormCovariates(40, 1.8, 0.95, 1.3)
    found = choose_norms("children_schwartz_2008", adult)
    assert [one.name for one in found.norms] == ["children_schwartz_2008"]
    assert "another age" in " ".join(found.reasons)
    assert not choose_norms("adults_fukuchi_2018", NormCovariates(40, 1.8, 0.95, 1.9)).norms
    assert not choose_norms("none", adult).norms


def test_every_published_set_is_tried_and_says_where_it_comes_from() -> None:
    for name in entry_names("norms"):
        found = load_norm_set(name)
        assert found.table["licence"]
        assert found.table["citation"]
        assert found.speed_range[0] < found.usual_speed < found.speed_range[1]


def test_the_adults_of_two_sources_agree_where_both_know_a_curve() -> None:
    """Knee flexion of two laboratories' adults at a comfortable speed: the same shape within some degrees."""
    bovi, fukuchi = load_norms("adults_bovi_2011"), load_norms("adults_fukuchi_2018")
    apart = bovi.curves["knee_angle"].mean - fukuchi.curves["knee_angle"].mean
    assert np.sqrt(np.mean(apart**2)) < 6.0  # two marker protocols; a wrong sign or shift of the cycle makes 20 or more
    assert variable("hip_flexion_moment").clinical_factor("r") * bovi.curves["hip_flexion_moment"].mean[5] > 0.2


def test_the_adult_scalars_follow_speed_and_age() -> None:
    model = load_norm_set("adults_van_criekinge_2023")
    slow, fast = (model.norms_at_speed(speed, 50).scalars["ankle_peak_power"] for speed in (1.0, 1.4))
    assert fast.mean - slow.mean == pytest.approx(0.4 * 3.2906, abs=1e-9)
    young, old = (model.norms_at_speed(1.2, age).scalars["ankle_rom"].mean for age in (30, 70))
    assert young - old == pytest.approx(4 * 0.707, abs=1e-9)


def test_the_record_gives_the_same_norms_back() -> None:
    covariates = NormCovariates(34.0, 1.8, 0.95, 1.3)
    record = {
        "subject": {"age_years": 34.0, "height_m": 1.8, "leg_length_m": 0.95},
        "norms": norms_record("auto", covariates),
    }
    for mine, theirs in zip(choose_norms("auto", covariates).norms, norms_from_record(record), strict=True):
        assert mine.description == theirs.description
        for name, curve in mine.curves.items():
            np.testing.assert_array_equal(curve.mean, theirs.curves[name].mean)
        assert mine.scalars == theirs.scalars


def test_size_goes_out_of_speed_cadence_and_step() -> None:
    """Two people of one shape: speed grows with the root of the leg, cadence falls with it (Hof 1996)."""
    found = []
    for leg in (0.6, 0.95):
        covariates = NormCovariates(None, leg / 0.53, leg, math.nan)
        strides = {
            "speed_m_s": 0.4 * math.sqrt(9.80665 * leg),
            "cadence_steps_min": 60 * 0.55 / math.sqrt(leg / 9.80665),
            "step_length_m": 0.7 * leg,
        }
        found.append(dimensionless_parameters(strides, covariates))
    assert found[0] == pytest.approx(found[1])
    assert found[0]["speed_hof"] == pytest.approx(0.4)
    assert found[0]["cadence_hof"] == pytest.approx(0.55)


def test_the_reference_of_the_scores_is_one_for_all_speeds() -> None:
    slow, _, other_age = score_reference("auto", child(0.2))
    assert not other_age
    fast, words, other_age = score_reference("auto", NormCovariates(40, 1.8, 0.95, 1.8))
    assert other_age
    # whose age nobody knows is not said to be of another one
    assert not score_reference("auto", NormCovariates(None, 1.5, None, 1.2))[2]
    assert not score_reference("auto", None)[2]
    np.testing.assert_array_equal(slow.curves["knee_angle"].mean, fast.curves["knee_angle"].mean)
    assert "no published norms of adults" in words


def test_a_wrong_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match=r"report.norms.*adults_bovi"):
        settings_from({"report": {"norms": "adults_bovi"}})
    assert settings_from(None, entries=["report.norms=none", "subject.age_years=34.0"]).subject.age_years == 34.0


def test_a_speed_that_cannot_be_told_is_called_neither_fast_nor_slow():
    """Of an OpenSim model nobody need know the height: norms by the size of the body do not fit, and none says "nan"."""
    choice = choose_norms("auto", NormCovariates(30.0, float("nan"), None, 1.2))
    assert "adults_fukuchi_2018" in {norm_set.name for norm_set, *_ in choice.chosen}
    assert not any("nan" in reason for reason in choice.reasons)
    named = choose_norms("adults_bovi_2011", NormCovariates(30.0, float("nan"), None, 1.2))
    assert any("unknown" in reason for reason in named.reasons)
    assert not any("nan" in reason or "faster" in reason for reason in named.reasons)
