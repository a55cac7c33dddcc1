"""Unknown parameters of an estimate: mass centres and masses of the body; plate position and gain, delay of the forces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from biodyn.conventions import SIDE_SIGN, BoolArray, FloatArray, IntArray, Side, without_side
from biodyn.estimation.settings import EstimationSettings
from biodyn.model.body_model import SubjectModel, with_inertias
from biodyn.model.skeleton import Inertia
from biodyn.recording import Contact, GroundReaction
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


_MOMENT, _FORCE = slice(0, 3), slice(3, 6)
_UP = 1  # axis of World
_NO_PLATE = -1
_OF_A_PLATE = 3  # unknowns: its place along two axes, its gain
# Prior share of plates (and body masses) that are far off, by eight standard deviations: such an error is found whole.
_GROSS_SHARE = 0.01


@dataclass(frozen=True)
class PlateSizes:
    """One standard deviation of a plate's place along each axis of the floor, m, of its gain, share, and of the delay, s.

    outlier_share: of plates whose place or gain is far beyond that.
    """

    place_m: float = 0.0
    gain: float = 0.0
    delay_s: float = 0.0
    outlier_share: float = 0.0

    @property
    def any(self) -> bool:
        """Whether anything is unknown."""
        return self.place_m > 0.0 or self.gain > 0.0 or self.delay_s > 0.0


@dataclass(frozen=True)
class PlateErrors:
    """Errors of one plate.

    Attributes:
        number: of the plate in the file.
        shift_m: (2,) by how much it stands beside the place in the file, along the floor's axes of the laboratory.
        shift_sd_m: (2,) standard deviation that is left. gain, gain_sd: share that it reads too much, and what is left.
        shift_prior_sd_m, gain_prior_sd: standard deviations that they were drawn towards 0 with, larger for gross errors.
    """

    number: int
    shift_m: FloatArray
    shift_sd_m: FloatArray
    gain: float
    gain_sd: float
    shift_prior_sd_m: float
    gain_prior_sd: float


@dataclass(frozen=True)
class PlateAccount:
    """What an estimate found of the plates.

    Attributes:
        axes: names of the laboratory's axes that `shift_m` is along. errors: of every plate that carried a foot.
        delay_s, delay_sd_s: by how much the forces are late, and the standard deviation that is left.
        expected: standard deviations before.
    """

    axes: tuple[str, ...] = ()
    errors: tuple[PlateErrors, ...] = ()
    delay_s: float = 0.0
    delay_sd_s: float = 0.0
    expected: PlateSizes = field(default_factory=PlateSizes)


@dataclass(frozen=True)
class PlateUnknowns:
    """Unknowns of standard deviation 1: for each plate its place along two axes and its gain, then the delay of all forces.

    Attributes:
        numbers: (N,) of the plates in the file. carried: (T, K) place in `numbers` of each foot's plate, -1 = none.
        known: (T, K) frames in which a foot's wrench is known; elsewhere it stands for nothing.
        axes_W: (2, 3) the laboratory's axes on the floor, in World; axes: their names.
        sizes: standard deviations; where all are 0 nothing is unknown. rate_hz: of the frames.
    """

    numbers: tuple[int, ...]
    carried: IntArray
    known: BoolArray
    axes_W: FloatArray
    axes: tuple[str, ...]
    sizes: PlateSizes
    rate_hz: float

    @classmethod
    def none(cls, rate_hz: float) -> PlateUnknowns:
        """Plates that are as their file says."""
        nothing = np.zeros((0, 0))
        return cls((), nothing.astype(np.int64), nothing.astype(np.bool_), np.zeros((0, 3)), (), PlateSizes(), rate_hz)

    @property
    def count(self) -> int:
        """Number of unknowns."""
        return _OF_A_PLATE * len(self.numbers) + 1 if self.sizes.any and self.numbers else 0

    @property
    def scales(self) -> FloatArray:
        """One standard deviation (P,) of each unknown, m, share, s."""
        if not self.count:
            return np.zeros(0)
        one = [self.sizes.place_m, self.sizes.place_m, self.sizes.gain]
        return np.array([*(one * len(self.numbers)), self.sizes.delay_s])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the unknowns."""
        if not self.count:
            return ()
        of_one = (*(f"place along {axis}" for axis in self.axes), "gain")
        return (*(f"plate {number}, {what}" for number in self.numbers for what in of_one), "delay of the forces")

    @property
    def outlier_groups(self) -> tuple[tuple[str, ...], ...]:
        """Names of the unknowns whose errors are seldom gross ones: places, both axes together, and gains."""
        ends = (_OF_A_PLATE * n for n in range(len(self.numbers) if self.count else 0))
        return tuple(part for at in ends for part in (self.names[at : at + 2], self.names[at + 2 : at + 3]))

    def of_frames(self, rows: slice) -> PlateUnknowns:
        """The same for some frames."""
        return replace(self, carried=self.carried[rows], known=self.known[rows])

    def changes(self, wrenches: FloatArray) -> FloatArray:
        """Return what putting right one standard deviation of each does to the feet's wrenches (T, K, 6), (T, K, 6, P)."""
        result = np.zeros((*wrenches.shape, self.count))
        if not self.count:
            return result
        of_one = self._of_one_plate(wrenches)
        for n in range(len(self.numbers)):
            own = self.carried == n
            result[own, :, _OF_A_PLATE * n : _OF_A_PLATE * (n + 1)] = of_one[own]
        result[..., -1] = self.sizes.delay_s * _rates(wrenches, self.known, self.rate_hz)
        return result

    def put_right(self, wrenches: FloatArray, values: FloatArray) -> FloatArray:
        """Return the wrenches (T, K, 6) without the errors `values` (P,)."""
        if not self.count:
            return wrenches
        of_plates = np.concatenate(
            [values[:-1].reshape(-1, _OF_A_PLATE), np.zeros((1, _OF_A_PLATE))]
        )  # the last: of none
        change = (self._of_one_plate(wrenches) @ of_plates[self.carried][..., None])[..., 0]
        late = values[-1] * self.sizes.delay_s
        return np.asarray(wrenches + change + late * _rates(wrenches, self.known, self.rate_hz))

    def _of_one_plate(self, wrenches: FloatArray) -> FloatArray:
        """What one standard deviation of each unknown of the plate that carries a foot does to its wrench, (T, K, 6, 3)."""
        result = np.zeros((*wrenches.shape, _OF_A_PLATE))
        for i, axis in enumerate(self.axes_W):
            result[..., _MOMENT, i] = np.cross(self.sizes.place_m * axis, wrenches[..., _FORCE])
        result[..., 2] = -self.sizes.gain * wrenches
        return result

    def shifts_W(self, values: FloatArray) -> FloatArray:
        """Return by how much each plate stands beside its place, (N, 3) m in World."""
        own = (self.scales * values)[: _OF_A_PLATE * len(self.numbers)].reshape(-1, _OF_A_PLATE)
        return np.asarray(own[:, :2] @ self.axes_W)

    def account(self, values: FloatArray, sd: FloatArray, drawn: FloatArray) -> PlateAccount:
        """Return what was found: values (P,), the standard deviations (P,) left and `drawn` (P,) with, in those of before."""
        if not self.count:
            return PlateAccount()
        found, left, towards_0 = (self.scales * part for part in (values, sd, drawn))
        errors = tuple(
            PlateErrors(
                number,
                found[at : at + 2],
                left[at : at + 2],
                float(found[at + 2]),
                float(left[at + 2]),
                float(towards_0[at]),
                float(towards_0[at + 2]),
            )
            for number, at in zip(self.numbers, range(0, self.count, _OF_A_PLATE), strict=False)
        )
        return PlateAccount(self.axes, errors, float(found[-1]), float(left[-1]), self.sizes)


