"""Unknown parameters of an estimate: mass centres and masses; position, gain and rotation of the plates; delay of the forces.

Plates and delay are used as in the file, because one walk cannot distinguish their errors from errors of the body model. The
errors suggested by motion and forces are reported, and corrected if walks in both directions agree.

Each parameter is scaled to unit prior SD. Errors of segment tables are similar on both sides and therefore have a part that is
common to both sides and a part of each side. A plate offset by d adds d x F to the moment about the world origin; a gain error
g multiplies wrenches by 1 + g; a plate rotated about the vertical by t rotates wrenches by -t about its centre; forces delayed
by s belong to the motion at a time s earlier. All errors are small and linearised, so that they enter the balance of the whole
body linearly, like the inertias.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import SIDE_SIGN, BoolArray, FloatArray, IntArray, Side, without_side
from biodyn.estimation.settings import EstimationSettings
from biodyn.model.body_model import SubjectModel, with_inertias
from biodyn.model.skeleton import Inertia
from biodyn.recording import Contact, GroundReaction
from biodyn.uncertainty.error_sources import group_segments_by_kind

_BODY_MASS = "body mass"


@dataclass(frozen=True)
class InertiaUnknowns:
    """Unknown mass centres and masses of a model: vector x (P,) in units of the prior SDs.

    Attributes:
        names: (P,) names of the unknowns.
        segments: (S,) segments with unknown mass centres. centre_m: (S, 3, P); mass centres shift by centre_m @ x in segment
            axes.
        bodies: (B,) all segments. mass_share: (B, P); masses change by the factor 1 + mass_share @ x.
        mass_share_sd: prior SD of the body mass, relative; 0 = known. segment_share_sd: (B,) prior SD of each segment mass,
            relative.
    """

    names: tuple[str, ...]
    segments: tuple[str, ...]
    centre_m: FloatArray
    bodies: tuple[str, ...]
    mass_share: FloatArray
    mass_share_sd: float
    segment_share_sd: FloatArray

    @classmethod
    def empty(cls) -> InertiaUnknowns:
        """Return an instance without unknowns, for a model with known inertias."""
        return cls((), (), np.zeros((0, 3, 0)), (), np.zeros((0, 0)), 0.0, np.zeros(0))

    @property
    def count(self) -> int:
        """Number P of unknown mass centres and masses."""
        return len(self.names)

    @property
    def gross_groups(self) -> tuple[tuple[str, ...], ...]:
        """Groups of unknowns that may be grossly wrong: the body mass."""
        return ((_BODY_MASS,),) if self.mass_share_sd else ()

    @property
    def sd_m(self) -> FloatArray:
        """Prior standard deviation (S,) of each mass centre along an axis, m."""
        return np.asarray(np.sqrt(np.sum(self.centre_m**2, axis=2)).max(axis=1, initial=0.0))

    def centre_shifts_m(self, values: FloatArray) -> dict[str, FloatArray]:
        """Return the shift (3,) m of each segment's mass centre in segment axes."""
        return dict(zip(self.segments, self.centre_m @ values, strict=True))

    def relative_body_mass_change(self, values: FloatArray) -> float:
        """Return the relative change of the body mass for values (P,) of the unknowns."""
        return float(self.body_mass_sensitivity @ values)

    @property
    def body_mass_sensitivity(self) -> FloatArray:
        """Relative change (P,) of the body mass by one SD of each unknown."""
        result = np.zeros(self.count)
        if self.mass_share_sd:
            result[-1] = self.mass_share_sd
        return result

    def mass_changes(self, values: FloatArray) -> dict[str, float]:
        """Return the relative change of each segment mass, by segment, for values (P,) of the unknowns."""
        return dict(zip(self.bodies, (self.mass_share @ values).tolist(), strict=True))

    def inertial_parameter_changes(self, model: SubjectModel) -> FloatArray:
        """Return the change of the `inertial_parameters` by one standard deviation of each unknown, (10 B, P)."""
        columns = np.zeros((len(model.multibody.bodies), 10, self.count))
        bodies = {body.definition.name: body.inertia for body in model.bodies}
        for name, shifts in zip(self.segments, self.centre_m, strict=True):
            frame, mass = model.frames[name], bodies[name].mass
            centre = frame.R_LB @ bodies[name].com + frame.p_LB
            for column in np.flatnonzero(shifts.any(axis=0)):
                shifted = centre + frame.R_LB @ shifts[:, column]
                columns[frame.link, 1:4, column] += mass * (shifted - centre)
                columns[frame.link, 4:, column] += mass * (_point_inertia(shifted) - _point_inertia(centre))
        for name, shares in zip(self.bodies, self.mass_share, strict=True):
            frame, inertia = model.frames[name], bodies[name]
            com, tensor = frame.R_LB @ inertia.com + frame.p_LB, frame.R_LB @ inertia.tensor @ frame.R_LB.T
            about_origin = tensor[np.triu_indices(3)] + inertia.mass * _point_inertia(com)
            columns[frame.link] += np.outer(np.hstack([inertia.mass, inertia.mass * com, about_origin]), shares)
        return columns.reshape(10 * len(columns), self.count)


