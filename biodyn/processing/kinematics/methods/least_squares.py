"""Weighted least squares: in every frame the configuration at which the model's markers lie nearest to the measured ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.model.observability import LEAST_LEVER_M, badly_seen, levers_through, unseen_coordinates
from biodyn.processing.kinematics.fit import Fit, fit_from_solution
from biodyn.processing.kinematics.methods import METHODS
from biodyn.processing.kinematics.parameters import InverseKinematicsSettings
from biodyn.processing.kinematics.unseen import with_unseen_motion
from biodyn.processing.kinematics.visibility import astray, bridge, long_stretches, visibility_weights
from biodyn.processing.signals.prepare import TrialSignals
from biodyn.rigid_body import InverseKinematics, inverse_kinematics

# A marker with less than half its weight no longer counts as seeing a coordinate.
_HALF_FADED = 0.5
# Postures change little in this time.
_JUDGED_EVERY_S = 0.04


@METHODS.register("least_squares")
def least_squares(model: SubjectModel, signals: TrialSignals, settings: InverseKinematicsSettings) -> Fit:
    """Fit the skeleton to all visible markers of every frame (smoothed), from its static posture on.

    A marker's weight fades beside its gaps, so that its (dis)appearance does not kick the fitted pose. A coordinate that no
    visible marker sees is carried on for as long as gaps are filled at most (`signals.rigid_gap_s`), then it is lost.
    """
    markers = signals.markers
    columns = [markers.labels.index(marker.label) for marker in model.markers]
    p_WM = markers.positions[:, columns]
    links, p_LM, base_weights = model.marker_arrays()
    weights = settings.marker_weights
    own = np.array([weights.get(m.label, w) for m, w in zip(model.markers, base_weights, strict=True)])
    ramp_frames = round(settings.visibility_ramp_s * markers.rate_hz)
    ramp = visibility_weights(np.isfinite(p_WM[..., 0]), ramp_frames)
    lower, upper = model.limits()
    start = model.static_configuration(np.eye(3), np.zeros(3))

    def solve(prior_weights: FloatArray | None = None, q_prior: FloatArray | None = None) -> InverseKinematics:
        return inverse_kinematics(
            model.multibody,
            links,
            p_LM,
            p_WM,
            weights=own * ramp,
            lower=lower,
            upper=upper,
            q0=start,
            tolerance=settings.tolerance,
            max_iterations=settings.max_iterations,
            prior_weights=prior_weights,
            q_prior=q_prior,
        )

    longest_s = signals.settings.rigid_gap_s
    held = model.pulls()
    solution, lost = _carried_over_gaps(
        model, solve, held, ramp, ramp_frames, markers.rate_hz, longest_s, settings.steady_lever_m
    )
    solution = replace(solution, q=with_unseen_motion(model, solution.q, markers.rate_hz))
    return fit_from_solution(model, markers, solution, lost, signals.edge_s)


def _carried_over_gaps(
    model: SubjectModel,
    solve: Callable[..., InverseKinematics],
    held: FloatArray,
    ramp: FloatArray,
    ramp_frames: int,
    rate_hz: float,
    longest_bridge_s: float,
    steady_lever_m: float,
) -> tuple[InverseKinematics, BoolArray]:
    """Solve; where no marker sees a coordinate, or the posture shows it badly, solve again with its bridge.

    Also return (T, C) what is lost for too long.

    `ramp` (T, M): share of its weight that each marker has. `held` (nv,): weights that hold coordinates to their static angle.
    """
    static = model.static_configuration(np.eye(3), np.zeros(3))
    solution = solve(held, static) if held.any() else solve()
    step = max(round(_JUDGED_EVERY_S * rate_hz), 1)
    visible = ramp >= _HALF_FADED
    # By the posture, not by gaps: those fade in and out, and are bridged where they hide something.
    whole = levers_through(model, solution.q, np.ones_like(visible), step)
    unseen = whole < LEAST_LEVER_M if visible.all() else unseen_coordinates(model, solution.q, visible, step)
    bad = astray(model, solution.q, badly_seen(model, whole, steady_lever_m), rate_hz)
    if not (unseen.any() or bad.any()):
        return solution, np.zeros((len(ramp), len(model.coordinates)), dtype=bool)
    # What the posture hides (a straight elbow) cannot be told by any marker and changes nothing that can be: it is carried
    # on, never lost.
    lost = np.zeros_like(unseen)
    if unseen.any():
        lost = long_stretches(unseen & ~(whole < LEAST_LEVER_M), round(longest_bridge_s * rate_hz))
    bridges, q_prior = bridge(model, solution.q, unseen, bad, ramp_frames, rate_hz)
    # What is bridged is held to its bridge, which is the fit itself where markers see it: held to both it would be pulled twice.
    others = [c for c in model.coordinates if not bridges[c.v_index]]
    q_prior[:, [c.q_index for c in others]] = static[[c.q_index for c in others]]
    return solve(np.where(bridges > 0.0, bridges, held), q_prior), lost
