"""Gap filling of marker trajectories up to given limits; longer gaps are not filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.interpolate import make_interp_spline

from biodyn.conventions import BoolArray, FloatArray
from biodyn.geometry.points import all_finite, lengths, rigid_fit
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.recording import Markers

# Least distance of a spike from the median of the neighbouring frames (not reached in walking at 60 Hz or more).
SPIKE_M = 0.03
# Number of frames of the median.
_WINDOW = 5


def remove_spikes(markers: Markers, off: FloatArray | None = None) -> Markers:
    """Return the markers without positions of single frames in which a marker jumps away and back.

    They are removed before filtering, which would spread them. off: `distance_from_median` (T, M) of the markers, if known.
    """
    off = distance_from_median(markers) if off is None else off
    jumped = off > spike_limit_m(off, markers.rate_hz)
    if not jumped.any():
        return markers
    return replace(markers, positions=np.where(jumped[..., None], np.nan, markers.positions))


def spike_limit_m(off: FloatArray, rate_hz: float) -> FloatArray:
    """Return the distance (M,) m from the median of its neighbours above which a position is a spike.

    off: (T, M) m, `distance_from_median`.
    """
    # At lower rates: largest acceleration of a foot that reverses its direction, m/s2; and multiple of the usual
    # distance of a noisy marker.
    turning_m_s2, noise = 100.0, 6.0
    usual = np.median(off, axis=0) if len(off) else np.zeros(off.shape[1])
    return np.asarray(np.maximum(max(SPIKE_M, turning_m_s2 / rate_hz**2), noise * usual))


def distance_from_median(markers: Markers) -> FloatArray:
    """Return the distance (T, M) m of every marker from the median of its positions in five frames; 0 next to a gap."""
    p = markers.positions
    half = _WINDOW // 2
    off = np.zeros(p.shape[:2])
    if len(p) < _WINDOW:
        return off
    away = lengths(p[half : len(p) - half] - median_of_five(p))
    off[half : len(p) - half] = np.where(np.isnan(away), 0.0, away)
    return off


def median_of_five(p: FloatArray) -> FloatArray:
    """Return the running median (T - 4, ...) over five consecutive rows of p (T, ...); NaN where one of the rows is NaN."""
    a, b, c, d, e = (p[k : len(p) - _WINDOW + 1 + k] for k in range(_WINDOW))
    # after removal of the smallest and the largest of two pairs: median of the two others and the fifth
    low = np.maximum(np.minimum(a, b), np.minimum(c, d))
    high = np.minimum(np.maximum(a, b), np.maximum(c, d))
    median: FloatArray = np.maximum(np.minimum(low, high), np.minimum(np.maximum(low, high), e))
    return median


GapMethod = Literal["spline", "rigid", "left"]
# Largest and least number of frames on either side that the spline uses; nothing is extrapolated.
NEIGHBOURS = 10
# Least number of markers of a pose, and their least extent across their longest line (second singular value).
MIN_MARKERS = 3


@dataclass(frozen=True)
class Gap:
    """Run of frames without a marker, first to last inclusive, and the method by which it was filled."""

    marker: int
    first: int
    last: int
    method: GapMethod


@dataclass(frozen=True)
class GapFilling:
    """Trajectories with filled gaps.

    Attributes:
        positions: (T, M, 3) m; NaN where a gap stays open.
        record: every gap, by marker and time.
        filled: (T, M) bool, True for interpolated positions.
    """

    positions: FloatArray
    record: list[Gap]
    filled: BoolArray


def fill_gaps(
    p_WM: FloatArray, rate_hz: float, groups: Sequence[tuple[int, ...]], spline_gap_s: float, rigid_gap_s: float
) -> GapFilling:
    """Fill short gaps by a spline and medium gaps from the other markers of the segment; long gaps stay open.

    Args:
        p_WM: (T, M, 3) m, unfiltered; a frame with any NaN component is missing.
        rate_hz: frames per second.
        groups: column numbers of the markers of each segment; a marker is in at most one group.
        spline_gap_s: longest gap filled by a cubic spline through the neighbouring frames; not used for gaps at the ends.
        rigid_gap_s: longest gap filled by rigid registration of at least three other markers of the segment that are visible
            (or filled by a spline) throughout. The offset of the marker in the segment changes linearly between the edges of
            the gap; at the ends of the trial it is the offset at the only edge.
    """
    seen = all_finite(p_WM)
    if seen.all():
        return GapFilling(p_WM, [], ~seen)  # not copied
    positions = np.array(p_WM, dtype=np.float64)
    positions[~seen] = np.nan
    splined, open_gaps = _fill_by_splines(positions, seen, round(spline_gap_s * rate_hz))
    mates = {marker: [m for m in group if m != marker] for group in groups for marker in group}
    # Registration uses visible markers and markers filled by a spline, but not those filled by registration.
    base = splined.copy()
    record: list[Gap] = []
    for gap in open_gaps:
        if gap.method == "left" and gap.last - gap.first + 1 <= round(rigid_gap_s * rate_hz):
            path = _path_from_segment_pose(base, gap, mates.get(gap.marker, []))
            if path is not None:
                splined[gap.first : gap.last + 1, gap.marker] = path
                gap = Gap(gap.marker, gap.first, gap.last, "rigid")
        record.append(gap)
    return GapFilling(splined, record, ~seen & all_finite(splined))


def _fill_by_splines(positions: FloatArray, seen: BoolArray, limit: int) -> tuple[FloatArray, list[Gap]]:
    """Fill every gap of at most `limit` frames; return the positions, and all gaps; unfilled gaps have the method `left`."""
    min_neighbours = 2
    filled = positions.copy()
    gaps: list[Gap] = []
    for marker in range(positions.shape[1]):
        frames = np.flatnonzero(seen[:, marker])
        for first, stop in finite_stretches(~seen[:, marker]):
            method: GapMethod = "left"
            before = frames[(frames < first) & (frames >= first - NEIGHBOURS)]
            after = frames[(frames >= stop) & (frames < stop + NEIGHBOURS)]
            if stop - first <= limit and min(len(before), len(after)) >= min_neighbours:
                known = np.concatenate([before, after])
                spline = make_interp_spline(known, positions[known, marker], k=3)
                filled[first:stop, marker] = spline(np.arange(first, stop))
                method = "spline"
            gaps.append(Gap(marker, first, stop - 1, method))
    return filled, gaps


def _path_from_segment_pose(positions: FloatArray, gap: Gap, mates: Sequence[int]) -> FloatArray | None:
    """Return the path (n, 3) m of a marker through a gap from the pose of its segment; None where the pose is unknown."""
    min_spread_m = 0.01
    frames = len(positions)
    edges = [frame for frame in (gap.first - 1, gap.last + 1) if 0 <= frame < frames]
    edges = [frame for frame in edges if np.isfinite(positions[frame, gap.marker]).all()]
    if not edges:
        return None
    rows = np.arange(min([*edges, gap.first]), max([*edges, gap.last]) + 1)
    usable = [mate for mate in mates if np.isfinite(positions[rows, mate]).all()]
    if len(usable) < MIN_MARKERS:
        return None
    shape = positions[edges[0], usable]
    if np.linalg.svd(shape - shape.mean(axis=0), compute_uv=False)[1] < min_spread_m:
        return None
    R, p = rigid_fit(shape, positions[rows][:, usable])
    ends = [int(edge - rows[0]) for edge in edges]
    offsets = [R[k].T @ (positions[edge, gap.marker] - p[k]) for k, edge in zip(ends, edges, strict=True)]
    inside = np.arange(gap.first, gap.last + 1) - rows[0]
    share = (inside - ends[0]) / (ends[-1] - ends[0]) if len(ends) == 2 else np.zeros(len(inside))
    offset = offsets[0] + share[:, None] * (offsets[-1] - offsets[0])
    return np.einsum("tij,tj->ti", R[inside], offset) + p[inside]
