"""Norms that a laboratory makes of a study: the numbers of its people, and a file that is read back."""

from functools import cache

import numpy as np
import pytest

from biodyn.errors import StudyError, TableError
from biodyn.library.entry_faults import require_valid_table
from biodyn.library.toml_files import read_user_toml
from biodyn.settings import settings_from
from biodyn.statistics.gait_measures import gait_vector
from biodyn.study.group.statistics.gait_scores import score_names
from biodyn.study.laboratory_norms import PersonMeans, StudyPeople, norms_file_content, write_norms
from biodyn.variables import NormCovariates, NormSet, choose_norms, load_norm_set
from biodyn.variables.gait_variables import PERCENT

_UNITS = {"knee_angle": "deg", "ankle_angle_moment": "Nm/kg", "not_a_variable": "deg"}


def study_people(count: int, ages: bool = True) -> StudyPeople:
    """People whose knee bends by 50 degrees and 20 more for each unit of speed."""
    rng = np.random.default_rng(count)
    means = []
    for person in range(count):
        own = rng.normal()
        for speed in (0.35, 0.45):
            for _ in range(2):  # sides
                knee = (50.0 + 20.0 * (speed - 0.4) + 4.0 * own) * np.sin(np.pi * PERCENT / 100) ** 2
                moment = 1.2 * np.exp(-(((PERCENT - 45) / 12) ** 2)) + 0.05 * rng.normal()
                strides = {
                    "stance_percent": 62.0 - 10 * speed + own,
                    "cadence_hof": 0.5 + speed / 10 + 0.01 * rng.normal(),
                }
                means.append(
                    PersonMeans(person, speed, {"knee_angle": knee, "ankle_angle_moment": moment}, strides, 0.5)
                )
    norm_covariates = tuple(NormCovariates(25.0 + i if ages else None, 1.75, 0.92, 1.2) for i in range(count))
    return StudyPeople(tuple(means), _UNITS, tuple(f"P{i}" for i in range(count)), norm_covariates, 0)


@cache
def made_of_24():
    """The file of 24 people."""
    return norms_file_content(study_people(24), "own", "CC0", 0)


def test_the_file_is_read_back_and_fits_the_schema(tmp_path) -> None:
    table = made_of_24()
    path = tmp_path / "own.toml"
    write_norms(table, path)
    require_valid_table(read_user_toml(path, "norms"), "norms")
    made, read = NormSet(table).norms_at_speed(0.4), load_norm_set(str(path)).norms_at_speed(0.4)
    assert read.description == made.description
    for name, curve in made.curves.items():
        np.testing.assert_allclose(read.curves[name].mean, curve.mean, rtol=1e-3, atol=1e-3)  # five digits in the file
        np.testing.assert_allclose(read.curves[name].half_width, curve.half_width, rtol=1e-3, atol=1e-3)
    assert set(read.curves) == {"knee_angle", "ankle_angle_moment"}
    assert "n = 24" in read.group
    assert "25-48 years" in read.group


def test_the_mean_follows_the_speed_and_people_count_once() -> None:
    norms = NormSet(made_of_24())
    slow, fast = (
        norms.norms_at_speed(0.35).curves["knee_angle"].mean.max(),
        norms.norms_at_speed(0.45).curves["knee_angle"].mean.max(),
    )
    assert fast - slow == pytest.approx(2.0, abs=0.05)
    sd = norms.norms_at_speed(0.4).curves["knee_angle"].sd.max()
    assert sd == pytest.approx(4.0, rel=0.5)  # of 24 people, not of 96 curves
    assert norms.norms_at_speed(0.4).scalars["stance_percent"].mean == pytest.approx(58.0, abs=1.0)


def test_few_people_give_a_band_of_one_standard_deviation_that_says_so() -> None:
    table = norms_file_content(study_people(8), "own", "CC0", 0)
    assert table["band"] == "mean ± 1 SD"
    assert table["curve"]["knee_angle"]["reach"] == 1.0
    assert made_of_24()["curve"]["knee_angle"]["reach"] > 1.5


