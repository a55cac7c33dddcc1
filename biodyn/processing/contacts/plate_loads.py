"""Loads of single plates: start and end, centre of pressure, forces at the rate of the plate, and loads without a foot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side
from biodyn.geometry.rotations import cross
from biodyn.processing.signals.filtering import butterworth_lowpass, finite_stretches
from biodyn.processing.signals.plate_wrenches import frame_samples
from biodyn.processing.signals.signal_preparation import FULL_BANDWIDTH_HZ, MOST_OF_RATE
from biodyn.recording import Contact, GroundReaction, PlateWrench, PlateZero, SharedLoad

# Normally distributed noise exceeds this number of standard deviations once in 3.5 million samples (an hour at 1000
# Hz), and mains hum never exceeds 1.5.
NOISE_FACTOR = 5.0
# Shorter dips of the force are ringing of the plate, shorter peaks are knocks.
MAX_DIP_S = 0.03


@dataclass(frozen=True)
class PlateSignals:
    """Signals of one plate for the assignment of its loads.

    Attributes:
        number: plate number in the file.
        corners_W: corners (4, 3) m in World.
        wrench: (T, 6) F_Wo_W [moment about the world origin; force] on the body, filtered, at the marker rate; Nm, N.
        vertical_force: (Ta,) N, raw upward force on the body at `analog_rate_hz`; sample 0 is at frame 0.
        analog_rate_hz: samples per second of `vertical_force`.
        zero: offset and noise of the plate, None if not determined.
        saturated_s: (start, end) in s of the stretches with a saturated channel.
        unrecorded_s: (start, end) in s of the stretches without samples while the plate was loaded.
        raw: (Ta, 6) F_Wo_W at the analog rate, unfiltered; None if unknown.
        cutoff_hz, order: cut-off and order of the filter of `wrench`.
        full: wrench (T, 6) at full bandwidth. full_cutoff_hz: cut-off of its filter.
        outlined: True if `corners_W` are the edges of the plate. side: side of the foot to which the file assigns the force.
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

    def with_full_bandwidth_wrench(self) -> PlateSignals:
        """Return the plate signals with the wrench filtered at full bandwidth, or unchanged if this wrench is unknown."""
        if self.full is None:
            return self
        return replace(self, wrench=self.full, cutoff_hz=self.full_cutoff_hz, full=None)

    def resample_to_frames(self, raw: FloatArray, rate_hz: float, count: int) -> FloatArray:
        """Filter a wrench (n, 6) at the plate's rate like `wrench`, and resample it to `count` marker frames (count, 6)."""
        smooth = butterworth_lowpass(raw, self.analog_rate_hz, self.cutoff_hz, self.order)
        return frame_samples(smooth, self.analog_rate_hz, count, rate_hz)

    def threshold_n(self, least_n: float) -> float:
        """Return the vertical force (N) that counts as contact: `least_n`, or more for a noisy plate."""
        noise = self.zero.noise_n if self.zero is not None else 0.0
        return max(least_n, NOISE_FACTOR * noise) if np.isfinite(noise) else least_n


