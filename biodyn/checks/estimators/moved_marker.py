"""Detection of a marker that moved on its segment between static trial and walk, by fits without the marker.

A moved marker displaces the whole fitted segment, so that its error is small and the errors of its neighbours increase. In a
fit without this marker the other markers agree, and its offset on the segment is constant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.points import rigid_fit
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.recording import Markers
from biodyn.rigid_body import body_poses, inverse_kinematics

_FRAMES = 20
_CANDIDATES = 6
# Largest spread of the offset, as a fraction of the offset.
_SPREAD = 0.6
# Largest change of distance between markers of a segment; bending of shoes and toes changes it by up to 12 mm, skin by less.
_STRETCH_M = 0.015
_BENDING = 0.5


@dataclass(frozen=True)
class MarkerOffset:
    """Offset (3,) m of a marker in segment axes, its spread (m), and its fraction of the squared error."""

    label: str
    body: str
    offset_m: FloatArray
    spread_m: float
    share: float


def find_moved_marker(
    fit: Fit, markers: Markers, static: Mapping[str, FloatArray], soft: Collection[str], limit_m: float
) -> tuple[Diagnostic, ...]:
    """Report the marker that moved by more than `limit_m` since the static trial.

    `static`: (3,) m by label; `soft`: labels on deformable parts, which are excluded from the check of distances.
    """
    wanders = 2.0  # largest offset of other candidates, relative to the first
    # ... and largest fraction of it for any other marker.
    second_best = 0.75
    # Least fraction of the total squared error that the fit without the marker removes ...
    least_share = 0.30
    candidates = marker_offsets(fit, markers)
    if not candidates:
        return ()
    first, rest = candidates[0], candidates[1:]
    size = float(np.linalg.norm(first.offset_m))
    # Large offsets are ignored, because a coordinate determined by one marker only is undetermined without it.
    rivals = [item.share for item in rest if np.linalg.norm(item.offset_m) < wanders * size]
    if (
        size < limit_m
        or first.spread_m > _SPREAD * size
        or first.share < least_share
        or (rivals and max(rivals) > second_best * first.share)
    ):
        return _find_changed_distances(fit, markers, static, soft, candidates)
    return (
        Diagnostic(
            "marker-moved",
            "warning",
            f"Marker {first.label} is {1000 * size:.0f} mm from its calibrated position on {first.body} during the "
            f"whole walk (spread {1000 * first.spread_m:.0f} mm). Without this marker the squared error of the "
            f"other markers decreases by {100 * first.share:.0f} %. Nothing was changed.",
            value=size,
            limit=limit_m,
            unit="m",
            hint="The marker was replaced or touched. Record a new static trial, or set its weight to 0 in "
            "[inverse_kinematics.marker_weights].",
        ),
    )


def find_slipped_pelvis(fit: Fit, markers: Markers, stride_s: float, limit_m: float = 0.01) -> tuple[Diagnostic, ...]:
    """Report a pelvis cluster that slips during the walk, so that its hip centres shift relative to both thighs at the same
    time.

    The distance from the hip centre (from the pelvis markers alone) to the distal thigh markers is constant. Skin movement of
    the two legs is opposite in walking, so that the mean over both legs and half a stride changes by less than 5 mm in 17 valid
    walks.
    """
    distal_m = 0.25  # fraction of the thigh length beyond which thigh markers are near the knee
    model, root = fit.model, fit.model.skeleton.root.name
    pelvis = [marker for marker in model.markers if marker.body == root and marker.label in markers.labels]
    window = round(0.5 * stride_s * markers.rate_hz) if np.isfinite(stride_s) else 0
    if len(pelvis) < 3 or window < 1:
        return ()
    points = markers.positions[:, [markers.labels.index(marker.label) for marker in pelvis]]
    seen = np.isfinite(points).all(axis=(1, 2))
    R, p = np.full((len(points), 3, 3), np.nan), np.full((len(points), 3), np.nan)
    R[seen], p[seen] = rigid_fit(np.array([marker.p_BM for marker in pelvis]), points[seen])
    changes: dict[str, list[FloatArray]] = {}
    for body in model.moving_segments:
        if body.definition.parent != root or not body.definition.side:
            continue
        hip = p + R @ body.p_PB
        for marker in model.markers:
            length = float(np.linalg.norm(marker.p_BM))
            if marker.body == body.definition.name and marker.label in markers.labels and length > distal_m:
                path = markers.positions[:, markers.labels.index(marker.label)]
                changes.setdefault(body.definition.side, []).append(np.linalg.norm(path - hip, axis=1) - length)
    if len(changes) < 2:
        return ()
    stretch = np.mean([np.mean(sides, axis=0) for sides in changes.values()], axis=0)
    sums = np.concatenate([[0.0], np.cumsum(np.nan_to_num(stretch))])
    known = np.concatenate([[0], np.cumsum(np.isfinite(stretch))])
    at = np.arange(window, len(stretch) - window)
    whole = (known[at + window] - known[at - window]) == 2 * window
    if not whole.any():
        return ()
    step = np.where(whole, (sums[at + window] - 2.0 * sums[at] + sums[at - window]) / window, 0.0)
    best = int(np.argmax(np.abs(step)))
    size = float(abs(step[best]))
    if size < limit_m:
        return ()
    time_s = float(at[best] / markers.rate_hz)
    return (
        Diagnostic(
            "marker-moved",
            "warning",
            f"The pelvis markers ({', '.join(marker.label for marker in pelvis)}) slip by about {1000 * size:.0f} mm relative to "
            f"both thighs at {time_s:.2f} s. Hip and knee results after this time are wrong. Nothing was changed.",
            value=size,
            limit=limit_m,
            unit="m",
            frames=(int(at[best]), len(stretch) - 1),
            hint="A belt or a bar slipped. Fix the markers to the skin, and use only the walk before this time.",
        ),
    )


def report_other_person(
    fit: Fit, markers: Markers, static: Mapping[str, FloatArray], soft: Collection[str]
) -> tuple[Diagnostic, ...]:
    """Report a static trial in which the marker distances of most segments differ, because of another person or another
    scale."""
    # The median is at most 0.015 in 17 valid walks, and 0.07 to 0.10 for static trials of other people.
    limit, fewest, shortest_m = 0.035, 6, 0.05
    same_sign = 0.85  # least fraction of changes with the same sign for a scale error
    pairs = _pair_distances(fit, markers, static, soft)
    change = np.log([float(np.median(distance)) / length for _, length, distance in pairs if length >= shortest_m])
    size = float(np.median(np.abs(change))) if len(change) >= fewest else 0.0
    if size < limit:
        return ()
    factor = float(np.exp(np.median(change)))
    is_scale = max(np.mean(change > 0.0), np.mean(change < 0.0)) >= same_sign
    cause = (
        f"all lengths of the walk are about {factor:.2f} times those of the static trial (unit or calibration of the cameras, or "
        "a person of another size)"
        if is_scale
        else "it is of another person, or has another marker set"
    )
    return (
        Diagnostic(
            "static-doubtful",
            "error",
            "The static trial does not agree with the walk: distances between markers of a segment differ by "
            f"{100 * size:.0f} % (median of {len(change)}); {cause}. Nothing was changed.",
            value=size,
            limit=limit,
            hint="Specify the static trial of this person and day with --static.",
        ),
    )


def _pair_distances(
    fit: Fit, markers: Markers, static: Mapping[str, FloatArray], soft: Collection[str], every: int = 1
) -> Iterator[tuple[tuple[str, str], float, FloatArray]]:
    """Yield labels, distance (m) in the static trial, and known distances (m) of the markers of a segment, pair by pair."""
    positions = dict(zip(markers.labels, markers.positions[::every].swapaxes(0, 1), strict=True))
    rigid_markers = [m for m in fit.model.markers if m.label in static and m.label not in soft and m.label in positions]
    for first, other in combinations(rigid_markers, 2):
        if first.body == other.body:
            distance = np.linalg.norm(positions[first.label] - positions[other.label], axis=1)
            distance = distance[np.isfinite(distance)]
            if len(distance) >= _FRAMES:
                length = float(np.linalg.norm(static[first.label] - static[other.label]))
                yield (first.label, other.label), length, distance


def _find_changed_distances(
    fit: Fit,
    markers: Markers,
    static: Mapping[str, FloatArray],
    soft: Collection[str],
    candidates: Sequence[MarkerOffset],
) -> tuple[Diagnostic, ...]:
    """Report a marker with other distances on its segment than in the static trial."""
    distances = 80  # frames used for distances
    changes: dict[str, list[float]] = {}
    every = max(markers.frame_count // distances, 1)
    for labels, length, distance in _pair_distances(fit, markers, static, soft, every):
        middle = float(np.median(distance))
        change = middle - length
        # 80th percentile, because a marker swapped for a part of the walk is another fault
        bending = float(np.percentile(np.abs(distance - middle), 80))
        if abs(change) > _STRETCH_M and bending < _BENDING * abs(change):
            for label in labels:
                changes.setdefault(label, []).append(abs(change))
    if not changes:
        return ()
    most = max(len(values) for values in changes.values())
    names = [label for label, values in changes.items() if len(values) == most]
    # The distance of a single pair is ambiguous; the marker with the larger effect on the fit is listed first.
    relief = {item.label: item.share for item in candidates}
    names.sort(key=lambda label: -relief.get(label, 0.0))
    change = max(max(changes[label]) for label in names)
    return (
        Diagnostic(
            "marker-moved",
            "warning",
            f"Marker {' or '.join(names)} moved on its segment after the calibration: its distance to another "
            f"marker differs by {1000 * change:.0f} mm during the whole walk. Nothing was changed.",
            value=change,
            limit=_STRETCH_M,
            unit="m",
            hint="The marker was replaced or touched. Record a new static trial.",
        ),
    )


def marker_offsets(fit: Fit, markers: Markers) -> list[MarkerOffset]:
    """Return the offsets of candidate markers, computed by fits without each of them, in order of decreasing effect."""
    model = fit.model
    links, p_LM, weights = model.marker_arrays()
    lower, upper = model.coordinate_limits()
    columns = [markers.labels.index(marker.label) for marker in model.markers]
    p_WM = markers.positions[:, columns]
    whole = np.flatnonzero(fit.solved)
    if len(whole) < _FRAMES:
        return []
    rows = whole[np.linspace(0, len(whole) - 1, _FRAMES).astype(int)]
    seen = p_WM[rows]
    residual = _marker_residual(*fit.link_poses(rows), links, p_LM, seen)
    base = float(np.nansum(weights * np.nansum(residual**2, axis=2)))
    known = np.isfinite(residual[..., 0])
    enough = known.sum(axis=0) >= _FRAMES // 2
    mean = np.where(known[..., None], residual, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)[:, None]
    pull = np.where(enough, np.linalg.norm(mean, axis=1) * np.sqrt(weights), 0.0)
    candidates = []
    for column in np.argsort(-pull)[:_CANDIDATES]:
        if pull[column] == 0.0:
            continue
        without = weights.copy()
        without[column] = 0.0
        solution = inverse_kinematics(
            model.multibody, links, p_LM, seen, without, lower, upper, q0=fit.motion.q[rows[0]]
        )
        solved = np.asarray(np.isfinite(solution.q).all(axis=1))
        if solved.sum() < _FRAMES // 2:
            continue
        R, p = body_poses(model.multibody, np.where(solved[:, None], solution.q, model.multibody.neutral_q()))
        residual_without = _marker_residual(R, p, links, p_LM, seen)
        residual_without[~solved] = np.nan
        cost = float(np.nansum(without * np.nansum(residual_without**2, axis=2)))
        marker_residual = residual_without[np.isfinite(residual_without[:, column, 0]), column]
        offset = marker_residual.mean(axis=0)
        spread = float(np.sqrt(np.mean(np.sum((marker_residual - offset) ** 2, axis=1))))
        marker = model.markers[column]
        candidates.append(MarkerOffset(marker.label, marker.body, offset, spread, 1.0 - cost / base))
    return sorted(candidates, key=lambda item: item.share, reverse=True)


def _marker_residual(R: FloatArray, p: FloatArray, links: np.ndarray, p_LM: FloatArray, p_WM: FloatArray) -> FloatArray:
    """Return measured minus model position of each marker in link axes (T, M, 3) m."""
    model = np.einsum("tmij,mj->tmi", R[:, links], p_LM) + p[:, links]
    result: FloatArray = np.einsum("tmji,tmj->tmi", R[:, links], p_WM - model)
    return result
