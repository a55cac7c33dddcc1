"""Force balance of the whole body: the total ground reaction required by the motion.

Newton's and Euler's equations of the whole body need no force plate: m (a_com - g) and the moment about any point follow from
the motion (recursive Newton-Euler without external forces; the base wrench is the required ground wrench). The difference from
the measured wrenches acts through contacts that no plate measures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side, other_side
from biodyn.processing.contacts.contact_evidence import MIN_CONTACT_S, OUTLINE_ERROR_M, PlateContact
from biodyn.processing.contacts.foot_motion import FootOutline, frames_clear_of_plate
from biodyn.processing.contacts.stances_off_plates import assigned_frames
from biodyn.processing.kinematics.skeleton_fit import Fit
from biodyn.processing.signals.filtering import finite_stretches, widen_mask
from biodyn.processing.signals.plate_wrenches import plate_wrench
from biodyn.processing.signals.signal_preparation import TrialSignals, replace_wrenches
from biodyn.recording import ForcePlate
from biodyn.rigid_body import inverse_dynamics

# Forces are averaged over this time before they are compared, because accelerations of single frames are noisy.
WINDOW_S = 0.1


@dataclass(frozen=True)
class BodyBalance:
    """Required ground wrench and measured wrench of each plate, filtered with the same cut-off.

    Attributes:
        required: (T, 6) F_Wo_W [moment about the world origin; force] required by the motion, Nm and N, for the mass of the
            model; NaN where the motion is unknown.
        plates: measured wrench (T, 6) of each plate.
        model_mass_kg: mass for which `required` holds.
        mass_known: True if this is the mass of the subject; otherwise only the time course of `required` is used.
    """

    required: FloatArray
    plates: Sequence[FloatArray]
    model_mass_kg: float
    mass_known: bool

    @property
    def known(self) -> BoolArray:
        """Mask (T,) of the frames in which the required wrench is known."""
        return np.asarray(np.isfinite(self.required).all(axis=1))


def required_wrench(fit: Fit) -> FloatArray:
    """Return the wrench (T, 6) F_Wo_W that the ground must exert on the body; NaN where the motion is not reliable."""
    known, motion = fit.reliable, fit.motion
    base = np.full((len(known), 6), np.nan)
    if known.any():
        base[known] = inverse_dynamics(fit.model.multibody, motion.q[known], motion.v[known], motion.vdot[known])[:, :6]
    return fit.base_wrench(base)


def missing_force(
    required: FloatArray, measured: FloatArray, frames: BoolArray, scale: _Scale, rate_hz: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the difference between the scaled required wrench and the plates in the given frames (T,); NaN elsewhere.

    The results are the missing vertical force (T,) in body weights (negative if the plates measure more than required), its
    mean over `WINDOW_S`, and the horizontal distance (T,) m between the measured and the required centre of pressure.
    required: wrench (T, 6) required by the motion. measured: sum of the plate wrenches (T, 6).
    """
    required = scale.factor * required
    missing = np.where(frames, (required[:, 4] - measured[:, 4]) / scale.weight_n, np.nan)
    sustained = moving_mean(missing, max(round(WINDOW_S * rate_hz), 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        offset = [required[:, k] / required[:, 4] - measured[:, k] / measured[:, 4] for k in (2, 0)]
    firm = frames & (measured[:, 4] > 0.25 * scale.weight_n)
    return missing, sustained, np.where(firm, np.hypot(offset[0], offset[1]), np.nan)


def moving_mean(values: FloatArray, width: int) -> FloatArray:
    """Return the mean (T,) of the finite values in a window of `width` frames centred on each frame; NaN where a value is
    missing."""
    finite = np.isfinite(values)
    kernel = np.ones(width)
    total = np.convolve(np.where(finite, values, 0.0), kernel, mode="same")
    count = np.convolve(finite.astype(np.float64), kernel, mode="same")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(finite, total / count, np.nan)


def body_weight_n(mass_kg: float) -> float:
    """Return the body weight (N) of a body mass."""
    return mass_kg * STANDARD_GRAVITY_M_S2


# If the plates measure the force required by the motion within this fraction of body weight, a contact across the edge
# of a plate is supported. The required vertical force has an SD of 2 % in reliable walks
# (`library/checks/checks.toml`).
SUPPORTS = 0.1


@dataclass(frozen=True)
class _Scale:
    """Factor by which the required wrench is multiplied, body weight (N), and whether several contacts agree on the factor."""

    factor: float
    weight_n: float
    agreed: bool


def mark_unmeasured_support(
    contacts: Sequence[PlateContact],
    foot_outlines: Mapping[Side, FootOutline],
    balance: BodyBalance,
    rate_hz: float,
    smear_s: float,
) -> dict[Side, FootOutline]:
    """Mark a foot as bearing while it must carry a required force that no plate measures, and return the outlines.

    This applies only while neither foot is known to stand off the plates. Each foot without an assigned contact may then carry
    the force.
    """
    # Least missing vertical force, as a fraction of body weight: more than a hand on a rail or a stick carries.
    beyond_a_hand = 0.5
    smear = math.ceil(smear_s * rate_hz)
    usable, measured, scale = _compare_masses(contacts, foot_outlines, balance, smear, MIN_CONTACT_S * rate_hz)
    if scale is None:
        return dict(foot_outlines)
    on_plates = np.logical_and.reduce([frames for frames, _ in usable.values()])
    _, sustained, _ = missing_force(balance.required, measured, on_plates, scale, rate_hz)
    missing = widen_mask(np.nan_to_num(sustained) > beyond_a_hand, max(smear, round(0.5 * WINDOW_S * rate_hz)))
    result = {}
    for side, sole in foot_outlines.items():
        assigned = assigned_frames(side, contacts, len(missing))
        result[side] = replace(sole, bearing=sole.bearing | (missing & ~widen_mask(assigned, smear)))
    return result


def revise_by_force_balance(
    contacts: Sequence[PlateContact],
    foot_outlines: Mapping[Side, FootOutline],
    balance: BodyBalance,
    rate_hz: float,
    smear_s: float,
) -> list[PlateContact]:
    """Revise the contacts with the balance of forces.

    A contact that the balance contradicts is rejected. The supported part of a contact across the edge of a plate is assigned.
    """
    # Shortest time with a known balance in which a contact is judged.
    min_known_s = 0.08
    smear, least_frames, margin = math.ceil(smear_s * rate_hz), min_known_s * rate_hz, math.ceil(WINDOW_S * rate_hz)
    usable, measured, scale = _compare_masses(contacts, foot_outlines, balance, smear, least_frames)
    if scale is None:
        return list(contacts)
    judged: list[PlateContact] = []
    for item in contacts:
        side = item.contact.side
        if side is None or not (item.contact.decision == "assigned" or item.frame_overhang_m is not None):
            judged.append(item)
            continue
        near = slice(max(item.first - margin, 0), item.stop + margin)
        on_plates, alone = ((mask & _contact_frames(item, len(measured)))[near] for mask in usable[side])
        missing, sustained, arm_m = missing_force(balance.required[near], measured[near], on_plates, scale, rate_hz)
        firm = alone if np.count_nonzero(alone) >= least_frames else on_plates
        known = np.isfinite(missing)
        evidence = {
            **item.contact.evidence,
            "balance_missing_n": float(np.mean(missing[firm])) * scale.weight_n if firm.any() else math.nan,
            "balance_worst_n": float(np.max(np.abs(sustained[known]))) * scale.weight_n if known.any() else math.nan,
            "balance_arm_m": float(np.nanmedian(arm_m)) if np.isfinite(arm_m).any() else math.nan,
            "balance_time_s": float(np.count_nonzero(known)) / rate_hz,
            "balance_mass_kg": scale.weight_n / body_weight_n(1.0),
        }
        item = item.with_changes(evidence=evidence)
        if np.count_nonzero(on_plates) < least_frames:
            judged.append(item)
        elif item.frame_overhang_m is not None:
            of_contact = sustained[item.first - near.start : item.stop - near.start]
            judged += _split_at_plate_edge(item, item.frame_overhang_m, side, of_contact, scale, rate_hz)
        else:
            judged.append(_judge_whole_sole_contact(item, scale))
    return judged


def _plate_support_frames(
    side: Side,
    contacts: Sequence[PlateContact],
    foot_outlines: Mapping[Side, FootOutline],
    balance: BodyBalance,
    smear: int,
) -> tuple[BoolArray, BoolArray]:
    """Return the frames (T,) in which only plates carry the body if the foot `side` is on plates, and those with the
    other foot in swing."""
    opposite = other_side(side)
    other = foot_outlines[opposite]
    elsewhere = (other.bearing & ~assigned_frames(opposite, contacts, len(other.known))) | ~other.known
    for item in contacts:
        overhangs = item.frame_overhang_m is not None and item.contact.side == opposite
        if item.contact.decision == "ambiguous" or overhangs:
            elsewhere[item.rows] |= other.bearing[item.rows]
    on_plates = ~widen_mask(elsewhere, smear) & balance.known
    return np.asarray(on_plates), np.asarray(on_plates & ~widen_mask(other.bearing | ~other.known, smear))


def _measured_wrench(contacts: Sequence[PlateContact], balance: BodyBalance, smear: int) -> FloatArray:
    """Return the sum (T, 6) of the wrenches of all plates, without the frames of a plate with only rejected contacts."""
    total = np.zeros_like(balance.required)
    for index, wrench in enumerate(balance.plates):
        foreign, of_feet = np.zeros(len(total), dtype=bool), np.zeros(len(total), dtype=bool)
        for item in contacts:
            if item.plate == index and item.feet:
                of_feet[item.rows] = True
            elif item.plate == index and item.contact.decision == "rejected":
                foreign[item.rows] = True
        total += np.where((widen_mask(foreign & ~of_feet, smear) & ~of_feet)[:, None], 0.0, wrench)
    return total


def _compare_masses(
    contacts: Sequence[PlateContact],
    foot_outlines: Mapping[Side, FootOutline],
    balance: BodyBalance,
    smear: int,
    least_frames: float,
) -> tuple[dict[Side, tuple[BoolArray, BoolArray]], FloatArray, _Scale | None]:
    """Return `_plate_support_frames` of both sides, `_measured_wrench`, and the scale of the required wrench; None if neither
    body mass nor an assigned contact in single support determines it."""
    # If the contacts agree on body mass within this fraction, their median replaces the stated mass.
    mass_agrees = 0.05
    usable = {side: _plate_support_frames(side, contacts, foot_outlines, balance, smear) for side in SIDES}
    measured = _measured_wrench(contacts, balance, smear)
    ratios = []
    for item in contacts:
        if item.assigned_side is not None:
            rows = usable[item.assigned_side][1] & _contact_frames(item, len(measured))
            if np.count_nonzero(rows) >= least_frames:
                ratios.append(float(measured[rows, 4].sum() / balance.required[rows, 4].sum()))
    middle = float(np.median(ratios)) if ratios else math.nan
    near = sum(abs(ratio - middle) <= mass_agrees * abs(middle) for ratio in ratios)
    agreed = len(ratios) >= 2 and 2 * near > len(ratios)
    if balance.mass_known:
        return usable, measured, _Scale(middle if agreed else 1.0, body_weight_n(balance.model_mass_kg), agreed)
    if not middle > 0.0:
        return usable, measured, None
    return usable, measured, _Scale(middle, body_weight_n(middle * balance.model_mass_kg), agreed)


def _split_at_plate_edge(
    item: PlateContact, frame_overhang_m: FloatArray, side: Side, sustained: FloatArray, scale: _Scale, rate_hz: float
) -> list[PlateContact]:
    """Assign the frames of a contact across the edge of a plate in which the force balance supports it.

    frame_overhang_m, sustained: (n,) overhang of the foot, and mean missing force of `missing_force`, in these frames.

    All other frames of the contact are rejected, and the reason states the missing force.
    """
    # Least supported fraction of a load. Single support is 60 % of a stance, and the filter removes half of it in fast walking.
    min_supported_share = 0.3
    mean_n = item.contact.evidence["balance_missing_n"]
    overhang = (
        f"the {SIDE_NAMES[side]} foot extends {100 * item.contact.evidence['overhang_m']:.1f} cm beyond the plate"
    )
    difference = (
        f"the plates measure {abs(mean_n):.0f} N {'less' if mean_n >= 0.0 else 'more'} than required by the motion"
    )
    if abs(mean_n) > SUPPORTS * scale.weight_n:
        return [item.reject(f"{overhang}, and {difference}")]
    supported = np.abs(np.nan_to_num(sustained, nan=np.inf)) <= SUPPORTS
    accepted = supported | (frame_overhang_m <= OUTLINE_ERROR_M)
    first, stop = max(finite_stretches(accepted), key=lambda run: run[1] - run[0], default=(0, 0))
    if stop - first < max(MIN_CONTACT_S * rate_hz, min_supported_share * len(accepted)):
        supported_ms = 1000 * (stop - first) / rate_hz
        return [item.reject(f"{overhang}; the balance of forces supports only {supported_ms:.0f} ms of it")]
    reason = (
        f"supported by the balance of forces ({difference}, at most "
        f"{item.contact.evidence['balance_worst_n']:.0f} N), although {overhang}"
    )
    return _assign_frames(
        item, first, stop, reason, f"{overhang}, and the other foot may carry the missing force", rate_hz
    )


def _assign_frames(
    item: PlateContact, first: int, stop: int, reason: str, unknown: str, rate_hz: float
) -> list[PlateContact]:
    """Cut frames [first, stop) out of a contact and assign them; the frames before and after them stay rejected."""
    begin, end = item.first + first, item.first + stop
    begin_s = item.contact.start_s if begin == item.first else begin / rate_hz
    end_s = item.contact.end_s if end == item.stop else end / rate_hz
    before = replace(item.reject(unknown), stop=begin, cut_after=True)
    after = replace(item.reject(unknown), first=end, cut_before=True)
    middle = replace(
        item.with_changes(decision="assigned", reason=reason),
        first=begin,
        stop=end,
        cut_before=item.cut_before or begin > item.first,
        cut_after=item.cut_after or end < item.stop,
    )
    parts = [_set_times(middle, begin_s, end_s)]
    if begin > item.first:
        parts.insert(0, _set_times(before, item.contact.start_s, begin_s))
    return [*parts, _set_times(after, end_s, item.contact.end_s)] if end < item.stop else parts


def _set_times(item: PlateContact, start_s: float, end_s: float) -> PlateContact:
    return replace(item.with_changes(start_s=start_s, end_s=end_s), frame_overhang_m=None)


def _judge_whole_sole_contact(item: PlateContact, scale: _Scale) -> PlateContact:
    """Reject a contact of a sole that is entirely on plates if the force cannot be from this foot alone.

    A measured force that exceeds the required force is rejected if several contacts agree on body weight. A missing force is
    attributed to the foot if it acts at the foot. Otherwise an unmeasured support carries it, and the force on the foot is
    correct.
    """
    # Missing or surplus force above this multiple of the supporting limit contradicts a contact.
    contradicts = 1.5
    # A missing force within this distance of the measured centre of pressure acted at the foot.
    same_place_m = 0.06
    # If the centre of pressure is within this distance of the edge, part of the foot may be beyond it.
    near_edge_m = 0.02
    evidence = item.contact.evidence
    mean_n, limit_n = evidence["balance_missing_n"], contradicts * SUPPORTS * scale.weight_n
    if abs(mean_n) <= limit_n or (mean_n < 0.0 and not scale.agreed):
        return item
    if mean_n < 0.0:
        return item.reject(
            f"the plate measures {-mean_n:.0f} N more than required by the motion, so that something else also loads it"
        )
    at_foot = evidence["balance_arm_m"] < same_place_m and scale.agreed
    if at_foot or evidence["overhang_m"] > 0.0 or evidence["cop_to_edge_m"] < near_edge_m:
        return item.reject(
            f"the plates measure {mean_n:.0f} N less than required by the motion, so that part of the foot is "
            "not on them"
        )
    reason = f"{item.contact.reason}; an unmeasured support carries {mean_n:.0f} N of the body"
    return item.with_changes(reason=reason)


def _contact_frames(item: PlateContact, frames: int) -> BoolArray:
    rows = np.zeros(frames, dtype=bool)
    rows[item.rows] = True
    return rows


def measure_offsets_without_feet(
    signals: TrialSignals, plates: Sequence[ForcePlate], soles_W: Mapping[Side, FloatArray]
) -> TrialSignals:
    """Return the signals with plate offsets measured in the frames in which no foot is above the plate.

    plates: recorded plates in World. soles_W: points (T, K, 3) m around the sole of each side, NaN where unknown.
    """
    markers = signals.markers
    raw = []
    for plate in plates:
        unloaded = None
        if plate.outlined:
            unloaded = np.all([frames_clear_of_plate(plate.corners, sole) for sole in soles_W.values()], axis=0)
        raw.append(plate_wrench(plate, markers.frame_count, markers.rate_hz, unloaded))
    return replace_wrenches(signals, raw)