def centre_of_pressure(wrench: FloatArray, corners_W: FloatArray, threshold_n: float) -> FloatArray:
    """Return the point of the surface of the plate about which the wrench (T, 6) is a force and a free moment.

    CoP - c = n x M_c / (n . F), with c any point of the surface, n its normal, M_c the moment about c. (T, 3) m in World, NaN
    where the vertical force is below `threshold_n`.
    """
    centre, normal = plate_surface(corners_W)
    force = wrench[:, 3:]
    moment = wrench[:, :3] - cross(centre, force)
    loaded = force[:, 1] >= threshold_n
    cop = np.full((len(wrench), 3), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        cop[loaded] = centre + cross(normal, moment[loaded]) / (force[loaded] @ normal)[:, None]
    return cop


def centre_of_pressure_at_height(
    wrench: FloatArray, height_m: FloatArray | float, threshold_n: float
) -> tuple[FloatArray, FloatArray]:
    """Return the centre of pressure (T, 3) m at the height Y = `height_m` (T,), and the vertical free moment (T,) Nm about it.

    Solves M = p x F + T e_y for p and T with known p_y; `wrench` (T, 6) F_Wo_W. NaN where the vertical force is below
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


def find_loads(vertical_force: FloatArray, rate_hz: float, threshold_n: float) -> list[tuple[float, float]]:
    """Return (start, end) in s of every load above the threshold, sub-sample, with dips below `MAX_DIP_S` bridged."""
    min_load_s = 0.02
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
    return [(float(start), float(end)) for start, end in runs if end - start >= min_load_s]


def missed_times(
    vertical_force: FloatArray, rate_hz: float, start_s: float, end_s: float, threshold_n: float
) -> tuple[float, float]:
    """Return the times (s) by which a load started earlier and ended later than stored, because small forces were stored as zero.

    The force is extrapolated from its slope at the edge down to `threshold_n`. The times are 0 if no force was removed.
    """
    force = np.asarray(vertical_force, dtype=np.float64)
    forwards = _missed_time(force, round(np.ceil(start_s * rate_hz)), rate_hz, threshold_n)
    backwards = _missed_time(force[::-1], len(force) - 1 - int(end_s * rate_hz), rate_hz, threshold_n)
    return forwards, backwards


def _missed_time(force: FloatArray, edge: int, rate_hz: float, threshold_n: float) -> float:
    """Return the time (s) in which the force rose from the threshold to its first non-zero sample `edge`."""
    # Number of equal samples that shows a stored constant; measured signals have noise.
    cut_samples = 5
    max_missed_s = 0.1
    slope_s = 0.02  # the slope of the force at the edge is taken over this time
    before = force[max(edge - cut_samples, 0) : edge]
    rise = max(2, round(slope_s * rate_hz))
    inside = force[edge : edge + rise + 1]
    if len(before) < cut_samples or np.any(before != before[0]) or len(inside) < 2 or inside[0] <= 2.0 * threshold_n:
        return 0.0
    slope = (inside[-1] - inside[0]) / (len(inside) - 1) * rate_hz
    return float(min((inside[0] - threshold_n) / slope, max_missed_s)) if slope > 0.0 else max_missed_s


@dataclass(frozen=True)
class FootForces:
    """Ground reaction on the feet at the rate of the fastest plate; time starts at the first frame.

    Attributes:
        rate_hz: samples per second.
        wrench: F_Wo_W (Ta, 6) of each side, Nm and N, filtered at `FULL_BANDWIDTH_HZ`; zero in swing, NaN if unknown.
        loaded: (Ta,) bool of each side, True within a known contact of the foot with a plate.
        centre_of_pressure: (Ta, 3) m of each side. free_moment: vertical moment (Ta,) Nm about it. NaN below the threshold.
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
    """Return the ground reaction of each foot at the rate of the plates; None if the samples of a plate are missing.

    Parameters:
        contacts: assigned contacts of these plates. plates: unfiltered plate wrenches at their sampling rates.
        reaction: ground reaction at the marker frames; the result is unknown where it is unknown.
        threshold_n: least vertical force with a centre of pressure. order: order of the low-pass filter.

    All plates are filtered in the same way at any frame rate, so that peaks of different laboratories are comparable. A load of
    two feet on one plate with unknown shares is assigned to neither foot.
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
    spans_s = {n: np.array([(c.start_s, c.end_s) for c in contacts if c.plate == n]) for n in by_number}
    for contact in assigned:
        side, plate = contact.side, by_number[contact.plate]
        if side not in wrench:
            continue
        share = _foot_share(contact, reaction.shared, plate.rate_hz)
        if share is not None:
            first, part = _resample_shared_load(share, plate.rate_hz, rate_hz, order)
        else:
            if plate.number not in smooth:
                smooth[plate.number] = _filter_and_resample(plate.wrench, plate.rate_hz, rate_hz, count, order)
            first, stop = _contact_span(contact, spans_s[contact.plate], rate_hz, count)
            part = smooth[plate.number][first:stop]
        part = part[: count - first]
        rows = slice(first, first + len(part))
        wrench[side][rows] += part
        height = np.nan_to_num(centre_of_pressure(part, plate.corners, threshold_n)[:, 1])
        surface[side][rows] += np.where(height != 0.0, height * part[:, 4], 0.0)
        rows_of_contact = slice(
            max(int(np.ceil(contact.start_s * rate_hz)), 0), int(np.floor(contact.end_s * rate_hz)) + 1
        )
        loaded[side][rows_of_contact] = True
        if share is None and _is_load_shared(contact, spans_s[contact.plate]):
            wrench[side][rows_of_contact] = np.nan
    points, moments = {}, {}
    for side in sides:
        wrench[side][~_known_samples(reaction.measured[side], frame_rate_hz, rate_hz, count)] = np.nan
        loaded[side] &= np.isfinite(wrench[side]).all(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # no height without force
            height = surface[side] / wrench[side][:, 4]
        points[side], moments[side] = centre_of_pressure_at_height(wrench[side], height, threshold_n)
    return FootForces(rate_hz, wrench, loaded, points, moments)


def _filter_and_resample(wrench: FloatArray, own_hz: float, rate_hz: float, count: int, order: int) -> FloatArray:
    """Filter the wrench (n, 6) of a plate at full bandwidth and resample it to (count, 6)."""
    smooth = butterworth_lowpass(wrench, own_hz, min(FULL_BANDWIDTH_HZ, MOST_OF_RATE * own_hz), order)
    return smooth if own_hz == rate_hz and len(smooth) == count else frame_samples(smooth, own_hz, count, rate_hz)


def _contact_span(contact: Contact, spans_s: FloatArray, rate_hz: float, count: int) -> tuple[int, int]:
    """Return the samples [first, stop) over which the filter spreads the force of a contact, at most half-way to its
    neighbours.

    spans_s: (N, 2) start and end of all contacts with the plate, s.
    """
    # At full bandwidth the filter response has decayed after 1.5 periods.
    tail_s = 0.03
    begin_s, end_s = contact.start_s - tail_s, contact.end_s + tail_s
    starts_s, ends_s = spans_s.T
    begin_s = max(begin_s, 0.5 * (ends_s[ends_s <= contact.start_s].max(initial=-np.inf) + contact.start_s))
    end_s = min(end_s, 0.5 * (starts_s[starts_s >= contact.end_s].min(initial=np.inf) + contact.end_s))
    return max(int(np.ceil(begin_s * rate_hz)), 0), min(int(np.ceil(end_s * rate_hz)), count)


def _foot_share(contact: Contact, shared: Sequence[SharedLoad], plate_hz: float) -> SharedLoad | None:
    """Return the share of the foot in a load of two feet; None if the load is from one foot."""
    middle = 0.5 * (contact.start_s + contact.end_s) * plate_hz
    for share in shared:
        bearing = np.flatnonzero(share.raw[:, 4])
        if (share.plate, share.side) == (contact.plate, contact.side) and len(bearing):
            first, last = (share.first_sample + bearing[k] for k in (0, -1))
            if first <= middle <= last:
                return share
    return None


def _resample_shared_load(share: SharedLoad, own_hz: float, rate_hz: float, order: int) -> tuple[int, FloatArray]:
    """Return the first sample and the wrench (n, 6) of the share of a foot in a load, at `rate_hz` and full bandwidth."""
    count = round(len(share.raw) * rate_hz / own_hz)
    return round(share.first_sample * rate_hz / own_hz), _filter_and_resample(share.raw, own_hz, rate_hz, count, order)


def _is_load_shared(contact: Contact, spans_s: FloatArray) -> bool:
    """Return whether another contact loads the plate at the same time; spans_s: (N, 2) s of all contacts with the plate."""
    starts_s, ends_s = spans_s.T
    return int(((starts_s < contact.end_s) & (ends_s > contact.start_s)).sum()) > 1


def _known_samples(measured: BoolArray, frame_rate_hz: float, rate_hz: float, count: int) -> BoolArray:
    """Return a mask (count,) of the samples between two measured frames; after the last frame, only this frame counts."""
    at = np.arange(count) * (frame_rate_hz / rate_hz)
    last = len(measured) - 1
    before = np.minimum(np.floor(at + 1e-9).astype(np.int64), last)
    after = np.minimum(np.ceil(at - 1e-9).astype(np.int64), last)
    return np.asarray(measured[before] & measured[after])


# Smaller loads are from knocks, cables or residual offsets.
LEAST_BW = 0.05


@dataclass(frozen=True)
class LoadWithoutFoot:
    """Load without a foot: plate number, start and end (s), largest vertical force (N)."""

    plate: int
    start_s: float
    end_s: float
    peak_n: float


def loads_without_foot(
    contacts: Sequence[Contact], plates: Sequence[PlateWrench], rate_hz: float, mass_kg: float | None
) -> tuple[LoadWithoutFoot, ...]:
    """Return the loads of at least `LEAST_BW` body weights that started and ended while no foot was near.

    Loads during which a foot was not visible are excluded.
    """
    # A foot nearer than this may have applied the load (including the error of the soles).
    near_m = 0.10
    usual_kg = 70.0  # assumed if body mass is unknown
    least_s = 0.15
    # Largest force at both ends of a load as a fraction of its peak; an offset would remain.
    gone_share = 0.4
    end_s = 0.05
    least_n = LEAST_BW * STANDARD_GRAVITY_M_S2 * (mass_kg or usual_kg)
    vertical = {plate.number: plate.wrench[:, 4] for plate in plates}
    loads = []
    for contact in contacts:
        distance = contact.evidence.get("cop_distance_median_m", np.nan)
        if contact.decision != "rejected" or not distance > near_m or not _has_distances(contact):
            continue
        force = vertical[contact.plate]
        first, stop = round(contact.start_s * rate_hz), round(contact.end_s * rate_hz) + 1
        if stop - first < least_s * rate_hz or first == 0 or stop >= len(force):
            continue
        peak = float(np.nanmax(force[first:stop]))
        margin = round(end_s * rate_hz)
        ends = (force[max(first - margin, 0)], force[min(stop - 1 + margin, len(force) - 1)])
        if peak >= least_n and max(ends) <= gone_share * peak:
            loads.append(LoadWithoutFoot(contact.plate, contact.start_s, contact.end_s, peak))
    return tuple(loads)


def _has_distances(contact: Contact) -> bool:
    """Return whether the distances of both feet from the centre of pressure are known."""
    rival = contact.evidence.get("rival_cop_distance_median_m", np.nan)
    return bool(np.isfinite(contact.evidence["cop_distance_median_m"]) and np.isfinite(rival))


def unassign_walking_aid_contacts(contacts: Sequence[Contact], loads: Sequence[LoadWithoutFoot]) -> tuple[Contact, ...]:
    """Unassign the contacts whose centre of pressure is outside the foot because of a walking aid, and return all contacts.

    Contacts are changed only if `loads` shows that a walking aid is used.
    """
    # With a walking aid, a centre of pressure at this distance outside the foot is that of foot and aid together.
    shared_m = 0.02
    if not loads:
        return tuple(contacts)
    checked = []
    for contact in contacts:
        outside_m = contact.evidence.get("cop_distance_95_m", 0.0)
        if contact.decision == "assigned" and outside_m > shared_m:
            reason = (
                f"the centre of pressure is {100.0 * outside_m:.1f} cm outside the foot, so that a walking aid may "
                "also load the plate"
            )
            contact = replace(contact, decision="ambiguous", side=None, reason=reason)
        checked.append(contact)
    return tuple(checked)


def mark_unknown_loads(
    reaction: GroundReaction, decided: Sequence[Contact], checked: Sequence[Contact], rate_hz: float, smear_s: float
) -> GroundReaction:
    """Return the ground reaction without the loads of contacts that are assigned in `decided` and unassigned in `checked`.

    smear_s: half the time over which the filter of the wrenches spreads an edge.
    """
    for given, contact in zip(decided, checked, strict=True):
        if given.side is not None and contact.side is None:
            first = max(math.floor((contact.start_s - smear_s) * rate_hz), 0)
            rows = slice(first, math.ceil((contact.end_s + smear_s) * rate_hz))
            reaction = _mask_foot_wrench(reaction, given.side, rows, f"plate {contact.plate}: {contact.reason}")
    return reaction


def _mask_foot_wrench(reaction: GroundReaction, side: Side, rows: slice, why: str) -> GroundReaction:
    """Return the reaction with the wrench of one foot set to NaN in the given frames, with the reason `why`."""

    def mask_rows(values: Mapping[Side, FloatArray]) -> dict[Side, FloatArray]:
        masked = values[side].copy()
        masked[rows] = np.nan
        return {**values, side: masked}

    measured, reasons = reaction.measured[side].copy(), list(reaction.reason[side])
    measured[rows] = False
    reasons[rows] = [why] * len(reasons[rows])
    full = reaction.full_bandwidth
    return replace(
        reaction,
        wrench=mask_rows(reaction.wrench),
        centre_of_pressure=mask_rows(reaction.centre_of_pressure),
        free_moment=mask_rows(reaction.free_moment),
        measured={**reaction.measured, side: measured},
        reason={**reaction.reason, side: reasons},
        full_bandwidth=None if full is None else _mask_foot_wrench(full, side, rows, why),
    )
