"""One model of the causes of a disagreement between motion, feet and force plates.

Two predictions of the forces are independent of the plates: the centre of pressure moves along the footprint from heel to toe,
and the motion requires a force and a moment of the ground. The differences between measured and predicted values are linear in
forces and motion. Therefore each fault of a plate, of the time or of the markers is a direction in the space of the differences.
Constants of the person, for example the roll-over of the foot and the mass distribution, are directions with a known SD.

Every cause is fitted by generalised least squares. The causes are compared by the squared differences that they explain minus
their complexity (Akaike 1974), relative to the variance that remains (Wedderburn 1974, quasi-likelihood).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from biodyn.checks.estimators.plate_evidence import MatchedStep, PlateEvidence, is_on_plate
from biodyn.checks.estimators.plate_faults import iterate_fault_corrections, wrench_change_by_shift
from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray, IntArray, Side
from biodyn.diagnostics import Diagnostic, effect_text, severity_of
from biodyn.geometry.rotations import cross, matrices_from_axis_angle
from biodyn.library.toml_files import load_table

_X, _UP, _Z = np.eye(3)
_SIGN = "Check the sign of the channel (ANALOG:SCALE, calibration matrix) and its connection."
#: Least reported shift of a plate, m; valid recordings have less (`library/checks/checks.toml`).
PLATE_SHIFT_M = 0.015
#: Changes (T, 6) of the wrenches of plates, by index.
Wrenches = Mapping[int, FloatArray]


@dataclass(frozen=True)
class Candidate:
    """A possible cause before its estimate.

    Attributes:
        code: code of the finding. plate: index of the plate, None for a cause common to all. name: name of the channels or
        side, "" for none.
        units: changes of the measured wrenches (T, 6) by plate, and of the required wrench (T, 6), per unit of each parameter.
        complexity: penalty in the comparison of causes, in units of squared deviations. least: least reported `Cause.size`.
        path: (sizes (m,), parameters (m, k)) of a cause with one nonlinear size; None if the parameters are linear.
        side: foot whose markers cause the disagreement; only its differences are affected.
    """

    code: str
    plate: int | None
    units: tuple[tuple[Wrenches, FloatArray | None], ...]
    complexity: float
    least: float
    name: str = ""
    hint: str = ""
    kind: str = ""
    path: tuple[FloatArray, FloatArray] | None = None
    side: Side | None = None


@dataclass(frozen=True)
class Cause:
    """A cause with its estimate.

    Attributes:
        candidate: the cause. parameters: (k,) estimates, one for each of its units. size: the nonlinear size, or the magnitude
        of the parameters. share: explained fraction of the squared differences. score: explained squared differences, divided
        by the remaining variance, minus the complexity. contradiction: largest increase of the
            squared differences of feet or body alone, as a fraction of all.
    """

    candidate: Candidate
    parameters: FloatArray
    size: float
    share: float
    score: float
    contradiction: float

    def corrected_wrenches(self, evidence: PlateEvidence) -> dict[int, FloatArray]:
        """Return the corrected wrench (T, 6) of each plate that the cause changes, by index."""
        changes: dict[int, FloatArray] = {}
        for parameter, (wrenches, _) in zip(self.parameters, self.candidate.units, strict=True):
            for n, change in wrenches.items():
                changes[n] = changes.get(n, 0.0) + parameter * change
        if self.candidate.kind == "tilt":
            R = matrices_from_axis_angle(_Z if self.candidate.name == "along" else _X, self.size)
            return {n: plate.rotated(R).wrench for n, plate in enumerate(evidence.plates)}
        return {n: evidence.plates[n].wrench - change for n, change in changes.items()}


class Disagreement:
    """Differences between measured and predicted values of a walk, whitened by their covariance.

    A difference is a mean over a part of a step (feet) or a short time (body), with six components. Feet: shift of the centre
    of pressure forward and outward, free moment. Body: force, moment about the centre of mass. Units: body weights and m.
    """

    def __init__(self, evidence: PlateEvidence) -> None:
        self.evidence = evidence
        self._table = load_table("checks/checks")["disagreement"]
        whole = [step for step in evidence.steps if _is_whole_foot_measured(evidence, step)]
        self._steps = _evenly_spaced_items(whole, self._table["most_steps"])
        self._parts = len(self._table["path"])
        self._axes = np.repeat([step.axes for step in self._steps], self._parts, axis=0)  # forward and outward
        frames = [np.array_split(step.high_force, self._parts) for step in self._steps]
        self._foot_frames = [part for parts in frames for part in parts]
        self._body_frames = _evenly_spaced_items(self._balanced_intervals(), self._table["most_bins"])
        self._feet = np.arange(len(self._foot_frames) + len(self._body_frames)) < len(self._foot_frames)
        self._zero = np.zeros_like(evidence.required)
        plates = {n: plate.wrench for n, plate in enumerate(evidence.plates)}
        late_frames = self._table["late_sd_s"] * evidence.rate_hz
        late = {n: wrench_change_by_delay(wrench, late_frames) for n, wrench in plates.items()}
        delay = self._differences(late, self._zero)
        constants = np.column_stack([delay.ravel(), *(column.ravel() for column in self._constant_effects())])
        noise = np.where(self._feet[:, None], [*self._table["foot_sd"], 1.0, 1.0, 1.0], self._table["body_sd"])
        covariance = np.diag(noise.ravel() ** 2) + constants @ constants.T
        feet = np.repeat(self._feet, 6)
        parts = (np.ones_like(feet), feet, ~feet)
        self._whitening = [(part, np.linalg.inv(np.linalg.cholesky(covariance[np.ix_(part, part)]))) for part in parts]
        usual = (
            np.outer(~self._feet, self._table["usual_body"]) + self._table["late_s"] / self._table["late_sd_s"] * delay
        )
        self.values = self._whiten_differences(self._differences(plates, evidence.required) - usual)

    @cached_property
    def plate_indices(self) -> list[int]:
        """Indices of the plates with a whole step."""
        return sorted({step.plate for step in self._steps})

    def subtract_cause(self, cause: Cause) -> Disagreement:
        """Return the differences without the part that a cause explains."""
        candidate, rest = cause.candidate, copy(self)
        columns = self.parameter_effects(candidate)
        rest.values = [values - part @ cause.parameters for values, part in zip(self.values, columns, strict=True)]
        return rest

    @property
    def degrees_of_freedom(self) -> int:
        """Number of differences."""
        return 3 * len(self._foot_frames) + 6 * len(self._body_frames)

    def parameter_effects(self, candidate: Candidate) -> list[FloatArray]:
        """Return the change of the values by the unit of each parameter of a candidate, as `values` with a column each."""
        columns = []
        for wrenches, required in candidate.units:
            change = self._differences(wrenches, self._zero if required is None else required)
            if candidate.side is not None:
                change[self._repeat_for_parts([step.side == candidate.side for step in self._steps]) == 0.0] = 0.0
            columns.append(self._whiten_differences(change))
        return [np.column_stack(part) for part in zip(*columns, strict=True)]

    def _whiten_differences(self, differences: FloatArray) -> list[FloatArray]:
        """Return all differences, those of the feet and those of the body, each divided by the root of its covariance."""
        return [whitening @ differences.ravel()[part] for part, whitening in self._whitening]

    def _repeat_for_parts(self, shape: Sequence[float]) -> FloatArray:
        """Return the values `shape` of the steps, repeated for the parts of each step, and 0 for the body, (n,)."""
        return np.append(np.repeat(shape, self._parts), np.zeros(len(self._body_frames)))

    def _single_support_mask(self, step: MatchedStep) -> FloatArray:
        """Return 1 (n,) for the short intervals in single support of a step, else 0."""
        middles = [frames[len(frames) // 2] for frames in self._body_frames]
        return np.append(np.zeros(len(self._foot_frames)), np.isin(middles, step.single_support))

    def _balanced_intervals(self) -> list[IntArray]:
        """Return short intervals with all forces on the body measured."""
        evidence = self.evidence
        known = evidence.complete.copy()
        for step in self._steps:
            known[step.single_support] = True
        for values in (evidence.required, evidence.centre_of_mass, *(plate.wrench for plate in evidence.plates)):
            known &= np.isfinite(values).all(axis=1)
        rows, length = np.flatnonzero(known), self._table["bin_s"] * evidence.rate_hz
        bins = np.split(rows, np.flatnonzero(np.diff((rows / length).astype(int))) + 1)
        return [frames for frames in bins if 2 * len(frames) > length]

    @cached_property
    def _predicted_cop(self) -> FloatArray:
        """Predicted centre of pressure (frames, 3) m of all parts of the steps."""
        points = []
        for step, parts in zip(self._steps, range(0, len(self._foot_frames), self._parts), strict=True):
            for k, share in enumerate(self._table["path"]):
                point = step.heel + share * (step.toe - step.heel)
                point = point + self.evidence.belt_displacement(step, self._foot_frames[parts + k])
                point[:, 1] = self.evidence.plates[step.plate].corners[:, 1].mean()
                points.append(point)
        return np.concatenate(points)

    def _differences(self, wrenches: Wrenches, required: FloatArray) -> FloatArray:
        """Return the differences (n, 6), which are linear in measured (by plate) and required wrenches."""
        rows = np.zeros((len(self._feet), 6))
        if self._steps:
            wrench = np.concatenate([wrenches.get(step.plate, self._zero)[step.high_force] for step in self._steps])
            moment = _part_means(wrench[:, :3] - cross(self._predicted_cop, wrench[:, 3:]), self._foot_frames)
            lever = np.column_stack([moment[:, 2], np.zeros(len(moment)), -moment[:, 0]])
            rows[self._feet, :2] = np.einsum("nij,nj->ni", self._axes, lever)
            rows[self._feet, 2] = moment[:, 1]
        if self._body_frames:
            frames = np.concatenate(self._body_frames)
            total = sum((wrench[frames] for wrench in wrenches.values()), start=-required[frames])
            total[:, :3] -= cross(self.evidence.centre_of_mass[frames], total[:, 3:])
            rows[~self._feet] = _part_means(total, self._body_frames)[:, [3, 4, 5, 0, 1, 2]]
        return rows / self.evidence.weight_n

    def _constant_effects(self) -> Iterator[FloatArray]:
        """Yield the change (n, 6) of the differences by one SD of each constant of person, step and model."""
        part = np.resize(np.linspace(-1.0, 1.0, self._parts), len(self._foot_frames))
        part = np.append(part, np.zeros(len(self._body_frames)))
        sd = self._table["constants"]
        shapes = [(self._feet, sd["foot"]), (self._feet * part, sd["foot_slope"])]
        shapes += [(self._feet * (part == share), sd["foot_part"]) for share in np.unique(part[self._feet])]
        shapes += [(~self._feet, sd["body"])]
        shapes += [(self._repeat_for_parts(one), sd["step"]) for one in np.eye(len(self._steps)).tolist()]
        shapes += [(self._single_support_mask(step), sd["body_step"]) for step in self._steps]
        for shape, sds in shapes:
            yield from (np.outer(shape, row) for row in np.diag(sds) if row.any())
        plates = enumerate(self.evidence.plates)
        shift = self._differences({n: wrench_change_by_shift(plate.wrench, _X) for n, plate in plates}, self._zero)
        for along_foot in (self._feet, self._feet * part):  # position and length of the soles
            yield self.evidence.sole_sd_m * along_foot[:, None] * shift
        yield self._table["mass_sd"] * self._differences({}, self.evidence.required)
        yield self._table["acceleration_sd"] * self._differences({}, inertial_wrench(self.evidence))


def _part_means(values: FloatArray, parts: Sequence[IntArray]) -> FloatArray:
    """Return the means (n, k) of the rows of consecutive parts."""
    lengths = np.array([len(part) for part in parts])
    return np.asarray(np.add.reduceat(values, np.cumsum(lengths) - lengths) / lengths[:, None])


def _evenly_spaced_items(items: list[Any], most: int) -> list[Any]:
    """Return at most `most` items, evenly distributed."""
    return items if len(items) <= most else [items[k] for k in np.linspace(0, len(items) - 1, most).astype(int)]


def _is_whole_foot_measured(evidence: PlateEvidence, step: MatchedStep) -> bool:
    """Return whether one plate measured the whole foot, according to its force or, because a channel may be wrong, to the
    position of the foot."""
    if step.side is None or not step.heel_to_toe or not np.isfinite(step.heel).all():
        return False
    measured = step.fully_measured or (step.on_single_plate and is_on_plate(evidence, step))
    return measured and len(step.high_force) >= len(load_table("checks/checks")["disagreement"]["path"])


def inertial_wrench(evidence: PlateEvidence) -> FloatArray:
    """Return the part (T, 6) of the required wrench that is caused by accelerations, not by gravity."""
    gravity = np.zeros_like(evidence.centre_of_mass)
    gravity[:, 1] = evidence.weight_n
    return evidence.required - np.hstack([cross(evidence.centre_of_mass, gravity), gravity])


def wrench_change_by_delay(wrench: FloatArray, frames: float) -> FloatArray:
    """Return the change (T, 6) of a wrench by a delay; values that were not measured are interpolated."""
    at, known = np.arange(len(wrench)), np.isfinite(wrench).all(axis=1)
    if not known.any():
        return np.zeros_like(wrench)
    return np.column_stack([np.interp(at - frames, at[known], column) for column in wrench[known].T]) - wrench


def estimate_cause(disagreement: Disagreement, candidate: Candidate) -> Cause | None:
    """Return the cause with the parameters that fit best; None if its size is below the least reported size."""
    largest_gain = 5.0  # larger gains, and negative ones, are other faults
    values, *parts = disagreement.values
    before = float(values @ values)
    columns, *columns_of_parts = disagreement.parameter_effects(candidate)
    if candidate.path is None:
        parameters = np.asarray(np.linalg.lstsq(columns, values, rcond=None)[0], dtype=np.float64)
        size = float(np.linalg.norm(parameters))
        if candidate.kind == "gain":  # the share of a channel with gain g is 1 - 1 / g too large
            size = 1.0 / max(1.0 - float(parameters[0]), 1.0 / largest_gain)
    else:
        sizes, path = candidate.path
        best = int(np.argmin(np.sum((values[:, None] - columns @ path.T) ** 2, axis=0)))
        parameters, size = path[best], float(sizes[best])
    after = float(np.sum((values - columns @ parameters) ** 2))
    if size == largest_gain or (abs(np.log(size)) if candidate.kind == "gain" else abs(size)) < candidate.least:
        return None
    least_variance = 0.6  # because it is estimated from few values
    variance = max(after / disagreement.degrees_of_freedom, least_variance)
    score = (before - after) / variance - candidate.complexity
    increase = max(
        float(np.sum((part - part_columns @ parameters) ** 2) - part @ part)
        for part, part_columns in zip(parts, columns_of_parts, strict=True)
    )
    return Cause(candidate, parameters, size, (before - after) / before, score, increase / before)


# -- candidates --------------------------------------------------------------------------------------------------------


def iterate_candidates(
    evidence: PlateEvidence, plates: Sequence[int], channels: Callable[[int], Mapping[str, FloatArray]]
) -> Iterator[Candidate]:
    """Yield all possible causes; plates: indices with a whole step; channels: contribution (T, 6) of the channels by label."""
    faults: dict[tuple[str, str], list[Candidate]] = {}
    for n in plates:
        shares = channels(n)
        yield from _sized_plate_faults(evidence, n, shares)
        for name, fault in _unsized_plate_faults(evidence, n, shares):
            yield fault
            faults.setdefault((fault.code, name), []).append(fault)
    for (_, name), same in faults.items():  # of all plates, by a wrong convention in the file
        if len(same) == len(plates) > 1:
            changes = {n: change for fault in same for n, change in fault.units[0][0].items()}
            yield replace(same[0], plate=None, units=((changes, None),), name=name, kind="faults")
    wrenches = {n: plate.wrench for n, plate in enumerate(evidence.plates)}
    places = {n: plate.corners.mean(axis=0) * (1.0, 0.0, 1.0) for n, plate in enumerate(evidence.plates)}

    def shifts(shift_of: Callable[[FloatArray], FloatArray]) -> tuple[Wrenches, None]:
        return {n: wrench_change_by_shift(wrench, shift_of(places[n])) for n, wrench in wrenches.items()}, None

    if len(plates) > 1:
        # An error of the origin is frequent, and the constants of the person limit how much of it shows.
        yield Candidate("plate-moved", None, (shifts(lambda _: _X), shifts(lambda _: _Z)), -4.0, 0.02, kind="plates")
        yield Candidate("plate-moved", None, (shifts(lambda p: p),), 8.0, 0.03, kind="scale")
        yield Candidate("plate-moved", None, (shifts(lambda p: cross(_UP, p)),), 8.0, 0.035, kind="turn")
    for side in SIDES:
        axes = [step.axes for step in evidence.steps if step.side == side and step.plate in plates]
        if axes:
            units = tuple(
                ({n: wrench_change_by_shift(w, axis) for n, w in wrenches.items()}, None)
                for axis in np.mean(axes, axis=0)
            )
            yield Candidate("marker-moved", None, units, 6.0, PLATE_SHIFT_M, SIDE_NAMES[side], kind="foot", side=side)
    inertia, gravity = inertial_wrench(evidence), evidence.weight_n * _UP
    for axis, name in ((_X, "across"), (_Z, "along")):
        lever = cross(cross(axis, evidence.centre_of_mass), gravity)
        turned = np.hstack([cross(axis, inertia[:, :3]) + lever, cross(axis, inertia[:, 3:])])
        yield Candidate("plate-height", None, (({}, -turned),), 7.0, np.deg2rad(1.0), name=name, kind="tilt")
    yield Candidate("mass-mismatch", None, (({}, evidence.required),), 4.0, 0.03, kind="mass")
    yield Candidate("frame-rate-doubtful", None, (({}, inertia),), 6.0, 0.13, kind="rate")
    delays_s = np.linspace(-0.06, 0.06, 25)
    units = tuple(
        ({n: wrench_change_by_delay(wrench, s * evidence.rate_hz) for n, wrench in wrenches.items()}, None)
        for s in delays_s
    )
    yield Candidate("time-offset", None, units, 3.0, 0.0, kind="delay", path=(delays_s, np.eye(len(delays_s))))


def _sized_plate_faults(evidence: PlateEvidence, n: int, channels: Mapping[str, FloatArray]) -> Iterator[Candidate]:
    """Yield the faults of one plate that have a size (shift, rotation, gain)."""
    plate = evidence.plates[n]
    wrench, centre = plate.wrench, plate.corners.mean(axis=0)
    yield _plate_shift_candidate(evidence, n)
    at_centre = np.hstack([wrench[:, :3] - cross(centre, wrench[:, 3:]), wrench[:, 3:]])
    level = at_centre * np.tile(_X + _Z, 2)
    across = np.hstack([cross(_UP, at_centre[:, :3]), cross(_UP, at_centre[:, 3:])])
    moved = tuple(
        ({n: np.hstack([change[:, :3] + cross(centre, change[:, 3:]), change[:, 3:]])}, None)
        for change in (level, across)
    )
    angles = np.deg2rad(np.arange(-75.0, 76.0))  # quarter turns are other candidates
    path = np.column_stack([1.0 - np.cos(angles), np.sin(angles)])
    yield Candidate("plate-rotated", n, moved, 4.0, np.deg2rad(2.5), path=(angles, path), kind="rotation")
    gains = {"all channels": (4.0, wrench)} | {f"channel {label}": (6.0, share) for label, share in channels.items()}
    for name, (complexity, share) in gains.items():
        units = (({n: share}, None),)
        yield Candidate("plate-channel-gain", n, units, complexity, np.log(1.15), name, kind="gain")


def _unsized_plate_faults(
    evidence: PlateEvidence, n: int, channels: Mapping[str, FloatArray]
) -> Iterator[tuple[str, Candidate]]:
    """Yield the faults of one plate that have no size (signs, exchanges, quarter turns), each with a name that is the same for
    every plate."""
    plate = evidence.plates[n]
    size = (np.ones(1), np.ones((1, 1)))
    for k, (label, share) in enumerate(channels.items(), start=1):
        code = "plate-force-sign" if np.nan_to_num(share[:, 3:]).any() else "plate-moment-sign"
        name, units = "as if channel {} had the opposite sign", (({n: 2.0 * share}, None),)
        yield name.format(k), Candidate(code, n, units, 4.0, 0.0, name.format(label), _SIGN, "fault", size)
    for fault, corrected in iterate_fault_corrections(plate):
        units = (({n: plate.wrench - corrected.wrench}, None),)
        yield fault.what, Candidate(fault.code, n, units, 4.0, 0.0, fault.what, fault.hint, "fault", size)


# -- comparison --------------------------------------------------------------------------------------------------------


def find_causes(
    disagreement: Disagreement, channels: Callable[[int], Mapping[str, FloatArray]] = lambda _: {}
) -> tuple[tuple[Cause, ...], ...]:
    """Return the causes of the disagreement: the best cause, followed by those that explain it as well.

    A further group is the same fault of another plate. Empty if no cause explains enough.
    """
    table = load_table("checks/checks")["causes"]
    evidence, plates = disagreement.evidence, disagreement.plate_indices
    groups: list[tuple[Cause, ...]] = []
    while len(groups) < len(plates):
        judged = {group[0].candidate.plate for group in groups}
        estimates = (
            estimate_cause(disagreement, candidate)
            for candidate in iterate_candidates(evidence, plates, channels)
            if not groups or (candidate.code == groups[0][0].candidate.code and candidate.plate not in judged)
        )
        least_score = table["least_score"] - table["as_likely"]
        probable = [cause for cause in estimates if cause is not None and cause.score >= least_score]
        # A fault of a plate shows in feet and body. A load that no plate measured resembles a shift in the body alone.
        consistent = [cause for cause in probable if cause.contradiction <= table["contradiction"] * cause.share]
        causes = sorted(consistent, key=lambda cause: -cause.score)
        if not causes or causes[0].score < table["least_score"] or causes[0].share < table["least_share"]:
            break
        best = causes[0]
        groups.append(tuple(_equally_likely_causes(causes, best.score - table["as_likely"])))
        if best.candidate.plate is None or best.candidate.kind == "plate":
            break
        disagreement = disagreement.subtract_cause(best)
    return tuple(groups)


def _equally_likely_causes(causes: Sequence[Cause], least_score: float) -> Iterator[Cause]:
    """Yield the causes with a score of at least `least_score`, only one of several variants of the same fault of a plate."""
    seen = set()
    for cause in causes:
        fault = (cause.candidate.code, cause.candidate.plate, cause.candidate.kind, cause.candidate.side)
        if cause.score > least_score and fault not in seen:
            seen.add(fault)
            yield cause


def plate_shifts(disagreement: Disagreement) -> list[float]:
    """Return the distance (m) of each plate from the position at which it agrees best with feet and motion."""
    shifts = [replace(_plate_shift_candidate(disagreement.evidence, n), least=0.0) for n in disagreement.plate_indices]
    return [cause.size for cause in (estimate_cause(disagreement, shift) for shift in shifts) if cause is not None]


def cause_findings(
    evidence: PlateEvidence, groups: Sequence[Sequence[Cause]], effect_of: Callable[[Cause], float] = lambda _: np.nan
) -> tuple[Diagnostic, ...]:
    """Return a finding for each group of `find_causes`; effect_of: RMS change of joint moments by a cause, Nm/kg.

    Delays and masses have checks of their own. A foot across the edge of its plates has no wrong marker.
    """
    most_listed = 3
    table = load_table("checks/checks")["causes"]
    notes = []
    for group in groups:
        best = group[0].candidate
        if best.kind in ("delay", "mass") or (best.kind == "foot" and not _are_feet_on_plates(evidence)):
            continue
        texts = [_describe_cause(evidence, cause) for cause in group]
        effect = max((effect_of(cause) for cause in group), key=np.nan_to_num)
        codes = tuple(dict.fromkeys(cause.candidate.code for cause in group))
        listed = "; or ".join(text for text, _ in texts[:most_listed])
        what = listed if len(group) == 1 else f"Cause not identified. One of: {listed}"
        steps = [step for step in evidence.steps if best.plate in (None, step.plate)]
        value, limit = group[0].size, 1.0 if best.kind == "gain" else best.least
        if best.kind in ("fault", "faults"):
            value, limit = group[0].share, table["least_share"]
        notes.append(
            Diagnostic(
                codes[0] if len(codes) == 1 else "cause-not-identified",
                "error" if best.kind == "rate" else severity_of(effect),
                f"{what}: this explains {100 * group[0].share:.0f} % of the squared disagreement between motion, feet and "
                f"forces{effect_text(effect)}. Nothing was changed.",
                value=value,
                limit=limit,
                unit=table[best.kind].get("unit", ""),
                frames=(min(step.first for step in steps), max(step.stop for step in steps) - 1),
                hint=" ".join(dict.fromkeys(hint for _, hint in texts[:most_listed])),
                alternatives=codes if len(codes) > 1 else (),
            )
        )
    return tuple(notes)


def _are_feet_on_plates(evidence: PlateEvidence) -> bool:
    """Return whether the whole foot was on a plate in a step of each foot; the feet are compared with each other."""
    steps = [step for step in evidence.steps if step.fully_measured and step.side is not None]
    return {step.side for step in steps} == {step.side for step in steps if is_on_plate(evidence, step)}


def _describe_cause(evidence: PlateEvidence, cause: Cause) -> tuple[str, str]:
    """Return a description of a cause, and a hint."""
    candidate, size = cause.candidate, cause.size
    steps = [step for step in evidence.steps if candidate.plate in (None, step.plate)]
    plates = [evidence.plates[n] for n in sorted({step.plate for step in steps})]
    is_table = candidate.kind in ("plate", "plates") and not all(plate.outlined for plate in plates)
    words = load_table("checks/checks")["causes"]["table" if is_table else candidate.kind]
    first, second = (float(cause.parameters[0]), float(cause.parameters[-1]))
    text = words["text"].format(
        plates=", ".join(str(plate.number) for plate in plates),
        feet=" and ".join(SIDE_NAMES[side] for side in SIDES if any(step.side == side for step in steps)),
        name=candidate.name, size=size, cm=100.0 * size, degrees=abs(np.rad2deg(size)), angle=-np.rad2deg(size),
        factor=1.0 - first, percent=100.0 * first, first_cm=-100.0 * first, second_cm=-100.0 * second,
    )  # fmt: skip
    return text, candidate.hint or words["hint"]


def _plate_shift_candidate(evidence: PlateEvidence, n: int) -> Candidate:
    units = tuple(({n: wrench_change_by_shift(evidence.plates[n].wrench, axis)}, None) for axis in (_X, _Z))
    return Candidate("plate-moved", n, units, 4.0, PLATE_SHIFT_M, kind="plate")
