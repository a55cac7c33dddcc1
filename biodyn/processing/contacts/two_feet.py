"""A load of one plate that both feet make: who stands alone when, and each foot's part of what they carry together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from biodyn.conventions import SIDES, BoolArray, FloatArray, IntArray, Side
from biodyn.processing.contacts.double_support import Passing, Sole, pass_over
from biodyn.processing.contacts.foot_outline import FootOutline
from biodyn.processing.contacts.load import MIN_SHARED_S, Load, SharedWrench
from biodyn.processing.contacts.loading import plate_surface
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.plates import resampled

# Of the feet's alone stretches so much is looked at on either side of what they share.
BESIDE_S = 0.3
# Another plate that carries more than this share of the load: a foot on two plates, whose pressure point this one does not show.
OTHER_PLATE_SHARE = 0.05
# Beyond its begin and end a load is still followed: what lies below the threshold.
TAIL_S = 0.02
# The filter has forgotten a stance after this time.
FILTER_PERIODS = 3.0


@dataclass(frozen=True)
class Stance:
    """One foot's part of a load that both feet make.

    Attributes:
        side: whose. first, stop: frames, stop exclusive. alone: frames in which only this foot is on the plate.
        start_s, end_s: of its force.
        cut_before, cut_after: what the foot carries before or after is not known.
        share: its part of the wrench. shared_s: time that it shares. force_sd_n: standard deviation of the vertical force there.
    """

    side: Side
    first: int
    stop: int
    alone: tuple[int, int]
    start_s: float
    end_s: float
    cut_before: bool
    cut_after: bool
    share: SharedWrench
    shared_s: float
    force_sd_n: float


@dataclass(frozen=True)
class _Pass:
    """A double support that could be shared: `passing` begins at sample `sample` of the plate."""

    sample: int
    passing: Passing


def who_stands(right: BoolArray, left: BoolArray) -> IntArray:
    """Label frames 1 (right alone), 2 (left alone), 3 (both)."""
    label = right.astype(np.int64) + 2 * left.astype(np.int64)
    labelled = np.flatnonzero(label)
    # Frames in which neither stands (kinematics not exact at the edges) go with the nearest frame that tells.
    frames = np.arange(len(label))
    after = np.clip(np.searchsorted(labelled, frames), 0, len(labelled) - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.where(
        np.abs(labelled[before] - frames) <= np.abs(labelled[after] - frames), labelled[before], labelled[after]
    )
    return np.asarray(label[nearer])


def stances_of(load: Load, label: IntArray, smear: int) -> tuple[list[Stance], list[tuple[int, int]]]:
    """Return each foot's stances on the plate with their wrenches, and the stretches of frames that nobody can share out.

    Nothing and the whole load where no double support of it could be shared. `label` see `who_stands`; `smear`: frames over which
    the filter spreads what is not known.
    """
    whole = [(load.first, load.stop)]
    alone = _alone(load, label)
    if load.plate.raw is None or len(alone) < 2:
        return [], whole
    passes = [_pass(load, a, b) for a, b in pairwise(alone)]
    if not any(passes):
        return [], whole
    # What lies before the first and after the last foot that is alone cannot be shared either.
    begins = alone[0][1] - load.first <= MIN_SHARED_S * load.rate_hz
    ends = load.stop - alone[-1][2] <= MIN_SHARED_S * load.rate_hz
    gaps = [] if begins else [(load.first, alone[0][1] + smear)]
    gaps += [
        (a[2] - smear, b[1] + smear) for a, b, found in zip(alone, alone[1:], passes, strict=False) if found is None
    ]
    gaps += [] if ends else [(alone[-1][2] - smear, load.stop)]
    before: list[_Pass | None] = [None, *passes]
    after: list[_Pass | None] = [*passes, None]
    stances = []
    for number, (side, first, stop) in enumerate(alone):
        known_from = begins if number == 0 else passes[number - 1] is not None
        known_to = ends if number == len(alone) - 1 else passes[number] is not None
        inner = (first if known_from else first + smear, stop if known_to else stop - smear)
        if inner[1] > inner[0]:
            stances.append(_stance(load, side, inner, before[number], after[number], known_from, known_to))
    return stances, gaps


def _alone(load: Load, label: IntArray) -> list[tuple[Side, int, int]]:
    """Stretches (side, first, stop) of frames in which one foot is on the plate; too short ones are none, neighbours are one."""
    edges = np.concatenate(([0], np.flatnonzero(np.diff(label)) + 1, [len(label)]))
    found: list[tuple[Side, int, int]] = []
    for a, b in pairwise(edges):
        if label[a] == 3 or b - a < MIN_SHARED_S * load.rate_hz:
            continue
        found.append((SIDES[int(label[a]) - 1], load.first + int(a), load.first + int(b)))
    return found


def _pass(load: Load, rear: tuple[Side, int, int], lead: tuple[Side, int, int]) -> _Pass | None:
    """Share the double support between two stretches of one foot alone; None where it cannot be told."""
    raw = load.plate.raw
    if raw is None or rear[0] == lead[0]:
        return None
    beside = round(BESIDE_S * load.rate_hz)
    first, stop = max(rear[1], rear[2] - beside), min(lead[2], lead[1] + beside)
    own = load.plate.wrench[first:stop, 4]
    for number, other in enumerate(load.plates):
        if number != load.index and other.wrench[first:stop, 4].max() > OTHER_PLATE_SHARE * own.max():
            return None
    ratio = load.plate.analog_rate_hz / load.rate_hz
    begin, end = round(first * ratio), min(round((stop - 1) * ratio) + 1, len(raw))
    soles = [_sole(load.foot_outlines[side], first, stop, np.arange(begin, end) / ratio) for side in (rear[0], lead[0])]
    if soles[0] is None or soles[1] is None:
        return None
    height = float(plate_surface(load.plate.corners_W)[0][1])
    middle = round(0.5 * (rear[2] + lead[1]) * ratio) - begin
    passing = pass_over(
        raw[begin:end], load.plate.analog_rate_hz, soles[0], soles[1], height, middle, rear_is_right=rear[0] == "r"
    )
    return None if passing is None else _Pass(begin, passing)


def _sole(foot: FootOutline, first: int, stop: int, at: FloatArray) -> Sole | None:
    """The sole's middle line at the frames `at` (n,), between `first` and `stop`; None where it is not known."""
    outline = foot.outline_W[first:stop]
    if not np.isfinite(outline).all() or stop - first < 2:
        return None
    half = outline.shape[1] // 2  # it runs heel - toes on one edge and back on the other
    ends = [0.5 * (outline[:, 0] + outline[:, -1]), 0.5 * (outline[:, half - 1] + outline[:, half])]
    frames = np.arange(first, stop)
    heel, toe = (np.column_stack([np.interp(at, frames, end[:, axis]) for axis in range(3)]) for end in ends)
    return Sole(heel, toe, float(np.median(np.linalg.norm(ends[1] - ends[0], axis=1))))


