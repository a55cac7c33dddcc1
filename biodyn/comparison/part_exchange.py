"""Exchange parts of two analyses: joint centres, axes, smoothing, fit, forces, contacts, mass, inertias."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from biodyn.comparison.segments import (
    MovingBody,
    SegmentInertias,
    SegmentMotion,
    ground_joint_moments,
    inertial_joint_moments,
    joint_angles,
    resolve_in_planes,
)
from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.rotations import angle_between
from biodyn.model.body_model import smallest_rotation
from biodyn.processing.signals.filtering import finite_stretches

# Tested cut-offs, Hz.
_CUTOFFS_HZ = tuple(float(f) for f in np.geomspace(2.0, 60.0, 36))
_TRIALS = tuple((low, high) for low in _CUTOFFS_HZ for high in (*_CUTOFFS_HZ, np.inf) if high > low)
# Two passes of order 2 are 3 dB down at the cut-off if each is at cut-off / 0.802 (Winter 2009, ch. 3).
_CORRECTION = (2.0**0.5 - 1.0) ** 0.25
# Least share of the difference explained by a filter (threshold of benchmarks/compare_causes.py).
LEAST_EXPLAINED = 0.2
_LEAST_FRAMES = 12
# Relative mean square difference of equal vectors.
_NOTHING = 1e-10


@dataclass(frozen=True)
class RelativeFilter:
    """Relative filter of two signals after Butterworth filters with different cut-offs.

    Attributes:
        low_hz, high_hz: cut-offs of the smoother and of the sharper signal; high_hz is inf without a filter.
        explained: explained share of the squared difference; NaN if the cut-offs are known from the settings.
    """

    low_hz: float
    high_hz: float
    explained: float

    def gain(self, frequency_hz: FloatArray) -> FloatArray:
        """Return the gain (F,) of the filter, from the sharper to the smoother signal, at frequencies (F,) in Hz."""
        return _butterworth_gain(frequency_hz, self.low_hz) / _butterworth_gain(frequency_hz, self.high_hz)

    def filter_signal(self, x: FloatArray, rate_hz: float) -> FloatArray:
        """Return the sharper signal (T, ...) filtered like the smoother one, each interval without NaN separately."""
        columns = np.asarray(x, dtype=np.float64).reshape(len(x), -1)
        filtered = columns.copy()
        for first, stop in finite_stretches(np.asarray(np.isfinite(columns).all(axis=1))):
            if stop - first >= _LEAST_FRAMES:
                filtered[first:stop] = self._filter_interval(columns[first:stop], rate_hz)
        return filtered.reshape(x.shape)

    def _filter_interval(self, x: FloatArray, rate_hz: float) -> FloatArray:
        spectrum, line, frequency_hz = _odd_spectrum(x, rate_hz)
        smooth = np.fft.irfft(spectrum * self.gain(frequency_hz)[:, None], 2 * (len(x) - 1), axis=0)
        return np.asarray(line + smooth[: len(x)])

    def filter_motion(self, motion: SegmentMotion, rate_hz: float) -> SegmentMotion:
        """Return the sharper motion filtered like the smoother one."""
        R = self.filter_signal(motion.R, rate_hz)
        flat = R.reshape(-1, 3, 3)
        finite = np.isfinite(flat).all(axis=(1, 2))
        flat[finite] = Rotation.from_matrix(flat[finite]).as_matrix()
        return SegmentMotion(flat.reshape(R.shape), *(self.filter_signal(part, rate_hz) for part in motion.arrays[1:]))


def filter_from_cutoffs(first_hz: float, second_hz: float) -> tuple[RelativeFilter, bool] | None:
    """Return the filter between two known cut-offs (0 = none) and whether the first is sharper; None for equal cut-offs."""
    first, second = (hz if hz else np.inf for hz in (first_hz, second_hz))
    if first == second:
        return None
    return RelativeFilter(min(first, second), max(first, second), float("nan")), first > second


def estimate_filter(
    sharper: FloatArray, smoother: FloatArray, known: BoolArray, rate_hz: float
) -> RelativeFilter | None:
    """Return the filter that best converts the sharper to the smoother signal, each (T, K, 3); None if none fits well enough.

    All K vectors have the same weight, so that single vectors with jumps do not dominate. `known` (T,): frames to evaluate; every
    sufficiently long interval is used without its ends, because of edge effects of filters.
    """
    # Margin at the ends of an interval with edge effects of a filter.
    end_s = 0.15
    parts: list[tuple[FloatArray, ...]] = []
    ends = round(end_s * rate_hz)
    for first, stop in finite_stretches(known):
        inside = slice(first + ends, stop - ends)
        count = stop - first - 2 * ends
        if count < _LEAST_FRAMES:
            continue
        a, _, frequency_hz = _odd_spectrum(sharper[inside].reshape(count, -1), rate_hz)
        b, _, _ = _odd_spectrum(smoother[inside].reshape(count, -1), rate_hz)
        sums = (np.abs(b) ** 2, (a.conj() * b).real, np.abs(a) ** 2)
        parts.append((frequency_hz, *(_sum_by_vector(values) for values in sums)))
    if not parts:
        return None
    plain = np.sum([(bb - 2 * ab + aa).sum(axis=0) for _, bb, ab, aa in parts], axis=0)
    differs = plain > _NOTHING * np.sum([aa.sum(axis=0) for _, _, _, aa in parts], axis=0)
    if not differs.any():
        return None
    residual = np.sum([_filter_residual(part) for part in parts], axis=0)[:, differs]
    explained = _mean_of_upper_half(np.maximum(1.0 - residual / plain[differs], 0.0))
    best = int(np.argmax(explained))
    return RelativeFilter(*_TRIALS[best], float(explained[best])) if explained[best] >= LEAST_EXPLAINED else None


def estimate_filter_either_way(
    first: FloatArray, second: FloatArray, known: BoolArray, rate_hz: float
) -> tuple[RelativeFilter, bool] | None:
    """Return the filter between two signals (T, K, 3) and whether the first is sharper; None without a filter."""
    candidates = [
        (between, is_first)
        for between, is_first in (
            (estimate_filter(first, second, known, rate_hz), True),
            (estimate_filter(second, first, known, rate_hz), False),
        )
        if between is not None
    ]
    return max(candidates, key=lambda item: item[0].explained, default=None)


def _mean_of_upper_half(explained: FloatArray) -> FloatArray:
    """Return the mean (N,) of the larger half of the values in each row (N, K), which excludes vectors with jumps."""
    ordered = np.sort(explained, axis=1)
    return np.asarray(ordered[:, ordered.shape[1] // 2 :].mean(axis=1))


def _filter_residual(part: tuple[FloatArray, ...]) -> FloatArray:
    """Return the squared residual (N, K) of each of N tested filters for each of K vectors."""
    frequency_hz, bb, ab, aa = part
    gains = np.stack([RelativeFilter(low, high, 0.0).gain(frequency_hz) for low, high in _TRIALS])
    return np.asarray(bb.sum(axis=0) - 2.0 * gains @ ab + gains**2 @ aa)


def _sum_by_vector(values: FloatArray) -> FloatArray:
    return np.asarray(values.reshape(len(values), -1, 3).sum(axis=-1))


def _odd_spectrum(x: FloatArray, rate_hz: float) -> tuple[NDArray[np.complex128], FloatArray, FloatArray]:
    """Return the spectrum of signals (T, K) for filtering, the subtracted lines, and the frequencies in Hz.

    The line through the first and last sample is subtracted and the rest extended as an odd function, to avoid edge effects.
    """
    line = x[0] + np.linspace(0.0, 1.0, len(x))[:, None] * (x[-1] - x[0])
    detrended = x - line
    whole = np.concatenate([detrended, -detrended[-2:0:-1]])
    frequency_hz = np.asarray(np.fft.rfftfreq(len(whole), 1.0 / rate_hz), dtype=np.float64)
    return np.fft.rfft(whole, axis=0), line, frequency_hz


def _butterworth_gain(frequency_hz: FloatArray, cutoff_hz: float) -> FloatArray:
    return np.asarray(1.0 / (1.0 + (_CORRECTION * frequency_hz / cutoff_hz) ** 4))


# -- shares that do not depend on the order of exchange -----------------------------------------------------------------
# The effect of a cause depends on the causes exchanged before it. Its part is the mean effect over all orders (Shapley value,
# Shapley 1953, doi 10.1515/9781400881970-018): the parts add up to the difference, and equal causes have equal parts.


def shapley_parts(
    causes: Sequence[str], value: Callable[[frozenset[str]], FloatArray]
) -> tuple[dict[str, FloatArray], FloatArray, FloatArray]:
    """Return the part of each cause in value(all) - value(none), and both values.

    Parameters:
        causes: n names; `value` is called 2^n times.
        value: the result, of constant shape, with the given causes exchanged.
    """
    n = len(causes)
    none, both = value(frozenset()), value(frozenset(causes))
    parts = {cause: np.zeros_like(none) for cause in causes}
    for size in range(n + 1):
        for names in combinations(causes, size):
            exchanged = frozenset(names)
            result = none if size == 0 else both if size == n else value(exchanged)
            for cause in causes:
                if cause in exchanged:
                    parts[cause] += result / (n * comb(n - 1, size - 1))
                else:
                    parts[cause] -= result / (n * comb(n - 1, size))
    return parts, none, both


def projected_shares(parts: dict[str, FloatArray], whole: FloatArray) -> dict[str, float]:
    """Return the share of each part in the mean square of `whole` by projection; NaN frames are ignored.

    Shares add up to 1 if the parts add up to the whole. A negative share reduces the difference.
    """
    known = np.isfinite(whole)
    square = float(np.sum(whole[known] ** 2))
    if square <= 0.0:
        return dict.fromkeys(parts, float("nan"))
    return {name: float(np.sum(part[known] * whole[known])) / square for name, part in parts.items()}


CENTRES, AXES, SMOOTHING, FIT = "joint centres", "segment axes", "smoothing of motion", "fit of motion"
FORCE_SMOOTHING, CONTACTS, FORCES = "smoothing of forces", "contacts", "ground forces"
MASS, INERTIAS = "body mass", "segment inertias"
#: Name of the cause "smoothing of motion" if one of the analyses is an estimate of motion and forces.
ESTIMATED = "estimate instead of a filter"
EVENTS = "gait events"
#: All causes, in the order of tables.
CAUSES = (CENTRES, AXES, SMOOTHING, ESTIMATED, FIT, FORCE_SMOOTHING, CONTACTS, FORCES, MASS, INERTIAS, EVENTS)
_OF_MOTION = (CENTRES, AXES, SMOOTHING, FIT)
_OF_FORCES = (FORCE_SMOOTHING, CONTACTS, FORCES)
_OF_BODY = (MASS, INERTIAS)

# Force of a loaded foot.
_LOADED_N = 20.0
# Tolerance of equal values.
_SAME = 1e-9


@dataclass(frozen=True)
class Exchange:
    """Exchange of parts between two analyses of the same frames and segments in the same World: `a` (first) and `b` (other).

    rate_hz: frames per second. cutoffs_hz, force_cutoffs_hz: cut-offs of a's and b's Butterworth filters of motion and
    forces, 0 = no filter; None if they are unknown, so that the relative filter is estimated.
    """

    a: MovingBody
    b: MovingBody
    rate_hz: float
    cutoffs_hz: tuple[float, float] | None = None
    force_cutoffs_hz: tuple[float, float] | None = None

    # -- geometry: segments of one analysis relative to the other ---------------------------------------------------

    @cached_property
    def mean_rotation(self) -> FloatArray:
        """Return the mean axes (S, 3, 3) of b's segments in the axes of a's segments."""
        return np.stack(
            [
                _mean_rotation(np.swapaxes(self.a.motion.R[:, s], 1, 2) @ self.b.motion.R[:, s])
                for s in self._segment_indices
            ]
        )

    @cached_property
    def centre_offset(self) -> FloatArray:
        """Return the mean offset (S, 3) m of b's joint centres from a's, in the axes of a's segments."""
        apart = self.b.motion.p - self.a.motion.p
        return np.asarray(np.nanmean(np.einsum("tsji,tsj->tsi", self.a.motion.R, apart), axis=0))

    @cached_property
    def rotation_from_centres(self) -> FloatArray:
        """Return the part (S, 3, 3) of `mean_rotation` that is caused by different joint centres.

        The long axis of many segments connects two joint centres. For other segments the part is the identity.
        """
        # Largest angle between an axis and the line between joint centres that defines it.
        along_rad = np.deg2rad(2.0)
        turns = np.broadcast_to(np.eye(3), (len(self._segment_indices), 3, 3)).copy()
        for s in self._segment_indices:
            for child in (c for c in self._segment_indices if self.a.parents[c] == s):
                line_a = _segment_direction(self.a.motion, s, child)
                line_b = self.mean_rotation[s] @ _segment_direction(self.b.motion, s, child)
                if angle_between(
                    _segment_direction(self.b.motion, s, child), np.array([0.0, -1.0, 0.0])
                ) < along_rad and (angle_between(line_a, np.array([0.0, -1.0, 0.0])) < along_rad):
                    turns[s] = smallest_rotation(line_a, line_b)
        return turns

    @property
    def _segment_indices(self) -> range:
        return range(len(self.a.names))

    # -- motion -------------------------------------------------------------------------------------------------------

    @cached_property
    def _motion_of_b_with_geometry_of_a(self) -> SegmentMotion:
        """Return the motion of b with the joint centres and axes of a."""
        unturned = replace(self.b.motion, R=self.b.motion.R @ np.swapaxes(self.mean_rotation, 1, 2))
        return unturned.offset_origins(-self.centre_offset)

    @cached_property
    def motion_filter(self) -> tuple[RelativeFilter, bool] | None:
        """Return the relative filter of the motions and whether a is sharper; None without a filter."""
        if self.cutoffs_hz is not None:
            return filter_from_cutoffs(*self.cutoffs_hz)
        a, b = (_origin_accelerations(motion) for motion in (self.a.motion, self._motion_of_b_with_geometry_of_a))
        return estimate_filter_either_way(a, b, self.a.known & self.b.known, self.rate_hz)

    @cached_property
    def _motions(self) -> dict[frozenset[str], SegmentMotion]:
        """Return the motions with the joint centres and axes of a, by the exchanged causes among smoothing and fit."""
        a, b, between = self.a.motion, self._motion_of_b_with_geometry_of_a, self.motion_filter
        motions = {frozenset[str](): a, frozenset((SMOOTHING, FIT)): b}
        if between is None:
            return motions | {frozenset((SMOOTHING,)): a, frozenset((FIT,)): b}
        low, a_is_sharper = between
        sharp = a if a_is_sharper else b
        smooth = low.filter_motion(sharp, self.rate_hz)
        if a_is_sharper:
            return motions | {frozenset((SMOOTHING,)): smooth, frozenset((FIT,)): _add_smoothing_change(b, smooth, a)}
        return motions | {frozenset((SMOOTHING,)): _add_smoothing_change(a, smooth, b), frozenset((FIT,)): smooth}

    def motion_with(self, exchanged: frozenset[str]) -> SegmentMotion:
        """Return the motion of a with the parts `exchanged` taken from b."""
        result = self._motions[exchanged & {SMOOTHING, FIT}]
        if CENTRES in exchanged:
            result = result.offset_origins(self.centre_offset)
        turn = np.broadcast_to(np.eye(3), self.mean_rotation.shape)
        rest = np.swapaxes(self.rotation_from_centres, 1, 2) @ self.mean_rotation
        if CENTRES in exchanged:
            turn = turn @ self.rotation_from_centres
        if AXES in exchanged:
            turn = turn @ rest
        return replace(result, R=result.R @ turn)

    # -- forces and body ----------------------------------------------------------------------------------------------

    @cached_property
    def _contact_differences(self) -> BoolArray:
        """Return a mask (T, S) of the frames in which a foot is loaded in only one analysis, longer than a filter can
        explain."""
        flank_s = 0.1  # longest difference of contact caused by a filter
        loaded = [np.linalg.norm(body.wrench[..., 3:], axis=-1) > _LOADED_N for body in (self.a, self.b)]
        apart = loaded[0] ^ loaded[1]
        long = np.zeros_like(apart)
        for s in self._segment_indices:
            for first, stop in finite_stretches(apart[:, s]):
                long[first:stop, s] = stop - first > flank_s * self.rate_hz
        return long

    @cached_property
    def force_filter(self) -> tuple[RelativeFilter, bool] | None:
        """Return the relative filter of the ground forces and whether a is sharper; None without a filter."""
        if self.force_cutoffs_hz is not None:
            return filter_from_cutoffs(*self.force_cutoffs_hz)
        same = ~self._contact_differences
        a, b = (body.wrench[..., 3:] * same[..., None] for body in (self.a, self.b))
        return estimate_filter_either_way(a, b, self.a.known & self.b.known, self.rate_hz)

    @cached_property
    def _force_smoothing_change(self) -> FloatArray:
        """Return the change (T, S, 6) of a's ground wrench if it is smoothed as in b."""
        if self.force_filter is None:
            return np.zeros_like(self.a.wrench)
        low, a_is_sharper = self.force_filter
        sharp = self.a.wrench if a_is_sharper else self.b.wrench
        change = low.filter_signal(sharp, self.rate_hz) - sharp
        return change if a_is_sharper else -change

    def wrench_with(self, exchanged: frozenset[str]) -> FloatArray:
        """Return the ground wrenches (T, S, 6) of a with the parts `exchanged` taken from b."""
        whole = self.b.wrench - self.a.wrench
        only_one = self._contact_differences[..., None]
        smoothing = np.where(only_one, 0.0, self._force_smoothing_change)
        result = self.a.wrench.copy()
        if FORCE_SMOOTHING in exchanged:
            result += smoothing
        if CONTACTS in exchanged:
            result += np.where(only_one, whole, 0.0)
        if FORCES in exchanged:
            result += np.where(only_one, 0.0, whole - smoothing)
        return result

    def inertias_with(self, exchanged: frozenset[str]) -> SegmentInertias:
        """Return the segment inertias of a with the body mass or the mass distribution of b, if `exchanged` contains them."""
        a, b = self.a.inertias, self.b.inertias
        factor = self.b.mass_kg / self.a.mass_kg
        result = b.scale_mass(1.0 / factor) if INERTIAS in exchanged else a
        return result.scale_mass(factor) if MASS in exchanged else result

    # -- the difference in parts --------------------------------------------------------------------------------------

    def moment_parts(self) -> tuple[dict[str, FloatArray], FloatArray, FloatArray]:
        """Return the part (T, S, 3) Nm of each cause in the joint moments b - a by plane, and the moments of a and b."""
        a = self.a

        def segment_moments(exchanged: frozenset[str]) -> FloatArray:
            motion = self.motion_with(exchanged)
            moment = inertial_joint_moments(motion, self.inertias_with(exchanged), a.gravity_W, a.is_distal)
            return resolve_in_planes(moment, motion, a.parents)

        def ground_moments(exchanged: frozenset[str]) -> FloatArray:
            motion = self.motion_with(exchanged)
            moment = ground_joint_moments(motion, self.wrench_with(exchanged), a.is_distal)
            return resolve_in_planes(moment, motion, a.parents)

        return _sum_parts(
            shapley_parts(self._differing_causes(*_OF_MOTION, *_OF_BODY), segment_moments),
            shapley_parts(self._differing_causes(*_OF_MOTION, *_OF_FORCES), ground_moments),
        )

    def angle_parts(self) -> tuple[dict[str, FloatArray], FloatArray, FloatArray]:
        """Return the part (T, S, 3) rad of each cause in the joint angles b - a by plane, and the angles of a and b."""
        return shapley_parts(
            self._differing_causes(*_OF_MOTION), lambda parts: joint_angles(self.motion_with(parts), self.a.parents)
        )

    def _differing_causes(self, *causes: str) -> list[str]:
        """Return those of the given causes in which the two analyses differ."""
        return [cause for cause in causes if self._is_different(cause)]

    def _is_different(self, cause: str) -> bool:
        if cause == CENTRES:
            return bool(np.abs(self.centre_offset).max() > _SAME)
        if cause == AXES:
            return bool(np.abs(self.mean_rotation - self.rotation_from_centres).max() > _SAME)
        if cause == SMOOTHING:
            return self.motion_filter is not None
        if cause == FIT:
            return not _are_motions_equal(self._motions[frozenset((SMOOTHING,))], self._motion_of_b_with_geometry_of_a)
        if cause in _OF_FORCES:
            return bool(np.abs(self.wrench_with(frozenset((cause,))) - self.a.wrench).max() > _SAME)
        changed = self.inertias_with(frozenset((cause,)))
        original = self.a.inertias
        pairs = ((changed.mass, original.mass), (changed.com, original.com), (changed.tensor, original.tensor))
        return any(bool(np.abs(x - y).max() > _SAME) for x, y in pairs)


