"""Estimate motion and inertias of an OpenSim model from coordinates (given or fitted to markers) and measured forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.errors import InputFileError
from biodyn.estimation.coordinate_estimate import (
    CoordinateEstimate,
    CoordinateProblem,
    FittedMarkers,
    estimate_coordinates,
)
from biodyn.estimation.estimation_problem import StretchMotion as Motion
from biodyn.io.opensim.storage import uniform_rate_hz
from biodyn.processing.kinematics.opensim_inverse_kinematics import ModelFit
from biodyn.processing.signals.derivatives import LEAST_ROWS, spline_derivatives
from biodyn.processing.signals.filtering import finite_rms, finite_stretches
from biodyn.rigid_body import OpenSimModel
from biodyn.trial.bodies.opensim_loads import UNBORNE, Loads, unbalanced_rows

# Larger changes are not measurement errors and indicate another fault.
_MOST_MOVED_RAD: Final = np.radians(2.0)
_MOST_SLID_M: Final = 0.02
_MOST_MASS: Final = 0.10
_MOST_CENTRE_M: Final = 0.05
# s. A stance without a measured force lasts longer, a motion error at an end or a strike shorter. For about this time before
# and after such a stance, the missing force is below the threshold of `unbalanced_rows`.
_LOADING_S: Final = 0.1


@dataclass(frozen=True, eq=False)
class BalancedMotion:
    """The estimated motion of a model, and the changes made by the estimate.

    Attributes:
        model: model with the changed inertias. q, v, vdot: (T, n) in the order of its coordinates; rates are those of splines
            through the rows of q.
        residual_before: RMS residual of the initial motion by coordinate of the joint to ground, N m and N.
        moved_rms, moved_max: (n,) RMS and largest change of each coordinate, rad, m.
        mass_change: relative change of mass by body. centre_shift_m: (3,) shift of the mass centre of `trunk`.
        notes: changes that are too large to be measurement errors.
        marked: whether the motion was fitted to markers.
    """

    model: OpenSimModel
    q: FloatArray
    v: FloatArray
    vdot: FloatArray
    residual_before: Mapping[str, float]
    moved_rms: FloatArray
    moved_max: FloatArray
    mass_change: Mapping[str, float]
    centre_shift_m: FloatArray
    trunk: str
    notes: tuple[Diagnostic, ...]
    marked: bool = False

    @property
    def record(self) -> dict[str, Any]:
        """Return the entries of run.json; angles in degrees, lengths in m."""
        turning = np.array([coordinate.rotational for coordinate in self.model.coordinates])
        factor = np.where(turning, np.degrees(1.0), 1.0)
        names = [coordinate.name + ("_deg" if coordinate.rotational else "_m") for coordinate in self.model.coordinates]
        return {
            "from": "markers" if self.marked else "coordinates",
            "residual_rms_before": dict(self.residual_before),
            "moved_rms": dict(zip(names, (factor * self.moved_rms).tolist(), strict=True)),
            "moved_max": dict(zip(names, (factor * self.moved_max).tolist(), strict=True)),
            "mass_change_share": dict(self.mass_change),
            "centre_shift_m": {self.trunk: self.centre_shift_m.tolist()},
        }

    def summary(self) -> list[str]:
        """Return lines for the screen: the initial residual and the changes."""
        turning = np.array([coordinate.rotational for coordinate in self.model.coordinates])
        before = ", ".join(f"{name} {value:.1f}" for name, value in self.residual_before.items())
        masses = {body.name: body.mass_kg for body in self.model.multibody.bodies if body.name in self.mass_change}
        given_kg = sum(mass / (1.0 + self.mass_change[name]) for name, mass in masses.items())
        share = 100.0 * (sum(masses.values()) / given_kg - 1.0)
        turned, most = (np.degrees(part[turning]).max(initial=0.0) for part in (self.moved_rms, self.moved_max))
        slid, shift = 1e3 * self.moved_max[~turning].max(initial=0.0), 100.0 * np.linalg.norm(self.centre_shift_m)
        return [
            f"Residual of the {'fitted' if self.marked else 'given'} motion, RMS (Nm, N): {before}",
            f"Estimate: coordinates changed by at most {turned:.2f} degrees RMS ({most:.1f} in a row) and {slid:.0f} mm; mass "
            f"{share:+.1f} %, mass centre of {self.trunk} {shift:.1f} cm",
        ]


def require_uniform_times(time_s: FloatArray, name: str) -> FloatArray:
    """Return uniform times (T,) s for rows that are uniform up to rounding; InputFileError if they are not."""
    rate_hz = uniform_rate_hz(time_s)
    if rate_hz is None:
        raise InputFileError(
            f"The rows of '{name}' are not uniform in time; the estimate requires uniform times.",
            "Resample the motion, or omit signals.method.",
        )
    return np.asarray(time_s[0] + np.arange(len(time_s)) / rate_hz)


def balance_motion(
    model: OpenSimModel,
    time_s: FloatArray,
    given: FloatArray,
    cutoff_hz: float,
    loads: Loads,
    markers: FittedMarkers | None = None,
) -> BalancedMotion:
    """Return the motion and inertias that fit coordinates and forces best.

    time_s: (T,) uniform, s; given: (T, n) rad, m; cutoff_hz: cut-off of the initial motion, from which the estimate deviates.
    markers: markers to which the coordinates were fitted, used as the measurement; None = the coordinates are the measurement.
    Dependent coordinates keep their coupling and locked ones are constant. Rows in which forces that carried the body are
    missing are not balanced. Raises InputFileError without a load, a joint to ground, or a row to balance.
    """
    names, coupled = model.independent_coordinates()
    every = [coordinate.name for coordinate in model.coordinates]
    at = np.array([every.index(name) for name in names])
    chosen = [model.coordinates[k] for k in at]
    root = np.flatnonzero([coordinate.to_ground for coordinate in chosen])
    if not loads.bodies or not len(root):
        lacking = "no forces act on the model" if not loads.bodies else "no joint of the model is attached to ground"
        raise InputFileError(f"Motion and forces cannot be balanced: {lacking}.", "Give the forces: --forces FILE.")
    start = spline_derivatives(time_s, given, cutoff_hz)
    rate_hz = (len(time_s) - 1) / float(time_s[-1] - time_s[0])
    wrenches = loads.wrenches(slice(0, len(time_s)), start[0])
    path = Motion(*(np.ascontiguousarray(part[:, at]) for part in start))
    tau = coupled.inverse_dynamics(path.q, path.v, path.vdot, wrenches, loads.bodies)
    covered = loads.covered if loads.covered.ndim == 1 else np.asarray(loads.covered[:, at[root]].all(axis=1))
    if not covered.any():
        raise InputFileError("Motion and forces cannot be balanced: in no row were all forces on the feet measured.")
    missing = _long_stretches(_unbalanced_rows(model, at, tau) & covered, _LOADING_S * rate_hz) & covered
    if not (covered & ~missing).any():
        share = f"{100 * UNBORNE:.0f} % of body weight"
        raise InputFileError(
            f"Motion and forces cannot be balanced: the residual at the joint to ground exceeds {share} in all rows.",
            "Check that forces and motion are from the same trial, synchronised and in the right units; or omit signals.method.",
        )
    problem = CoordinateProblem(
        body=coupled,
        given=path,
        rate_hz=rate_hz,
        rotational=np.array([coordinate.rotational for coordinate in chosen]),
        free=np.array([not (coordinate.locked or coordinate.prescribed) for coordinate in chosen]),
        root=root,
        wrenches=wrenches,
        wrench_bodies=loads.bodies,
        balanced=np.asarray(covered & ~missing),
        markers=markers,
    )
    estimate = estimate_coordinates(problem)
    changed = replace(model, coupled=replace(model.coupled, multibody=estimate.body.multibody))
    rows = start[0].copy()
    rows[:, at] = estimate.path.q
    rows = changed.apply_couplings(rows)
    residual = {names[k]: float(finite_rms(tau[covered, k][None])[0]) for k in root}
    result = _balanced_motion(changed, time_s, rows, start[0], residual, estimate)
    return replace(result, notes=(*_unbalanced_rows_note(missing), *result.notes), marked=markers is not None)


def _unbalanced_rows(model: OpenSimModel, at: IntArray, tau: FloatArray) -> BoolArray:
    """Return a mask (T,) of the rows with missing forces, determined from the torques (T, n free) of the coordinates `at`."""
    every = np.zeros((len(tau), len(model.coordinates)))
    every[:, at] = tau
    return unbalanced_rows(model, every)


def _long_stretches(rows: BoolArray, frames: float) -> BoolArray:
    """Return a mask (T,) of the True intervals of `rows` that are longer than `frames`, extended by `frames` on either side."""
    stances = np.zeros_like(rows)
    for first, stop in finite_stretches(rows):
        if stop - first > frames:
            stances[max(first - int(np.ceil(frames)), 0) : stop + int(np.ceil(frames))] = True
    return stances


def _unbalanced_rows_note(missing: BoolArray) -> list[Diagnostic]:
    if not missing.any():
        return []
    text = (
        f"{int(missing.sum())} of {len(missing)} rows were not balanced because forces that carried the body are missing in "
        f"or near them."
    )
    hint = "Do not use torques of a standing leg in these rows; give the file of all forces with --forces."
    return [Diagnostic("estimate-rows-left-out", "warning", text, value=float(np.mean(missing)), limit=0.0, hint=hint)]


def _balanced_motion(
    model: OpenSimModel,
    time_s: FloatArray,
    rows: FloatArray,
    before: FloatArray,
    residual: Mapping[str, float],
    estimate: CoordinateEstimate,
) -> BalancedMotion:
    q, v, vdot = spline_derivatives(time_s, rows, 0.0)
    change = rows - before
    bodies = model.multibody.bodies
    masses = {
        body.name: float(factor - 1.0)
        for body, factor in zip(bodies, estimate.mass_factors, strict=True)
        if body.mass_kg > 0.0
    }
    trunk = bodies[estimate.trunk].name
    result = BalancedMotion(
        model=model,
        q=q,
        v=v,
        vdot=vdot,
        residual_before=residual,
        moved_rms=np.sqrt(np.mean(change**2, axis=0)),
        moved_max=np.abs(change).max(axis=0),
        mass_change=masses,
        centre_shift_m=estimate.centre_shift_m,
        trunk=trunk,
        notes=(),
    )
    return replace(result, notes=tuple(_change_notes(result, estimate)))


def _change_notes(result: BalancedMotion, estimate: CoordinateEstimate) -> list[Diagnostic]:
    """Return notes on changes that are too large to be measurement errors."""
    notes = []
    turning = np.array([coordinate.rotational for coordinate in result.model.coordinates])
    farthest = int(np.argmax(np.where(turning, result.moved_rms, 0.0)))
    value = float(result.moved_rms[farthest])
    if value > _MOST_MOVED_RAD:
        name = result.model.coordinates[farthest].name
        text = f"The estimate changed {name} by {np.degrees(value):.1f} degrees RMS to balance the forces."
        notes.append(_large_change_note(text, np.degrees(value), np.degrees(_MOST_MOVED_RAD), "deg"))
    slid = int(np.argmax(np.where(turning, 0.0, result.moved_rms)))
    if not turning[slid] and (far := float(result.moved_rms[slid])) > _MOST_SLID_M:
        text = f"The estimate changed {result.model.coordinates[slid].name} by {100 * far:.1f} cm RMS to balance the forces."
        notes.append(_large_change_note(text, far, _MOST_SLID_M, "m"))
    body, share = max(result.mass_change.items(), key=lambda item: abs(item[1]), default=("", 0.0))
    if abs(share) > _MOST_MASS:
        text = f"The estimate changed the mass of '{body}' by {100 * share:+.0f} %."
        notes.append(_large_change_note(text, abs(share), _MOST_MASS, ""))
    shift = float(np.linalg.norm(result.centre_shift_m))
    if shift > _MOST_CENTRE_M:
        text = f"The estimate moved the mass centre of '{result.trunk}' by {100 * shift:.1f} cm."
        notes.append(_large_change_note(text, shift, _MOST_CENTRE_M, "m"))
    if not estimate.settled:
        text = f"The estimate did not converge in {estimate.steps} iterations."
        notes.append(Diagnostic("estimate-not-settled", "warning", text, value=float(estimate.steps)))
    return notes


def _large_change_note(text: str, value: float, limit: float, unit: str) -> Diagnostic:
    hint = "Check for forces of another trial or clock, a wrong plate position, or masses of another person."
    return Diagnostic("estimate-moved-far", "warning", text, value=value, limit=limit, unit=unit, hint=hint)


# In longer gaps the motion that has to balance the forces is unknown.
_LONGEST_GAP_S: Final = 0.2


def balance_fit(
    model: OpenSimModel, fit: ModelFit, time_s: FloatArray, cutoff_hz: float, loads: Loads
) -> tuple[BalancedMotion, IntArray, ModelFit]:
    """Return the motion and inertias that fit markers and forces best, from the first to the last frame with a fit; the frames
    with a fit; and the fit with the marker errors of this motion.

    time_s: (T,) s of the recording, uniform. cutoff_hz: cut-off of the initial fitted motion, from which the estimate deviates.
    Raises InputFileError if too few frames show the markers, gaps are too long, or `balance_motion` fails.
    """
    seen = np.asarray(np.isfinite(fit.q).all(axis=1))
    frames = np.flatnonzero(seen)
    if len(frames) < LEAST_ROWS:
        raise InputFileError(
            f"Fewer than {LEAST_ROWS} frames show enough markers of the model; accelerations need at least as many."
        )
    rows = slice(int(frames[0]), int(frames[-1]) + 1)
    rate_hz = (len(time_s) - 1) / float(time_s[-1] - time_s[0])
    longest = max((stop - first for first, stop in finite_stretches(~seen[rows])), default=0)
    if longest > _LONGEST_GAP_S * rate_hz:
        raise InputFileError(
            f"Too few markers are seen for {longest / rate_hz:.2f} s; the estimate allows gaps of at most {_LONGEST_GAP_S:g} "
            f"s.",
            "Fill the gaps, cut the recording, or omit signals.method.",
        )
    given = fit.q[rows].copy()
    for k in range(given.shape[1]):
        given[:, k] = np.interp(time_s[rows], time_s[seen], fit.q[seen, k])
    motion = balance_motion(
        model, time_s[rows], given, cutoff_hz, loads.select_frames(rows), _measured_markers(model, fit, rows, given)
    )
    assert fit.followed is not None
    errors = np.full((len(time_s), len(fit.labels)), np.nan)
    positions = fit.followed.positions(motion.model.coupled, motion.q)
    errors[rows] = np.linalg.norm(positions - fit.recorded[rows], axis=2)
    errors[np.isnan(fit.solution.marker_error)] = np.nan
    return motion, frames, replace(fit, solution=replace(fit.solution, marker_error=errors))


def _measured_markers(model: OpenSimModel, fit: ModelFit, rows: slice, given: FloatArray) -> FittedMarkers:
    names, coupled = model.independent_coordinates()
    every = [coordinate.name for coordinate in model.coordinates]
    q = given[:, [every.index(name) for name in names]]
    assert fit.followed is not None
    assert fit.target_weights is not None
    missing = np.isnan(fit.q[rows, 0])
    weights = np.where(missing[:, None], 0.0, fit.followed.weights[rows])
    followed = replace(fit.followed, weights=weights)
    return FittedMarkers(followed, followed.positions(coupled, q), fit.target_weights, q)
