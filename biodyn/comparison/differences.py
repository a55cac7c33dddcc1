"""Where two analyses of a recording differ, and how much of it each cause makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from biodyn.comparison.exchange import CAUSES, Exchange
from biodyn.comparison.loads import PLANES
from biodyn.comparison.segments import MovingBody
from biodyn.comparison.shapley import shares
from biodyn.conventions import SIDE_NAMES, BoolArray, FloatArray
from biodyn.errors import ResultError

#: Curves in time, and over 0-100 % of the gait cycle.
Quantity = Literal["angle", "moment", "cycle angle", "cycle moment"]
#: In place of a plane: the torque of one coordinate.
OF_COORDINATE = "torque"
UNITS: dict[Quantity, str] = {"moment": "Nm", "angle": "deg", "cycle moment": "Nm", "cycle angle": "deg"}
#: What they are called in sentences.
WORDS: dict[Quantity, str] = {
    "moment": "joint moments",
    "angle": "joint angles",
    "cycle moment": "joint moments over the gait cycle",
    "cycle angle": "joint angles over the gait cycle",
}
#: What no exchanged cause accounts for.
UNEXPLAINED = "unexplained"
#: Fewer frames in common are no comparison.
LEAST_FRAMES = 12
# A difference below this share of the curve's own size has no cause worth naming.
_NOTHING = 1e-6


@dataclass(frozen=True)
class Difference:
    """One quantity of one joint in one plane: the other analysis minus the first.

    Attributes:
        joint, side, plane, quantity: what. unit: deg or Nm.
        rms, mean: of the difference over the compared frames. size: RMS of the first one's curve.
        shares: by cause, of the mean square of the difference; with what is unexplained they add up to 1. A negative share
            belongs to a cause that hides a part of what the others do. Empty where the two are equal.
        left: RMS of what no cause explains.
        first, other: (T,) the two curves in `unit`, NaN where not compared. parts: (T,) each cause's part of other - first.
    """

    joint: str
    side: str
    plane: str
    quantity: Quantity
    unit: str
    rms: float
    mean: float
    size: float
    shares: Mapping[str, float]
    left: float
    first: FloatArray
    other: FloatArray
    parts: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def is_none(self) -> bool:
        """True where the two are equal."""
        return self.rms <= _NOTHING * max(self.size, 1.0)

    @property
    def of_coordinate(self) -> bool:
        """True of the torque of one coordinate, which has no plane."""
        return self.plane == OF_COORDINATE

    @property
    def title(self) -> str:
        """What differs, for people: "right hip sagittal moment", "hip_flexion_r torque"."""
        if self.of_coordinate:
            return f"{self.joint} {self.plane}"
        return f"{SIDE_NAMES.get(self.side, '')} {self.joint} {self.plane} {self.quantity}".strip()


def analyses_in_common(
    a: MovingBody,
    b: MovingBody,
    cutoffs_hz: tuple[float, float] | None = None,
    force_cutoffs_hz: tuple[float, float] | None = None,
) -> Exchange:
    """Return both analyses over the frames and segments they share, in the World of the first; ResultError where none.

    `cutoffs_hz` and `force_cutoffs_hz` as of `Exchange`.
    """
    if len(a.time_s) != len(b.time_s) or not np.allclose(a.time_s, b.time_s, atol=1e-6):
        raise ResultError(
            f"The two results have different frames ({len(a.time_s)} and {len(b.time_s)}).",
            "Compare two analyses of the same file.",
        )
    names = [name for name in a.names if name in b.names]
    frames = a.known & b.known
    if len(names) < 2 or frames.sum() < LEAST_FRAMES:
        raise ResultError(
            f"The two results have {frames.sum()} frames and {len(names)} segments in common: nothing can be compared.",
            "Compare two analyses of the same file.",
        )
    rate_hz = float((len(a.time_s) - 1) / (a.time_s[-1] - a.time_s[0]))
    both = a.only(names, frames), b.in_world_of(a).only(names, frames)
    return Exchange(*both, rate_hz, cutoffs_hz, force_cutoffs_hz)


def differences(exchange: Exchange) -> tuple[Difference, ...]:
    """Return angles and moments of every joint that both analyses have, with the causes of each difference."""
    a, b = exchange.a, exchange.b
    valid = a.valid & b.valid
    found: list[Difference] = []
    for quantity, (parts, first, other) in (("moment", exchange.moment_parts()), ("angle", exchange.angle_parts())):
        scale = np.rad2deg(1.0) if quantity == "angle" else 1.0
        for s in joints_of(a):
            frames = valid[:, s] if quantity == "moment" else np.ones(len(valid), dtype=bool)
            if frames.sum() < LEAST_FRAMES:
                continue
            for plane, name in enumerate(PLANES):
                curves = {cause: scale * part[:, s, plane] for cause, part in parts.items()}
                ends = (scale * first[:, s, plane], scale * other[:, s, plane])
                found.append(difference(a.joints[s], a.sides[s], name, quantity, ends, curves, frames))  # type: ignore[arg-type]
    return tuple(found)


def joints_of(body: MovingBody) -> list[int]:
    """Segments whose joint has at least one frame with a moment."""
    return [s for s in range(len(body.names)) if body.parents[s] >= 0 and body.valid[:, s].any()]


def difference(
    joint: str,
    side: str,
    plane: str,
    quantity: Quantity,
    ends: tuple[FloatArray, FloatArray],
    parts: Mapping[str, FloatArray],
    frames: BoolArray,
) -> Difference:
    """Return the difference of two curves (T,) with its causes' parts (T,), over some frames (T,) bool."""
    first, other = (np.where(frames, end, np.nan) for end in ends)
    own = {cause: np.where(frames, part, np.nan) for cause, part in parts.items()}
    whole = other - first
    rms = float(np.sqrt(np.nanmean(whole**2)))
    size = float(np.sqrt(np.nanmean(first**2)))
    are_equal = rms <= _NOTHING * max(size, 1.0)
    made = {} if are_equal else shares(own, whole)
    rest = whole - sum(own.values(), np.zeros_like(whole))
    if not are_equal:
        made[UNEXPLAINED] = 1.0 - sum(made.values())
    return Difference(
        joint=joint,
        side=side,
        plane=plane,
        quantity=quantity,
        unit=UNITS[quantity],
        rms=rms,
        mean=float(np.nanmean(whole)),
        size=size,
        shares=made,
        left=float(np.sqrt(np.nanmean(rest**2))),
        first=first,
        other=other,
        parts=own,
    )


