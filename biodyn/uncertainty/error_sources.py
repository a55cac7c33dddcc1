"""Sources of error of the torques: joint centres, inertias, centre of pressure, cut-off, markers, poses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np

from biodyn.conventions import FloatArray, IntArray, without_side
from biodyn.geometry.rotations import cross, points_on_bodies
from biodyn.model.body_model import SubjectModel, with_misplaced_centre
from biodyn.model.skeleton import Inertia
from biodyn.processing.signals.filtering import butterworth_lowpass, estimate_noise
from biodyn.processing.signals.plate_wrenches import resample_wrench
from biodyn.recording import PlateWrench
from biodyn.rigid_body import Multibody, body_poses, generalised_wrench_forces, inertia_sensitivities, inverse_dynamics
from biodyn.rigid_body.kinematics import StickFigure
from biodyn.uncertainty.propagation_inputs import (
    PAIRS,
    Magnitudes,
    TrialInputs,
    filtered_noise_moments,
    stride_movement_moments,
    white_noise_moments,
)

#: Lowest cut-off; lower ones remove the signal of walking.
LOWEST_CUTOFF_HZ = 1.0


@dataclass(frozen=True)
class ErrorEffects:
    """Effect of one standard deviation of each of P independent error parameters.

    Attributes:
        torque: (T, C, P) change of the torques at the same motion, Nm.
        gradient: (T, nv, P) change of the gradient of the fit's cost at the same configuration, which changes the motion.
        noise: for the last columns, which were estimated from noisy markers, moments (T, M or 1, 6) of the white marker noise
            per unit of each column; its known contribution is subtracted from the square of the column.
        models: for columns that are model parameters, the number of steps in one standard deviation and the model after one
            step.
    """

    torque: FloatArray
    gradient: FloatArray
    noise: tuple[FloatArray, ...] = ()
    models: tuple[tuple[float, MarkerTree], ...] = ()


@dataclass(frozen=True)
class MotionFrames:
    """Frames of a trial with known motion, in which the effects of errors are computed.

    Attributes:
        inputs: the trial. at: (T,) frame numbers. rows: (C,) indices of the coordinates in v.
        q, v, vdot, wrenches: (T, ...) motion and wrenches. seen_at: (T, M, 3) m measured markers. weights: (T, M), 0 if not
            visible.
        held: (T, nv), see `fit_responses.regularised_coordinates`.
        joints: (J, C) selection matrix, 1 if coordinate c belongs to joint j; their powers are appended to the torques.
    """

    inputs: TrialInputs
    at: np.ndarray
    rows: np.ndarray
    q: FloatArray
    v: FloatArray
    vdot: FloatArray
    wrenches: FloatArray
    seen_at: FloatArray
    weights: FloatArray
    held: FloatArray
    joints: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def append_powers(self, change: FloatArray) -> FloatArray:
        """Return changes (T, C + J, N) of torques and joint powers from changes (T, C, N) of the torques at the same motion."""
        if not len(self.joints):
            return change
        rates = self.joints * self.v[:, None, self.rows]  # (T, J, C)
        return np.concatenate([change, rates @ change], axis=1)

    @cached_property
    def weighted_markers(self) -> tuple[FloatArray, FloatArray]:
        """Weights w (M, T) of the fit, and w y (M, 3 T) of the measured positions y of the markers."""
        w = self.weights.T
        y = np.where(w > 0.0, self.seen_at.transpose(2, 1, 0), 0.0)  # (3, M, T)
        return np.ascontiguousarray(w), (w * y).transpose(1, 0, 2).reshape(len(w), -1)


#: Function that returns the columns of a source of error for some frames of a trial.
Source = Callable[[MotionFrames], ErrorEffects]


def joint_centre_error_effects(inputs: TrialInputs, magnitudes: Magnitudes) -> Source:
    """Return one error column for each axis of every joint centre with a known error (that of the fitted model if available)."""
    model = inputs.model
    fitted = MarkerTree.from_model(model)
    step_m = 1e-4  # small compared to every joint, large compared to round-off
    changed = []
    for body in model.moving_segments:
        sizes = inputs.centre_sd(body.definition.name, magnitudes)
        for sd, direction in zip(sizes.tolist(), np.eye(3), strict=True):
            if sd:
                other = MarkerTree.from_model(with_misplaced_centre(model, body.definition.name, step_m * direction))
                changed.append((sd / step_m, other, fitted.changed_links(other)))

    def compute_effects(frames: MotionFrames) -> ErrorEffects:
        tau = recompute_torques(frames, fitted.tree)
        # links at the same position have the same gradient
        same = {some: fit_gradient(frames, fitted, some) for some in {some for _, _, some in changed}}
        result = stack_error_effects(
            frames,
            [factor * (recompute_torques(frames, other.tree) - tau) for factor, other, _ in changed],
            [factor * (fit_gradient(frames, other, some) - same[some]) for factor, other, some in changed],
        )
        return replace(result, models=tuple((factor, other) for factor, other, _ in changed))

    return compute_effects


def inertia_error_effects(inputs: TrialInputs, magnitudes: Magnitudes) -> Source:
    """Return the error columns of mass, centre of mass (forward, along) and moments of inertia of each kind of segment (both
    sides equal).

    The torques are linear in the inertial parameters (Atkeson et al. 1986).
    """
    model = inputs.model
    changes = []
    inertias = {body.definition.name: body.inertia for body in model.bodies}
    for group in group_segments_by_kind(model):
        scaled = {name: inertias[name] for name in group}
        share = sum(inertia.mass for inertia in scaled.values()) / model.mass_kg
        if share == 0.0:
            continue
        # Because the body mass is known, all segments lose in proportion what the group gains.
        back = 1.0 / (1.0 + magnitudes.mass_share * share)
        more = (1.0 + magnitudes.mass_share) * back
        changes.append(
            {name: scale_mass(inertia, more if name in group else back) for name, inertia in inertias.items()}
        )
        for axis in (0, 1):
            step = np.zeros(3)
            step[axis] = magnitudes.com_m
            changes.append({name: replace(inertia, com=inertia.com + step) for name, inertia in scaled.items()})
        turn = 1.0 + magnitudes.moment_share
        changes.append({name: replace(inertia, tensor=inertia.tensor * turn) for name, inertia in scaled.items()})
    unchanged = _inertial_parameters(model, inertias)
    by_link = np.zeros((len(model.multibody.bodies), 10, len(changes)))
    for column, change in enumerate(changes):
        for name, values in _inertial_parameters(model, change).items():
            by_link[model.frames[name].link, :, column] += values - unchanged[name]
    parameters = by_link.reshape(-1, len(changes))

    def compute_effects(frames: MotionFrames) -> ErrorEffects:
        change = inertia_sensitivities(model.multibody, frames.q, frames.v, frames.vdot, parameters)
        return stack_error_effects(frames, change[:, frames.rows])

    return compute_effects


def centre_of_pressure_error_effects(inputs: TrialInputs, magnitudes: Magnitudes) -> Source:
    """Return the error columns of the ground reaction of each foot: forward and sideways shifts, shared plates, unmeasured
    strikes."""
    shifts = magnitudes.centre_of_pressure_m * np.eye(3)[[0, 2]]
    others = [*shared_load_errors(inputs), *pre_strike_force_errors(inputs)]

    def compute_effects(frames: MotionFrames) -> ErrorEffects:
        changes = []
        for foot in range(frames.wrenches.shape[1]):
            for shift in shifts:
                change = np.zeros_like(frames.wrenches)
                change[:, foot, :3] = cross(shift, frames.wrenches[:, foot, 3:])
                changes.append(_torque_changes_from_wrenches(frames, change))
        changes += [_torque_changes_from_wrenches(frames, other[frames.at]) for other in others]
        return stack_error_effects(frames, changes)

    return compute_effects


def cutoff_error_effects(inputs: TrialInputs, magnitudes: Magnitudes) -> Source:
    """Return the error columns of the cut-off of markers and forces (slope and curvature of the torques), and for the bias of the
    filter.

    The curvature is included, because the bias of a filter increases steeply as its cut-off decreases: for a standard normal z
    the variance of a z + c z^2 is a^2 + 2 c^2. The bias (`filter_bias`) is treated as one standard deviation.
    """
    step = magnitudes.cutoff_sd_hz(inputs.cutoff_hz)
    if inputs.cutoff_hz == 0 or step == 0:
        return no_error_effects
    raw = inputs.fitted_positions(inputs.unfiltered_markers)

    @cache
    def filter_markers(hz: float) -> FloatArray:
        return butterworth_lowpass(raw, inputs.rate_hz, hz, inputs.filter_order)

    @cache
    def filter_wrenches(hz: float) -> FloatArray:
        return filtered_wrenches(inputs, hz)

    def slope_and_curvature(signal: Callable[[float], FloatArray], hz: float) -> list[FloatArray]:
        if hz == 0:
            return [np.zeros_like(inputs.dynamics.foot_wrenches)] * 2
        low, middle, high = (signal(max(hz + sign * step, LOWEST_CUTOFF_HZ)) for sign in (-1.0, 0.0, 1.0))
        return [0.5 * (high - low), np.sqrt(2.0) * (0.5 * (high + low) - middle)]

    # the bias is computed from filtered signals that the slope also needs
    biases = [
        *slope_and_curvature(filter_markers, inputs.cutoff_hz),
        _filter_loss(inputs, filter_markers(inputs.cutoff_hz)),
    ]
    loads = [*slope_and_curvature(filter_wrenches, inputs.force_cutoff_hz), _wrench_bias(inputs, filter_wrenches)]
    fitted = MarkerTree.from_model(inputs.model)
    seen = np.isfinite(raw[..., 0])
    estimators = [
        lambda x: _filter_loss(inputs, butterworth_lowpass(x, inputs.rate_hz, inputs.cutoff_hz, inputs.filter_order))
    ]
    if inputs.poses is not None:  # errors may be large in these frames, and are counted separately

        def filtered_slope_and_curvature(x: FloatArray) -> list[FloatArray]:
            def apply_filter(hz: float) -> FloatArray:
                return butterworth_lowpass(x, inputs.rate_hz, hz, inputs.filter_order)

            return slope_and_curvature(apply_filter, inputs.cutoff_hz)

        estimators = [
            lambda x: filtered_slope_and_curvature(x)[0],
            lambda x: filtered_slope_and_curvature(x)[1],
            *estimators,
        ]
    noise = [white_noise_moments(seen, inputs.rate_hz, inputs.cutoff_hz, estimator) for estimator in estimators]

    def compute_effects(frames: MotionFrames) -> ErrorEffects:
        places = fitted.marker_positions(frames.q)
        change = stack_error_effects(
            frames,
            [_torque_changes_from_wrenches(frames, change[frames.at]) for change in loads],
            [-_marker_forces(frames, fitted, places, np.nan_to_num(change[frames.at])) for change in biases],
        )
        return replace(change, noise=tuple(moments[frames.at] for moments in noise))

    return compute_effects


# -- Parts of the sources that are also used by repeated analyses with random errors


def group_segments_by_kind(model: SubjectModel) -> list[tuple[str, ...]]:
    """Return the segments grouped by kind, with both sides in one group."""
    groups: dict[str, list[str]] = {}
    for body in model.bodies:
        name, side = body.definition.name, body.definition.side
        groups.setdefault(without_side(name, side), []).append(name)
    return [tuple(group) for group in groups.values()]


def scale_mass(inertia: Inertia, factor: float) -> Inertia:
    """Return the inertia of a segment with the same shape and its mass multiplied by a factor."""
    return Inertia(inertia.mass * factor, inertia.com, inertia.tensor * factor)


def filter_bias(inputs: TrialInputs) -> tuple[FloatArray, FloatArray]:
    """Return the bias of the filters F for all raw markers (T, N, 3) m and for the wrenches on the feet (T, K, 6).

    Plate signals are accurate far above the cut-off. Accelerations of markers are dominated by noise at such frequencies, but x
    = F^-1 F x, and F^-1 = 1 + (1 - F) + (1 - F)^2 + ... (Neumann): the first terms of F x - x are well determined (one term is
    the "twicing" of Tukey 1977).
    """
    markers = butterworth_lowpass(
        inputs.unfiltered_markers.positions, inputs.rate_hz, inputs.cutoff_hz, inputs.filter_order
    )
    return _filter_loss(inputs, markers), _wrench_bias(inputs, lambda hz: filtered_wrenches(inputs, hz))


def _wrench_bias(inputs: TrialInputs, wrenches: Callable[[float], FloatArray]) -> FloatArray:
    hz, walking_hz = inputs.force_cutoff_hz, 30.0  # includes impacts; noise and ringing have higher frequencies
    return wrenches(hz) - wrenches(max(walking_hz, hz)) if hz else np.zeros_like(inputs.dynamics.foot_wrenches)


def _filter_loss(inputs: TrialInputs, filtered: FloatArray) -> FloatArray:
    """Return the first three terms of F x - x = -(1 - F) F x - (1 - F)^2 F x - ... for markers F x (T, ...).

    At the cut-off one term restores half of the signal, and three terms seven eighths. Further terms add more noise than signal.
    """
    total, term = np.zeros_like(filtered), filtered
    for _ in range(3):
        term = term - butterworth_lowpass(term, inputs.rate_hz, inputs.cutoff_hz, inputs.filter_order)
        total -= term
    return total


def filtered_wrenches(inputs: TrialInputs, cutoff_hz: float) -> FloatArray:
    """Return the wrenches (T, K, 6) on the feet for another cut-off, each plate assigned to the same foot."""
    frames = inputs.markers.frame_count
    sides = [side for side in inputs.reaction.wrench if side in inputs.model.sole_body]
    total = np.zeros((frames, len(sides), 6))
    for plate in inputs.raw_plates:
        hz = min(cutoff_hz, 0.45 * plate.rate_hz)  # the sampling rate of a filter must exceed twice its cut-off

        def filter_and_resample(raw: FloatArray, plate: PlateWrench = plate, hz: float = hz) -> FloatArray:
            smooth = butterworth_lowpass(raw, plate.rate_hz, hz, inputs.signals.settings.filter_order)
            return resample_wrench(replace(plate, wrench=smooth), frames, inputs.rate_hz).wrench

        rest = plate.wrench
        for load in inputs.reaction.shared:
            if load.plate == plate.number and load.side in sides:
                part = np.zeros_like(plate.wrench)
                part[load.first_sample : load.first_sample + len(load.raw)] = load.raw
                total[:, sides.index(load.side)] += filter_and_resample(part)
                rest = rest - part
        wrench, owner = filter_and_resample(rest), _assigned_side(inputs, plate.number, frames)
        for foot, side in enumerate(sides):
            total[:, foot] += np.where((owner == side)[:, None], wrench, 0.0)
    return total


def shared_load_errors(inputs: TrialInputs) -> FloatArray:
    """Return one standard deviation (K, T, feet, 6) of the wrenches on feet that share a plate, with a constant sum."""
    sides = [side for side in inputs.reaction.wrench if side in inputs.model.sole_body]
    shared = [load for load in inputs.reaction.shared if load.side in sides]
    count = max((len(load.sd) for load in shared), default=0)
    total = np.zeros((count, inputs.markers.frame_count, len(sides), 6))
    for load in shared:
        rows = slice(load.first_frame, load.first_frame + load.sd.shape[1])
        total[: len(load.sd), rows, sides.index(load.side)] += load.sd
    return total


def pre_strike_force_errors(inputs: TrialInputs) -> FloatArray:
    """Return one standard deviation (2, T, feet, 6) of the filtered force before strikes off the plates."""
    sides = [side for side in inputs.reaction.wrench if side in inputs.model.sole_body]
    total = np.zeros((2, inputs.markers.frame_count, len(sides), 6))
    for foot, side in enumerate(sides):
        if side in inputs.reaction.expected_sd:
            total[:, :, foot] = inputs.reaction.expected_sd[side]
    return total


def _assigned_side(inputs: TrialInputs, plate: int, frames: int) -> np.ndarray:
    """Return for each frame the side of the foot on a plate, by the contact nearest in time; "" if it is not assigned to a
    foot."""
    contacts = [contact for contact in inputs.contacts if contact.plate == plate]
    if not contacts:
        return np.full(frames, "")
    time_s = np.arange(frames) / inputs.rate_hz
    distance = np.stack([np.maximum(np.maximum(c.start_s - time_s, time_s - c.end_s), 0.0) for c in contacts])
    sides = np.array([(c.side or "") if c.decision == "assigned" else "" for c in contacts])
    return np.asarray(sides[distance.argmin(axis=0)])


def no_error_effects(frames: MotionFrames) -> ErrorEffects:
    """Return error columns without any parameter, for a source that has no effect."""
    return stack_error_effects(frames, [])


@dataclass(frozen=True)
class MarkerTree:
    """Multibody tree with attached markers: link of each marker (M,), and position (M, 3) m on it."""

    tree: Multibody
    links: IntArray
    p_LM: FloatArray

    @classmethod
    def from_model(cls, model: SubjectModel) -> MarkerTree:
        """Return the tree of a model with all its markers."""
        links, p_LM, _ = model.marker_arrays()
        return cls(model.multibody, links, p_LM)

    def marker_positions(self, q: FloatArray) -> FloatArray:
        """Return the positions (T, M, 3) m of the markers in World for configurations q (T, nq)."""
        R, p = body_poses(self.tree, q)
        return points_on_bodies(R, p, self.links, self.p_LM)

    @cached_property
    def figure(self) -> StickFigure:
        """Stick figure of the tree: points at its joints and segment ends."""
        return StickFigure.from_posture(self.tree)

    @cached_property
    def marker_links(self) -> IntArray:
        """Indices (K,) of the links that carry markers."""
        return np.unique(self.links)

    @cached_property
    def marker_sum_matrices(self) -> FloatArray:
        """Matrices (4, K, M) that sum marker values over the markers of each of the K links, weighted by position and by 1."""
        carries = (self.links == self.marker_links[:, None]).astype(np.float64)
        return np.stack([carries * place for place in (*self.p_LM.T, 1.0)])

    def changed_links(self, other: MarkerTree) -> tuple[int, ...]:
        """Return the indices in `marker_links` of links that differ in pose or markers from a model with the same joints."""
        tree, changed, round_off = self.tree.tree, other.tree.tree, 1e-12  # steps are 1e8 times larger
        pairs = ((tree.R_PJ, changed.R_PJ), (tree.p_PJ, changed.p_PJ))
        apart = np.any([np.abs(a - b).max(axis=1) > round_off for a, b in pairs], axis=0)
        for link, parent in enumerate(tree.parent.tolist()):  # parents precede children
            apart[link] |= parent >= 0 and apart[parent]
        apart[self.links[np.abs(self.p_LM - other.p_LM).max(axis=1) > round_off]] = True
        return tuple(np.flatnonzero(apart[self.marker_links]).tolist())


def fit_gradient(frames: MotionFrames, fitted: MarkerTree, some: tuple[int, ...] | None = None) -> FloatArray:
    """Return the gradient (T, nv) of half the fit's cost at the same configuration: sum w J^T (x - y).

    some: indices in `MarkerTree.marker_links` of the links with markers that are used; None = all.

    With x = p + R p_LM, the forces w (x - y) at the markers of a link, and their moments about the world's origin, follow from
    the link's pose and from four sums over its markers, of w (p_LM, 1) and w (p_LM, 1) y^T: one product of matrices for all.
    """
    weights, weighted = frames.weighted_markers
    among = np.arange(len(fitted.marker_links)) if some is None else np.array(some, dtype=np.int64)
    count, links = len(frames.at), fitted.marker_links[among]
    sums = fitted.marker_sum_matrices[:, among].reshape(4 * len(links), -1)
    R, p = body_poses(fitted.tree, frames.q)
    pose = np.empty((3, 4, len(links), count))  # [R p]: rows of World
    pose[:, :3], pose[:, 3] = R[:, links].transpose(2, 3, 1, 0), p[:, links].transpose(2, 1, 0)
    total = (sums @ weights).reshape(4, len(links), count)
    seen = (sums @ weighted).reshape(4, len(links), 3, count).transpose(2, 0, 1, 3)
    loads = np.empty((6, len(links), count))
    for axis, (b, c) in enumerate(((1, 2), (2, 0), (0, 1))):
        # x x w (x - y) = y x w x
        loads[axis] = np.sum(pose[c] * seen[b] - pose[b] * seen[c], axis=0)
        loads[3 + axis] = np.sum(pose[axis] * total, axis=0) - seen[axis, 3]
    return generalised_wrench_forces(fitted.tree, frames.q, loads.transpose(2, 1, 0), links)


def _marker_forces(frames: MotionFrames, fitted: MarkerTree, x: FloatArray, error: FloatArray) -> FloatArray:
    """Return sum w J^T e (T, nv): the generalised forces of forces w e at the markers."""
    links = fitted.marker_links
    force = frames.weights[..., None] * error
    moment = np.stack(
        [x[..., b] * force[..., c] - x[..., c] * force[..., b] for b, c in ((1, 2), (2, 0), (0, 1))], axis=2
    )
    carries = (fitted.links == links[:, None]).astype(np.float64)  # (K, M)
    loads = carries @ np.concatenate([moment, force], axis=2)
    return generalised_wrench_forces(fitted.tree, frames.q, loads, links)


def _torque_changes_from_wrenches(frames: MotionFrames, change: FloatArray) -> FloatArray:
    """Return the changes (T, C) Nm of the torques caused by changes (T, K, 6) of the foot wrenches."""
    links = frames.inputs.dynamics.foot_wrench_links
    return -generalised_wrench_forces(frames.inputs.model.multibody, frames.q, change, links)[:, frames.rows]


def recompute_torques(frames: MotionFrames, tree: Multibody) -> FloatArray:
    """Return the torques (T, C) Nm that another tree needs for the same motion."""
    tau = inverse_dynamics(
        tree, frames.q, frames.v, frames.vdot, frames.wrenches, frames.inputs.dynamics.foot_wrench_links
    )
    return np.asarray(tau[:, frames.rows])


def _inertial_parameters(model: SubjectModel, inertias: Mapping[str, Inertia]) -> dict[str, FloatArray]:
    """Return [m, m c, I_xx, I_xy, I_xz, I_yy, I_yz, I_zz about the origin] (10,) in link axes for inertias of segments."""
    upper, result = np.triu_indices(3), {}
    for name, inertia in inertias.items():
        in_link = inertia.express_in_axes(model.frames[name].R_LB, model.frames[name].p_LB)
        mass, c = in_link.mass, in_link.com
        tensor = in_link.tensor + mass * ((c @ c) * np.eye(3) - np.outer(c, c))
        result[name] = np.concatenate([[mass], mass * c, tensor[upper]])
    return result


def stack_error_effects(
    frames: MotionFrames, torque: list[FloatArray] | FloatArray, gradient: list[FloatArray] | None = None
) -> ErrorEffects:
    """Return error columns from a list of changes of torques (T, C) and of gradients (T, nv); missing ones are zero."""
    shape = (len(frames.at), len(frames.rows))
    if isinstance(torque, list):
        torque = np.stack(torque, axis=2) if torque else np.zeros((*shape, 0))
    if gradient:
        return ErrorEffects(torque, np.stack(gradient, axis=2))
    return ErrorEffects(torque, np.zeros((shape[0], frames.v.shape[1], 0)))


# -- Errors of measured poses: white noise, movement with the stride, and offsets
#
# The virtual points of a segment have common errors: of its origin and of its attitude. The response of
# the fit therefore has six columns per segment, three for its origin and three for its attitude. A constant offset
# also changes the model, because joint centres and fixed angles are means of the same poses.


@dataclass(frozen=True)
class PosePoints:
    """Virtual points that represent segment poses in the fit; `groups` (S, 4): indices of the points of each segment."""

    groups: IntArray

    @classmethod
    def from_inputs(cls, inputs: TrialInputs) -> PosePoints:
        """Return the virtual points of a trial grouped by segment, in the order of the fit."""
        bodies = [marker.body for marker in inputs.model.markers]
        return cls(np.array([[m for m, b in enumerate(bodies) if b == body] for body in dict.fromkeys(bodies)]))

    def shift_and_rotation_response(self, A: FloatArray, places: FloatArray) -> FloatArray:
        """Return the response (T, nv, 3, 2 S) of the configuration to shifts of the S segment origins, then to rotations.

        A: (T, nv, 3, M) response to the points at `places` (T, M, 3) m. dq = sum A_m . (d + theta x r_m) = d . sum A_m + theta
        . sum r_m x A_m, with r_m from the origin of the segment.
        """
        arms = places[:, self.groups]
        arms = (arms - arms.mean(axis=2, keepdims=True)).transpose(0, 3, 1, 2)[:, None]  # (T, 1, 3, S, 4)
        by_point = A[..., self.groups]
        by_attitude = np.stack(
            [
                arms[:, :, a] * by_point[:, :, b] - arms[:, :, b] * by_point[:, :, a]
                for a, b in ((1, 2), (2, 0), (0, 1))
            ],
            axis=2,
        )
        return np.concatenate([by_point.sum(axis=-1), by_attitude.sum(axis=-1)], axis=3)

    def values_by_pose(self, values: FloatArray) -> FloatArray:
        """Return values (..., 2 S) for origins and attitudes, taken from the first of each segment's points (..., M)."""
        first = values[..., self.groups[:, 0]]
        return np.concatenate([first, first], axis=-1)

    def noise(self, inputs: TrialInputs, magnitudes: Magnitudes) -> FloatArray:
        """Return the white noise (2 S,) of origins (m) and attitudes (rad) in the trial, at least the typical noise.

        The variance of a tetrahedron corner at (a, a, a) along each axis is that of the origin plus 2 a^2 times that of the
        attitude.
        """
        raw, rate_hz, order = inputs.fitted_positions(inputs.unfiltered_markers), inputs.rate_hz, inputs.filter_order
        corners = raw[:, self.groups]
        origin = estimate_noise(corners.mean(axis=2), rate_hz, magnitudes.noise_from_hz, order)
        points = estimate_noise(raw, rate_hz, magnitudes.noise_from_hz, order)[self.groups]
        span = np.nanmedian(np.linalg.norm(corners - corners.mean(axis=2, keepdims=True), axis=3), axis=(0, 2))
        turn = np.sqrt(np.maximum(np.mean(points**2, axis=1) - origin**2, 0.0) * 1.5) / span
        usual = magnitudes.pose_noise
        return np.concatenate([np.fmax(origin, usual[0]), np.fmax(turn, usual[1])])


