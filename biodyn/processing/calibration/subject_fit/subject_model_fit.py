"""Fit of the subject model to the static trial and all other trials together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.geometry.points import all_finite, lengths
from biodyn.model.body_model import StaticFigure, SubjectModel, with_coordinates_of, with_shifted_centres
from biodyn.model.observability import inverse_factors, marker_jacobian
from biodyn.processing.calibration.subject_fit.fit_result import (
    SoftTissue,
    SubjectFit,
    fit_summary,
    functional_joints,
    soft_tissue_slides,
)
from biodyn.processing.calibration.subject_fit.unknowns import (
    CalibrationTrial,
    MarkerPlacementEffect,
    ModelPoses,
    Priors,
    SampledFrames,
    SubjectModelBuilder,
    Unknowns,
    define_unknowns,
    joint_jacobian,
    load_priors,
    marker_placement_effect,
    marker_position_derivative,
    model_poses,
    select_frames,
    side_pairs,
)
from biodyn.rigid_body import inverse_kinematics


@dataclass(frozen=True)
class InformationForm:
    """Quadratic approximation of the cost: half step^T information step - gradient step + cost, for a step of theta (P,).

    Attributes: information (P, P), gradient (P,), cost without a step.
    """

    information: FloatArray
    gradient: FloatArray
    cost: float

    def __add__(self, other: InformationForm) -> InformationForm:
        return InformationForm(
            self.information + other.information, self.gradient + other.gradient, self.cost + other.cost
        )


def marker_information(
    model: SubjectModel,
    unknowns: Unknowns,
    skin: SoftTissue,
    q: FloatArray,
    at: ModelPoses,
    free: FloatArray,
    seen_W: FloatArray,
    marker_weight: FloatArray,
) -> InformationForm:
    """Return the information of the markers seen_W (T, M, 3) m (NaN = missing) at the fitted configurations q (T, nq).

    The unknowns come first, then the slides of the soft tissue. free: `free_coordinate_jacobian` at q. marker_weight:
    information (M,)
    1/m^2 of one frame. The coordinates follow every step (variable projection, Golub & Pereyra 1973, doi 10.1137/0710036; the
    Jacobian in the form of Kaufman 1975), so that only the residuals that the coordinates cannot reduce contribute.
    """
    weights = marker_weight * all_finite(seen_W)
    root = np.sqrt(weights)[..., None]
    residual = root * np.nan_to_num(seen_W - at.p_WM)
    follows = _hat_matrix_factor(root[..., None] * free)
    J = joint_jacobian(model, unknowns, q, at)
    n, affected = unknowns.count + skin.count, np.any(J, axis=(0, 2))
    information, gradient = np.zeros((n, n)), np.zeros(n)
    followed = np.zeros((n + 1, len(q), follows.shape[3]))
    # a marker depends on the joints, its position on the segment and the skin, which are few of all unknowns
    for i, marker in enumerate(model.markers):
        joints = np.flatnonzero(affected[i])
        place, placed = marker_position_derivative(marker, unknowns, at)
        slides, slid = skin.marker_derivative(model, i, q, at)
        columns = np.concatenate([joints, place, unknowns.count + slides])
        rows = root[:, i, :, None] * np.concatenate([J[:, i][:, :, joints], placed, slid], axis=2)
        flat = rows.reshape(-1, len(columns))
        information[np.ix_(columns, columns)] += flat.T @ flat
        gradient[columns] += flat.T @ residual[:, i].ravel()
        part = (rows.swapaxes(1, 2) @ follows[:, i]).swapaxes(0, 1)
        followed[joints] += part[: len(joints)]
        followed[columns[len(joints) :]] = part[len(joints) :]  # contribution of this marker only
        followed[n] += (residual[:, i, None] @ follows[:, i])[:, 0]
    # minus the part that the coordinates follow
    flat = followed.reshape(n + 1, -1)
    both = flat @ flat.T
    return InformationForm(information - both[:n, :n], gradient - both[:n, n], 0.5 * float(np.sum(residual**2)))


def eliminate_soft_tissue(evidence: InformationForm, skin: SoftTissue) -> InformationForm:
    """Return the information on the unknowns theta alone, after eliminating the slides of the soft tissue with their prior."""
    n = len(evidence.gradient) - skin.count
    if not skin.count:
        return evidence
    A = evidence.information
    slides = A[n:, n:] + skin.information
    taken = np.linalg.solve(slides, np.column_stack([A[n:, :n], evidence.gradient[n:]]))
    return InformationForm(
        A[:n, :n] - A[:n, n:] @ taken[:, :n], evidence.gradient[:n] - A[:n, n:] @ taken[:, n], evidence.cost
    )


def marker_redundancy(free: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the redundancy (T, M), 0 to 3, of each marker's error components in the fit; weights (T, M), 0 if missing.

    The redundancy is the trace of 1 - H, with H the block of the hat matrix for the derivatives `free` (see
    `free_coordinate_jacobian`).
    """
    follows = _hat_matrix_factor(np.sqrt(weights)[..., None, None] * free)
    return np.where(weights > 0.0, 3.0 - np.sum(follows**2, axis=(2, 3)), 0.0)