def _point_inertia(p: FloatArray) -> FloatArray:
    """Return the moments of inertia of a unit mass at p (3,) about the origin: xx, xy, xz, yy, yz, zz."""
    x, y, z = p
    return np.array([y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y])


#: Unknown: name, and shifts (S, 3) m of the mass centres and relative changes (B,) of the masses by one SD.
_Unknown = tuple[str, FloatArray, FloatArray]


def inertia_unknowns(model: SubjectModel, settings: EstimationSettings) -> InertiaUnknowns:
    """Return the unknown inertias of a model, scaled by the settings.

    The prior SD of a mass centre is 1 cm, and 1.3 cm for the trunk (the heaviest segment), including its unmeasured posture.
    Mass centres of segments below 2 % of the body mass are not observable and are treated as known.
    """
    factor, least_share, centre_sd_m, trunk_sd_m = settings.inertia_sd_factor, 0.02, 0.01, 0.013
    if not factor:
        return InertiaUnknowns.empty()
    heavy = [body for body in model.bodies if body.inertia.mass > least_share * model.mass_kg]
    heaviest = max(heavy, key=lambda body: body.inertia.mass).definition.name
    sd_m = {body.definition.name: factor * centre_sd_m for body in heavy} | {heaviest: factor * trunk_sd_m}
    names, centres, masses = zip(
        *_mass_centre_unknowns(model, sd_m), *_mass_unknowns(model, len(sd_m), factor), strict=True
    )
    bodies = tuple(body.definition.name for body in model.bodies)
    return InertiaUnknowns(
        names,
        tuple(sd_m),
        np.stack(centres, axis=2),
        bodies,
        np.stack(masses, axis=1),
        factor * _BODY_MASS_SD,
        np.array([factor * _segment_mass_sd(model, name) for name in bodies]),
    )


def _mass_centre_unknowns(
    model: SubjectModel, sd_m: Mapping[str, float], common_share: float = 0.8
) -> Iterator[_Unknown]:
    """Return the mass centres of the segments `sd_m`: a part common to both sides as mirror images, and one of each side alone.

    common_share: fraction of the variance that is common to both sides.
    """
    sides = {body.definition.name: body.definition.side for body in model.bodies}
    segments = tuple(sd_m)
    for group in group_segments_by_kind(model):
        names = [name for name in group if name in sd_m]
        common = common_share if len(names) > 1 else 0.0
        parts = [(f"{without_side(names[0], sides[names[0]])}, both sides", names, common)] if common else []
        parts += [(name, [name], 1.0 - common) for name in names]
        for what, members, share in parts:
            for axis in range(3):
                shifts = np.zeros((len(segments), 3))
                for name in members:
                    side = sides[name]
                    outward = SIDE_SIGN[side] if side and axis == 2 else 1.0  # z points outward on the right side
                    shifts[segments.index(name), axis] = outward * np.sqrt(share) * sd_m[name]
                yield f"mass centre of {what}, axis {'xyz'[axis]}", shifts, np.zeros(len(model.bodies))


_BODY_MASS_SD = 0.01  # share


def _mass_unknowns(model: SubjectModel, centres: int, factor: float) -> Iterator[_Unknown]:
    """Yield the unknowns of the mass distribution, which is the same on both sides, and of the body mass.

    centres: number of unknowns of mass centres. factor: factor on the prior SDs.
    """
    sides = {body.definition.name: body.definition.side for body in model.bodies}
    weights, no_shift = np.array([body.inertia.mass for body in model.bodies]), np.zeros((centres, 3))
    for group in group_segments_by_kind(model):
        more = factor * _segment_mass_sd(model, group[0]) * np.array([float(name in group) for name in sides])
        # the other segments lose the mass that this group gains
        yield (f"mass of {without_side(group[0], sides[group[0]])}", no_shift, more - weights @ more / weights.sum())
    yield _BODY_MASS, no_shift, np.full(len(weights), factor * _BODY_MASS_SD)


