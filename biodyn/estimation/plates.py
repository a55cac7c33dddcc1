"""What a trial says of its force plates: where each stands, how much it reads too much, how late the forces are.

A plate that stands d beside the place in its file adds d x F to the moment about the world's origin; one that reads g too much
gives wrenches 1 + g times too large; forces that are late by s belong to the motion s before. All are small: the first order is
taken, so that they enter the balance of the whole body as the inertias do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, IntArray, Side
from biodyn.estimation.settings import EstimationSettings
from biodyn.recording import Contact, GroundReaction

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
