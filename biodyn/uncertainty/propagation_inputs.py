"""Inputs of the error propagation: an analysed trial, and the standard deviation of every source of error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline

from biodyn.conventions import BoolArray, FloatArray, IntArray
from biodyn.errors import TableError
from biodyn.library.tables import expand_sides, read_user_table
from biodyn.library.toml_files import load_table, suggest_name
from biodyn.model.body_model import SubjectModel
from biodyn.processing.calibration.standing_posture import CalibrationSource
from biodyn.processing.dynamics.inverse_dynamics import Dynamics
from biodyn.processing.gait.cycles import find_gait_cycles
from biodyn.processing.kinematics.least_squares import fit_skeleton_to_markers
from biodyn.processing.kinematics.settings import InverseKinematicsSettings
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.kinematics.visibility import VISIBILITY_RAMP_S, visibility_weights
from biodyn.processing.signals.derivatives import DEGREE
from biodyn.processing.signals.filtering import butterworth_lowpass, finite_stretches
from biodyn.processing.signals.signal_preparation import TrialSignals
from biodyn.recording import Contact, GaitEvent, GroundReaction, Markers, PlateWrench

_KIND = "uncertainty"
_CUTOFF_HZ = 6.0  # cut-off to which its standard deviation refers


@dataclass(frozen=True)
class Magnitudes:
    """Standard deviations of the errors in SI units, per axis.

    Attributes:
        marker_noise_m: least white noise of a marker. noise_from_hz: frequency above which the noise of a trial is estimated.
        soft_tissue_m: movement of a marker relative to the bone, by segment. soft_tissue_common: fraction of its variance that
            is common to all markers of the segment.
        shares: fractions of this variance, first the offset, then the harmonics of the stride. stride_s: default stride time.
        joint_centre_m: (3,) error along each axis of the parent, by distal segment.
        mass_share, moment_share: relative errors of mass and moments of inertia of a segment. com_m: error of its centre of
            mass.
        centre_of_pressure_m, cutoff_hz: errors of the centre of pressure and of the cut-off.
        unseen_rad: tilt, list and rotation (3,) of each segment without markers relative to its assumed motion: mean error, and
            movement with the stride. unseen_harmonics: fractions of the variance of this movement.
        calibration_m: additional joint centre errors by distal segment, for each substitute of the static trial.
        pose_noise: least white noise of the origin (m) and attitude (rad) of a measured pose. pose_error: other errors of a
            pose.
        pose_shares: fractions of its variance, first the offset, then the harmonics of the stride.
        citations: source of each magnitude.
    """

    marker_noise_m: float
    noise_from_hz: float
    soft_tissue_m: Mapping[str, float]
    shares: tuple[float, ...]
    stride_s: float
    joint_centre_m: Mapping[str, FloatArray]
    mass_share: float
    moment_share: float
    com_m: float
    centre_of_pressure_m: float
    cutoff_hz: float
    citations: Mapping[str, str]
    soft_tissue_common: Mapping[str, float] = field(default_factory=dict)
    unseen_rad: Mapping[str, tuple[FloatArray, FloatArray]] = field(default_factory=dict)
    unseen_harmonics: tuple[float, ...] = (1.0,)
    calibration_m: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    pose_noise: tuple[float, float] = (0.0, 0.0)
    pose_error: tuple[float, float] = (0.0, 0.0)
    pose_shares: tuple[float, ...] = (1.0,)

    def skin_modes(self, segments: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Return the standard deviations of the skin movement of markers on `segments`.

        The first result (M,) m is for single markers, the second (M, S) m for the movement that all markers of a segment share.
        A segment without a value has the median value.
        """
        usual = float(np.median(list(self.soft_tissue_m.values())))
        sizes = np.array([self.soft_tissue_m.get(name, usual) for name in segments])
        common = np.array([self.soft_tissue_common.get(name, 0.0) for name in segments])
        belongs = np.array(
            [[name == other for other in dict.fromkeys(segments)] for name in segments], dtype=np.float64
        )
        return np.sqrt(1.0 - common) * sizes, (np.sqrt(common) * sizes)[:, None] * belongs

    def cutoff_sd_hz(self, used_hz: float) -> float:
        """Return the standard deviation of the cut-off: `cutoff_hz` at 6 Hz, and proportional above."""
        return self.cutoff_hz * max(1.0, used_hz / _CUTOFF_HZ)


def load_magnitudes(file: str | None = None) -> Magnitudes:
    """Load the magnitudes from the library, or from a TOML file of the same layout.

    Raises TableError if the file cannot be read or an entry is invalid.
    """
    return _magnitudes_from_table(
        load_table("uncertainty/magnitudes") if file is None else read_user_table(_KIND, file).content
    )


