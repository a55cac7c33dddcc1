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
from biodyn.processing.signals.filtering import estimate_noise
from biodyn.processing.signals.smoothing.spline import optimal_cutoffs, stiffness_of_cutoff
from biodyn.recording import Contact
from biodyn.rigid_body import inverse_dynamics
from biodyn.rigid_body.kinematics import supporting_coordinates
from biodyn.uncertainty.inputs import Magnitudes, TrialInputs

#: Errors are stated for a frame of this length; the variance of the error of other frames is in proportion.
FRAME_S = 0.01
# A coordinate is held to its fitted value within this SD where its markers determine it well, and more firmly otherwise.
_FIT_SD_RAD = np.radians(2.0)
#: Expected error of the balance in a hundredth of a second: of moments, Nm, and of forces, N.
MOMENT_SD_NM, FORCE_SD_N = 1.5, 3.0
#: Knots of the estimated trajectory, 1/s.
KNOTS_HZ = 100.0
# Share of the variance of the torques' changes at foot strikes that all strikes of a person have in common.
_STRIKES_ALIKE = 0.9


@dataclass(frozen=True)
class NoiseModel:
    """Standard deviations and weights of one trial.

    Attributes:
        marker_sd_m: (M,) error of each fitted marker in a frame, an axis.
        stiffness: (nv,) of the smoothing spline with the optimal cut-off of the segment's markers.
        balance: (6,) [moment; force], Nm and N, error of the balance of the whole body in a frame: expected, later estimated.
        strikes_alike_share: of the variance of the torques' changes at strikes, that all strikes have in common.
        alike_frames: for how many frames a model's error is correlated.
        unseen_sd_rad: (nv,) of coordinates with assumed motion; infinite for others.
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


def noise_model_of(inputs: TrialInputs, magnitudes: Magnitudes, skin_sd_m: float = 1e-3) -> NoiseModel:
    """Return the noise model of a trial: noise and smoothness are estimated from its markers.

    skin_sd_m: error of a marker of weight 1 in a hundredth of a second besides its noise, by movement of the skin.
    """
    model, rate_hz = inputs.model, inputs.rate_hz
    raw = inputs.fitted(inputs.raw)
    noise = np.fmax(
        estimate_noise(raw, rate_hz, magnitudes.noise_from_hz, inputs.filter_order), magnitudes.marker_noise_m
    )
    cutoffs = coordinate_cutoffs(model, optimal_cutoffs(raw, rate_hz), inputs.cutoff_hz)
    frame = np.sqrt(FRAME_S * rate_hz)
    smoothness, derivative = (
        5.0,
        3,
    )  # factor on the smoothness of the markers; the derivative that is small, as in the spline
    correlation_s = 0.07  # of errors of the body model
    return NoiseModel(
        marker_sd_m=np.hypot(noise, skin_sd_m * frame),
        stiffness=smoothness * np.array([stiffness_of_cutoff(hz, rate_hz, derivative) for hz in cutoffs]),
        balance=frame * np.repeat([MOMENT_SD_NM, FORCE_SD_N], 3),
        strikes_alike_share=_STRIKES_ALIKE,
        alike_frames=max(2.0 * correlation_s * rate_hz, 1.0),
        unseen_sd_rad=_assumed_sd(model, magnitudes) * frame,
    )


def balance_errors(sizes: NoiseModel, rate_hz: float) -> tuple[float, float]:
    """Return the error of the balance of forces, N, and of moments, Nm, in a hundredth of a second."""
    force, moment = sizes.balance[[3, 0]] / np.sqrt(FRAME_S * rate_hz)
    return float(force), float(moment)


def coordinate_cutoffs(model: SubjectModel, marker_hz: FloatArray, otherwise_hz: float) -> FloatArray:
    """Return the cut-off (nv,) of each coordinate: the mean of the markers on its segment, else on its parent and so on."""
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
        result[coordinate.v_index] = 3.0  # the second harmonic of a fast stride, little above
    return result


def fit_precision(model: SubjectModel, q: FloatArray, lever_m: FloatArray, sizes: NoiseModel) -> FloatArray:
    """Return the precision (T, nv) of the prior that coordinates equal their fitted values, 1/rad^2 and 1/m^2.

    lever_m: (T, nv) change of the markers for one radian of a coordinate with all others free. A coordinate at its limit is held
    there; an assumed one is held to its assumption within the variation among people.
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


