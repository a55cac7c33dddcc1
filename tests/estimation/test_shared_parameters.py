"""Parameters that walks of a session share: the sum of the information of each, whichever parameters it has."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from biodyn.analysis import TrialAnalysis
from biodyn.diagnostics import Diagnostic
from biodyn.estimation.shared_parameters import InformationForm, ParameterPosterior, accepted_plate_errors, plate_tests
from biodyn.settings import settings_from
from biodyn.trial import steps
from biodyn.trial.request import TrialRequest
from biodyn.trial.run import analyse_trial
from biodyn.trial.session_estimates import plate_corners_L, requests_of_other_walks
from biodyn.trial.steps import STEPS, run_steps

FOLDER = Path(__file__).parents[2] / "sample_data" / "subject01"


def form_of(
    names: tuple[str, ...],
    information: np.ndarray,
    vector: np.ndarray,
    plates: tuple[tuple[str, ...], ...] = (),
    gross: tuple[tuple[str, ...], ...] = (),
    heading: tuple[float, float] = (1.0, 0.0),
) -> InformationForm:
    return InformationForm(names, information, vector, gross, plates, np.array(heading))


def drawn(names: tuple[str, ...], rng: np.random.Generator) -> tuple[InformationForm, np.ndarray, np.ndarray]:
    A, y = rng.normal(size=(6, len(names))), rng.normal(size=6)
    return form_of(names, A.T @ A, A.T @ y), A, y


def test_walks_together_are_the_least_squares_of_all_their_rows() -> None:
    """The second walk has a parameter that the first does not have."""
    rng = np.random.default_rng(1)
    (one, A, y), (other, B, z) = drawn(("mass", "centre 1"), rng), drawn(("centre 2", "mass"), rng)
    rows = np.zeros((len(A) + len(B) + 3, 3))
    rows[:6, :2], rows[6:12, [2, 0]], rows[12:] = A, B, np.eye(3)
    expected, *_ = np.linalg.lstsq(rows, np.concatenate([y, z, np.zeros(3)]), rcond=None)
    found = one.combine([other])
    np.testing.assert_allclose(found.values, expected[:2], atol=1e-12)
    np.testing.assert_allclose(found.suggested_sd, np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))[:2], atol=1e-12)


def test_a_walk_alone_is_itself_and_the_order_of_others_has_no_effect() -> None:
    rng = np.random.default_rng(2)
    one, *others = (drawn(("a", "b", "c"), rng)[0] for _ in range(3))
    alone = one.combine([]).values
    np.testing.assert_allclose(alone, np.linalg.solve(one.information + np.eye(3), one.vector), atol=1e-14)
    np.testing.assert_allclose(one.combine(others).values, one.combine(others[::-1]).values, atol=1e-12)


def test_a_gross_error_is_found_whole_and_a_usual_one_is_shrunk() -> None:
    """Of a usual error half is found, where the walk determines it as well as the prior does; of a gross one all."""
    names = ("x", "y", "mass")

    def posterior(x: float, gross: bool = True) -> ParameterPosterior:
        return form_of(names, np.eye(3), np.array([x, 0.0, 3.0]), gross=(names[:2],) if gross else ()).combine([])

    usual = posterior(1.5)
    np.testing.assert_allclose(usual.values, [0.75, 0.0, 1.5], rtol=2e-3)
    gross = posterior(9.0)
    assert gross.values[0] > 8.5
    np.testing.assert_allclose(gross.values[2], 1.5)
    np.testing.assert_allclose(posterior(9.0, gross=False).values[0], 4.5)


def test_the_plates_of_a_single_walk_stay_as_in_the_file() -> None:
    """Their error is suggested, and the other parameters are those of correct plates."""
    rng = np.random.default_rng(3)
    form, A, y = drawn(("mass", "place"), rng)
    found = replace(form, plate_groups=(("place",),), vector=form.vector + 20.0).combine([])
    assert found.values[1] == 0.0
    np.testing.assert_allclose(found.values[0], (A[:, 0] @ y + 20.0) / (A[:, 0] @ A[:, 0] + 1.0))
    assert abs(found.suggested[1]) > 1.0


def walks_over_a_plate(shifts: Sequence[float], ways: Sequence[float]) -> list[InformationForm]:
    """Walks that show a plate's place with these shifts and a standard deviation of 1/2, in these directions."""
    return [
        form_of(("place", "mass"), np.diag([4.0, 1.0]), np.array([4.0 * shift, 0.0]), (("place",),), (), (way, 0.0))
        for shift, way in zip(shifts, ways, strict=True)
    ]


