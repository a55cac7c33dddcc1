"""What the estimate may change of inertias: both sides of a person alike, the body's mass as it was weighed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from biodyn.analysis import TrialAnalysis
from biodyn.checks.estimators.synchronisation import TIME_OFFSET_S
from biodyn.estimation.estimate import Estimate, estimate_trial
from biodyn.estimation.settings import EstimationSettings
from biodyn.estimation.summary import EstimateSummary, estimate_findings
from biodyn.estimation.unknown_parameters import change_inertias, inertia_unknowns
from biodyn.model.body_model import SubjectModel, with_inertias
from biodyn.model.skeleton import Inertia
from biodyn.trial.run import analyse_trial
from biodyn.uncertainty.propagation_inputs import load_magnitudes

WALK = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"


@pytest.fixture(scope="module")
def walk() -> TrialAnalysis:
    return analyse_trial(WALK, torques_only=True)


LATE_S = TIME_OFFSET_S


def settings(**changed: float) -> EstimationSettings:
    return EstimationSettings(**changed)  # type: ignore[arg-type]


def masses(model: SubjectModel) -> dict[str, float]:
    return {body.definition.name: body.inertia.mass for body in model.bodies}


def test_what_one_kind_of_segment_gains_the_others_lose(walk: TrialAnalysis) -> None:
    unknowns, before = inertia_unknowns(walk.model, settings()), masses(walk.model)
    values = np.zeros(unknowns.count)
    values[unknowns.names.index("mass of femur")] = 1.0
    after = masses(change_inertias(walk.model, unknowns, values))
    assert after["femur_r"] / before["femur_r"] == pytest.approx(after["femur_l"] / before["femur_l"])
    others = after["torso"] / before["torso"]
    assert after["femur_r"] / before["femur_r"] - others == pytest.approx(0.08)
    assert after["head"] / before["head"] == pytest.approx(others)
    assert others < 1.0
    assert sum(after.values()) == pytest.approx(sum(before.values()), rel=1e-12)
    values[-1] = 1.0  # the body's
    heavier = masses(change_inertias(walk.model, unknowns, values))
    assert sum(heavier.values()) / sum(before.values()) == pytest.approx(1.0 + 0.01, rel=1e-12)


def test_mass_centres_of_both_sides_err_alike_as_mirror_images(walk: TrialAnalysis) -> None:
    unknowns = inertia_unknowns(walk.model, settings())
    right, left = (unknowns.centre_m[unknowns.segments.index(name)] for name in ("femur_r", "femur_l"))
    np.testing.assert_allclose(np.sum(right**2, axis=1), 0.01**2)
    both = np.sum(right * left, axis=1) / 0.01**2
    np.testing.assert_allclose(both, 0.8 * np.array([1.0, 1.0, -1.0]), atol=1e-12)
    np.testing.assert_allclose(unknowns.sd_m[unknowns.segments.index("femur_r")], 0.01)
    assert not inertia_unknowns(walk.model, settings(inertia_sd_factor=0.0)).count


def estimated(walk: TrialAnalysis, model: SubjectModel) -> Estimate:
    inputs = walk.propagation
    assert inputs is not None
    own = replace(inputs, fit=replace(inputs.fit, model=model))
    return estimate_trial(own, walk.reaction, 6.0, settings(), load_magnitudes())


def test_heavy_legs_are_noticed(walk: TrialAnalysis) -> None:
    """Thighs and shanks that the model has 25 % too light: the swing of the legs asks for a part of it back."""
    wrong = {
        body.definition.name: Inertia(0.75 * body.inertia.mass, body.inertia.com, 0.75 * body.inertia.tensor)
        for body in walk.model.bodies
        if body.definition.name.partition("_")[0] in ("femur", "tibia")
    }
    as_table, light = (estimated(walk, model).summary for model in (walk.model, with_inertias(walk.model, wrong)))

    def legs(account: EstimateSummary) -> float:
        return account.segment_mass_changes["femur_r"] + account.segment_mass_changes["tibia_r"]

    assert legs(light) - legs(as_table) > 0.05
    assert all(note.code != "estimate-segment-mass" for note in estimate_findings(as_table, LATE_S))
    beyond = replace(as_table, segment_mass_changes={"tibia_r": -0.3, "calcn_r": -0.49})
    assert [note.about for note in estimate_findings(beyond, LATE_S) if note.code == "estimate-segment-mass"] == [
        "tibia_r",
        "calcn_r",
    ]


def in_shoes(walk: TrialAnalysis, shoe_kg: float) -> EstimateSummary:
    """The account of somebody whose feet the model has too light by what a shoe weighs."""
    feet = set(walk.model.sole_body.values())
    bare = {}
    for body in walk.model.bodies:
        if body.definition.name in feet:
            factor = 1.0 - shoe_kg / body.inertia.mass
            bare[body.definition.name] = Inertia(
                factor * body.inertia.mass, body.inertia.com, factor * body.inertia.tensor
            )
    return estimated(walk, with_inertias(walk.model, bare)).summary


def test_shoes_are_found_and_no_warning(walk: TrialAnalysis) -> None:
    """A third of a kilogram on feet of a kilogram; a stride tells two thirds of it."""
    account = in_shoes(walk, 0.35)
    missing = 0.35 / (masses(walk.model)["calcn_r"] - 0.35)
    found = account.segment_mass_changes["calcn_r"]
    assert 0.5 * missing < found < 1.2 * missing
    (note,) = (note for note in estimate_findings(account, LATE_S) if note.about == "calcn_r")
    assert (note.code, note.severity) == ("estimate-shoes", "info")
    heavy = replace(account, segment_mass_changes={**account.segment_mass_changes, "calcn_r": 0.9, "calcn_l": 0.9})
    assert "estimate-segment-mass" not in {note.code for note in estimate_findings(heavy, LATE_S)}
    leaden = replace(account, segment_mass_changes={**account.segment_mass_changes, "calcn_r": 1.1, "calcn_l": 1.1})
    codes = [note.code for note in estimate_findings(leaden, LATE_S) if note.about in ("calcn_r", "calcn_l")]
    assert codes == ["estimate-segment-mass"] * 2
