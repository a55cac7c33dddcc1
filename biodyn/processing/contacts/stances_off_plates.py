"""Stances that no plate measured, and the filtered force ahead of their strikes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDE_SIGN, SIDES, BoolArray, FloatArray, Side
from biodyn.geometry.rotations import cross
from biodyn.processing.contacts.evidence import MIN_SHARED_S, OUTLINE_ERROR_M, PlateContact
from biodyn.processing.contacts.feet import FootOutline
from biodyn.processing.contacts.loading import PlateSignals
from biodyn.processing.signals.filtering import finite_stretches

# Kinematic stance may reach this far beyond the plate's own contact times before it counts as standing elsewhere.
STANCE_EDGE_S = 0.1
# A strike or foot off that no plate saw is known to this from the movement (docs/methods.md, section 6): nearer to it nobody
# knows whether the foot bears.
EVENT_ERROR_S = 0.02
# A sole that glides in low and slow, or heel first, seems to stand this much before or after its strike at most.
_LARGEST_DIFFERENCE_S = 0.15
# A larger difference is another event: a foot that slides onto the plate, or steps onto a second one.
_LARGEST_DELAY_S = 0.06

#: What is said of a plate on which a foot stands without a load.
SILENT = "which shows no force"


@dataclass(frozen=True)
class Strikes:
    """When one foot strikes.

    Attributes:
        told_s: (N,) s, as the gait tells strikes; none where it does not. late_s: by how much soles come to stand late.
        rate_hz: frames per second.
    """

    told_s: FloatArray
    late_s: float
    rate_hz: float

    def begin(self, first: int, stop: int) -> float:
        """Return where the sole's stance [first, stop) begins, in frames: at the strike told there, else as the sole shows."""
        if first == 0:
            return 0.0  # it stood before the recording began
        told = self.told_s * self.rate_hz
        near = told[(np.abs(told - first) < _LARGEST_DIFFERENCE_S * self.rate_hz) & (told < stop)]
        strike = near[np.argmin(np.abs(near - first))] if len(near) else first - self.late_s * self.rate_hz
        return max(float(strike), 0.0)


@dataclass(frozen=True)
class UnmeasuredStance:
    """Stretch in which a foot bears on the ground and its load is not known, and why.

    Attributes:
        strike: its begin, between two frames; stop: the first frame after it. why: for people.
        cut_before, cut_after: the load goes on there, as the part of it that is known.
        on_plate: a plate shows the load, and it could not be given to the foot.
    """

    strike: float
    stop: int
    why: str
    cut_before: bool = False
    cut_after: bool = False
    on_plate: bool = False

    @property
    def first(self) -> int:
        """Its first frame."""
        return int(np.ceil(self.strike))


def strikes_of_feet(
    told_s: Mapping[Side, FloatArray],
    contacts: Sequence[PlateContact],
    soles: Mapping[Side, FootOutline],
    rate_hz: float,
) -> dict[Side, Strikes]:
    """Return when each foot strikes, with the strikes (N,) s that the gait tells of it."""
    late_s = _delay_s(contacts, soles, rate_hz)
    return {side: Strikes(told_s.get(side, np.empty(0)), late_s, rate_hz) for side in soles}


def unmeasured_stances(
    side: Side,
    plates: Sequence[PlateSignals],
    contacts: Sequence[PlateContact],
    sole: FootOutline,
    strikes: Strikes,
) -> list[UnmeasuredStance]:
    """Return the stances of a foot beside the plates, and those on a plate whose load could not be given to it."""
    name = SIDE_NAMES[side]
    found = [
        UnmeasuredStance(strikes.begin(first, stop), stop, f"{name} foot {_place(sole, plates, first, stop)}")
        for first, stop in finite_stretches(_standing_elsewhere(side, plates, contacts, sole, strikes.rate_hz))
    ]
    for item in contacts:
        if item.contact.decision == "assigned" or side not in item.feet:
            continue
        begin, end = float(item.first), item.stop
        if item.contact.decision == "rejected":
            # A foot that hangs over the edge is unknown through its whole stance on either side of the edge.
            for first, stop in finite_stretches(sole.bearing):
                if first < item.stop and stop > item.first:
                    begin = begin if item.cut_before else min(begin, strikes.begin(first, stop))
                    end = end if item.cut_after else max(end, stop)
        why = f"plate {item.contact.plate}: {item.contact.reason}"
        found.append(UnmeasuredStance(begin, end, why, item.cut_before, item.cut_after, on_plate=True))
    return found


