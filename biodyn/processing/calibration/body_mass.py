"""Body mass where nobody wrote it down: from quiet standing, or from whole strides over the plates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, FloatArray, Side
from biodyn.geometry.polygons import signed_distance
from biodyn.recording import GaitEvent, GroundReaction, PlateWrench

# Lighter or heavier, and something else than one person stood there.
PLAUSIBLE_MASS_KG = (8.0, 300.0)
KG_A_POUND = 0.45359237
# Quiet standing: the vertical force sways by about 1 % of weight; more, and somebody moved.
_QUIET_FORCE_FRACTION = 0.03
_LOADED_N = 20.0
# A foot's markers may lie this far outside the plate that carries the foot.
_FOOT_ON_PLATE_M = 0.05
_FILTER_TAIL_S = 0.08


@dataclass(frozen=True)
class MassEstimate:
    """A mass in kg and, in words, where it comes from; `stored`: in a file, as somebody typed it."""

    mass_kg: float
    source: str
    stored: bool = False


def mass_from_standing(
    plates: Sequence[PlateWrench], first_s: float, last_s: float, feet_W: Sequence[FloatArray]
) -> MassEstimate | None:
    """Mass from the plates' mean vertical force while the subject stands still on them.

    Parameters:
        plates: in World, at any rate; first_s, last_s: the quiet window; feet_W: (3,) m of each foot's middle.
    Returns None unless every foot stands on a loaded plate and the force is steady.
    """
    loaded = []
    total: FloatArray | None = None
    for plate in plates:
        samples = slice(
            int(first_s * plate.rate_hz), max(int(last_s * plate.rate_hz), int(first_s * plate.rate_hz) + 1)
        )
        vertical = plate.wrench[samples, 4]
        if not len(vertical) or not np.isfinite(vertical).all():
            return None
        if vertical.mean() > _LOADED_N:
            loaded.append(plate)
            total = vertical if total is None else total + vertical
    if total is None or not feet_W:
        return None
    for foot in feet_W:
        if min(float(signed_distance(foot[None], plate.corners)[0]) for plate in loaded) > _FOOT_ON_PLATE_M:
            return None
    mean = float(total.mean())
    mass = mean / STANDARD_GRAVITY_M_S2
    if float(total.std()) > _QUIET_FORCE_FRACTION * mean or not PLAUSIBLE_MASS_KG[0] <= mass <= PLAUSIBLE_MASS_KG[1]:
        return None
    return MassEstimate(mass, "quiet standing on the plates")


def mass_from_strides(reaction: GroundReaction, events: Sequence[GaitEvent], rate_hz: float) -> MassEstimate | None:
    """Mass from the vertical impulse of whole stances: in steady gait one stance of each foot carries one stride's weight.

    m = (J_right + J_left) / (g T_stride), after the impulse-momentum theorem over a periodic stride. With the stance of
    one side only, the other is taken as equal. None without a fully measured stance or without a stride time.
    """
    impulses: dict[Side, list[float]] = {side: [] for side in SIDES}
    strides: list[float] = []
    for side in SIDES:
        own = sorted((event for event in events if event.side == side), key=lambda event: event.time_s)
        strikes = [event.time_s for event in own if event.kind == "foot_strike"]
        strides += [later - earlier for earlier, later in pairwise(strikes)]
        for strike, off in pairwise(own):
            if (strike.kind, off.kind) == ("foot_strike", "foot_off"):
                # The filter spreads the stance's edges; it does not change the impulse.
                first = round((strike.time_s - _FILTER_TAIL_S) * rate_hz)
                last = round((off.time_s + _FILTER_TAIL_S) * rate_hz)
                if (
                    first >= 0
                    and last < len(reaction.measured[side])
                    and reaction.measured[side][first : last + 1].all()
                ):
                    impulses[side].append(float(reaction.wrench[side][first : last + 1, 4].sum()) / rate_hz)
    measured = [float(np.mean(values)) for values in impulses.values() if values and np.mean(values) > 0.0]
    if not measured or not strides:
        return None
    both = sum(measured) if len(measured) == 2 else 2.0 * measured[0]
    mass = both / (STANDARD_GRAVITY_M_S2 * float(np.median(strides)))
    if not PLAUSIBLE_MASS_KG[0] <= mass <= PLAUSIBLE_MASS_KG[1]:
        return None
    what = "one stance of each foot" if len(measured) == 2 else "the stances of one foot, the other taken as equal"
    return MassEstimate(mass, f"vertical impulse of whole strides over the plates ({what})")
