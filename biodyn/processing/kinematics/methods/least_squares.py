"""Weighted least squares: in every frame the configuration at which the model's markers lie nearest to the measured ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.observability import LEAST_LEVER_M, badly_seen, levers_through, root_unseen, unseen_coordinates
from biodyn.processing.kinematics.fit import Fit, fit_from_solution
from biodyn.processing.kinematics.methods import METHODS
from biodyn.processing.kinematics.parameters import InverseKinematicsSettings
from biodyn.processing.kinematics.tracking import with_unseen_motion
from biodyn.processing.kinematics.visibility import (
    ROOT_Q,
    ROOT_V,
    astray,
    bridge,
    bridge_root,
    long_stretches,
    visibility_weights,
)
from biodyn.processing.signals.prepare import TrialSignals
from biodyn.rigid_body import InverseKinematics, inverse_kinematics
from biodyn.rigid_body.marker_fit import UNDETERMINED

# A marker with less than half its weight no longer counts as seeing a coordinate.
_HALF_FADED = 0.5
# Postures change little in this time.
_JUDGED_EVERY_S = 0.04
# A fit so near to its bridge is the one that the bridge asks for.
_ELSEWHERE_RAD = np.radians(2.0)

_Solve = Callable[..., InverseKinematics]


@METHODS.register("least_squares")
def least_squares(model: SubjectModel, signals: TrialSignals, settings: InverseKinematicsSettings) -> Fit:
    """Fit the skeleton to all visible markers of every frame (smoothed), from its static posture on.

    A marker's weight fades beside its gaps, so that its (dis)appearance does not kick the fitted pose. A coordinate that no
    visible marker sees is carried on for as long as gaps are filled at most (`signals.rigid_gap_s`), then it is lost. Where the
    markers leave the root open, some frames are carried on (`signals.spline_gap_s`); longer stretches have no solution.
    """
    markers = signals.markers
    columns = [markers.labels.index(marker.label) for marker in model.markers]
    p_WM = markers.positions[:, columns]
    links, p_LM, base_weights = model.marker_arrays()
    weights = settings.marker_weights
    own = np.array([weights.get(m.label, w) for m, w in zip(model.markers, base_weights, strict=True)])
    ramp_frames = round(settings.visibility_ramp_s * markers.rate_hz)
    lower, upper = model.limits()
    start = model.static_configuration(np.eye(3), np.zeros(3))

    def solver(p_WM: FloatArray) -> tuple[_Solve, FloatArray]:
        """What fits the markers p_WM (T, M, 3), and the shares (T, M) of their weights."""
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
                weights=own * ramp,
                lower=lower,
                upper=upper,
                q0=start,
                prior_weights=prior_weights,
                q_prior=q_prior,
                q_near=q_near,
            )

        return solve, ramp

    held = model.pulls()
    prior = (held, start) if held.any() else ()
    solve, ramp = solver(p_WM)
    solution = solve(*prior)
    short, long = _root_open(
        model, solution.q, np.isfinite(p_WM[..., 0]), markers.rate_hz, signals.settings.spline_gap_s
    )
    if long.any():  # as if nobody had been seen there: then nothing fades towards it either
        solve, ramp = solver(np.where(long[:, None, None], np.nan, p_WM))
        solution = solve(*prior)
    longest_s = signals.settings.rigid_gap_s
    solution, lost = _carried_over_gaps(
        model, solve, solution, held, ramp, ramp_frames, markers.rate_hz, longest_s, settings.steady_lever_m, short
    )
    status = np.where(short | long, UNDETERMINED, solution.status).astype(solution.status.dtype)
    solution = replace(solution, q=with_unseen_motion(model, solution.q, markers.rate_hz), status=status)
    return fit_from_solution(model, markers, solution, lost, signals.edge_s)


def _root_open(
    model: SubjectModel, q: FloatArray, seen: BoolArray, rate_hz: float, longest_bridge_s: float
) -> tuple[BoolArray, BoolArray]:
    """Return where (T,) the markers seen (T, M) leave the root open: stretches that can be bridged, and those that cannot.

    Some frames of a bridge follow a spline. Over more, a pelvis rises and falls, and nobody can tell how.
    """
    if seen.all():
        nowhere = np.zeros(len(q), dtype=np.bool_)
        return nowhere, nowhere
    solved = np.isfinite(q).all(axis=1)
    is_open = root_unseen(model, q, seen, max(round(_JUDGED_EVERY_S * rate_hz), 1))
    long = long_stretches((is_open | ~solved)[:, None], round(longest_bridge_s * rate_hz))[:, 0]
    return is_open & ~long, is_open & long


def _carried_over_gaps(
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
    """Return the solution; where no marker sees a coordinate, or the posture shows it badly, solved again with its bridge.

    Also return (T, C) what is lost for too long.

    `root_open` (T,): frames in which the root is bridged, too. `ramp` (T, M): share of its weight that each marker has.
    `held` (nv,): weights that hold coordinates to their static angle.
    """
    static = model.static_configuration(np.eye(3), np.zeros(3))
    step = max(round(_JUDGED_EVERY_S * rate_hz), 1)
    visible = ramp >= _HALF_FADED
    # By the posture, not by gaps: those fade in and out, and are bridged where they hide something.
    whole = levers_through(model, solution.q, np.ones_like(visible), step)
    unseen = whole < LEAST_LEVER_M if visible.all() else unseen_coordinates(model, solution.q, visible, step)
    bad = astray(model, solution.q, badly_seen(model, whole, steady_lever_m), rate_hz)
    if not (unseen.any() or bad.any() or root_open.any()):
        return solution, np.zeros((len(ramp), len(model.coordinates)), dtype=bool)
    # What the posture hides (a straight elbow) cannot be told by any marker and changes nothing that can be: it is carried
    # on, never lost.
    lost = np.zeros_like(unseen)
    if unseen.any():
        hidden = unseen & ~(whole < LEAST_LEVER_M)
        unsolved = np.asarray(np.isnan(solution.q).any(axis=1))  # nothing goes on there: as at the ends of the trial
        lost = hidden & long_stretches(hidden | unsolved[:, None], round(longest_bridge_s * rate_hz))
    bridges, q_prior = bridge(model, solution.q, unseen, bad, ramp_frames, rate_hz)
    # What is bridged is held to its bridge, which is the fit itself where markers see it: held to both it would be pulled twice.
    others = [c for c in model.coordinates if not bridges[c.v_index]]
    q_prior[:, [c.q_index for c in others]] = static[[c.q_index for c in others]]
    if root_open.any():
        bridges[:ROOT_V], q_prior[:, :ROOT_Q] = bridge_root(solution.q, root_open)
    # A fit that its bridge leads elsewhere begins there as the first one did: from the frame before, lest it stay astray.
    pulled = [c.q_index for c in model.coordinates if bridges[c.v_index]]
    elsewhere = (np.abs(q_prior[:, pulled] - solution.q[:, pulled]) > _ELSEWHERE_RAD).any(axis=1) | root_open
    q_near = np.where(elsewhere[:, None], np.nan, solution.q)
    return solve(np.where(bridges > 0.0, bridges, held), q_prior, q_near), lost
