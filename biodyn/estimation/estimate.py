"""The estimate of a whole trial: every unbroken stretch of the fitted motion by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import EstimateError, ModelError
from biodyn.estimation.gauss_newton import (
    Posterior,
    ResidualElimination,
    Solution,
    eliminate_residual,
    posterior,
    solve,
)
from biodyn.estimation.noise_model import (
    NoiseModel,
    SmoothTorques,
    balance_of,
    knot_step,
    noise_model_of,
    since_strikes,
    smooth_torques,
)
from biodyn.estimation.parameters import (
    InertiaUnknowns,
    PlateUnknowns,
    inertia_unknowns,
    plate_unknowns,
    reaction_put_right,
)
from biodyn.estimation.problem import Knots, Path, Problem, TimeWindow, windows_of
from biodyn.estimation.settings import EstimationSettings
from biodyn.estimation.shared_parameters import EstimatedParameters, InformationForm
from biodyn.estimation.summary import EstimateSummary, require_plausible, summarise
from biodyn.estimation.terms import marker_information
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.solve import Dynamics, Loads, known_loads, solve_dynamics
from biodyn.processing.kinematics.fit import Fit, q_kinds
from biodyn.processing.signals.derivatives import motion_from_configuration
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import GroundReaction
from biodyn.rigid_body import body_poses, integrate
from biodyn.uncertainty.bands import TorqueUncertainty, torque_bands
from biodyn.uncertainty.inputs import Magnitudes, TrialInputs
from biodyn.uncertainty.parameter_sensitivities import FoundConstants
from biodyn.uncertainty.settings import UncertaintySettings

# The source that the estimate's own uncertainty stands for, and the one that no longer exists: there is no cut-off to choose.
_RANDOM, _FILTER = "marker_noise", "cutoff"


def estimate_bands(
    inputs: TrialInputs,
    fit: Fit,
    dynamics: Dynamics,
    reaction: GroundReaction,
    account: EstimateSummary,
    settings: UncertaintySettings,
) -> TorqueUncertainty | None:
    """Return the bands of an estimate's torques; None where the settings switch them off, or the estimate was made without."""
    if account.random is None:
        return None
    off = settings.model_copy(update={"scale": {**settings.scale, _FILTER: 0.0}})
    of_estimate = replace(inputs, fit=fit, dynamics=dynamics, reaction=reaction, curved=False)
    found = torque_bands(of_estimate, off, noise_in_torques=False, constants=account.constants)
    if found is None:
        return None
    factor = dict(settings.scale).get("marker_noise", 1.0)
    # The motion's noise, the constants being known, and the constants' own.
    random = np.hypot(
        np.where(np.isnan(dynamics.torques), np.nan, factor * account.random.force), found.by_source[_RANDOM]
    )
    by_source = {name: sd for name, sd in found.by_source.items() if name != _FILTER}
    # Where the joints are keeps the noise of the fitted motion, which the estimate lies no farther from: centres and skin are
    # nearly all of it.
    return replace(found, by_source={**by_source, _RANDOM: random})


#: Plate forces are taken up to this share of the marker rate: half of it is all that frames can hold.
WIDEST_SHARE_OF_RATE = 0.4
# Shorter stretches tell nothing of accelerations.
_LEAST_FRAMES = 10
# So many tell what markers know on the average.
_ENOUGH_FRAMES = 1000