def _hat_matrix_factor(columns: FloatArray) -> FloatArray:
    """Return an orthonormal basis (T, M, 3, nv) of the marker errors that change the coordinates.

    The basis is B = columns L^-T, with the Cholesky factor L of the normal matrix; B B^T is the hat matrix of the fit.
    """
    flat = columns.reshape(len(columns), -1, columns.shape[3])
    return np.asarray(flat @ inverse_factors(_normal_matrices(flat)).swapaxes(1, 2)).reshape(columns.shape)


def _normal_matrices(columns: FloatArray) -> FloatArray:
    """Return the normal matrices (T, nv, nv) of (T, N, nv), regularised in undetermined directions."""
    normal = columns.transpose(0, 2, 1) @ columns
    return np.asarray(normal + 1e-9 * np.trace(normal, axis1=1, axis2=2)[:, None, None] * np.eye(normal.shape[1]))


def free_coordinate_jacobian(model: SubjectModel, q: FloatArray) -> FloatArray:
    """Return the derivatives (T, M, 3, nv) of the marker positions by the coordinates at q (T, nq); zero for a coordinate at
    its limit."""
    J = marker_jacobian(model, q)
    lower, upper = model.coordinate_limits()
    for c in model.coordinates:
        at_limit = (q[:, c.q_index] <= lower[c.v_index] + 1e-9) | (q[:, c.q_index] >= upper[c.v_index] - 1e-9)
        J[at_limit, :, :, c.v_index] = 0.0
    return J


def prior_information(unknowns: Unknowns, priors: Priors, theta: FloatArray, mean: FloatArray) -> InformationForm:
    """Return the information of the prior on theta (mean `mean` (P,)) and on equal segment lengths of both sides.

    Marker shifts and length differences have Student t distributions, weighted at the current theta (iterative reweighting).
    """
    share = np.ones(unknowns.count)
    for at in unknowns.markers.values():
        share[at : at + 3] = _student_weight(float(np.linalg.norm(theta[at : at + 3] / unknowns.sd[at])), 3) ** 0.5
    information = share[:, None] * unknowns.information * share
    rows, values, sizes = [], [], []
    figure = unknowns.figure(theta)
    for right, left in side_pairs(unknowns.centres):
        if all(figure.far_end.get(name) in unknowns.centres for name in (right, left)):
            difference = figure.length(right) - figure.length(left)
            rows.append(
                _segment_length_derivative(unknowns, figure, right) - _segment_length_derivative(unknowns, figure, left)
            )
            values.append(difference)
            sizes.append(priors.length_m**-2 * _student_weight(difference / priors.length_m, 1))
    A, b, w = np.array(rows).reshape(-1, unknowns.count), np.array(values), np.array(sizes)
    off = theta - mean
    cost = 0.5 * float(off @ information @ off + w @ b**2)
    return InformationForm(information + A.T @ (w[:, None] * A), -information @ off - A.T @ (w * b), cost)


def _student_weight(distance: float, dimensions: int) -> float:
    """Return the weight of a residual with a Student t distribution, relative to a normal one.

    distance: length of the residual in standard deviations. dimensions: number of its components.
    """
    # Degrees of freedom of the Student t distribution: large deviations are accepted rather than pulled back.
    student = 3.0
    return (student + dimensions) / (student + dimensions + distance**2)


def _segment_length_derivative(unknowns: Unknowns, figure: StaticFigure, name: str) -> FloatArray:
    """Return the derivative (P,) of the length of a segment with respect to theta."""
    row = np.zeros(unknowns.count)
    end = figure.far_end[name]
    along = (figure.p_WB[end] - figure.p_WB[name]) / figure.length(name)
    for centre, sign in ((end, 1.0), (name, -1.0)):
        at = unknowns.centres[centre]
        row[at : at + 3] = sign * along @ unknowns.start.R_WB[unknowns.start.parent[centre]]
    return row


# Number of marker errors to which the prior of a segment's marker errors is equivalent.
_PRIOR_ERRORS = 20.0


@dataclass(frozen=True)
class _SolvedFrames(SampledFrames):
    """Frames of a trial in which the coordinates could be determined.

    Configurations q (T, nq), model poses, and distances (T, M) m of the markers from the model (NaN = missing).
    """

    q: FloatArray
    at: ModelPoses
    distance_m: FloatArray


