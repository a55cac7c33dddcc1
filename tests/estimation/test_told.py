"""What walks of a session tell together: the sum of what each tells, whichever constants it knows of."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from biodyn.analysis import TrialAnalysis
from biodyn.diagnostics import Diagnostic
from biodyn.estimation.shared_parameters import InformationForm, ParameterPosterior
from biodyn.settings import settings_from
from biodyn.trial import steps
from biodyn.trial.request import TrialRequest
from biodyn.trial.run import analyse_trial
from biodyn.trial.session import corners_L, other_walks
from biodyn.trial.steps import STEPS, run_steps

FOLDER = Path(__file__).parents[2] / "sample_data" / "subject01"


def told(
    names: tuple[str, ...], rng: np.random.Generator, rows: int = 6
) -> tuple[InformationForm, np.ndarray, np.ndarray]:
    A, y = rng.normal(size=(rows, len(names))), rng.normal(size=rows)
    return InformationForm(names, A.T @ A, A.T @ y), A, y


def test_walks_together_are_the_least_squares_of_all_their_rows() -> None:
    """The second walk stood on another plate, too; the first does not know of that one, but of what it says of the mass."""
    rng = np.random.default_rng(1)
    (one, A, y), (other, B, z) = told(("mass", "plate 1"), rng), told(("plate 2", "mass"), rng)
    rows = np.zeros((len(A) + len(B) + 3, 3))
    rows[:6, :2], rows[6:12, [2, 0]], rows[12:] = A, B, np.eye(3)
    expected, *_ = np.linalg.lstsq(rows, np.concatenate([y, z, np.zeros(3)]), rcond=None)
    found = one.combine([other])
    np.testing.assert_allclose(found.values, expected[:2], atol=1e-12)
    np.testing.assert_allclose(found.sd, np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))[:2], atol=1e-12)


def test_a_walk_alone_is_itself_and_the_order_of_others_is_none() -> None:
    rng = np.random.default_rng(2)
    one, *others = (told(("a", "b", "c"), rng)[0] for _ in range(3))
    alone = one.combine([]).values
    np.testing.assert_allclose(alone, np.linalg.solve(one.information + np.eye(3), one.vector), atol=1e-14)
    np.testing.assert_allclose(one.combine(others).values, one.combine(others[::-1]).values, atol=1e-12)


def test_a_gross_error_is_found_whole_and_a_usual_one_is_drawn_as_ever() -> None:
    """A plate's place along two axes, each told as well as it was known before: half of it is found, of a gross one all."""
    names = ("place x", "place y", "mass")

    def told_of(place: float, outlier_share: float) -> ParameterPosterior:
        pull = np.array([place, 0.0, 3.0])
        return InformationForm(names, np.eye(3), pull, (names[:2],), outlier_share).combine([])

    usual = told_of(1.5, 0.01)
    np.testing.assert_allclose(usual.values, [0.75, 0.0, 1.5], rtol=2e-3)
    np.testing.assert_allclose(usual.prior_sd, 1.0, rtol=2e-3)
    gross = told_of(9.0, 0.01)
    assert gross.values[0] > 8.5
    assert gross.prior_sd[0] == gross.prior_sd[1] > 7.0  # a plate is moved along both axes
    np.testing.assert_allclose([gross.values[2], gross.prior_sd[2]], [1.5, 1.0])  # a mass is none
    np.testing.assert_allclose(told_of(9.0, 0.0).values[0], 4.5)
    shared = InformationForm(names, np.eye(3), np.array([9.0, 0.0, 3.0]), (names[:2],), 0.01)
    assert shared.combine([shared]).values[0] > gross.values[0]


def _analysed(folder: Path, together: bool) -> TrialAnalysis:
    settings = {"signals": {"method": "estimate"}, "model": {"fit": "session"}, "estimation": {"session": together}}
    return analyse_trial(folder / "walk01.c3d", settings=settings, torques_only=True)


@pytest.mark.slow
def test_a_session_of_one_walk_is_that_walk_and_of_two_knows_more(tmp_path: Path) -> None:
    for name in ("static.c3d", "walk01.c3d"):
        shutil.copy(FOLDER / name, tmp_path / name)
    alone, itself = _analysed(tmp_path, False), _analysed(tmp_path, True)
    np.testing.assert_array_equal(alone.dynamics.torques, itself.dynamics.torques)
    shutil.copy(FOLDER / "walk02.c3d", tmp_path / "walk02.c3d")
    one, two = _analysed(tmp_path, False).estimate, _analysed(tmp_path, True).estimate
    assert one is not None
    assert two is not None
    assert (one.walks, two.walks) == (1, 2)
    for before, after in zip(one.plates.errors, two.plates.errors, strict=True):
        assert (after.shift_sd_m < before.shift_sd_m).all()
        assert after.gain_sd < before.gain_sd


def test_every_walk_sees_the_whole_session_whoever_asks() -> None:
    """A study names the companions of each walk, not the walk itself among them; a model of all needs all."""
    static, *walks = (FOLDER / name for name in ("static.c3d", "walk01.c3d", "walk02.c3d"))
    seen = {}

    for walk in walks:
        among = tuple(path for path in (static, *walks) if path != walk)
        trial = TrialRequest(path=walk, static_path=static, settings=settings_from({}), companions=among)
        for other, _ in other_walks(run_steps(trial, STEPS, "scaling")):
            assert other.companions is not None
            seen[other.path.name] = {path.name for path in other.companions}
    assert seen == {"walk01.c3d": {"static.c3d", "walk02.c3d"}, "walk02.c3d": {"static.c3d", "walk01.c3d"}}


@pytest.mark.slow
def test_a_walk_on_other_plates_tells_nothing_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where a third walk, on the plates of the one that tells, asked before."""
    for name in ("static.c3d", "walk01.c3d", "walk02.c3d"):
        shutil.copy(FOLDER / name, tmp_path / name)
    assert _walks_told(_analysed(tmp_path, True)) == (2, [])
    monkeypatch.setattr(steps, "corners_L", lambda trial: corners_L(trial) + 0.01 * (trial.path.name == "walk01.c3d"))
    walks, notes = _walks_told(_analysed(tmp_path, True))
    assert walks == 1
    assert [note.about for note in notes] == ["walk02.c3d"]
    assert "plates are at other positions" in notes[0].message


def _walks_told(found: TrialAnalysis) -> tuple[int, list[Diagnostic]]:
    assert found.estimate is not None
    return found.estimate.walks, [note for note in found.diagnostics if note.code == "data-not-used"]
