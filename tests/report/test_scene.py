"""The 3-D scene of a report: what it draws is what was measured and fitted."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from biodyn.output.report.scene import _BodyShape, scene_person, scene_values
from biodyn.output.report.trial_page import render_trial_report
from biodyn.rigid_body import Multibody, body_poses
from biodyn.trial.result import TrialResult


def whole(text: str) -> np.ndarray:
    """The numbers of a page, three a point; missing is NaN."""
    values = np.frombuffer(base64.b64decode(text), dtype="<i2").astype(float)
    return np.where(values == -32768, np.nan, values).reshape(-1, 3)


def scene_in(page: str) -> dict[str, Any]:
    """The numbers of a page's view."""
    found = re.search(r'<div data-scene>.*?<script type="application/json">(.*?)</script>', page, re.S)
    assert found is not None
    scene: dict[str, Any] = json.loads(found[1])
    return scene


@pytest.fixture(scope="module")
def drawn(walk_result: TrialResult) -> dict[str, Any]:
    view = walk_result.view
    found = scene_person(view.arrays, view.tables, view.record["contacts"])
    assert found is not None
    return found


def test_points_are_the_joints_of_the_fitted_body(walk_result: TrialResult, drawn: dict[str, Any]) -> None:
    analysis = walk_result.analysis
    frames = len(analysis.time_s)
    points = whole(drawn["points"]).reshape(frames, drawn["count"], 3)
    heavy = np.flatnonzero(walk_result.view.arrays["body_mass_kg"] > 0.0)
    smoothed = body_poses(analysis.model.multibody, analysis.fit.motion.q)[1][:, heavy] - np.array(drawn["centre"])
    assert points[:, : len(heavy)] == pytest.approx(1000.0 * smoothed, abs=1.1, nan_ok=True)  # whole mm, centre to 1 mm
    assert drawn["times"] == pytest.approx(analysis.time_s, abs=1e-4)


def test_markers_are_where_they_were_measured(walk_result: TrialResult, drawn: dict[str, Any]) -> None:
    assert walk_result.analysis.propagation is not None
    markers = walk_result.analysis.propagation.signals.unfiltered_markers  # as the estimate takes them
    labels = drawn["markers"]["labels"]
    measured = whole(drawn["markers"]["measured"]).reshape(-1, len(labels), 3)
    column = [markers.labels.index(label) for label in labels]
    expected = 1000.0 * (markers.positions[:, column] - np.array(drawn["centre"]))
    assert measured == pytest.approx(expected, abs=1.0, nan_ok=True)
    apart = np.frombuffer(base64.b64decode(drawn["markers"]["apart"]), dtype="i1").reshape(measured.shape).astype(float)
    shown = np.linalg.norm(apart, axis=2)
    table = walk_result.marker_errors[labels].to_numpy()
    # of the smoothed motion here, of every frame by itself in the table
    assert np.nanmedian(np.abs(shown - 1000.0 * table)) < 2.0


def test_forces_and_plates_are_those_of_the_tables(walk_result: TrialResult, drawn: dict[str, Any]) -> None:
    table = walk_result.ground_reaction
    force = whole(drawn["forces"][0]["force"])
    assert force[:, 1] == pytest.approx(table["ground_force_r_y_N"].to_numpy(), abs=0.6, nan_ok=True)
    assert [plate["number"] for plate in drawn["plates"]] == [1, 2, 3]
    assert sum(len(plate["contacts"]) for plate in drawn["plates"]) == len(walk_result.analysis.contacts)


def test_plates_without_edges_are_not_drawn_and_poses_are_called_so(walk_result: TrialResult) -> None:
    """The rectangle that stands for unknown edges was drawn like a real plate; its forces are shown all the same."""
    view = walk_result.view
    arrays = {**view.arrays, "plate_outlined": np.array([False, True, False])}
    record = {
        **view.record,
        "static": {**view.record["static"], "source": "poses"},
        "method": "butterworth",
        "estimate": None,
    }
    page = render_trial_report(replace(view, record=record, arrays=arrays), {})
    (found,) = scene_in(page)["persons"]
    assert [plate["number"] for plate in found["plates"]] == [2]
    assert np.nanmax(whole(found["forces"][0]["force"])[:, 1]) > 500.0
    words = " ".join(page.split())
    assert "Force plates with unknown edges are not drawn." in words
    assert "four points of each measured pose, filtered" in words
    assert "measured markers" not in words
    assert "(chosen from the poses)" in words
    assert (
        "overflow-wrap: anywhere; }" in words.partition("h1 {")[2][:120]
    )  # a name without spaces is not cut off on a phone


