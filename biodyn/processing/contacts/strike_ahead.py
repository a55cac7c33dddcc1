"""What the filter spreads backwards from a strike that no plate saw.

No force acts on a foot before its strike. A filtered motion, though, slows down for the strike before it comes, and the
filtered force of a measured strike begins before it too: the two belong together (Bisseling & Hof 2006, doi
10.1016/j.jbiomech.2005.07.021). So the swing before an unmeasured strike gets what the filter spread ahead of the same person's
measured strikes, at the heel and along the way of that foot. It is an expectation, and its error goes into the bands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import SIDE_SIGN, SIDES, FloatArray, Side
from biodyn.geometry.rotations import cross
from biodyn.processing.contacts.foot_outline import FootOutline
from biodyn.processing.contacts.load import PlateContact
from biodyn.processing.contacts.loading import PlateSignals
from biodyn.processing.contacts.unmeasured import EVENT_ERROR_S, UnmeasuredStance

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


def expected_ahead(
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
            place = None if stance.cut_before else _place(soles[side], stance.first, rate_hz)
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
    place = _place(sole, int(np.ceil(strike * rate_hz)), rate_hz)
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


def _place(sole: FootOutline, frame: int, rate_hz: float) -> tuple[FloatArray, FloatArray] | None:
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
