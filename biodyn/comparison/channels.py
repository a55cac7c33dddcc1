"""How a file writes joint moments: unit, frame, axes, signs, side. Told by holding its curves against computed ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any, Literal

import numpy as np

from biodyn.comparison.segments import SegmentMotion
from biodyn.conventions import AXES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray
from biodyn.processing.dynamics.solve import joint_coordinate_axes

Frame = Literal["proximal", "distal", "world", "jcs"]
FRAMES: tuple[Frame, ...] = ("proximal", "distal", "world", "jcs")
# A component counts at least as if it were this part of the largest one: small ones are mostly error.
_LEAST_SIZE = 0.15
# Another way of writing must leave less than this part of what the expected one leaves, or it is not believed; less than its
# square where it departs in two things, and so on.
_CLEARLY = 0.4
# Ways that leave up to this factor more than the best cannot be told from it.
_ALIKE = 1.3
# How far a laboratory's segment axes may be turned against ours.
_MOST_TURN_RAD = np.deg2rad(25.0)
# A curve that computed ones explain less than this tells nothing of how it is written.
_LEAST_EXPLAINED = 0.3
# Misfits are differences of squares: the same curves leave this or less, of either sign.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Writing:
    """How the three components (sagittal, frontal, transverse) of a joint moment are written.

    Attributes:
        unit: Nm, Nmm, Nm/kg, Nmm/kg, BW m. frame: whose axes. axes: of the frame, by component. signs: by component.
        side: "own", or "other" where the file has the sides exchanged.
    """

    unit: str
    frame: Frame
    axes: tuple[str, str, str]
    signs: tuple[int, int, int]
    side: Literal["own", "other"] = "own"

    @property
    def words(self) -> str:
        """In words."""
        signs = ", ".join(f"{'+' if sign > 0 else '-'}{axis}" for sign, axis in zip(self.signs, self.axes, strict=True))
        return f"{self.unit}, {self.frame} frame, components {signs}" + (
            "" if self.side == "own" else ", of the other side"
        )

    def departures(self, expected: Writing) -> tuple[str, ...]:
        """What differs from another way of writing: of unit, frame, axes, sign, side."""
        pairs = (
            ("unit", self.unit, expected.unit),
            ("frame", self.frame, expected.frame),
            ("axes", self.axes, expected.axes),
            ("sign", self.signs, expected.signs),
            ("side", self.side, expected.side),
        )
        return tuple(name for name, own, other in pairs if own != other)


@dataclass(frozen=True)
class Reading:
    """How a channel is written, and what else it might be.

    Attributes:
        expected, found: ways of writing; equal where nothing speaks against what was expected.
        explained: share of the mean square of the file's curves that computed ones have, as it was found.
        alike: other ways that explain the curves nearly as well: they cannot be told apart.
        is_told: False where the computed curves are too far off to tell how the file writes.
    """

    expected: Writing
    found: Writing
    explained: float
    alike: tuple[Writing, ...] = ()
    is_told: bool = True

    @property
    def departures(self) -> tuple[str, ...]:
        """What is not as expected."""
        return self.found.departures(self.expected)


def units_to_nm(mass_kg: float) -> dict[str, float]:
    """Factors to Nm, by unit."""
    return {
        "Nmm/kg": 1e-3 * mass_kg,
        "Nm/kg": mass_kg,
        "Nm": 1.0,
        "Nmm": 1e-3,
        "BW m": mass_kg * STANDARD_GRAVITY_M_S2,
    }


def expected_writing(entry: Mapping[str, Any], side: str) -> Writing:
    """Return what the library's table says of a channel."""
    signs = entry["signs"]
    if entry.get("mirrored") and side == "l":
        signs = [signs[0], -signs[1], -signs[2]]
    axes = entry["axes"]
    return Writing(
        entry["unit"], entry["frame"], (axes[0], axes[1], axes[2]), (int(signs[0]), int(signs[1]), int(signs[2]))
    )


def frame_axes(frame: Frame, motion: SegmentMotion, parent: int, segment: int) -> FloatArray:
    """Axes (T, 3, 3) in World, as columns, of one of a joint's frames."""
    if frame == "world":
        return np.broadcast_to(np.eye(3), motion.R[:, segment].shape)
    if frame == "jcs":
        return joint_coordinate_axes(motion.R[:, parent], motion.R[:, segment])
    return motion.R[:, parent if frame == "proximal" else segment]


def written(moment_W: FloatArray, axes: FloatArray, writing: Writing, mass_kg: float) -> FloatArray:
    """A moment (T, 3) Nm in World as the file would write it; `axes` (T, 3, 3) of the writing's frame."""
    own = np.einsum("tij,ti->tj", axes, moment_W)[:, [AXES.index(axis) for axis in writing.axes]]
    return np.asarray(own * writing.signs / units_to_nm(mass_kg)[writing.unit])


