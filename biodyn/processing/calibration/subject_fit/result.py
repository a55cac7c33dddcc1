"""What the fit of the subject's model moved, how well it is known, and what it did to the marker errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.model.body_model import SubjectModel
from biodyn.processing.calibration.subject_fit.unknowns import Unknowns


@dataclass(frozen=True)
class CentreShift:
    """A joint centre: its shift (3,) m in the axes of the parent, with standard deviations before and after."""

    segment: str
    shift_m: FloatArray
    prior_sd_m: FloatArray
    sd_m: FloatArray


@dataclass(frozen=True)
class AxisTurn:
    """Axes of a segment about its long axis, rad, with standard deviations before and after."""

    segment: str
    turn_rad: float
    prior_sd_rad: float
    sd_rad: float


@dataclass(frozen=True)
class MarkerShift:
    """A marker's shift (3,) m on its segment, its prior, and the RMS of its error before and after."""

    label: str
    segment: str
    shift_m: FloatArray
    prior_sd_m: float
    rms_before_m: float
    rms_after_m: float


@dataclass(frozen=True)
class SubjectFit:
    """What moved.

    Attributes:
        centres, postures, turns, markers: by unknown; postures as centres (no segment's own centre, its place while walking).
        rms_before_m, rms_after_m: of all marker errors in the frames of the fit, with the set's weights not applied.
        frames: how many were used. trials: of how many trials.
    """

    centres: tuple[CentreShift, ...]
    postures: tuple[CentreShift, ...]
    turns: tuple[AxisTurn, ...]
    markers: tuple[MarkerShift, ...]
    rms_before_m: float
    rms_after_m: float
    frames: int
    trials: int

    def centre_sd_m(self) -> dict[str, FloatArray]:
        """Standard deviation (3,) m of each fitted joint centre by segment, in the axes of the parent."""
        return {centre.segment: centre.sd_m for centre in self.centres}


def result_of(
    before: SubjectModel,
    after: SubjectModel,
    unknowns: Unknowns,
    theta: FloatArray,
    sd: FloatArray,
    errors_before: Sequence[FloatArray],
    errors_after: Sequence[FloatArray],
) -> SubjectFit:
    """Return the account of a solution theta (P,) with posterior sd (P,); errors (T, M) m by trial."""

    def three(name: str, at: int) -> CentreShift:
        span = slice(at, at + 3)
        return CentreShift(name, theta[span], unknowns.sd[span], sd[span])

    old, new = np.concatenate(errors_before), np.concatenate(errors_after)
    markers = [
        MarkerShift(
            marker.label,
            marker.body,
            theta[unknowns.markers[marker.label] :][:3],
            float(unknowns.sd[unknowns.markers[marker.label]]),
            _rms(old[:, i]),
            _rms(new[:, i]),
        )
        for i, marker in enumerate(before.markers)
        if marker.label in unknowns.markers
    ]
    return SubjectFit(
        centres=tuple(three(name, at) for name, at in unknowns.centres.items()),
        postures=tuple(three(name, at) for name, at in unknowns.postures.items()),
        turns=tuple(
            AxisTurn(n, float(theta[at]), float(unknowns.sd[at]), float(sd[at])) for n, at in unknowns.turns.items()
        ),
        markers=tuple(markers),
        rms_before_m=_rms(old),
        rms_after_m=_rms(new),
        frames=len(old),
        trials=len(errors_before),
    )


def _rms(error: FloatArray) -> float:
    seen = error[np.isfinite(error)]
    return float(np.sqrt(np.mean(seen**2))) if len(seen) else float("nan")