def plate_unknowns(
    contacts: Sequence[Contact],
    sides: Sequence[Side],
    frames: int,
    rate_hz: float,
    R_WL: FloatArray,
    settings: EstimationSettings,
    known: BoolArray | None = None,
) -> PlateUnknowns:
    """Return what may be wrong with the plates that carry feet, by the settings.

    R_WL: (3, 3) turns laboratory axes into World. known: (frames, K) where the wrenches of `sides` are known; None = everywhere.
    """
    sizes = PlateSizes(
        settings.plate_place_sd_m,
        settings.plate_gain_sd_share,
        settings.force_delay_sd_s,
        _GROSS_SHARE,
    )
    numbers = tuple(sorted({contact.plate for contact in contacts if contact.decision == "assigned"}))
    floor = np.sort(np.argsort(np.abs(R_WL[_UP]))[:2])
    return PlateUnknowns(
        numbers,
        _carried(contacts, sides, frames, rate_hz, numbers),
        np.ones((frames, len(sides)), dtype=np.bool_) if known is None else known,
        R_WL[:, floor].T,
        tuple("xyz"[at] for at in floor),
        sizes,
        rate_hz,
    )


def _carried(
    contacts: Sequence[Contact], sides: Sequence[Side], frames: int, rate_hz: float, numbers: Sequence[int]
) -> IntArray:
    """Place of the plate that carries each foot (T, K): of the contact nearest in time; none where two carry it at once."""
    result = np.full((frames, len(sides)), _NO_PLATE, dtype=np.int64)
    time_s = np.arange(frames) / rate_hz
    for column, side in enumerate(sides):
        own = [c for c in contacts if c.side == side and c.decision == "assigned"]
        if not own:
            continue
        away = np.stack([np.maximum(c.start_s - time_s, time_s - c.end_s) for c in own])
        result[:, column] = np.array([numbers.index(c.plate) for c in own])[np.argmin(away, axis=0)]
        result[(away <= 0.0).sum(axis=0) > 1, column] = _NO_PLATE
    return result


def _rates(wrenches: FloatArray, known: BoolArray, rate_hz: float) -> FloatArray:
    """Changes (T, K, 6) a second: the mean of those from the frame before and to the next, where both are known, else of one."""
    steps = np.where((known[1:] & known[:-1])[..., None], np.diff(wrenches, axis=0), 0.0)
    told = np.zeros((*known.shape, 1))
    told[1:, :, 0] += known[1:] & known[:-1]
    told[:-1, :, 0] += known[1:] & known[:-1]
    total = np.zeros_like(wrenches)
    total[1:] += steps
    total[:-1] += steps
    return np.asarray(rate_hz * total / np.maximum(told, 1.0))


def reaction_put_right(
    reaction: GroundReaction, sides: Sequence[Side], unknowns: PlateUnknowns, values: FloatArray
) -> GroundReaction:
    """Return the ground reaction without the errors `values`; what people are shown at full bandwidth stays as measured."""
    if not unknowns.count:
        return reaction
    wrenches = np.stack([reaction.wrench[side] for side in sides], axis=1)
    right = np.where(np.isnan(wrenches), np.nan, unknowns.put_right(np.nan_to_num(wrenches), values))
    shifts = np.concatenate([unknowns.shifts_W(values), np.zeros((1, 3))])  # the last one of no plate
    wrench, points = dict(reaction.wrench), dict(reaction.centre_of_pressure)
    for k, side in enumerate(sides):
        wrench[side] = right[:, k]
        points[side] = points[side] + shifts[unknowns.carried[:, k]]
    return replace(reaction, wrench=wrench, centre_of_pressure=points)
