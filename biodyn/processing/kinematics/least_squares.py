"""Weighted least squares: configuration with the smallest marker distances in every frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import scipy

from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.rotations import cardan_zxy, matrices_from_cardan_zxy
from biodyn.model.body_model import SubjectModel
from biodyn.model.observability import (
    LEAST_LEVER_M,
    poorly_determined_frames,
    sensitivity_by_frame,
    undetermined_coordinates,
    undetermined_root,
)
from biodyn.model.skeleton import BodyDefinition
from biodyn.processing.kinematics.settings import InverseKinematicsSettings
from biodyn.processing.kinematics.skeleton_fit import Fit, fit_from_solution
from biodyn.processing.kinematics.visibility import (
    ROOT_Q,
    ROOT_V,
    VISIBILITY_RAMP_S,
    add_jump_frames,
    bridge_prior,
    long_unobserved_stretches,
    root_bridge_prior,
    visibility_weights,
)
from biodyn.processing.signals.signal_preparation import TrialSignals
from biodyn.rigid_body import InverseKinematics, body_poses, inverse_kinematics
from biodyn.rigid_body.marker_fit import UNDETERMINED

# Interval at which visibility is analysed; postures change little in this time.
_JUDGED_EVERY_S = 0.04

_Solve = Callable[..., InverseKinematics]


def fit_skeleton_to_markers(model: SubjectModel, signals: TrialSignals, settings: InverseKinematicsSettings) -> Fit:
    """Fit the skeleton to all visible (smoothed) markers of every frame, starting from its static posture.

    The weight of a marker fades next to its gaps, so that the pose does not change abruptly. A coordinate without a visible
    marker is bridged for up to `signals.rigid_gap_s`; in longer stretches it is lost. If the markers do not determine the root,
    stretches up to `signals.spline_gap_s` are bridged, and longer ones have no solution.
    """
    markers = signals.markers
    columns = [markers.labels.index(marker.label) for marker in model.markers]
    p_WM = markers.positions[:, columns]
    links, p_LM, base_weights = model.marker_arrays()
    weights = settings.marker_weights
    marker_weights = np.array([weights.get(m.label, w) for m, w in zip(model.markers, base_weights, strict=True)])
    ramp_frames = round(VISIBILITY_RAMP_S * markers.rate_hz)
    lower, upper = model.coordinate_limits()
    start = model.static_configuration(np.eye(3), np.zeros(3))

    def solver(p_WM: FloatArray) -> tuple[_Solve, FloatArray]:
        """Return the solver for the markers p_WM (T, M, 3), and the factors (T, M) of their weights."""
        ramp = visibility_weights(np.isfinite(p_WM[..., 0]), ramp_frames)
        markers_W = (model.multibody, links, p_LM, p_WM, marker_weights * ramp)
        return partial(inverse_kinematics, *markers_W, lower=lower, upper=upper, q0=start), ramp

    held = model.prior_weights()
    prior = {"prior_weights": held, "q_prior": start} if held.any() else {}
    solve, ramp = solver(p_WM)
    solution = solve(**prior)
    short, long = _frames_with_undetermined_root(
        model, solution.q, np.isfinite(p_WM[..., 0]), markers.rate_hz, signals.settings.spline_gap_s
    )
    if long.any():  # treated as frames without markers, so that weights do not fade next to them
        solve, ramp = solver(np.where(long[:, None, None], np.nan, p_WM))
        solution = solve(**prior)
    longest_s = signals.settings.rigid_gap_s
    solution, lost = _bridge_gaps(model, solve, solution, held, ramp, ramp_frames, markers.rate_hz, longest_s, short)
    status = np.where(short | long, UNDETERMINED, solution.status).astype(solution.status.dtype)
    solution = replace(solution, q=fill_assumed_motion(model, solution.q, markers.rate_hz), status=status)
    return fit_from_solution(model, markers, solution, lost, signals.edge_s)


def _frames_with_undetermined_root(
    model: SubjectModel, q: FloatArray, seen: BoolArray, rate_hz: float, longest_bridge_s: float
) -> tuple[BoolArray, BoolArray]:
    """Return the frames (T,) in which visible markers do not determine the root: those that can be bridged, and the others.

    seen: (T, M) visible markers. Only short stretches are bridged, because the pelvis moves unpredictably over longer times.
    """
    if seen.all():
        nowhere = np.zeros(len(q), dtype=np.bool_)
        return nowhere, nowhere
    solved = np.isfinite(q).all(axis=1)
    is_open = undetermined_root(model, q, seen, max(round(_JUDGED_EVERY_S * rate_hz), 1))
    long = long_unobserved_stretches((is_open | ~solved)[:, None], round(longest_bridge_s * rate_hz))[:, 0]
    return is_open & ~long, is_open & long


def _bridge_gaps(
    model: SubjectModel,
    solve: _Solve,
    solution: InverseKinematics,
    held: FloatArray,
    ramp: FloatArray,
    ramp_frames: int,
    rate_hz: float,
    longest_bridge_s: float,
    root_open: BoolArray,
) -> tuple[InverseKinematics, BoolArray]:
    """Solve again with priors that bridge unobserved or poorly determined coordinates.

    Returns the solution, and a mask (T, C) of the coordinates that are lost because a gap is too long. root_open: (T,) frames
    with a bridged root. ramp: (T, M) factor of the weight of each marker. held: (nv,) weights that regularise coordinates
    toward their static angle.
    """
    # Fraction of its weight below which a marker does not count as visible.
    half_faded = 0.5
    # Largest difference between fit and bridge that needs no new initial configuration.
    restart_rad = np.radians(2.0)
    static = model.static_configuration(np.eye(3), np.zeros(3))
    step = max(round(_JUDGED_EVERY_S * rate_hz), 1)
    visible = ramp >= half_faded
    # This depends on the posture, not on gaps, which fade and are bridged.
    whole = sensitivity_by_frame(model, solution.q, np.ones_like(visible), step)
    unseen = whole < LEAST_LEVER_M if visible.all() else undetermined_coordinates(model, solution.q, visible, step)
    bad = add_jump_frames(model, solution.q, poorly_determined_frames(model, whole), rate_hz)
    if not (unseen.any() or bad.any() or root_open.any()):
        return solution, np.zeros((len(ramp), len(model.coordinates)), dtype=bool)
    # A coordinate that the posture makes unobservable (straight elbow) affects no marker; it is bridged and never lost.
    lost = np.zeros_like(unseen)
    if unseen.any():
        hidden = unseen & ~(whole < LEAST_LEVER_M)
        unsolved = np.asarray(np.isnan(solution.q).any(axis=1))  # unknown, as at the ends of the trial
        lost = hidden & long_unobserved_stretches(hidden | unsolved[:, None], round(longest_bridge_s * rate_hz))
    bridges, q_prior = bridge_prior(model, solution.q, unseen, bad, ramp_frames, rate_hz)
    # A bridged coordinate is regularised toward its bridge only, which is the fit itself where markers determine it.
    others = [c for c in model.coordinates if not bridges[c.v_index]]
    q_prior[:, [c.q_index for c in others]] = static[[c.q_index for c in others]]
    if root_open.any():
        bridges[:ROOT_V], q_prior[:, :ROOT_Q] = root_bridge_prior(solution.q, root_open)
    # If the bridge differs from the fit, the solution starts from the previous frame.
    pulled = [c.q_index for c in model.coordinates if bridges[c.v_index]]
    elsewhere = (np.abs(q_prior[:, pulled] - solution.q[:, pulled]) > restart_rad).any(axis=1) | root_open
    q_near = np.where(elsewhere[:, None], np.nan, solution.q)
    weights = np.where(bridges > 0.0, bridges, held)
    return solve(prior_weights=weights, q_prior=q_prior, q_near=q_near), lost


# -- segments without markers -----------------------------------------------------------------------------------------

_ORDER_ZXY = {"z": 0, "x": 1, "y": 2}
_COMPONENT = {"x": 0, "y": 1, "z": 2}


def fill_assumed_motion(model: SubjectModel, q: FloatArray, rate_hz: float) -> FloatArray:
    """Return configurations q (T, nq) in which coordinates of segments without markers have their assumed motion.

    Other coordinates and NaN rows are unchanged.
    """
    if not model.assumed:
        return q
    filled = q.copy()
    for name, angles in assumed_angles(model, q, rate_hz).items():
        at = next(c.q_index for c in model.assumed if c.name == name)
        filled[:, at] = np.where(np.isfinite(q[:, 0]), angles, np.nan)
    return filled


def assumed_angles(model: SubjectModel, q: FloatArray, rate_hz: float) -> dict[str, FloatArray]:
    """Return the angle (T,) rad of every coordinate with assumed motion, by name, for the fitted q (T, nq); NaN where q is
    unknown."""
    known = np.flatnonzero(np.isfinite(q).all(axis=1))
    angles_by_name = {coordinate.name: np.full(len(q), np.nan) for coordinate in model.assumed}
    if not len(known):
        return angles_by_name
    R_link, p_link = body_poses(model.multibody, q[known])
    before = {b.definition.name: model.body_poses(R_link, p_link, b.definition.name)[0] for b in model.bodies}
    facing = heading(before[model.skeleton.root.name], known, len(q), rate_hz)[known]
    stride = _stride_angles(model, before, facing)
    after: dict[str, FloatArray] = {}
    for body in model.bodies:
        definition, parent = body.definition, body.definition.parent
        if not parent:
            after[definition.name] = before[definition.name]
            continue
        assumed_steps = [step for step in definition.rotations if step.coordinate in angles_by_name]
        after[definition.name] = after[parent] @ np.swapaxes(before[parent], 1, 2) @ before[definition.name]
        if assumed_steps:
            R_WB = _rotations_about_vertical(facing) @ _assumed_attitude(definition, stride)
            angles = cardan_zxy(np.swapaxes(after[parent], 1, 2) @ R_WB)
            for step in assumed_steps:
                if step.principal is None:  # an oblique axis has no angle in the sequence and keeps its value
                    continue
                sign = float(step.axis[_COMPONENT[step.principal]])
                low, high = step.range_rad
                angles_by_name[str(step.coordinate)][known] = np.clip(
                    sign * angles[:, _ORDER_ZXY[step.principal]], low, high
                )
            if len(assumed_steps) == len(definition.coordinate_names):
                after[definition.name] = R_WB
    return angles_by_name


def heading(R_root: FloatArray, known: np.ndarray, frames: int, rate_hz: float) -> FloatArray:
    """Return the heading of the walker (T,) rad, a rotation about the vertical from World X, smoothed over a stride.

    R_root: (K, 3, 3) attitude of the root in the frames `known` (K,); the other frames are interpolated.
    """
    # Smoothing of the pelvis heading; it reduces the rotation in every stride (0.9 Hz) to 8 %.
    heading_sd_s = 0.4
    x = R_root[:, :, 0]
    angle = np.interp(np.arange(frames), known, np.unwrap(np.arctan2(-x[:, 2], x[:, 0])))
    return np.asarray(scipy.ndimage.gaussian_filter1d(angle, heading_sd_s * rate_hz, mode="nearest"))


def _stride_angles(model: SubjectModel, R_WB: dict[str, FloatArray], facing: FloatArray) -> FloatArray:
    """Return half the difference (K,) rad between the forward inclinations of right and left thigh; zero if a thigh is
    missing."""
    leaning = {}
    for side, foot in model.sole_body.items():
        body = model.skeleton.path(foot)[-1]
        down = np.einsum("tji,tj->ti", _rotations_about_vertical(facing), -R_WB[body.name][:, :, 1])
        leaning[side] = np.arctan2(down[:, 0], -down[:, 1])
    if set(leaning) != {"r", "l"}:
        return np.zeros(len(facing))
    return 0.5 * (leaning["r"] - leaning["l"])


def _assumed_attitude(definition: BodyDefinition, stride_r: FloatArray) -> FloatArray:
    """Return the attitude (K, 3, 3) of a segment without markers, in axes rotated with the heading.

    stride_r: stride angle (K,) rad of the right side, see `UnseenMotion`.
    """
    motion = definition.unseen
    assert motion is not None  # only such segments have assumed coordinates
    stride = -stride_r if definition.side == "l" else stride_r
    tilt, list_, turn = motion.attitude_rad
    angles = np.stack([tilt + motion.swing * stride, np.full(len(stride), list_), np.full(len(stride), turn)], axis=1)
    return matrices_from_cardan_zxy(angles)


def _rotations_about_vertical(angle: FloatArray) -> FloatArray:
    """Return the rotation matrices (K, 3, 3) about the vertical axis Y of World by angles (K,) rad."""
    zero = np.zeros_like(angle)
    return matrices_from_cardan_zxy(np.stack([zero, zero, angle], axis=1))
