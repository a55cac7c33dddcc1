"""Skeleton fitted to the markers of a whole trial, and the motion that belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import binary_dilation

from biodyn.conventions import BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import MarkerSetError
from biodyn.model.body_model import AttachedMarker, SubjectModel
from biodyn.model.inside_body import inside_segment
from biodyn.model.observability import unseen_coordinates
from biodyn.processing.signals.attitude import continuous_zxy
from biodyn.processing.signals.derivatives import CoordinateKind, motion_from_configuration
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Markers, Motion
from biodyn.rigid_body import InverseKinematics, body_poses, inverse_kinematics
from biodyn.rigid_body.marker_fit import MIN_MARKERS

# A marker that rides on a segment moves less than this against it; more, and it belongs to none.
_ATTACHMENT_LIMIT_M = 0.02
# A marker with less than half its weight no longer counts as seeing a coordinate.
_HALF_FADED = 0.5
# Postures change little in this time.
_JUDGED_EVERY_S = 0.04
# The bridge's pull: as strong as a marker of weight 1 at a lever of 10 cm, weak against any that sees the coordinate well.
_BRIDGE_WEIGHT = 0.01
# Without a filter, too: the curvature of a spline at its very ends hangs on the rounding of the last samples.
_SPLINE_EDGE_FRAMES = 2


@dataclass(frozen=True)
class Fit:
    """Result of the inverse kinematics of a trial.

    Attributes:
        q: (T, nq), NaN rows where the frame could not be solved.
        labels: fitted markers; marker_error (T, M) m, NaN where unseen.
        solved: (T,) bool, frames with a pose. reliable: (T,) bool, frames whose accelerations can be used too.
        reason: T strings, why a frame is not reliable, "" where it is.
        lost: (T, C) bool, coordinates that no visible marker saw for too long: they and what moves with them are unknown.
        status, iterations: (T,) of the solver.
        motion: q, v, vdot (NaN rows where there is none).
        link_R_W, link_p_W: (T, L, 3, 3), (T, L, 3) poses of the links, NaN where unsolved.
    """

    labels: tuple[str, ...]
    marker_error: FloatArray
    solved: BoolArray
    reliable: BoolArray
    reason: tuple[str, ...]
    lost: BoolArray
    status: np.ndarray
    iterations: np.ndarray
    motion: Motion
    link_R_W: FloatArray
    link_p_W: FloatArray
    model: SubjectModel

    def body_pose(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Return R_WB (T, 3, 3) and p_WB (T, 3) of a segment."""
        return self.model.body_poses(self.link_R_W, self.link_p_W, name)


def fit_markers(
    model: SubjectModel,
    markers: Markers,
    *,
    q_start: FloatArray,
    tolerance: float,
    max_iterations: int,
    visibility_ramp_s: float,
    weights: Mapping[str, float],
    longest_bridge_s: float,
    edge_s: float,
) -> Fit:
    """Fit the skeleton to all visible markers of every frame and derive the motion.

    Parameters:
        markers: filtered positions in World, NaN where unseen.
        q_start: (nq,) configuration to start the first frame from.
        visibility_ramp_s: weights fade over this time beside a gap, so that a marker's (dis)appearance does not kick
            the fitted pose.
        weights: by label, over those of the model.
        longest_bridge_s: a coordinate that no visible marker sees is interpolated for so long at most.
        edge_s: accelerations closer than this to the ends of a solved stretch are not reliable (half a period of the
            filter's cut-off: what came before and after is not known).
    """
    columns = [markers.labels.index(marker.label) for marker in model.markers]
    p_WM = markers.positions[:, columns]
    links, p_LM, base_weights = model.marker_arrays()
    own = np.array([weights.get(m.label, w) for m, w in zip(model.markers, base_weights, strict=True)])
    ramp_frames = round(visibility_ramp_s * markers.rate_hz)
    ramp = visibility_weights(np.isfinite(p_WM[..., 0]), ramp_frames)
    lower, upper = model.limits()

    def solve(prior_weights: FloatArray | None = None, q_prior: FloatArray | None = None) -> InverseKinematics:
        return inverse_kinematics(
            model.multibody,
            links,
            p_LM,
            p_WM,
            weights=own * ramp,
            lower=lower,
            upper=upper,
            q0=q_start,
            tolerance=tolerance,
            max_iterations=max_iterations,
            prior_weights=prior_weights,
            q_prior=q_prior,
        )

    solution, lost = _carried_over_gaps(model, solve, ramp, ramp_frames, markers.rate_hz, longest_bridge_s)
    solved: BoolArray = np.asarray(np.isfinite(solution.q).all(axis=1))
    if not solved.any():
        raise MarkerSetError(
            "The skeleton could not be fitted in any frame: too few markers are visible at the same time.",
            "See 'biodyn check FILE.c3d' for the markers' visibility.",
        )
    motion = motion_from_configuration(markers.time_s, solution.q, q_kinds(model))
    moving: BoolArray = np.asarray(np.isfinite(motion.vdot).all(axis=1))
    reason = _reasons(solved, moving, markers.rate_hz, edge_s)
    R, p = body_poses(model.multibody, np.where(solved[:, None], solution.q, model.multibody.neutral()))
    R[~solved], p[~solved] = np.nan, np.nan
    return Fit(
        labels=tuple(m.label for m in model.markers),
        marker_error=solution.marker_error,
        solved=solved,
        reliable=np.array([not text for text in reason]),
        reason=tuple(reason),
        lost=lost,
        status=solution.status,
        iterations=solution.iterations,
        motion=motion,
        link_R_W=R,
        link_p_W=p,
        model=model,
    )


