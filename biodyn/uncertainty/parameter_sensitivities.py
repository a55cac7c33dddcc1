"""Sensitivity of the torques to joint centres, and to parameters that an estimate found with the motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.rigid_body import body_poses, effects_of_inertia, joint_jacobians
from biodyn.rigid_body.kinematics import on_path
from biodyn.uncertainty.error_sources import Fitted, Frames, Source
from biodyn.uncertainty.responses import (
    FitResponse,
    Towards,
    along_segments,
    fit_of,
    rates,
    single,
    torque_response,
    torque_weights,
    turning_of,
)

# -- One standard deviation of where the joints and the ends of the segments are, by the same errors as the bands of the torques.
#
# An error moves the fitted configuration by a step xi (`fit_response`), and a point of the body by J xi; an error of the model
# itself (a joint centre) moves it besides, at the same configuration. Of the covariance of a point, the largest extent is
# kept: in
# any one direction it is uncertain by no more.

#: Within 80 ms these change by little.
RATE_HZ = 12.5


@dataclass(frozen=True, eq=False)
class PlaceUncertainty:
    """Standard deviations of the points of a `StickFigure`.

    Attributes:
        frames: (K,) numbers of the frames for which they are known.
        sd_m: (K, 2 B) m, joints first, in the direction in which each is least certain.
    """

    frames: IntArray
    sd_m: FloatArray


@dataclass(eq=False)
class Places:
    """Gathers the uncertainty of the points of a fitted tree; of every so many frames."""

    fitted: Fitted
    every: int
    frames: list[IntArray] = field(default_factory=list)
    sd_m: list[FloatArray] = field(default_factory=list)

    def wanted(self, frames: IntArray) -> IntArray:
        """Which of the frames (T,), by their places, are to be known."""
        return np.flatnonzero(frames % self.every == 0)

    def add(
        self,
        frames: IntArray,
        q: FloatArray,
        by_errors: Sequence[tuple[FloatArray, FloatArray]],
        steps: FloatArray,
        models: Mapping[int, tuple[float, Fitted]],
    ) -> None:
        """Add frames (K,) with q (K, nq).

        Parameters:
            by_errors: steps (K, nv, N) of the configuration a unit of each error, and the errors' variances (K or 1, N).
            steps: (K, nv, P) of one standard deviation each of P parameters.
            models: those that are parameters of the model, by their column: how many of its steps make a standard deviation, and
                the model after one step.
        """
        own = self.fitted
        J = own.figure.jacobians(own.tree, q)
        wide = J.reshape(len(q), -1, J.shape[3])
        covariance = np.zeros((*J.shape[:3], 3))
        for columns, variance in by_errors:
            moved = (wide @ columns).reshape(*J.shape[:3], -1)
            covariance += (moved * variance[:, None, None]) @ moved.transpose(0, 1, 3, 2)
        moved = (wide @ steps).reshape(*J.shape[:3], -1)
        here = own.figure.at(own.tree, q)
        for column, (factor, other) in models.items():
            moved[..., column] += factor * (other.figure.at(other.tree, q) - here)
        covariance += moved @ moved.transpose(0, 1, 3, 2)
        self.frames.append(frames)
        self.sd_m.append(largest_extent(covariance))


def found_places(places: Places) -> PlaceUncertainty | None:
    """Return what was gathered; None where nothing was."""
    if not places.frames:
        return None
    return PlaceUncertainty(np.concatenate(places.frames), np.concatenate(places.sd_m))


def largest_extent(covariance: FloatArray) -> FloatArray:
    """Return the standard deviations (...) along the first principal axes of covariances (..., 3, 3)."""
    return np.sqrt(np.maximum(np.linalg.eigvalsh(covariance)[..., -1], 0.0))


# -- How constants that an estimate found (mass centres, masses, plates) answer to the errors of everything else.
#
# An estimate of motion and forces takes what is out of balance for errors of the body's inertias and of the plates. Another error
# that puts the body out of balance, say a joint centre beside its place, moves these constants, too, and with them the torques: a
# trunk whose joint stands a centimetre too far left gets a mass centre some millimetres too far right. With r (T, 6) the force
# and
# moment by which an error puts the body out of balance, E (T, 6, P) those of one standard deviation of each constant, W (T, 6)
# the
# precision of the balance and B (P,) that of the constants before,
#
#     x = -(E^T W E + B)^-1 E^T W r
#
# is the answer of the constants, by which the torques change besides. The motion is taken as it stands: it gives way to balances
# that swing, constants to those that last.

#: What lasts longer moves constants: seconds between the frames that are asked.
TOLD_EVERY_S = 0.04
_ROOT = np.arange(6)


@dataclass(frozen=True)
class FoundConstants:
    """Constants, each of standard deviation 1 before, that an estimate found from some frames in a row.

    Attributes:
        parameters: (10 B, N) what one of each inertia adds to the `inertial_parameters` of the model.
        wrenches: (T, K, 6, M) what one of each of the plates' constants adds to the wrenches on the feet.
        precision: (T, 6) of the balance of the whole body, [moment; force] in axes of the root; 0 where it told nothing.
        before: (N + M,) precision of each constant before. rate_hz: of the frames.
    """

    parameters: FloatArray
    wrenches: FloatArray
    precision: FloatArray
    before: FloatArray
    rate_hz: float

    @property
    def told(self) -> IntArray:
        """Some of the frames from the first to the last that told something, evenly spaced."""
        telling = np.flatnonzero(self.precision.any(axis=1))
        step = max(round(TOLD_EVERY_S * self.rate_hz), 1)
        return np.arange(telling[0], telling[-1] + 1, step) if len(telling) else telling

    def near(self, frames: IntArray) -> IntArray:
        """Which constants (N + M) count in some frames (T,): all inertias, and the plates' that change a wrench there."""
        changed = self.wrenches[frames].any(axis=(0, 1, 2))
        return np.flatnonzero(np.concatenate([np.ones(self.parameters.shape[1], dtype=np.bool_), changed]))

    def effects(self, frames: Frames, near: IntArray) -> FloatArray:
        """What one of each constant `near` (C,) does to the generalised forces `frames.rows`, (T, R, C)."""
        tree, count = frames.inputs.model.multibody, self.parameters.shape[1]
        inertias = effects_of_inertia(tree, frames.q, frames.v, frames.vdot, self.parameters)
        change = self.wrenches[frames.at][..., near[near >= count] - count]
        return np.concatenate([inertias[:, frames.rows], _of_wrenches(frames, change)], axis=2)


