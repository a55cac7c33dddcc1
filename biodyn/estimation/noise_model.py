"""Noise of markers and balance, smoothness of the motion, and rate of change of joint torques, also near foot strikes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter1d

from biodyn.conventions import SIDES, BoolArray, FloatArray, IntArray, Side
from biodyn.model.body_model import SubjectModel
from biodyn.processing.dynamics.inverse_dynamics import KnownLoads
from biodyn.processing.gait.events import plate_events
from biodyn.processing.signals.filtering import estimate_noise
from biodyn.processing.signals.smoothing.spline import optimal_cutoffs, smoothing_parameter_of_cutoff
from biodyn.recording import Contact
from biodyn.rigid_body import inverse_dynamics
from biodyn.uncertainty.propagation_inputs import Magnitudes, TrialInputs

#: Errors are stated for frames of this length; the error variance of other frames is proportional to their rate.
FRAME_S = 0.01
# SD of the prior of a coordinate relative to its fitted value if markers determine it well; otherwise the SD is smaller.
_FIT_SD_RAD = np.radians(2.0)
#: Expected error of the balance in a hundredth of a second: moments, Nm, and forces, N.
MOMENT_SD_NM, FORCE_SD_N = 1.5, 3.0
#: Knots of the estimated trajectory, 1/s. With 50 Hz the analysis takes 0.7 of the time, but the hip flexion torque of eight
#: simulated people has 1.17 times the error (`rough_walks.py --seeds 200-207`), and the residual is 12 N instead of 2 N.
KNOTS_HZ = 100.0
# Fraction of the variance of torque changes at foot strikes that is common to all strikes of a person.
_STRIKES_ALIKE = 0.9


@dataclass(frozen=True)
class NoiseModel:
    """Standard deviations and weights of one trial.

    Attributes:
        marker_sd_m: (M,) error of each fitted marker per frame and axis.
        stiffness: (nv,) lambda of the smoothing spline with the optimal cut-off of the segment's markers.
        balance: (6,) [moment; force], Nm and N, error of the balance of the whole body in a frame: expected, later estimated.
        strikes_alike_share: fraction of the variance of torque changes at strikes that is common to all strikes.
        alike_frames: number of frames over which the model error is correlated.
        unseen_sd_rad: (nv,) SD of coordinates with assumed motion; infinite for others.
    """

    marker_sd_m: FloatArray
    stiffness: FloatArray
    balance: FloatArray
    strikes_alike_share: float
    alike_frames: float
    unseen_sd_rad: FloatArray


def knot_step(rate_hz: float) -> int:
    """Return the number of frames from one knot to the next."""
    return max(round(rate_hz / KNOTS_HZ), 1)


def estimate_noise_model(inputs: TrialInputs, magnitudes: Magnitudes, skin_sd_m: float = 1e-3) -> NoiseModel:
    """Return the noise model of a trial, with noise and smoothness estimated from its markers.

    skin_sd_m: error of a marker of weight 1 in a hundredth of a second caused by skin movement, in addition to its noise.
    """
    model, rate_hz = inputs.model, inputs.rate_hz
    raw = inputs.fitted_positions(inputs.unfiltered_markers)
    noise = np.fmax(
        estimate_noise(raw, rate_hz, magnitudes.noise_from_hz, inputs.filter_order), magnitudes.marker_noise_m
    )
    cutoffs = coordinate_cutoffs(model, optimal_cutoffs(raw, rate_hz), inputs.cutoff_hz)
    frame = np.sqrt(FRAME_S * rate_hz)
    smoothness = 5.0  # factor on the smoothness of the markers
    derivative = 3  # order of the derivative that is penalised, as in the spline
    correlation_s = 0.07  # correlation time of errors of the body model
    return NoiseModel(
        marker_sd_m=np.hypot(noise, skin_sd_m * frame),
        stiffness=smoothness * np.array([smoothing_parameter_of_cutoff(hz, rate_hz, derivative) for hz in cutoffs]),
        balance=frame * np.repeat([MOMENT_SD_NM, FORCE_SD_N], 3),
        strikes_alike_share=_STRIKES_ALIKE,
        alike_frames=max(2.0 * correlation_s * rate_hz, 1.0),
        unseen_sd_rad=_assumed_coordinate_sd(model, magnitudes) * frame,
    )


def balance_errors(sizes: NoiseModel, rate_hz: float) -> tuple[float, float]:
    """Return the error of the balance of forces, N, and of moments, Nm, in a hundredth of a second."""
    force, moment = sizes.balance[[3, 0]] / np.sqrt(FRAME_S * rate_hz)
    return float(force), float(moment)


def coordinate_cutoffs(model: SubjectModel, marker_hz: FloatArray, otherwise_hz: float) -> FloatArray:
    """Return the optimal cut-off (nv,) Hz of each coordinate: the mean over the markers of its segment.

    Segments without markers have the cut-off of their parent. marker_hz: (M,) Hz. otherwise_hz: used if no ancestor has
    markers.
    """
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
        result[coordinate.v_index] = 3.0  # slightly above the second harmonic of a fast stride
    return result


def fit_precision(model: SubjectModel, q: FloatArray, lever_m: FloatArray, sizes: NoiseModel) -> FloatArray:
    """Return the precision (T, nv) of the prior that coordinates equal their fitted values, 1/rad^2 and 1/m^2.

    lever_m: (T, nv) change of the markers for one radian of a coordinate with all others free. A coordinate at its limit has a
    very large precision. The precision of an assumed coordinate corresponds to the variation between people.
    """
    at_limit_rad, lever_half_m = np.radians(0.1), 0.06
    sd = np.full(q.shape[:1] + (model.multibody.nv,), 1e3)
    for coordinate in model.coordinates:
        at = coordinate.v_index
        sd[:, at] = _FIT_SD_RAD / (1.0 + (lever_half_m / np.maximum(lever_m[:, at], 1e-3)) ** 2)
        sd[_is_at_limit(q[:, coordinate.q_index], coordinate.range_rad), at] = at_limit_rad
    sd = np.where(np.isfinite(sizes.unseen_sd_rad), sizes.unseen_sd_rad, sd)
    return 1.0 / sd**2


def _is_at_limit(angle: FloatArray, range_rad: tuple[float, float], tolerance_rad: float = 1e-6) -> BoolArray:
    low, high = range_rad
    return np.asarray((angle <= low + tolerance_rad) | (angle >= high - tolerance_rad))


def _assumed_coordinate_sd(model: SubjectModel, magnitudes: Magnitudes) -> FloatArray:
    """Return the SD (nv,) rad of the coordinates with assumed motion, infinite for others.

    It is the root mean square over the three axes of the segment.
    """
    result = np.full(model.multibody.nv, np.inf)
    for coordinate in model.assumed:
        offset, stride = magnitudes.unseen_rad.get(coordinate.body, (np.zeros(3), np.zeros(3)))
        sd = float(np.sqrt(np.mean(offset**2 + stride**2)))
        result[coordinate.v_index] = sd or _FIT_SD_RAD
    return result


# -- Rate of change of torques and motion near foot strikes, estimated from the trial
#
# Muscles respond to foot strikes with bursts: within a tenth of a second of a strike the curvature of the torques of
# hip, knee and trunk is five to ten times as large as in the rest of the stride. A single limit for the whole stride
# flattens them. Therefore the first step of the estimate constrains motion and torques only weakly at a strike.
# Because strikes of a person are similar, the changes of the first step at the same time after all strikes, of both
# sides, determine the limits of the next step.

# Time range (s) of the effects of a strike, from muscle anticipation before it until the forefoot is down.
_BEFORE_S, _AFTER_S = 0.08, 0.15
#: Duration of a strike in hundredths of a second.
OF_A_STRIKE = round((_BEFORE_S + _AFTER_S) / FRAME_S) + 1
# Number of values of a kind of coordinate: one for the rest of the stride, then the times after an ipsilateral strike
# and after a contralateral strike.
_OF_A_KIND = 1 + 2 * OF_A_STRIKE


def times_since_strikes(contacts: Sequence[Contact], frames: int, rate_hz: float) -> FloatArray:
    """Return the times (frames, 2) s since the nearest strike of each of `SIDES`, negative before it; infinite without one.

    A strike is a foot contact after swing. A foot on a plate in the first frame and a foot that moves from one plate to the
    next do not strike.
    """
    events = plate_events(contacts, frames / rate_hz, 1.0 / rate_hz)
    strikes_s = [[e.time_s for e in events if e.kind == "foot_strike" and e.side == side] for side in SIDES]
    return np.stack(
        [_times_since_nearest_strike(np.arange(frames) / rate_hz, times_s) for times_s in strikes_s], axis=1
    )


def _times_since_nearest_strike(time_s: FloatArray, strikes_s: Sequence[float]) -> FloatArray:
    """Return the times (T,) in s since the nearest foot strike (negative before it), or inf without a strike."""
    if not strikes_s:
        return np.full(len(time_s), np.inf)
    sorted_s = np.sort(strikes_s)
    after = np.searchsorted(sorted_s, time_s)
    since_earlier = time_s - sorted_s[np.maximum(after - 1, 0)]
    since_later = time_s - sorted_s[np.minimum(after, len(sorted_s) - 1)]
    return np.where(np.abs(since_later) < np.abs(since_earlier), since_later, since_earlier)


def midpoint_time_since_strike(before_s: FloatArray, after_s: FloatArray) -> FloatArray:
    """Return the time (s) since a strike midway between two knots, from `times_since_strikes` (..., 2) at both of them.

    If the nearest strike changes between the knots, the earlier value is used.
    """
    return np.where(after_s < before_s, before_s, 0.5 * (before_s + after_s))


def strike_proximity_weight(since_s: FloatArray) -> FloatArray:
    """Return a weight (T,) for the proximity to a strike of either side: 1 at the strike, 0 beyond the burst; since_s: (T,
    2)."""
    burst_s = 0.04  # heel and shank decelerate, and muscles respond, within some hundredths of a second
    distance_s = np.minimum(np.abs(since_s).min(axis=1), burst_s)
    return np.asarray(np.cos(0.5 * np.pi * distance_s / burst_s) ** 2)


class CoordinateKinds(NamedTuple):
    """Kinds of R coordinates: a number for each (R,), equal for right and left, and the side of each ("" for the midline)."""

    number: IntArray
    side: tuple[str, ...]


def coordinate_kinds(model: SubjectModel, places: IntArray) -> CoordinateKinds:
    """Return the kinds of the coordinates with indices `places` (R,) in v; each coordinate of the root is a separate kind."""
    names = {c.v_index: (c.gait_variable, c.side) for c in (*model.coordinates, *model.assumed)}
    kinds = [names.get(at, (f"root {at}", "")) for at in places.tolist()]
    order = sorted({plain for plain, _ in kinds})
    return CoordinateKinds(
        np.array([order.index(plain) for plain, _ in kinds], dtype=np.int64), tuple(side for _, side in kinds)
    )


@dataclass(frozen=True)
class StrikeMap:
    """Linear map from P parameters, one for each time after strikes, to values (K, R) at knots.

    Attributes:
        at, of, weight: (N,) entries: index of the flattened values, index of the parameter, and weight.
        shape: (K, R). count: P.
    """

    at: IntArray
    of: IntArray
    weight: FloatArray
    shape: tuple[int, int]
    count: int

    def apply(self, numbers: FloatArray) -> FloatArray:
        """Return the values (K, R) for parameters (P,); 0 if no parameter has a weight."""
        parts = self.weight * numbers[self.of]
        flat = np.bincount(self.at, weights=parts, minlength=self.shape[0] * self.shape[1])
        return np.asarray(flat.reshape(self.shape), dtype=np.float64)

    def apply_transpose(self, values: FloatArray) -> FloatArray:
        """Return the parameters (P,) of the transposed map for values (K, R)."""
        return self._sum_by_parameter(self.weight * values.ravel()[self.at])

    def apply_squared_transpose(self, values: FloatArray) -> FloatArray:
        """Return for each parameter the sum (P,) of its squared weights times the values (K, R)."""
        return self._sum_by_parameter(self.weight**2 * values.ravel()[self.at])

    def _sum_by_parameter(self, parts: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.of, weights=parts, minlength=self.count), dtype=np.float64)


def frames_near_strikes(since_s: FloatArray) -> Iterator[tuple[Side, IntArray, IntArray, FloatArray]]:
    """Yield a side, frames (N,), hundredths of a second (N,) since the start of its strike's effects, and weights (N,).

    since_s: (T, 2) from `times_since_strikes`. A frame is interpolated between the two nearest hundredths, with weights that
    fade out
    beyond the first and the last one. A frame near strikes of both sides has entries for both, so that the result is continuous
    in time.
    """
    elapsed = (since_s + _BEFORE_S) / FRAME_S
    within = np.clip(np.minimum(elapsed + 1.0, OF_A_STRIKE - elapsed), 0.0, 1.0)
    both = np.maximum(within.sum(axis=1), 1.0)
    for side, of_side in zip(SIDES, elapsed.T, strict=True):
        near = np.flatnonzero((of_side > -1.0) & (of_side < OF_A_STRIKE))
        before = np.floor(of_side[near]).astype(np.int64)
        late = of_side[near] - before
        for at, share in ((before, 1.0 - late), (before + 1, late)):
            inside = (at >= 0) & (at < OF_A_STRIKE) & (share > 0.0)
            yield side, near[inside], at[inside], (share / both[near])[inside]


def strike_map_entries(
    kinds: CoordinateKinds, since_s: FloatArray, first: IntArray, middle: Side | None = None
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the entries of a `StrikeMap` for times since strikes since_s (T, 2) s: value indices, parameter indices, weights
    (N,).

    first: (R,) index of the first parameter of each coordinate: one per 0.01 s of an ipsilateral strike, then of a
    contralateral strike.
    middle: side to which midline coordinates are assigned; None = strikes of both sides are ipsilateral.
    """
    flat = np.arange(since_s.shape[0] * len(kinds.side)).reshape(-1, len(kinds.side))
    parts = []
    for side, frames, hundredth, share in frames_near_strikes(since_s):
        other = np.array(
            [OF_A_STRIKE if (of_value or middle or side) != side else 0 for of_value in kinds.side], dtype=np.int64
        )
        at = flat[frames]
        parts.append((at, first + other + hundredth[:, None], np.broadcast_to(share[:, None], at.shape)))
    at, of, weight = (np.concatenate([part[i].ravel() for part in parts]) for i in range(3))
    return at, of, weight


