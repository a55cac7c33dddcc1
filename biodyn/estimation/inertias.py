"""What a trial may change of the body's inertias: mass centres of heavy segments, how the mass is divided, and the mass itself.

What a table of segments does not know of a person is alike on both sides: its errors are drawn as a part that both sides
share and a part of each side alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import SIDE_SIGN, FloatArray, without_side
from biodyn.estimation.settings import EstimationSettings
from biodyn.model.body_model import SubjectModel, with_inertias
from biodyn.model.skeleton import Inertia
from biodyn.uncertainty.error_sources import segment_groups

_BODY_MASS = "body mass"
# Lighter segments tell too little of where their mass lies.
_HEAVY_SHARE = 0.02
# Prior standard deviations. Mass centres, m; that of the trunk, the heaviest segment, includes its unmeasured posture.
_CENTRE_SD_M, _HEAVIEST_CENTRE_SD_M = 0.01, 0.013
# Mass of the body, share. Mass of a segment, share of itself: tables differ by 8 %; shoes make feet heavier by a third.
_MASS_SD, _SEGMENT_MASS_SD, _FOOT_MASS_SD = 0.01, 0.08, 0.16
# Share of the variance of mass centres that both sides have in common, as mirror images.
_SIDES_ALIKE = 0.8
_SIDEWAYS = 2  # the axis of a segment that points outward on one side of the body and inward on the other


@dataclass(frozen=True)
class InertiaUnknowns:
    """Unknowns x (P,) of standard deviation 1.

    Attributes:
        names: (P,) of the unknowns.
        segments: (S,) whose mass centre may move; centre_m: (S, 3, P), x moves it by centre_m @ x along the segment's axes.
        bodies: (B,) all segments; mass_share: (B, P), x changes their masses by mass_share @ x, shares of themselves.
        mass_share_sd: of the body's mass; 0 = it stays. segment_share_sd: (B,) the same of each segment's mass.
    """

    names: tuple[str, ...]
    segments: tuple[str, ...]
    centre_m: FloatArray
    bodies: tuple[str, ...]
    mass_share: FloatArray
    mass_share_sd: float
    segment_share_sd: FloatArray

    @classmethod
    def none(cls) -> InertiaUnknowns:
        """Inertias that are as they are."""
        return cls((), (), np.zeros((0, 3, 0)), (), np.zeros((0, 0)), 0.0, np.zeros(0))

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return len(self.names)

    @property
    def outlier_groups(self) -> tuple[tuple[str, ...], ...]:
        """Names of the unknown whose error is seldom a gross one: the body's mass, else every plate would read wrong for it."""
        return ((_BODY_MASS,),) if self.mass_share_sd else ()

    @property
    def sd_m(self) -> FloatArray:
        """One standard deviation (S,) of each mass centre along an axis, m."""
        return np.asarray(np.sqrt(np.sum(self.centre_m**2, axis=2)).max(axis=1, initial=0.0))

    def centre_shifts_m(self, values: FloatArray) -> dict[str, FloatArray]:
        """Return the shift (3,) m of each segment's mass centre in its own axes."""
        return dict(zip(self.segments, self.centre_m @ values, strict=True))

    def body_share(self, values: FloatArray) -> float:
        """Return the change of the body's mass, share."""
        return float(self.of_body @ values)

    @property
    def of_body(self) -> FloatArray:
        """What one standard deviation of each unknown changes the body's mass by, (P,) shares."""
        result = np.zeros(self.count)
        if self.mass_share_sd:
            result[-1] = self.mass_share_sd
        return result

    def mass_changes(self, values: FloatArray) -> dict[str, float]:
        """Return by which share of itself each segment's mass changes."""
        return dict(zip(self.bodies, (self.mass_share @ values).tolist(), strict=True))

    def parameter_changes(self, model: SubjectModel) -> FloatArray:
        """Return what one standard deviation of each unknown adds to the `inertial_parameters`, (10 B, P)."""
        columns = np.zeros((len(model.multibody.bodies), 10, self.count))
        bodies = {body.definition.name: body.inertia for body in model.bodies}
        for name, moves in zip(self.segments, self.centre_m, strict=True):
            frame, mass = model.frames[name], bodies[name].mass
            before = frame.R_LB @ bodies[name].com + frame.p_LB
            for column in np.flatnonzero(moves.any(axis=0)):
                moved = before + frame.R_LB @ moves[:, column]
                columns[frame.link, 1:4, column] += mass * (moved - before)
                columns[frame.link, 4:, column] += mass * (_square(moved) - _square(before))
        for name, shares in zip(self.bodies, self.mass_share, strict=True):
            frame, inertia = model.frames[name], bodies[name]
            columns[frame.link] += np.outer(_parameters(inertia, frame.R_LB, frame.p_LB), shares)
        return columns.reshape(10 * len(columns), self.count)


