"""Differences between two analyses of a recording, and the share of each cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.spatial.transform import Rotation

from biodyn.comparison.part_exchange import (
    AXES,
    CAUSES,
    CENTRES,
    EVENTS,
    FORCE_SMOOTHING,
    INERTIAS,
    MASS,
    SMOOTHING,
    Exchange,
    RelativeFilter,
    projected_shares,
)
from biodyn.comparison.segments import PLANES, MovingBody
from biodyn.conventions import SIDE_NAMES, SIDES, BoolArray, FloatArray
from biodyn.errors import ResultError
from biodyn.library.tables import segment_title
from biodyn.processing.gait.cycles import normalise_to_cycle

# Smallest reported differences.
_LEAST_M, _LEAST_DEG = 5e-4, 0.1


@dataclass(frozen=True)
class DifferenceFact:
    """A sentence on an input that differs between two analyses, and the cause to which it belongs."""

    cause: str
    text: str


def list_difference_facts(exchange: Exchange, joints: list[int], estimated: bool = False) -> tuple[DifferenceFact, ...]:
    """Return differing quantities of the segments `joints`, in the order of causes.

    estimated: at least one of the motions is an estimate, which has no cut-off.
    """
    result = [*_centre_facts(exchange, joints), *_axis_facts(exchange, joints)]
    result += (
        _smoother_estimate_facts(exchange) if estimated else _filter_facts(SMOOTHING, "motion", exchange.motion_filter)
    )
    result += _filter_facts(FORCE_SMOOTHING, "ground forces", exchange.force_filter)
    masses = exchange.a.mass_kg, exchange.b.mass_kg
    if f"{masses[0]:.1f}" != f"{masses[1]:.1f}":
        result.append(DifferenceFact(MASS, f"body mass {masses[0]:.1f} kg and {masses[1]:.1f} kg"))
    result += _inertia_facts(exchange, joints, masses)
    return tuple(result)


def _inertia_facts(exchange: Exchange, joints: list[int], masses: tuple[float, float]) -> list[DifferenceFact]:
    """Return differences of mass, size and centre of mass of each segment."""
    result = []
    a, b = exchange.a.inertias, exchange.b.inertias
    for s in joints:
        share = [f"{100 * x.mass[s] / m:.2f}" for x, m in zip((a, b), masses, strict=True)]
        gyration = [f"{1e3 * np.sqrt(np.trace(x.tensor[s]) / 2.0 / max(x.mass[s], 1e-9)):.0f}" for x in (a, b)]
        apart = b.com[s] - a.com[s]
        parts = [f"{share[0]} and {share[1]} % of the mass"] if share[0] != share[1] else []
        parts += [f"radius of gyration {gyration[0]} and {gyration[1]} mm"] if gyration[0] != gyration[1] else []
        parts += (
            [f"centre of mass relative to its joint {_describe_offset(apart)}"]
            if np.linalg.norm(apart) > _LEAST_M
            else []
        )
        if parts:
            result.append(DifferenceFact(INERTIAS, f"{segment_title(exchange.a.names[s])}: {', '.join(parts)}"))
    return result


def _describe_offset(offset_m: FloatArray) -> str:
    """Return a text with the length and the components of an offset (3,) m in the axes of its segment."""
    x, y, z = (1e3 * offset_m).tolist()
    return f"{1e3 * np.linalg.norm(offset_m):.0f} mm apart ({x:+z.0f} forward, {y:+z.0f} up, {z:+z.0f} to the right)"


def _centre_facts(exchange: Exchange, joints: list[int]) -> list[DifferenceFact]:
    result = []
    for s in joints:
        offset = exchange.centre_offset[s]
        if np.linalg.norm(offset) > _LEAST_M:
            where = f"{_describe_offset(offset)} in the axes of the {segment_title(exchange.a.names[s])}"
            result.append(DifferenceFact(CENTRES, f"{joint_label(exchange, s)} centre {where}"))
    return result


def _axis_facts(exchange: Exchange, joints: list[int]) -> list[DifferenceFact]:
    result = []
    for s in joints:
        relative = exchange.rotation_from_centres[s].T @ exchange.mean_rotation[s]
        turn = Rotation.from_matrix(relative).as_rotvec(degrees=True)
        if np.linalg.norm(turn) > _LEAST_DEG:
            result.append(
                DifferenceFact(
                    AXES,
                    f"{segment_title(exchange.a.names[s])} axes rotated by {np.linalg.norm(turn):.1f} degrees "
                    f"({turn[0]:+z.1f} about forward, {turn[1]:+z.1f} about up, {turn[2]:+z.1f} about right)",
                )
            )
    return result


def _filter_facts(cause: str, what: str, relative_filter: tuple[RelativeFilter, bool] | None) -> list[DifferenceFact]:
    if relative_filter is None:
        return []
    between, first_is_sharper = relative_filter
    which = "the second" if first_is_sharper else "the first"
    sharp = "not filtered" if np.isinf(between.high_hz) else f"{between.high_hz:.3g} Hz"
    how = f"{what}: {which} is smoother, {between.low_hz:.3g} Hz against {sharp}"
    if np.isnan(between.explained):
        return [DifferenceFact(cause, f"{how}, by the settings")]
    return [
        DifferenceFact(
            cause, f"{how}, estimated ({100 * between.explained:.0f} % of the difference at high frequencies)"
        )
    ]


def _smoother_estimate_facts(exchange: Exchange) -> list[DifferenceFact]:
    if exchange.motion_filter is None:
        return []
    which = "second" if exchange.motion_filter[1] else "first"
    return [DifferenceFact(SMOOTHING, f"motion: the {which} is smoother (an estimate has no cut-off)")]


def joint_label(exchange: Exchange, segment: int) -> str:
    """Return the name of the joint of a segment with its side in words."""
    side = SIDE_NAMES.get(exchange.a.sides[segment], "")
    return f"{side} {exchange.a.joints[segment]}".strip()


#: Curves over time, and over 0-100 % of the gait cycle.
Quantity = Literal["angle", "moment", "cycle angle", "cycle moment"]
#: Plane of the torque of a single coordinate.
OF_COORDINATE = "torque"
UNITS: dict[Quantity, str] = {"moment": "Nm", "angle": "deg", "cycle moment": "Nm", "cycle angle": "deg"}
#: Names of the quantities in sentences.
WORDS: dict[Quantity, str] = {
    "moment": "joint moments",
    "angle": "joint angles",
    "cycle moment": "joint moments over the gait cycle",
    "cycle angle": "joint angles over the gait cycle",
}
#: Part of a difference without a cause.
UNEXPLAINED = "unexplained"
#: Least number of common frames.
LEAST_FRAMES = 12
# Difference, as a share of the curve, that counts as zero.
_NOTHING = 1e-6


@dataclass(frozen=True)
class Difference:
    """One quantity of one joint in one plane: the other analysis minus the first.

    Attributes:
        joint, side, plane, quantity: the curve. unit: deg or Nm.
        rms, mean: RMS and mean of the difference over the compared frames. size: RMS of the first curve.
        shares: share of each cause in the mean square of the difference; they add up to 1 including the unexplained share. A
            negative share belongs to a cause that compensates others. Empty for equal curves.
        unexplained_rms: RMS of the unexplained part.
        first, other: (T,) the two curves in `unit`, NaN in frames that are not compared. parts: (T,) part of each cause in
            other - first.
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
    unexplained_rms: float
    first: FloatArray
    other: FloatArray
    parts: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def is_zero(self) -> bool:
        """Return whether the two curves are equal."""
        return self.rms <= _NOTHING * max(self.size, 1.0)

    @property
    def is_coordinate_torque(self) -> bool:
        """Return whether the curve is the torque of a single coordinate, which has no plane."""
        return self.plane == OF_COORDINATE

    @property
    def title(self) -> str:
        """Return the displayed name, e.g. "right hip sagittal moment", "hip_flexion_r torque"."""
        if self.is_coordinate_torque:
            return f"{self.joint} {self.plane}"
        return f"{SIDE_NAMES.get(self.side, '')} {self.joint} {self.plane} {self.quantity}".strip()


