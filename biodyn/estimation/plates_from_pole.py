"""Errors of force plates from pole trials: a pointed rigid pole with markers, pushed onto a plate and tilted (docs/methods.md).

During each placement the tip rests at a point. The rigid motion of the markers determines this point c and the direction u of
the pole. A pointed tip transmits no moment, and a light pole that is pushed at its other end transmits force along its axis.
With the corrected reaction F, M_Wo of a plate (`recording.plate_calibration`), in every sample:

    M_Wo - c x F = 0                                                    the line of action passes through the tip
    u x F + m/2 u x g - m L/6 u x u'' = 0                               uniform pole of mass m, length L, tip fixed

Both equations are homogeneous in F and M, so that a common gain of all channels can be estimated only with a known load. All
other parameters are estimated by least squares with priors: shift and rotation of the plate, gains, crosstalk, and, as nuisance
parameters, the tip positions, the axis of the pole relative to its markers, and its mass. Crosstalk that is equivalent to a
displacement of the plate counts as displacement.

Holden et al. 2003, Gait & Posture 17:205-213 (pole against plates); Collins et al. 2009, doi 10.1016/j.gaitpost.2008.06.010
(least squares of a sensitivity matrix).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from biodyn.conventions import STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, IntArray
from biodyn.errors import PlateError
from biodyn.geometry.points import all_finite, rigid_fit
from biodyn.geometry.rotations import cross, skew_matrix
from biodyn.processing.signals.filtering import finite_rms, finite_stretches
from biodyn.recording.plate_calibration import PlateCorrection, rotation_matrix

_LOADED_N = 40.0  # least force of a placement; below it the centre of pressure is noise
_MOMENT = slice(3, 6)


class PlateSignal(NamedTuple):
    """Reaction [F; M] (T, 6) of a plate at the marker frames, in plate axes about its surface centre.

    R_LP (3, 3), centre (3,), half_sides (2,) and corners (4, 3), m, are in laboratory axes as stored.
    """

    number: int
    corners: FloatArray
    R_LP: FloatArray
    centre: FloatArray
    half_sides: FloatArray
    wrench: FloatArray

    def contains(self, points: FloatArray, margin_m: float) -> BoolArray:
        """Return a mask of the points (..., 3) that are above the plate, or at most `margin_m` outside its edges."""
        local = (points - self.centre) @ self.R_LP
        return np.asarray((np.abs(local[..., :2]) <= self.half_sides + margin_m).all(axis=-1))


@dataclass(frozen=True, eq=False)
class PoleRecording:
    """Recording with a pole: low-pass filtered positions (T, M, 3) m of its points in laboratory axes, and the plates."""

    name: str
    labels: tuple[str, ...]
    positions: FloatArray
    rate_hz: float
    up: FloatArray
    plates: tuple[PlateSignal, ...]


@dataclass(frozen=True, eq=False)
class Pole:
    """Rigid pole: marker labels, positions (M, 3) m relative to the tip, axis (3,), and error of the axis, rad."""

    labels: tuple[str, ...]
    markers: FloatArray
    axis: FloatArray
    axis_sd: float

    @property
    def length(self) -> float:
        """Distance from the tip to the farthest marker, m."""
        return float(np.linalg.norm(self.markers, axis=1).max())

    @property
    def is_collinear(self) -> bool:
        """Whether all markers are collinear, so that rotations about the line are not observable."""
        return _are_collinear(self.markers)


@dataclass(frozen=True, eq=False)
class Placement:
    """Samples of one plate while the tip rests at `tip` (3,): pole directions (N, 3), their rates, pole axes, and [F; M] (N,
    6)."""

    plate: PlateSignal
    tip: FloatArray
    R: FloatArray
    u: FloatArray
    acceleration: FloatArray
    wrench: FloatArray
    up: FloatArray


@dataclass(frozen=True, eq=False)
class PlateResult:
    """Correction of one plate, with number of placements, largest tilt (rad), and whether a load was known.

    nuisance: (3,) two small rotations of the pole axis (rad), and its mass minus the assumed mass (kg).
    """

    correction: PlateCorrection
    places: int
    tilt: float
    has_known_load: bool
    nuisance: FloatArray


# -- the pole -----------------------------------------------------------------------------------------------------------


def find_pole(recordings: Sequence[PoleRecording]) -> tuple[Pole, tuple[Placement, ...]]:
    """Return the pole of the recordings, and its placements on the plates.

    Raises PlateError if no group of markers moves as a rigid body about a point that rests on a loaded plate.
    """
    loaded = [r for r in recordings if any(_loaded_stretches(r, plate) for plate in r.plates)]
    if not loaded:
        raise PlateError(
            f"No force plate in {_recording_names(recordings)} is loaded by more than {_LOADED_N:g} N for a second.",
            "Push the pole onto each plate, and check the channels with 'biodyn check FILE'.",
        )
    tried: list[tuple[float, str]] = []
    for labels in _rigid_groups(loaded):
        try:
            return _find_pole_of_markers(loaded, labels)
        except PlateError as error:
            tried.append((0.0, error.message))
    if tried:
        raise PlateError(
            tried[0][1], "Keep the tip of the pole at one point, push, and tilt the pole in all directions."
        )
    raise PlateError(
        f"No pole was found in {_recording_names(recordings)}: no two moving markers at least 0.2 m apart have a "
        "constant distance.",
        "Attach at least three markers to a rigid pole, if possible at both ends.",
    )


def _recording_names(recordings: Sequence[PoleRecording]) -> str:
    shown = ", ".join(f"'{recording.name}'" for recording in recordings[:3])
    return f"{shown} and {len(recordings) - 3} others" if len(recordings) > 3 else shown


def _rigid_groups(recordings: Sequence[PoleRecording]) -> list[tuple[str, ...]]:
    """Return the groups of labels with constant distances during movement, the longest first."""
    rigid_m, shortest_m, moves_m, frames = 4e-3, 0.2, 0.05, 500
    common = set(recordings[0].labels).intersection(*(set(r.labels) for r in recordings[1:]))
    labels = [label for label in recordings[0].labels if label in common]
    points = np.concatenate([r.positions[:, [r.labels.index(label) for label in labels]] for r in recordings])
    points = points[:: 1 + len(points) // frames]
    visible = all_finite(points).mean(axis=0) > 0.3
    labels, points = [label for label, shown in zip(labels, visible, strict=True) if shown], points[:, visible]
    spread = np.nanmax(points, axis=0) - np.nanmin(points, axis=0) if len(labels) else np.zeros((0, 3))
    moving = np.linalg.norm(spread, axis=1) > moves_m
    distances = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)
    seen = np.isfinite(distances).mean(axis=0) > 0.5
    with np.errstate(invalid="ignore"):
        steady = seen & (np.nanstd(np.where(seen, distances, 0.0), axis=0) < rigid_m) & moving & moving[:, None]
    groups: dict[tuple[str, ...], float] = {}
    for row in steady:
        members = list(np.flatnonzero(row))
        while len(members) > 1 and not steady[np.ix_(members, members)].all():
            members.remove(min(members, key=lambda m: steady[m, members].sum()))
        length = (
            float(np.nanmax(np.nanmedian(distances[:, members][:, :, members], axis=0))) if len(members) > 1 else 0.0
        )
        if length > shortest_m:
            groups[tuple(labels[m] for m in members)] = length
    return sorted(groups, key=lambda group: -groups[group])


def _are_collinear(points: FloatArray, off_line_m: float = 0.01) -> bool:
    centred = points - points.mean(axis=0)
    return bool(len(points) < 3 or np.linalg.svd(centred, compute_uv=False)[1] < off_line_m * math.sqrt(len(points)))


def _loaded_stretches(recording: PoleRecording, plate: PlateSignal) -> list[slice]:
    """Return the frames in which a plate is loaded, excluding the start and end of each load."""
    trim = round(0.2 * recording.rate_hz)
    force = plate.wrench[:, :3] @ plate.R_LP.T @ recording.up
    with np.errstate(invalid="ignore"):
        runs = finite_stretches(np.asarray(force > _LOADED_N))
    return [slice(a + trim, b - trim) for a, b in runs if b - a > 2 * trim + 0.5 * recording.rate_hz]


class _LoadedStretch(NamedTuple):
    """Frames `part` of a recording in which a plate is loaded, and the positions (n, M, 3) m of the pole markers in World."""

    recording: PoleRecording
    plate: PlateSignal
    part: slice
    positions: FloatArray

    @property
    def visible_frames(self) -> BoolArray:
        """Mask (n,) of the frames in which all markers of the pole are visible."""
        return np.asarray(all_finite(self.positions).all(axis=1))


def _find_pole_of_markers(
    recordings: Sequence[PoleRecording], labels: tuple[str, ...]
) -> tuple[Pole, tuple[Placement, ...]]:
    """Return the pole with these markers. Its tip is the point on which all placements agree."""
    stretches = [
        _LoadedStretch(r, plate, part, r.positions[part][:, [r.labels.index(label) for label in labels]])
        for r in recordings
        for plate in r.plates
        for part in _loaded_stretches(r, plate)
    ]
    stretches = [
        stretch for stretch in stretches if np.count_nonzero(stretch.visible_frames) > 0.5 * stretch.recording.rate_hz
    ]
    if not stretches:
        raise PlateError(
            f"No pole was found in {_recording_names(recordings)}: its markers are not visible while a plate is loaded."
        )
    pole, stretches = _rigid_pole(recordings, stretches, labels)
    bend = _pole_sag(pole, stretches)
    if bend:
        stretches = [_remove_sag(stretch, pole, bend) for stretch in stretches]
        pole, stretches = _rigid_pole(recordings, stretches, labels)
    return pole, _select_placements_on_plates([_sample_placement(pole, stretch) for stretch in stretches], recordings)


def _rigid_pole(
    recordings: Sequence[PoleRecording], stretches: Sequence[_LoadedStretch], labels: tuple[str, ...]
) -> tuple[Pole, list[_LoadedStretch]]:
    """Return the pole as a rigid body, and the stretches in which its tip rests."""
    fixed_m = 6e-3  # RMS movement of a resting tip, caused by marker noise and bending of the pole
    least_turn = 0.05  # least tilt of a pole that is tilted, rad
    shape = _marker_shape(np.concatenate([stretch.positions for stretch in stretches]))
    axis = np.linalg.svd(shape - shape.mean(axis=0))[2][0] if _are_collinear(shape) else None
    motions = [rigid_fit(shape, stretch.positions[stretch.visible_frames]) for stretch in stretches]
    turns = [R if axis is None else R @ axis for R, _ in motions]
    tilted = [n for n, turn in enumerate(turns) if np.linalg.norm(turn.std(axis=0)) > least_turn]
    pivots = [_find_pivot([motions[n]], axis) for n in tilted]
    steady = [r for r, off in pivots if off < fixed_m]
    if not steady:
        raise PlateError(
            f"No pole was found in {_recording_names(recordings)}: no group of markers moves about a resting tip "
            "while a plate is loaded."
        )
    tip = np.median(steady, axis=0)  # stretches of another plate, on which the person stands, do not have this pivot
    for _ in range(3):
        resting = [n for n in tilted if _pivot_rms_movement(motions[n], tip) < fixed_m]
        if not resting:
            raise PlateError(
                f"No pole with a stationary tip on a loaded plate was found in {_recording_names(recordings)}."
            )
        tip, _ = _find_pivot([motions[n] for n in resting], axis)
    markers = shape - tip
    direction = np.linalg.svd(markers)[2][0]
    direction = direction * np.sign(direction @ markers.sum(axis=0))
    across = markers - np.outer(markers @ direction, direction)
    least_sd = math.radians(0.1)
    axis_sd = max(least_sd, float(np.sqrt((across**2).sum(axis=1).mean()) / np.sqrt((markers**2).sum(axis=1).mean())))
    return Pole(labels, markers, direction, axis_sd), [stretches[n] for n in resting]


def _pole_sag(pole: Pole, stretches: Sequence[_LoadedStretch], trial_m: float = 1e-3) -> float:
    """Return the sag (m) of the middle of the pole under its weight, estimated from the residuals of its markers.

    The squared residuals of a rigid pole about a resting tip are a parabola in this unknown. Returns 0 if it is not observable.
    """
    if len(pole.labels) < 3:
        return 0.0
    usual_m, correlated = 2e-3, 5.0  # size of the prior; errors of neighbouring frames and markers are correlated
    low, now, high = (
        _rigidity_error(pole, [_remove_sag(s, pole, bend) for s in stretches]) for bend in (-trial_m, 0.0, trial_m)
    )
    curvature = (low + high - 2.0 * now) / (2.0 * trial_m**2)
    if curvature <= 0.0:
        return 0.0
    best = -(high - low) / (4.0 * trial_m * curvature)
    count = sum(stretch.positions[stretch.visible_frames].size for stretch in stretches)
    variance = correlated**2 * max(now - curvature * best**2, 0.0) / count / curvature
    return float(best / (1.0 + variance / usual_m**2))


def _remove_sag(stretch: _LoadedStretch, pole: Pole, bend: float) -> _LoadedStretch:
    """Return the stretch without the sag of the pole under its weight, a half sine between the tip and the farthest marker."""
    along = pole.markers @ pole.axis
    positions = stretch.positions.copy()
    seen = stretch.visible_frames
    R, _ = rigid_fit(pole.markers, positions[seen])
    u = R @ pole.axis
    up = stretch.recording.up
    down = (u @ up)[:, None] * u - up
    positions[seen] -= bend * np.sin(np.pi * along / along.max())[:, None] * down[:, None]
    return stretch._replace(positions=positions)


def _rigidity_error(pole: Pole, stretches: Sequence[_LoadedStretch]) -> float:
    """Return the sum of squared residuals (m²) of the markers for a rigid pole whose tip rests in each stretch."""
    shape = _marker_shape(np.concatenate([stretch.positions for stretch in stretches]))
    total, motions = 0.0, []
    for stretch in stretches:
        seen = stretch.positions[stretch.visible_frames]
        R, p = rigid_fit(shape, seen)
        total += float(((seen - p[:, None] - np.einsum("tij,mj->tmi", R, shape)) ** 2).sum())
        motions.append((R, p))
    axis = np.linalg.svd(shape - shape.mean(axis=0))[2][0] if pole.is_collinear else None
    tip, _ = _find_pivot(motions, axis)
    return total + sum(len(motion[0]) * _pivot_rms_movement(motion, tip) ** 2 for motion in motions)


def _marker_shape(points: FloatArray) -> FloatArray:
    """Return the mean positions (M, 3) of markers in the axes of their body."""
    seen = points[all_finite(points).all(axis=1)]
    shape = seen[0] - seen[0].mean(axis=0)
    for _ in range(5):
        R, p = rigid_fit(shape, seen)
        shape = np.einsum("tji,tmj->tmi", R, seen - p[:, None]).mean(axis=0)
    return np.asarray(shape)


def _find_pivot(motions: Sequence[tuple[FloatArray, FloatArray]], axis: FloatArray | None) -> tuple[FloatArray, float]:
    """Return the body-fixed point r (3,) m that moves least in all motions (R, p), and its RMS movement, m.

    axis: if given, r is on this axis through the origin (collinear markers).
    """
    least_turn = 0.02  # tilts of about a degree contain no information
    A = np.concatenate([(R - R.mean(axis=0)).reshape(-1, 3) for R, _ in motions])
    b = np.concatenate([(p - p.mean(axis=0)).reshape(-1) for _, p in motions])
    if axis is not None:
        A = A @ axis[:, None]
    solution, _, rank, values = np.linalg.lstsq(A, -b, rcond=None)
    if rank < A.shape[1] or values[-1] < least_turn * math.sqrt(len(A) / 3.0):
        return np.full(3, np.nan), math.inf
    r = solution if axis is None else axis * solution[0]
    return r, max(_pivot_rms_movement(motion, r) for motion in motions)


def _pivot_rms_movement(motion: tuple[FloatArray, FloatArray], r: FloatArray) -> float:
    tips = motion[0] @ r + motion[1]
    return float(np.sqrt(((tips - np.median(tips, axis=0)) ** 2).sum(axis=1).mean()))


def _sample_placement(pole: Pole, stretch: _LoadedStretch) -> Placement:
    """Return five samples per second of a placement, with the pole fitted to its markers and to the resting tip."""
    recording, plate, part, positions = stretch
    seen = stretch.visible_frames
    _, p = rigid_fit(pole.markers, positions[seen])
    tip = np.median(p, axis=0)
    with_tip = np.concatenate([positions[seen], np.broadcast_to(tip, (len(p), 1, 3))], axis=1)
    body = np.vstack([pole.markers, np.zeros(3)])
    axes = np.full((len(seen), 3, 3), np.nan)
    axes[seen], _ = rigid_fit(body, with_tip, np.append(np.ones(len(pole.markers)), len(pole.markers)))
    u = axes @ pole.axis
    acceleration = np.gradient(np.gradient(u, axis=0), axis=0) * recording.rate_hz**2
    wrench = plate.wrench[part]
    usable = np.flatnonzero(np.isfinite(acceleration).all(axis=1) & np.isfinite(wrench).all(axis=1))
    usable = usable[:: max(1, round(recording.rate_hz / 5.0))]
    return Placement(plate, tip, axes[usable], u[usable], acceleration[usable], wrench[usable], recording.up)


def _select_placements_on_plates(
    placements: Sequence[Placement], recordings: Sequence[PoleRecording]
) -> tuple[Placement, ...]:
    """Return the placements with the tip on the loaded plate; raise PlateError if none exists."""
    margin_m = 0.1  # larger than errors of the corners
    right = tuple(q for q in placements if q.plate.contains(q.tip, margin_m))
    if right or not placements:
        return right
    wrong = placements[0]
    under = [plate.number for r in recordings for plate in r.plates if plate.contains(wrong.tip, 0.0)]
    where = f"on plate {under[0]}" if under else "on no plate"
    raise PlateError(
        f"Plate {wrong.plate.number} of {_recording_names(recordings)} is loaded while the tip of the pole is "
        f"{where}. Numbers, channels or corners of the plates are exchanged."
    )


# -- the plates ---------------------------------------------------------------------------------------------------------

# Prior standard deviations: shift (m), rotation (rad), gains, crosstalk (fraction of full scale).
_PRIOR = {"shift": 0.1, "turn": 0.2, "gain": 0.1, "crosstalk": 0.005}
_LEVER_M = 0.3  # length that scales moments for comparison with forces


def estimate_plates(
    placements: Sequence[Placement],
    pole: Pole,
    pole_mass_kg: float | None,
    resting: dict[int, FloatArray],
    load_n: float,
) -> tuple[tuple[PlateResult, ...], tuple[str, ...]]:
    """Return the errors of each plate with sufficient placements, and a sentence for each other plate.

    resting: mean reactions (K, 6) under a resting load of `load_n` by plate, see `resting_loads`. Raises PlateError if no plate
    has sufficient placements.
    """
    results, refused = [], []
    for number in sorted({q.plate.number for q in placements}):
        of_plate = [q for q in placements if q.plate.number == number and len(q.u)]
        problem = (
            _insufficiency_reason(number, of_plate)
            if of_plate
            else f"No sample of the pole on plate {number} can be used."
        )
        if problem:
            refused.append(problem)
        else:
            results.append(_estimate_plate(of_plate, pole, pole_mass_kg, resting.get(number), load_n))
    if not results:
        raise PlateError(
            refused[0] if refused else "No placement of the pole can be used.",
            "Push the pole onto at least four points of the plate, and tilt it by 20 degrees in all directions at "
            "each point.",
        )
    return tuple(results), tuple(refused)


def resting_loads(recordings: Sequence[PoleRecording], load_n: float) -> dict[int, FloatArray]:
    """Return, by plate, the mean reactions (K, 6) in stretches in which a load of about `load_n` (N) rests on it."""
    near, steady = 0.2, 0.01  # fractions of the load: limit of gain errors; limit of movement by a hand or a person
    found: dict[int, list[FloatArray]] = {}
    for recording in recordings:
        for plate in recording.plates:
            for part in _loaded_stretches(recording, plate):
                inner = plate.wrench[part][round(0.3 * recording.rate_hz) : -round(0.3 * recording.rate_hz)]
                up = inner[:, :3] @ plate.R_LP.T @ recording.up
                if len(up) and abs(up.mean() - load_n) < near * load_n and up.std() < steady * load_n:
                    found.setdefault(plate.number, []).append(inner.mean(axis=0))
    return {number: np.array(means) for number, means in found.items()}


def _insufficiency_reason(number: int, placements: Sequence[Placement]) -> str:
    """Return the reason why the placements are insufficient, or "" if they suffice."""
    least_places, least_spread_m, least_tilt = 4, 0.05, math.radians(5.0)
    tips = np.array([q.tip for q in placements])
    spread = (
        np.linalg.svd(tips - tips.mean(axis=0), compute_uv=False)[1] / math.sqrt(len(tips)) if len(tips) > 1 else 0.0
    )
    plate = placements[0].plate
    across = np.concatenate([(q.u @ plate.R_LP)[:, :2] for q in placements])
    tilt = float(np.linalg.svd(across, compute_uv=False)[1] / math.sqrt(len(across)))
    if len(tips) >= least_places and spread >= least_spread_m and tilt >= least_tilt:
        return ""
    return (
        f"Plate {number} was loaded at {len(tips)} point{('s' if len(tips) != 1 else '')}, {1000.0 * spread:.0f} mm "
        f"apart in the narrower direction, with tilts of {math.degrees(tilt):.1f} degrees (RMS). At least "
        f"{least_places} points, {1000.0 * least_spread_m:.0f} mm and {math.degrees(least_tilt):.0f} degrees are "
        "needed."
    )


class _PlateSamples:
    """All samples of one plate as arrays, and the residuals of the two equations for a vector of unknowns.

    Unknowns: shift (3), rotation (3), entries of C - I in units of their prior SDs (36, see `spread`), axis of the pole (2),
    mass of the pole (1), tip positions (3 each).
    """

    def __init__(self, placements: Sequence[Placement], pole: Pole, mass_kg: float | None) -> None:
        self.plate = placements[0].plate
        self.index = np.repeat(np.arange(len(placements)), [len(q.u) for q in placements])
        self.tips = np.array([q.tip for q in placements])
        self.u, self.acceleration, self.wrench = (
            np.concatenate([getattr(q, name) for q in placements]) for name in ("u", "acceleration", "wrench")
        )
        axes = np.concatenate([q.R for q in placements])
        self.across = axes @ np.linalg.svd(pole.axis[None])[2][1:].T  # (N, 3, 2)
        self.up = placements[0].up
        self.length = pole.length
        self.size = float(np.median(np.linalg.norm(self.wrench[:, :3], axis=1)))
        scale = np.append(np.ones(3), np.full(3, _LEVER_M))
        entries = _PRIOR["crosstalk"] * np.outer(scale, 1.0 / scale)
        entries[np.diag_indices(6)] = _PRIOR["gain"]
        entries[2, 2] = 0.0
        # the entries that are not equivalent to a displacement of the plate
        rigid = np.zeros((6, 6, 6))
        for n in range(3):
            S = skew_matrix(np.eye(3)[n])
            rigid[n, 3:, :3] = S
            rigid[3 + n, :3, :3] = rigid[3 + n, 3:, 3:] = S
        inverse = np.divide(1.0, entries, out=np.zeros((6, 6)), where=entries > 0.0)
        directions = np.linalg.qr((rigid * inverse).reshape(6, 36).T)[0]
        self.spread = entries.reshape(36, 1) * (np.eye(36) - directions @ directions.T)
        # prior SDs for a pole of unknown mass, and for the mass centre of a pole of known mass
        usual_kg, known_share = 1.0, 0.1
        self.mass = (usual_kg, usual_kg) if mass_kg is None else (mass_kg, max(known_share * mass_kg, 0.02))
        axis_sd = 1e-6 if pole.is_collinear else pole.axis_sd
        tip_sd = 5e-4  # prior SD of the tip position in a placement
        self.prior_sd = np.concatenate(
            [
                np.full(3, _PRIOR["shift"]),
                np.full(3, _PRIOR["turn"]),
                np.ones(36),
                np.full(2, axis_sd),
                [self.mass[1]],
                np.full(self.tips.size, tip_sd),
            ]
        )

    def sensitivity(self, x: FloatArray) -> FloatArray:
        """Return the sensitivity matrix C (6, 6) of the plate for a vector of unknowns x."""
        return np.eye(6) + (self.spread @ x[6:42]).reshape(6, 6)

    def reaction(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the corrected force (N, 3) and the moment (N, 3) about the tip, in laboratory axes."""
        corrected = self.wrench @ self.sensitivity(x).T
        R = rotation_matrix(x[3:6]) @ self.plate.R_LP
        force = corrected[:, :3] @ R.T
        arm = self.plate.centre + x[:3] - (self.tips + x[45:].reshape(-1, 3))[self.index]
        return force, corrected[:, _MOMENT] @ R.T + cross(arm, force)

    def residuals(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the moment about the tip (N, 3) Nm, and the force perpendicular to the pole (N, 3) N."""
        force, moment = self.reaction(x)
        u = self.u + self.across @ x[42:44]
        mass = self.mass[0] + x[44]
        gravity = -STANDARD_GRAVITY_M_S2 * self.up
        inertia = 0.5 * mass * cross(u, gravity) - mass * self.length / 6.0 * cross(u, self.acceleration)
        return moment, cross(u, force) + inertia

    def errors(self, x: FloatArray) -> tuple[float, float]:
        """Return the RMS distance (m) of the line of action from the tip, measured in the surface, and the RMS angle (rad)
        between force and pole."""
        force, moment = self.reaction(x)
        normal = rotation_matrix(x[3:6]) @ self.plate.R_LP[:, 2]
        cop = cross(normal, moment) / (force @ normal)[:, None]
        _, across = self.residuals(x)
        angle = np.linalg.norm(across, axis=1) / np.linalg.norm(force, axis=1)
        return float(np.sqrt((cop**2).sum(axis=1).mean())), float(finite_rms(angle[:, None])[0])


def _estimate_plate(
    placements: Sequence[Placement], pole: Pole, mass_kg: float | None, resting: FloatArray | None, load_n: float
) -> PlateResult:
    """Return the errors of one plate by least squares with priors.

    The weights follow from the size and temporal correlation of the residuals.
    """
    samples = _PlateSamples(placements, pole, mass_kg)
    if resting is not None:  # lower limit, relative to the weight of the pole
        common = load_n / float((resting[:, :3] @ samples.plate.R_LP.T @ samples.up).mean())
        samples.wrench, samples.size = common * samples.wrench, common * samples.size
    prior = samples.prior_sd
    x = np.zeros(len(prior))
    relative = np.hypot(np.linalg.norm(samples.wrench[:, :3], axis=1), samples.size)[:, None] / samples.size
    sd = np.array([2e-3, math.radians(0.5)]) * samples.size  # first guess: 2 mm, 0.5 degrees
    weight = np.ones((len(samples.u), 2))
    for _ in range(4):

        def scaled_residuals(z: FloatArray, sd: FloatArray = sd, weight: FloatArray = weight) -> FloatArray:
            moment, across = samples.residuals(z * prior)
            data = np.hstack([moment / sd[0] * weight[:, :1], across / sd[1] * weight[:, 1:]]) / relative
            return np.concatenate([data.ravel(), z])

        solution = least_squares(scaled_residuals, x / prior, method="lm", max_nfev=20 * len(x))
        x = solution.x * prior
        jacobian = np.asarray(solution.jac)
        covariance = np.linalg.inv(jacobian.T @ jacobian) * np.outer(prior, prior)
        parts = [part / relative for part in samples.residuals(x)]
        sd = np.array([_residual_sd(part, samples.index) for part in parts])
        weight = np.column_stack([_robust_weight(part) for part in parts])
    posterior, spread = np.sqrt(np.diag(covariance)), samples.spread
    C, entry_sd = samples.sensitivity(x), np.sqrt(np.diag(spread @ covariance[6:42, 6:42] @ spread.T)).reshape(6, 6)
    # contribution of the prior alone
    entry_sd = np.where(entry_sd >= 0.95 * np.linalg.norm(spread, axis=1).reshape(6, 6), np.nan, entry_sd)
    if resting is not None:
        shown = common * resting @ C[:3].T @ (rotation_matrix(x[3:6]) @ samples.plate.R_LP).T @ samples.up
        gain = float(load_n / shown.mean())
        # scales have an accuracy of 0.1 %
        gain_sd = math.hypot(float(shown.std()) / math.sqrt(len(shown)) / load_n, 1e-3)
        C, entry_sd = common * gain * C, np.hypot(entry_sd, gain_sd * np.eye(6))
        entry_sd[2, 2] = gain_sd
    before, after = samples.errors(np.where(np.arange(len(x)) // 3 == 14, x, 0.0)), samples.errors(x)
    correction = PlateCorrection(
        number=samples.plate.number,
        corners=samples.plate.corners,
        shift=x[:3],
        turn=x[3:6],
        sensitivity=C,
        shift_sd=posterior[:3],
        turn_sd=posterior[3:6],
        sensitivity_sd=entry_sd,
        cop_error=(before[0], after[0]),
        direction_error=(before[1], after[1]),
    )
    tilt = max(float(np.arccos(np.clip(q.u @ q.up, -1.0, 1.0)).max()) for q in placements)
    return PlateResult(correction, len(placements), tilt, resting is not None, x[42:45])


def _residual_sd(part: FloatArray, index: IntArray) -> float:
    """Return the standard deviation of residuals (N, 3), increased for their correlation within placements."""
    # median of chi-squared with three degrees of freedom
    size = float(np.sqrt(np.median((part**2).sum(axis=1)) / 2.366))
    correlation = 1.0
    for lag in range(1, 50):
        same = index[lag:] == index[:-lag]
        pairs = (part[lag:] * part[:-lag])[same]
        share = float(pairs.mean() / (part**2).mean()) if pairs.size else 0.0
        if share < 0.05:
            break
        correlation += 2.0 * share
    return max(size, 1e-9) * math.sqrt(correlation)


def _robust_weight(part: FloatArray) -> FloatArray:
    """Return Huber weights (N,): residuals above three times the typical size have less weight."""
    length = np.linalg.norm(part, axis=1)
    limit = 3.0 * float(np.median(length)) + 1e-12
    return np.asarray(np.sqrt(np.minimum(1.0, limit / np.maximum(length, 1e-12))))


def remaining_errors(
    placements: Sequence[Placement],
    pole: Pole,
    mass_kg: float | None,
    nuisance: FloatArray,
    correction: PlateCorrection,
) -> tuple[float, float]:
    """Return the RMS errors of centre of pressure (m) and direction (rad) that remain after a correction in placements of its
    plate."""
    samples = _PlateSamples(placements, pole, mass_kg)
    x = np.zeros(len(samples.prior_sd))
    x[42:45] = nuisance
    x[:3], x[3:6] = correction.shift, correction.turn
    samples.wrench = samples.wrench @ correction.sensitivity.T
    return samples.errors(x)