_Parts = tuple[dict[str, FloatArray], FloatArray, FloatArray]


def _sum_parts(first: _Parts, second: _Parts) -> _Parts:
    """Return the sum of two results of `shapley_parts`: the parts by cause, and both values."""
    causes = [cause for cause in CAUSES if cause in first[0] or cause in second[0]]
    zero = np.zeros_like(first[1])
    parts = {cause: first[0].get(cause, zero) + second[0].get(cause, zero) for cause in causes}
    return parts, first[1] + second[1], first[2] + second[2]


def _origin_accelerations(motion: SegmentMotion) -> FloatArray:
    return np.concatenate([motion.a, motion.alpha], axis=1)


def _add_smoothing_change(motion: SegmentMotion, smooth: SegmentMotion, sharp: SegmentMotion) -> SegmentMotion:
    """Return a motion plus the difference `sharp` minus `smooth`, a motion before and after smoothing."""
    arrays = (m.arrays[1:] for m in (motion, sharp, smooth))
    added = [value + high - low for value, high, low in zip(*arrays, strict=True)]
    return SegmentMotion(motion.R @ np.swapaxes(smooth.R, -1, -2) @ sharp.R, *added)


def _are_motions_equal(first: SegmentMotion, second: SegmentMotion) -> bool:
    return all(bool(np.nanmax(np.abs(x - y)) <= _SAME) for x, y in zip(first.arrays, second.arrays, strict=True))


def _mean_rotation(R: FloatArray) -> FloatArray:
    known = np.isfinite(R).all(axis=(1, 2))
    return np.asarray(Rotation.from_matrix(R[known]).mean().as_matrix())


def _segment_direction(motion: SegmentMotion, segment: int, child: int) -> FloatArray:
    """Return the mean direction (3,) from the origin of a segment to the origin of its child, in its axes."""
    apart = motion.p[:, child] - motion.p[:, segment]
    mean = np.nanmean(np.einsum("tji,tj->ti", motion.R[:, segment], apart), axis=0)
    return np.asarray(mean / np.linalg.norm(mean))
