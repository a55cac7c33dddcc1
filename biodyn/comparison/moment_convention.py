"""Convert joint moments of laboratory software, and reconstruct its analysis from the segments in the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from biodyn.comparison.part_exchange import RelativeFilter, estimate_filter_either_way, shapley_parts
from biodyn.comparison.segments import MovingBody, SegmentInertias, SegmentMotion
from biodyn.conventions import AXES, BoolArray, FloatArray
from biodyn.library.tables import expand_sides
from biodyn.library.toml_files import load_table
from biodyn.processing.dynamics.inverse_dynamics import joint_coordinate_axes
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.plate_wrenches import plate_wrench, resample_wrench
from biodyn.recording import Contact, Recording


@dataclass(frozen=True)
class MomentConvention:
    """Convention of the three components (sagittal, frontal, transverse) of a stored joint moment.

    Attributes:
        unit: Nm, Nmm, Nm/kg, Nmm/kg. frame: frame of the axes: proximal, distal, world, jcs. axes: axis of the frame for each
            component. signs: sign of each component.
    """

    unit: str
    frame: str
    axes: tuple[str, str, str]
    signs: tuple[int, int, int]


def unit_factors_to_nm(mass_kg: float) -> dict[str, float]:
    """Return the factor from each unit of joint moments to Nm."""
    return {"Nmm/kg": 1e-3 * mass_kg, "Nm/kg": mass_kg, "Nm": 1.0, "Nmm": 1e-3}


def expected_convention(entry: Mapping[str, Any], side: str) -> MomentConvention:
    """Return the usual convention of a channel, as stated in the table of laboratory software."""
    signs = entry["signs"]
    if entry.get("mirrored") and side == "l":
        signs = [signs[0], -signs[1], -signs[2]]
    axes = entry["axes"]
    return MomentConvention(
        entry["unit"], entry["frame"], (axes[0], axes[1], axes[2]), (int(signs[0]), int(signs[1]), int(signs[2]))
    )


def frame_axes(frame: str, motion: SegmentMotion, parent: int, segment: int) -> FloatArray:
    """Return the axes (T, 3, 3) in World, as columns, of one of the frames in which a joint moment can be expressed."""
    if frame == "world":
        return np.broadcast_to(np.eye(3), motion.R[:, segment].shape)
    if frame == "jcs":
        return joint_coordinate_axes(motion.R[:, parent], motion.R[:, segment])
    return motion.R[:, parent if frame == "proximal" else segment]


def moment_from_channel(channel: FloatArray, axes: FloatArray, writing: MomentConvention, mass_kg: float) -> FloatArray:
    """Convert a channel of a file to a moment (T, 3) Nm in World; `axes`: (T, 3, 3) axes of the frame of this convention."""
    values = channel * writing.signs * unit_factors_to_nm(mass_kg)[writing.unit]
    components = np.empty_like(values)
    components[:, [AXES.index(axis) for axis in writing.axes]] = values
    moment = np.full_like(components, np.nan)
    known = np.isfinite(components).all(axis=1) & np.isfinite(axes).all(axis=(1, 2))
    moment[known] = np.linalg.solve(np.swapaxes(axes[known], 1, 2), components[known][..., None])[..., 0]
    return moment


# -- the analysis of a laboratory from its segments, raw forces and table of inertias -----------------------------------

_TABLE = "formats/lab_segments"
_DEGREE = 5


def load_laboratory_table() -> Mapping[str, Any]:
    """Return the table of segments, moments and angles of laboratory software."""
    return load_table(_TABLE)


def laboratory_body(
    recording: Recording, ours: MovingBody, contacts: Sequence[Contact], mass_kg: float
) -> MovingBody | None:
    """Return the analysis of the laboratory software in the World axes of `ours`; None if the file does not contain its
    segments.

    Parameters:
        recording: the file with the frames of `ours`.
        contacts: assigned contacts of feet with plates.
        mass_kg: body mass used by the laboratory's software.
    """
    # Lengths of model outputs are stored in millimetres.
    mm = 1e-3
    points = {label: mm * output.values @ ours.R_WL.T for label, output in recording.model_outputs.items()}
    suffixes = load_laboratory_table()["suffixes"]
    entries = [
        entry for entry in _segment_table() if entry["name"] in ours.names and _has_points(entry, suffixes, points)
    ]
    if len(entries) < len([entry for entry in _segment_table() if entry["name"] in ours.names]) or len(entries) < 2:
        return None
    frame = ours.select([entry["name"] for entry in entries], np.ones(len(ours.time_s), dtype=bool))
    R = np.stack(
        [_permuted_axes(entry, suffixes, points, frame.motion.R[:, s]) for s, entry in enumerate(entries)], axis=1
    )
    p = np.stack([points[entry["origin"]] for entry in entries], axis=1)
    known = np.asarray(np.isfinite(R).all(axis=(1, 2, 3)) & np.isfinite(p).all(axis=(1, 2)))
    wrench = measured_wrenches(recording, frame, contacts)
    return replace(
        frame,
        motion=motion_from_poses(R, p, known, ours.time_s),
        inertias=_laboratory_inertias(entries, frame, points, R, p, mass_kg),
        wrench=wrench,
        mass_kg=mass_kg,
        known=known,
        valid=frame.valid & known[:, None],
    )


def _segment_table() -> list[dict[str, Any]]:
    return [entry for raw in load_laboratory_table()["segment"] for _, entry in expand_sides(raw)]


def _has_points(entry: Mapping[str, Any], suffixes: Sequence[str], points: Mapping[str, FloatArray]) -> bool:
    wanted = (
        [entry["axes"] + suffix for suffix in suffixes] + [entry["origin"]] + ([entry["far"]] if "far" in entry else [])
    )
    return all(label in points and np.isfinite(points[label]).any() for label in wanted)


def _permuted_axes(
    entry: Mapping[str, Any], suffixes: Sequence[str], points: Mapping[str, FloatArray], ours: FloatArray
) -> FloatArray:
    """Return the axes (T, 3, 3) of a segment, permuted to the one of 24 orientations that is closest to `ours`."""
    origin, *ends = (points[entry["axes"] + suffix] for suffix in suffixes)
    R = np.stack([end - origin for end in ends], axis=-1)
    R = R / np.linalg.norm(R, axis=1, keepdims=True)
    apart = np.swapaxes(ours, 1, 2) @ R
    known = np.isfinite(apart).all(axis=(1, 2))
    if not known.any():
        return R
    mean = Rotation.from_matrix(apart[known]).mean()
    names = Rotation.create_group("O").as_matrix()
    nearest = names[np.argmax(np.einsum("ij,nij->n", mean.as_matrix(), names))]
    return np.asarray(R @ nearest.T)


def motion_from_poses(R: FloatArray, p: FloatArray, known: BoolArray, time_s: FloatArray) -> SegmentMotion:
    """Return the motion of segments with poses R (T, S, 3, 3) and p (T, S, 3) m, from quintic splines through each interval.

    known: mask (T,) of the frames with poses.
    """
    least_frames = 12
    omega, alpha, a = (np.full(p.shape, np.nan) for _ in range(3))
    for first, stop in finite_stretches(known):
        if stop - first < least_frames:
            continue
        rows = slice(first, stop)
        t = time_s[rows]
        a[rows] = make_interp_spline(t, p[rows], k=_DEGREE)(t, nu=2)
        spline = make_interp_spline(t, R[rows].reshape(stop - first, -1), k=_DEGREE)
        rate, change = (spline(t, nu=order).reshape(R[rows].shape) for order in (1, 2))
        back = np.swapaxes(R[rows], -1, -2)
        # Rdot = [omega] R, so [omega] = Rdot R^T and [alpha] is the skew part of Rddot R^T
        omega[rows], alpha[rows] = _rotation_vector(rate @ back), _rotation_vector(change @ back)
    return SegmentMotion(R, p, omega, alpha, a)


def _rotation_vector(matrix: FloatArray) -> FloatArray:
    twice = matrix - np.swapaxes(matrix, -1, -2)
    return 0.5 * np.stack([twice[..., 2, 1], twice[..., 0, 2], twice[..., 1, 0]], axis=-1)


def measured_wrenches(recording: Recording, frame: MovingBody, contacts: Sequence[Contact]) -> FloatArray:
    """Return the unfiltered plate wrenches (T, S, 6) on the segments in contact."""
    # Margin of a contact for the edges of its force.
    flank_s = 0.02
    rate_hz = recording.markers.rate_hz
    feet = {frame.sides[s]: s for s in range(len(frame.names)) if np.any(frame.wrench[:, s])}
    plates = {plate.number: plate for plate in recording.rotated(frame.R_WL).plates}
    wrenches = np.zeros((len(frame.time_s), len(frame.names), 6))
    for contact in contacts:
        if contact.decision != "assigned" or contact.side not in feet or contact.plate not in plates:
            continue
        raw = plate_wrench(plates[contact.plate], len(wrenches), rate_hz)
        wrench = resample_wrench(raw, len(wrenches), rate_hz).wrench
        during = (frame.time_s >= contact.start_s - flank_s) & (frame.time_s <= contact.end_s + flank_s)
        wrenches[during, feet[contact.side]] += wrench[during]
    return wrenches


def _laboratory_inertias(
    entries: Sequence[Mapping[str, Any]],
    frame: MovingBody,
    points: Mapping[str, FloatArray],
    R: FloatArray,
    p: FloatArray,
    mass_kg: float,
) -> SegmentInertias:
    """Return the inertias that the laboratory software uses according to its table; those of `frame` for other segments."""
    ours = frame.inertias
    mass, com, tensor = ours.mass.copy(), ours.com.copy(), ours.tensor.copy()
    for s, entry in enumerate(entries):
        if "far" not in entry:
            continue
        ends = np.einsum("tji,tj->ti", R[:, s], points[entry["far"]] - p[:, s])
        line = np.nanmean(ends, axis=0)
        length = float(np.linalg.norm(line))
        along = line / length
        mass[s] = entry["mass_share"] * mass_kg
        com[s] = entry["mass_centre"] * line
        tensor[s] = mass[s] * (entry["gyration"] * length) ** 2 * (np.eye(3) - np.outer(along, along))
    return SegmentInertias(mass, com, tensor)


SHIFT, FILTER = "time shift", "smoothing"
# Least share of the difference that a lag must explain.
_LEAST_GAIN = 0.2


@dataclass(frozen=True)
class CurveCauses:
    """Causes of the difference between curves.

    Attributes:
        shift_s: delay of the other curves.
        filter: relative filter of the curves, and whether the first is less smooth; None without a filter.
        parts: part (T, C) Nm of each cause in other - first.
    """

    shift_s: float
    filter: tuple[RelativeFilter, bool] | None
    parts: dict[str, FloatArray]


def curve_causes(first: FloatArray, other: FloatArray, rate_hz: float) -> CurveCauses:
    """Return the causes of the difference of curves (T, C), Nm; frames with NaN in either are ignored."""
    known = np.asarray(np.isfinite(first).all(axis=1) & np.isfinite(other).all(axis=1))
    shift = _find_delay(first, other, known, rate_hz)
    shifted = _delay_curves(first, shift)
    a, b = (np.repeat(x[:, :, None], 3, axis=2) for x in (shifted, other))
    between = estimate_filter_either_way(a, b, known & np.isfinite(shifted).all(axis=1), rate_hz)

    def exchanged_curve(exchanged: frozenset[str]) -> FloatArray:
        curve = first
        if SHIFT in exchanged:
            curve = np.where(np.isfinite(shifted), shifted, first)
        if FILTER in exchanged and between is not None:
            low, first_is_sharper = between
            sharp = curve if first_is_sharper else other
            change = low.filter_signal(np.where(known[:, None], sharp, np.nan), rate_hz) - sharp
            curve = curve + (np.nan_to_num(change) if first_is_sharper else -np.nan_to_num(change))
        return curve

    causes = [cause for cause, is_there in ((SHIFT, shift != 0), (FILTER, between is not None)) if is_there]
    parts, _, _ = shapley_parts(causes, exchanged_curve) if causes else ({}, first, first)
    return CurveCauses(shift / rate_hz, between, parts)


def _delay_curves(x: FloatArray, frames: int) -> FloatArray:
    """Return the curves (T, C) delayed by some frames, padded with NaN."""
    delayed = np.full_like(x, np.nan)
    if frames >= 0:
        delayed[frames:] = x[: len(x) - frames]
    else:
        delayed[:frames] = x[-frames:]
    return delayed


def _find_delay(first: FloatArray, other: FloatArray, known: BoolArray, rate_hz: float) -> int:
    """Return the delay of the other curves in frames; 0 if it explains too little."""
    most_shift_s = 0.2  # largest tested delay
    most = round(most_shift_s * rate_hz)
    residual = {}
    for frames in range(-most, most + 1):
        apart = (other - _delay_curves(first, frames))[known]
        residual[frames] = float(np.nanmean(apart**2))
    best = min(residual, key=lambda frames: residual[frames])
    return best if residual[best] < (1.0 - _LEAST_GAIN) * residual[0] else 0
