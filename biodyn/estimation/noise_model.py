"""Noise of markers and balance, smoothness of the motion, and how fast joint torques change, also about foot strikes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d

from biodyn.conventions import SIDES, BoolArray, FloatArray, IntArray, Side
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.solve import Loads
from biodyn.processing.gait.events import plate_events
from biodyn.processing.signals.filtering import measured_noise
from biodyn.processing.signals.smoothing.spline import optimal_cutoffs, stiffness
from biodyn.recording import Contact
from biodyn.rigid_body import inverse_dynamics
from biodyn.rigid_body.kinematics import on_path
from biodyn.uncertainty.inputs import Magnitudes, TrialInputs

# Segments that no marker shows move with the stride: the second harmonic of a fast one, and little above.
_CARRIED_HZ = 3.0
_BENT = 3  # the derivative that is held small, as in the smoothing spline
# What settings of errors are given for: a frame of this length. Others count in proportion.
FRAME_S = 0.01
# A coordinate keeps to where it was fitted within this where its markers tell it well, and the closer the less they tell.
_KEPT_RAD = np.radians(2.0)
_KEPT_LEVER_M = 0.06
_AT_LIMIT_RAD = np.radians(0.1)
_LIMIT_TOLERANCE_RAD = 1e-6
# Expected error of the balance of moments in a hundredth of a second, Nm.
MOMENT_SD_NM = 1.5
FORCE_SD_N = 3.0
# Factor on the smoothness that the markers themselves ask for.
_SMOOTHNESS = 5.0
# Time over which errors of the body model stay similar_times, s.
_CORRELATION_S = 0.07
# Knots of the estimated trajectory, 1/s.
KNOTS_HZ = 100.0
# Share of the variance of the torques' changes at foot strikes that all strikes of a person have in common.
_STRIKES_ALIKE = 0.9


@dataclass(frozen=True)
class NoiseModel:
    """Standard deviations and weights of one trial.

    Attributes:
        marker_sd_m: (M,) error of each fitted marker in a frame, an axis.
        stiffness: (nv,) of the smoothing spline with the cut-off that the markers of the segment ask for.
        balance: (6,) [moment; force], Nm and N, error of the balance of the whole body in a frame: as expected, later as found.
        strikes_alike_share: of the variance of the torques' changes at strikes, that all strikes have in common.
        alike_frames: how many frames a model's error stays similar_times.
        unseen_sd_rad: (nv,) of coordinates whose motion is assumed; infinite for others.
    """

    marker_sd_m: FloatArray
    stiffness: FloatArray
    balance: FloatArray
    strikes_alike_share: float
    alike_frames: float
    unseen_sd_rad: FloatArray


def knot_step(rate_hz: float) -> int:
    """Return how many frames lie between two knots."""
    return max(round(rate_hz / KNOTS_HZ), 1)


def noise_model_of(inputs: TrialInputs, magnitudes: Magnitudes, skin_sd_m: float = 1e-3) -> NoiseModel:
    """Return the noise model of a trial: noise and smoothness are estimated from its markers.

    skin_sd_m: error of a marker of weight 1 in a hundredth of a second besides its noise, by movement of the skin.
    """
    model, rate_hz = inputs.model, inputs.rate_hz
    raw = inputs.fitted(inputs.raw)
    noise = np.fmax(
        measured_noise(raw, rate_hz, magnitudes.noise_from_hz, inputs.filter_order), magnitudes.marker_noise_m
    )
    cutoffs = coordinate_cutoffs(model, optimal_cutoffs(raw, rate_hz), inputs.cutoff_hz)
    frame = np.sqrt(FRAME_S * rate_hz)
    similar_times = max(2.0 * _CORRELATION_S * rate_hz, 1.0)
    return NoiseModel(
        marker_sd_m=np.hypot(noise, skin_sd_m * frame),
        stiffness=_SMOOTHNESS * np.array([stiffness(hz, rate_hz, _BENT) for hz in cutoffs]),
        balance=frame * np.repeat([MOMENT_SD_NM, FORCE_SD_N], 3),
        strikes_alike_share=_STRIKES_ALIKE,
        alike_frames=similar_times,
        unseen_sd_rad=_unseen(model, magnitudes) * frame,
    )


def balance_of(sizes: NoiseModel, rate_hz: float) -> tuple[float, float]:
    """Return the error of the balance of forces, N, and of moments, Nm, as the settings give it: in a hundredth of a second."""
    force, moment = sizes.balance[[3, 0]] / np.sqrt(FRAME_S * rate_hz)
    return float(force), float(moment)


def coordinate_cutoffs(model: SubjectModel, marker_hz: FloatArray, otherwise_hz: float) -> FloatArray:
    """Return the cut-off (nv,) of each coordinate: the mean of the markers on its segment, else on the next towards the root."""
    parent = {body.definition.name: body.definition.parent for body in model.bodies}
    of_body: dict[str, list[float]] = {}
    for marker, hz in zip(model.markers, marker_hz, strict=True):
        if np.isfinite(hz):
            of_body.setdefault(marker.body, []).append(float(np.log(hz)))
    every = [value for values in of_body.values() for value in values] or [float(np.log(otherwise_hz or 6.0))]

    def cutoff(name: str) -> float:
        while name and name not in of_body:
            name = parent[name]
        return float(np.exp(np.mean(of_body[name] if name else every)))

    result = np.full(model.multibody.nv, cutoff(model.skeleton.root.name))
    for coordinate in model.coordinates:
        result[coordinate.v_index] = cutoff(coordinate.body)
    for coordinate in model.assumed:
        result[coordinate.v_index] = _CARRIED_HZ
    return result


def fit_precision(model: SubjectModel, q: FloatArray, lever_m: FloatArray, sizes: NoiseModel) -> FloatArray:
    """Return the precision (T, nv) with which coordinates keep to where they were fitted, 1/rad^2 and 1/m^2.

    lever_m: (T, nv) how far the markers move for one radian of a coordinate that nothing else undoes. One that rests on its
    limit stays there; one that is assumed keeps to its assumption within what is known of people.
    """
    sd = np.full(q.shape[:1] + (model.multibody.nv,), 1e3)
    for coordinate in model.coordinates:
        at = coordinate.v_index
        sd[:, at] = _KEPT_RAD / (1.0 + (_KEPT_LEVER_M / np.maximum(lever_m[:, at], 1e-3)) ** 2)
        sd[_resting(q[:, coordinate.q_index], coordinate.range_rad), at] = _AT_LIMIT_RAD
    sd = np.where(np.isfinite(sizes.unseen_sd_rad), sizes.unseen_sd_rad, sd)
    return 1.0 / sd**2


def _resting(angle: FloatArray, range_rad: tuple[float, float]) -> BoolArray:
    low, high = range_rad
    return np.asarray((angle <= low + _LIMIT_TOLERANCE_RAD) | (angle >= high - _LIMIT_TOLERANCE_RAD))


def _unseen(model: SubjectModel, magnitudes: Magnitudes) -> FloatArray:
    """SD (nv,) rad of assumed coordinates: the root mean square of their segment's three axes."""
    result = np.full(model.multibody.nv, np.inf)
    for coordinate in model.assumed:
        offset, stride = magnitudes.unseen_rad.get(coordinate.body, (np.zeros(3), np.zeros(3)))
        sd = float(np.sqrt(np.mean(offset**2 + stride**2)))
        result[coordinate.v_index] = sd or _KEPT_RAD
    return result