def _assumed_sd(model: SubjectModel, magnitudes: Magnitudes) -> FloatArray:
    """Return the SD (nv,) rad of assumed coordinates: the root mean square of their segment's three axes."""
    result = np.full(model.multibody.nv, np.inf)
    for coordinate in model.assumed:
        offset, stride = magnitudes.unseen_rad.get(coordinate.body, (np.zeros(3), np.zeros(3)))
        sd = float(np.sqrt(np.mean(offset**2 + stride**2)))
        result[coordinate.v_index] = sd or _FIT_SD_RAD
    return result


# -- How fast torques and motion change about foot strikes, estimated from the trial itself
#
# Muscles respond to the ground with bursts: within a tenth of a second of a strike the curvature of the torques of hip, knee and
# trunk is five to ten times as large as in the rest of the stride. One limit for the whole stride flattens them. So the first
# step of the estimate leaves motion and torques nearly free at a strike. A person's strikes are similar: the changes of the first
# step at the same time after all strikes, of both sides, determine the limits of the next step.

# A strike has effects from before it, since muscles anticipate it, until the forefoot is down; s.
_BEFORE_S, _AFTER_S = 0.08, 0.15
#: Duration of a strike in hundredths of a second.
OF_A_STRIKE = round((_BEFORE_S + _AFTER_S) / FRAME_S) + 1
# Numbers of a kind of coordinate: the rest of the stride, times after a strike of its own side, then of the other side.
_OF_A_KIND = 1 + 2 * OF_A_STRIKE


def since_strikes(contacts: Sequence[Contact], frames: int, rate_hz: float) -> FloatArray:
    """Return the times (frames, 2) s since the nearest strike of each of `SIDES`, negative before it; infinite without one.

    A strike is a foot contact that begins in the air: not a foot on a plate at the first frame, nor one that steps from one plate
    to the next.
    """
    events = plate_events(contacts, frames / rate_hz, 1.0 / rate_hz)
    strikes_s = [[e.time_s for e in events if e.kind == "foot_strike" and e.side == side] for side in SIDES]
    return np.stack([_since_nearest(np.arange(frames) / rate_hz, times_s) for times_s in strikes_s], axis=1)


def _since_nearest(time_s: FloatArray, strikes_s: Sequence[float]) -> FloatArray:
    """Return the times (T,) in s since the nearest foot strike (negative before it), or inf if there is no strike."""
    if not strikes_s:
        return np.full(len(time_s), np.inf)
    away = time_s[:, None] - np.array(strikes_s)
    return np.asarray(np.take_along_axis(away, np.argmin(np.abs(away), axis=1)[:, None], axis=1)[:, 0])


def midway_since_strike(before_s: FloatArray, after_s: FloatArray) -> FloatArray:
    """Return the times since a strike, s, midway between two knots, from `since_strikes` (..., 2) at both of them.

    Where another strike becomes the nearest between them, the earlier value is used.
    """
    return np.where(after_s < before_s, before_s, 0.5 * (before_s + after_s))


def strike_nearness(since_s: FloatArray) -> FloatArray:
    """Return how near each time (T,) is to a strike of either side, 1 at it and 0 beyond the burst; since_s: (T, 2)."""
    burst_s = 0.04  # heel and shank are stopped, and muscles respond, within some hundredths of a second
    distance_s = np.minimum(np.abs(since_s).min(axis=1), burst_s)
    return np.asarray(np.cos(0.5 * np.pi * distance_s / burst_s) ** 2)


class Kinds(NamedTuple):
    """Kinds of coordinates at places in v: a number (R,) common to both sides, and the side, "" in the middle."""

    number: IntArray
    side: tuple[str, ...]