def map_by_time_after_strike(kinds: CoordinateKinds, since_s: FloatArray) -> StrikeMap:
    """Return the map to values (T, R) from one parameter for each kind and time after a strike; since_s (T, 2).

    Both sides share parameters, and all strikes are ipsilateral for midline coordinates. The nearest known strike is used. The
    weights of a value, including the weight of the rest of the stride, sum to 1.
    """
    shape, first = (len(since_s), len(kinds.side)), kinds.number * _OF_A_KIND
    at, of, weight = strike_map_entries(kinds, since_s, first + 1)
    every = np.arange(shape[0] * shape[1])
    rest = np.maximum(1.0 - np.bincount(at, weights=weight, minlength=len(every)), 0.0)
    return StrikeMap(
        np.concatenate([at, every]),
        np.concatenate([of, np.tile(first, shape[0])]),
        np.concatenate([weight, rest]),
        shape,
        _OF_A_KIND * (1 + int(kinds.number.max(initial=-1))),
    )


def rms_over_strikes(values: FloatArray, known: BoolArray, shares: StrikeMap, knot_s: float) -> FloatArray:
    """Return the RMS over all strikes (K, R) of values (K, R) at knots, at the same time after a strike
    (`map_by_time_after_strike`).

    known: (K, R) mask of the known values. The result is smoothed over a hundredth of a second, and 0 if no value is known.
    """
    least_weight = 1e-3  # sums over known values
    squares = shares.apply_transpose(np.where(known, values**2, 0.0))
    mean = squares / np.maximum(shares.apply_transpose(known.astype(np.float64)), least_weight)
    return np.asarray(np.sqrt(gaussian_filter1d(shares.apply(mean), FRAME_S / knot_s, axis=0)))