def _magnitudes_from_table(table: Mapping[str, Any]) -> Magnitudes:
    shares = tuple(float(share) for share in table["soft_tissue"]["shares"])
    table = _library_pose_errors() | dict(table)  # a user's file may have no entries for poses
    return Magnitudes(
        marker_noise_m=1e-3 * float(table["marker_noise"]["sd_mm"]),
        noise_from_hz=float(table["marker_noise"]["from_hz"]),
        soft_tissue_m=_index_by_segment(table["soft_tissue"]["sd_mm"]),
        soft_tissue_common=_index_by_name(table["soft_tissue"].get("common", {})),
        shares=shares,
        stride_s=float(table["soft_tissue"]["stride_s"]),
        joint_centre_m=_joint_centres(table["joint_centres"]),
        mass_share=0.01 * float(table["inertias"]["mass_percent"]),
        moment_share=0.01 * float(table["inertias"]["moment_percent"]),
        com_m=1e-3 * float(table["inertias"]["centre_mm"]),
        centre_of_pressure_m=1e-3 * float(table["centre_of_pressure"]["sd_mm"]),
        cutoff_hz=float(table["cutoff"]["sd_hz"]),
        unseen_rad=_unseen_magnitudes(table.get("unseen_segments", {})),
        unseen_harmonics=tuple(table.get("unseen_segments", {}).get("harmonics", (1.0,))),
        citations={name: str(entry.get("citation", "")) for name, entry in table.items()},
        pose_noise=_origin_and_turn(table["pose_noise"]),
        pose_error=_origin_and_turn(table["pose_errors"]),
        pose_shares=tuple(float(share) for share in table["pose_errors"]["shares"]),
        calibration_m=_index_by_source(table.get("calibration") or load_table("uncertainty/magnitudes")["calibration"]),
    )


def _library_pose_errors() -> dict[str, Any]:
    library = load_table("uncertainty/magnitudes")
    return {name: library[name] for name in ("pose_noise", "pose_errors")}


def _origin_and_turn(table: Mapping[str, Any]) -> tuple[float, float]:
    return 1e-3 * float(table["origin_mm"]), float(np.deg2rad(table["turn_deg"]))


def _unseen_magnitudes(table: Mapping[str, Any]) -> dict[str, tuple[FloatArray, FloatArray]]:
    offset, stride = (
        {name: np.deg2rad(deg) for pattern, deg in table.get(key, {}).items() for _, name in expand_sides(pattern)}
        for key in ("offset_deg", "stride_deg")
    )
    return {name: (offset.get(name, np.zeros(3)), stride.get(name, np.zeros(3))) for name in {**offset, **stride}}


def _joint_centres(table: Mapping[str, Any]) -> dict[str, FloatArray]:
    """Return (3,) m by segment, from a number for all axes or from the priors of the subject fit."""
    fit = _index_by_name(load_table("body/subject_fit")["centre_mm"])
    believed = [name for pattern in table.get("believed", ()) for _, name in expand_sides(pattern)]
    unknown = [name for name in believed if name not in fit]
    if unknown:
        raise TableError(
            f"'joint_centres.believed': the fit of the subject model has no priors for {', '.join(unknown)}.",
            suggest_name(unknown[0], sorted(fit)),
        )
    millimetres = _index_by_name(table["sd_mm"]) | {name: fit[name] for name in believed}
    return {name: 1e-3 * np.broadcast_to(np.asarray(mm, dtype=float), 3) for name, mm in millimetres.items()}


def _index_by_name(rows: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for pattern, value in rows.items() for _, name in expand_sides(pattern)}