def _carried_over_gaps(
    model: SubjectModel,
    solve: Callable[..., InverseKinematics],
    ramp: FloatArray,
    ramp_frames: int,
    rate_hz: float,
    longest_bridge_s: float,
) -> tuple[InverseKinematics, BoolArray]:
    """Solve; where no marker sees a coordinate, solve again with its bridge. Also return (T, C) what is lost for too long.

    `ramp` (T, M): share of its weight that each marker has.
    """
    solution = solve()
    step = max(round(_JUDGED_EVERY_S * rate_hz), 1)
    unseen = unseen_coordinates(model, solution.q, ramp >= _HALF_FADED, step)
    if not unseen.any():
        return solution, np.zeros((len(ramp), len(model.coordinates)), dtype=bool)
    # What the posture hides (a straight elbow) cannot be told by any marker and changes nothing that can be: it is carried
    # on, never lost.
    hidden = unseen_coordinates(model, solution.q, np.ones_like(ramp, dtype=bool), step)
    lost = long_stretches(unseen & ~hidden, round(longest_bridge_s * rate_hz))
    return solve(*bridge(model, solution.q, unseen, ramp_frames)), lost


def bridge(model: SubjectModel, q: FloatArray, unseen: BoolArray, ramp_frames: int) -> tuple[FloatArray, FloatArray]:
    """Return a prior that carries coordinates over frames in which no marker sees them.

    The prior is the fit itself where the coordinate is seen, and a monotone cubic between both sides where it is not
    (widened by the ramp, so that it joins smoothly); before the first and after the last sight it holds still. Returned:
    prior weights (nv,) and q_prior (T, nq). A coordinate that is never seen gets no prior.
    """
    q_prior = np.where(np.isfinite(q), q, model.multibody.neutral())
    weights = np.zeros(model.multibody.nv)
    frames = np.arange(len(q))
    for column, coordinate in enumerate(model.coordinates):
        gone = unseen[:, column] | ~np.isfinite(q[:, coordinate.q_index])
        if not unseen[:, column].any() or gone.all():
            continue
        wide = binary_dilation(gone, iterations=max(ramp_frames, 1))
        known = ~(wide if not wide.all() else gone)
        curve = np.full(len(q), np.nan)
        if known.sum() > 1:
            curve = PchipInterpolator(frames[known], q[known, coordinate.q_index], extrapolate=False)(frames)
        inside = np.isfinite(curve)
        curve[~inside] = np.interp(frames[~inside], frames[known], q[known, coordinate.q_index])
        q_prior[~known, coordinate.q_index] = curve[~known]
        weights[coordinate.v_index] = _BRIDGE_WEIGHT
    return weights, q_prior


def long_stretches(unseen: BoolArray, longest_frames: int) -> BoolArray:
    """Return the stretches of `unseen` (T, C) that are longer than allowed or reach an end of the trial."""
    lost = np.zeros_like(unseen)
    for column in np.flatnonzero(unseen.any(axis=0)):
        for first, stop in finite_stretches(unseen[:, column]):
            if stop - first > longest_frames or first == 0 or stop == len(unseen):
                lost[first:stop, column] = True
    return lost


def _reasons(solved: BoolArray, moving: BoolArray, rate_hz: float, edge_s: float) -> list[str]:
    reasons = ["" if pose else "too few markers are visible" for pose in solved]
    for t in np.flatnonzero(solved & ~moving):
        reasons[t] = "the stretch between gaps is too short for accelerations"
    edge = max(int(np.ceil(edge_s * rate_hz)), _SPLINE_EDGE_FRAMES)
    for first, stop in finite_stretches(solved & moving):
        for t in {*range(first, min(first + edge, stop)), *range(max(stop - edge, first), stop)}:
            reasons[t] = (
                reasons[t]
                or f"within {edge / rate_hz:.2f} s of the end of the recorded stretch: accelerations are not reliable"
            )
    return reasons