def strike_torque_change_rms(tau: FloatArray, known: BoolArray, shares: StrikeMap, knot_s: float) -> FloatArray:
    """Return the `rms_over_strikes` (K - 2, R) of the second differences of torques tau (K, R) at knots; known: (K, R).

    shares: map for the knots between the first and the last one.
    """
    return rms_over_strikes(np.diff(tau, 2, axis=0), known[:-2] & known[1:-1] & known[2:], shares, knot_s)


# -- Smooth torques: their indices, the frames in which they are known, and their rates of change
#
# Muscles cannot change their torque instantaneously. The rate depends on the movement: hip torques change ten times as
# fast in running as in slow walking, and the ankle torque of a runner changes a fifth as fast as the hip torque.


@dataclass(frozen=True)
class SmoothTorques:
    """Torques with a smoothness prior.

    Attributes:
        places: (R,) indices in v. known: (T, R) True where the loads are known.
        change_nm: (R,) standard deviation of the second difference between knots, Nm; infinite = no limit.
    """

    places: IntArray
    known: BoolArray
    change_nm: FloatArray


def torque_smoothness_prior(inputs: TrialInputs, loads: KnownLoads) -> SmoothTorques:
    """Return the torques of legs and trunk, and the size of their changes in the fitted motion.

    Both sides are combined. A torque with fewer than 20 known second differences has no limit. The largest fifth of the changes
    includes the strikes, so that the size of the others is estimated from the 80th percentile (1.28 standard deviations). The
    slope of a torque is a random walk with twice that size, and at least 1 Nm/kg per s^1.5, because some axes hardly move.
    """
    least_count, quantile, deviations, factor, least_roughness = 20, 0.8, 1.2816, 2.0, 1.0
    model = inputs.model
    places = smooth_torque_indices(model)
    known = _known_torques(model, loads, places)
    change = np.full(len(places), np.inf)
    if len(places):
        step = knot_step(inputs.rate_hz)
        knot_s = step / inputs.rate_hz
        least = least_roughness * model.mass_kg * knot_s**1.5
        differences = _second_differences(inputs, loads, places, known, step)
        kinds = coordinate_kinds(model, places).number
        for columns in (np.flatnonzero(kinds == kind) for kind in np.unique(kinds)):
            of_kind = differences[:, columns][np.isfinite(differences[:, columns])]
            if len(of_kind) >= least_count:
                usual = float(np.quantile(of_kind, quantile)) / deviations
                change[columns] = max(factor * usual, least)
    return SmoothTorques(places, known, change)