def _index_by_source(calibration: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    return {name.replace("_", " "): _index_by_segment(entry) for name, entry in calibration["sd_mm"].items()}


def _index_by_segment(millimetres: Mapping[str, float]) -> dict[str, float]:
    return {name: 1e-3 * float(mm) for name, mm in _index_by_name(millimetres).items()}


# -- Variances of a marker error and of its first two derivatives: filtered white noise, and skin movement with the stride.
#
# An error n(t) changes a torque by g0 n + g1 n' + g2 n''. Only the six second moments of (n, n', n'') are needed.

# (order, order) of the derivatives in a row of moments.
PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
# Number of cut-off periods from an end beyond which the filter is not affected by it.
_END_PERIODS = 6
_LEAST_FRAMES = 60


def filtered_noise_moments(seen: BoolArray, rate_hz: float, cutoff_hz: float, order: int) -> FloatArray:
    """Return the moments (T, M or 1, 6) of unit white noise after the filter and the derivative spline; seen: (T, M) visible
    markers."""
    return white_noise_moments(seen, rate_hz, cutoff_hz, lambda x: butterworth_lowpass(x, rate_hz, cutoff_hz, order))


def white_noise_moments(
    seen: BoolArray, rate_hz: float, cutoff_hz: float, smooth: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return the moments (T, M, 6) of unit white noise after `smooth` (T, N) -> (T, N) and the derivative spline; seen: (T, M).

    `smooth` consists of filters with the cut-off, which treat each continuous stretch of a marker separately (and leave short
    stretches unchanged). The result is (T, 1, 6) if all markers are always visible.
    """
    frames = len(seen)
    patterns = seen[:, :1] if seen.all() else seen
    moments = np.zeros((frames, patterns.shape[1], len(PAIRS)))
    known: dict[int, FloatArray] = {}
    for m in range(patterns.shape[1]):
        for first, stop in finite_stretches(patterns[:, m]):
            if stop - first not in known:
                known[stop - first] = _stretch_noise_moments(stop - first, rate_hz, cutoff_hz, smooth)
            moments[first:stop, m] = known[stop - first]
    return moments


def _stretch_noise_moments(
    frames: int, rate_hz: float, cutoff_hz: float, smooth: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return the moments (T, 6) of unit white noise in one stretch, after `smooth` and the derivative spline.

    Because the filters are linear, the variance in a frame is the sum of the squared weights of all samples, which is exact
    also at the ends. Far from the ends the weights are constant; they are computed for a short trial whose middle is repeated.
    """
    end = round(_END_PERIODS * rate_hz / cutoff_hz) if cutoff_hz else 0
    short = min(frames, max(2 * end + 1, _LEAST_FRAMES))
    filtered = smooth(np.eye(short))
    weights = [filtered, *_spline_derivatives(filtered, rate_hz)]
    moments = np.stack([np.sum(weights[i] * weights[j], axis=1) for i, j in PAIRS], axis=1)
    half = (short - 1) // 2
    rows = np.full(frames, half)
    rows[:half] = np.arange(half)
    rows[frames - half :] = np.arange(short - half, short)
    return np.asarray(moments[rows])


def _spline_derivatives(x: FloatArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """Return the first and second derivative of samples (T, ...), from a spline, whose degree is lower for few samples."""
    if len(x) == 1:  # a constant; SciPy 1.16 has a memory error for the second derivative of degree 0
        return np.zeros_like(x), np.zeros_like(x)
    time_s = np.arange(len(x)) / rate_hz
    spline = make_interp_spline(time_s, x, k=min(DEGREE, len(x) - 1))
    return spline(time_s, nu=1), spline(time_s, nu=2)


def stride_movement_moments(
    shares: Sequence[float], stride_s: float, rate_hz: float, cutoff_hz: float, order: int
) -> FloatArray:
    """Return the moments (6,) of a random curve of the gait cycle with variance 1; `shares`: fractions of offset and harmonics.

    Because every harmonic k has a random phase, its moments are those of a stationary process: <n n> = s, <n' n'> = w^2 s,
    <n n''> = -w^2 s, <n'' n''> = w^4 s with w = 2 pi k / stride. The low-pass filter multiplies it by its gain.
    """
    moments = np.zeros(len(PAIRS))
    for k, share in enumerate(shares):
        w = 2.0 * np.pi * k / stride_s
        s = share * filter_gain(k / stride_s, rate_hz, cutoff_hz, order) ** 2
        moments += s * np.array([1.0, 0.0, -(w**2), w**2, 0.0, w**4])
    return moments


def filter_gain(frequency_hz: float, rate_hz: float, cutoff_hz: float, order: int) -> float:
    """Return the gain of the zero-lag Butterworth filter at a frequency, with dual-pass correction: 1/sqrt(2) at the cut-off."""
    if not cutoff_hz or not frequency_hz:
        return 1.0
    ratio = np.tan(np.pi * frequency_hz / rate_hz) / np.tan(np.pi * cutoff_hz / rate_hz)
    # Each pass has the gain (1 + C^order ratio^order)^-1/2, with C such that two passes have the gain 1/sqrt(2) at ratio 1.
    return float(1.0 / (1.0 + (np.sqrt(2.0) - 1.0) * ratio**order))


@dataclass(frozen=True)
class PoseOffset:
    """Model rebuilt from measured poses with a small constant error of one segment.

    Attributes:
        body: segment with the error. turns: True for a rotation (rad), False for a shift (m). step: size of the error.
        model: model built from these poses. moved_L: (M, 3) m shift of each fitted point in link axes.
    """

    body: str
    turns: bool
    step: float
    model: SubjectModel
    moved_L: FloatArray


@dataclass(frozen=True)
class PoseErrors:
    """Errors of measured poses.

    Attributes:
        size: SD of the origin (m) and of the attitude (rad) of a segment, per axis.
        shares: fractions of this variance, first the offset, then the harmonics of the stride.
        offsets: six offsets per segment. assumed_centres: bodies without a joint centre from the poses.
    """

    size: tuple[float, float]
    shares: tuple[float, ...]
    offsets: tuple[PoseOffset, ...]
    assumed_centres: frozenset[str]


@dataclass(frozen=True)
class TrialInputs:
    """Trial after its inverse dynamics.

    Attributes:
        fit, dynamics, reaction, contacts: results of the analysis.
        signals: fitted signals, with their settings and those of the fit (`fit_settings`).
        stride_s: measured stride time, NaN if unknown.
        calibration: source of the model.
        centre_sd_m: SD (3,) m of joint centres by segment, in the axes of the parent, if the walk determines them more
            accurately than the variation between people.
        poses: errors of measured poses, if the markers are virtual points of poses.
        curved: True if the motion responds to its markers as the fit does; False for an estimate, see `fit_response`.
    """

    fit: Fit
    dynamics: Dynamics
    reaction: GroundReaction
    contacts: Sequence[Contact]
    signals: TrialSignals
    fit_settings: InverseKinematicsSettings
    stride_s: float
    calibration: CalibrationSource = "static trial"
    centre_sd_m: Mapping[str, FloatArray] = field(default_factory=dict)
    poses: PoseErrors | None = None
    curved: bool = True

    @property
    def model(self) -> SubjectModel:
        """Skeleton of the subject that was fitted to the markers."""
        return self.fit.model

    @property
    def markers(self) -> Markers:
        """Smoothed markers to which the skeleton was fitted."""
        return self.signals.markers

    @property
    def unfiltered_markers(self) -> Markers:
        """The fitted markers with filled gaps, before smoothing."""
        return self.signals.unfiltered_markers

    @property
    def raw_plates(self) -> Sequence[PlateWrench]:
        """Unfiltered wrenches of the plates at their sampling rates."""
        return self.signals.raw_plates

    @property
    def rate_hz(self) -> float:
        """Marker rate, Hz."""
        return self.markers.rate_hz

    @property
    def cutoff_hz(self) -> float:
        """Cut-off of the smoothing of the markers, 0 = none."""
        return self.signals.cutoff_hz

    @property
    def filter_order(self) -> int:
        """Order of the smoothing of the markers."""
        return self.signals.order

    @property
    def force_cutoff_hz(self) -> float:
        """Cut-off of the filter of the plates, 0 = none."""
        return self.signals.force_cutoff_hz

    def refit(self, model: SubjectModel, markers: Markers) -> Fit:
        """Return the fit of another skeleton to other smoothed markers, computed as in the analysis."""
        return fit_skeleton_to_markers(model, replace(self.signals, markers=markers), self.fit_settings)

    def fitted_positions(self, markers: Markers, frames: slice | IntArray = slice(None)) -> FloatArray:
        """Return the positions (T, M, 3) m of the `markers` that the fit uses, in the order of the fit, in some frames."""
        return markers.positions[frames][:, [markers.labels.index(label) for label in self.fit.labels]]

    def centre_sd(self, body: str, magnitudes: Magnitudes) -> FloatArray:
        """Return the standard deviation (3,) m of a segment's joint centre: from the fit, else the typical SD; zero if unknown.

        The error of a substitute of the static trial is added.
        """
        usual = magnitudes.joint_centre_m.get(body, np.zeros(3))
        if self.poses is not None and body not in self.poses.assumed_centres:
            return np.zeros(3)  # already included in the errors of the poses
        added = magnitudes.calibration_m.get(self.calibration, {}).get(body, 0.0)
        return np.hypot(self.centre_sd_m.get(body, usual) if usual.any() else usual, added)

    def marker_weights(self, seen: BoolArray) -> FloatArray:
        """Return the weights (T, M) of the visible markers `seen` (T, M) in the fit."""
        given = self.fit_settings.marker_weights
        base = np.array([given.get(marker.label, marker.weight) for marker in self.model.markers])
        return base * visibility_weights(seen, round(VISIBILITY_RAMP_S * self.rate_hz))


def stride_time(events: Sequence[GaitEvent]) -> float:
    """Return the median stride time, s; NaN without a whole stride."""
    durations = [cycle.duration_s for cycle in find_gait_cycles(events)]
    return float(np.median(durations)) if durations else float("nan")
