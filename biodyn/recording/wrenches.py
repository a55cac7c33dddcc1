"""Ground reaction as wrenches about the world origin, per plate and per foot."""

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
    """Reading of an unloaded plate, which was subtracted from its channels.

    Attributes:
        source: how the unloaded frames are known: "feet" (no foot is over the plate), "force" (a long, steady, low level),
            "file" (FORCE_PLATFORM:ZERO); "unknown": no unloaded frames, nothing was subtracted.
        offset_n: vertical force of the unloaded plate, up positive as the reaction on a foot, N; 0 where unknown.
        drift_n: its change over the recording, N; 0 where none was found.
        noise_n: standard deviation of the vertical force of the unloaded plate, N; NaN where unknown.
        unloaded_s: time over which the plate was seen unloaded.
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
        diagnostics: what was decided about the plate (offset, signs, channels).
        zero: the plate's zero, None if not determined.
        saturated_s: (begin, end) in s of the stretches in which a channel stood at the end of its range.
        unrecorded_s: those without a number while the plate was loaded.
        outlined, side: as of the `ForcePlate`.
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
        """Return the same reaction in another frame of the same origin: corners and wrench multiplied by R (3, 3)."""
        return replace(self, corners=self.corners @ R.T, wrench=_rotate_wrenches(self.wrench, R))


@dataclass(frozen=True)
class Contact:
    """One loading of one plate and what was decided about it. Times in s, 0 at the first frame."""

    plate: int
    start_s: float
    end_s: float
    side: Side | None
    decision: ContactDecision
    reason: str
    evidence: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SharedLoad:
    """One foot's part of a load that two feet put on one plate.

    Attributes:
        plate: its number in the file. side: of the foot.
        raw: (n, 6) F_Wo_W at the plate's rate, not filtered, from its sample `first_sample` on; zero outside the stance.
        sd: (K, m, 6) one standard deviation of the filtered wrench at the marker frames from `first_frame` on, by K independent
            causes.
    """

    plate: int
    side: Side
    first_sample: int
    raw: FloatArray
    first_frame: int
    sd: FloatArray

    def rotated(self, R: FloatArray) -> SharedLoad:
        """Return the same load in another frame of the same origin: all wrenches multiplied by R (3, 3)."""
        return replace(self, raw=_rotate_wrenches(self.raw, R), sd=_rotate_wrenches(self.sd, R))


@dataclass(frozen=True)
class GroundReaction:
    """Ground wrenches on the feet at the marker rate, with the availability of each frame.

    Attributes:
        wrench: per side (T, 6) F_Wo_W [moment; force] about the world origin, world axes, Nm and N; zero in swing, but for what
            the filter spreads ahead of a strike.
        measured: per side (T,) bool; True where the wrench on that foot is known (swing, or fully measured stance).
        reason: per side list of T strings, "" where measured.
        on_floor: per side (T,) bool; the foot bears on the ground, measured or not.
        centre_of_pressure: per side (T, 3) m, NaN below the contact threshold.
        free_moment: per side (T,) Nm about the vertical through the centre of pressure, NaN below the threshold.
        shared: loads that two feet put on one plate, each foot's part.
        near_unmeasured: per side (T,) bool; measured (the foot is in the air), but so near to a strike or foot off that no plate
            saw that the filter of the motion spreads it there. The whole body is not in balance in these frames.
        expected_sd: per side (2, T, 6) one standard deviation of what the filter spreads ahead of unmeasured strikes, by two
            independent causes; empty where nothing is expected.
        full_bandwidth: the same forces and contacts through a filter that takes nothing of a step, for tables, figures and
            parameters; None where these are.
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
        """Return the same reaction in a frame turned by R (3, 3) about the vertical."""
        return replace(
            self,
            wrench={side: _rotate_wrenches(wrench, R) for side, wrench in self.wrench.items()},
            centre_of_pressure={side: place @ R.T for side, place in self.centre_of_pressure.items()},
            shared=tuple(load.rotated(R) for load in self.shared),
            expected_sd={side: _rotate_wrenches(wrench, R) for side, wrench in self.expected_sd.items()},
            full_bandwidth=None if self.full_bandwidth is None else self.full_bandwidth.rotated(R),
        )

    @property
    def as_measured(self) -> GroundReaction:
        """The reaction that people are shown: at full bandwidth, whatever filter the dynamics use."""
        return self.full_bandwidth or self

    def balanced(self, side: Side) -> BoolArray:
        """Return frames (T,) in which the foot's wrench is known and belongs to the filtered motion."""
        known = self.measured[side]
        return known & ~self.near_unmeasured[side] if side in self.near_unmeasured else known


def _rotate_wrenches(wrenches: FloatArray, R: FloatArray) -> FloatArray:
    """Wrenches (..., 6), moment and force, multiplied by R (3, 3)."""
    return np.concatenate([wrenches[..., :3] @ R.T, wrenches[..., 3:] @ R.T], axis=-1)
