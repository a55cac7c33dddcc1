"""Ground reaction wrenches about the world origin, per plate and per foot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, Side
from biodyn.diagnostics import Diagnostic

ZeroSource = Literal["feet", "force", "file", "unknown"]
ContactDecision = Literal["assigned", "ambiguous", "rejected"]


@dataclass(frozen=True)
class PlateZero:
    """Baseline of an unloaded plate, which was subtracted from its channels.

    Attributes:
        source: how the unloaded frames were determined: "feet" (no foot over the plate), "force" (a long, constant, low force),
            "file" (FORCE_PLATFORM:ZERO); "unknown": no unloaded frames, nothing was subtracted.
        offset_n: vertical force of the unloaded plate, N, positive as the reaction on a foot; 0 if unknown.
        drift_n: change of the offset over the recording, N; 0 if none exists.
        noise_n: standard deviation of the vertical force of the unloaded plate, N; NaN if unknown.
        unloaded_s: duration without load, s.
    """

    source: ZeroSource
    offset_n: float = 0.0
    drift_n: float = 0.0
    noise_n: float = math.nan
    unloaded_s: float = 0.0


@dataclass(frozen=True)
class PlateWrench:
    """Reaction of one plate on the body.

    Attributes:
        number: plate number in the file.
        corners: (4, 3) m in World.
        wrench: (T, 6) F_Wo_W = [moment about the world origin; force], Nm and N, world axes; at `rate_hz`.
        rate_hz: samples per second of `wrench`.
        diagnostics: findings about the plate (offset, signs, channels).
        zero: baseline of the plate, None if not determined.
        saturated_s: (begin, end), s, of the intervals in which a channel was saturated.
        unrecorded_s: (begin, end), s, of the intervals without data while the plate was loaded.
        outlined, side: as in `ForcePlate`.
    """

    number: int
    corners: FloatArray
    wrench: FloatArray
    rate_hz: float
    diagnostics: tuple[Diagnostic, ...] = ()
    zero: PlateZero | None = None
    saturated_s: tuple[tuple[float, float], ...] = ()
    unrecorded_s: tuple[tuple[float, float], ...] = ()
    outlined: bool = True
    side: Side | None = None

    def rotated(self, R: FloatArray) -> PlateWrench:
        """Return the same reaction in other axes with the same origin: corners and wrench multiplied by R (3, 3)."""
        return replace(self, corners=self.corners @ R.T, wrench=_rotate_wrenches(self.wrench, R))


@dataclass(frozen=True)
class Contact:
    """One interval in which a plate is loaded, and its assignment to a foot. Times in s, 0 at the first frame."""

    plate: int
    start_s: float
    end_s: float
    side: Side | None
    decision: ContactDecision
    reason: str
    evidence: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SharedLoad:
    """The share of one foot in a load of both feet on one plate.

    Attributes:
        plate: plate number in the file. side: side of the foot.
        raw: (n, 6) F_Wo_W at the rate of the plate, not filtered, from sample `first_sample` on; zero outside the stance.
        wrench: (m, 6) filtered like the wrench of the plate, at the marker frames from `first_frame` on.
        sd: (K, m, 6) standard deviation of `wrench` for K independent causes.
    """

    plate: int
    side: Side
    first_sample: int
    raw: FloatArray
    first_frame: int
    wrench: FloatArray
    sd: FloatArray

    def rotated(self, R: FloatArray) -> SharedLoad:
        """Return the same load in other axes with the same origin: all wrenches multiplied by R (3, 3)."""
        raw, wrench, sd = (_rotate_wrenches(values, R) for values in (self.raw, self.wrench, self.sd))
        return replace(self, raw=raw, wrench=wrench, sd=sd)


@dataclass(frozen=True)
class GroundReaction:
    """Ground wrenches on the feet at the marker rate, with the availability of each frame.

    Attributes:
        wrench: per side (T, 6) F_Wo_W [moment; force] about the world origin, world axes, Nm and N; zero in swing, except for
            the smoothed force before a strike.
        measured: per side (T,) bool; True where the wrench on that foot is known (swing, or fully measured stance).
        reason: per side list of T strings, "" where measured.
        on_floor: per side (T,) bool; True if the foot is loaded by the ground, measured or not.
        centre_of_pressure: per side (T, 3) m, NaN below the contact threshold.
        free_moment: per side (T,) Nm about the vertical through the centre of pressure, NaN below the threshold.
        shared: shares of each foot in loads of both feet on one plate.
        near_unmeasured: per side (T,) bool; True if the foot is in the air, but so close to a strike or foot off outside the
            plates that the motion filter spreads its force to this frame. The whole body is not in balance in these frames.
        expected_sd: per side (2, T, 6) standard deviation of the smoothed force before unmeasured strikes, for two independent
            causes; empty without such strikes.
        full_bandwidth: the same forces and contacts with a filter that does not attenuate a step, for tables, figures and
            parameters; None if this reaction has such a filter.
    """

    wrench: Mapping[Side, FloatArray]
    measured: Mapping[Side, BoolArray]
    reason: Mapping[Side, list[str]]
    on_floor: Mapping[Side, BoolArray]
    centre_of_pressure: Mapping[Side, FloatArray]
    free_moment: Mapping[Side, FloatArray]
    shared: tuple[SharedLoad, ...] = ()
    near_unmeasured: Mapping[Side, BoolArray] = field(default_factory=dict)
    expected_sd: Mapping[Side, FloatArray] = field(default_factory=dict)
    full_bandwidth: GroundReaction | None = None

    def rotated(self, R: FloatArray) -> GroundReaction:
        """Return the same reaction in axes rotated by R (3, 3) about the vertical."""
        return replace(
            self,
            wrench={side: _rotate_wrenches(wrench, R) for side, wrench in self.wrench.items()},
            centre_of_pressure={side: place @ R.T for side, place in self.centre_of_pressure.items()},
            shared=tuple(load.rotated(R) for load in self.shared),
            expected_sd={side: _rotate_wrenches(wrench, R) for side, wrench in self.expected_sd.items()},
            full_bandwidth=None if self.full_bandwidth is None else self.full_bandwidth.rotated(R),
        )

    @property
    def full_bandwidth_reaction(self) -> GroundReaction:
        """Return the reaction with full bandwidth, for tables and reports; if there is none, this reaction."""
        return self.full_bandwidth or self

    def balanced_frames(self, side: Side) -> BoolArray:
        """Return a mask (T,) of the frames in which the wrench on the foot is known and consistent with the filtered motion."""
        known = self.measured[side]
        return known & ~self.near_unmeasured[side] if side in self.near_unmeasured else known


def _rotate_wrenches(wrenches: FloatArray, R: FloatArray) -> FloatArray:
    """Return wrenches (..., 6), moment and force, multiplied by R (3, 3)."""
    return np.concatenate([wrenches[..., :3] @ R.T, wrenches[..., 3:] @ R.T], axis=-1)