def _parameters(inertia: Inertia, R: FloatArray, p: FloatArray) -> FloatArray:
    """The ten inertial parameters of a segment about the origin of its link."""
    com, about = R @ inertia.com + p, R @ inertia.tensor @ R.T
    upper = about[np.triu_indices(3)]
    return np.concatenate([[inertia.mass], inertia.mass * com, upper + inertia.mass * _square(com)])


def _square(p: FloatArray) -> FloatArray:
    """Moments of inertia of a unit mass at p (3,) about the origin: xx, xy, xz, yy, yz, zz."""
    x, y, z = p
    return np.array([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y])


@dataclass(frozen=True)
class _Unknown:
    """One of them: what one standard deviation moves the mass centres by, (S, 3) m, and changes the masses by, (B,) shares."""

    name: str
    centre_m: FloatArray
    mass_share: FloatArray


def inertia_unknowns(model: SubjectModel, settings: EstimationSettings) -> InertiaUnknowns:
    """Return what may change of a model by the settings."""
    heavy = [body for body in model.bodies if body.inertia.mass > _HEAVY_SHARE * model.mass_kg]
    heaviest = max(heavy, key=lambda body: body.inertia.mass).definition.name
    factor = settings.inertia_sd_factor
    if not factor:
        return InertiaUnknowns.none()
    sd = {body.definition.name: _CENTRE_SD_M for body in heavy} | {heaviest: _HEAVIEST_CENTRE_SD_M}
    free = {name: factor * size for name, size in sd.items()}
    found = [*_centres(model, free), *_masses(model, len(free), factor)]
    bodies = tuple(body.definition.name for body in model.bodies)
    return InertiaUnknowns(
        tuple(one.name for one in found),
        tuple(free),
        np.stack([one.centre_m for one in found], axis=2),
        bodies,
        np.stack([one.mass_share for one in found], axis=1),
        factor * _MASS_SD,
        np.array([factor * _segment_mass_sd(model, name) for name in bodies]),
    )


def _centres(model: SubjectModel, sd_m: Mapping[str, float]) -> Iterator[_Unknown]:
    """Mass centres of the segments `sd_m`: a part that both sides have in common, and one of each side alone."""
    sides = {body.definition.name: body.definition.side for body in model.bodies}
    names = tuple(sd_m)
    for group in segment_groups(model):
        own = [name for name in group if name in sd_m]
        both = _SIDES_ALIKE if len(own) > 1 else 0.0
        parts = [(f"{_kind(own[0], sides)}, both sides", own, both)] if both else []
        parts += [(name, [name], 1.0 - both) for name in own]
        for what, members, share in parts:
            for axis in range(3):
                moves = np.zeros((len(names), 3))
                for name in members:
                    side = sides[name]
                    outward = SIDE_SIGN[side] if side and axis == _SIDEWAYS else 1.0
                    moves[names.index(name), axis] = outward * np.sqrt(share) * sd_m[name]
                yield _Unknown(f"mass centre of {what}, axis {'xyz'[axis]}", moves, np.zeros(len(model.bodies)))


def _masses(model: SubjectModel, centres: int, factor: float) -> Iterator[_Unknown]:
    """How the mass is divided, both sides alike, and the mass of the body."""
    sides = {body.definition.name: body.definition.side for body in model.bodies}
    weights, still = np.array([body.inertia.mass for body in model.bodies]), np.zeros((centres, 3))
    for group in segment_groups(model):
        sd = factor * _segment_mass_sd(model, group[0])
        more = sd * np.array([name in group for name in sides], dtype=np.float64)
        # what one gains the others lose
        yield _Unknown(f"mass of {_kind(group[0], sides)}", still, more - weights @ more / weights.sum())
    yield _Unknown(_BODY_MASS, still, np.full(len(weights), factor * _MASS_SD))


def _segment_mass_sd(model: SubjectModel, name: str) -> float:
    """One standard deviation of a segment's mass, share of itself."""
    return _FOOT_MASS_SD if name in model.sole_body.values() else _SEGMENT_MASS_SD


def _kind(name: str, sides: Mapping[str, str]) -> str:
    return without_side(name, sides[name])


def with_changed_inertias(model: SubjectModel, unknowns: InertiaUnknowns, values: FloatArray) -> SubjectModel:
    """Return the model with its mass centres and masses changed."""
    if not unknowns.count:
        return model
    shifts: Mapping[str, FloatArray] = unknowns.centre_shifts_m(values)
    shares = unknowns.mass_changes(values)
    changed = {}
    for body in model.bodies:
        name, inertia = body.definition.name, body.inertia
        factor = 1.0 + shares[name]
        changed[name] = Inertia(inertia.mass * factor, inertia.com + shifts.get(name, 0.0), inertia.tensor * factor)
    return with_inertias(model, changed)
