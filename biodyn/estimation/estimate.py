"""The estimate of a whole trial: every unbroken stretch of the fitted motion by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import EstimateError, ModelError
from biodyn.estimation.account import EstimateAccount, account_of
from biodyn.estimation.closing import Closing, closed
from biodyn.estimation.deviation import Knots, Path
from biodyn.estimation.inertias import InertiaUnknowns, inertia_unknowns
from biodyn.estimation.limits import require_possible
from biodyn.estimation.parameters import EstimationSettings
from biodyn.estimation.plates import PlateUnknowns, plate_unknowns, reaction_put_right
from biodyn.estimation.posterior import Posterior, posterior
from biodyn.estimation.problem import Problem
from biodyn.estimation.sizes import Sizes, balance_of, knot_step, sizes_of
from biodyn.estimation.solve import Solution, solve
from biodyn.estimation.strikes import since_strikes
from biodyn.estimation.terms import marker_information
from biodyn.estimation.told import Told
from biodyn.estimation.torques import SmoothTorques, smooth_torques
from biodyn.estimation.windows import TimeWindow, windows_of
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.solve import Dynamics, Loads, known_loads, solve_dynamics
from biodyn.processing.kinematics.fit import Fit, q_kinds
from biodyn.processing.signals.derivatives import motion_from_configuration
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import GroundReaction
from biodyn.rigid_body import body_poses, integrate
from biodyn.uncertainty.found import FoundConstants
from biodyn.uncertainty.inputs import TrialInputs
from biodyn.uncertainty.magnitudes import Magnitudes

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
        told: what this trial alone tells of inertias and plates, for the other walks of its session.
    """

    fit: Fit
    dynamics: Dynamics
    reaction: GroundReaction
    account: EstimateAccount
    told: Told | None = None


def estimate_trial(
    inputs: TrialInputs,
    reaction: GroundReaction,
    force_cutoff_hz: float,
    settings: EstimationSettings,
    magnitudes: Magnitudes,
    bands: bool = False,
    R_WL: FloatArray | None = None,
    others: tuple[Told, ...] = (),
) -> Estimate:
    """Return the estimate of a trial; `reaction` is the ground reaction up to `force_cutoff_hz`, `inputs` the trial as fitted.

    bands: compute how certain it is, too (`posterior`), which takes about as long again.
    R_WL: (3, 3) turns the laboratory's axes into World's; None = they are the same.
    others: what other walks of the session tell of inertias and plates, each `Estimate.told` of its own.

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
    known = _Known(inputs.model, loads, sizes_of(inputs, settings, magnitudes))
    found = _Found.nothing(inputs, bands)
    constants: _Constants | None = None
    of_stretch: dict[int, FloatArray] = {}
    for window in windows:
        problem = trial.problem(known, window.rows)
        if constants is None:
            of_window = plates.of_frames(window.rows)
            problem = replace(problem, inertias=unknowns, plates=of_window, tells_constants=True)
        if window.rows != window.stretch and window.stretch.start not in of_stretch:
            of_stretch[window.stretch.start] = trial.mean_information(known, window.stretch)
        solution = _solved(problem, of_stretch.get(window.stretch.start), bands, others)
        found.take(window, problem, solution)
        if constants is None:
            constants = _Constants.of(solution, window.rows, len(trial.moving))
            put_right = replace(loads, wrenches=plates.put_right(loads.wrenches, solution.plates))
            known = _Known(solution.model, put_right, solution.problem.sizes)
    assert constants is not None  # there is a window
    q = inputs.fit.motion.q.copy()
    q[trial.moving] = integrate(known.model.multibody, q[trial.moving], found.deviation[trial.moving])
    fit = _fit_of(inputs, known.model, q)
    reaction = reaction_put_right(reaction, sides, plates, constants.plates)
    dynamics = solve_dynamics(fit, reaction)
    account = account_of(
        inputs,
        fit,
        dynamics,
        unknowns if len(constants.inertias) else None,
        constants.inertias,
        force_cutoff_hz,
        balance_of(known.sizes, inputs.rate_hz),
        found.unbalanced,
        plates.account(constants.plates, constants.plates_sd, constants.plates_drawn),
        found.certain,
        walks=1 + len(others),
        constants=_found_constants(known.model, unknowns, plates, constants, dynamics, 1 + len(others))
        if bands
        else None,
    )
    require_possible(account, settings.force_sd_n)
    return Estimate(fit, dynamics, reaction, account, constants.told)


@dataclass(frozen=True)
class _Known:
    """The body, the forces on it and the sizes of all errors: as given, then as the first window found them."""

    model: SubjectModel
    loads: Loads
    sizes: Sizes


@dataclass(frozen=True)
class _Constants:
    """What the first window found of inertias and plates, see `Solution`, without its large equations.

    precision: (T, 6) of the balance in each frame of the trial that told them, 0 elsewhere.
    """

    inertias: FloatArray
    plates: FloatArray
    plates_sd: FloatArray
    plates_drawn: FloatArray
    told: Told | None
    precision: FloatArray

    @classmethod
    def of(cls, found: Solution, rows: slice, frames: int) -> _Constants:
        """Return those of a solution of the window `rows` of a trial's frames."""
        precision, sizes = np.zeros((frames, 6)), found.problem.sizes
        precision[rows] = found.problem.balanced[:, None] / (sizes.alike_frames * sizes.balance**2)
        return cls(found.inertias, found.plates, found.plates_sd, found.plates_drawn, found.told, precision)


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
    """What the windows found, for all frames: deviation (T, nv), `Closing.unbalanced` (T, 6), and how certain it is."""

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


def _found_constants(
    model: SubjectModel,
    unknowns: InertiaUnknowns,
    plates: PlateUnknowns,
    found: _Constants,
    dynamics: Dynamics,
    walks: int,
) -> FoundConstants | None:
    """The constants as the bands ask for them; other walks of the session are taken to tell as much as this one."""
    if not unknowns.count + plates.count:
        return None
    return FoundConstants(
        parameters=unknowns.parameter_changes(model),
        wrenches=plates.changes(np.nan_to_num(dynamics.foot_wrenches)),
        precision=walks * found.precision,
        before=np.concatenate([np.ones(unknowns.count), 1.0 / found.plates_drawn**2]),
        rate_hz=plates.rate_hz,
    )


def _solved(
    problem: Problem,
    mean_information: FloatArray | None,
    certainty: bool,
    others: tuple[Told, ...],
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


def _closed(problem: Problem, solution: Solution) -> Closing:
    """The last step of a window; EstimateError where its equations have no solution."""
    try:
        return closed(problem, solution)
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
