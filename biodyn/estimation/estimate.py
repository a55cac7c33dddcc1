"""The estimate of a whole trial: every unbroken stretch of the fitted motion by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.errors import EstimateError, ModelError
from biodyn.estimation.account import EstimateAccount, account_of
from biodyn.estimation.closing import Closing, closed, smooth_step
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
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.solve import Dynamics, Loads, known_loads, solve_dynamics
from biodyn.processing.kinematics.fit import Fit, q_kinds
from biodyn.processing.signals.derivatives import motion_from_configuration
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import GroundReaction
from biodyn.rigid_body import body_poses, integrate
from biodyn.uncertainty.inputs import TrialInputs
from biodyn.uncertainty.magnitudes import Magnitudes

#: Plate forces are taken up to this share of the marker rate: half of it is all that frames can hold.
WIDEST_SHARE_OF_RATE = 0.4
# Shorter stretches tell nothing of accelerations.
_LEAST_FRAMES = 10
# Longer stretches are solved in windows, so that memory does not grow with the trial. What happens beyond the overlap is hardly
# felt, and neighbours fade into each other over it.
_LONGEST_S = 10.5
_WINDOW_S = 5.0
_OVERLAP_S = 1.0
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
    torques = smooth_torques(inputs, loads, settings)
    since_s = since_strikes(inputs.contacts, len(inputs.fit.solved), inputs.rate_hz)
    sizes = sizes_of(inputs, settings, magnitudes)
    moving = np.asarray(np.isfinite(inputs.fit.motion.vdot).all(axis=1))
    to_close = known_loads(replace(inputs.fit, reliable=moving), reaction).balanced
    stretches = [slice(a, b) for a, b in finite_stretches(moving) if b - a >= _LEAST_FRAMES]
    windows = [window for rows in stretches for window in _windows(rows, inputs.rate_hz)]
    if not windows:
        raise EstimateError(
            f"No {_LEAST_FRAMES} frames in a row have a motion with accelerations.",
            "A longer recording has them.",
        )
    windows.sort(key=lambda window: -int(loads.balanced[window.rows].sum()))
    sides = [side for side in reaction.wrench if side in inputs.model.sole_body]
    measured = np.stack([np.isfinite(reaction.wrench[side]).all(axis=1) for side in sides], axis=1)
    axes = np.eye(3) if R_WL is None else R_WL
    plates = plate_unknowns(inputs.contacts, sides, len(moving), inputs.rate_hz, axes, settings, measured)
    of_plates = np.zeros(plates.count)
    plates_sd = plates_drawn = np.ones(plates.count)
    unknowns, values, model = inertia_unknowns(inputs.model, settings), np.zeros(0), inputs.model
    told: Told | None = None
    deviation, unbalanced = np.zeros_like(inputs.fit.motion.v), np.full((len(moving), 6), np.nan)
    certain = _nothing_certain(inputs) if bands else None
    of_stretch: dict[int, FloatArray] = {}
    for number, window in enumerate(windows):
        own = unknowns if number == 0 else InertiaUnknowns.none()
        problem = _problem(inputs, model, loads, to_close, torques, since_s, settings, sizes, window.rows, own)
        if number == 0:
            problem = replace(problem, tells_constants=True, plates=plates.of_frames(window.rows), others=others)
        first = window.stretch.start
        if window.rows != window.stretch and first not in of_stretch:
            some = slice(first, window.stretch.stop, 1 + (window.stretch.stop - first - 1) // _ENOUGH_FRAMES)
            several = _problem(inputs, model, loads, to_close, torques, since_s, settings, sizes, some, own)
            of_stretch[first] = marker_information(several, several.start.q)[0].mean(axis=0)
        solution = _solved(problem, settings, of_stretch.get(first))
        if certain is not None:
            found = posterior(problem, solution.factor, solution.derivatives)
            columns = [coordinate.v_index for coordinate in model.coordinates]
            certain.place[window.kept] = found.place[window.inner][:, columns]
            certain.force[window.kept] = found.force[window.inner][:, columns]
        closing = _closed(problem, solution, settings)
        deviation[window.rows] += window.weights[:, None] * closing.deviation
        unbalanced[window.kept] = closing.unbalanced[window.inner]
        if number == 0:
            values, model, sizes = solution.inertias, solution.model, solution.problem.sizes
            of_plates, told = solution.plates, solution.told
            plates_sd, plates_drawn = solution.plates_sd, solution.plates_drawn
            loads = replace(loads, wrenches=plates.put_right(loads.wrenches, of_plates))
    q = inputs.fit.motion.q.copy()
    q[moving] = integrate(model.multibody, q[moving], deviation[moving])
    fit = _fit_of(inputs, model, q)
    reaction = reaction_put_right(reaction, sides, plates, of_plates)
    dynamics = solve_dynamics(fit, reaction)
    known = unknowns if len(values) else None
    account = account_of(
        inputs,
        fit,
        dynamics,
        known,
        values,
        force_cutoff_hz,
        balance_of(sizes, inputs.rate_hz),
        unbalanced,
        plates.account(of_plates, plates_sd, plates_drawn),
        certain,
        walks=1 + len(others),
    )
    require_possible(account, settings.force_sd_n)
    return Estimate(fit, dynamics, reaction, account, told)


def _solved(problem: Problem, settings: EstimationSettings, mean_information: FloatArray | None) -> Solution:
    """The solution of a window; EstimateError where its equations have none."""
    try:
        solution = solve(problem, settings.iterations, mean_information)
    except np.linalg.LinAlgError as error:
        raise EstimateError(f"Its equations have no solution ({error}).") from error
    except ModelError as error:
        raise EstimateError(f"It asks for an impossible body: {error.message}") from error
    if not np.isfinite(solution.path.q).all():
        raise EstimateError("Its equations have no solution (numbers that are not finite).")
    return solution


def _closed(problem: Problem, solution: Solution, settings: EstimationSettings) -> Closing:
    """The last step of a window; EstimateError where its equations have no solution."""
    try:
        return closed(problem, solution, settings.closed_share)
    except np.linalg.LinAlgError as error:
        raise EstimateError(f"The equations of its last step have no solution ({error}).") from error


@dataclass(frozen=True)
class _Window:
    """Frames `rows` of a stretch that are solved at once, and those of them whose result is kept."""

    stretch: slice
    rows: slice
    kept: slice

    @property
    def inner(self) -> slice:
        """The kept frames, counted from the first solved one."""
        return slice(self.kept.start - self.rows.start, self.kept.stop - self.rows.start)

    @property
    def weights(self) -> FloatArray:
        """How much (rows,) each frame counts beside the same one of the neighbours: windows fade into each other smoothly.

        Two windows close the same imbalance by motions that differ by some micrometres, or by more where one of them takes only a
        part of its last step; at a seam that is an impact.
        """
        frames = np.arange(self.rows.start, self.rows.stop)
        result = np.ones(len(frames))
        for seam, overlap in (
            (self.kept.start, self.kept.start - self.rows.start),
            (self.kept.stop, self.kept.stop - self.rows.stop),
        ):
            if overlap:
                result *= smooth_step(0.5 + 0.5 * (frames - seam) / overlap)
        return result


def _windows(rows: slice, rate_hz: float) -> list[_Window]:
    """Windows of a stretch: itself, or overlapping ones of equal length."""
    frames = rows.stop - rows.start
    if frames <= _LONGEST_S * rate_hz:
        return [_Window(rows, rows, rows)]
    overlap = round(_OVERLAP_S * rate_hz)
    edges = np.linspace(rows.start, rows.stop, 1 + round(frames / (_WINDOW_S * rate_hz))).round().astype(int).tolist()
    return [
        _Window(rows, slice(max(first - overlap, rows.start), min(last + overlap, rows.stop)), slice(first, last))
        for first, last in pairwise(edges)
    ]


def _nothing_certain(inputs: TrialInputs) -> Posterior:
    shape = (len(inputs.fit.solved), len(inputs.model.coordinates))
    return Posterior(np.full(shape, np.nan), np.full(shape, np.nan))


def _problem(
    inputs: TrialInputs,
    model: SubjectModel,
    loads: Loads,
    to_close: BoolArray,
    torques: SmoothTorques,
    since_strike_s: FloatArray,
    settings: EstimationSettings,
    sizes: Sizes,
    rows: slice,
    unknowns: InertiaUnknowns,
) -> Problem:
    motion, raw = inputs.fit.motion, inputs.fitted(inputs.raw)
    seen = np.isfinite(raw[..., 0])
    weights = np.where(seen, inputs.marker_weights(seen), 0.0)
    return Problem(
        model=model,
        start=Path(motion.q[rows], motion.v[rows], motion.vdot[rows]),
        knots=Knots(rows.stop - rows.start, knot_step(inputs.rate_hz, settings), inputs.rate_hz),
        sizes=sizes,
        seen_at=np.nan_to_num(raw)[rows],
        weights=weights[rows],
        wrenches=loads.wrenches[rows],
        wrench_links=loads.links,
        balanced=(loads.balanced & inputs.fit.reliable)[rows],
        to_close=to_close[rows],
        torque_rows=torques.places,
        torque_known=torques.known[rows],
        torque_change_nm=torques.change_nm,
        since_strike_s=since_strike_s[rows],
        inertias=unknowns,
        plates=PlateUnknowns.none(inputs.rate_hz),
        tells_constants=False,
    )


def _fit_of(inputs: TrialInputs, model: SubjectModel, q: FloatArray) -> Fit:
    """The fit with the estimated motion q (T, nq); frames that no estimate covers stay as they were fitted."""
    before = inputs.fit
    mb = model.multibody
    R, p = body_poses(mb, np.where(before.solved[:, None], q, mb.neutral()))
    R[~before.solved], p[~before.solved] = np.nan, np.nan
    links, p_LM, _ = model.marker_arrays()
    places = p[:, links] + (R[:, links] @ p_LM[:, :, None])[..., 0]
    error = np.linalg.norm(inputs.fitted(inputs.raw) - places, axis=2)
    return replace(
        before,
        model=model,
        motion=motion_from_configuration(before.motion.time_s, q, q_kinds(model)),
        marker_error=np.where(np.isfinite(before.marker_error), error, np.nan),
        link_R_W=R,
        link_p_W=p,
    )
