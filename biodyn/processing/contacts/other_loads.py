"""Loads of a plate that no foot made: a crutch, a walker, a hand, another person."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import STANDARD_GRAVITY_M_S2, FloatArray, Side
from biodyn.recording.wrenches import Contact, GroundReaction, PlateWrench

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


def without_shared_plates(contacts: Sequence[Contact], loads: Sequence[OtherLoad]) -> tuple[Contact, ...]:
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