def kinds_of(model: SubjectModel, places: IntArray) -> Kinds:
    """Return the kinds of the coordinates at `places` (R,) in v; each coordinate of the root is its own kind."""
    names = {c.v_index: (c.gait_variable, c.side) for c in (*model.coordinates, *model.assumed)}
    kinds = [names.get(at, (f"root {at}", "")) for at in places.tolist()]
    order = sorted({plain for plain, _ in kinds})
    return Kinds(np.array([order.index(plain) for plain, _ in kinds], dtype=np.int64), tuple(side for _, side in kinds))


@dataclass(frozen=True)
class Shares:
    """Linear map from P numbers, by the time after strikes, to values (K, R) at knots.

    Attributes:
        at, of, weight: (N,) entries: place in the flat values, number, and weight.
        shape: (K, R). count: P.
    """

    at: IntArray
    of: IntArray
    weight: FloatArray
    shape: tuple[int, int]
    count: int

    def values(self, numbers: FloatArray) -> FloatArray:
        """Return the values (K, R) of the numbers (P,); 0 where no number has a weight."""
        parts = self.weight * numbers[self.of]
        flat = np.bincount(self.at, weights=parts, minlength=self.shape[0] * self.shape[1])
        return np.asarray(flat.reshape(self.shape), dtype=np.float64)

    def gathered(self, values: FloatArray) -> FloatArray:
        """Apply the transpose of `values` to values (K, R): (P,)."""
        return self._summed(self.weight * values.ravel()[self.at])

    def squares(self, values: FloatArray) -> FloatArray:
        """Return the sums (P,) of the squares of all weights on a number, each times its value (K, R)."""
        return self._summed(self.weight**2 * values.ravel()[self.at])

    def _summed(self, parts: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.of, weights=parts, minlength=self.count), dtype=np.float64)


def near_strikes(since_s: FloatArray) -> Iterator[tuple[Side, IntArray, IntArray, FloatArray]]:
    """Yield a side, frames (N,), hundredths of a second (N,) since the effects of its strike begin, and the frames' weights (N,).

    since_s: (T, 2) of `since_strikes`. A frame is interpolated between the two nearest hundredths, with weights that fade out
    beyond the first and the last one; near strikes of both sides it belongs to both. So the result is continuous in the times.
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


def strike_shares(
    kinds: Kinds, since_s: FloatArray, first: IntArray, middle: Side | None = None
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the entries of `Shares` at strikes, since_s (T, 2): places, numbers and weights (N,).

    first: (R,) number of the first hundredth of a strike of a value's own side, before the ones of the other side. middle: the
    side that coordinates without a side have; None = both, as one.
    """
    flat = np.arange(since_s.shape[0] * len(kinds.side)).reshape(-1, len(kinds.side))
    parts = []
    for side, frames, hundredth, share in near_strikes(since_s):
        other = np.array(
            [OF_A_STRIKE if (of_value or middle or side) != side else 0 for of_value in kinds.side], dtype=np.int64
        )
        at = flat[frames]
        parts.append((at, first + other + hundredth[:, None], np.broadcast_to(share[:, None], at.shape)))
    at, of, weight = (np.concatenate([part[i].ravel() for part in parts]) for i in range(3))
    return at, of, weight