def _stance(
    load: Load,
    side: Side,
    alone: tuple[int, int],
    before: _Pass | None,
    after: _Pass | None,
    known_from: bool,
    known_to: bool,
) -> Stance:
    """Put a stance together: the load of the double supports on either side, and all of it in between."""
    plate, rate = load.plate, load.plate.analog_rate_hz
    assert plate.raw is not None
    ratio = rate / load.rate_hz
    tail = round(TAIL_S * rate)
    # Beside what cannot be shared the whole load is followed: the filter's spread is left out there.
    begin = max(round(load.start_s * rate) - tail, 0) if before is None else before.sample + before.passing.first
    end = min(round(load.end_s * rate) + tail, len(plate.raw)) if after is None else after.sample + after.passing.stop
    pad = round(FILTER_PERIODS / plate.cutoff_hz * load.rate_hz) if plate.cutoff_hz else 1
    first_frame = max(int(begin / ratio) - pad, 0)
    last_frame = min(int(np.ceil(end / ratio)) + pad, len(plate.wrench))
    origin = round(first_frame * ratio)
    window = np.zeros((min(round((last_frame - first_frame) * ratio), len(plate.raw) - origin), 6))
    window[begin - origin : end - origin] = plate.raw[begin:end]
    sd = np.zeros((0, *window.shape))
    shared_s, force_sd_n = 0.0, 0.0
    for found, sign in ((before, 1.0), (after, -1.0)):
        if found is None:
            continue
        passing = found.passing
        rows = slice(found.sample + passing.first - origin, found.sample + passing.stop - origin)
        inner = slice(passing.first, passing.stop)
        whole = plate.raw[rows.start + origin : rows.stop + origin]
        window[rows] = passing.lead[inner] if sign > 0.0 else whole - passing.lead[inner]
        if not len(sd):
            sd = np.zeros((len(passing.sd), *window.shape))
        sd[:, rows] += sign * passing.sd[:, inner]
        shared_s += (passing.stop - passing.first) / rate
        force_sd_n = max(force_sd_n, passing.force_sd_n)
    count = last_frame - first_frame
    return Stance(
        side=side,
        first=max(int(begin / ratio), load.first) if known_from else alone[0],
        stop=min(int(np.ceil(end / ratio)) + 1, load.stop) if known_to else alone[1],
        alone=alone,
        start_s=(load.start_s if before is None else begin / rate) if known_from else alone[0] / load.rate_hz,
        end_s=(load.end_s if after is None else end / rate) if known_to else alone[1] / load.rate_hz,
        cut_before=not known_from,
        cut_after=not known_to,
        share=SharedWrench(
            first_sample=origin,
            raw=window,
            first_frame=first_frame,
            wrench=plate.at_frames(window, load.rate_hz, count),
            sd=_sd_at_frames(load, sd, count),
        ),
        shared_s=shared_s,
        force_sd_n=force_sd_n,
    )


def _sd_at_frames(load: Load, sd: FloatArray, count: int) -> FloatArray:
    """Standard deviations (K, n, 6) at the plate's rate as (K, count, 6): smooth curves, filtered at the marker frames."""
    plate = load.plate
    picked = np.array([resampled(one, plate.analog_rate_hz, count, load.rate_hz) for one in sd]).reshape(
        len(sd), count, 6
    )
    cutoff_hz = plate.cutoff_hz if plate.cutoff_hz < 0.45 * load.rate_hz else 0.0
    return butterworth_lowpass(picked, load.rate_hz, cutoff_hz, plate.order, axis=1)
