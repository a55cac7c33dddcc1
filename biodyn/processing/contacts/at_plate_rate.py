"""Ground reaction of each foot at the plates' own rate: what peaks are read from, where frames lie too far apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, Side
from biodyn.processing.contacts.loading import centre_of_pressure, pressure_at_height
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.plates import resampled
from biodyn.processing.signals.prepare import FULL_BANDWIDTH_HZ, MOST_OF_RATE
from biodyn.recording import Contact, GroundReaction, PlateWrench, SharedLoad

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
