"""Tests of what follows the skeleton through a walk: fit, bridges, outliers, attached markers, calibration on the walk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from simulator import SimulatedTrial
from support.sessions import Laboratory, hidden

from biodyn.model.body_model import SubjectModel
from biodyn.model.observability import marker_sensitivity, undetermined_coordinates
from biodyn.processing.kinematics.visibility import (
    bridge_prior,
    long_unobserved_stretches,
    outlier_frames,
    visibility_weights,
)
from biodyn.recording import Markers
from biodyn.rigid_body import body_poses
from biodyn.trial.result import TrialResult
from biodyn.trial.run import analyse_trial
from biodyn.trial.stages import LabelledTrial, OrientedTrial
from biodyn.trial.steps import STEPS, recognise_markers, with_step

QUICK = {"uncertainty": {"compute": False}}

UNFILTERED = {"signals": {"cutoff_hz": 0.0}}


@pytest.fixture(scope="module")
def walk(laboratory: Laboratory) -> SimulatedTrial:
    return laboratory.trials["walk"]


@pytest.fixture(scope="module")
def truth(walk: SimulatedTrial) -> SubjectModel:
    """The model that walked."""
    return walk.body.model


def on_skin(model: SubjectModel, q: np.ndarray) -> Markers:
    """Where the model's markers are in configurations q (T, nq)."""
    links, p_LM, _ = model.marker_arrays()
    R, p = body_poses(model.multibody, q)
    positions = p[:, links] + np.einsum("tmij,mj->tmi", R[:, links], p_LM)
    return Markers(tuple(m.label for m in model.markers), positions, 100.0)


def test_weights_fade_towards_gaps_and_not_towards_the_trials_ends() -> None:
    seen = np.ones((40, 4), dtype=bool)
    seen[18:22, 0] = False
    weights = visibility_weights(seen, ramp_frames=5)
    assert (weights[:, 1:] == 1.0).all()
    assert (weights[18:22, 0] == 0.0).all()
    assert weights[0, 0] == weights[-1, 0] == weights[12, 0] == 1.0
    assert (np.diff(weights[12:18, 0]) < 0.0).all()
    np.testing.assert_allclose(weights[:18, 0], weights[:21:-1, 0])  # the same on both sides
    np.testing.assert_array_equal(visibility_weights(seen, 0), seen)


def test_weights_do_not_fade_where_nobody_remains() -> None:
    """Three points fix a pose: with fewer the recording ends there, and begins anew after."""
    seen = np.ones((40, 4), dtype=bool)
    seen[18:22] = False
    seen[19, 2:] = True
    np.testing.assert_array_equal(visibility_weights(seen, ramp_frames=5)[seen.all(axis=1)], 1.0)
    seen[18:22, 1:] = True
    assert (visibility_weights(seen, ramp_frames=5)[14:18, 0] < 1.0).all()


def test_an_unseen_coordinate_is_carried_on_a_curve_through_both_sides(
    truth: SubjectModel, walk: SimulatedTrial
) -> None:
    q = walk.q.copy()
    coordinate = truth.coordinates[0]
    unseen = np.zeros((len(q), len(truth.coordinates)), dtype=bool)
    unseen[60:75, 0] = True
    unseen[:4, 1] = True
    spoiled = q.copy()
    spoiled[60:75, coordinate.q_index] += 0.5
    weights, prior = bridge_prior(truth, spoiled, unseen, np.zeros_like(unseen), ramp_frames=3, rate_hz=100.0)
    assert weights[coordinate.v_index] > 0.0
    assert np.count_nonzero(weights) == 2
    # Over 21 frames at 100 Hz a walking hip is followed to about 3 degrees by a cubic from outside.
    np.testing.assert_allclose(prior[57:78, coordinate.q_index], q[57:78, coordinate.q_index], atol=0.06)
    np.testing.assert_array_equal(prior[100:, coordinate.q_index], q[100:, coordinate.q_index])
    lost = long_unobserved_stretches(unseen, longest_frames=20)
    assert not lost[:, 0].any()
    assert lost[:4, 1].all(), "a gap at the trial's end has nothing on its other side"
    assert long_unobserved_stretches(unseen, longest_frames=10)[60:75, 0].all(), "longer than allowed"