def fit_subject(
    trials: Sequence[CalibrationTrial],
    model: SubjectModel,
    scaling: SubjectModelBuilder,
    soft: frozenset[str] = frozenset(),
) -> SubjectFit | None:
    """Fit one subject model to all trials and return it with a summary; None if too few frames can be fitted.

    Parameters:
        trials: walks and functional trials of the same person, markers in World.
        model: model of the static trial. scaling: its builder.
        soft: labels of markers with a position on the segment that is not known from the static trial.

    The fit uses Gauss-Newton steps on joint centres, axial rotation offsets, postures and marker positions, and solves the
    coordinates of every frame by inverse kinematics.
    """
    priors = load_priors()
    unknowns = define_unknowns(model, soft, priors)
    frames = select_frames(trials, model, priors)
    if not frames or not unknowns.count:
        return None
    placement = marker_placement_effect(unknowns, model, scaling, priors.placement_m)
    unknowns = placement.unknowns
    problem = _FitProblem(model, unknowns, scaling, priors, placement)
    solution = problem.solve(frames)
    if solution is None:
        return None
    theta, fitted, information, marker_m = solution
    sd = np.sqrt(np.diag(np.linalg.inv(information)))
    before, after = problem.errors(model, marker_m, frames), problem.errors(fitted, marker_m, frames)
    summary = fit_summary(model, fitted, unknowns, theta, sd, before, after, marker_m, [f.trial for f in frames])
    return replace(summary, functional=functional_joints(trials, fitted))


