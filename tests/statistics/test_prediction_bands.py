"""A prediction band holds the curve of a new person as often as it says."""

import numpy as np
import pytest

from biodyn.conventions import FloatArray
from biodyn.errors import StatisticsError
from biodyn.statistics.prediction_bands import CurveModel, fit_curve_model

_NODES = 26
_T = np.linspace(0.0, 1.0, _NODES)
_SHAPES = np.array(
    [*(np.cos(2 * np.pi * k * _T) for k in range(3)), *(np.sin(2 * np.pi * (k + 1) * _T) for k in range(3))]
)
_SPEEDS = (0.35, 0.45, 0.55)


def simulated(count: int, rng: np.random.Generator, growth: float = 2.0, slope: float = 20.0):
    """Curves of people at three speeds: a mean that rises with speed, a spread that grows with it."""
    own = rng.normal(size=(count, 1, 6)) + 0.3 * rng.normal(size=(count, len(_SPEEDS), 6))
    speed = np.array(_SPEEDS) + 0.01 * rng.normal(size=(count, len(_SPEEDS)))
    mean = 30.0 * np.sin(np.pi * _T) + slope * (speed[..., None] - 0.45) * np.sin(2 * np.pi * _T)
    curves = mean + 3.0 * np.exp(growth * (speed[..., None] - 0.45)) * (own @ _SHAPES)
    people = np.repeat(np.arange(count), len(_SPEEDS))
    return curves.reshape(-1, _NODES), speed.reshape(-1), people


def predict(model: CurveModel, x: float) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation at a value of the covariate."""
    offset = x - model.reference
    return (offset ** np.arange(len(model.mean))) @ model.mean, np.exp(model.growth * offset) * model.sd


@pytest.mark.slow
def test_the_band_holds_95_of_100_new_people_at_each_speed() -> None:
    rng = np.random.default_rng(4)
    held = []
    for seed in range(16):
        curves, speed, people = simulated(30, rng)
        model = fit_curve_model(curves, speed, people, np.ones(len(people)), seed=seed)
        others, at, _ = simulated(200, rng)
        inside = []
        for curve, x in zip(others, at, strict=True):
            mean, sd = predict(model, x)
            inside.append((np.abs(curve - mean) <= model.reach * sd).all())
        held.append(np.reshape(inside, (-1, len(_SPEEDS))).mean(axis=0))
    share = np.mean(held, axis=0)
    # the share of one draw of 30 people scatters by 2.5 points, that of 16 by 0.6
    assert ((share > 0.93) & (share < 0.97)).all()


def test_mean_and_spread_follow_the_covariate() -> None:
    curves, speed, people = simulated(60, np.random.default_rng(1), slope=200.0)
    model = fit_curve_model(curves, speed, people, np.ones(len(people)), band=False)
    slow, fast = predict(model, 0.35)[0], predict(model, 0.55)[0]
    np.testing.assert_allclose(
        fast - slow, 40.0 * np.sin(2 * np.pi * _T), atol=6.0
    )  # 3 SE of a difference of 60 people
    assert model.growth == pytest.approx(2.0, abs=1.0)
    assert np.isnan(model.reach)


def test_a_spread_that_does_not_depend_on_speed_is_left_alone() -> None:
    growths = []
    for seed in range(10):
        curves, speed, people = simulated(40, np.random.default_rng(seed), growth=0.0)
        growths.append(fit_curve_model(curves, speed, people, np.ones(len(people)), band=False).growth)
    assert sum(growth == 0.0 for growth in growths) >= 7


def test_the_same_seed_gives_the_same_band_and_few_people_give_none() -> None:
    curves, speed, people = simulated(20, np.random.default_rng(2))
    first, again = (fit_curve_model(curves, speed, people, np.ones(len(people)), seed=3).reach for _ in range(2))
    assert first == again
    few = people < 12
    assert np.isnan(fit_curve_model(curves[few], speed[few], people[few], np.ones(few.sum())).reach)
    one = people < 3
    with pytest.raises(StatisticsError, match="3 people"):
        fit_curve_model(curves[one], speed[one], people[one], np.ones(one.sum()))


def test_where_people_hardly_differ_the_band_does_not_widen_all_of_it() -> None:
    """A moment in swing is nearly zero in everybody: its relative deviations are no measure of the band in stance."""
    curves, speed, people = simulated(30, np.random.default_rng(5))
    flat = curves * np.where(_T < 0.6, 1.0, 1e-6)
    rng = np.random.default_rng(6)
    flat[:, _T >= 0.6] += 1e-6 * rng.standard_t(1, size=flat[:, _T >= 0.6].shape)  # a few far outliers, all tiny
    model = fit_curve_model(flat, speed, people, np.ones(len(people)))
    whole = fit_curve_model(curves, speed, people, np.ones(len(people)))
    assert model.reach < 1.3 * whole.reach