def similar_times(kinds: Kinds, since_s: FloatArray) -> Shares:
    """Return the map to values (T, R) from one number for each kind and time after a strike; since_s (T, 2).

    Both sides count as one, and all strikes are own ones of coordinates without a side. The nearest known strike counts. The
    weights of a value sum to 1, including the one of the rest of the stride.
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
    """Return the root mean square (K, R) of values (K, R) at knots over all strikes, see `similar_times`.

    known: (K, R) values that count. Smoothed over a hundredth of a second; 0 where nothing is known.
    """
    least_weight = 1e-3  # of known values
    squares = shares.gathered(np.where(known, values**2, 0.0))
    mean = squares / np.maximum(shares.gathered(known.astype(np.float64)), least_weight)
    return np.asarray(np.sqrt(gaussian_filter1d(shares.values(mean), FRAME_S / knot_s, axis=0)))


def shown_changes(tau: FloatArray, known: BoolArray, shares: Shares, knot_s: float) -> FloatArray:
    """Return the `shown_sizes` (K - 2, R) of the second differences of torques tau (K, R) at knots; known: (K, R).

    shares: of the knots between the first and the last one.
    """
    return shown_sizes(np.diff(tau, 2, axis=0), known[:-2] & known[1:-1] & known[2:], shares, knot_s)


# -- Smooth torques: which, where they are known, and how fast each of them may change
#
# Muscles cannot change their torque at once. How fast they do depends on the movement: a runner's hip changes its torque ten
# times as fast as that of a slow walker, and his ankle a fifth as fast as his hip.


@dataclass(frozen=True)
class SmoothTorques:
    """Torques with a smoothness prior.

    Attributes:
        places: (R,) in v. known: (T, R) where the loads are known.
        change_nm: (R,) standard deviation of the second difference of each from knot to knot, Nm; infinite = no limit.
    """

    places: IntArray
    known: BoolArray
    change_nm: FloatArray


def smooth_torques(inputs: TrialInputs, loads: Loads) -> SmoothTorques:
    """Return the torques of legs and trunk, and how fast they change in the fitted motion.

    Both sides count as one torque; one with fewer than 20 known second differences has no limit. Strikes are among the largest
    fifth of the changes, so the size of the others is estimated from the 80th percentile, 1.28 standard deviations. The slope of
    a torque may change, as a random walk, by twice that size, and by at least 1 Nm/kg per s^1.5: some axes hardly move.
    """
    least_count, quantile, deviations, factor, least_roughness = 20, 0.8, 1.2816, 2.0, 1.0
    model = inputs.model
    places = torque_places(model)
    known = _known_torques(model, loads, places)
    change = np.full(len(places), np.inf)
    if len(places):
        step = knot_step(inputs.rate_hz)
        knot_s = step / inputs.rate_hz
        least = least_roughness * model.mass_kg * knot_s**1.5
        differences = _second_differences(inputs, loads, places, known, step)
        kinds = kinds_of(model, places).number
        for columns in (np.flatnonzero(kinds == kind) for kind in np.unique(kinds)):
            of_kind = differences[:, columns][np.isfinite(differences[:, columns])]
            if len(of_kind) >= least_count:
                usual = float(np.quantile(of_kind, quantile)) / deviations
                change[columns] = max(factor * usual, least)
    return SmoothTorques(places, known, change)


def torque_places(model: SubjectModel, trunk_share: float = 0.15) -> IntArray:
    """Return the places in v of the coordinates of the legs and of the trunk: those that carry more than a share of the body."""
    mb = model.multibody
    soles = [supporting_coordinates(mb, model.frames[body].link) for body in model.sole_body.values()]
    carried = np.zeros(mb.nv)
    for link, body in enumerate(mb.bodies):
        carried += supporting_coordinates(mb, link) * body.mass_kg
    heavy = carried > trunk_share * mb.total_mass_kg
    moving = np.array([c.v_index for c in (*model.coordinates, *model.assumed)], dtype=np.int64)
    chosen = np.any([*soles, heavy], axis=0)
    return np.array([at for at in moving if chosen[at]], dtype=np.int64)


def _known_torques(model: SubjectModel, loads: Loads, places: IntArray) -> BoolArray:
    """Return where (T, R) each torque is known; of assumed coordinates where the whole body is in balance."""
    columns = {coordinate.v_index: i for i, coordinate in enumerate(model.coordinates)}
    result = np.zeros((len(loads.balanced), len(places)), dtype=bool)
    for row, at in enumerate(places.tolist()):
        result[:, row] = loads.torque_valid[:, columns[at]] if at in columns else loads.balanced
    return result


def _second_differences(inputs: TrialInputs, loads: Loads, places: IntArray, known: BoolArray, step: int) -> FloatArray:
    """Return the sizes (K - 2, R) of the second differences of the torques from knot to knot, Nm; NaN where not known."""
    motion = inputs.fit.motion
    moving = np.isfinite(motion.vdot).all(axis=1)
    tau = np.full((len(motion.q), len(places)), np.nan)
    q, v, vdot = (part[moving] for part in (motion.q, motion.v, motion.vdot))
    tau[moving] = inverse_dynamics(inputs.model.multibody, q, v, vdot, loads.wrenches[moving], loads.links)[:, places]
    return np.asarray(np.abs(np.diff(np.where(known, tau, np.nan)[::step], 2, axis=0)))