# A strike is felt from before it, muscles expect it, until the forefoot is down; s.
_BEFORE_S, _AFTER_S = 0.08, 0.15
# -- How fast torques and motion change about foot strikes, as the trial itself shows it.
#
# Muscles meet the ground with bursts: within a tenth of a second of a strike the torques of hip, knee and trunk bend five to ten
# times as much as in the rest of the stride. One limit for the whole stride flattens them. So a first step of the estimate leaves
# motion and torques nearly free at a strike. A person's strikes are alike, and what that step shows at the same time after all of
# them, of both sides, tells the limits of the next one.

# The burst itself: heel and shank are stopped, and muscles meet it, within some hundredths of a second.
_BURST_S = 0.04
#: So many hundredths of a second a strike lasts.
OF_A_STRIKE = round((_BEFORE_S + _AFTER_S) / FRAME_S) + 1
# Of each kind: the rest of the stride, then times after a strike of its own side, then after one of the other side.
_OF_A_KIND = 1 + 2 * OF_A_STRIKE
# Known frames that sum to less than this share of one tell little, and nothing in the limit of none.
_LEAST_SHARE = 1e-3


def since_strikes(contacts: Sequence[Contact], frames: int, rate_hz: float) -> FloatArray:
    """Return the times (frames, 2) s since the nearest strike of each of `SIDES`, negative before it; infinite without one.

    A strike is where a foot comes from the air on to a plate: none is a foot that stands on one at the first frame, or that steps
    from one plate on to the next.
    """
    events = plate_events(contacts, frames / rate_hz, 1.0 / rate_hz)
    strike_shares = [[e.time_s for e in events if e.kind == "foot_strike" and e.side == side] for side in SIDES]
    return np.stack([_since_nearest(np.arange(frames) / rate_hz, own) for own in strike_shares], axis=1)