def _standing_elsewhere(
    side: Side,
    plates: Sequence[PlateSignals],
    contacts: Sequence[PlateContact],
    sole: FootOutline,
    rate_hz: float,
) -> BoolArray:
    """Frames (T,) in which the foot stands although nothing that was measured there carries it."""
    frames = len(sole.known)
    spoken_for = assigned_frames(side, contacts, frames, widen=int(np.ceil(STANCE_EDGE_S * rate_hz)))
    spoken_for |= loaded_frames(side, contacts, frames)
    # Low and slow wholly over plates that work but show no force: the plates know better than the markers.
    working = {item.plate for item in contacts if plates[item.plate].outlined}
    if working:
        over = np.stack([sole.distance_to(plates[n].corners_W) for n in sorted(working)])
        spoken_for |= np.where(sole.low, over.min(axis=0), -np.inf).max(axis=1) < OUTLINE_ERROR_M
    elsewhere = sole.bearing & ~spoken_for
    for first, stop in finite_stretches(elsewhere):
        if stop - first < MIN_SHARED_S * rate_hz:
            elsewhere[first:stop] = False
    return elsewhere


def reasons(
    side: Side, stances: Sequence[UnmeasuredStance], sole: FootOutline, carried: BoolArray, rate_hz: float
) -> list[str]:
    """Say for every frame why this foot's wrench is unknown; "" where it is known. `carried`: by an assigned contact."""
    name, frames = SIDE_NAMES[side], len(sole.known)
    reason = np.full(frames, "", dtype=object)
    reason[~sole.known & ~carried] = f"{name} foot not seen"
    for rows, event in frames_around_stances(stances, EVENT_ERROR_S, frames, rate_hz):
        free = rows[~carried[rows]]
        reason[free] = f"{name} foot within {EVENT_ERROR_S:g} s of an unmeasured {event}"
    for stance in stances:
        rows = np.arange(stance.first, min(stance.stop, frames))
        # a plate that refuses a load says so wherever it is loaded; the floor only where no plate carries the foot
        reason[rows if stance.on_plate else rows[~carried[rows]]] = stance.why
    return [str(text) for text in reason]


def frames_around_stances(
    stances: Sequence[UnmeasuredStance], seconds: float, frames: int, rate_hz: float
) -> Iterator[tuple[np.ndarray, str]]:
    """Yield the frames up to `seconds` before each strike and after each foot off, with the name of the event."""
    count = int(np.ceil(seconds * rate_hz - 1e-9))
    for stance in stances:
        if not stance.cut_before:
            begin = int(np.floor(stance.strike - seconds * rate_hz + 1e-9)) + 1
            yield np.arange(max(begin, 0), stance.first), "strike"
        if not stance.cut_after:
            yield np.arange(min(stance.stop, frames), min(stance.stop + count, frames)), "foot off"


def assigned_frames(side: Side, contacts: Sequence[PlateContact], frames: int, widen: int = 0) -> BoolArray:
    """Frames (T,) of the contacts that were given to a foot, `widen` frames more on both sides."""
    covered = np.zeros(frames, dtype=bool)
    for item in contacts:
        if item.contact.side == side and item.contact.decision == "assigned":
            # Where another foot's share of the same load begins there is nothing to widen into.
            before = 0 if item.cut_before else widen
            after = 0 if item.cut_after else widen
            covered[max(item.first - before, 0) : item.stop + after] = True
    return covered


def loaded_frames(side: Side, contacts: Sequence[PlateContact], frames: int) -> BoolArray:
    """Frames (T,) in which a plate is loaded by the foot, or may be."""
    loaded = np.zeros(frames, dtype=bool)
    for item in contacts:
        if side in item.feet:
            loaded[item.first : item.stop] = True
    return loaded


def _delay_s(contacts: Sequence[PlateContact], soles: Mapping[Side, FootOutline], rate_hz: float) -> float:
    """By how much the movement shows a strike late, s: the median over the strikes on plates, 0 where there is none."""
    found = []
    for item in contacts:
        side = item.contact.side
        if side is None or item.contact.decision != "assigned" or item.cut_before or item.first == 0:
            continue
        for first, stop in finite_stretches(soles[side].bearing):
            if first < item.stop and stop > item.first and first > 0:
                found.append(first / rate_hz - item.contact.start_s)
                break
    known = [delay for delay in found if abs(delay) < _LARGEST_DELAY_S]
    return float(np.median(known)) if known else 0.0


