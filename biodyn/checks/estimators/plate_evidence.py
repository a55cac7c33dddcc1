"""Loads of plates matched with stances of feet, and the wrench required by the motion: the basis of the checks of plates.

Decisions about contacts are not used, because they are wrong for faulty plates. A load of a plate is matched with the stance of
a foot by time alone, and the required wrench depends only on the motion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from biodyn.conventions import SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, IntArray, Side, other_side
from biodyn.geometry.points import signed_distance
from biodyn.geometry.rotations import cross
from biodyn.processing.contacts.foot_motion import GaitPoints, foot_outline
from biodyn.processing.contacts.ground_reaction import STANCE_DELAY_S
from biodyn.processing.contacts.plate_loads import centre_of_pressure
from biodyn.processing.dynamics.inverse_dynamics import Dynamics
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.signals.filtering import finite_stretches, widen_mask
from biodyn.recording import Contact, PlateWrench
from biodyn.recording.stillness import median_over_frames
from biodyn.rigid_body import dynamics as whole_body

#: Part of the load with a flat foot.
FLAT = (0.2, 0.5)
# Fraction of the peak force above which edge effects of the filter are small.
FIRM_SHARE = 0.3


@dataclass(frozen=True)
class MatchedStep:
    """One load of one plate, and the stance at the same time.

    Attributes:
        plate: index of the plate. first, stop: marker frames of the load, stop exclusive.
        side: foot with a matching stance, None without one.
        single_support: (n,) frames in which only this plate is loaded and the other foot is off the ground, so that body and
            plate must agree.
        high_force: (n,) frames of the load with a high force.
        fully_measured: True if this plate alone measured the whole stance with its full force.
        heel, toe: (3,) m World, ends of the footprint while the foot is flat; NaN without a side.
        on_single_plate: True if only this plate was loaded during the whole stance, with any force.
        heel_to_toe: True if the complete step was recorded and the centre of pressure moved from heel to toes.
    """

    plate: int
    first: int
    stop: int
    side: Side | None
    single_support: IntArray
    high_force: IntArray
    fully_measured: bool
    heel: FloatArray
    toe: FloatArray
    heel_to_toe: bool = True
    on_single_plate: bool = False

    @cached_property
    def length_m(self) -> float:
        """Length of the footprint."""
        return float(np.linalg.norm(self.toe - self.heel))

    @cached_property
    def axes(self) -> FloatArray:
        """Horizontal unit vectors of the footprint (2, 3): forward and lateral."""
        forward = (self.toe - self.heel) * (1.0, 0.0, 1.0)
        forward = forward / np.linalg.norm(forward)
        right = cross(forward, (0.0, 1.0, 0.0))
        return np.stack([forward, right if self.side == SIDES[0] else -right])


@dataclass(frozen=True)
class PlateEvidence:
    """Data for comparing the body with the plates.

    Attributes:
        rate_hz: marker rate. plates: filtered wrenches in World.
        required: (T, 6) F_Wo_W of the ground required by the motion, NaN where unknown.
        measured: (T, 6) sum of all plates.
        steps: loads in order of time.
        complete: (T,) bool; every foot on the ground is matched with a load, so body and plates must agree.
        centre_of_mass: (T, 3) m.
        weight_n: body weight of the mass used.
        floor_velocity: (3,) m/s of the floor, non-zero for a treadmill.
        force_cutoff_hz: cut-off of the filter of the plates, 0 = none.
        sole_sd_m: additional SD of the positions of heel and toe, for soles that are not measured.
    """

    rate_hz: float
    plates: tuple[PlateWrench, ...]
    required: FloatArray
    measured: FloatArray
    steps: tuple[MatchedStep, ...]
    complete: BoolArray
    centre_of_mass: FloatArray
    weight_n: float
    floor_velocity: FloatArray = field(default_factory=lambda: np.zeros(3))
    force_cutoff_hz: float = 0.0
    sole_sd_m: float = 0.0

    def belt_displacement(self, step: MatchedStep, rows: IntArray) -> FloatArray:
        """Return the displacement (n, 3) m of the footprint by a treadmill in the given frames; zero on the floor."""
        begin, end = (step.first + round(share * (step.stop - step.first)) for share in FLAT)
        passed_s = (rows - 0.5 * (begin + end)) / self.rate_hz
        return np.asarray(passed_s[:, None] * self.floor_velocity)


def collect_evidence(
    fit: Fit,
    points: GaitPoints,
    required: FloatArray,
    plates: Sequence[PlateWrench],
    contacts: Sequence[Contact],
    rate_hz: float,
    threshold_n: float,
    weight_n: float,
    smear_s: float,
    steps_ahead: bool = True,
) -> PlateEvidence:
    """Collect the evidence of a trial.

    `required` (T, 6): see `Evidence`. `threshold_n`: vertical force of a loaded plate; `smear_s`: half the duration over which
    the filter spreads an edge. `steps_ahead`: True if the person walks forwards; in jumps, squats and side steps the centre of
    pressure does not move from heel to toes.
    """
    # Least overlap if the plate carried the whole stance.
    whole_overlap = 0.75
    # Least overlap of stance and load of a step, as a fraction of their union.
    least_overlap = 0.5
    outlines = {side: foot_outline(points.sole[side], rate_hz) for side in SIDES}
    bearing = {side: outline.bearing for side, outline in outlines.items()}
    loads = _find_load_intervals(contacts, plates, len(required), rate_hz)
    vertical = np.stack([plate.wrench[:, 4] for plate in plates])
    # margins for the spread of filtered forces and the delay of detected strikes
    margins = round((smear_s + STANCE_DELAY_S) * rate_hz), round(smear_s * rate_hz)
    widened = {side: widen_mask(bearing[side], *margins) for side in SIDES}
    stances = [(side, first, stop) for side in SIDES for first, stop in finite_stretches(bearing[side])]
    spans = np.array([stance[1:] for stance in stances], dtype=np.int64).reshape(-1, 2)
    matched_steps: list[tuple[MatchedStep, tuple[Side, int, int] | None, float]] = []
    complete = np.isfinite(required[:, 0])
    carried = {side: np.zeros(len(complete), dtype=bool) for side in SIDES}
    for plate, first, stop in loads:
        shares = _overlap_fractions((first, stop), spans)
        stance = stances[np.argmax(shares)] if stances and shares.max() >= least_overlap else None
        side = None if stance is None else stance[0]
        if side is not None and stance is not None:
            carried[side][min(first, stance[1]) : max(stop, stance[2])] = True
        rows, force = np.arange(first, stop), vertical[plate]
        high_force = rows[force[rows] > FIRM_SHARE * np.max(force[rows])]
        other_plates = np.delete(vertical[:, high_force], plate, axis=0)
        alone = np.isfinite(required[high_force, 0]) & (other_plates < threshold_n).all(axis=0)
        if side is not None:
            alone &= ~widened[other_side(side)][high_force]
        single_support = high_force[alone]
        heel, toe = _mean_footprint(points, side, first, stop)
        cut = first == 0 or stop == len(complete)
        heel_to_toe = steps_ahead and not cut
        step = MatchedStep(
            plate,
            first,
            stop,
            side,
            single_support,
            high_force,
            shares.max(initial=0.0) >= whole_overlap,
            heel,
            toe,
            heel_to_toe,
        )
        carried_share = (
            float(force[single_support].sum() / required[single_support, 4].sum()) if len(single_support) else np.nan
        )
        matched_steps.append((step, stance, carried_share))
    steps = _mark_whole_stances(matched_steps)
    # A step is not measured completely if the measured force is less than the required force.
    for step in steps:
        if step.side is not None and not step.fully_measured:
            complete[step.first : step.stop] = False
    for side in SIDES:
        complete &= outlines[side].known & (~bearing[side] | carried[side])
    loaded = (vertical > threshold_n).any(axis=0)
    return PlateEvidence(
        rate_hz=rate_hz,
        plates=tuple(plates),
        required=required,
        measured=np.sum([plate.wrench for plate in plates], axis=0),
        steps=steps,
        complete=complete & loaded,
        centre_of_mass=centre_of_mass(fit),
        weight_n=weight_n,
        floor_velocity=points.floor_velocity,
        force_cutoff_hz=0.5 / smear_s if smear_s else 0.0,
    )


def required_wrench(fit: Fit, dynamics: Dynamics) -> FloatArray:
    """Return the ground wrench F_Wo_W (T, 6) required by the motion: the generalised base force plus the applied foot
    wrenches."""
    return fit.base_wrench(dynamics.tau) + dynamics.foot_wrenches.sum(axis=1)


def centre_of_mass(fit: Fit) -> FloatArray:
    """Return the centre of mass of the whole body (T, 3) m in World, NaN where unsolved."""
    p_WC = np.full((len(fit.solved), 3), np.nan)
    p_WC[fit.solved] = whole_body.centre_of_mass(fit.model.multibody, fit.motion.q[fit.solved])
    return p_WC


def moment_effect(fit: Fit, evidence: PlateEvidence, plate: int, corrected: FloatArray) -> float:
    """Return the largest RMS change, Nm/kg, of sagittal and frontal leg moments for a corrected wrench (T, 6) of a plate.

    Because inverse dynamics is linear in the wrench, the moment of a joint changes by the moment of the wrench difference about
    its centre. NaN without a step of a known foot.
    """
    least_frames = 5
    difference = corrected - evidence.plates[plate].wrench
    parents = {body.definition.name: body.definition.parent for body in fit.model.bodies}
    root, mass_kg = fit.model.skeleton.root.name, evidence.weight_n / STANDARD_GRAVITY_M_S2
    effects = []
    for step in evidence.steps:
        rows = step.high_force
        if step.plate != plate or step.side is None or not np.isfinite(step.heel).all() or len(rows) < least_frames:
            continue
        body, poses = fit.model.sole_body[step.side], fit.link_poses(slice(step.first, step.stop))
        while body != root:
            centres = fit.model.body_poses(*poses, body)[1]
            # includes the whole load, because a delay changes the moments most while the force is small
            for span in (rows, np.arange(step.first, step.stop)):
                centre = centres[span - step.first]
                force = difference[span, 3:]
                moment = (difference[span, :3] - cross(centre, force)) @ step.axes.T
                known = moment[np.isfinite(moment).all(axis=1)]
                effects.append(float(np.sqrt(np.mean(known**2, axis=0)).max()) / mass_kg if len(known) else 0.0)
            body = parents[body]
    return max(effects, default=np.nan)


def largest_effect(fit: Fit, evidence: PlateEvidence, corrected: Mapping[int, FloatArray]) -> float:
    """Return the largest `moment_effect` of corrected wrenches (T, 6), by index of the plate; NaN if none is known."""
    effects = [moment_effect(fit, evidence, plate, wrench) for plate, wrench in corrected.items()]
    return float(np.nanmax(effects)) if np.isfinite(effects).any() else np.nan


def is_on_plate(evidence: PlateEvidence, step: MatchedStep) -> bool:
    """Return whether heel and toe of a step are on its plate."""
    footprint_tolerance_m = 0.02
    plate, ends = evidence.plates[step.plate], np.stack([step.heel, step.toe])
    return plate.outlined and bool((signed_distance(ends, plate.corners) < footprint_tolerance_m).all())


def plate_cop(plate: PlateWrench, rows: IntArray) -> FloatArray:
    """Return the centre of pressure (n, 3) m on the plate in the given frames, without a force threshold."""
    return centre_of_pressure(plate.wrench[rows], plate.corners, -np.inf)


def _find_load_intervals(
    contacts: Sequence[Contact], plates: Sequence[PlateWrench], frames: int, rate_hz: float
) -> list[tuple[int, int, int]]:
    """Return (plate, first, stop) for every load, bridging short interruptions."""
    # Longest interruption within one load.
    cut_s = 0.03
    index = {plate.number: n for n, plate in enumerate(plates)}
    loads: list[tuple[int, float, float]] = []
    for contact in sorted(contacts, key=lambda c: (c.plate, c.start_s)):
        if loads and loads[-1][0] == index[contact.plate] and contact.start_s - loads[-1][2] < cut_s:
            loads[-1] = (loads[-1][0], loads[-1][1], max(contact.end_s, loads[-1][2]))
        else:
            loads.append((index[contact.plate], contact.start_s, contact.end_s))
    frame_ranges = []
    for plate, start_s, end_s in sorted(loads, key=lambda load: load[1]):
        first, stop = round(start_s * rate_hz), min(round(end_s * rate_hz) + 1, frames)
        if stop - first > 1:
            frame_ranges.append((plate, first, stop))
    return frame_ranges


def _mark_whole_stances(
    matched_steps: Sequence[tuple[MatchedStep, tuple[Side, int, int] | None, float]],
) -> tuple[MatchedStep, ...]:
    """Return the steps with `on_single_plate` and `fully_measured` corrected for stances on several plates and low forces."""
    # Least ratio of measured to required force, relative to the largest ratio of the walk, of a completely measured step.
    full_share = 0.92
    stances = [stance for _, stance, _ in matched_steps]
    shares = np.array([share for _, _, share in matched_steps])
    fullest = np.nanmax(shares) if np.isfinite(shares).any() else np.nan
    return tuple(
        replace(
            step,
            on_single_plate=step.fully_measured and stances.count(stance) == 1,
            fully_measured=step.fully_measured and stances.count(stance) == 1 and not share < full_share * fullest,
        )
        for step, stance, share in matched_steps
    )


def _overlap_fractions(load: tuple[int, int], stances: IntArray) -> FloatArray:
    """Return the overlap (n,) of a load with stances (n, 2), as a fraction of their union; frames [first, stop)."""
    shared = np.minimum(stances[:, 1], load[1]) - np.maximum(stances[:, 0], load[0])
    return shared / (np.maximum(stances[:, 1], load[1]) - np.minimum(stances[:, 0], load[0]))


def _mean_footprint(points: GaitPoints, side: Side | None, first: int, stop: int) -> tuple[FloatArray, FloatArray]:
    nowhere = np.full(3, np.nan)
    if side is None:
        return nowhere, nowhere
    begin, end = (first + round(share * (stop - first)) for share in FLAT)
    rows = slice(begin, max(end, begin + 1))
    if not np.isfinite(points.heel[side][rows]).any():
        return nowhere, nowhere
    return median_over_frames(points.heel[side][rows]), median_over_frames(points.toe[side][rows])