@dataclass(frozen=True)
class Estimate:
    """Motion and forces of a trial as one estimate.

    Attributes:
        fit, dynamics: of the estimated motion, on the model with the estimated inertias.
        reaction: the ground reaction without the errors of the plates that were found.
        account: what was left over, what was moved, what changed.
        shared_parameters: information of this trial alone on inertias and plates, for the other walks of its session.
    """

    fit: Fit
    dynamics: Dynamics
    reaction: GroundReaction
    account: EstimateSummary
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
    """Return the estimate of a trial; `reaction` is the ground reaction up to `force_cutoff_hz`, `inputs` the trial as fitted.

    bands: compute how certain it is, too (`posterior`), which takes about as long again.
    R_WL: (3, 3) turns the laboratory's axes into World's; None = they are the same.
    others: what other walks of the session tell of inertias and plates, each `Estimate.shared_parameters` of its own.

    The window in which the body must be in balance in most frames tells the inertias, the errors of the plates and the error
    of the balance; the others take them over.

    Raises EstimateError where there are too few frames, where the equations have no solution, and where their solution leaves
    the motion that was fitted or needs a plate or a body mass that cannot be.
    """
    loads = known_loads(inputs.fit, reaction)
    trial = _Trial.of(inputs, reaction, smooth_torques(inputs, loads))
    windows = trial.windows(loads.balanced)
    sides = [side for side in reaction.wrench if side in inputs.model.sole_body]
    measured = np.stack([np.isfinite(reaction.wrench[side]).all(axis=1) for side in sides], axis=1)
    axes = np.eye(3) if R_WL is None else R_WL
    plates = plate_unknowns(inputs.contacts, sides, len(trial.moving), inputs.rate_hz, axes, settings, measured)
    unknowns = inertia_unknowns(inputs.model, settings)
    known = _Known(inputs.model, loads, noise_model_of(inputs, magnitudes))
    found = _Found.nothing(inputs, bands)
    parameters, precision = None, np.zeros((len(trial.moving), 6))
    of_stretch: dict[int, FloatArray] = {}
    for window in windows:
        problem = trial.problem(known, window.rows)
        if parameters is None:
            of_window = plates.of_frames(window.rows)
            problem = replace(problem, inertias=unknowns, plates=of_window, tells_constants=True)
        if window.rows != window.stretch and window.stretch.start not in of_stretch:
            of_stretch[window.stretch.start] = trial.mean_information(known, window.stretch)
        solution = _solved(problem, of_stretch.get(window.stretch.start), bands, others)
        found.take(window, problem, solution)
        if solution.parameters is not None:
            parameters, sizes = solution.parameters, solution.problem.sizes
            precision[window.rows] = problem.balanced[:, None] / (sizes.alike_frames * sizes.balance**2)
            put_right = replace(loads, wrenches=plates.put_right(loads.wrenches, parameters.plates))
            known = _Known(solution.model, put_right, sizes)
    assert parameters is not None  # there is a window
    q = inputs.fit.motion.q.copy()
    q[trial.moving] = integrate(known.model.multibody, q[trial.moving], found.deviation[trial.moving])
    fit = _fit_of(inputs, known.model, q)
    reaction = reaction_put_right(reaction, sides, plates, parameters.plates)
    dynamics = solve_dynamics(fit, reaction)
    account = summarise(
        inputs,
        fit,
        dynamics,
        unknowns if len(parameters.inertias) else None,
        parameters.inertias,
        force_cutoff_hz,
        balance_of(known.sizes, inputs.rate_hz),
        found.unbalanced,
        plates.account(parameters.plates, parameters.plates_sd, parameters.plates_prior_sd),
        found.certain,
        walks=1 + len(others),
        constants=_parameters_for_bands(known.model, unknowns, plates, parameters, precision, dynamics, 1 + len(others))
        if bands
        else None,
    )
    require_plausible(account)
    return Estimate(fit, dynamics, reaction, account, parameters.shared_parameters)


@dataclass(frozen=True)
class _Known:
    """The body, the forces on it and the sizes of all errors: as given, then as the first window found them."""

    model: SubjectModel
    loads: Loads
    sizes: NoiseModel


