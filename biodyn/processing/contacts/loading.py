"""One plate by itself: where and when it is loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side
from biodyn.geometry.rotations import cross
from biodyn.processing.signals.filtering import butterworth_lowpass, finite_stretches
from biodyn.processing.signals.plates import resampled
from biodyn.processing.signals.prepare import FULL_BANDWIDTH_HZ, MOST_OF_RATE
from biodyn.recording import Contact, GroundReaction, PlateWrench, PlateZero, SharedLoad

# Noise crosses this many of its standard deviations once in 3.5 million samples (an hour at 1000 Hz) where it is normal;
# mains hum, a sine, never crosses 1.5.
NOISE_FACTOR = 5.0
# Shorter dips of the force are ringing of the plate, no foot leaves and returns that fast; shorter peaks are knocks.
MAX_DIP_S = 0.03
MIN_LOAD_S = 0.02
# A real signal is never constant to the last digit: so many equal samples were set by the recording software.
CUT_SAMPLES = 5
MAX_MISSED_S = 0.1
SLOPE_S = 0.02  # the slope of the force at the edge is taken over this time


@dataclass(frozen=True)
class PlateSignals:
    """One plate as the contact search needs it.

    Attributes:
        number: plate number in the file.
        corners_W: (4, 3) m.
        wrench: (T, 6) F_Wo_W [moment about the world origin; force] on the body, filtered, marker rate; Nm, N.
        vertical_force: (Ta,) N, raw upward force on the body at `analog_rate_hz`; sample 0 belongs to frame 0.
        analog_rate_hz: samples per second of `vertical_force`.
        zero: offset and noise of the plate, None where nobody looked for them.
        saturated_s: (begin, end) in s of the stretches in which a channel stood at the end of its range.
        unrecorded_s: those without a number while the plate was loaded.
        raw: (Ta, 6) F_Wo_W at the analog rate, not filtered; None where only the filtered one is known.
        cutoff_hz, order: of the filter that `wrench` passed.
        full: (T, 6) the wrench at full bandwidth, as people see it; full_cutoff_hz: of its filter.
        outlined: whether `corners_W` are the plate's edges. side: of the foot on which the file says that the force acts.
    """

    number: int
    corners_W: FloatArray
    wrench: FloatArray
    vertical_force: FloatArray
    analog_rate_hz: float
    zero: PlateZero | None = None
    saturated_s: tuple[tuple[float, float], ...] = ()
    unrecorded_s: tuple[tuple[float, float], ...] = ()
    raw: FloatArray | None = None
    cutoff_hz: float = 0.0
    order: int = 4
    full: FloatArray | None = None
    full_cutoff_hz: float = 0.0
    outlined: bool = True
    side: Side | None = None

    def at_full_bandwidth(self) -> PlateSignals:
        """The same plate with the wrench at full bandwidth; itself where only the filtered one is known."""
        if self.full is None:
            return self
        return replace(self, wrench=self.full, cutoff_hz=self.full_cutoff_hz, full=None)

    def at_frames(self, raw: FloatArray, rate_hz: float, count: int) -> FloatArray:
        """A wrench (n, 6) at the plate's own rate, filtered as `wrench` and at `count` marker frames, (count, 6)."""
        smooth = butterworth_lowpass(raw, self.analog_rate_hz, self.cutoff_hz, self.order)
        return resampled(smooth, self.analog_rate_hz, count, rate_hz)

    def threshold_n(self, least_n: float) -> float:
        """Vertical force that counts as contact, N: `least_n`, more where the plate's noise would cross that by itself."""
        noise = self.zero.noise_n if self.zero is not None else 0.0
        return max(least_n, NOISE_FACTOR * noise) if np.isfinite(noise) else least_n


