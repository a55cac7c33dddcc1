"""Determine unit, frame, axes, signs and side of stored joint moments by comparison with computed moments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any, Literal

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from biodyn.comparison.part_exchange import RelativeFilter, estimate_filter_either_way, shapley_parts
from biodyn.comparison.segments import MovingBody, SegmentInertias, SegmentMotion
from biodyn.conventions import AXES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray
from biodyn.library.tables import expand_sides
from biodyn.library.toml_files import load_table
from biodyn.processing.dynamics.inverse_dynamics import joint_coordinate_axes
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.plate_wrenches import plate_wrench, resample_wrench
from biodyn.recording import Contact, Recording

Frame = Literal["proximal", "distal", "world", "jcs"]
FRAMES: tuple[Frame, ...] = ("proximal", "distal", "world", "jcs")
# Conventions with a misfit up to this factor above the best are indistinguishable.
_ALIKE = 1.3


@dataclass(frozen=True)
class MomentConvention:
    """Convention of the three components (sagittal, frontal, transverse) of a stored joint moment.

    Attributes:
        unit: Nm, Nmm, Nm/kg, Nmm/kg, BW m. frame: frame of the axes. axes: axis of the frame for each component. signs: sign
            of each component.
        side: "own", or "other" if the file has exchanged sides.
    """

    unit: str
    frame: Frame
    axes: tuple[str, str, str]
    signs: tuple[int, int, int]
    side: Literal["own", "other"] = "own"

    @property
    def description(self) -> str:
        """Return unit, frame, axes with signs, and exchanged sides of the convention as text."""
        signs = ", ".join(f"{'+' if sign > 0 else '-'}{axis}" for sign, axis in zip(self.signs, self.axes, strict=True))
        return f"{self.unit}, {self.frame} frame, components {signs}" + (
            "" if self.side == "own" else ", of the other side"
        )

    def deviations(self, expected: MomentConvention) -> tuple[str, ...]:
        """Return the properties that differ from another convention: unit, frame, axes, sign, side."""
        pairs = (
            ("unit", self.unit, expected.unit),
            ("frame", self.frame, expected.frame),
            ("axes", self.axes, expected.axes),
            ("sign", self.signs, expected.signs),
            ("side", self.side, expected.side),
        )
        return tuple(name for name, value, other in pairs if value != other)


@dataclass(frozen=True)
class ConventionMatch:
    """Convention of a channel, and indistinguishable alternatives.

    Attributes:
        expected, convention: conventions; equal without evidence against the expected one.
        explained: share of the mean square of the file's curves explained by computed ones.
        alternatives: other conventions that explain the curves nearly as well.
        is_determined: False if the computed curves differ too much to determine the convention.
    """

    expected: MomentConvention
    convention: MomentConvention
    explained: float
    alternatives: tuple[MomentConvention, ...] = ()
    is_determined: bool = True

    @property
    def deviations(self) -> tuple[str, ...]:
        """Return the properties in which the convention differs from the expected one."""
        return self.convention.deviations(self.expected)


def unit_factors_to_nm(mass_kg: float) -> dict[str, float]:
    """Return the factor from each unit of joint moments to Nm."""
    return {"Nmm/kg": 1e-3 * mass_kg, "Nm/kg": mass_kg, "Nm": 1.0, "Nmm": 1e-3, "BW m": mass_kg * STANDARD_GRAVITY_M_S2}


def expected_convention(entry: Mapping[str, Any], side: str) -> MomentConvention:
    """Return the usual convention of a channel, as stated in the table of laboratory software."""
    signs = entry["signs"]
    if entry.get("mirrored") and side == "l":
        signs = [signs[0], -signs[1], -signs[2]]
    axes = entry["axes"]
    return MomentConvention(
        entry["unit"], entry["frame"], (axes[0], axes[1], axes[2]), (int(signs[0]), int(signs[1]), int(signs[2]))
    )


def frame_axes(frame: Frame, motion: SegmentMotion, parent: int, segment: int) -> FloatArray:
    """Return the axes (T, 3, 3) in World, as columns, of one of the frames in which a joint moment can be expressed."""
    if frame == "world":
        return np.broadcast_to(np.eye(3), motion.R[:, segment].shape)
    if frame == "jcs":
        return joint_coordinate_axes(motion.R[:, parent], motion.R[:, segment])
    return motion.R[:, parent if frame == "proximal" else segment]


def channel_from_moment(
    moment_W: FloatArray, axes: FloatArray, writing: MomentConvention, mass_kg: float
) -> FloatArray:
    """Convert a moment (T, 3) Nm in World to the convention of a file; `axes`: (T, 3, 3) axes of the frame of this
    convention."""
    components = np.einsum("tij,ti->tj", axes, moment_W)[:, [AXES.index(axis) for axis in writing.axes]]
    return np.asarray(components * writing.signs / unit_factors_to_nm(mass_kg)[writing.unit])


def moment_from_channel(channel: FloatArray, axes: FloatArray, writing: MomentConvention, mass_kg: float) -> FloatArray:
    """Convert a channel of a file to a moment (T, 3) Nm in World (inverse of `channel_from_moment`, also for oblique axes)."""
    values = channel * writing.signs * unit_factors_to_nm(mass_kg)[writing.unit]
    components = np.empty_like(values)
    components[:, [AXES.index(axis) for axis in writing.axes]] = values
    moment = np.full_like(components, np.nan)
    known = np.isfinite(components).all(axis=1) & np.isfinite(axes).all(axis=(1, 2))
    moment[known] = np.linalg.solve(np.swapaxes(axes[known], 1, 2), components[known][..., None])[..., 0]
    return moment


def match_convention(
    channels: Mapping[str, FloatArray],
    moment_W: FloatArray,
    axes: Mapping[Frame, FloatArray],
    expected: MomentConvention,
    mass_kg: float,
    frames: BoolArray,
) -> ConventionMatch:
    """Determine the convention in which the moment of a joint is stored, by comparison with the computed moment.

    Parameters:
        channels: stored curves (T, 3) of the side of the joint ("own") and optionally of the other side.
        moment_W: computed moment (T, 3), Nm. axes: axes (T, 3, 3) by frame.
        frames: mask (T,) of the frames to evaluate.

    The expected convention is kept unless another one has a clearly smaller misfit; the required reduction grows with the number
    of deviations. Of several, the one with the fewest deviations is chosen.
    """
    # Least share of a curve explained by computed moments, to determine its convention.
    least_explained = 0.3
    # Largest misfit of another convention relative to the expected one, to the power of the number of deviations.
    clearly = 0.4
    misfits: dict[MomentConvention, float] = {}
    for frame in FRAMES:
        computed = np.einsum("tij,ti->tj", axes[frame], moment_W)
        for side, channel in channels.items():
            known = frames & np.isfinite(channel).all(axis=1) & np.isfinite(computed).all(axis=1)
            if not known.any():
                continue
            file_side: Literal["own", "other"] = "own" if side == "own" else "other"
            misfits |= dict(_rank_conventions(channel[known], computed[known], expected, frame, file_side, mass_kg))
    if expected not in misfits:
        return ConventionMatch(expected, expected, float("nan"), is_determined=False)
    best = min(misfits.values())
    if best > 1.0 - least_explained:
        return ConventionMatch(expected, expected, 1.0 - misfits[expected], is_determined=False)
    accepted = [
        way for way, misfit in misfits.items() if misfit < clearly ** len(way.deviations(expected)) * misfits[expected]
    ]
    least = min((misfits[way] for way in accepted), default=0.0)
    near = [way for way in accepted if misfits[way] <= _ALIKE * least]
    convention = min(near, key=lambda way: (len(way.deviations(expected)), misfits[way]), default=expected)
    alike = tuple(
        way
        for way, misfit in misfits.items()
        if way != convention
        and misfit <= _ALIKE * misfits[convention]
        and way.unit == convention.unit
        and way.side == convention.side
    )
    return ConventionMatch(expected, convention, 1.0 - misfits[convention], alike)


def _rank_conventions(
    channel: FloatArray,
    computed: FloatArray,
    expected: MomentConvention,
    frame: Frame,
    side: Literal["own", "other"],
    mass_kg: float,
) -> Iterator[tuple[MomentConvention, float]]:
    """Yield every convention with its misfit: 0 for equal curves, 1 for unrelated curves.

    The expected frame may be rotated by a small constant angle, so that different segment axes are not taken for another frame.
    """
    # Misfit of round-off, as a share of the squares of a channel.
    round_off = 1e-12
    # Least weight of a component, as a share of the largest one: small components are mostly error.
    least_size = 0.15
    size = np.sqrt(np.mean(channel**2, axis=0))
    weight = 1.0 / np.maximum(size, least_size * size.max()) ** 2
    square_computed, cross, square = computed.T @ computed, computed.T @ channel, np.sum(channel**2, axis=0)
    units = unit_factors_to_nm(mass_kg)
    for order in permutations(range(3)):
        axes = (AXES[order[0]], AXES[order[1]], AXES[order[2]])
        for first, second, third in product((1, -1), repeat=3):
            signs = (first, second, third)
            # place[j, i]: axis j of the frame is component i of the channel
            place = np.zeros((3, 3))
            place[order, range(3)] = signs
            seen = place if frame != expected.frame else _small_rotation(cross @ place.T).T @ place
            shared, alone = np.sum(cross * seen, axis=0), np.sum(seen * (square_computed @ seen), axis=0)
            for unit, factor in units.items():
                residual = square - 2.0 * shared / factor + alone / factor**2
                misfit = float(weight @ residual) / (3.0 * len(channel))
                yield MomentConvention(unit, frame, axes, signs, side), max(misfit, round_off)


def _small_rotation(cross: FloatArray) -> FloatArray:
    """Return the rotation (3, 3) with the best fit of two sets of vectors (Kabsch 1976); `cross`: sum of their outer products.

    Returns the identity for large rotations.
    """
    # Largest rotation of a laboratory's segment axes against ours.
    most_turn_rad = np.deg2rad(25.0)
    U, _, Vt = np.linalg.svd(cross)
    turn = Vt.T @ np.diag([1.0, 1.0, np.sign(np.linalg.det(Vt.T @ U.T))]) @ U.T
    angle = np.arccos(np.clip(0.5 * (np.trace(turn) - 1.0), -1.0, 1.0))
    return turn if angle <= most_turn_rad else np.eye(3)


def apply_common_unit(readings: Sequence[ConventionMatch]) -> Sequence[ConventionMatch]:
    """Return the matched conventions of one file; the most frequent unit is assigned to joints with an undetermined unit."""
    units = [reading.convention.unit for reading in readings if reading.is_determined]
    if not units:
        return readings
    usual = max(set(units), key=units.count)
    return [r if r.is_determined else replace(r, convention=replace(r.convention, unit=usual)) for r in readings]


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


SIGN, UNIT, SHIFT, FILTER = "sign", "unit", "time shift", "smoothing"
# Least share of the difference that a lag or unit must explain.
_LEAST_GAIN = 0.2


@dataclass(frozen=True)
class CurveCauses:
    """Causes of the difference between curves.

    Attributes:
        signs: (C,) 1 or -1. unit: unit of the other curves, as in `unit_factors_to_nm`. shift_s: delay of the other curves.
        filter: relative filter of the curves, and whether the first is less smooth; None without a filter.
        parts: part (T, C) Nm of each cause in other - first.
    """

    signs: FloatArray
    unit: str
    shift_s: float
    filter: tuple[RelativeFilter, bool] | None
    parts: dict[str, FloatArray]


def curve_causes(first: FloatArray, other: FloatArray, rate_hz: float, mass_kg: float) -> CurveCauses:
    """Return the causes of the difference of curves (T, C), the first in Nm; frames with NaN in either are ignored."""
    # Least correlation of curves to determine sign and lag.
    least_r = 0.5
    known = np.asarray(np.isfinite(first).all(axis=1) & np.isfinite(other).all(axis=1))
    signs = np.array(
        [-1.0 if _correlation(a, b) < -least_r else 1.0 for a, b in zip(first[known].T, other[known].T, strict=True)]
    )
    unit, factor = _find_unit(first[known] * signs, other[known], mass_kg)
    in_nm = other * factor * signs
    shift = _find_delay(first, in_nm, known, rate_hz)
    shifted = _delay_curves(first, shift)
    a, b = (np.repeat(x[:, :, None], 3, axis=2) for x in (shifted, in_nm))
    between = estimate_filter_either_way(a, b, known & np.isfinite(shifted).all(axis=1), rate_hz)

    def exchanged_curve(exchanged: frozenset[str]) -> FloatArray:
        curve = first
        if SHIFT in exchanged:
            curve = np.where(np.isfinite(shifted), shifted, first)
        if FILTER in exchanged and between is not None:
            low, first_is_sharper = between
            sharp = curve if first_is_sharper else in_nm
            change = low.filter_signal(np.where(known[:, None], sharp, np.nan), rate_hz) - sharp
            curve = curve + (np.nan_to_num(change) if first_is_sharper else -np.nan_to_num(change))
        return curve

    causes = [cause for cause, is_there in ((SHIFT, shift != 0), (FILTER, between is not None)) if is_there]
    parts, _, _ = shapley_parts(causes, exchanged_curve) if causes else ({}, first, first)
    # the convention of the other curves comes last, independent of the computation
    written = {SIGN: other * factor - in_nm, UNIT: other - other * factor}
    parts |= {cause: part for cause, part in written.items() if np.nanmax(np.abs(part)) > 0.0}
    return CurveCauses(signs, unit, shift / rate_hz, between, parts)


def _correlation(a: FloatArray, b: FloatArray) -> float:
    size = float(np.std(a) * np.std(b))
    return float(np.mean((a - a.mean()) * (b - b.mean()))) / size if size > 0.0 else 0.0


def _find_unit(first: FloatArray, other: FloatArray, mass_kg: float) -> tuple[str, float]:
    """Return the unit of the other curves; Nm unless another one fits clearly better."""
    residual = {
        unit: float(np.sum((other * factor - first) ** 2)) for unit, factor in unit_factors_to_nm(mass_kg).items()
    }
    best = min(residual, key=lambda unit: residual[unit])
    is_accepted = residual[best] < (1.0 - _LEAST_GAIN) * residual["Nm"] and residual[best] < 0.5 * float(
        np.sum(first**2)
    )
    unit = best if is_accepted else "Nm"
    return unit, unit_factors_to_nm(mass_kg)[unit]


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