def test_a_coordinate_is_unseen_without_the_markers_of_its_segment(truth: SubjectModel, walk: SimulatedTrial) -> None:
    foot = truth.sole_body["r"]
    visible = np.ones((30, len(truth.markers)), dtype=bool)
    gone = [i for i, marker in enumerate(truth.markers) if marker.body == foot]
    visible[10:20, gone] = False
    unseen = undetermined_coordinates(truth, walk.q[:30], visible, 4)
    names = {truth.coordinates[c].name for c in np.flatnonzero(unseen[15])}
    assert names == {c.name for c in truth.coordinates if c.body == foot}
    assert not unseen[[5, 25]].any()
    assert (marker_sensitivity(truth, walk.q[:1]) > 0.02).all()


def test_no_marker_in_a_stretch_leaves_no_torque_and_says_so(laboratory: Laboratory, tmp_path: Path) -> None:
    spoiled = laboratory.copy(tmp_path / "hidden", walk=hidden(laboratory.trials["walk"], 120, 190))
    analysis = analyse_trial(spoiled.walk, settings=QUICK)
    assert not analysis.fit.solved[125:185].any()
    assert np.isnan(analysis.dynamics.torques[120:190]).all()
    assert all("too few markers" in analysis.dynamics.reason[t] for t in range(125, 185))
    assert analysis.fit.reliable[60:100].all()


def test_accelerations_at_the_recordings_ends_are_not_used(walk_result: TrialResult) -> None:
    analysis = walk_result.analysis
    edge = int(np.ceil(0.5 / analysis.cutoff_hz * analysis.recording.markers.rate_hz))
    assert analysis.fit.solved.all()
    assert not analysis.fit.reliable[:edge].any()
    assert analysis.fit.reliable[edge:-edge].all()
    assert not analysis.fit.reliable[-edge:].any()
    assert "unreliable" in analysis.dynamics.reason[0]


def test_a_marker_that_jumps_is_left_out_and_named(
    laboratory: Laboratory, walk_result: TrialResult, tmp_path: Path
) -> None:
    trial = laboratory.trials["walk"]
    column = trial.labels.index("LTIB")
    markers = trial.markers.copy()
    markers[100:112, column] += (0.0, 0.0, 0.25)
    spoiled = laboratory.copy(tmp_path / "stray", walk=replace(trial, markers=markers))
    analysis, clean = analyse_trial(spoiled.walk, settings=QUICK), walk_result.analysis
    notes = [d for d in analysis.diagnostics if d.code == "marker-strays"]
    assert len(notes) == 1
    assert notes[0].about == "LTIB"
    assert notes[0].severity == "info"  # 0.12 s
    assert not any(d.code == "marker-strays" for d in clean.diagnostics)
    both = np.isfinite(analysis.dynamics.torques) & np.isfinite(clean.dynamics.torques)
    difference = np.abs(np.where(both, analysis.dynamics.torques - clean.dynamics.torques, 0.0)).max()
    # One wand of the shank less for a quarter second: within the torques' noise (1 mm markers), not hundreds of Nm.
    assert difference < 8.0


def test_outlier_frames_are_rare_or_total(walk_result: TrialResult) -> None:
    fit = walk_result.analysis.fit
    error = np.full_like(fit.marker_error, 0.005)
    error[10:15, 0] = 0.1
    error[:, 1] = 0.09
    error[: len(error) // 2, 2] = 0.1  # half of the time: a wrong model, not an outlier
    outlier = outlier_frames(error, 0.04)
    assert outlier[10:15, 0].all()
    assert outlier[:, 0].sum() == 5
    assert outlier[:, 1].all()
    assert not outlier[:, 2].any()


@pytest.mark.slow
def test_unknown_labels_find_their_segment(laboratory: Laboratory, walk_result: TrialResult) -> None:
    """Labels nobody explains are attached where they sit while standing, or where they move."""
    forgotten = {"LTIB", "RBHD", "STRN"}

    def forgetful(trial: OrientedTrial) -> LabelledTrial:
        trial = recognise_markers(trial)
        known = tuple(role for role in trial.mapping.roles if role.label not in forgotten)
        unknown = tuple(label for label in trial.walk.markers.labels if label in forgotten)
        return replace(trial, mapping=replace(trial.mapping, roles=known, unknown=unknown))

    home = {m.label: m.body for m in walk_result.analysis.model.markers}
    steps = with_step(STEPS, "marker set", forgetful)
    found = analyse_trial(laboratory.walk, steps=steps, settings=QUICK, torques_only=True)
    attached = {m.label: m.body for m in found.model.markers}
    assert {label: attached[label] for label in forgotten} == {label: home[label] for label in forgotten}
