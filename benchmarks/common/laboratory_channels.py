"""Compare results with channels of the laboratory software in a C3D file, in measured stance frames."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDE_NAMES, BoolArray, FloatArray
from biodyn.errors import InputFileError
from biodyn.io import read
from biodyn.library.tables import expand_sides
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.session import typical_motion_m

_OUTPUTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["output"]
# Smallest number of stance frames.
_LEAST_FRAMES = 10
# Smallest travel of the markers in walking, m.
_WALKING_M = 0.3


@dataclass(frozen=True)
class Agreement:
    """Agreement of one variable of one side over all measured stance frames of a trial.

    r: Pearson correlation. rms: root mean square difference; for angles after removal of the mean difference `offset`.
    r_same, rms_same: the same after applying the low-pass filter of the trial to the channel, because laboratory software
    smooths forces less, which affects the first 100 ms of stance.
    peak: largest absolute value of the channel. unit: deg or Nm/kg. within_band: share of frames in which the channel is
        within the 95 % band of a moment; NaN without a band.
    least_r, most_rms: thresholds of good agreement.
    """

    trial: str
    side: str
    variable: str
    kind: str
    r: float
    rms: float
    r_same: float
    rms_same: float
    offset: float
    peak: float
    unit: str
    frames: int
    within_band: float
    least_r: float
    most_rms: float

    @property
    def meets_targets(self) -> bool:
        """Return whether correlation and difference are within `least_r` and `most_rms` (laboratory_channels.toml)."""
        return self.r >= self.least_r and self.rms <= self.most_rms


def walks_with_lab_outputs(places: Iterable[str | Path]) -> list[Path]:
    """Return the files, and files below folders, that hold a walk on plates with known channels of laboratory software.

    Files that cannot be read are omitted; a single given file is always kept, so that its error is reported.
    """
    walks: list[Path] = []
    for place in map(Path, places):
        if not place.is_dir():
            walks.append(place)
            continue
        files = sorted(path for path in place.rglob("*") if path.suffix.lower() == ".c3d")
        walks += [path for path in files if _is_comparable(path)]
    return walks


def _is_comparable(path: Path) -> bool:
    try:
        recording = read(path)
    except InputFileError:
        return False
    if not recording.plates:
        return False
    known = {name for raw in _OUTPUTS for _, e in expand_sides(raw) for name in e["channels"]}
    return bool(known & set(recording.model_outputs)) and typical_motion_m(recording.markers) > _WALKING_M


def compare_with_lab_software(analysis: TrialAnalysis) -> list[Agreement]:
    """Compare every known channel of the file with the result of biodyn, in frames with a foot on a plate.

    The constant offset of angles is removed (neutral positions are defined differently); that of moments is not.
    """
    comparisons = []
    for raw in _OUTPUTS:
        for side, entry in expand_sides(raw):
            outputs = analysis.recording.model_outputs
            channel = next((outputs[name] for name in entry["channels"] if name in outputs), None)
            if channel is None:
                continue
            theirs = channel.values[:, entry["component"]] * entry.get("scale", 1.0)
            ours = entry["sign"] * _computed_curve(analysis, entry, side)
            frames = stance_frames(analysis, side) & np.isfinite(theirs) & np.isfinite(ours) & (theirs != 0.0)
            if frames.sum() < _LEAST_FRAMES:
                continue
            # an unfiltered result is compared with the unfiltered channel
            cutoff_hz = 0.0 if analysis.estimate is not None else analysis.cutoff_hz
            order = analysis.settings.signals.filter_order
            smooth = butterworth_lowpass(theirs, analysis.recording.markers.rate_hz, cutoff_hz, order)
            comparisons.append(_measure_agreement(analysis, side, entry, theirs, smooth, ours, frames))
    return comparisons


def _computed_curve(analysis: TrialAnalysis, entry: dict[str, Any], side: str) -> FloatArray:
    if entry["kind"] == "angle":
        coordinate = analysis.model.coordinate(entry["coordinate"])
        return np.rad2deg(analysis.fit.motion.q[:, coordinate.q_index])
    load = next(j for j in analysis.dynamics.joints if (j.joint, j.side) == (entry["joint"], side))
    return load.moment[entry["frame"]][:, entry["axis"]] / analysis.subject.mass_kg


def stance_frames(analysis: TrialAnalysis, side: str) -> BoolArray:
    """Return the frames (T,) of the assigned contacts of a side."""
    time_s = analysis.time_s
    stance = np.zeros(len(time_s), dtype=bool)
    for contact in analysis.contacts:
        if contact.decision == "assigned" and contact.side == side:
            stance |= (time_s >= contact.start_s) & (time_s <= contact.end_s)
    return stance


def _fraction_within_band(
    analysis: TrialAnalysis, entry: dict[str, Any], difference: FloatArray, frames: BoolArray
) -> float:
    bands = analysis.uncertainty
    if bands is None or entry["kind"] == "angle":
        return float("nan")
    sd = bands.total[:, bands.coordinates.index(entry["coordinate"])] / analysis.subject.mass_kg
    frames = frames & np.isfinite(sd)
    return float(np.mean(np.abs(difference[frames]) <= 1.96 * sd[frames])) if frames.any() else float("nan")


def _measure_agreement(
    analysis: TrialAnalysis,
    side: str,
    entry: dict[str, Any],
    theirs: FloatArray,
    smooth: FloatArray,
    ours: FloatArray,
    frames: BoolArray,
) -> Agreement:
    is_angle = entry["kind"] == "angle"
    r, rms, offset = _curve_agreement(ours[frames], theirs[frames], is_angle)
    r_same, rms_same, _ = _curve_agreement(ours[frames], smooth[frames], is_angle)
    return Agreement(
        trial=analysis.recording.path.stem,
        side=SIDE_NAMES[side],
        variable=entry["variable"],
        kind=entry["kind"],
        r=r,
        rms=rms,
        r_same=r_same,
        rms_same=rms_same,
        offset=offset,
        peak=float(np.abs(theirs[frames]).max()),
        unit="deg" if is_angle else "Nm/kg",
        frames=int(frames.sum()),
        within_band=_fraction_within_band(analysis, entry, ours - theirs, frames),
        least_r=entry.get("least_r", -1.0),
        most_rms=entry["most_rms"],
    )


def _curve_agreement(ours: FloatArray, theirs: FloatArray, without_offset: bool) -> tuple[float, float, float]:
    difference = ours - theirs
    offset = float(difference.mean())
    if without_offset:
        difference = difference - offset
    return float(np.corrcoef(ours, theirs)[0, 1]), float(np.sqrt(np.mean(difference**2))), offset