def pose_offset_error_effects(inputs: TrialInputs, magnitudes: Magnitudes) -> Source:
    """Return six error columns for the constant errors of every segment pose, for each of which the model is rebuilt."""
    errors = inputs.poses
    if errors is None or not errors.shares[0]:
        return no_error_effects
    fitted = MarkerTree.from_model(inputs.model)
    others = [
        (
            np.sqrt(errors.shares[0]) * errors.size[int(offset.turns)] / offset.step,
            MarkerTree.from_model(offset.model),
            offset.moved_L,
        )
        for offset in errors.offsets
    ]

    def compute_effects(frames: MotionFrames) -> ErrorEffects:
        tau, gradient = recompute_torques(frames, fitted.tree), fit_gradient(frames, fitted)
        R = body_poses(fitted.tree, frames.q)[0]
        torque_changes, gradient_changes = [], []
        for factor, other, moved_L in others:
            seen_at = frames.seen_at.copy()
            some = np.flatnonzero(moved_L.any(axis=1))
            seen_at[:, some] += (R[:, fitted.links[some]] @ moved_L[some, :, None])[..., 0]
            torque_changes.append(factor * (recompute_torques(frames, other.tree) - tau))
            gradient_changes.append(factor * (fit_gradient(replace(frames, seen_at=seen_at), other) - gradient))
        models = tuple((float(factor), other) for factor, other, _ in others)
        return replace(stack_error_effects(frames, torque_changes, gradient_changes), models=models)

    return compute_effects