def q_kinds(model: SubjectModel) -> tuple[tuple[CoordinateKind, int], ...]:
    """Layout of q for the derivatives: the base at 0, then one scalar a coordinate."""
    return (("free", 0), *(("scalar", coordinate.q_index) for coordinate in model.coordinates))


def visibility_weights(seen: BoolArray, ramp_frames: int) -> FloatArray:
    """Weights (T, M) in 0-1 that fall to 0 towards the edges of a gap over `ramp_frames`; 1 far from gaps.

    The ends of the trial are no gap, nor are frames without enough markers for a pose: there nobody remains whom the
    others could kick by leaving. The fade is a raised cosine: its slope is 0 at both ends.
    """
    frames = len(seen)
    if ramp_frames < 1:
        return seen.astype(float)
    gone = np.where(seen.sum(axis=1) < MIN_MARKERS, np.inf, 0.0)
    distance = np.full(seen.shape, np.inf)
    count = np.full(seen.shape[1], np.inf)
    for t in range(frames):  # frames since the last gap
        count = np.where(seen[t], count + 1.0, gone[t])
        distance[t] = count
    count = np.full(seen.shape[1], np.inf)
    for t in range(frames - 1, -1, -1):
        count = np.where(seen[t], count + 1.0, gone[t])
        distance[t] = np.minimum(distance[t], count)
    phase = np.clip(distance / (ramp_frames + 1.0), 0.0, 1.0)
    return np.where(seen, 0.5 - 0.5 * np.cos(np.pi * phase), 0.0)


def attach_by_movement(
    fit: Fit, markers: Markers, candidates: Mapping[str, str | None], weight: float
) -> tuple[tuple[AttachedMarker, ...], list[Diagnostic]]:
    """Find the segment that each marker the static trial did not show rides on.

    `candidates` maps labels to the segment named by the marker set, or None where nobody knows: then the segment
    against which the marker moves least is taken, if it is little enough.
    """
    model = fit.model
    bodies = [model.skeleton.root.name, *(body.definition.name for body in model.moving)]
    extra: list[AttachedMarker] = []
    notes: list[Diagnostic] = []
    for label, named in candidates.items():
        p = markers.positions[:, markers.labels.index(label)]
        frames = np.isfinite(p[:, 0]) & fit.solved
        if frames.sum() < 10:
            continue
        best: tuple[float, str, FloatArray] | None = None
        for body in [named] if named in bodies else bodies:
            R, origin = fit.body_pose(str(body))
            local = np.einsum("tji,tj->ti", R[frames], p[frames] - origin[frames])
            place = np.median(local, axis=0)
            spread = float(np.sqrt(np.mean(np.sum((local - place) ** 2, axis=1))))
            if best is None or spread < best[0]:
                best = (spread, str(body), place)
        if best is None:
            continue
        spread, body_name, place = best
        if spread > _ATTACHMENT_LIMIT_M:
            notes.append(
                Diagnostic(
                    "marker-not-used",
                    "info",
                    f"Marker {label} moves with no segment (best: {body_name}, {1000 * spread:.0f} mm): not used.",
                    value=spread,
                    limit=_ATTACHMENT_LIMIT_M,
                    unit="m",
                    about=label,
                )
            )
            continue
        carrier = next(b for b in model.bodies if b.definition.name == body_name)
        inside = None if named in bodies else inside_segment(label, place, carrier, model)
        if inside is not None:
            notes.append(inside)
            continue
        extra.append(AttachedMarker(label, body_name, place, weight, "attached by its movement"))
        notes.append(
            Diagnostic(
                "marker-attached",
                "info",
                f"Marker {label} moves with {body_name} ({1000 * spread:.0f} mm) and was attached there with weight "
                f"{weight:g}.",
                value=spread,
                unit="m",
                about=label,
            )
        )
    return tuple(extra), notes


def base_angles(model: SubjectModel, fit: Fit) -> FloatArray:
    """Tilt, list, rotation of the root (T, 3) rad: R_WB = Rz(tilt) Rx(list) Ry(rotation), continuous through time."""
    R, _ = fit.body_pose(model.skeleton.root.name)
    time_s = fit.motion.time_s
    return continuous_zxy(R, (len(time_s) - 1) / (time_s[-1] - time_s[0]) if len(time_s) > 1 else 1.0)
