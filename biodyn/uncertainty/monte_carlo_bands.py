"""Standard deviations of the torques of an imported model, by Monte Carlo propagation of the input errors through fit and
dynamics.

The fit of a model with couplings and clamped coordinates is nonlinear, but fast. Therefore errors are added to the inputs, the
coordinates are fitted and smoothed again, and the changes of the torques are evaluated. For sources with few independent errors
(point of application, cut-off) each error is added once and the squared changes are summed; for the others the variance over
some draws is used. Because the draws are few, variances are averaged over the time over which the filter spreads an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import scipy

from biodyn.conventions import FloatArray, IntArray, without_side
from biodyn.model.from_osim.imported_model import ImportedModel
from biodyn.model.from_osim.part_identification import is_toe
from biodyn.processing.kinematics.opensim_inverse_kinematics import TrackingTasks, fit_to_markers
from biodyn.processing.signals.derivatives import LEAST_ROWS, spline_derivatives
from biodyn.processing.signals.filtering import estimate_noise, finite_stretches
from biodyn.rigid_body import Body, Multibody, OpenSimModel
from biodyn.rigid_body.kinematics import StickFigure
from biodyn.rigid_body.osim.model import Marker
from biodyn.uncertainty.parameter_sensitivities import RATE_HZ, PointUncertainty, largest_principal_sd
from biodyn.uncertainty.propagation_inputs import Magnitudes, TrialInputs, load_magnitudes
from biodyn.uncertainty.settings import UncertaintySettings
from biodyn.uncertainty.torque_bands import TorqueUncertainty

#: Number of draws per source: the accuracy of the SD is 16 % in a frame, and about 5 % over the time of the filter
#: and all sources.
DRAWS: Final = 20


@dataclass(frozen=True, eq=False)
class ImportedInputs:
    """Trial on an imported model, in the ground frame of the model.

    Attributes:
        model: the body model. inputs: inputs of the trial in World. R_WG: (3, 3) rotation from ground to World.
        labels, positions: tracked markers, (T, M, 3) m. time_s: (T,). tasks: tasks of the fit. cutoff_hz: cut-off of the
            coordinates.
        wrenches: (T, K, 6) about the origin, on the bodies (K,) of the OpenSim model. tau: (T, n), NaN where unknown.
    """

    model: ImportedModel
    inputs: TrialInputs
    R_WG: FloatArray
    labels: tuple[str, ...]
    positions: FloatArray
    time_s: FloatArray
    tasks: TrackingTasks
    cutoff_hz: float
    wrenches: FloatArray
    bodies: tuple[int, ...]
    tau: FloatArray


@dataclass(frozen=True, eq=False)
class InputDraw:
    """Inputs of one Monte Carlo draw: model, marker positions, wrenches, and cut-off, with random errors."""

    model: OpenSimModel
    positions: FloatArray
    wrenches: FloatArray
    cutoff_hz: float


def monte_carlo_torque_bands(trial: ImportedInputs, settings: UncertaintySettings) -> TorqueUncertainty | None:
    """Return the torque bands of the coordinates distal to the root; None if they are switched off."""
    if not settings.compute:
        return None
    magnitudes = load_magnitudes(settings.magnitudes)
    noise_m = marker_noise(trial, magnitudes)
    columns = [[c.name for c in trial.model.osim.coordinates].index(c.name) for c in trial.model.coordinates]
    around = round(trial.inputs.rate_hz / trial.cutoff_hz) if trial.cutoff_hz else 1
    by_source = {}
    places = _DrawCovariance.from_trial(trial)
    missing = np.isnan(trial.inputs.dynamics.torques)
    for name, changes in perturbed_inputs(trial, magnitudes, noise_m).items():
        variance = np.zeros(missing.shape)
        for share, drawn in changes:
            q, tau = recompute_draw(trial, drawn)
            variance += share * (tau - trial.tau)[:, columns] ** 2
            places.add(drawn.model, q, share)
        smooth = scipy.ndimage.uniform_filter1d(np.nan_to_num(variance), max(around, 1), axis=0, mode="nearest")
        by_source[name] = np.where(missing, np.nan, np.sqrt(np.maximum(smooth, 0.0)))
    names = tuple(c.name for c in trial.model.coordinates)
    return TorqueUncertainty(names, by_source, noise_m, places=places.point_uncertainty())


@dataclass(eq=False)
class _DrawCovariance:
    """Accumulator of the covariance of the joint and segment-end positions over all draws, in some of the frames.

    Attributes:
        frames: (K,) frame numbers. names: bodies of the stick figure. usual: (K, P, 3) m points without errors.
        covariance: (K, P, 3, 3) m^2, accumulated.
    """

    frames: IntArray
    names: tuple[str, ...]
    usual: FloatArray
    covariance: FloatArray

    @classmethod
    def from_trial(cls, trial: ImportedInputs) -> _DrawCovariance:
        """Return an accumulator without draws."""
        every = max(round(trial.inputs.rate_hz / RATE_HZ), 1)
        q = recompute_draw(trial, nominal_draw(trial))[0]
        frames = np.flatnonzero(np.isfinite(q).all(axis=1) & (np.arange(len(q)) % every == 0))
        mb = trial.model.multibody
        names = tuple(mb.bodies[body].name for body in StickFigure.from_posture(mb).bodies)
        usual = _joint_and_end_positions(trial.model.osim, q[frames], names)
        return cls(frames, names, usual, np.zeros((*usual.shape, 3)))

    def add(self, model: OpenSimModel, q: FloatArray, share: float) -> None:
        """Add a draw with weight `share`: the model and its coordinates (T, n); frames without a fit are ignored."""
        apart = np.nan_to_num(_joint_and_end_positions(model, q[self.frames], self.names) - self.usual)[..., None]
        self.covariance += share * (apart @ apart.swapaxes(-1, -2))

    def point_uncertainty(self) -> PointUncertainty | None:
        """Return the standard deviations of the positions over all draws; None if no frame has a motion."""
        return PointUncertainty(self.frames, largest_principal_sd(self.covariance)) if len(self.frames) else None


def _joint_and_end_positions(model: OpenSimModel, q: FloatArray, names: Sequence[str]) -> FloatArray:
    """Return the positions (K, 2 B, 3) m of the joints of the named bodies, then of their ends, for q (K, n)."""
    mb = model.multibody
    figure = StickFigure.from_posture(mb, model.coupled.configuration(model.default_configuration()[None])[0])
    at = [[mb.bodies[body].name for body in figure.bodies].index(name) for name in names]
    points = figure.points(*model.coupled.body_poses(q))
    return points[:, [*at, *(k + len(figure.bodies) for k in at)]]


def nominal_draw(trial: ImportedInputs) -> InputDraw:
    """Return the inputs of the trial without any random error."""
    return InputDraw(trial.model.osim, trial.positions, trial.wrenches, trial.cutoff_hz)


def recompute_draw(trial: ImportedInputs, drawn: InputDraw) -> tuple[FloatArray, FloatArray]:
    """Compute smoothed coordinates and torques (T, n) of a draw from its inputs; NaN in frames without a motion."""
    q = fit_to_markers(drawn.model, trial.labels, drawn.positions, trial.time_s, trial.tasks, report=False).q
    smoothed, tau = np.full_like(q, np.nan), np.full_like(q, np.nan)
    for first, stop in finite_stretches(np.asarray(np.isfinite(q).all(axis=1))):
        if stop - first < LEAST_ROWS:
            continue
        at = slice(first, stop)
        motion = spline_derivatives(trial.time_s[at], q[at], drawn.cutoff_hz)
        smoothed[at] = motion[0]
        loads = drawn.wrenches[at] if trial.bodies else None
        tau[at] = drawn.model.coupled.inverse_dynamics(*motion, loads, list(trial.bodies) if trial.bodies else None)
    return smoothed, tau


def marker_noise(trial: ImportedInputs, magnitudes: Magnitudes) -> FloatArray:
    """Return the white noise (M,) m of the tracked markers, estimated from the trial but at least the typical noise."""
    inputs = trial.inputs
    order = inputs.signals.settings.filter_order
    raw = inputs.fitted_positions(inputs.unfiltered_markers)  # excluding filled gaps, which have no noise
    return np.fmax(estimate_noise(raw, inputs.rate_hz, magnitudes.noise_from_hz, order), magnitudes.marker_noise_m)


def perturbed_inputs(
    trial: ImportedInputs, magnitudes: Magnitudes, noise_m: FloatArray, seed: int = 0
) -> dict[str, Iterator[tuple[float, InputDraw]]]:
    """Return changed inputs for each source of error, in the order of tables, each with its weight in the variance of the
    source.

    Random draws have equal weights with sum 1; independent errors of one SD (point of application, cut-off) have weight 1 each.
    """
    bare = nominal_draw(trial)

    def shift_positions(change: FloatArray) -> InputDraw:
        return replace(bare, positions=trial.positions + change)

    def draw_noise(rng: np.random.Generator) -> InputDraw:
        return shift_positions(noise_m[:, None] * rng.normal(size=trial.positions.shape))

    def draw_skin_movement(rng: np.random.Generator) -> InputDraw:
        segments = [trial.model.segment_name(marker.body) for marker in trial.model.markers]
        return shift_positions(skin_movement(trial.inputs, magnitudes, segments, rng) @ trial.R_WG)

    def draw_joint_centres(rng: np.random.Generator) -> InputDraw:
        shifts = {name: sd * rng.normal(size=3) for name, sd in centre_sd_m(trial.model, magnitudes).items()}
        return replace(bare, model=shift_joint_centres(trial.model, shifts))

    def draw_inertias(rng: np.random.Generator) -> InputDraw:
        return replace(bare, model=randomise_inertias(trial.model, magnitudes, rng))

    def repeat_draws(
        number: int, draw: Callable[[np.random.Generator], InputDraw]
    ) -> Iterator[tuple[float, InputDraw]]:
        rng = np.random.default_rng((seed, number))
        return ((1.0 / DRAWS, draw(rng)) for _ in range(DRAWS))

    def shift_centres_of_pressure() -> Iterator[tuple[float, InputDraw]]:
        for k in range(trial.wrenches.shape[1]):
            for axis in (0, 2):
                shift = magnitudes.centre_of_pressure_m * np.eye(3)[axis]
                loads = trial.wrenches.copy()
                loads[:, k, :3] += np.cross(shift, loads[:, k, 3:])
                yield 1.0, replace(bare, wrenches=loads)

    names = {
        "marker_noise": draw_noise,
        "soft_tissue": draw_skin_movement,
        "joint_centres": draw_joint_centres,
        "inertias": draw_inertias,
    }
    changes = {name: repeat_draws(number, draw) for number, (name, draw) in enumerate(names.items())}
    if trial.model.coordinates and trial.bodies:
        changes["centre_of_pressure"] = shift_centres_of_pressure()
    if trial.cutoff_hz:
        other_hz = trial.cutoff_hz + magnitudes.cutoff_sd_hz(trial.cutoff_hz)
        changes["cutoff"] = iter([(1.0, replace(bare, cutoff_hz=other_hz))])
    return changes


def skin_movement(
    inputs: TrialInputs, magnitudes: Magnitudes, segments: Sequence[str], rng: np.random.Generator
) -> FloatArray:
    """Return random movements (T, M, 3) m of the fitted markers relative to the bone, in World; segments: segment of each
    marker."""
    own_m, common_m = magnitudes.skin_modes(segments)
    modes = np.column_stack([np.diag(own_m), common_m])
    stride_s = inputs.stride_s if np.isfinite(inputs.stride_s) else magnitudes.stride_s
    time_s = np.arange(inputs.markers.frame_count) / inputs.rate_hz
    movement = np.zeros((len(time_s), len(own_m), 3))
    for k, share in enumerate(magnitudes.shares):
        angle = 2.0 * np.pi * k * time_s / stride_s
        for wave in (np.cos(angle), np.sin(angle)):
            # The variance of a cos + b sin with independent a and b of variance s is s, as for the offset.
            movement += np.sqrt(share) * wave[:, None, None] * (modes @ rng.normal(size=(modes.shape[1], 3)))
    links = inputs.model.marker_arrays()[0]
    R = inputs.fit.link_poses()[0][:, links]
    return np.asarray(np.nan_to_num(np.einsum("tmij,tmj->tmi", R, movement)))


def centre_sd_m(model: ImportedModel, magnitudes: Magnitudes) -> dict[str, FloatArray]:
    """Return the SD (3,) m of the joint centres in the table along each axis, by distal body.

    The row of the foot applies to the ankle and the subtalar joint; the toe joint has no row.
    """
    return {
        name: magnitudes.joint_centre_m[model.segment_name(name)]
        for name in (body.definition.name for body in model.moving_segments)
        if model.segment_name(name) in magnitudes.joint_centre_m and not is_toe(name)
    }


def shift_joint_centres(model: ImportedModel, shifts: dict[str, FloatArray]) -> OpenSimModel:
    """Return the model with joint centres shifted by (3,) m in the axes of the parent; shifts: by distal body.

    Markers, mass centre and distal joints of the body keep their positions in the standing model.
    """
    own = model.osim
    standing = own.coupled.body_poses(own.default_configuration()[None])[0][0]
    index = own.multibody.body_index
    back: dict[str, FloatArray] = {}
    first: dict[str, FloatArray] = {}
    for name, shift in shifts.items():
        parent = model.skeleton.body(name).parent
        own_shift = model.frames[parent].R_LB @ shift
        back[name] = standing[index(name)].T @ standing[index(parent)] @ own_shift
        first[_first_axis_name(own.multibody, name)] = own_shift
    bodies = []
    for body in own.multibody.bodies:
        place = body.p_PJ + first.get(body.name, 0.0) - (back.get(body.parent, 0.0) if body.parent else 0.0)
        com = body.com_m - back.get(body.name, 0.0) if body.mass_kg else body.com_m
        bodies.append(replace(body, p_PJ=place, com_m=com))
    markers = tuple(_shift_marker(marker, back.get(str(marker.body), np.zeros(3))) for marker in own.markers)
    return _replace_bodies(replace(own, markers=markers), bodies)


def _shift_marker(marker: Marker, back: FloatArray) -> Marker:
    x, y, z = (np.array(marker.place_m) - back).tolist()
    return replace(marker, place_m=(x, y, z))


def randomise_inertias(model: ImportedModel, magnitudes: Magnitudes, rng: np.random.Generator) -> OpenSimModel:
    """Return the model with randomly changed inertias and the same total mass."""
    own = model.osim
    drawn: dict[str, tuple[float, FloatArray, float]] = {}
    kinds: dict[str, tuple[float, FloatArray, float]] = {}
    for segment in model.bodies:
        name, side = segment.definition.name, segment.definition.side
        kind = without_side(name, side)
        if kind not in kinds:
            step = magnitudes.com_m * rng.normal(size=3) * (1.0, 1.0, 0.0)
            kinds[kind] = (
                1.0 + magnitudes.mass_share * rng.normal(), step, 1.0 + magnitudes.moment_share * rng.normal(),
            )  # fmt: skip
        drawn[name] = kinds[kind]
    total = sum(body.mass_kg * drawn[body.name][0] for body in own.multibody.bodies if body.name in drawn)
    scale = own.multibody.total_mass_kg / total
    bodies = []
    for body in own.multibody.bodies:
        if body.mass_kg and body.name in drawn:
            mass, step, turn = drawn[body.name]
            step = model.frames[body.name].R_LB @ step
            body = replace(
                body,
                mass_kg=body.mass_kg * mass * scale,
                com_m=body.com_m + step,
                inertia_com=body.inertia_com * max(turn * mass * scale, 0.0),
            )
        bodies.append(body)
    return _replace_bodies(own, bodies)


def _first_axis_name(mb: Multibody, name: str) -> str:
    """Return the name of the first axis (or the body) of the tree that connects a body of the file to its parent."""
    body = mb.bodies[mb.body_index(name)]
    while body.parent is not None and "/" in body.parent:
        body = mb.bodies[mb.body_index(body.parent)]
    return body.name


def _replace_bodies(model: OpenSimModel, bodies: Sequence[Body]) -> OpenSimModel:
    multibody = Multibody(tuple(bodies), model.multibody.gravity_W)
    return replace(model, coupled=replace(model.coupled, multibody=multibody))