# -- Random errors of markers (noise and soft tissue) after the filter, and the variance of a torque


@dataclass(frozen=True)
class MarkerMoments:
    """Standard deviations of marker errors, and second moments of their time courses.

    noise_m, skin_m: (M,) m, white noise, and movement of single markers on the skin. The moments of unit noise are (T, M or 1,
    6), the moments of unit movement (6,). common_m: (M, S) movement, m, that the markers of each of S segments share. For
    measured poses the errors are of origins (m) and attitudes (rad), (2 S,).
    """

    noise_m: FloatArray
    skin_m: FloatArray
    noise: FloatArray
    skin: FloatArray
    common_m: FloatArray
    poses: PosePoints | None = None

    def shared_response(self, response: FloatArray) -> FloatArray:
        """Return the response (..., 3 S) to one standard deviation of the movements that the markers of a segment share.

        response: (..., 3 M) to single markers.
        """
        parts = response.reshape(*response.shape[:-1], 3, -1) @ to_single_precision(self.common_m)
        return np.asarray(parts.reshape(*response.shape[:-1], -1))

    def skin_variance(self, g: tuple[FloatArray, FloatArray, FloatArray]) -> FloatArray:
        """Return the variance (T, C) of g0 s + g1 s' + g2 s'' (T, C, 3 M) for the movement s of the skin."""
        total = noise_variance(g, self.skin[None, None], self.skin_m)
        if self.common_m.any():
            shared = tuple(self.shared_response(part) for part in g)
            total = total + noise_variance(shared, self.skin[None, None], np.ones(self.common_m.shape[1]))
        return total

    def expand_moments(self, moments: FloatArray) -> FloatArray:
        """Return the moments (T, M or 1, 6) of single markers repeated for the errors of `noise_m`."""
        if self.poses is None or moments.shape[1] == 1:
            return moments
        return self.poses.values_by_pose(moments.transpose(0, 2, 1)).transpose(0, 2, 1)