def _segment_mass_sd(model: SubjectModel, name: str) -> float:
    """Return the relative prior SD of a segment mass; tables differ by 8 %, and shoes add a third to the foot."""
    return 0.16 if name in model.sole_body.values() else 0.08


def change_inertias(model: SubjectModel, unknowns: InertiaUnknowns, values: FloatArray) -> SubjectModel:
    """Return the model with mass centres and masses changed by the values (P,) of the unknowns."""
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


# -- Force plates


#: Name of the unknown delay of all forces.
DELAY = "delay of the forces"
_MOMENT, _FORCE = slice(0, 3), slice(3, 6)
_NO_PLATE, _UP = -1, np.array([0.0, 1.0, 0.0])
_PER_PLATE = 4  # number of unknowns of a plate: position along two axes, gain, rotation about the vertical


# Prior SDs of unchecked plates: position along each axis of the floor (m), gain (relative), rotation about the
# vertical (rad); and of the delay of all forces (s), which is up to 9 ms in some laboratories.
PLACE_SD_M, GAIN_SD, TURN_SD_RAD, _DELAY_SD_S = 0.005, 0.01, np.radians(1.0), 0.005


@dataclass(frozen=True)
class PlateErrors:
    """Errors of one plate suggested by motion and forces.

    Attributes:
        number: number of the plate in the file.
        shift_m, shift_sd_m: (2,) offset from the position in the file along the laboratory axes of the floor, and posterior SD.
        gain, gain_sd: relative gain error and its posterior SD.
        turn_rad, turn_sd_rad: rotation of the plate about the vertical of World, and its posterior SD.
        corrected_m, corrected_gain, corrected_turn_rad: parts of these errors for which the torques are corrected.
    """

    number: int
    shift_m: FloatArray
    shift_sd_m: FloatArray
    gain: float
    gain_sd: float
    turn_rad: float
    turn_sd_rad: float
    corrected_m: FloatArray
    corrected_gain: float
    corrected_turn_rad: float


@dataclass(frozen=True)
class PlateSummary:
    """Errors of the plates suggested by motion and forces, and the corrected parts.

    Attributes:
        axes: names of the laboratory axes of `shift_m`. errors: errors of every plate with a foot contact.
        delay_s, delay_sd_s: suggested delay of the forces, and its posterior SD.
    """

    axes: tuple[str, ...] = ()
    errors: tuple[PlateErrors, ...] = ()
    delay_s: float = 0.0
    delay_sd_s: float = 0.0


