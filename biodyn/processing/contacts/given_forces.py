"""Contacts and ground reaction where a file says which force acts on which foot: nothing is left to decide but when it acts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from biodyn.conventions import SIDE_NAMES, BoolArray, FloatArray, Side
from biodyn.processing.contacts.foot_outline import foot_outline
from biodyn.processing.contacts.loading import loadings, pressure_at_height
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Contact, GroundReaction

_REASON = "the file of forces names the foot"
# A foot that bears for so short a time may be one that scuffs the floor.
_LEAST_STANCE_S = 0.1


def given_ground_reaction(
    wrenches: Mapping[Side, FloatArray],
    heights: Mapping[Side, FloatArray],
    soles_W: Mapping[Side, FloatArray],
    covered: BoolArray,
    rate_hz: float,
    threshold_n: float,
) -> tuple[tuple[Contact, ...], GroundReaction]:
    """Return the contacts and the ground reaction of feet whose forces are given.

    Parameters:
        wrenches: per side (T, 6) F_Wo_W. heights: per side (T,) m, of the point where the force acts, NaN = at the sole.
        soles_W: per side (T, K, 3) m, outline of the sole, NaN where unknown. covered: (T,) frames that the file covers.
        threshold_n: vertical force that loads a foot.

    A foot that stands a whole stance through without a force is on ground that nobody measured.
    """
    contacts: list[Contact] = []
    measured, reason, on_floor, pressure, free = {}, {}, {}, {}, {}
    for number, (side, wrench) in enumerate(wrenches.items(), start=1):
        for start_s, end_s in loadings(wrench[:, 4], rate_hz, threshold_n):
            contacts.append(Contact(number, start_s, end_s, side, "assigned", _REASON))
        loaded = np.asarray(np.nan_to_num(wrench[:, 4]) >= threshold_n)
        outline = foot_outline(soles_W[side], rate_hz)
        bare = np.zeros(len(wrench), dtype=np.bool_)
        for first, stop in finite_stretches(outline.bearing):
            if stop - first >= _LEAST_STANCE_S * rate_hz and not loaded[first:stop].any():
                bare[first:stop] = True
        words = np.where(bare, f"the {SIDE_NAMES[side]} foot stands and no force on it is given", "")
        words = np.where(covered, words, "the file of forces does not cover this time")
        reason[side], measured[side] = words.tolist(), np.asarray(covered & ~bare)
        on_floor[side] = np.asarray(loaded | bare)
        height = np.where(np.isfinite(heights[side]), heights[side], np.nan_to_num(outline.height))
        pressure[side], free[side] = pressure_at_height(wrench, height, threshold_n)
    reaction = GroundReaction(
        wrench={side: np.where(measured[side][:, None], wrench, np.nan) for side, wrench in wrenches.items()},
        measured=measured,
        reason=reason,
        on_floor=on_floor,
        centre_of_pressure=pressure,
        free_moment=free,
    )
    return tuple(sorted(contacts, key=lambda contact: contact.start_s)), reaction
