"""Bands of an estimate: true in single frames, about strikes, and where constants that it found answer to other errors."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulator.rough_walks import RoughRecording, rough_recording

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import BoolArray, FloatArray
from biodyn.estimation.estimate import Estimate, estimate_torque_uncertainty, estimate_trial
from biodyn.estimation.settings import EstimationSettings
from biodyn.model.body_model import with_misplaced_centre
from biodyn.processing.dynamics.inverse_dynamics import solve_dynamics
from biodyn.trial.run import analyse_trial
from biodyn.uncertainty.error_sources import MotionFrames, joint_centre_error_effects
from biodyn.uncertainty.fit_responses import SmoothedResponse
from biodyn.uncertainty.parameter_sensitivities import SoftTissue, parameter_sensitivities
from biodyn.uncertainty.propagation_inputs import TrialInputs, load_magnitudes
from biodyn.uncertainty.settings import UncertaintySettings

WALK = Path(__file__).parents[2] / "sample_data" / "subject01" / "walk01.c3d"
CUTOFF_HZ = 20.0  # of the plates: any will do


@pytest.fixture(scope="module")
def filtered() -> TrialAnalysis:
    """A full-body walk as it was fitted."""
    return analyse_trial(WALK, settings={"signals": {"method": "butterworth"}}, torques_only=True)


def estimated(inputs: TrialInputs, chosen: EstimationSettings | None = None) -> Estimate:
    chosen = chosen or EstimationSettings()
    return estimate_trial(inputs, inputs.reaction, CUTOFF_HZ, chosen, load_magnitudes(), bands=True)


@pytest.fixture(scope="module")
def estimate(filtered: TrialAnalysis) -> Estimate:
    assert filtered.propagation is not None
    return estimated(filtered.propagation)


def asked(inputs: TrialInputs, found: Estimate) -> MotionFrames:
    """The frames that the constants answer in."""
    assert found.summary.constants is not None
    at, motion = found.summary.constants.information_frames(), found.fit.motion
    own = replace(inputs, fit=found.fit, dynamics=found.dynamics, reaction=found.reaction, curved=False)
    seen = np.isfinite(found.fit.marker_error)
    return MotionFrames(
        inputs=own,
        at=at,
        rows=np.arange(6),
        q=motion.q[at],
        v=motion.v[at],
        vdot=motion.vdot[at],
        wrenches=found.dynamics.foot_wrenches[at],
        seen_at=inputs.fitted_positions(inputs.markers)[at],
        weights=np.where(seen, inputs.marker_weights(seen), 0.0)[at],
        held=np.zeros_like(motion.v[at]),
    )


@pytest.mark.parametrize("axis", [0, 2], ids=["forward", "sideways"])
def test_a_trunk_that_is_jointed_elsewhere_moves_its_mass_centre_as_told(
    filtered: TrialAnalysis, estimate: Estimate, axis: int
) -> None:
    """L5/S1 a centimetre off: a new estimate on that model gives the trunk another mass centre, by some millimetres."""
    inputs = filtered.propagation
    assert inputs is not None
    assert estimate.summary.constants is not None
    off_m = 0.01 * np.eye(3)[axis]
    model = with_misplaced_centre(inputs.model, "torso", off_m)
    fit = inputs.refit(model, inputs.markers)
    again = estimated(replace(inputs, fit=fit, dynamics=solve_dynamics(fit, inputs.reaction)))
    moved_m = (again.summary.centre_shifts_m["torso"] - estimate.summary.centre_shifts_m["torso"])[axis]

    frames, magnitudes = asked(inputs, estimate), load_magnitudes()
    source, still = joint_centre_error_effects(frames.inputs, magnitudes), SmoothedResponse((), np.zeros(0), {})
    skin = SoftTissue(np.zeros((len(inputs.model.markers), 1)), magnitudes.shares, magnitudes.stride_s)
    answers = parameter_sensitivities(estimate.summary.constants, frames, {"joint_centres": source}, still, skin)
    sizes = [
        (b.definition.name, a)
        for b in model.moving_segments
        for a in range(3)
        if centre_sd(frames, b.definition.name)[a]
    ]
    step = answers.by_column["joint_centres"][:, sizes.index(("torso", axis))] / centre_sd(frames, "torso")[axis]
    # mass centres are the first of the constants' parameters, as m c of the trunk's link
    link = frames.inputs.model.frames["torso"].link
    parameters = estimate.summary.constants.parameters.reshape(-1, 10, estimate.summary.constants.parameters.shape[1])
    inertia = next(b.inertia for b in frames.inputs.model.bodies if b.definition.name == "torso")
    R, count = frames.inputs.model.frames["torso"].R_LB, parameters.shape[2]
    mass_change, first_moment = parameters[link, 0] @ step[:count], parameters[link, 1:4] @ step[:count]
    place = R @ inertia.com + frames.inputs.model.frames["torso"].p_LB
    told_m = (R.T @ (first_moment - mass_change * place))[axis] / inertia.mass * off_m[axis]
    assert abs(moved_m) > 1e-3
    # the motion gives way to a part of the balance, which the constants are told without: they answer up to a half too much
    assert 0.9 < told_m / moved_m < 1.5


def centre_sd(frames: MotionFrames, body: str) -> FloatArray:
    return frames.inputs.centre_sd(body, load_magnitudes())


def test_constants_that_answer_widen_the_trunks_bands_and_narrow_the_hips(
    filtered: TrialAnalysis, estimate: Estimate
) -> None:
    """Errors of masses are found in part: less of them is left. Other errors reach the trunk through its mass centre."""
    inputs = filtered.propagation
    assert inputs is not None

    def bands(constants: bool) -> dict[str, dict[str, float]]:
        account = estimate.summary if constants else replace(estimate.summary, constants=None)
        found = estimate_torque_uncertainty(
            inputs, estimate.fit, estimate.dynamics, estimate.reaction, account, UncertaintySettings()
        )
        assert found is not None
        columns = {name: found.coordinates.index(name) for name in ("lumbar_bending", "hip_flexion_r", "ankle_angle_r")}
        return {
            source: {name: float(np.sqrt(np.nanmean(sd[:, k] ** 2))) for name, k in columns.items()}
            for source, sd in found.by_source.items()
        }

    answered, alone = bands(True), bands(False)
    assert alone["centre_of_pressure"]["lumbar_bending"] == 0.0  # nothing above the pelvis hangs on a plate ...
    assert answered["centre_of_pressure"]["lumbar_bending"] > 0.2  # ... but through the mass centres, Nm
    assert answered["joint_centres"]["lumbar_bending"] > 1.2 * alone["joint_centres"]["lumbar_bending"]
    assert answered["inertias"]["hip_flexion_r"] < 0.8 * alone["inertias"]["hip_flexion_r"]
    # plates are used as in the file, so that no parameter takes up their error
    ankle = [found["centre_of_pressure"]["ankle_angle_r"] for found in (answered, alone)]
    assert ankle[0] == pytest.approx(ankle[1], rel=0.01)


def test_what_strikes_share_is_uncertain_too(
    filtered: TrialAnalysis, estimate: Estimate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wider where feet strike than if the shared course were known, the same elsewhere; the motion is the same."""
    inputs = filtered.propagation
    assert inputs is not None
    assert estimate.summary.random is not None
    monkeypatch.setattr("biodyn.estimation.noise_model._STRIKES_ALIKE", 0.0)
    single = estimated(inputs)
    assert single.summary.random is not None
    # Strikes that share nothing at all have the same sizes to change by: the covariances agree but for the other motion.
    ratio = estimate.summary.random.force / single.summary.random.force
    assert np.nanmedian(ratio) == pytest.approx(1.0, abs=0.01)
    assert np.nanpercentile(np.abs(ratio - 1.0), 95) < 0.1


@pytest.fixture(scope="module")
def straight_kneed() -> RoughRecording:
    """A person whose left knee is straight at a strike: bands were 665 Nm wide there."""
    return rough_recording("fast", 18)


@pytest.mark.slow
def test_no_frame_with_a_straight_knee_has_a_band_of_no_use(straight_kneed: RoughRecording, tmp_path: Path) -> None:
    walk, static = straight_kneed.write(tmp_path)
    found = analyse_trial(walk, static, settings={"uncertainty": {"compute": True}})
    assert found.uncertainty is not None
    known: BoolArray = np.isfinite(found.dynamics.torques)
    for name in ("hip_flexion_l", "hip_rotation_l", "knee_angle_l"):
        column = found.uncertainty.coordinates.index(name)
        sd = np.where(known[:, column], found.uncertainty.total[:, column], np.nan)
        # a hip's torque changes by 10 Nm at a strike within what markers show; nothing else makes single frames stand out
        assert np.nanmax(sd) < 6.0 * np.nanmedian(sd), name