@dataclass(frozen=True)
class PlateUnknowns:
    """Unknown errors in units of their prior SDs: position along two axes, gain and rotation of each plate, and delay of all
    forces.

    Attributes:
        numbers: (N,) numbers of the plates in the file. plate_of_foot: (T, K) index in `numbers` of each foot's plate, -1 =
        none.
        known: (T, K) frames in which the wrench of each foot is known; other values are not used.
        axes_W: (2, 3) laboratory axes of the floor, in World; axes: their names.
        centres_W: (N, 3) m centres of the plates. rate_hz: marker rate.
    """

    numbers: tuple[int, ...]
    plate_of_foot: IntArray
    known: BoolArray
    axes_W: FloatArray
    axes: tuple[str, ...]
    centres_W: FloatArray
    rate_hz: float

    @classmethod
    def empty(cls, rate_hz: float) -> PlateUnknowns:
        """Return an instance without plates, for which nothing is unknown."""
        nothing, no_plate = np.zeros((0, 0)), np.zeros((0, 3))
        return cls((), nothing.astype(np.int64), nothing.astype(np.bool_), no_plate, (), no_plate, rate_hz)

    @property
    def count(self) -> int:
        """Number P of unknown errors of plates and delay."""
        return _PER_PLATE * len(self.numbers) + 1 if self.numbers else 0

    @property
    def prior_sd(self) -> FloatArray:
        """Prior SD (P,) of each unknown, in m, relative, rad and s."""
        per_plate = [PLACE_SD_M, PLACE_SD_M, GAIN_SD, TURN_SD_RAD]
        return np.array([*(per_plate * len(self.numbers)), _DELAY_SD_S])[: self.count]

    @property
    def names(self) -> tuple[str, ...]:
        """Names (P,) of the unknown errors, with axis or plate."""
        if not self.count:
            return ()
        per_plate = (*(f"place along {axis}" for axis in self.axes), "gain", "turn")
        return (*(f"plate {number}, {what}" for number in self.numbers for what in per_plate), DELAY)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Names of the unknowns grouped by kind: position of a plate along both axes, its gain, its rotation, and the delay."""
        starts = (_PER_PLATE * n for n in range(len(self.numbers)))
        parts = (self.names[a:b] for at in starts for a, b in ((at, at + 2), (at + 2, at + 3), (at + 3, at + 4)))
        return (*parts, self.names[-1:]) if self.count else ()

    def select_frames(self, rows: slice) -> PlateUnknowns:
        """Return the same unknowns restricted to the frames `rows` of the trial."""
        return replace(self, plate_of_foot=self.plate_of_foot[rows], known=self.known[rows])

    def wrench_changes(self, wrenches: FloatArray) -> FloatArray:
        """Return the change (T, K, 6, P) of the foot wrenches (T, K, 6) if one SD of each unknown error is corrected."""
        result = np.zeros((*wrenches.shape, self.count))
        if not self.count:
            return result
        by_plate = self._wrench_change_by_plate(wrenches)
        for n in range(len(self.numbers)):
            feet = self.plate_of_foot == n
            result[feet, :, _PER_PLATE * n : _PER_PLATE * (n + 1)] = by_plate[feet]
        result[..., -1] = _DELAY_SD_S * _wrench_rates(wrenches, self.known, self.rate_hz)
        return result

    def remove_errors(self, wrenches: FloatArray, values: FloatArray) -> FloatArray:
        """Return the wrenches (T, K, 6) of the feet corrected for plate errors of the size `values` (P,), in units of their prior
        SDs."""
        if not self.count:
            return wrenches
        of_no_plate = np.zeros((1, _PER_PLATE))
        of_plates = np.concatenate([values[:-1].reshape(-1, _PER_PLATE), of_no_plate])
        change = (self._wrench_change_by_plate(wrenches) @ of_plates[self.plate_of_foot][..., None])[..., 0]
        delay_s = values[-1] * _DELAY_SD_S
        return np.asarray(wrenches + change + delay_s * _wrench_rates(wrenches, self.known, self.rate_hz))

    def _wrench_change_by_plate(self, wrenches: FloatArray) -> FloatArray:
        """Return the change (T, K, 6, 4) of a foot's wrench by one SD of each unknown of its plate."""
        result = np.zeros((*wrenches.shape, _PER_PLATE))
        for i, axis in enumerate(self.axes_W):
            result[..., _MOMENT, i] = np.cross(PLACE_SD_M * axis, wrenches[..., _FORCE])
        result[..., 2] = -GAIN_SD * wrenches
        # the last row is used for feet without a plate
        centre = np.concatenate([self.centres_W, np.zeros((1, 3))])[self.plate_of_foot]
        moment, force = wrenches[..., _MOMENT], wrenches[..., _FORCE]
        turned = np.cross(TURN_SD_RAD * _UP, force)
        about_centre = np.cross(TURN_SD_RAD * _UP, moment - np.cross(centre, force))
        result[..., 3] = np.concatenate([about_centre + np.cross(centre, turned), turned], axis=-1)
        return result

    def plate_shifts_W(self, values: FloatArray) -> FloatArray:
        """Return the displacement (N, 3), m in World, of each plate along its two axes for the unknowns `values` (P,)."""
        scaled = (self.prior_sd * values)[: _PER_PLATE * len(self.numbers)].reshape(-1, _PER_PLATE)
        return np.asarray(scaled[:, :2] @ self.axes_W)

    def summary(self, values: FloatArray, suggested: FloatArray, suggested_sd: FloatArray) -> PlateSummary:
        """Return the summary for corrected values (P,), suggested values and their posterior SDs, in units of the prior SDs."""
        if not self.count:
            return PlateSummary()
        corrected, mean, posterior = (self.prior_sd * part for part in (values, suggested, suggested_sd))
        errors = tuple(
            PlateErrors(
                number,
                mean[at : at + 2],
                posterior[at : at + 2],
                float(mean[at + 2]),
                float(posterior[at + 2]),
                float(mean[at + 3]),
                float(posterior[at + 3]),
                corrected[at : at + 2],
                float(corrected[at + 2]),
                float(corrected[at + 3]),
            )
            for number, at in zip(self.numbers, range(0, self.count, _PER_PLATE), strict=False)
        )
        return PlateSummary(self.axes, errors, float(mean[-1]), float(posterior[-1]))