def test_the_ghost_is_as_wide_as_the_places_are_uncertain(walk_result: TrialResult, drawn: dict[str, Any]) -> None:
    uncertainty = walk_result.analysis.uncertainty
    assert uncertainty is not None
    assert uncertainty.places is not None
    places, view = uncertainty.places, walk_result.view
    width = np.frombuffer(base64.b64decode(drawn["ghost"]), dtype="u1").reshape(len(drawn["times"]), drawn["count"])
    assert width[places.frames] == pytest.approx(1959.964 * places.sd_m, abs=0.51)
    assert width[:, 1:].max() > 5
    without = {name: values for name, values in view.arrays.items() if not name.startswith("place_sd")}
    unknown = scene_person(without, view.tables, None)
    assert unknown is not None
    assert unknown["ghost"] is None
    page = render_trial_report(replace(view, arrays=without), {})
    assert "95 % band" in render_trial_report(view, {})
    assert "95 % band" not in page


def test_a_long_trial_is_thinned_out(walk_result: TrialResult) -> None:
    view = walk_result.view
    moving = ("time_s", "q", "markers_W")
    arrays = {k: np.concatenate([v] * 6) if k in moving else v for k, v in view.arrays.items()}
    tables = {k: pd.concat([view.tables[k]] * 6) for k in ("ground_reaction", "joint_torques")}
    found = scene_person(arrays, tables, ())
    assert found is not None
    assert len(arrays["time_s"]) / 12 < len(found["times"]) < len(arrays["time_s"]) / 2
    assert len(json.dumps(found)) < 300_000


def test_the_page_holds_the_scene_and_older_results_do_without(walk_result: TrialResult) -> None:
    view = walk_result.view
    page = render_trial_report(view, view.figures_svg())
    (found,) = scene_in(page)["persons"]
    assert found["count"] > 20
    assert len(json.dumps(found)) < 300_000
    older = {name: values for name, values in view.arrays.items() if not name.startswith("marker")}
    without = scene_person(older, view.tables, None)
    assert without is not None
    assert without["markers"] is None
    assert scene_person({"q": view.arrays["q"]}, view.tables, None) is None
    assert scene_values([None]) is None


def test_a_trunk_that_is_head_as_well_gets_a_head(walk_result: TrialResult) -> None:
    """Of a body whose head is taken away: chin and crown where a person of that height has them, on the axis of the trunk."""
    mb = walk_result.analysis.model.multibody
    q = walk_result.analysis.fit.motion.q[100]
    assert len(_BodyShape.from_posture(mb, q).extra_m) == 0
    gone = [k for k, body in enumerate(mb.bodies) if body.name == "head"]
    names = {mb.bodies[k].name for k in gone} | {b.name for b in mb.bodies if b.name.startswith("head")}
    kept = [body for body in mb.bodies if body.name not in names]
    without = Multibody(tuple(kept), mb.gravity_W)
    width = without.neutral_q().shape[0]
    shape = _BodyShape.from_posture(without, np.concatenate([q[:7], np.zeros(width - 7)]))
    assert without.bodies[shape.trunk].name == "torso"
    shoulder, chin, crown = shape.extra_m[:, 1]
    height = walk_result.analysis.subject.height_m
    assert height is not None
    assert crown - chin == pytest.approx(0.13 * height, rel=0.06)
    assert crown - shoulder == pytest.approx(0.182 * height, rel=0.06)
    R, p = body_poses(without, np.concatenate([q[:7], np.zeros(width - 7)])[None])
    top = (p[0, shape.trunk] + R[0, shape.trunk] @ shape.extra_m[2])[1]
    assert top == pytest.approx(height, rel=0.05)