@dataclass(frozen=True)
class _Trial:
    """What all windows share.

    moving: (T,) frames with accelerations. to_close, since_strike_s: of `Problem`, for all frames.
    """

    inputs: TrialInputs
    torques: SmoothTorques
    moving: BoolArray
    to_close: BoolArray
    since_strike_s: FloatArray

    @classmethod
    def of(cls, inputs: TrialInputs, reaction: GroundReaction, torques: SmoothTorques) -> _Trial:
        """Return what the inputs tell."""
        moving = np.asarray(np.isfinite(inputs.fit.motion.vdot).all(axis=1))
        to_close = known_loads(replace(inputs.fit, reliable=moving), reaction).balanced
        since_s = since_strikes(inputs.contacts, len(inputs.fit.solved), inputs.rate_hz)
        return cls(inputs, torques, moving, to_close, since_s)

    def windows(self, balanced: BoolArray) -> list[TimeWindow]:
        """The windows to solve, the one with most frames in balance first; EstimateError where there is none."""
        stretches = [slice(a, b) for a, b in finite_stretches(self.moving) if b - a >= _LEAST_FRAMES]
        found = [window for rows in stretches for window in windows_of(rows, self.inputs.rate_hz)]
        if not found:
            raise EstimateError(
                f"No {_LEAST_FRAMES} frames in a row have a motion with accelerations.",
                "A longer recording has them.",
            )
        return sorted(found, key=lambda window: -int(balanced[window.rows].sum()))

    def problem(self, known: _Known, rows: slice) -> Problem:
        """The problem of some frames, inertias and plates being known."""
        inputs, loads = self.inputs, known.loads
        motion, raw = inputs.fit.motion, inputs.fitted(inputs.raw)
        seen = np.isfinite(raw[..., 0])
        weights = np.where(seen, inputs.marker_weights(seen), 0.0)
        return Problem(
            model=known.model,
            start=Path(motion.q[rows], motion.v[rows], motion.vdot[rows]),
            knots=Knots(rows.stop - rows.start, knot_step(inputs.rate_hz), inputs.rate_hz),
            sizes=known.sizes,
            seen_at=np.nan_to_num(raw)[rows],
            weights=weights[rows],
            wrenches=loads.wrenches[rows],
            wrench_links=loads.links,
            balanced=(loads.balanced & inputs.fit.reliable)[rows],
            to_close=self.to_close[rows],
            torque_rows=self.torques.places,
            torque_known=self.torques.known[rows],
            torque_change_nm=self.torques.change_nm,
            since_strike_s=self.since_strike_s[rows],
            inertias=InertiaUnknowns.none(),
            plates=PlateUnknowns.none(inputs.rate_hz),
            tells_constants=False,
        )

    def mean_information(self, known: _Known, stretch: slice) -> FloatArray:
        """What the markers tell in a frame of a stretch on the average, (nv, nv)."""
        some = slice(stretch.start, stretch.stop, 1 + (stretch.stop - stretch.start - 1) // _ENOUGH_FRAMES)
        several = self.problem(known, some)
        return np.asarray(marker_information(several, several.start.q)[0].mean(axis=0))


@dataclass(frozen=True)
class _Found:
    """The results of all windows: update (T, nv), `ResidualElimination.unbalanced` (T, 6), and standard deviations."""

    deviation: FloatArray
    unbalanced: FloatArray
    certain: Posterior | None

    @classmethod
    def nothing(cls, inputs: TrialInputs, bands: bool) -> _Found:
        """Return what is known before: that nothing deviates."""
        motion, count = inputs.fit.motion, len(inputs.model.coordinates)
        certain = Posterior(*(np.full((len(motion.v), count), np.nan) for _ in range(2))) if bands else None
        return cls(np.zeros_like(motion.v), np.full((len(motion.v), 6), np.nan), certain)

    def take(self, window: TimeWindow, problem: Problem, solution: Solution) -> None:
        """Put in what a window found, and close it."""
        if self.certain is not None:
            found = posterior(problem, solution.factor, solution.derivatives)
            columns = [coordinate.v_index for coordinate in problem.model.coordinates]
            self.certain.place[window.kept] = found.place[window.inner][:, columns]
            self.certain.force[window.kept] = found.force[window.inner][:, columns]
        closing = _closed(problem, solution)
        self.deviation[window.rows] += window.weights[:, None] * closing.deviation
        self.unbalanced[window.kept] = closing.unbalanced[window.inner]


def _parameters_for_bands(
    model: SubjectModel,
    unknowns: InertiaUnknowns,
    plates: PlateUnknowns,
    found: EstimatedParameters,
    precision: FloatArray,
    dynamics: Dynamics,
    walks: int,
) -> FoundConstants | None:
    """The constants as the bands ask for them; other walks of the session are taken to tell as much as this one."""
    if not unknowns.count + plates.count:
        return None
    return FoundConstants(
        parameters=unknowns.parameter_changes(model),
        wrenches=plates.changes(np.nan_to_num(dynamics.foot_wrenches)),
        precision=walks * precision,
        before=np.concatenate([np.ones(unknowns.count), 1.0 / found.plates_prior_sd**2]),
        rate_hz=plates.rate_hz,
    )


def _solved(
    problem: Problem,
    mean_information: FloatArray | None,
    certainty: bool,
    others: tuple[InformationForm, ...],
) -> Solution:
    """The solution of a window; EstimateError where its equations have none."""
    try:
        solution = solve(problem, mean_information=mean_information, certainty=certainty, others=others)
    except np.linalg.LinAlgError as error:
        raise EstimateError(f"Its equations have no solution ({error}).") from error
    except ModelError as error:
        raise EstimateError(f"It asks for an impossible body: {error.message}") from error
    if not np.isfinite(solution.path.q).all():
        raise EstimateError("Its equations have no solution (numbers that are not finite).")
    return solution


def _closed(problem: Problem, solution: Solution) -> ResidualElimination:
    """The last step of a window; EstimateError where its equations have no solution."""
    try:
        return eliminate_residual(problem, solution)
    except np.linalg.LinAlgError as error:
        raise EstimateError(f"The equations of its last step have no solution ({error}).") from error


def _fit_of(inputs: TrialInputs, model: SubjectModel, q: FloatArray) -> Fit:
    """The fit with the estimated motion q (T, nq); frames that no estimate covers stay as they were fitted."""
    before = inputs.fit
    mb = model.multibody
    R, p = body_poses(mb, np.where(before.solved[:, None], q, mb.neutral()))
    R[~before.solved], p[~before.solved] = np.nan, np.nan
    error = np.linalg.norm(inputs.fitted(inputs.raw) - model.marker_places(R, p), axis=2)
    return replace(
        before,
        model=model,
        motion=motion_from_configuration(before.motion.time_s, q, q_kinds(model)),
        marker_error=np.where(np.isfinite(before.marker_error), error, np.nan),
        link_R_W=R,
        link_p_W=p,
    )