def match_analyses(
    a: MovingBody,
    b: MovingBody,
    cutoffs_hz: tuple[float, float] | None = None,
    force_cutoffs_hz: tuple[float, float] | None = None,
) -> Exchange:
    """Return both analyses over their common frames and segments, in the World of the first; ResultError if there are none.

    `cutoffs_hz`, `force_cutoffs_hz`: as in `Exchange`.
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
            f"The two results have {frames.sum()} frames and {len(names)} segments in common, which is not sufficient "
            f"for a comparison.",
            "Compare two analyses of the same file.",
        )
    rate_hz = float((len(a.time_s) - 1) / (a.time_s[-1] - a.time_s[0]))
    both = a.select(names, frames), b.transform_to_world_of(a).select(names, frames)
    return Exchange(*both, rate_hz, cutoffs_hz, force_cutoffs_hz)


def find_differences(exchange: Exchange) -> tuple[Difference, ...]:
    """Return differences of angles and moments of every common joint, with their causes."""
    a, b = exchange.a, exchange.b
    valid = a.valid & b.valid
    result: list[Difference] = []
    for quantity, (parts, first, other) in (("moment", exchange.moment_parts()), ("angle", exchange.angle_parts())):
        scale = np.rad2deg(1.0) if quantity == "angle" else 1.0
        for s in segments_with_moments(a):
            frames = valid[:, s] if quantity == "moment" else np.ones(len(valid), dtype=bool)
            if frames.sum() < LEAST_FRAMES:
                continue
            for plane, name in enumerate(PLANES):
                curves = {cause: scale * part[:, s, plane] for cause, part in parts.items()}
                ends = (scale * first[:, s, plane], scale * other[:, s, plane])
                result.append(curve_difference(a.joints[s], a.sides[s], name, quantity, ends, curves, frames))  # type: ignore[arg-type]
    return tuple(result)


def segments_with_moments(body: MovingBody) -> list[int]:
    """Return the segments with a joint moment in at least one frame."""
    return [s for s in range(len(body.names)) if body.parents[s] >= 0 and body.valid[:, s].any()]


def curve_difference(
    joint: str,
    side: str,
    plane: str,
    quantity: Quantity,
    ends: tuple[FloatArray, FloatArray],
    parts: Mapping[str, FloatArray],
    frames: BoolArray,
) -> Difference:
    """Return the difference of two curves (T,) and the share of each cause in it.

    ends: the two curves. parts: part (T,) of each cause in the difference. frames: mask (T,) of the compared frames.
    """
    first, other = (np.where(frames, end, np.nan) for end in ends)
    known_parts = {cause: np.where(frames, part, np.nan) for cause, part in parts.items()}
    whole = other - first
    rms = float(np.sqrt(np.nanmean(whole**2)))
    size = float(np.sqrt(np.nanmean(first**2)))
    are_equal = rms <= _NOTHING * max(size, 1.0)
    made = {} if are_equal else projected_shares(known_parts, whole)
    rest = whole - sum(known_parts.values(), np.zeros_like(whole))
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
        unexplained_rms=float(np.sqrt(np.nanmean(rest**2))),
        first=first,
        other=other,
        parts=known_parts,
    )


def rename_causes(items: Sequence[Difference], names: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return the differences with renamed causes; causes with the same new name are summed."""
    return tuple(
        replace(
            item,
            shares=_sum_by_name(item.shares, names, 0.0),
            parts=_sum_by_name(item.parts, names, np.zeros_like(item.first)),
        )
        for item in items
    )