def centre_of_pressure(wrench: FloatArray, corners_W: FloatArray, threshold_n: float) -> FloatArray:
    """Point of the plate's surface where the wrench (T, 6) about the world origin is a force and a free moment.

    CoP - c = n x M_c / (n . F), with c any point of the surface, n its normal, M_c the moment about c. (T, 3) m in
    World, NaN where the vertical force is below `threshold_n`.
    """
    centre, normal = plate_surface(corners_W)
    force = wrench[:, 3:]
    moment = wrench[:, :3] - cross(centre, force)
    loaded = force[:, 1] >= threshold_n
    cop = np.full((len(wrench), 3), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        cop[loaded] = centre + cross(normal, moment[loaded]) / (force[loaded] @ normal)[:, None]
    return cop


def pressure_at_height(
    wrench: FloatArray, height_m: FloatArray | float, threshold_n: float
) -> tuple[FloatArray, FloatArray]:
    """Centre of pressure (T, 3) m at the level Y = `height_m` (T,), and the vertical free moment (T,) Nm about it.

    Solves M = p x F + T e_y for p and T with p_y known; `wrench` (T, 6) F_Wo_W. NaN where the vertical force is below
    `threshold_n`.
    """
    cop = np.full((len(wrench), 3), np.nan)
    free = np.full(len(wrench), np.nan)
    rows = np.flatnonzero(np.nan_to_num(wrench[:, 4]) >= threshold_n)
    moment, force = wrench[rows, :3], wrench[rows, 3:]
    y = np.broadcast_to(height_m, len(wrench))[rows]
    x = (moment[:, 2] + y * force[:, 0]) / force[:, 1]
    z = (y * force[:, 2] - moment[:, 0]) / force[:, 1]
    cop[rows] = np.column_stack([x, y, z])
    free[rows] = moment[:, 1] - (z * force[:, 0] - x * force[:, 2])
    return cop, free


def plate_surface(corners_W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return centre (3,) m and upward unit normal (3,) of a plate."""
    normal = cross(corners_W[2] - corners_W[0], corners_W[3] - corners_W[1])
    normal = normal / np.linalg.norm(normal)
    return corners_W.mean(axis=0), normal if normal[1] > 0 else -normal


def loadings(vertical_force: FloatArray, rate_hz: float, threshold_n: float) -> list[tuple[float, float]]:
    """Return (start, end) in s of every loading above the threshold, sub-sample, dips below `MAX_DIP_S` bridged."""
    force = np.nan_to_num(np.asarray(vertical_force, dtype=np.float64))
    runs: list[list[float]] = []
    for first, stop in finite_stretches(force > threshold_n):
        start = first - (force[first] - threshold_n) / (force[first] - force[first - 1]) if first else 0.0
        last = stop - 1
        end = last + (force[last] - threshold_n) / (force[last] - force[stop]) if stop < len(force) else float(last)
        if runs and start / rate_hz - runs[-1][1] < MAX_DIP_S:
            runs[-1][1] = end / rate_hz
        else:
            runs.append([start / rate_hz, end / rate_hz])
    return [(float(start), float(end)) for start, end in runs if end - start >= MIN_LOAD_S]


def missed_at_edges(
    vertical_force: FloatArray, rate_hz: float, start_s: float, end_s: float, threshold_n: float
) -> tuple[float, float]:
    """Time in s by which a loading really began earlier and ended later, where the stored force was cut to zero.

    Some software stores zero for every force below a limit of its own. The force is then continued with its slope at
    the edge down to `threshold_n`. 0 where nothing was cut.
    """
    force = np.asarray(vertical_force, dtype=np.float64)
    forwards = _missed(force, round(np.ceil(start_s * rate_hz)), rate_hz, threshold_n)
    backwards = _missed(force[::-1], len(force) - 1 - int(end_s * rate_hz), rate_hz, threshold_n)
    return forwards, backwards


def _missed(force: FloatArray, edge: int, rate_hz: float, threshold_n: float) -> float:
    """Time in s before sample `edge`, the first of a loading, in which the force rose from the threshold to it."""
    before = force[max(edge - CUT_SAMPLES, 0) : edge]
    rise = max(2, round(SLOPE_S * rate_hz))
    inside = force[edge : edge + rise + 1]
    if len(before) < CUT_SAMPLES or np.any(before != before[0]) or len(inside) < 2 or inside[0] <= 2.0 * threshold_n:
        return 0.0
    slope = (inside[-1] - inside[0]) / (len(inside) - 1) * rate_hz
    return float(min((inside[0] - threshold_n) / slope, MAX_MISSED_S)) if slope > 0.0 else MAX_MISSED_S


# The filter spreads the edges of a contact by less than this: at full bandwidth it has died away after 1.5 periods.
_TAIL_S = 0.03


@dataclass(frozen=True)
class FootForces:
    """Ground reaction on the feet, time running from the first frame.

    Attributes:
        rate_hz: samples per second: those of the fastest plate.
        wrench: per side (Ta, 6) F_Wo_W [moment; force] about the world origin, Nm and N, through `FULL_BANDWIDTH_HZ`; zero in
            swing, NaN where it is not known.
        loaded: per side (Ta,) within a contact of the foot with a plate, known.
        centre_of_pressure: per side (Ta, 3) m; free_moment: (Ta,) Nm about the vertical through it; NaN below the threshold.
    """

    rate_hz: float
    wrench: Mapping[Side, FloatArray]
    loaded: Mapping[Side, BoolArray]
    centre_of_pressure: Mapping[Side, FloatArray]
    free_moment: Mapping[Side, FloatArray]


def forces_at_plate_rate(
    contacts: Sequence[Contact],
    plates: Sequence[PlateWrench],
    reaction: GroundReaction,
    frame_rate_hz: float,
    *,
    threshold_n: float,
    order: int,
) -> FootForces | None:
    """Return the ground reaction of each foot at the rate of the plates; None without a plate whose samples are there.

    Parameters:
        contacts: decided, of these plates. plates: unfiltered, at their own rates. order: of the low-pass filter.
        reaction: at the frames, as people are shown it: where it is not known, nothing is known here.
        threshold_n: vertical force below which there is no centre of pressure.

    Every plate passes the same filter whatever the frame rate, so that peaks of different laboratories can be compared. A load
    of two feet on one plate of which only the whole is known belongs to neither.
    """
    by_number = {plate.number: plate for plate in plates if len(plate.wrench)}
    assigned = [c for c in contacts if c.decision == "assigned" and c.side is not None and c.plate in by_number]
    if not assigned:
        return None
    rate_hz = max(plate.rate_hz for plate in by_number.values())
    count = max(round(len(plate.wrench) * rate_hz / plate.rate_hz) for plate in by_number.values())
    smooth: dict[int, FloatArray] = {}
    sides = list(reaction.wrench)
    wrench = {side: np.zeros((count, 6)) for side in sides}
    surface = {side: np.zeros(count) for side in sides}
    loaded = {side: np.zeros(count, dtype=np.bool_) for side in sides}
    for contact in assigned:
        side, plate = contact.side, by_number[contact.plate]
        if side not in wrench:
            continue
        share = _share_of(contact, reaction.shared, plate.rate_hz)
        if share is not None:
            first, part = _shared_part(share, plate.rate_hz, rate_hz, order)
        else:
            if plate.number not in smooth:
                smooth[plate.number] = _low_passed(plate.wrench, plate.rate_hz, rate_hz, count, order)
            first, stop = _span(contact, contacts, rate_hz, count)
            part = smooth[plate.number][first:stop]
        part = part[: count - first]
        rows = slice(first, first + len(part))
        wrench[side][rows] += part
        height = np.nan_to_num(centre_of_pressure(part, plate.corners, threshold_n)[:, 1])
        surface[side][rows] += np.where(height != 0.0, height * part[:, 4], 0.0)
        own = slice(max(int(np.ceil(contact.start_s * rate_hz)), 0), int(np.floor(contact.end_s * rate_hz)) + 1)
        loaded[side][own] = True
        if share is None and _is_part_of_a_whole(contact, contacts):
            wrench[side][own] = np.nan
    points, moments = {}, {}
    for side in sides:
        wrench[side][~_known(reaction.measured[side], frame_rate_hz, rate_hz, count)] = np.nan
        loaded[side] &= np.isfinite(wrench[side]).all(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # no height where there is no force
            height = surface[side] / wrench[side][:, 4]
        points[side], moments[side] = pressure_at_height(wrench[side], height, threshold_n)
    return FootForces(rate_hz, wrench, loaded, points, moments)


def _low_passed(wrench: FloatArray, own_hz: float, rate_hz: float, count: int, order: int) -> FloatArray:
    """A plate's wrench (n, 6) at full bandwidth, (count, 6) at another rate."""
    smooth = butterworth_lowpass(wrench, own_hz, min(FULL_BANDWIDTH_HZ, MOST_OF_RATE * own_hz), order)
    return smooth if own_hz == rate_hz and len(smooth) == count else resampled(smooth, own_hz, count, rate_hz)


def _span(contact: Contact, contacts: Sequence[Contact], rate_hz: float, count: int) -> tuple[int, int]:
    """Samples [first, stop) in which a contact's force lives: as far as the filter spreads it, half-way to its neighbours."""
    begin_s, end_s = contact.start_s - _TAIL_S, contact.end_s + _TAIL_S
    for other in contacts:
        if other is contact or other.plate != contact.plate:
            continue
        if other.end_s <= contact.start_s:
            begin_s = max(begin_s, 0.5 * (other.end_s + contact.start_s))
        elif other.start_s >= contact.end_s:
            end_s = min(end_s, 0.5 * (other.start_s + contact.end_s))
    return max(int(np.ceil(begin_s * rate_hz)), 0), min(int(np.ceil(end_s * rate_hz)), count)


def _share_of(contact: Contact, shared: Sequence[SharedLoad], plate_hz: float) -> SharedLoad | None:
    """The foot's own part of the plate's load, where two feet made it."""
    middle = 0.5 * (contact.start_s + contact.end_s) * plate_hz
    for share in shared:
        bearing = np.flatnonzero(share.raw[:, 4])
        if (share.plate, share.side) == (contact.plate, contact.side) and len(bearing):
            first, last = (share.first_sample + bearing[k] for k in (0, -1))
            if first <= middle <= last:
                return share
    return None


def _shared_part(share: SharedLoad, own_hz: float, rate_hz: float, order: int) -> tuple[int, FloatArray]:
    """First sample and wrench at the rate asked for of a foot's part of a load."""
    count = round(len(share.raw) * rate_hz / own_hz)
    return round(share.first_sample * rate_hz / own_hz), _low_passed(share.raw, own_hz, rate_hz, count, order)


def _is_part_of_a_whole(contact: Contact, contacts: Sequence[Contact]) -> bool:
    """Whether another contact loads the same plate at the same time."""
    return any(
        other is not contact
        and other.plate == contact.plate
        and other.start_s < contact.end_s
        and other.end_s > contact.start_s
        for other in contacts
    )


def _known(measured: BoolArray, frame_rate_hz: float, rate_hz: float, count: int) -> BoolArray:
    """Samples (count,) both of whose neighbouring frames are measured; behind the last frame that one holds."""
    at = np.arange(count) * (frame_rate_hz / rate_hz)
    last = len(measured) - 1
    before = np.minimum(np.floor(at + 1e-9).astype(np.int64), last)
    after = np.minimum(np.ceil(at - 1e-9).astype(np.int64), last)
    return np.asarray(measured[before] & measured[after])


# A foot whose sole comes this near may have made the load; what the feet are off by is less.
_NEAR_M = 0.10
# Lighter loads are knocks, cables, an offset that is not zero.
LEAST_BW = 0.05
_USUAL_KG = 70.0  # where the mass is not known yet
_LEAST_S = 0.15
# An offset stays when the load is gone: at its ends a load that somebody made is at most this share of its peak.
_GONE_SHARE = 0.4
_BESIDE_S = 0.05
# Where somebody walks with an aid, pressure this far outside the foot is that of both together.
_SHARED_M = 0.02


@dataclass(frozen=True)
class OtherLoad:
    """A load without a foot: number of the plate, from when to when (s), its largest vertical force (N)."""

    plate: int
    start_s: float
    end_s: float
    peak_n: float


def other_loads(
    contacts: Sequence[Contact], plates: Sequence[PlateWrench], rate_hz: float, mass_kg: float | None
) -> tuple[OtherLoad, ...]:
    """Return the loads that came and went while no foot was near, of `LEAST_BW` of the body weight and more.

    A foot that was not seen may have made any load: nothing is said then.
    """
    least_n = LEAST_BW * STANDARD_GRAVITY_M_S2 * (mass_kg or _USUAL_KG)
    vertical = {plate.number: plate.wrench[:, 4] for plate in plates}
    found = []
    for contact in contacts:
        distance = contact.evidence.get("cop_distance_median_m", np.nan)
        if contact.decision != "rejected" or not distance > _NEAR_M or not _seen(contact):
            continue
        force = vertical[contact.plate]
        first, stop = round(contact.start_s * rate_hz), round(contact.end_s * rate_hz) + 1
        if stop - first < _LEAST_S * rate_hz or first == 0 or stop >= len(force):
            continue
        peak = float(np.nanmax(force[first:stop]))
        beside = round(_BESIDE_S * rate_hz)
        ends = (force[max(first - beside, 0)], force[min(stop - 1 + beside, len(force) - 1)])
        if peak >= least_n and max(ends) <= _GONE_SHARE * peak:
            found.append(OtherLoad(contact.plate, contact.start_s, contact.end_s, peak))
    return tuple(found)


def _seen(contact: Contact) -> bool:
    """Were both feet's distances from the centre of pressure known?"""
    rival = contact.evidence.get("rival_cop_distance_median_m", np.nan)
    return bool(np.isfinite(contact.evidence["cop_distance_median_m"]) and np.isfinite(rival))


def without_aid_contacts(contacts: Sequence[Contact], loads: Sequence[OtherLoad]) -> tuple[Contact, ...]:
    """Return the contacts with those given to nobody whose pressure an aid drew out of the foot.

    Only where `loads` show that there is an aid.
    """
    shared = [
        contact
        for contact in contacts
        if contact.decision == "assigned" and contact.evidence.get("cop_distance_95_m", 0.0) > _SHARED_M
    ]
    if not loads:
        return tuple(contacts)
    told = []
    for contact in contacts:
        if contact not in shared:
            told.append(contact)
            continue
        beside = 100.0 * contact.evidence["cop_distance_95_m"]
        why = f"the centre of pressure lies {beside:.1f} cm outside the foot, as if an aid stood on the plate too"
        told.append(replace(contact, decision="ambiguous", side=None, reason=why))
    return tuple(told)


def with_unknown_loads(
    reaction: GroundReaction, decided: Sequence[Contact], told: Sequence[Contact], rate_hz: float, smear_s: float
) -> GroundReaction:
    """Return the ground reaction with the loads unknown that `decided` gave to a foot and `told`, contact by contact, to nobody.

    `smear_s`: half the time over which the filter of the wrenches spreads.
    """
    for given, contact in zip(decided, told, strict=True):
        if given.side is not None and contact.side is None:
            first = max(math.floor((contact.start_s - smear_s) * rate_hz), 0)
            rows = slice(first, math.ceil((contact.end_s + smear_s) * rate_hz))
            reaction = _without(reaction, given.side, rows, f"plate {contact.plate}: {contact.reason}")
    return reaction


def _without(reaction: GroundReaction, side: Side, rows: slice, why: str) -> GroundReaction:
    """The reaction with the wrench of a foot unknown in some frames."""

    def unknown(values: Mapping[Side, FloatArray]) -> dict[Side, FloatArray]:
        own = values[side].copy()
        own[rows] = np.nan
        return {**values, side: own}

    measured, reasons = reaction.measured[side].copy(), list(reaction.reason[side])
    measured[rows] = False
    reasons[rows] = [why] * len(reasons[rows])
    full = reaction.full_bandwidth
    return replace(
        reaction,
        wrench=unknown(reaction.wrench),
        centre_of_pressure=unknown(reaction.centre_of_pressure),
        free_moment=unknown(reaction.free_moment),
        measured={**reaction.measured, side: measured},
        reason={**reaction.reason, side: reasons},
        full_bandwidth=None if full is None else _without(full, side, rows, why),
    )