def _place(sole: FootOutline, plates: Sequence[PlateSignals], first: int, stop: int) -> str:
    for plate in plates:
        if plate.outlined and np.mean(sole.distance_to(plate.corners_W)[(first + stop) // 2] < 0.0) > 0.5:
            return f"on plate {plate.number}, {SILENT}"
    return "on the floor outside the plates"


#: Strikes of one person differ by this share of what the filter spreads ahead of them.
STRIKES_DIFFER = 0.3
# The filter spreads an edge noticeably over so many of its half-widths.
REACH_SMEARS = 2.0
# The way of a foot to its strike is taken over this time.
_APPROACH_S = 0.1


@dataclass(frozen=True)
class Expected:
    """What the filter spreads ahead of unmeasured strikes.

    Attributes:
        wrench: per side (T, 6) F_Wo_W, zero where nothing is expected.
        sd: (2, T, 6) per side: strikes differ, and the strike's time is not known better than `EVENT_ERROR_S`.
    """

    wrench: Mapping[Side, FloatArray]
    sd: Mapping[Side, FloatArray]


def expected_pre_strike_force(
    plates: Sequence[PlateSignals],
    contacts: Sequence[PlateContact],
    spans: Sequence[tuple[int, int]],
    stances: Mapping[Side, Sequence[UnmeasuredStance]],
    soles: Mapping[Side, FootOutline],
    rate_hz: float,
    smear_s: float,
) -> Expected | None:
    """Return what is expected ahead of each unmeasured strike; None where no whole strike was measured.

    `spans`: frames [first, stop) over which each contact's wrench lives.
    """
    frames = len(next(iter(soles.values())).known)
    reach = int(np.ceil(REACH_SMEARS * smear_s * rate_hz))
    ahead_s = np.arange(-reach, 2) / rate_hz
    known = [
        _seen_from_the_foot(plates[item.plate].wrench, item, span, soles[item.contact.side], ahead_s, rate_hz)
        for item, span in zip(contacts, spans, strict=True)
        if item.contact.side is not None and _is_whole_strike(item)
    ]
    known = [one for one in known if np.isfinite(one).all()]
    if not known:
        return None
    typical = np.mean(known, axis=0)
    rate = np.gradient(typical, 1.0 / rate_hz, axis=0)
    wrench = {side: np.zeros((frames, 6)) for side in SIDES}
    sd = {side: np.zeros((2, frames, 6)) for side in SIDES}
    for side in SIDES:
        for stance in stances[side]:
            place = None if stance.cut_before else _place_strike_ahead(soles[side], stance.first, rate_hz)
            if place is None:
                continue
            rows = np.arange(max(stance.first - reach, 0), stance.first)
            at = rows.astype(np.float64) - stance.strike
            for values, target in (
                (typical, wrench[side]),
                (STRIKES_DIFFER * typical, sd[side][0]),
                (EVENT_ERROR_S * rate, sd[side][1]),
            ):
                target[rows] += _in_world(_at(ahead_s * rate_hz, values, at), side, *place)
    return Expected(wrench, sd)


def _is_whole_strike(item: PlateContact) -> bool:
    return item.contact.decision == "assigned" and not item.cut_before and item.share is None and item.first > 0


def _seen_from_the_foot(
    wrench: FloatArray,
    item: PlateContact,
    span: tuple[int, int],
    sole: FootOutline,
    ahead_s: FloatArray,
    rate_hz: float,
) -> FloatArray:
    """Wrench (n, 6) at times before a strike about the heel, along forward, up and outward of the foot; NaN if unknown."""
    side = item.contact.side
    strike = item.contact.start_s
    place = _place_strike_ahead(sole, int(np.ceil(strike * rate_hz)), rate_hz)
    if place is None or side is None:
        return np.full((len(ahead_s), 6), np.nan)
    p, axes = place
    at = (strike + ahead_s) * rate_hz
    frames = np.arange(len(wrench), dtype=np.float64)
    own = np.where(((frames >= span[0]) & (frames < span[1]))[:, None], wrench, 0.0)
    values = _at(frames, own, at)
    about = values[:, :3] - cross(p, values[:, 3:])
    return np.hstack([about @ axes, values[:, 3:] @ axes]) * _mirror(side)


def _at(known_at: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    """Columns (n, 6) of values (m, 6) between their places, on straight lines."""
    return np.column_stack([np.interp(at, known_at, column) for column in values.T])


def _in_world(values: FloatArray, side: Side, p: FloatArray, axes: FloatArray) -> FloatArray:
    values = values * _mirror(side)
    moment, force = values[:, :3] @ axes.T, values[:, 3:] @ axes.T
    return np.hstack([moment + cross(p, force), force])


def _mirror(side: Side) -> FloatArray:
    """Signs of a wrench (6,) that make both sides alike: a force changes with its side axis, a moment with the others."""
    sign = SIDE_SIGN[side]
    return np.array([sign, sign, 1.0, 1.0, 1.0, sign])


def _place_strike_ahead(sole: FootOutline, frame: int, rate_hz: float) -> tuple[FloatArray, FloatArray] | None:
    """Middle of the low part of the sole (3,) m, and forward, up, right (3, 3) of its way there; None where not seen."""
    before = max(frame - max(round(_APPROACH_S * rate_hz), 1), 0)
    if frame >= len(sole.known) or not (sole.known[frame] and sole.known[before]):
        return None
    p = sole.outline_W[frame][sole.low[frame]].mean(axis=0)
    way = (sole.outline_W[frame] - sole.outline_W[before]).mean(axis=0) * (1.0, 0.0, 1.0)
    if np.linalg.norm(way) < 1e-6:
        return None
    forward = way / np.linalg.norm(way)
    up = np.array([0.0, 1.0, 0.0])
    return p, np.stack([forward, up, cross(forward, up)], axis=1)
