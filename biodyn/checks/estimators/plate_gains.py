"""One channel of a plate with a wrong gain: doubled, halved, reversed. Which channel, times what, makes the plate agree again?

While one foot bears the body on one plate, the plate must show the force and the moment about the mass centre that the motion
asks for, and its force must act where a foot rolls. Both are linear in each channel: what a channel adds, times an unknown
number, must take the disagreement away (generalised least squares). The disagreement that a person makes, by a trunk that
is no table's or a foot that rolls differently, is common to all steps, right and left mirrored; what a step adds is smaller.
So the other plates of a walk tell a plate's gain better than the body alone. Nothing is corrected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from biodyn.checks.estimators.evidence import Evidence, Step
from biodyn.checks.estimators.plate_faults import undone
from biodyn.conventions import SIDES, BoolArray, FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.points import signed_distance
from biodyn.geometry.rotations import cross
from biodyn.library.load import load_table

# The time in which a foot alone bears the body is judged at so many instants, each the mean of its part.
_PARTS = 6
_LEAST_FRAMES = 8
# Heel and toe of a footprint are known to about this: so far beyond the edge a foot is still on its plate.
_PRINT_M = 0.02
# Of what a channel adds, in squared deviations: less says nothing about its gain.
_SEEN = 1.0


@dataclass(frozen=True)
class PlateChannels:
    """Labels of a plate's channels, and what each adds to the plate's wrench: F_Wo_W (C, T, 6).

    turned_round: the stored force pulled the person down, so its opposite was taken as the reaction.
    """

    labels: tuple[str, ...]
    shares: FloatArray
    turned_round: bool = False


@dataclass(frozen=True)
class ChannelGain:
    """A channel, by the indices of plate and channel, that reads `factor` (standard deviation `sd`) times what it should.

    The mean squared deviation of all plates from feet and body falls from `before` to `after` where all channels found are
    divided by theirs; not where the factor is 0: that channel shows nothing of the load.
    """

    plate: int
    channel: int
    label: str
    factor: float
    sd: float
    before: float
    after: float


def channel_gains(evidence: Evidence, channels_of: Callable[[int], PlateChannels]) -> tuple[ChannelGain, ...]:
    """Return the channels whose gain explains that their plates disagree with feet and body, at most one of each plate.

    `channels_of` a plate, by its index. A plate with a channel that shows no load is not judged further. The channel that
    explains most comes first, the next is sought with that one undone. Silent where the gain of the whole plate, another place of
    the plate, a simple fault of its axes (`plate_faults`), or a small turn of it or of all plates explains as much, where the
    gain is hardly known, and where much is left to explain.
    """
    told = tuple(step for step in evidence.steps if _is_told(evidence, step))
    channels = {plate: channels_of(plate) for plate in sorted({step.plate for step in told})}
    silent = tuple(one for plate, own in channels.items() for one in _silent(evidence, told, plate, own))
    still = {one.plate for one in silent}
    judged = _Judged.of(evidence, tuple(step for step in told if step.plate not in still))
    if judged is None or judged.total(judged.off) < _limits()["least_gain"]:
        return silent
    ways = [way for plate, own in channels.items() if plate not in still for way in _ways(judged, plate, own)]
    before, count = judged.total(judged.off) / judged.count, judged.count
    taken: list[_Tried] = []
    while (best := _best(judged, ways)) is not None:
        taken.append(best)
        ways = [way for way in ways if way.plate != best.way.plate]
        judged = replace(judged, off=judged.off + best.way.always + best.more * best.way.added)
    after = judged.total(judged.off) / count
    if after > _limits()["sound"]:
        return silent
    return (*silent, *(one.gain(before, after) for one in taken))


def plate_gain(evidence: Evidence, found: Sequence[ChannelGain]) -> tuple[Diagnostic, ...]:
    """Name the channels of `channel_gains`."""
    notes = []
    for one in found:
        number = evidence.plates[one.plate].number
        own = [step for step in evidence.steps if step.plate == one.plate]
        notes.append(
            Diagnostic(
                "plate-channel-gain",
                "warning",
                f"Plate {number}: {_says(one)} Nothing was changed.",
                value=one.factor,
                limit=1.0,
                frames=(min(step.first for step in own), max(step.stop for step in own) - 1),
                hint=_hint(one),
                about=f"plate {number}, {one.label}",
            )
        )
    return tuple(notes)


def _says(one: ChannelGain) -> str:
    if one.factor == 0.0:
        return f"channel {one.label} shows nothing of the load while a foot stands on the plate."
    return (
        f"channel {one.label} seems to read {one.factor:.2g} times what it should (standard deviation {one.sd:.1g}): divided by "
        f"that it would lower the mismatch of plates, feet and body from {one.before:.1f} to {one.after:.1f} (mean square in "
        "usual deviations)."
    )


def _hint(one: ChannelGain) -> str:
    if one.factor == 0.0:
        return "Check its cable, its amplifier and FORCE_PLATFORM:CHANNEL; moments and centre of pressure need every channel."
    sense = "the polarity of its cable and the sign" if one.factor < 0.0 else "its amplifier's range and the size"
    return (
        f"Check {sense} of its entry in ANALOG:SCALE (with a calibration matrix, of its column in FORCE_PLATFORM:CAL_MATRIX), "
        "correct it and export the trial again; a known weight at a known place on the plate proves it."
    )


# -- which channel ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Way:
    """A channel of a plate, what it adds to the deviations, and what comes to them in any case."""

    plate: int
    channel: int
    label: str
    added: FloatArray
    always: FloatArray


@dataclass(frozen=True)
class _Tried:
    """A channel with so much `more` of what it adds, standard deviation `sd`, and the total that this leaves."""

    way: _Way
    more: float
    sd: float
    left: float

    def gain(self, before: float, after: float) -> ChannelGain:
        """The factor by which the channel is off: with `more` of what it adds it would be right."""
        factor = 1.0 / (1.0 + self.more)
        sd = factor**2 * self.sd
        return ChannelGain(self.way.plate, self.way.channel, self.way.label, factor, sd, before, after)


def _silent(evidence: Evidence, steps: Sequence[Step], plate: int, channels: PlateChannels) -> Iterator[ChannelGain]:
    """The channels of a plate that show nothing of its load."""
    rows = np.any([step.firm for step in steps if step.plate == plate], axis=0)
    limits, centre = _limits(), evidence.plates[plate].corners.mean(axis=0)
    for channel, share in enumerate(channels.shares):
        force = share[rows, 3:] / evidence.weight_n
        moment = share[rows, :3] / evidence.weight_n - cross(centre, force)
        if np.abs(force).max() < limits["silent_force"] and np.abs(moment).max() < limits["silent_moment_m"]:
            yield ChannelGain(plate, channel, _label(channels, channel), 0.0, 0.0, np.nan, np.nan)


def _label(channels: PlateChannels, channel: int) -> str:
    label = channels.labels[channel] if channel < len(channels.labels) else ""
    return label or f"number {channel + 1}"


def _ways(judged: _Judged, plate: int, channels: PlateChannels) -> Iterator[_Way]:
    for channel, added in enumerate(judged.added(plate, channels.shares)):
        way = _Way(plate, channel, _label(channels, channel), added, np.zeros_like(added))
        yield way
        if channels.turned_round:  # because of this one channel: then none of the others had to be
            whole = judged.added(plate, judged.evidence.plates[plate].wrench)
            yield replace(way, added=-added, always=-2.0 * whole)


def _best(judged: _Judged, ways: Sequence[_Way]) -> _Tried | None:
    """The channel whose gain explains most, where it is clear and nothing else explains as much; None where there is none."""
    limits, before = _limits(), judged.total(judged.off)
    tried = []
    for way in ways:
        seen = judged.product(way.added, way.added)
        if seen >= _SEEN:
            off = judged.off + way.always
            more = -judged.product(way.added, off) / seen
            tried.append(_Tried(way, more, 1.0 / float(np.sqrt(seen)), judged.total(off + more * way.added)))
    if not tried:
        return None
    best = min(tried, key=lambda one: one.left)
    # what is left beyond the usual says how far this walk is from usual ones: its numbers count so much less (Birge 1932)
    unusual = max(1.0, best.left / judged.count)
    beyond = max(0.0, before - judged.count)
    least = max(limits["least_gain"] * unusual, limits["least_share"] * beyond)
    if before - best.left < least or abs(best.more) < limits["least_change"]:
        return None
    # a gain that could as well be any other is none: the channel disagrees with feet and body in another way
    if abs(1.0 + best.more) < limits["least_known"] * best.sd * float(np.sqrt(unusual)):
        return None
    rivals = [one.left for one in tried if one is not best]
    rivals.append(judged.left(_turned(judged, range(len(judged.evidence.plates)))))
    for plate in {one.way.plate for one in tried}:
        rivals += _rivals(judged, plate)
    return best if best.left < min(rivals) - limits["least_lead"] * unusual else None


def _rivals(judged: _Judged, plate: int) -> Iterator[float]:
    """What is left where something else is wrong with the plate: its place, its gain as a whole, its axes, a small turn."""
    own = judged.evidence.plates[plate]
    yield judged.left(judged.added(plate, own.wrench[None]))
    force = own.wrench[:, 3:]
    moved = [np.hstack([cross(way, force), np.zeros_like(force)]) for way in np.eye(3)[[0, 2]]]
    yield judged.left(judged.added(plate, np.array(moved)))
    for _, mended in undone(own):
        yield judged.total(judged.off + judged.added(plate, mended.wrench - own.wrench))
    yield judged.left(_turned(judged, (plate,)))


def _turned(judged: _Judged, plates: Iterable[int]) -> FloatArray:
    """What a small turn of some plates together about each axis through their middle adds to the deviations (3, S, 9, parts)."""
    wrenches = {plate: judged.evidence.plates[plate].wrench for plate in plates}
    middle = np.mean([judged.evidence.plates[plate].corners.mean(axis=0) for plate in wrenches], axis=0)
    added = np.zeros((3, *judged.off.shape))
    for plate, wrench in wrenches.items():
        force = cross(np.eye(3)[:, None], wrench[:, 3:])
        moment = cross(np.eye(3)[:, None], wrench[:, :3] - cross(middle, wrench[:, 3:])) + cross(middle, force)
        added += judged.added(plate, np.concatenate([moment, force], axis=2))
    return added


# -- how far plates are from feet and body --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Judged:
    """Deviations `off` (S, 9, parts) of the steps from what feet and body ask for, and the inverse of their covariance.

    Nine judges, as shares of body weight and m: forward and outward place of the pressure on the foot and the free moment there;
    vertical, forward and outward force; forward and outward lever of the missing moment about the mass centre; its moment about
    the vertical. What is common to all steps and what is of one step have covariances C and B (parts, parts) for each judge, so
    the inverse is B^-1 less B^-1 (C^-1 + sum of B^-1)^-1 B^-1 over all pairs of steps (Woodbury 1950): `own` B^-1 (9, S, parts,
    parts), zero where a deviation is not known, `shared` the middle (9, parts, parts). `count`: of known deviations.
    """

    evidence: Evidence
    steps: tuple[Step, ...]
    off: FloatArray
    own: FloatArray
    shared: FloatArray
    count: int

    @staticmethod
    def of(evidence: Evidence, steps: tuple[Step, ...]) -> _Judged | None:
        """Judge the steps; None where there is none."""
        if not steps:
            return None
        off = np.array([_off(evidence, step) for step in steps])
        known = np.isfinite(off)
        own, shared = zip(*(_weights(judge, known[:, k]) for k, judge in enumerate(_sd())), strict=True)
        return _Judged(evidence, steps, np.where(known, off, 0.0), np.array(own), np.array(shared), int(known.sum()))

    def added(self, plate: int, wrench: FloatArray) -> FloatArray:
        """What wrenches (..., T, 6) on a plate add to the deviations (..., S, 9, parts)."""
        found = np.zeros((*wrench.shape[:-2], *self.off.shape))
        for place, step in enumerate(self.steps):
            if step.plate == plate:
                found[..., place, :, :] = _deviations(self.evidence, step, wrench)
        return np.nan_to_num(found)

    def product(self, a: FloatArray, b: FloatArray) -> float:
        """Inner product of two sets of deviations by the inverse covariance."""
        x, y = (one.transpose(1, 0, 2)[..., None] for one in (a, b))  # (9, S, parts, 1)
        wx, wy = self.own @ x, self.own @ y
        return float(np.sum(x * wy) - np.sum(wx.sum(axis=1) * (self.shared @ wy.sum(axis=1))))

    def total(self, off: FloatArray) -> float:
        """Sum of squared deviations, in usual ones."""
        return self.product(off, off)

    def left(self, ways: FloatArray) -> float:
        """The least total that any sum of the given ways (W, S, 9, parts) to change the deviations leaves."""
        A = np.array([[self.product(a, b) for b in ways] for a in ways])
        y = np.array([self.product(a, self.off) for a in ways])
        solution, *_ = np.linalg.lstsq(A, y, rcond=None)
        return self.total(self.off) - float(y @ solution)


def _is_told(evidence: Evidence, step: Step) -> bool:
    """Whether a foot stood on its plate as a whole, and alone for a while."""
    plate = evidence.plates[step.plate]
    if step.side is None or not step.carried or not plate.outlined or step.alone.sum() < _LEAST_FRAMES:
        return False
    ends = np.stack([step.heel, step.toe])
    return bool(np.isfinite(ends).all() and (signed_distance(ends, plate.corners) < _PRINT_M).all())


def _off(evidence: Evidence, step: Step) -> FloatArray:
    """Deviations (9, parts) of the plate of a step from feet and body."""
    wrench = evidence.plates[step.plate].wrench
    return np.concatenate([_on_foot(evidence, step, wrench), _of_body(evidence, step, wrench - evidence.required)])


def _deviations(evidence: Evidence, step: Step, wrench: FloatArray) -> FloatArray:
    """What wrenches (..., T, 6) about the world origin add to the deviations (..., 9, parts) of a step."""
    return np.concatenate([_on_foot(evidence, step, wrench), _of_body(evidence, step, wrench)], axis=-2)


def _on_foot(evidence: Evidence, step: Step, wrench: FloatArray) -> FloatArray:
    """Moment of wrenches about where the foot should press (..., 3, parts): of its place forward and outward, and free."""
    rows = np.flatnonzero(step.firm)
    if not step.rolls:
        return np.full((*wrench.shape[:-2], 3, _PARTS), np.nan)
    share = load_table("checks/checks")["pressure_path"]["share"]
    along = step.length_m * np.interp(np.linspace(0.0, 1.0, len(rows)), (0.0, 0.5, 1.0), share)
    pressed = step.heel + along[:, None] * step.axes[0] + evidence.carried(step, rows)
    pressed[:, 1] = evidence.plates[step.plate].corners[:, 1].mean()
    moment = wrench[..., rows, :3] - cross(pressed, wrench[..., rows, 3:])
    free = _inward(step) * moment[..., 1:2]
    return _in_parts(evidence, np.concatenate([_places(moment) @ step.axes.T, free], axis=-1))


def _of_body(evidence: Evidence, step: Step, wrench: FloatArray) -> FloatArray:
    """Force and moment about the mass centre (..., 6, parts) of wrenches while the foot alone bears the body."""
    rows = np.flatnonzero(step.alone)
    force = wrench[..., rows, 3:]
    moment = wrench[..., rows, :3] - cross(evidence.centre_of_mass[rows], force)
    level = [force @ step.axes.T, _places(-moment) @ step.axes.T]
    return _in_parts(evidence, np.concatenate([force[..., 1:2], *level, _inward(step) * moment[..., 1:2]], axis=-1))


def _inward(step: Step) -> float:
    """Sense of a moment about the vertical that is the same for the same thing on either side of the body."""
    return 1.0 if step.side == SIDES[0] else -1.0


def _in_parts(evidence: Evidence, values: FloatArray) -> FloatArray:
    """Means (..., C, parts) of N and Nm (..., T, C) over parts of the time, as shares of body weight."""
    parts = np.array_split(values / evidence.weight_n, _PARTS, axis=-2)
    return np.stack([part.mean(axis=-2) for part in parts], axis=-1)


def _places(moment: FloatArray) -> FloatArray:
    """How far (..., 3) a vertical force of 1 N must be moved for moments (..., 3) about level axes."""
    return np.stack([moment[..., 2], np.zeros(moment.shape[:-1]), -moment[..., 0]], axis=-1)


def _sd() -> list[list[float]]:
    """Standard deviations of each judge: of a person constant and changing, of a step constant and changing."""
    limits = _limits()
    return [list(limits[name]) for name in limits["judges"]]


def _limits() -> dict[str, Any]:
    return dict(load_table("checks/checks")["plate_gain"])


def _weights(judge: Sequence[float], known: BoolArray) -> tuple[FloatArray, FloatArray]:
    """`own` (S, parts, parts) and `shared` (parts, parts) of `_Judged` for a judge whose deviations (S, parts) are `known`."""
    person, person_changing, step, step_changing = judge
    instants = np.arange(_PARTS)
    alike = np.exp(-np.abs(instants[:, None] - instants) / _limits()["parts_alike"])
    common = person**2 + person_changing**2 * alike
    covariance = step**2 + step_changing**2 * alike
    patterns, of_step = np.unique(known, axis=0, return_inverse=True)
    inverses = np.zeros((len(patterns), _PARTS, _PARTS))
    for inverse, there in zip(inverses, patterns, strict=True):
        inverse[np.ix_(there, there)] = np.linalg.inv(covariance[np.ix_(there, there)])
    own = inverses[of_step.reshape(-1)]
    shared = common @ np.linalg.inv(np.eye(_PARTS) + own.sum(axis=0) @ common)
    return own, shared