def _of_wrenches(frames: Frames, change: FloatArray) -> FloatArray:
    """What changes (T, K, 6, M) of the wrenches on the feet do to the generalised forces, (T, R, M)."""
    mb, links = frames.inputs.model.multibody, frames.inputs.dynamics.foot_wrench_links
    if not change.shape[1] * change.shape[3]:
        return np.zeros((len(frames.at), len(frames.rows), change.shape[3]))
    J = joint_jacobians(mb, frames.q)[:, :, frames.rows].transpose(0, 2, 1)
    moved = np.stack([on_path(mb, int(link))[frames.rows] for link in links])
    return -np.asarray(sum((J * own[:, None]) @ change[:, foot] for foot, own in enumerate(moved)))


@dataclass(frozen=True)
class Skin:
    """Movement of markers along the axes of their segments: standard deviation (M,) m, `shares` of its variance."""

    sd_m: FloatArray
    shares: tuple[float, ...]
    stride_s: float


@dataclass(frozen=True)
class Answers:
    """How found constants (P) answer to errors.

    Attributes:
        by_column: (P, N) by source, to one standard deviation of each of its N parameters.
        to_skin, to_noise: (P, P) covariances of their answers to the movement of markers, and to the noise of the balance.
    """

    constants: FoundConstants
    by_column: Mapping[str, FloatArray]
    to_skin: FloatArray
    to_noise: FloatArray

    def torques(self, frames: Frames) -> tuple[dict[str, FloatArray], FloatArray, FloatArray]:
        """Return the changes of torques by source (T, R, N), and the variances (T, R) by what skin and noise do to the constants.

        In single precision: a standard deviation needs three digits.
        """
        near = self.constants.near(frames.at)
        effects = single(self.constants.effects(frames, near))
        among = np.ix_(near, near)
        changes = {name: effects @ single(x[near]) for name, x in self.by_column.items()}
        skin, noise = (
            np.sum((effects @ single(part[among])) * effects, axis=2) for part in (self.to_skin, self.to_noise)
        )
        return changes, skin, noise