def smooth_torque_indices(model: SubjectModel, trunk_share: float = 0.15) -> IntArray:
    """Return the indices in v of coordinates whose torques are assumed smooth: leg coordinates, and trunk coordinates that
    carry more than `trunk_share` of body mass."""
    mb = model.multibody
    soles = [mb.moving_coordinates[model.frames[body].link] for body in model.sole_body.values()]
    carried = np.zeros(mb.nv)
    for link, body in enumerate(mb.bodies):
        carried += mb.moving_coordinates[link] * body.mass_kg
    heavy = carried > trunk_share * mb.total_mass_kg
    moving = np.array([c.v_index for c in (*model.coordinates, *model.assumed)], dtype=np.int64)
    chosen = np.any([*soles, heavy], axis=0)
    return np.array([at for at in moving if chosen[at]], dtype=np.int64)


def _known_torques(model: SubjectModel, loads: KnownLoads, places: IntArray) -> BoolArray:
    """Return a mask (T, R) of known torques; assumed coordinates count as known where the equations of motion of the whole
    body can be tested."""
    columns = {coordinate.v_index: i for i, coordinate in enumerate(model.coordinates)}
    result = np.zeros((len(loads.balanced), len(places)), dtype=bool)
    for row, at in enumerate(places.tolist()):
        result[:, row] = loads.torque_valid[:, columns[at]] if at in columns else loads.balanced
    return result


def _second_differences(
    inputs: TrialInputs, loads: KnownLoads, places: IntArray, known: BoolArray, step: int
) -> FloatArray:
    """Return the absolute second differences (K - 2, R) of the torques between knots, Nm; NaN where unknown."""
    motion = inputs.fit.motion
    moving = np.isfinite(motion.vdot).all(axis=1)
    tau = np.full((len(motion.q), len(places)), np.nan)
    q, v, vdot = (part[moving] for part in (motion.q, motion.v, motion.vdot))
    tau[moving] = inverse_dynamics(inputs.model.multibody, q, v, vdot, loads.wrenches[moving], loads.links)[:, places]
    return np.asarray(np.abs(np.diff(np.where(known, tau, np.nan)[::step], 2, axis=0)))