def marker_moments(inputs: TrialInputs, magnitudes: Magnitudes) -> MarkerMoments:
    """Return the moments of the marker errors of a trial; the noise is at least the typical noise."""
    rate_hz, cutoff_hz, order = inputs.rate_hz, inputs.cutoff_hz, inputs.filter_order
    stride_s = inputs.stride_s if np.isfinite(inputs.stride_s) else magnitudes.stride_s
    raw = inputs.fitted_positions(inputs.unfiltered_markers)
    if inputs.poses is not None:
        poses, errors = PosePoints.from_inputs(inputs), inputs.poses
        noise = filtered_noise_moments(np.isfinite(raw[..., 0]), rate_hz, cutoff_hz, order)
        moving = (0.0, *errors.shares[1:])  # the offset also changes the model: `pose_offset_error_effects`
        return MarkerMoments(
            noise_m=poses.noise(inputs, magnitudes),
            skin_m=np.repeat(errors.size, len(poses.groups)),
            noise=poses.values_by_pose(noise.transpose(0, 2, 1)).transpose(0, 2, 1) if noise.shape[1] > 1 else noise,
            skin=stride_movement_moments(moving, stride_s, rate_hz, cutoff_hz, order),
            common_m=np.zeros((2 * len(poses.groups), 1)),
            poses=poses,
        )
    skin_m, common_m = magnitudes.skin_modes([marker.body for marker in inputs.model.markers])
    return MarkerMoments(
        noise_m=np.fmax(estimate_noise(raw, rate_hz, magnitudes.noise_from_hz, order), magnitudes.marker_noise_m),
        skin_m=skin_m,
        common_m=common_m,
        noise=filtered_noise_moments(np.isfinite(raw[..., 0]), rate_hz, cutoff_hz, order),
        skin=stride_movement_moments(magnitudes.shares, stride_s, rate_hz, cutoff_hz, order),
    )


def noise_variance(g: tuple[FloatArray, ...], moments: FloatArray, sd: FloatArray) -> FloatArray:
    """Return the variance (T, C) of g0 n + g1 n' + g2 n'' (T, C, 3M).

    moments: (T or 1, M or 1, 6) and sd: (M,) of n.
    """
    round_off = 1e-7  # correlation; far from the ends an error and its rate are uncorrelated
    total = np.zeros(g[0].shape[:2])
    for column, (i, j) in enumerate(PAIRS):
        size = np.sqrt(moments[..., PAIRS.index((i, i))] * moments[..., PAIRS.index((j, j))])
        if np.any(np.abs(moments[..., column]) > round_off * size):
            twice = 1.0 if i == j else 2.0
            weight = to_single_precision(np.tile(twice * moments[..., column] * sd**2, (1, 3)))
            total += ((g[i] * g[j]) @ weight[:, :, None])[..., 0]
    return np.maximum(total, 0.0)  # round-off without motion


def to_single_precision(values: FloatArray) -> FloatArray:
    """Return the values in single precision, which is faster and sufficient for a standard deviation with three digits."""
    return values.astype(np.float32)  # type: ignore[return-value]