def answers_of(
    constants: FoundConstants, frames: Frames, sources: Mapping[str, Source], towards: Towards, skin: Skin
) -> Answers:
    """Return the answers of constants; frames: of their `told`, evenly spaced."""
    frames = replace(frames, rows=_ROOT)
    inputs, mb = frames.inputs, frames.inputs.model.multibody
    effects, apart = constants.effects(frames, np.arange(len(constants.before))), int(frames.at[1] - frames.at[0])
    pull = effects * (apart * constants.precision[frames.at])[:, :, None]
    pull = pull.reshape(-1, pull.shape[2]).T  # (P, 6 T)
    information = pull @ effects.reshape(pull.shape[1], -1)
    left = np.linalg.inv(information + np.diag(constants.before))
    fit = fit_of(frames, towards=towards)
    links = inputs.dynamics.foot_wrench_links
    G = torque_response(mb, frames.q, frames.v, frames.vdot, frames.wrenches, links, frames.rows)
    rate_hz = inputs.rate_hz / apart
    by_column = {}
    for name, source in sources.items():
        column = towards.of_source(name, source, frames)
        change = column.torque
        if column.gradient.shape[2]:
            step = -fit.inverse_hessian @ column.gradient
            change = change + sum(part @ moved for part, moved in zip(G, (step, *rates(step, rate_hz)), strict=True))
        by_column[name] = -left @ (pull @ change.reshape(pull.shape[1], -1))
    of_skin = left @ _pulls_of_skin(frames, pull, G, fit, skin, rate_hz)
    return Answers(constants, by_column, of_skin @ of_skin.T, left @ information @ left)


def _pulls_of_skin(
    frames: Frames,
    pull: FloatArray,
    G: tuple[FloatArray, ...],
    fit: FitResponse,
    skin: Skin,
    rate_hz: float,
) -> FloatArray:
    """What one standard deviation of each part of the skin's movement pulls at the constants with (P, N).

    A part is the offset, the cosine or the sine of a harmonic of the stride, of one marker along one axis of its segment.
    """
    model = frames.inputs.model
    links = model.marker_arrays()[0]
    R = body_poses(model.multibody, frames.q)[0]
    every = slice(0, len(frames.at))
    g = along_segments(torque_weights(G, fit.by_markers, every, rate_hz), turning_of(R, links, rate_hz))
    axes = np.moveaxis(R[:, links], 1, 3)[:, None]  # (T, 1, World's axis, the segment's, M)
    of_segment = [np.einsum("trbm,tkbam->tram", part.reshape(*part.shape[:2], 3, -1), axes) for part in g]
    time_s = frames.at / frames.inputs.rate_hz
    found = []
    for k, share in enumerate(skin.shares):
        w = 2.0 * np.pi * k / skin.stride_s
        for phase in (0.0, -0.5 * np.pi) if k else (0.0,):
            angle = w * time_s + phase
            shape = np.stack([np.cos(angle), -w * np.sin(angle), -(w**2) * np.cos(angle)])
            change = sum(part * one[:, None, None, None] for part, one in zip(of_segment, shape, strict=True))
            found.append(np.sqrt(share) * pull @ (change * skin.sd_m).reshape(pull.shape[1], -1))
    return np.concatenate(found, axis=1)
