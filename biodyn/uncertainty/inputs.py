"""What the propagation needs of an analysed trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.processing.calibration.standing import CalibrationSource
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.gait.cycles import gait_cycles
from biodyn.processing.kinematics.fit import Fit
from biodyn.processing.kinematics.parameters import InverseKinematicsSettings
from biodyn.processing.kinematics.tracking import fit_with
from biodyn.processing.kinematics.visibility import visibility_weights
from biodyn.processing.signals.prepare import TrialSignals
from biodyn.recording import Contact, GaitEvent, GroundReaction, Markers, PlateWrench
from biodyn.uncertainty.magnitudes import Magnitudes


@dataclass(frozen=True)
class PoseOffset:
    """What the analysis would have made of poses of which one segment is off by a small constant step.

    Attributes:
        body: that is off. turns: the step is about an axis, rad, else along it, m. step: its size.
        model: made of these poses. moved_L: (M, 3) m, how far each fitted point lies from where it was, axes of its link.
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
        size: of a segment's origin along each axis, m, and of its attitude about each, rad: one standard deviation.
        shares: of that variance, offset first, then the harmonics of the stride.
        offsets: six a segment. assumed_centres: bodies whose joint centre the poses do not tell.
    """

    size: tuple[float, float]
    shares: tuple[float, ...]
    offsets: tuple[PoseOffset, ...]
    assumed_centres: frozenset[str]


@dataclass(frozen=True)
class TrialInputs:
    """A trial after its inverse dynamics.

    Attributes:
        fit, dynamics, reaction, contacts: of the analysis.
        signals: as fitted, with the sections of the settings that they and the fit (`fit_settings`) were made with.
        stride_s: measured stride time, NaN where there is none.
        calibration: what the model rests on.
        centre_sd_m: standard deviations (3,) m of joint centres by segment, in the axes of the parent, where the walk told
            more of them than is known of people in general.
        poses: errors of measured poses, where the markers are virtual points of those.
        curved: whether the motion answers to its markers as the fit does; False of an estimate, see `fit_response`.
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
        """The fitted skeleton."""
        return self.fit.model

    @property
    def markers(self) -> Markers:
        """Markers as fitted (smoothed)."""
        return self.signals.markers

    @property
    def raw(self) -> Markers:
        """The same markers with gaps filled, not smoothed."""
        return self.signals.unfiltered

    @property
    def raw_plates(self) -> Sequence[PlateWrench]:
        """Wrenches of the plates at their own rate, not filtered."""
        return self.signals.raw_plates

    @property
    def rate_hz(self) -> float:
        """Frames a second."""
        return self.markers.rate_hz

    @property
    def cutoff_hz(self) -> float:
        """Cut-off of the markers' smoothing, 0 = none."""
        return self.signals.cutoff_hz

    @property
    def filter_order(self) -> int:
        """Order of the markers' smoothing."""
        return self.signals.order

    @property
    def force_cutoff_hz(self) -> float:
        """Cut-off of the plates' filter, 0 = none."""
        return self.signals.force_cutoff_hz

    @property
    def visibility_ramp_s(self) -> float:
        """Time over which a marker's weight fades beside its gaps."""
        return self.fit_settings.visibility_ramp_s

    def refit(self, model: SubjectModel, markers: Markers) -> Fit:
        """Fit another skeleton to other smoothed markers, as the analysis did."""
        return fit_with(model, replace(self.signals, markers=markers), self.fit_settings)

    def fitted(self, markers: Markers) -> FloatArray:
        """Positions (T, M, 3) of the fitted markers, in the fit's order."""
        return markers.positions[:, [markers.labels.index(label) for label in self.fit.labels]]

    def centre_sd(self, body: str, magnitudes: Magnitudes) -> FloatArray:
        """Standard deviation (3,) m of a segment's joint centre: as fitted, else the usual one; zero where none is known.

        What stands for the static trial adds its own.
        """
        usual = magnitudes.joint_centre_m.get(body, np.zeros(3))
        if self.poses is not None and body not in self.poses.assumed_centres:
            return np.zeros(3)  # the poses' own errors hold it
        added = magnitudes.calibration_m.get(self.calibration, {}).get(body, 0.0)
        return np.hypot(self.centre_sd_m.get(body, usual) if usual.any() else usual, added)

    def marker_weights(self, seen: BoolArray) -> FloatArray:
        """Weights (T, M) that the fit gave to the markers seen (T, M)."""
        given = self.fit_settings.marker_weights
        base = np.array([given.get(marker.label, marker.weight) for marker in self.model.markers])
        return base * visibility_weights(seen, round(self.visibility_ramp_s * self.rate_hz))


def stride_time(events: Sequence[GaitEvent]) -> float:
    """Return the median stride time, s, NaN where no whole stride was seen."""
    durations = [cycle.duration_s for cycle in gait_cycles(events)]
    return float(np.median(durations)) if durations else float("nan")
