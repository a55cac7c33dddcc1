"""Estimate of a whole trial, computed separately for each continuous stretch of the fitted motion."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import EstimateError, ModelError
from biodyn.estimation.estimation_problem import (
    EstimationProblem,
    StretchMotion,
    TimeWindow,
    UniformSpline,
    split_into_windows,
)
from biodyn.estimation.gauss_newton import (
    Posterior,
    Solution,
    eliminate_residual,
    posterior_sd,
    power_derivatives,
    solve_problem,
)
from biodyn.estimation.noise_model import (
    NoiseModel,
    SmoothTorques,
    balance_errors,
    estimate_noise_model,
    knot_step,
    times_since_strikes,
    torque_smoothness_prior,
)
from biodyn.estimation.normal_equation_terms import marker_information
from biodyn.estimation.settings import EstimationSettings
from biodyn.estimation.shared_parameters import InformationForm
from biodyn.estimation.summary import EstimateSummary, require_plausible_estimate, summarise_estimate
from biodyn.estimation.unknown_parameters import (
    InertiaUnknowns,
    PlateUnknowns,
    correct_reaction,
    inertia_unknowns,
    plate_unknowns,
)
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.inverse_dynamics import Dynamics, KnownLoads, known_loads, solve_dynamics
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.signals.derivatives import motion_from_configuration
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import GroundReaction
from biodyn.rigid_body import integrate
from biodyn.uncertainty.parameter_sensitivities import ParameterEffects
from biodyn.uncertainty.propagation_inputs import Magnitudes, TrialInputs
from biodyn.uncertainty.settings import UncertaintySettings
from biodyn.uncertainty.torque_bands import TorqueUncertainty, joint_coordinate_matrix, torque_bands

#: Plate forces are used up to this fraction of the marker rate; frames represent frequencies up to half of it.
WIDEST_SHARE_OF_RATE = 0.4


def estimate_torque_uncertainty(
    inputs: TrialInputs,
    fit: Fit,
    dynamics: Dynamics,
    reaction: GroundReaction,
    summary: EstimateSummary,
    settings: UncertaintySettings,
) -> TorqueUncertainty | None:
    """Return the uncertainty of the torques of an estimate; None if it is switched off or the estimate has no posterior.

    Random errors follow from the posterior of motion and parameters; a cut-off frequency contributes no error. For joint centres
    the noise of the fitted motion is used, which is an upper bound of the noise of the estimate; errors of centres and soft
    tissue dominate.
    """
    if summary.random is None:
        return None
    random, filtering = "marker_noise", "cutoff"
    of_estimate = replace(inputs, fit=fit, dynamics=dynamics, reaction=reaction, curved=False)
    bands = torque_bands(of_estimate, settings, False, summary.constants, scale={filtering: 0.0})
    if bands is None:
        return None
    motion_noise = np.where(np.isnan(dynamics.torques), np.nan, summary.random.force)
    by_source = {name: sd for name, sd in bands.by_source.items() if name != filtering}
    by_source[random] = np.hypot(motion_noise, bands.by_source[random])
    power_by_source = {name: sd for name, sd in bands.power_by_source.items() if name != filtering}
    power_by_source[random] = np.hypot(summary.random.power, power_by_source[random])
    return replace(bands, by_source=by_source, power_by_source=power_by_source)


@dataclass(frozen=True)
class Estimate:
    """Joint estimate of motion and forces of a trial.

    Attributes:
        fit, dynamics: estimated motion and its dynamics, with the estimated inertias of the model.
        reaction: ground reaction without the estimated errors of the plates.
        summary: residuals, changes and parameters.
        shared_parameters: information of this trial alone on inertias and plates, for the other walks of its session.
    """

    fit: Fit
    dynamics: Dynamics
    reaction: GroundReaction
    summary: EstimateSummary
    shared_parameters: InformationForm | None = None


def estimate_trial(
    inputs: TrialInputs,
    reaction: GroundReaction,
    force_cutoff_hz: float,
    settings: EstimationSettings,
    magnitudes: Magnitudes,
    bands: bool = False,
    R_WL: FloatArray | None = None,
    others: tuple[InformationForm, ...] = (),
) -> Estimate:
    """Estimate motion and forces of a trial.

    inputs: the fitted trial. reaction: ground reaction with the bandwidth `force_cutoff_hz`.
    bands: True to compute the posterior, which doubles the computing time.
    R_WL: (3, 3) rotation from laboratory axes to World; None = identity.
    others: information of other walks of the session on inertias and plates, from `Estimate.shared_parameters` of each walk.

    Inertias, plate errors and the error of the balance are estimated in the window with most frames in balance, and used in the
    other windows.

    Raises EstimateError if there are too few frames, if the equations have no solution, or if the solution is far from the
    fitted motion or requires an implausible plate or body mass.
    """
    loads = known_loads(inputs.fit, reaction)
    trial = _TrialState.create(inputs, reaction, loads, estimate_noise_model(inputs, magnitudes))
    sides = [side for side in reaction.wrench if side in inputs.model.sole_body]
    known = np.stack([np.isfinite(reaction.wrench[side]).all(axis=1) for side in sides], axis=1)
    axes = np.eye(3) if R_WL is None else R_WL
    centres_W = {plate.number: plate.corners.mean(axis=0) for plate in inputs.signals.raw_plates}
    plates = plate_unknowns(inputs.contacts, sides, len(trial.moving), inputs.rate_hz, axes, centres_W, known)
    unknowns = inertia_unknowns(inputs.model, settings)
    motion, count = inputs.fit.motion, len(inputs.model.coordinates)
    update, unbalanced = np.zeros_like(motion.v), np.full((len(motion.v), 6), np.nan)
    widths = (count, count, len(joint_coordinate_matrix(inputs.model)[0]))
    random = Posterior(*(np.full((len(motion.v), width), np.nan) for width in widths)) if bands else None
    parameters, precision = None, np.zeros((len(motion.v), 6))
    of_stretch: dict[int, FloatArray] = {}
    for window in trial.windows(loads.balanced):
        problem = trial.problem(window.rows)
        if parameters is None:
            of_window = plates.select_frames(window.rows)
            problem = replace(problem, inertias=unknowns, plates=of_window, estimates_parameters=True)
        if window.rows != window.stretch and window.stretch.start not in of_stretch:
            of_stretch[window.stretch.start] = trial.mean_information(window.stretch)
        solution = _solve_window(problem, of_stretch.get(window.stretch.start), bands, others)
        if random is not None:
            _store_posterior(random, window, problem, solution)
        try:
            elimination = eliminate_residual(problem, solution)
        except np.linalg.LinAlgError as error:
            raise EstimateError(f"The residual could not be eliminated ({error}).") from error
        update[window.rows] += window.weights[:, None] * elimination.deviation
        unbalanced[window.kept] = elimination.unbalanced[window.inner]
        if solution.parameters is not None:
            parameters, sizes = solution.parameters, solution.problem.sizes
            precision[window.rows] = problem.balanced[:, None] / (sizes.alike_frames * sizes.balance**2)
            corrected = replace(loads, wrenches=plates.remove_errors(loads.wrenches, parameters.plates.values))
            trial = replace(trial, model=solution.model, loads=corrected, sizes=sizes)
        del problem, solution, elimination  # the largest arrays, before those of the next window or the result
    assert parameters is not None  # there is at least one window
    model, moving, sizes = trial.model, trial.moving, trial.sizes
    del trial
    q = motion.q.copy()
    q[moving] = integrate(model.multibody, q[moving], update[moving])
    fit = _fit_with_estimated_motion(inputs, model, q)
    reaction = correct_reaction(reaction, sides, plates, parameters.plates.values)
    dynamics = solve_dynamics(fit, reaction)
    walks = 1 + len(others)
    effects = None
    if bands:
        effects = _parameter_effects(model, unknowns, precision, inputs.rate_hz, walks)
    errors = parameters.plates
    summary = summarise_estimate(
        inputs,
        fit,
        dynamics,
        unknowns,
        parameters.inertias,
        force_cutoff_hz,
        balance_errors(sizes, inputs.rate_hz),
        unbalanced,
        plates.summary(errors.values, errors.suggested, errors.suggested_sd),
        random,
        walks,
        effects,
    )
    require_plausible_estimate(summary)
    return Estimate(fit, dynamics, reaction, summary, parameters.shared_parameters)


@dataclass(frozen=True)
class _TrialState:
    """Inputs that are common to all windows, and the current model, loads and noise model.

    moving: (T,) frames with accelerations. seen_at, weights, to_close, since_strike_s: as in `EstimationProblem`, for all
    frames.
    """

    inputs: TrialInputs
    torques: SmoothTorques
    moving: BoolArray
    seen_at: FloatArray
    weights: FloatArray
    to_close: BoolArray
    since_strike_s: FloatArray
    model: SubjectModel
    loads: KnownLoads
    sizes: NoiseModel

    @classmethod
    def create(cls, inputs: TrialInputs, reaction: GroundReaction, loads: KnownLoads, sizes: NoiseModel) -> _TrialState:
        """Return the initial state of a trial before its windows are solved."""
        moving = np.asarray(np.isfinite(inputs.fit.motion.vdot).all(axis=1))
        to_close = known_loads(replace(inputs.fit, reliable=moving), reaction).balanced
        since_s = times_since_strikes(inputs.contacts, len(inputs.fit.solved), inputs.rate_hz)
        torques = torque_smoothness_prior(inputs, loads)
        raw = inputs.fitted_positions(inputs.unfiltered_markers)
        seen = np.isfinite(raw[..., 0])
        weights = np.where(seen, inputs.marker_weights(seen), 0.0)
        seen_at = np.nan_to_num(raw)
        return cls(inputs, torques, moving, seen_at, weights, to_close, since_s, inputs.model, loads, sizes)

    def windows(self, balanced: BoolArray, least_frames: int = 10) -> list[TimeWindow]:
        """Return the windows to solve, starting with the one with most frames in balance; raise EstimateError if there are
        none."""
        stretches = [slice(a, b) for a, b in finite_stretches(self.moving) if b - a >= least_frames]
        windows = [window for rows in stretches for window in split_into_windows(rows, self.inputs.rate_hz)]
        if not windows:
            raise EstimateError(
                f"There are no {least_frames} consecutive frames with known accelerations.", "Use a longer recording."
            )
        return sorted(windows, key=lambda window: -int(balanced[window.rows].sum()))

    def problem(self, rows: slice) -> EstimationProblem:
        """Return the estimation problem of the frames `rows`, with the inertias and plate errors estimated so far."""
        inputs, loads, motion = self.inputs, self.loads, self.inputs.fit.motion
        return EstimationProblem(
            model=self.model,
            start=StretchMotion(motion.q[rows], motion.v[rows], motion.vdot[rows]),
            knots=UniformSpline(rows.stop - rows.start, knot_step(inputs.rate_hz), inputs.rate_hz),
            sizes=self.sizes,
            seen_at=self.seen_at[rows],
            weights=self.weights[rows],
            wrenches=loads.wrenches[rows],
            wrench_links=loads.links,
            balanced=(loads.balanced & inputs.fit.reliable)[rows],
            to_close=self.to_close[rows],
            torque_rows=self.torques.places,
            torque_known=self.torques.known[rows],
            torque_change_nm=self.torques.change_nm,
            since_strike_s=self.since_strike_s[rows],
            inertias=InertiaUnknowns.empty(),
            plates=PlateUnknowns.empty(inputs.rate_hz),
            estimates_parameters=False,
        )

    def mean_information(self, stretch: slice, most_frames: int = 1000) -> FloatArray:
        """Return the mean information (nv, nv) of the markers per frame of a stretch, from a sample of at most `most_frames`
        frames."""
        some = slice(stretch.start, stretch.stop, 1 + (stretch.stop - stretch.start - 1) // most_frames)
        problem = self.problem(some)
        return np.asarray(marker_information(problem, problem.start.q)[0].mean(axis=0))


def _store_posterior(random: Posterior, window: TimeWindow, problem: EstimationProblem, solution: Solution) -> None:
    """Copy the posterior of a window to the posterior of the trial."""
    columns = [coordinate.v_index for coordinate in problem.model.coordinates]
    of_joint = joint_coordinate_matrix(problem.model)[1]
    joints = np.zeros((len(of_joint), problem.model.multibody.nv))
    joints[:, columns] = of_joint
    powers = power_derivatives(solution, joints)
    found = posterior_sd(problem, solution.factor, solution.derivatives, powers, window.inner)
    random.place[window.kept] = found.place[window.inner][:, columns]
    random.force[window.kept] = found.force[window.inner][:, columns]
    random.power[window.kept] = found.power[window.inner]


def _parameter_effects(
    model: SubjectModel, unknowns: InertiaUnknowns, precision: FloatArray, rate_hz: float, walks: int
) -> ParameterEffects | None:
    """Return the parameter effects for the uncertainty of torques, assuming that each of `walks` walks contributes as much
    information as this one."""
    if not unknowns.count:
        return None
    return ParameterEffects(
        parameters=unknowns.inertial_parameter_changes(model), precision=walks * precision, rate_hz=rate_hz
    )


def _solve_window(
    problem: EstimationProblem,
    mean_information: FloatArray | None,
    certainty: bool,
    others: tuple[InformationForm, ...],
) -> Solution:
    """Return the solution of a window; raise EstimateError if its equations have none."""
    try:
        solution = solve_problem(problem, mean_information=mean_information, certainty=certainty, others=others)
    except np.linalg.LinAlgError as error:
        raise EstimateError(f"The equations of the estimate have no solution ({error}).") from error
    except ModelError as error:
        raise EstimateError(f"The estimate requires an impossible body: {error.message}") from error
    if not np.isfinite(solution.path.q).all():
        raise EstimateError("The equations of the estimate have no solution (numbers are not finite).")
    return solution


def _fit_with_estimated_motion(inputs: TrialInputs, model: SubjectModel, q: FloatArray) -> Fit:
    """Return the fit with the estimated motion q (T, nq); other frames keep the fitted motion."""
    motion = motion_from_configuration(inputs.fit.motion.time_s, q)
    fit = replace(inputs.fit, model=model, motion=motion, configurations=q)
    error = np.linalg.norm(inputs.fitted_positions(inputs.unfiltered_markers) - fit.marker_positions(), axis=2)
    return replace(fit, marker_error=np.where(np.isfinite(fit.marker_error), error, np.nan))