@dataclass(frozen=True)
class _FitProblem:
    """Problem solved by the fit: the model of the static trial, the unknowns with priors, and the builder of models."""

    model: SubjectModel
    unknowns: Unknowns
    scaling: SubjectModelBuilder
    priors: Priors
    placement: MarkerPlacementEffect

    def build_model(self, theta: FloatArray) -> SubjectModel:
        """Return the model for the unknowns theta (P,), with the coordinates and markers of the model of the static trial."""
        located = {body.definition.name for body in self.model.bodies if body.located}
        known = {name: pose for name, pose in self.unknowns.figure(theta).poses_by_segment().items() if name in located}
        made, _ = self.scaling.model(known=known)
        made = with_shifted_centres(with_coordinates_of(made, self.model), self.unknowns.posture_shifts(theta))
        shifts = self.unknowns.marker_shifts(theta)
        made_markers = {marker.label: marker for marker in made.markers}
        markers = tuple(
            replace(made_markers[m.label], p_BM=made_markers[m.label].p_BM + shifts.get(m.label, 0.0))
            for m in self.model.markers
        )
        # If the static trial does not show a leg, its sole stays unknown.
        outlines = {
            side: outline if np.isfinite(self.model.foot_outlines[side]).all() else np.full_like(outline, np.nan)
            for side, outline in made.foot_outlines.items()
        }
        return replace(made, markers=markers, foot_outlines=outlines)

    def solve(self, frames: Sequence[SampledFrames]) -> tuple[FloatArray, SubjectModel, FloatArray, FloatArray] | None:
        """Return theta (P,), its model, its information (P, P), and the standard deviations (M,) m of the markers.

        Returns None if no frame can be solved, for instance because labels are exchanged.
        """
        most_steps = 6
        # Smallest and largest step in prior standard deviations. Smaller steps are far below the accuracy of the fit.
        small_step = 0.1
        largest_step = 3.0
        theta, model, marker_m = np.zeros(self.unknowns.count), self.model, self.unknowns.marker_m
        information, skin = np.eye(self.unknowns.count), soft_tissue_slides(self.model, self.unknowns, self.priors)
        mean = np.zeros(self.unknowns.count)
        for _ in range(most_steps):
            solved = [
                solved_frames
                for f in frames
                if len((solved_frames := self._solve_without_outliers(model, marker_m, f)).q)
            ]
            if not solved:
                return None
            free = [free_coordinate_jacobian(model, f.q) for f in solved]
            marker_m = self._marker_standard_deviations(model, marker_m, solved, free)
            evidence = prior_information(self.unknowns, self.priors, theta, mean)
            # the soft tissue moves differently in functional trials
            for use in dict.fromkeys(f.trial.use for f in solved):
                parts = [
                    part
                    for f, columns in zip(solved, free, strict=True)
                    if f.trial.use == use
                    for part in self._information_by_half(model, skin, f, columns, f.weight * marker_m**-2.0)
                ]
                evidence += eliminate_soft_tissue(sum(parts[1:], parts[0]), skin)
            information = evidence.information
            step = np.linalg.solve(information, evidence.gradient)
            size = float(np.max(np.abs(step / self.unknowns.sd)))
            step *= min(1.0, largest_step / max(size, small_step))
            theta = theta + step
            model = self.build_model(theta)
            if size < small_step:
                break
            mean = self.placement.nonlinear_part(theta - mean)
        return theta, model, information, marker_m

    def _information_by_half(
        self, model: SubjectModel, skin: SoftTissue, solved: _SolvedFrames, free: FloatArray, weight: FloatArray
    ) -> Sequence[InformationForm]:
        """Return the information of the markers for the first and the second half of the frames."""

        def information_of_rows(rows: slice) -> InformationForm:
            return marker_information(
                model, self.unknowns, skin, solved.q[rows], solved.at[rows], free[rows], solved.seen_W[rows], weight
            )

        if len(solved.q) < 2:
            return [information_of_rows(slice(None))]
        half = len(solved.q) // 2
        return [information_of_rows(slice(0, half)), information_of_rows(slice(half, None))]

    def solve_configurations(self, model: SubjectModel, marker_m: FloatArray, frames: SampledFrames) -> FloatArray:
        """Return configurations (T, nq) by inverse kinematics with marker errors (M,) m, NaN for unsolved frames."""
        tolerance = 1e-6  # change of the coordinates, rad and m
        links, p_LM, _ = model.marker_arrays()
        lower, upper = model.coordinate_limits()
        start = model.static_configuration(np.eye(3), np.zeros(3))
        solution = inverse_kinematics(
            model.multibody,
            links,
            p_LM,
            frames.seen_W,
            (marker_m.min() / marker_m) ** 2,
            lower,
            upper,
            q0=start,
            tolerance=tolerance,
        )
        return solution.q

    def errors(
        self, model: SubjectModel, marker_m: FloatArray, frames: Sequence[SampledFrames]
    ) -> list[tuple[FloatArray, FloatArray]]:
        """Return distances (T, M) m and errors (T, M, 3) m in segment axes of the markers of each trial; NaN where missing."""
        errors = []
        for f in frames:
            solved = _solved_frames(model, self.solve_configurations(model, marker_m, f), f)
            R = np.stack([solved.at.R_WB[marker.body] for marker in model.markers], axis=1)
            local = (R.swapaxes(2, 3) @ (solved.seen_W - solved.at.p_WM)[..., None])[..., 0]
            errors.append((solved.distance_m, local))
        return errors

    def _solve_without_outliers(
        self, model: SubjectModel, marker_m: FloatArray, frames: SampledFrames
    ) -> _SolvedFrames:
        """Exclude outlying markers, solve the configurations again without them, and return the solved frames."""
        # Markers with larger errors (exchanged labels, ghost markers, inaccurate model) are excluded from a step.
        outlier_m = 0.06
        first = _solved_frames(model, self.solve_configurations(model, marker_m, frames), frames)
        far = first.distance_m > outlier_m
        if not far.any():
            return first
        remaining = replace(frames, seen_W=np.where(far[..., None], np.nan, first.seen_W))
        return _solved_frames(model, self.solve_configurations(model, marker_m, remaining), remaining)

    def _marker_standard_deviations(
        self, model: SubjectModel, marker_m: FloatArray, solved: Sequence[_SolvedFrames], free: Sequence[FloatArray]
    ) -> FloatArray:
        """Return the standard deviations (M,) m of the markers: prior values, scaled for each segment to the residuals.

        free: `free_coordinate_jacobian` of each trial. The variance is the weighted mean of the prior variance, which counts as
        `_PRIOR_ERRORS` errors, and of the residual variance in independent frames.
        """
        # Limits of the scale of a segment's marker errors relative to the prior.
        error_scale = (1.0, 2.5)
        believed = self.unknowns.marker_m
        squares, counts = np.zeros(len(believed)), np.zeros(len(believed))
        for f, columns in zip(solved, free, strict=True):
            share = f.independent / len(f.q)
            weights = np.isfinite(f.distance_m) * marker_m**-2.0
            squares += share * np.nansum((f.distance_m / believed) ** 2, axis=0)
            counts += share * marker_redundancy(columns, weights).sum(axis=0)
        scale = np.ones(len(believed))
        for body in {marker.body for marker in model.markers}:
            of_body = np.array([marker.body == body for marker in model.markers])
            variance = (_PRIOR_ERRORS + squares[of_body].sum()) / (_PRIOR_ERRORS + counts[of_body].sum())
            scale[of_body] = np.clip(np.sqrt(variance), *error_scale)
        return believed * scale


def _solved_frames(model: SubjectModel, q: FloatArray, frames: SampledFrames) -> _SolvedFrames:
    good = np.isfinite(q).all(axis=1)
    seen, at = frames.seen_W[good], model_poses(model, q[good])
    return _SolvedFrames(frames.trial, seen, frames.independent, q[good], at, lengths(seen - at.p_WM))