def called(found: Sequence[Difference], names: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return the differences with other names of causes; those of one name are added up."""
    return tuple(
        replace(
            one, shares=_by_name(one.shares, names, 0.0), parts=_by_name(one.parts, names, np.zeros_like(one.first))
        )
        for one in found
    )


def _by_name(values: Mapping[str, Any], names: Mapping[str, str], nothing: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for cause, value in values.items():
        name = names.get(cause, cause)
        made[name] = made.get(name, nothing) + value
    return made


def overall(found: Sequence[Difference], quantity: Quantity) -> dict[str, float]:
    """Shares of all joints and planes together, each weighted by the mean square of its difference; largest first."""
    own = [d for d in found if d.quantity == quantity and d.shares]
    square = sum(d.rms**2 for d in own)
    names = dict.fromkeys(name for name in (*CAUSES, *(n for d in own for n in d.shares)))
    total = {name: sum(d.rms**2 * d.shares.get(name, 0.0) for d in own) / square for name in names} if square else {}
    held = {name: share for name, share in total.items() if any(name in d.shares for d in own)}
    return dict(sorted(held.items(), key=lambda item: -item[1]))


def explained(found: Sequence[Difference], quantity: Quantity) -> float:
    """Share of the mean square of all differences of a quantity that the causes take away together; NaN without any."""
    own = [d for d in found if d.quantity == quantity and d.shares]
    square = sum(d.rms**2 for d in own)
    return 1.0 - sum(d.left**2 for d in own) / square if square else float("nan")