def _since_nearest(time_s: FloatArray, strikes_s: Sequence[float]) -> FloatArray:
    """Times (T,) s since the nearest strike, negative before it; infinite where there is none."""
    if not strikes_s:
        return np.full(len(time_s), np.inf)
    away = time_s[:, None] - np.array(strikes_s)
    return np.asarray(np.take_along_axis(away, np.argmin(np.abs(away), axis=1)[:, None], axis=1)[:, 0])


def midway_since_strike(before_s: FloatArray, after_s: FloatArray) -> FloatArray:
    """Return the times since a strike, s, midway_since_strike between two knots, from `since_strikes` (..., 2) at both of them.

    Where another strike comes nearer between them, the two count from different strikes: the earlier one stands.
    """
    return np.where(after_s < before_s, before_s, 0.5 * (before_s + after_s))


def strike_nearness(since_s: FloatArray) -> FloatArray:
    """Return how near each time (T,) is to a strike of either side, 1 at it and 0 beyond `_BURST_S`; since_s: (T, 2)."""
    away = np.minimum(np.abs(since_s).min(axis=1), _BURST_S)
    return np.asarray(np.cos(0.5 * np.pi * away / _BURST_S) ** 2)


class Kinds(NamedTuple):
    """What stands at places in v: a number (R,) that both sides share, and the side, "" in the middle."""

    number: IntArray
    side: tuple[str, ...]


def kinds_of(model: SubjectModel, places: IntArray) -> Kinds:
    """Return the kinds of the coordinates at `places` (R,) in v; those of the root are a kind each."""
    named = {c.v_index: (c.plain, c.side) for c in (*model.coordinates, *model.assumed)}
    own = [named.get(at, (f"root {at}", "")) for at in places.tolist()]
    order = sorted({plain for plain, _ in own})
    return Kinds(np.array([order.index(plain) for plain, _ in own], dtype=np.int64), tuple(side for _, side in own))


@dataclass(frozen=True)
class Shares:
    """What values (K, R) at knots are made of, by the time after strikes: a linear map from P numbers.

    Attributes:
        at, of, weight: (N,) places in the flat values, the number that each is made of, and its weight.
        shape: (K, R). count: P.
    """

    at: IntArray
    of: IntArray
    weight: FloatArray
    shape: tuple[int, int]
    count: int

    def values(self, numbers: FloatArray) -> FloatArray:
        """Return the values (K, R) that the numbers (P,) stand for; 0 where no number has a share."""
        parts = self.weight * numbers[self.of]
        flat = np.bincount(self.at, weights=parts, minlength=self.shape[0] * self.shape[1])
        return np.asarray(flat.reshape(self.shape), dtype=np.float64)

    def gathered(self, values: FloatArray) -> FloatArray:
        """Return the transposed of `values`: the numbers (P,) that values (K, R) pull at."""
        return self._summed(self.weight * values.ravel()[self.at])

    def squares(self, values: FloatArray) -> FloatArray:
        """Return the sums (P,) of the squares of all weights on a number, each times its value (K, R)."""
        return self._summed(self.weight**2 * values.ravel()[self.at])

    def _summed(self, parts: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.of, weights=parts, minlength=self.count), dtype=np.float64)