BOTH_WAYS = (1.0, 1.0, 1.0, -1.0, -1.0, -1.0)
SHIFTED = (1.4, 1.0, 1.6, 1.2, 1.5, 1.1)


@pytest.mark.parametrize(
    ("shifts", "ways", "verdict"),
    [
        (SHIFTED, BOTH_WAYS, ""),
        (SHIFTED, (1.0,) * 6, "fewer than two walks"),  # a lean of the trunk does the same
        ((2.1, 2.0, 2.2, 0.1, 0.2, -0.1), BOTH_WAYS, "differs between walks"),
        ((1.0, 1.1, 0.9, 0.2, 0.3, 0.1), BOTH_WAYS, "depends on the walking direction"),
        ((-0.5, 3.0, 1.2, 3.2, -0.3, 1.0), BOTH_WAYS, "differs between walks"),
        ((0.1, -0.2, 0.3, 0.0, 0.2, -0.1), BOTH_WAYS, "not significant"),
    ],
)
def test_plate_tests(shifts: tuple[float, ...], ways: tuple[float, ...], verdict: str) -> None:
    forms = walks_over_a_plate(shifts, ways)
    (test,) = plate_tests(forms)
    assert test.verdict.startswith(verdict)
    assert bool(test.verdict) == bool(verdict)
    value = forms[0].combine(forms[1:]).values[0]
    assert value == (0.0 if verdict else pytest.approx(np.mean(shifts), rel=0.1))
    _, errors = accepted_plate_errors(forms)
    assert errors == ({} if verdict else {"place": pytest.approx((value, 0.2), rel=0.05)})


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


def test_every_walk_sees_the_whole_session_of_each_other() -> None:
    """A study names the companions of each walk, not the walk itself among them; a model of all needs all."""
    static, *walks = (FOLDER / name for name in ("static.c3d", "walk01.c3d", "walk02.c3d"))
    seen = {}

    for walk in walks:
        among = tuple(path for path in (static, *walks) if path != walk)
        trial = TrialRequest(path=walk, static_path=static, settings=settings_from({}), companions=among)
        for other, _ in requests_of_other_walks(run_steps(trial, STEPS, "scaling")):
            assert other.companions is not None
            seen[other.path.name] = {path.name for path in other.companions}
    assert seen == {"walk01.c3d": {"static.c3d", "walk02.c3d"}, "walk02.c3d": {"static.c3d", "walk01.c3d"}}


@pytest.mark.slow
def test_a_walk_on_other_plates_is_not_used_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a third walk on the same plates was analysed before."""
    for name in ("static.c3d", "walk01.c3d", "walk02.c3d"):
        shutil.copy(FOLDER / name, tmp_path / name)
    assert _walks_used(_analysed(tmp_path, True)) == (2, [])
    monkeypatch.setattr(
        steps, "plate_corners_L", lambda trial: plate_corners_L(trial) + 0.01 * (trial.path.name == "walk01.c3d")
    )
    walks, notes = _walks_used(_analysed(tmp_path, True))
    assert walks == 1
    assert [note.about for note in notes] == ["walk02.c3d"]
    assert "plates are at other positions" in notes[0].message


def _walks_used(found: TrialAnalysis) -> tuple[int, list[Diagnostic]]:
    assert found.estimate is not None
    return found.estimate.walks, [note for note in found.diagnostics if note.code == "data-not-used"]