def unwritten(channel: FloatArray, axes: FloatArray, writing: Writing, mass_kg: float) -> FloatArray:
    """The moment (T, 3) Nm in World of a file's channel. The inverse of `written`, also for axes that are not perpendicular."""
    values = channel * writing.signs * units_to_nm(mass_kg)[writing.unit]
    own = np.empty_like(values)
    own[:, [AXES.index(axis) for axis in writing.axes]] = values
    found = np.full_like(own, np.nan)
    known = np.isfinite(own).all(axis=1) & np.isfinite(axes).all(axis=(1, 2))
    found[known] = np.linalg.solve(np.swapaxes(axes[known], 1, 2), own[known][..., None])[..., 0]
    return found


def read_channel(
    channels: Mapping[str, FloatArray],
    moment_W: FloatArray,
    axes: Mapping[Frame, FloatArray],
    expected: Writing,
    mass_kg: float,
    frames: BoolArray,
) -> Reading:
    """Return how the channels of a joint, "own" side and maybe "other", are written.

    Parameters:
        channels: (T, 3) as stored. moment_W: (T, 3) Nm, what was computed. axes: (T, 3, 3) by frame.
        frames: (T,) to look at.

    What is expected stands unless another way leaves clearly less of the curves; of several that do, the one that departs least.
    The more it departs, the less it may leave.
    """
    misfits: dict[Writing, float] = {}
    for frame in FRAMES:
        computed = np.einsum("tij,ti->tj", axes[frame], moment_W)
        for side, channel in channels.items():
            known = frames & np.isfinite(channel).all(axis=1) & np.isfinite(computed).all(axis=1)
            if not known.any():
                continue
            whose: Literal["own", "other"] = "own" if side == "own" else "other"
            misfits |= dict(_ways(channel[known], computed[known], expected, frame, whose, mass_kg))
    if expected not in misfits:
        return Reading(expected, expected, float("nan"), is_told=False)
    best = min(misfits.values())
    if best > 1.0 - _LEAST_EXPLAINED:
        return Reading(expected, expected, 1.0 - misfits[expected], is_told=False)
    believed = [
        way for way, misfit in misfits.items() if misfit < _CLEARLY ** len(way.departures(expected)) * misfits[expected]
    ]
    least = min((misfits[way] for way in believed), default=0.0)
    near = [way for way in believed if misfits[way] <= _ALIKE * least]
    found = min(near, key=lambda way: (len(way.departures(expected)), misfits[way]), default=expected)
    alike = tuple(
        way
        for way, misfit in misfits.items()
        if way != found and misfit <= _ALIKE * misfits[found] and way.unit == found.unit and way.side == found.side
    )
    return Reading(expected, found, 1.0 - misfits[found], alike)


def _ways(
    channel: FloatArray,
    computed: FloatArray,
    expected: Writing,
    frame: Frame,
    side: Literal["own", "other"],
    mass_kg: float,
) -> Iterator[tuple[Writing, float]]:
    """Every way of writing with its misfit: 0 where the computed curves are the channel, 1 where they are nothing of it.

    The expected frame may be turned by a constant small angle: segments whose axes differ must not pass for another frame.
    """
    size = np.sqrt(np.mean(channel**2, axis=0))
    weight = 1.0 / np.maximum(size, _LEAST_SIZE * size.max()) ** 2
    own, cross, square = computed.T @ computed, computed.T @ channel, np.sum(channel**2, axis=0)
    units = units_to_nm(mass_kg)
    for order in permutations(range(3)):
        axes = (AXES[order[0]], AXES[order[1]], AXES[order[2]])
        for first, second, third in product((1, -1), repeat=3):
            signs = (first, second, third)
            # place[j, i]: axis j of the frame is component i of the channel
            place = np.zeros((3, 3))
            place[order, range(3)] = signs
            seen = place if frame != expected.frame else _small_turn(cross @ place.T).T @ place
            shared, alone = np.sum(cross * seen, axis=0), np.sum(seen * (own @ seen), axis=0)
            for unit, factor in units.items():
                left = square - 2.0 * shared / factor + alone / factor**2
                misfit = float(weight @ left) / (3.0 * len(channel))
                yield Writing(unit, frame, axes, signs, side), max(misfit, _ROUNDING)


def _small_turn(cross: FloatArray) -> FloatArray:
    """The rotation (3, 3) that brings vectors nearest to others (Kabsch 1976), of which `cross` is the sum of outer products.

    The identity where it is no small one.
    """
    U, _, Vt = np.linalg.svd(cross)
    turn = Vt.T @ np.diag([1.0, 1.0, np.sign(np.linalg.det(Vt.T @ U.T))]) @ U.T
    angle = np.arccos(np.clip(0.5 * (np.trace(turn) - 1.0), -1.0, 1.0))
    return turn if angle <= _MOST_TURN_RAD else np.eye(3)


def one_way(readings: Sequence[Reading]) -> Sequence[Reading]:
    """Readings of one file's joints; a joint that tells nothing of its unit takes that of the others."""
    told = [reading.found.unit for reading in readings if reading.is_told]
    if not told:
        return readings
    usual = max(set(told), key=told.count)
    return [r if r.is_told else replace(r, found=replace(r.found, unit=usual)) for r in readings]
