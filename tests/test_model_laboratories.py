"""Walks on an OpenSim model in laboratories of all axes, and with corners of plates listed the other way round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulator import Person, SimulatedTrial, TrialOptions, session, write_c3d
from simulator.c3d_writer import C3dContent
from simulator.c3d_writer import write_c3d as write_content
from simulator.files import analog_channels, trial_parameters

from biodyn.trial.bodies.opensim import ModelResult, run_on_model
from biodyn.trial.export import export
from biodyn.trial.request import trial_request
from biodyn.trial.run import run_trial

pytestmark = pytest.mark.slow

QUICK = {"uncertainty": {"compute": False}}
LEGS = ("hip_flexion", "knee_angle", "ankle_angle")


@pytest.fixture(scope="module")
def trials() -> tuple[SimulatedTrial, SimulatedTrial]:
    return session(Person("P", height_m=1.75, mass_kg=70.0, sex="female"), TrialOptions(forward="-x", noise_mm=0.3))


@pytest.fixture(scope="module")
def model(trials, tmp_path_factory) -> Path:
    """The walk's own model as OpenSim has it."""
    folder = tmp_path_factory.mktemp("own")
    for name, trial in zip(("static", "walk"), trials, strict=True):
        write_c3d(folder / f"{name}.c3d", trial)
    own = run_trial(folder / "walk.c3d", folder / "static.c3d", settings=QUICK)
    return export(own, "opensim", folder / "opensim").folder / "model.osim"


def on_model(walk: Path, model: Path) -> ModelResult:
    found = run_on_model(trial_request(walk, settings=QUICK, model=model))
    assert isinstance(found, ModelResult)
    return found


@pytest.fixture(scope="module")
def sound(trials, model, tmp_path_factory) -> ModelResult:
    path = tmp_path_factory.mktemp("sound") / "walk.c3d"
    write_c3d(path, trials[1])
    return on_model(path, model)


def of_legs(result: ModelResult) -> np.ndarray:
    columns = [n for n, one in enumerate(result.analysis.model.coordinates) if one.name.startswith(LEGS)]
    assert len(columns) == 6
    return result.analysis.dynamics.torques[:, columns]


def codes(result: ModelResult) -> list[str]:
    return [note.code for note in result.diagnostics if note.severity != "info"]


def test_a_sound_walk_has_nothing_to_warn_of(sound: ModelResult) -> None:
    """Soles of a model are guessed: the body mass is told where the contacts agree that both feet are measured."""
    assert codes(sound) == []
    assert sound.verdict.status == "pass"


@pytest.mark.parametrize(("forward", "up"), [("-x", "+y"), pytest.param("+y", "+z", marks=pytest.mark.slow)])
def test_forces_have_the_axes_of_the_walk_in_every_laboratory(
    trials, model, sound: ModelResult, tmp_path: Path, forward: str, up: str
) -> None:
    """Of a laboratory whose Y is up the recording is not turned when it is read: braking stood in the wrong direction."""
    turned = replace(trials[1], options=replace(trials[1].options, forward=forward, up=up))
    write_c3d(tmp_path / "walk.c3d", turned)
    found = on_model(tmp_path / "walk.c3d", model)
    assert codes(found) == []
    # float32 in other axes, and the fit's tolerance
    for one, other in zip(sound.analysis.plates, found.analysis.plates, strict=True):
        np.testing.assert_allclose(other.wrench[:, 3:], one.wrench[:, 3:], atol=0.01)
    for side in ("r", "l"):
        force, known = found.analysis.reaction.wrench[side][:, 3:], sound.analysis.reaction.measured[side]
        np.testing.assert_allclose(force[known], sound.analysis.reaction.wrench[side][known, 3:], atol=0.05)
        sole, place = found.analysis.points.sole[side], found.analysis.reaction.centre_of_pressure[side]
        on = np.isfinite(place[:, 0]) & found.analysis.reaction.measured[side]
        assert on.any()
        assert np.linalg.norm(sole.mean(axis=1)[on] - place[on], axis=1).max() < 0.25  # of a foot's length
    apart = of_legs(found) - of_legs(sound)
    assert np.nanmax(np.abs(apart)) < 0.1  # Nm


@pytest.mark.parametrize("order", [[0, 3, 2, 1]])
def test_corners_listed_the_other_way_round_are_put_in_order_on_a_model(
    trials, model, sound: ModelResult, tmp_path: Path, order: list[int]
) -> None:
    described(tmp_path / "walk.c3d", trials[1], lambda corners: corners[:, order])
    found = on_model(tmp_path / "walk.c3d", model)
    assert codes(found) == ["plate-corners-corrected"]
    assert found.verdict.status == "warn"
    np.testing.assert_allclose(of_legs(found), of_legs(sound), rtol=0, atol=1e-9)


@pytest.mark.slow
def test_corners_that_no_order_explains_stay_and_are_named_on_a_model(trials, model, tmp_path: Path) -> None:
    """Each plate in another order: no program does that."""
    orders = ([0, 3, 2, 1], [1, 0, 3, 2], [2, 1, 0, 3])

    def mixed(corners: np.ndarray) -> np.ndarray:
        return np.stack([plate[order] for plate, order in zip(corners, orders, strict=True)])

    described(tmp_path / "walk.c3d", trials[1], mixed)
    found = codes(on_model(tmp_path / "walk.c3d", model))
    assert "plate-corners-corrected" not in found
    assert found.count("plate-corners-reversed") == 3


def described(path: Path, trial: SimulatedTrial, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Write the trial with other corners of its plates (P, 4, 3)."""
    channels, labels, units = analog_channels(trial)
    parameters = {group: dict(entries) for group, entries in trial_parameters(trial, True, "").items()}
    parameters["FORCE_PLATFORM"]["CORNERS"] = change(np.asarray(parameters["FORCE_PLATFORM"]["CORNERS"]))
    positions = 1e3 * trial.markers @ trial.options.R_LW.T
    rates = {"analog": channels, "analog_labels": labels, "analog_units": units, "parameters": parameters}
    write_content(path, C3dContent(list(trial.labels), positions, trial.options.rate_hz, **rates))