def _sum_by_name(values: Mapping[str, Any], names: Mapping[str, str], nothing: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for cause, value in values.items():
        name = names.get(cause, cause)
        made[name] = made.get(name, nothing) + value
    return made


def overall_shares(items: Sequence[Difference], quantity: Quantity) -> dict[str, float]:
    """Return the share of each cause in the differences of all joints and planes, the largest first.

    Curves are weighted by the mean square of their difference.
    """
    selected = [d for d in items if d.quantity == quantity and d.shares]
    square = sum(d.rms**2 for d in selected)
    names = dict.fromkeys(name for name in (*CAUSES, *(n for d in selected for n in d.shares)))
    total = (
        {name: sum(d.rms**2 * d.shares.get(name, 0.0) for d in selected) / square for name in names} if square else {}
    )
    held = {name: share for name, share in total.items() if any(name in d.shares for d in selected)}
    return dict(sorted(held.items(), key=lambda item: -item[1]))


def explained_share(items: Sequence[Difference], quantity: Quantity) -> float:
    """Return the share of the causes in the mean square of all differences of a quantity; NaN without differences."""
    selected = [d for d in items if d.quantity == quantity and d.shares]
    square = sum(d.rms**2 for d in selected)
    return 1.0 - sum(d.unexplained_rms**2 for d in selected) / square if square else float("nan")


# -- differences over the gait cycle ------------------------------------------------------------------------------------
# A curve over 0-100 % is that in time, resampled between two strikes. Let N_a and N_b be the mean over each analysis' own
# cycles. The parts depend on the order of exchange: events before or after all other causes. Each part is the mean over both
# orders (Owen 1977, 10.1007/978-3-642-45494-3_7, with the events as one union and all other causes as the other):
#
#     cause c:   (N_a + N_b) part_c / 2          events:   (N_b - N_a) (first + other) / 2
#
# Both N are linear, so the parts add up to N_b other - N_a first.

# Tolerance of equal events: tables have a resolution of 10 microseconds.
_SAME_S = 1e-4
# Largest time between foot strikes of the same step in two analyses.
_SAME_STEP_S = 0.2
_OF_CYCLES: dict[Quantity, Quantity] = {"angle": "cycle angle", "moment": "cycle moment"}


@dataclass(frozen=True)
class CycleSpan:
    """A gait cycle: side, and times of its foot strikes, s."""

    side: str
    start_s: float
    end_s: float


def spans_differ(first: Sequence[CycleSpan], other: Sequence[CycleSpan]) -> bool:
    """Return whether two analyses have different cycles."""
    if len(first) != len(other):
        return True
    pairs = zip(_sort_spans(first), _sort_spans(other), strict=True)
    return any(a.side != b.side or max(abs(a.start_s - b.start_s), abs(a.end_s - b.end_s)) > _SAME_S for a, b in pairs)


def cycle_differences(
    in_time: Iterable[Difference],
    time_s: FloatArray,
    rate_hz: float,
    first: Sequence[CycleSpan],
    other: Sequence[CycleSpan],
) -> tuple[Difference, ...]:
    """Return differences of mean curves over 0-100 % of the cycles of each analysis, with their causes.

    Parameters:
        in_time: differences at times `time_s` (T,) s, frames at `rate_hz` from 0 s, with gaps.
        first, other: the cycles of the two analyses.

    Empty for equal cycles, because curves over the cycle then contain no new information. Joints without a side are averaged
    over right cycles, or over left cycles without right ones.
    """
    if not spans_differ(first, other):
        return ()
    rows = np.round(np.asarray(time_s) * rate_hz).astype(np.int64)
    result = []
    for item in in_time:
        side = item.side or next((s for s in SIDES if _spans_of_side(first, s) and _spans_of_side(other, s)), "")
        spans = _spans_of_side(first, side), _spans_of_side(other, side)
        if not all(spans) or item.quantity not in _OF_CYCLES:
            continue
        names = list(item.parts)
        curves = np.column_stack([item.first, item.other, *(item.parts[name] for name in names)])
        whole = np.full((int(rows[-1]) + 1, curves.shape[1]), np.nan)
        whole[rows] = curves
        a, b = (_mean_curves(whole, rate_hz, cycles) for cycles in spans)
        known = np.asarray(np.isfinite(a).all(axis=1) & np.isfinite(b).all(axis=1))
        if known.sum() < LEAST_FRAMES:
            continue
        parts = {name: 0.5 * (a[:, 2 + k] + b[:, 2 + k]) for k, name in enumerate(names)}
        parts[EVENTS] = 0.5 * ((b - a)[:, 0] + (b - a)[:, 1])
        ends = a[:, 0], b[:, 1]
        result.append(
            curve_difference(item.joint, item.side, item.plane, _OF_CYCLES[item.quantity], ends, parts, known)
        )
    return tuple(result)


def event_facts(first: Sequence[CycleSpan], other: Sequence[CycleSpan]) -> tuple[DifferenceFact, ...]:
    """Return the time differences of foot strikes of cycles by side, and the number of strikes in only one analysis."""
    result = []
    for side in SIDES:
        a, b = (_strike_times(_spans_of_side(spans, side)) for spans in (first, other))
        nearest = [min(b, key=lambda t, at=at: abs(t - at), default=np.inf) for at in a]  # type: ignore[misc]
        late = np.array([t - at for t, at in zip(nearest, a, strict=True) if abs(t - at) < _SAME_STEP_S])
        words = []
        if len(late) and np.abs(late).max() > _SAME_S:
            mean, most = 1e3 * float(late.mean()), 1e3 * float(np.abs(late).max())
            digits = 0 if most >= 1.0 else 1  # never rounded to zero
            words.append(f"{mean:+.{digits}f} ms on average over {len(late)} strikes, {most:.{digits}f} ms at most")
        alone = ("first", len(a) - len(late)), ("second", len(b) - len(late))
        words += [f"{n} only in the {name} analysis" for name, n in alone if n > 0]
        if words:
            result.append(
                DifferenceFact(EVENTS, f"{SIDE_NAMES[side]} foot strikes of whole cycles: {', '.join(words)}")
            )
    return tuple(result)


def _mean_curves(curves: FloatArray, rate_hz: float, spans: Sequence[CycleSpan]) -> FloatArray:
    """Return the mean curves (101, k) over the cycles `spans` of curves (T, k) in time; all columns have the same gaps."""
    each = np.stack([normalise_to_cycle(curves, rate_hz, span.start_s, span.end_s) for span in spans])
    known = np.asarray(np.isfinite(each).all(axis=2))
    count = known.sum(axis=0)
    total = np.where(known[..., None], each, 0.0).sum(axis=0)
    return np.where(count[:, None] > 0, total / np.maximum(count, 1)[:, None], np.nan)


def _spans_of_side(spans: Sequence[CycleSpan], side: str) -> list[CycleSpan]:
    return [span for span in spans if span.side == side]


def _strike_times(spans: Sequence[CycleSpan]) -> list[float]:
    return sorted({round(t, 6) for span in spans for t in (span.start_s, span.end_s)})


def _sort_spans(spans: Sequence[CycleSpan]) -> list[CycleSpan]:
    return sorted(spans, key=lambda span: (span.side, span.start_s))
