"""Frames that no camera measured: markers stored at a higher rate than the cameras', often at that of the force plates.

An export fills the frames between two measured ones with the first of them, with a straight line or with a cubic. Each is a
polynomial from one measured frame to the next: its next difference is rounding within, and more than that at every k-th frame
only. Nothing that is measured or filtered is so in every k-th frame and in no other. Taken as measured, such frames have errors
that are not independent, and accelerations that are none. They are left out; plates and events keep their own times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from biodyn.conventions import FloatArray, IntArray
from biodyn.diagnostics import Diagnostic
from biodyn.io.drawn_positions import least_step, without_drawn
from biodyn.io.events import later
from biodyn.recording import ForcePlate, Markers, Recording

Between = Literal["repeats", "lines", "curves"]

# Cameras are not slower, Hz; and so many of their frames show a rule.
_SLOWEST_HZ: Final = 20.0
_LEAST_FRAMES: Final = 20
# The markers that are seen most tell; at least so many of them, and this share of them must name the same frames as measured.
_MOST_MARKERS, _LEAST_MARKERS, _AGREE = 40, 4, 0.8
# So many of them tell at once that nothing vanishes in a usual recording.
_GLIMPSE: Final = 8
# So many of the frames between must be on the polynomial; in the others a gap was filled later.
_ON_IT: Final = 0.9
# Frames that are measured in each second, third ... of the candidates only are no rule of these.
_SPARSER: Final = (2, 3, 5, 7)
_EPS: Final = float(np.finfo(np.float32).eps)
# Of the most that rounding makes, as much is usual (geometric mean); what is less than the second share is nothing.
_ROUNDING: Final = 0.03
_NOTHING: Final = 0.01


@dataclass(frozen=True)
class _Order:
    """A way to fill frames: the difference that vanishes within, and by how many times it must be larger (in the geometric mean
    over time) at measured frames than at any others; `shortest`: frames from one to the next that leave differences within.
    """

    between: Between
    difference: int
    contrast: float
    shortest: int


_ORDERS: Final = (_Order("repeats", 1, 3.0, 2), _Order("lines", 2, 3.0, 2), _Order("curves", 4, 2.0, 4))
_WORDS: Final[dict[Between, str]] = {
    "repeats": "repeat a measured one",
    "lines": "lie on straight lines between measured ones",
    "curves": "lie on cubics between measured ones",
}


@dataclass(frozen=True)
class CameraFrames:
    """The frames that cameras measured: `first`, counted from 0, and each `every`-th one from it; what lies `between`."""

    first: int
    every: int
    between: Between


def camera_frames(positions: FloatArray, rate_hz: float) -> CameraFrames | None:
    """Return which frames of the positions (T, M, 3) m were measured; None where nothing shows that not all of them were."""
    most = min(int(rate_hz / _SLOWEST_HZ), len(positions) // _LEAST_FRAMES)
    if most < 2:
        return None
    seen = np.isfinite(positions[..., 0]).sum(axis=0)
    kept = [marker for marker in np.argsort(-seen, kind="stable")[:_MOST_MARKERS] if seen[marker]]
    if len(kept) < _LEAST_MARKERS:
        return None
    for order in _ORDERS:
        rounding = 0.0 if order.between == "repeats" else 1.0
        least = _ON_IT * _share_between(order, order.shortest)
        if _vanishing(_differences(positions[:, kept[:_GLIMPSE]], order.difference), rounding) < 0.5 * least:
            continue
        size = _differences(positions[:, kept], order.difference)
        vanishing = _vanishing(size, rounding)
        for every in range(most, order.shortest - 1, -1):
            if vanishing < _ON_IT * _share_between(order, every):
                continue
            first = _first_measured(size, rounding, order, every)
            if first is not None:
                return CameraFrames(_of_repeats(first, every, len(positions), order.between), every, order.between)
    return None


def _vanishing(size: FloatArray, rounding: float) -> float:
    """Share of the known differences that are no more than rounding."""
    known = size[np.isfinite(size)]
    return float(np.mean(known <= rounding)) if known.size else 0.0


def _share_between(order: _Order, every: int) -> float:
    """The share of differences that hold no measured frame but at their ends; a step to the next repeat holds one at its end."""
    return (every - max(order.difference - 1, 1)) / every


def _differences(positions: FloatArray, order: int) -> FloatArray:
    """(T - order, M) sizes of the differences, over what rounding makes of nothing."""
    largest = np.array([np.abs(path[np.isfinite(path)]).max(initial=0.0) for path in np.moveaxis(positions, 1, 0)])
    step = np.array([least_step(path) for path in np.moveaxis(positions, 1, 0)])
    rounding = 2.0 ** (order - 1) * (_EPS * largest + step) + np.finfo(float).tiny
    return np.asarray(np.abs(np.diff(positions, order, axis=0)).max(axis=2) / rounding)


def _first_measured(size: FloatArray, rounding: float, order: _Order, every: int) -> int | None:
    """The first measured frame if each `every`-th one is measured; None where the differences (T, M) do not say so."""
    reach = (order.difference - 1) // 2  # differences that hold the measured frame, but not in their middle
    usual, count = _by_phase(size, every)
    told = count.min(axis=0) >= _LEAST_FRAMES - 1
    if told.sum() < _LEAST_MARKERS:
        return None
    usual = usual[:, told]
    about = np.mean([np.roll(usual, shift, axis=0) for shift in range(-reach, reach + 1)], axis=0)
    centre = int(np.bincount(about.argmax(axis=0)).argmax())
    within = [phase for phase in range(every) if reach < (phase - centre) % every < every - reach]
    largest = usual[within].max(axis=0)
    between = np.concatenate([size[phase::every, told] for phase in within])
    exact = np.mean(between[np.isfinite(between)] <= rounding) >= _ON_IT
    above = np.maximum(largest, np.log(_ROUNDING))
    if not (exact and _stands_out(about[centre], above, order.contrast)):
        return None
    for times in _SPARSER:
        sparse, _ = _by_phase(size[:, told], every * times)
        for part in range(centre, every * times, every):
            rows = [(part + shift) % len(sparse) for shift in range(-reach, reach + 1)]
            if not _stands_out(sparse[rows].mean(axis=0), above, np.sqrt(order.contrast)):
                return None
    return (centre + (order.difference + 1) // 2) % every


def _by_phase(size: FloatArray, every: int) -> tuple[FloatArray, IntArray]:
    """Mean logarithms (every, M) of the differences at each phase, and how many are known; NaN where none is."""
    logs = np.log(np.maximum(size, _NOTHING))
    known = np.isfinite(logs)
    pad = (-len(size)) % every
    whole = np.pad(np.where(known, logs, 0.0), ((0, pad), (0, 0))).reshape(-1, every, size.shape[1]).sum(axis=0)
    count = np.pad(known, ((0, pad), (0, 0))).reshape(-1, every, size.shape[1]).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(whole / count), np.asarray(count)


def _stands_out(usual: FloatArray, largest: FloatArray, contrast: float) -> bool:
    """Whether logarithms (M,) are larger than others, of nearly all markers, and usually by a contrast."""
    more = usual - largest
    return bool(np.mean(more > 0.0) >= _AGREE and np.nanmedian(more) > np.log(contrast))


def _of_repeats(first: int, every: int, frames: int, between: Between) -> int:
    """The first measured frame where repeats begin at `first`: before them, or amid them where each frame took the nearest."""
    middle = every > 2 and (frames - 1) % every == 0 and first > 0 and abs(2 * first - every) <= 1
    return 0 if between == "repeats" and middle else first


# -- the recording -----------------------------------------------------------------------------------------------------


def as_measured(recording: Recording) -> Recording:
    """Return a recording with the frames that its cameras measured, and of these the positions that they saw.

    See `camera_frames` and `without_drawn`; what was found is in `diagnostics`. Points of poses stay as they are.
    """
    markers = recording.motion.markers
    if markers is None or markers.virtual:
        return recording
    found = camera_frames(markers.positions, markers.rate_hz)
    if found is not None:
        recording = _thinned(recording, markers, found)
        markers = recording.markers
    positions, notes = without_drawn(markers.labels, markers.positions, markers.rate_hz)
    diagnostics = (*recording.diagnostics, *notes)
    return replace(recording.with_markers(replace(markers, positions=positions)), diagnostics=diagnostics)


def _thinned(recording: Recording, markers: Markers, found: CameraFrames) -> Recording:
    """The recording with each `every`-th frame; time 0 is at the first of them, plates and events stay at their own times."""
    frames, rate_hz = markers.frame_count, markers.rate_hz
    # plates measure as long as the frames last that are kept
    whole = (frames - found.first) // found.every * found.every if recording.plates else frames - found.first
    kept = slice(found.first, found.first + whole, found.every)
    count, camera_hz = len(range(frames)[kept]), rate_hz / found.every
    motion = recording.motion
    poses, coordinates = motion.poses, motion.coordinates
    if poses is not None:
        ratio = max(1, poses.frame_count // frames)
        rows = slice(found.first * ratio, (found.first + count * found.every) * ratio, found.every if ratio == 1 else 1)
        poses = replace(
            poses,
            rotations=poses.rotations[rows],
            origins=poses.origins[rows],
            reliability=None if poses.reliability is None else poses.reliability[rows],
            rate_hz=camera_hz if ratio == 1 else poses.rate_hz,
        )
    if coordinates is not None:
        coordinates = replace(coordinates, values=coordinates.values[kept], rate_hz=camera_hz)
    return replace(
        recording,
        motion=replace(
            motion,
            markers=replace(markers, positions=markers.positions[kept], rate_hz=camera_hz),
            poses=poses,
            coordinates=coordinates,
        ),
        plates=tuple(_plates(recording.plates, found, count, rate_hz)),
        events=later(recording.events, found.first / rate_hz, count, camera_hz),
        model_outputs={
            label: replace(output, values=output.values[kept]) for label, output in recording.model_outputs.items()
        },
        first_frame=recording.first_frame + found.first,
        frame_step=recording.frame_step * found.every,
        start_s=recording.start_s + found.first / rate_hz,
        diagnostics=(*recording.diagnostics, _note(found, rate_hz)),
    )


def _plates(plates: tuple[ForcePlate, ...], found: CameraFrames, count: int, rate_hz: float) -> Iterator[ForcePlate]:
    """The plates from the first kept frame to the end of the last."""
    for plate in plates:
        per_frame = plate.rate_hz / rate_hz
        rows = slice(round(found.first * per_frame), round((found.first + count * found.every) * per_frame))
        zero = plate.zero_frames
        if zero is not None:
            first = max(0, -(-(zero[0] - found.first) // found.every))
            last = min(count - 1, (zero[1] - found.first) // found.every)
            zero = (first, last) if first <= last else None
        yield replace(plate, channels=plate.channels[rows], zero_frames=zero)


def _note(found: CameraFrames, rate_hz: float) -> Diagnostic:
    camera_hz = rate_hz / found.every
    return Diagnostic(
        "markers-upsampled",
        "info",
        f"The markers are stored at {rate_hz:g} Hz, but one frame in {found.every} was measured, {camera_hz:g} a second: the "
        f"others {_WORDS[found.between]}. Only the measured frames are used; plates and events keep their times.",
        value=rate_hz,
        limit=camera_hz,
        unit="Hz",
        hint="Export the markers at the rate of the cameras.",
    )
