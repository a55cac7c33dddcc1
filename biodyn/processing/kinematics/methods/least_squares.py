"""Weighted least squares: configuration with the smallest marker distances in every frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.observability import (
    LEAST_LEVER_M,
    poorly_determined,
    sensitivity_by_frame,
    undetermined_coordinates,
    undetermined_root,
)
from biodyn.processing.kinematics.fit import Fit, fit_from_solution
from biodyn.processing.kinematics.methods import METHODS
from biodyn.processing.kinematics.settings import InverseKinematicsSettings
from biodyn.processing.kinematics.tracking import with_unseen_motion
from biodyn.processing.kinematics.visibility import (
    ROOT_Q,
    ROOT_V,
    bridge_prior,
    include_jumps,
    long_stretches,
    root_bridge_prior,
    visibility_weights,
)
from biodyn.processing.signals.prepare import TrialSignals
from biodyn.rigid_body import InverseKinematics, inverse_kinematics
from biodyn.rigid_body.marker_fit import UNDETERMINED

# Interval at which visibility is analysed; postures change little in this time.
_JUDGED_EVERY_S = 0.04

_Solve = Callable[..., InverseKinematics]


@METHODS.register("least_squares")
def fit_least_squares(model: SubjectModel, signals: TrialSignals, settings: InverseKinematicsSettings) -> Fit:
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
    ramp_frames = round(settings.visibility_ramp_s * markers.rate_hz)
    lower, upper = model.coordinate_limits()
    start = model.static_configuration(np.eye(3), np.zeros(3))

    def solver(p_WM: FloatArray) -> tuple[_Solve, FloatArray]:
        """Return the solver for the markers p_WM (T, M, 3), and the factors (T, M) of their weights."""
        ramp = visibility_weights(np.isfinite(p_WM[..., 0]), ramp_frames)

        def solve(
            prior_weights: FloatArray | None = None,
            q_prior: FloatArray | None = None,
            q_near: FloatArray | None = None,
        ) -> InverseKinematics:
            return inverse_kinematics(
                model.multibody,
                links,
                p_LM,
                p_WM,
                weights=marker_weights * ramp,
                lower=lower,
                upper=upper,
                q0=start,
                prior_weights=prior_weights,
                q_prior=q_prior,
                q_near=q_near,
            )

        return solve, ramp

    held = model.prior_weights()
    prior = (held, start) if held.any() else ()
    solve, ramp = solver(p_WM)
    solution = solve(*prior)
    short, long = _frames_with_open_root(
        model, solution.q, np.isfinite(p_WM[..., 0]), markers.rate_hz, signals.settings.spline_gap_s
    )
    if long.any():  # treated as frames without markers, so that weights do not fade next to them
        solve, ramp = solver(np.where(long[:, None, None], np.nan, p_WM))
        solution = solve(*prior)
    longest_s = signals.settings.rigid_gap_s
    solution, lost = _bridge_gaps(
        model, solve, solution, held, ramp, ramp_frames, markers.rate_hz, longest_s, settings.steady_lever_m, short
    )
    status = np.where(short | long, UNDETERMINED, solution.status).astype(solution.status.dtype)
    solution = replace(solution, q=with_unseen_motion(model, solution.q, markers.rate_hz), status=status)
    return fit_from_solution(model, markers, solution, lost, signals.edge_s)


def _frames_with_open_root(
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
    long = long_stretches((is_open | ~solved)[:, None], round(longest_bridge_s * rate_hz))[:, 0]
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
    steady_lever_m: float,
    root_open: BoolArray,
) -> tuple[InverseKinematics, BoolArray]:
    """Solve again with bridges over unobserved or poorly determined coordinates; return the solution and the lost coordinates.

    The lost coordinates are (T, C) bool. root_open: (T,) frames with a bridged root. ramp: (T, M) factor of the weight of each
    marker. held: (nv,) weights that regularise coordinates toward their static angle.
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
    bad = include_jumps(model, solution.q, poorly_determined(model, whole, steady_lever_m), rate_hz)
    if not (unseen.any() or bad.any() or root_open.any()):
        return solution, np.zeros((len(ramp), len(model.coordinates)), dtype=bool)
    # A coordinate that the posture makes unobservable (straight elbow) affects no marker; it is bridged and never lost.
    lost = np.zeros_like(unseen)
    if unseen.any():
        hidden = unseen & ~(whole < LEAST_LEVER_M)
        unsolved = np.asarray(np.isnan(solution.q).any(axis=1))  # unknown, as at the ends of the trial
        lost = hidden & long_stretches(hidden | unsolved[:, None], round(longest_bridge_s * rate_hz))
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
    return solve(np.where(bridges > 0.0, bridges, held), q_prior, q_near), lost