def test_own_norms_are_not_shown_beyond_the_speeds_of_their_people(tmp_path) -> None:
    path = tmp_path / "own.toml"
    write_norms(made_of_24(), path)
    at = {speed: NormCovariates(30, 1.75, 0.92, speed * np.sqrt(9.80665 * 0.92)) for speed in (0.4, 0.7)}
    assert [one.name for one in choose_norms(str(path), at[0.4]).norms] == ["own"]
    beyond = choose_norms(str(path), at[0.7])
    assert not beyond.norms
    assert "faster" in " ".join(beyond.reasons)
    assert settings_from({"report": {"norms": str(path)}}).table_names.norms == str(path)


def test_a_damaged_file_is_refused_with_its_entry(tmp_path) -> None:
    from biodyn.model.from_library.user_tables import load_user_tables

    path = tmp_path / "own.toml"
    write_norms(norms_file_content(study_people(6), "own", "CC0", 0), path)
    path.write_text(path.read_text(encoding="utf-8").replace("percent = [0.0,", "percent = [1.0,"), encoding="utf-8")
    with pytest.raises(TableError, match="from 0 to 100"):
        load_user_tables(settings_from({"report": {"norms": str(path)}}).table_names)


def test_an_existing_file_and_a_name_without_toml_are_refused(tmp_path) -> None:
    from biodyn.study.laboratory_norms import build_norms

    path = tmp_path / "own.toml"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(StudyError, match="exists"):
        build_norms(tmp_path, path)
    with pytest.raises(StudyError, match="is not a TOML file"):
        build_norms(tmp_path, tmp_path / "own.csv")
    assert path.read_text(encoding="utf-8") == "mine"


_NINE = list(score_names())


def nine_angles(rng: np.random.Generator, deviation: float = 1.0) -> dict[str, np.ndarray]:
    """Nine angles of a person: an offset and two waves of its own on each curve, degrees."""
    waves = np.stack([np.ones(101), *(np.sin(2 * np.pi * k * PERCENT / 100 + k) for k in (1, 2))])
    return {
        name: 15.0 * np.sin(2 * np.pi * PERCENT / 100 + number)
        + deviation * rng.normal(size=3) * (4.0, 2.0, 1.0) @ waves
        for number, name in enumerate(_NINE)
    }


def nine_angle_people(count: int, seed: int) -> StudyPeople:
    rng = np.random.default_rng(seed)
    norm_covariates = tuple(NormCovariates(30.0, 1.75, 0.92, 1.2) for _ in range(count))
    means = tuple(
        PersonMeans(person, speed, curves, {"stance_percent": 62.0}, 0.5)
        for person in range(count)
        for curves in [nine_angles(rng)]
        for speed in (0.38, 0.42)
    )
    vectors = np.stack([gait_vector([mean.curves[name] for name in _NINE]) for mean in means])
    return StudyPeople(means, dict.fromkeys(_NINE, "deg"), tuple(map(str, range(count))), norm_covariates, 0, vectors)


@pytest.mark.slow
def test_new_healthy_people_have_a_deviation_index_of_100_on_average_and_10_of_sd(tmp_path) -> None:
    path = tmp_path / "own.toml"
    rng = np.random.default_rng(7)
    healthy, patients = [], []
    for seed in range(4):
        write_norms(norms_file_content(nine_angle_people(40, seed), "own", "CC0", 0), path)
        norms = NormSet(read_user_toml(path, "norms").content).norms_at_speed(0.4)
        assert norms.deviation_index is not None
        mean = np.stack([norms.curves[name].mean for name in _NINE])
        for found, size in ((healthy, 1.0), (patients, 3.0)):
            people = [np.stack(list(nine_angles(rng, size).values())) - mean for _ in range(50)]
            found += [norms.deviation_index.score(curves) for curves in people]
    # four samples of 40 controls: the SD of a mean is 10 / sqrt(40 x 4), that of an SD some 6 % of it
    assert np.mean(healthy) == pytest.approx(100.0, abs=3 * 10 / np.sqrt(160))
    assert np.std(healthy) == pytest.approx(10.0, rel=0.3)
    assert np.mean(patients) < 65.0


def test_few_people_give_no_deviation_index() -> None:
    assert "gdi" not in norms_file_content(nine_angle_people(19, 1), "own", "CC0", 0)