def near_strikes(since_s: FloatArray) -> Iterator[tuple[Side, IntArray, IntArray, FloatArray]]:
    """Yield a side, frames (N,), hundredths of a second (N,) since a strike of it is felt, and the frames' shares (N,) of them.

    since_s: (T, 2) of `since_strikes`. A frame belongs to the two hundredths beside it, the more the nearer, and less than wholly
    beyond the first and the last one; near strikes of both sides to both. So nothing jumps where a time differs in its last bits.
    """
    felt = (since_s + _BEFORE_S) / FRAME_S
    within = np.clip(np.minimum(felt + 1.0, OF_A_STRIKE - felt), 0.0, 1.0)
    both = np.maximum(within.sum(axis=1), 1.0)
    for side, own in zip(SIDES, felt.T, strict=True):
        near = np.flatnonzero((own > -1.0) & (own < OF_A_STRIKE))
        before = np.floor(own[near]).astype(np.int64)
        late = own[near] - before
        for at, share in ((before, 1.0 - late), (before + 1, late)):
            inside = (at >= 0) & (at < OF_A_STRIKE) & (share > 0.0)
            yield side, near[inside], at[inside], (share / both[near])[inside]


def strike_shares(
    kinds: Kinds, since_s: FloatArray, first: IntArray, middle: Side | None = None
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return what `Shares` of values (T, R) strikes have, since_s (T, 2): places, numbers and weights (N,).

    first: (R,) number of the first hundredth of a strike of a value's own side; those of the other side follow. middle: the side
    that what has none counts as its own; None = both, as one.
    """
    flat = np.arange(since_s.shape[0] * len(kinds.side)).reshape(-1, len(kinds.side))
    parts = []
    for side, frames, hundredth, share in near_strikes(since_s):
        other = np.array([OF_A_STRIKE if (own or middle or side) != side else 0 for own in kinds.side], dtype=np.int64)
        at = flat[frames]
        parts.append((at, first + other + hundredth[:, None], np.broadcast_to(share[:, None], at.shape)))
    at, of, weight = (np.concatenate([part[i].ravel() for part in parts]) for i in range(3))
    return at, of, weight


def similar_times(kinds: Kinds, since_s: FloatArray) -> Shares:
    """Return the shares of values (T, R) in what is similar_times: the same kind, as long after a strike; since_s (T, 2).

    Both sides count as one; what has no side has every strike for its own. The nearest known strike counts. Shares of a value
    sum to 1: what no strike has of it is the rest of the stride.
    """
    shape, first = (len(since_s), len(kinds.side)), kinds.number * _OF_A_KIND
    at, of, weight = strike_shares(kinds, since_s, first + 1)
    every = np.arange(shape[0] * shape[1])
    rest = np.maximum(1.0 - np.bincount(at, weights=weight, minlength=len(every)), 0.0)
    return Shares(
        np.concatenate([at, every]),
        np.concatenate([of, np.tile(first, shape[0])]),
        np.concatenate([weight, rest]),
        shape,
        _OF_A_KIND * (1 + int(kinds.number.max(initial=-1))),
    )


def shown_sizes(values: FloatArray, known: BoolArray, shares: Shares, knot_s: float) -> FloatArray:
    """Return the root mean square (K, R) of values (K, R), a knot apart, among those that are `similar_times`.

    known: (K, R) those that count. Smoothed over a hundredth of a second; 0 where nothing is known.
    """
    squares = shares.gathered(np.where(known, values**2, 0.0))
    mean = squares / np.maximum(shares.gathered(known.astype(np.float64)), _LEAST_SHARE)
    return np.asarray(np.sqrt(gaussian_filter1d(shares.values(mean), FRAME_S / knot_s, axis=0)))


def shown_changes(tau: FloatArray, known: BoolArray, shares: Shares, knot_s: float) -> FloatArray:
    """Return the `shown_sizes` (K - 2, R) of the second differences of torques tau (K, R) at knots; known: (K, R).

    shares: of the knots between the first and the last one.
    """
    own = known[:-2] & known[1:-1] & known[2:]
    return shown_sizes(np.diff(tau, 2, axis=0), own, shares, knot_s)


# -- The torques that an estimate holds smooth: which, where they are known, and how fast each of them may change.
#
# Muscles do not change their torque at once. How fast they do is the movement's own: a runner's hip changes its torque ten times
# as fast as that of one who walks slowly, and his ankle a fifth as fast as his hip.

# A joint that carries more of the body's mass than this is one of the trunk.
_MUCH = 0.15
# Four fifths of the changes of a random walk lie within 1.28 of their standard deviation; strikes are among the others.
_SHARE, _DEVIATIONS = 0.8, 1.2816
# Fewer second differences than this tell nothing.
_LEAST_CHANGES = 20
# Torques about an axis that hardly moves change by this at least, Nm/kg per s^1.5.
_LEAST_ROUGHNESS = 1.0
# The slope of a torque may change (as a random walk) by this factor times the usual change in the filtered motion.
_ROUGHNESS = 2.0


@dataclass(frozen=True)
class SmoothTorques:
    """Torques that are held smooth.

    Attributes:
        places: (R,) in v. known: (T, R) where the loads tell them.
        change_nm: (R,) standard deviation of the second difference of each from knot to knot, Nm; infinite = no limit.
    """

    places: IntArray
    known: BoolArray
    change_nm: FloatArray


def smooth_torques(inputs: TrialInputs, loads: Loads) -> SmoothTorques:
    """Return the torques of legs and trunk, and how fast they change in the motion as it was fitted.

    Both sides count as one torque. One that is never known long enough may change as it likes: nothing is asked of it.
    """
    model = inputs.model
    places = torque_places(model)
    known = _known(model, loads, places)
    change = np.full(len(places), np.inf)
    if len(places):
        step = knot_step(inputs.rate_hz)
        knot_s = step / inputs.rate_hz
        least = _LEAST_ROUGHNESS * model.mass_kg * knot_s**1.5
        differences = _second_differences(inputs, loads, places, known, step)
        kinds = kinds_of(model, places).number
        for columns in (np.flatnonzero(kinds == kind) for kind in np.unique(kinds)):
            own = differences[:, columns][np.isfinite(differences[:, columns])]
            if len(own) >= _LEAST_CHANGES:
                usual = float(np.quantile(own, _SHARE)) / _DEVIATIONS
                change[columns] = max(_ROUGHNESS * usual, least)
    return SmoothTorques(places, known, change)


def torque_places(model: SubjectModel) -> IntArray:
    """Return the places in v of the legs' coordinates, and of those that carry much of the body (the trunk)."""
    mb = model.multibody
    soles = [on_path(mb, model.frames[body].link) for body in model.sole_body.values()]
    carried = np.zeros(mb.nv)
    for link, body in enumerate(mb.bodies):
        carried += on_path(mb, link) * body.mass_kg
    heavy = carried > _MUCH * mb.total_mass_kg
    moving = np.array([c.v_index for c in (*model.coordinates, *model.assumed)], dtype=np.int64)
    chosen = np.any([*soles, heavy], axis=0)
    return np.array([at for at in moving if chosen[at]], dtype=np.int64)


def _known(model: SubjectModel, loads: Loads, places: IntArray) -> BoolArray:
    """Where (T, R) each torque is known; assumed coordinates where the whole body is in balance."""
    columns = {coordinate.v_index: i for i, coordinate in enumerate(model.coordinates)}
    result = np.zeros((len(loads.balanced), len(places)), dtype=bool)
    for row, at in enumerate(places.tolist()):
        result[:, row] = loads.torque_valid[:, columns[at]] if at in columns else loads.balanced
    return result


def _second_differences(inputs: TrialInputs, loads: Loads, places: IntArray, known: BoolArray, step: int) -> FloatArray:
    """NoiseModel (K - 2, R) of the second differences of the torques from knot to knot, Nm; NaN where one is not known."""
    motion = inputs.fit.motion
    moving = np.isfinite(motion.vdot).all(axis=1)
    tau = np.full((len(motion.q), len(places)), np.nan)
    q, v, vdot = (part[moving] for part in (motion.q, motion.v, motion.vdot))
    tau[moving] = inverse_dynamics(inputs.model.multibody, q, v, vdot, loads.wrenches[moving], loads.links)[:, places]
    return np.asarray(np.abs(np.diff(np.where(known, tau, np.nan)[::step], 2, axis=0)))
