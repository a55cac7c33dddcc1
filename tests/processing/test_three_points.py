"""Moments in axes that three points give in each frame: the same vectors, turned as the markers turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from biodyn.processing.dynamics.inverse_dynamics import express_in_three_point_axes
from biodyn.recording import Markers

_END, _WAND = "RKNE", "RTHI"
_LABELS = {"knee_lateral_r": _END, "thigh_wand_r": _WAND}


@pytest.fixture(scope="module")
def analysis(walk_result):
    return walk_result.analysis


def worn(analysis, turned_deg):
    """Right knee and thigh markers where the fit has them, the thigh turned further about the line to the knee's marker."""
    R, p = analysis.fit.body_pose("femur_r")
    local = {marker.label: marker.p_BM for marker in analysis.model.markers}
    along = -local[_END] / np.linalg.norm(local[_END])
    angle = np.radians(turned_deg)
    K = np.cross(np.eye(3), along) * -1.0
    turn = np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K
    places = np.stack([local[_END], local[_END] + turn @ (local[_WAND] - local[_END])])
    positions = np.einsum("tij,mj->tmi", R, places) + p[:, None]
    return Markers((_END, _WAND), positions, analysis.recording.markers.rate_hz), turn


def load_of(dynamics, joint):
    return next(load for load in dynamics.joints if (load.joint, load.side) == (joint, "r"))


def test_markers_that_move_with_the_bone_change_nothing(analysis):
    markers, _ = worn(analysis, 0.0)
    found, notes = express_in_three_point_axes(analysis.dynamics, analysis.fit, markers, _LABELS)
    for before, after in zip(analysis.dynamics.joints, found.joints, strict=True):
        for frame in before.moment:
            np.testing.assert_allclose(after.moment[frame], before.moment[frame], atol=1e-9)
    assert [note.code for note in notes] == ["moment-axes"]  # the other segments have no such markers here
    assert "right thigh" not in notes[0].message
    assert "left shank" in notes[0].message


def test_a_turned_thigh_turns_the_components_and_keeps_the_moment(analysis):
    markers, turn = worn(analysis, 8.0)
    found, _ = express_in_three_point_axes(analysis.dynamics, analysis.fit, markers, _LABELS)
    before, after = load_of(analysis.dynamics, "hip"), load_of(found, "hip")
    np.testing.assert_allclose(after.moment["distal"], before.moment["distal"] @ turn, atol=1e-9)
    np.testing.assert_allclose(after.moment["proximal"], before.moment["proximal"], atol=1e-9)  # in the pelvis
    knee, turned = load_of(analysis.dynamics, "knee"), load_of(found, "knee")
    np.testing.assert_allclose(turned.moment["proximal"], knee.moment["proximal"] @ turn, atol=1e-9)
    np.testing.assert_allclose(turned.force["proximal"], knee.force["proximal"] @ turn, atol=1e-9)
    np.testing.assert_allclose(turned.moment["jcs"][:, 2], turned.moment["proximal"][:, 2], atol=1e-9)
    np.testing.assert_array_equal(turned.power, knee.power)
    assert np.nanmax(np.abs(turned.moment["jcs"][:, 2] - knee.moment["jcs"][:, 2])) > 0.5  # Nm


def test_an_unseen_marker_leaves_the_fitted_axes(analysis):
    markers, _ = worn(analysis, 8.0)
    positions = markers.positions.copy()
    gap = slice(40, 60)
    positions[gap, 1] = np.nan
    gappy = replace(markers, positions=positions)
    found, notes = express_in_three_point_axes(analysis.dynamics, analysis.fit, gappy, _LABELS)
    before, after = load_of(analysis.dynamics, "knee"), load_of(found, "knee")
    np.testing.assert_allclose(after.moment["jcs"][gap], before.moment["jcs"][gap], atol=1e-9)
    assert np.array_equal(np.isnan(after.moment["jcs"]), np.isnan(before.moment["jcs"]))
    (note,) = (note for note in notes if "In frames without" in note.message)
    assert note.code == "moment-axes"
    assert note.message.endswith(f": right thigh ({int(analysis.fit.reliable[gap].sum())}).")