def plate_unknowns(
    contacts: Sequence[Contact],
    sides: Sequence[Side],
    frames: int,
    rate_hz: float,
    R_WL: FloatArray,
    centres_W: Mapping[int, FloatArray],
    known: BoolArray | None = None,
) -> PlateUnknowns:
    """Return the unknown errors of the plates with foot contacts.

    centres_W: centre (3,) m of each plate by number. R_WL: (3, 3) rotation from laboratory axes to World. known: (frames, K)
    mask of known wrenches of `sides`; None = all are known.
    """
    numbers = tuple(sorted({contact.plate for contact in contacts if contact.decision == "assigned"}))
    floor = np.sort(np.argsort(np.abs(R_WL[1]))[:2])  # the two most horizontal axes; y of World points up
    return PlateUnknowns(
        numbers,
        _plate_of_foot(contacts, sides, frames, rate_hz, numbers),
        np.ones((frames, len(sides)), dtype=np.bool_) if known is None else known,
        R_WL[:, floor].T,
        tuple("xyz"[at] for at in floor),
        np.array([centres_W[number] for number in numbers]).reshape(-1, 3),
        rate_hz,
    )


def _plate_of_foot(
    contacts: Sequence[Contact],
    sides: Sequence[Side],
    frames: int,
    rate_hz: float,
    numbers: Sequence[int],
    block_frames: int = 1000,
) -> IntArray:
    """Return the index (T, K) of each foot's plate from the contact nearest in time; -1 if the foot is on two plates."""
    result = np.full((frames, len(sides)), _NO_PLATE, dtype=np.int64)
    time_s = np.arange(frames) / rate_hz
    for column, side in enumerate(sides):
        assigned = [c for c in contacts if c.side == side and c.decision == "assigned"]
        if not assigned:
            continue
        plates = np.array([numbers.index(c.plate) for c in assigned])
        start_s, end_s = np.array([[c.start_s, c.end_s] for c in assigned]).T
        for first in range(0, frames, block_frames):
            of_block = time_s[first : first + block_frames]
            # only contacts near these frames can be the nearest one
            largest = np.maximum(start_s - of_block[0], of_block[-1] - end_s)
            near = np.flatnonzero(np.maximum(start_s - of_block[-1], of_block[0] - end_s) <= max(largest.min(), 0.0))
            distance = np.maximum(start_s[near, None] - of_block, of_block - end_s[near, None])
            nearest = plates[near[np.argmin(distance, axis=0)]]
            is_shared = (distance <= 0.0).sum(axis=0) > 1
            result[first : first + block_frames, column] = np.where(is_shared, _NO_PLATE, nearest)
    return result


def _wrench_rates(wrenches: FloatArray, known: BoolArray, rate_hz: float) -> FloatArray:
    """Return the rates of change (T, K, 6) of wrenches per second, from differences between neighbouring known frames.

    The rate is the mean of backward and forward difference where both are known, else one of them.
    """
    both = known[1:] & known[:-1]
    steps = np.where(both[..., None], np.diff(wrenches, axis=0), 0.0)
    count, total = np.zeros((*known.shape, 1)), np.zeros_like(wrenches)
    count[1:, :, 0] += both
    count[:-1, :, 0] += both
    total[1:] += steps
    total[:-1] += steps
    return np.asarray(rate_hz * total / np.maximum(count, 1.0))


def correct_reaction(
    reaction: GroundReaction, sides: Sequence[Side], unknowns: PlateUnknowns, values: FloatArray
) -> GroundReaction:
    """Return the ground reaction without the plate errors `values` (P,); the full-bandwidth forces for figures are not
    corrected."""
    if not unknowns.count:
        return reaction
    wrenches = np.stack([reaction.wrench[side] for side in sides], axis=1)
    corrected = np.where(np.isnan(wrenches), np.nan, unknowns.remove_errors(np.nan_to_num(wrenches), values))
    # the last row is used for feet without a plate
    shifts = np.concatenate([unknowns.plate_shifts_W(values), np.zeros((1, 3))])
    wrench, points = dict(reaction.wrench), dict(reaction.centre_of_pressure)
    for k, side in enumerate(sides):
        wrench[side] = corrected[:, k]
        points[side] = points[side] + shifts[unknowns.plate_of_foot[:, k]]
    return replace(reaction, wrench=wrench, centre_of_pressure=points)
