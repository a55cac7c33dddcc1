"""The balance of forces on the whole body: what all ground contacts together must carry.

Newton's and Euler's equations of the whole body need no force plate: m (a_com - g) and the moment about any point follow
from the motion alone (recursive Newton-Euler without external forces; its base wrench is what is missing). What the plates
under the feet do not carry of it, something else carries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import SIDE_NAMES, SIDES, STANDARD_GRAVITY_M_S2, BoolArray, FloatArray, Side, other_side
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.rotations import cross
from biodyn.processing.contacts.evidence import OUTLINE_ERROR_M, PlateContact
from biodyn.processing.contacts.feet import FootOutline, clear_of_plate, foot_outline
from biodyn.processing.contacts.parameters import ContactSettings
from biodyn.processing.kinematics.fit import Fit
from biodyn.processing.signals.filtering import finite_stretches
from biodyn.processing.signals.plates import plate_wrench
from biodyn.processing.signals.prepare import TrialSignals, plates_as_motion, with_plates
from biodyn.recording import ForcePlate, PlateZero
from biodyn.rigid_body import inverse_dynamics

# Forces are compared over this time: a single frame of a filtered acceleration means little.
WINDOW_S = 0.1


@dataclass(frozen=True)
class BodyBalance:
    """What the ground must carry and what each plate carries, filtered alike.

    Attributes:
        required: (T, 6) F_Wo_W [moment about the world origin; force] that the body's motion needs, Nm and N, with the
            model's mass; NaN where the motion is unknown.
        plates: per plate (T, 6), filtered with the cut-off of the motion.
        model_mass_kg: that `required` holds for.
        mass_known: it is the body's; else a stand-in, and only the course of `required` means something.
    """

    required: FloatArray
    plates: Sequence[FloatArray]
    model_mass_kg: float
    mass_known: bool

    @property
    def known(self) -> BoolArray:
        """Frames (T,) in which the motion tells the force."""
        return np.asarray(np.isfinite(self.required).all(axis=1))


def required_wrench(fit: Fit) -> FloatArray:
    """Return the wrench (T, 6) F_Wo_W that the ground must exert on the body; NaN where the motion is not reliable."""
    known, motion = fit.reliable, fit.motion
    base = np.full((len(known), 6), np.nan)
    if known.any():
        base[known] = inverse_dynamics(fit.model.multibody, motion.q[known], motion.v[known], motion.vdot[known])[:, :6]
    R, p = fit.link_R_W[:, 0], fit.link_p_W[:, 0]
    force = np.einsum("tij,tj->ti", R, base[:, 3:])
    moment = np.einsum("tij,tj->ti", R, base[:, :3]) + cross(p, force)
    return np.hstack([moment, force])


@dataclass(frozen=True)
class Missing:
    """What the plates do not carry, in body weights: (T,) each, NaN where the motion is unknown.

    Attributes:
        share: vertical force that the body needs beyond what the plates carry, 1 = body weight; negative = they carry more.
        sustained: its mean over `WINDOW_S`, from known frames within the mask it was made for.
        arm_m: distance on the floor between the centre of pressure of the plates and the one that the body needs.
    """

    share: FloatArray
    sustained: FloatArray
    arm_m: FloatArray


def missing_force(
    balance: BodyBalance, carried: FloatArray, told: BoolArray, scale: float, weight_n: float, rate_hz: float
) -> Missing:
    """Compare `scale` times the required wrench with what plates carry (T, 6), in the frames `told` (T,).

    `weight_n`: body weight.
    """
    need = scale * balance.required
    share = np.where(told, (need[:, 4] - carried[:, 4]) / weight_n, np.nan)
    sustained = moving_mean(share, max(round(WINDOW_S * rate_hz), 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = [need[:, k] / need[:, 4] - carried[:, k] / carried[:, 4] for k in (2, 0)]
    firm = told & (carried[:, 4] > 0.25 * weight_n)
    arm = np.where(firm, np.hypot(gap[0], gap[1]), np.nan)
    return Missing(share, sustained, arm)


def moving_mean(values: FloatArray, width: int) -> FloatArray:
    """Mean (T,) over `width` frames around each, of the finite ones; NaN where there is none in the middle."""
    finite = np.isfinite(values)
    kernel = np.ones(width)
    total = np.convolve(np.where(finite, values, 0.0), kernel, mode="same")
    count = np.convolve(finite.astype(np.float64), kernel, mode="same")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(finite, total / count, np.nan)


def weight_of(mass_kg: float) -> float:
    """Body weight, N."""
    return mass_kg * STANDARD_GRAVITY_M_S2


# A contact needs to be told for this long to be judged.
MIN_TOLD_S = 0.08
# Missing or surplus force of this many times what supports a contact contradicts it.
CONTRADICTS = 1.5
# A supported stretch shorter than this share of its load says too little of the foot: single support is 60 % of a stance, and the
# filter takes half of that in a fast walk.
MIN_SUPPORTED_SHARE = 0.3
# Force missing at the same place where the plate carries the rest was the foot's; farther off, something else carries it.
SAME_PLACE_M = 0.06
# Contacts agree on the body's mass within this; then a stated mass that differs is not held against them.
MASS_AGREES = 0.05
# The centre of pressure this near to the edge: part of the foot may be beyond it.
NEAR_EDGE_M = 0.02


@dataclass(frozen=True)
class _Told:
    """Frames (T,) that tell about a foot.

    Attributes:
        on_plates: nothing but plates carries the body, if the foot stands on plates alone.
        alone: and the other foot is in the air.
    """

    on_plates: BoolArray
    alone: BoolArray


@dataclass(frozen=True)
class _Scale:
    """Factor of the required wrench, body weight (N), and whether several contacts agree on that factor."""

    factor: float
    weight_n: float
    agreed: bool


def judge_by_balance(
    found: Sequence[PlateContact],
    foot_outlines: Mapping[Side, FootOutline],
    balance: BodyBalance,
    settings: ContactSettings,
    rate_hz: float,
    smear_s: float,
) -> list[PlateContact]:
    """Return the contacts with the balance as evidence, those that it contradicts rejected, those that it supports used."""
    smear, least = math.ceil(smear_s * rate_hz), MIN_TOLD_S * rate_hz
    told = {side: _told(side, found, foot_outlines, balance, smear) for side in SIDES}
    carried = _carried(found, balance, smear)
    scale = _scale(balance, _mass_ratios(found, balance, carried, told, least))
    if scale is None:
        return list(found)
    judged: list[PlateContact] = []
    for item in found:
        side = item.contact.side
        if side is None or not (item.contact.decision == "assigned" or item.frame_overhang_m is not None):
            judged.append(item)
            continue
        on_plates, alone = (mask & _rows(item, len(carried)) for mask in (told[side].on_plates, told[side].alone))
        missing = missing_force(balance, carried, on_plates, scale.factor, scale.weight_n, rate_hz)
        item = _with_evidence(item, missing, alone if np.count_nonzero(alone) >= least else on_plates, scale, rate_hz)
        if np.count_nonzero(on_plates) < least:
            judged.append(item)
        elif item.frame_overhang_m is not None:
            judged += _hanging(item, item.frame_overhang_m, side, missing, scale, settings, rate_hz)
        else:
            judged.append(_whole(item, scale, settings))
    return judged


def _told(
    side: Side,
    found: Sequence[PlateContact],
    foot_outlines: Mapping[Side, FootOutline],
    balance: BodyBalance,
    smear: int,
) -> _Told:
    """Frames that tell about the foot `side`."""
    other = foot_outlines[other_side(side)]
    on_plates = np.zeros(len(other.known), dtype=bool)
    for item in found:
        if item.contact.side == other_side(side) and item.contact.decision == "assigned":
            on_plates[item.first : item.stop] = True
    elsewhere = (other.bearing & ~on_plates) | ~other.known
    for item in found:
        if item.contact.decision == "ambiguous" or (
            item.frame_overhang_m is not None and item.contact.side == other_side(side)
        ):
            elsewhere[item.first : item.stop] |= other.bearing[item.first : item.stop]
    on_ground = _wider(other.bearing | ~other.known, smear)
    on_plates = ~_wider(elsewhere, smear) & balance.known
    return _Told(np.asarray(on_plates), np.asarray(on_plates & ~on_ground))


def _carried(found: Sequence[PlateContact], balance: BodyBalance, smear: int) -> FloatArray:
    """Sum (T, 6) of the plates, without the times in which one carries something that is no foot."""
    total = np.zeros_like(balance.required)
    for index, wrench in enumerate(balance.plates):
        foreign = np.zeros(len(total), dtype=bool)
        for item in found:
            if item.plate == index and item.contact.decision == "rejected" and not item.feet:
                foreign[item.first : item.stop] = True
        for item in found:
            if item.plate == index and item.feet:
                foreign[item.first : item.stop] = False
        total += np.where(_wider(foreign, smear)[:, None] & ~_of_feet(found, index, len(total))[:, None], 0.0, wrench)
    return total


def _of_feet(found: Sequence[PlateContact], plate: int, frames: int) -> BoolArray:
    mask = np.zeros(frames, dtype=bool)
    for item in found:
        if item.plate == plate and item.feet:
            mask[item.first : item.stop] = True
    return mask


def _mass_ratios(
    found: Sequence[PlateContact],
    balance: BodyBalance,
    carried: FloatArray,
    told: Mapping[Side, _Told],
    least: float,
) -> list[float]:
    """Carried over required vertical force of each contact of a whole foot that can be told."""
    ratios = []
    for item in found:
        side = item.contact.side
        if side is None or item.contact.decision != "assigned":
            continue
        rows = told[side].alone & _rows(item, len(carried))
        if np.count_nonzero(rows) >= least:
            ratios.append(float(carried[rows, 4].sum() / balance.required[rows, 4].sum()))
    return ratios


def _scale(balance: BodyBalance, ratios: Sequence[float]) -> _Scale | None:
    """What to multiply the required wrench with; None where neither a mass is known nor a contact tells it."""
    middle = float(np.median(ratios)) if ratios else math.nan
    near = sum(abs(ratio - middle) <= MASS_AGREES * abs(middle) for ratio in ratios)
    agreed = len(ratios) >= 2 and 2 * near > len(ratios)
    if balance.mass_known:
        return _Scale(middle if agreed else 1.0, weight_of(balance.model_mass_kg), agreed)
    return _Scale(middle, weight_of(middle * balance.model_mass_kg), agreed) if ratios and middle > 0.0 else None


def _with_evidence(
    item: PlateContact, missing: Missing, firm: BoolArray, scale: _Scale, rate_hz: float
) -> PlateContact:
    """The contact with what is missing, mean over the frames `firm` and worst of all that tell."""
    known = np.isfinite(missing.share)
    evidence = {
        **item.contact.evidence,
        "balance_missing_n": float(np.mean(missing.share[firm])) * scale.weight_n if firm.any() else math.nan,
        "balance_worst_n": float(np.max(np.abs(missing.sustained[known]))) * scale.weight_n
        if known.any()
        else math.nan,
        "balance_arm_m": float(np.nanmedian(missing.arm_m)) if np.isfinite(missing.arm_m).any() else math.nan,
        "balance_told_s": float(np.count_nonzero(known)) / rate_hz,
        "balance_mass_kg": scale.weight_n / weight_of(1.0),
    }
    return replace(item, contact=replace(item.contact, evidence=evidence))


# -- a sole that reaches over the edge ----------------------------------------------------------------------------------


def _hanging(
    item: PlateContact,
    frame_overhang_m: FloatArray,
    side: Side,
    missing: Missing,
    scale: _Scale,
    settings: ContactSettings,
    rate_hz: float,
) -> list[PlateContact]:
    """Use what the balance supports of a contact whose sole reaches over the edge; say what is missing of the rest."""
    limit = settings.balance_fraction
    mean_n = item.contact.evidence["balance_missing_n"]
    over = f"the {SIDE_NAMES[side]} foot extends {100 * item.contact.evidence['overhang_m']:.1f} cm beyond the plate"
    if abs(mean_n) > limit * scale.weight_n:
        return [_with_reason(item, f"{over}, and the body needs {_signed(mean_n)} than the plates carry")]
    rows = slice(item.first, item.stop)
    told = np.isfinite(missing.share[rows])
    supported = told & (np.abs(np.nan_to_num(missing.sustained[rows], nan=np.inf)) <= limit)
    inside = frame_overhang_m <= OUTLINE_ERROR_M
    good = supported | inside
    runs = finite_stretches(good)
    first, stop = max(runs, key=lambda run: run[1] - run[0], default=(0, 0))
    if stop - first < max(settings.min_contact_s * rate_hz, MIN_SUPPORTED_SHARE * len(good)):
        return [
            _with_reason(
                item, f"{over}; the balance of forces supports {1000 * (stop - first) / rate_hz:.0f} ms of it only"
            )
        ]
    used = (
        f"the balance of forces supports it ({_signed(mean_n)} than the plates carry, worst "
        f"{item.contact.evidence['balance_worst_n']:.0f} N), although {over}"
    )
    unknown = f"{over}; the other foot may carry what is missing"
    return _cut(item, first, stop, used, unknown, rate_hz)


def _cut(item: PlateContact, first: int, stop: int, used: str, unknown: str, rate_hz: float) -> list[PlateContact]:
    """Cut frames [first, stop) of a contact out as assigned; what is left before and after stays rejected."""
    begin, end = item.first + first, item.first + stop
    pieces = []
    if begin > item.first:
        before = replace(item, stop=begin, cut_after=True)
        pieces.append(_timed(_with_reason(before, unknown), item.contact.start_s, begin / rate_hz))
    contact = replace(item.contact, decision="assigned", reason=used)
    middle = replace(
        item,
        contact=contact,
        first=begin,
        stop=end,
        cut_before=item.cut_before or begin > item.first,
        cut_after=item.cut_after or end < item.stop,
    )
    start_s = item.contact.start_s if begin == item.first else begin / rate_hz
    end_s = item.contact.end_s if end == item.stop else end / rate_hz
    pieces.append(_timed(middle, start_s, end_s))
    if end < item.stop:
        after = replace(item, first=end, cut_before=True)
        pieces.append(_timed(_with_reason(after, unknown), end / rate_hz, item.contact.end_s))
    return pieces


def _timed(item: PlateContact, start_s: float, end_s: float) -> PlateContact:
    return replace(item, contact=replace(item.contact, start_s=start_s, end_s=end_s), frame_overhang_m=None)


# -- a sole on the plate as a whole ----------------------------------------------------------------------------------------


def _whole(item: PlateContact, scale: _Scale, settings: ContactSettings) -> PlateContact:
    """Reject a contact of a sole that lies on plates as a whole only where the force cannot be the foot's alone.

    More than the body needs is somebody else's, where other contacts agree on the body's weight. Less is missing of the foot
    where it is missing at the foot; elsewhere something that no plate measures helps to carry, and the foot's force is right.
    """
    evidence = item.contact.evidence
    mean_n, limit_n = evidence["balance_missing_n"], CONTRADICTS * settings.balance_fraction * scale.weight_n
    if abs(mean_n) <= limit_n:
        return item
    if mean_n < 0.0:
        if not scale.agreed:
            return item
        return _with_reason(
            item, f"the plate reads {-mean_n:.0f} N more than the body needs: its force is not the foot's alone"
        )
    at_foot = evidence["balance_arm_m"] < SAME_PLACE_M and scale.agreed
    if at_foot or evidence["overhang_m"] > 0.0 or evidence["cop_to_edge_m"] < NEAR_EDGE_M:
        return _with_reason(
            item, f"the body needs {mean_n:.0f} N more than the plates carry: part of the foot is not on them"
        )
    reason = f"{item.contact.reason}; something beside the feet carries {mean_n:.0f} N that no plate measures"
    return replace(item, contact=replace(item.contact, reason=reason))


def _with_reason(item: PlateContact, reason: str) -> PlateContact:
    return replace(item, contact=replace(item.contact, decision="rejected", reason=reason))


def _signed(force_n: float) -> str:
    return f"{abs(force_n):.0f} N {'more' if force_n >= 0.0 else 'less'}"


def _rows(item: PlateContact, frames: int) -> BoolArray:
    rows = np.zeros(frames, dtype=bool)
    rows[item.first : item.stop] = True
    return rows


def _wider(mask: BoolArray, frames: int) -> BoolArray:
    wide = mask.copy()
    for first, stop in finite_stretches(mask):
        wide[max(first - frames, 0) : stop + frames] = True
    return wide


# The balance tells an offset from the error of body mass and motion above this share of body weight: contacts of whole feet
# miss up to 5.2 % (`by_balance`).
LEAST_SHARE = 0.06
# It is a mean over strides, not over a moment.
LEAST_S = 1.0


def with_known_feet(
    signals: TrialSignals, plates: Sequence[ForcePlate], soles_W: Mapping[Side, FloatArray]
) -> TrialSignals:
    """Return the signals with the plates' offsets taken where no foot is over them.

    `plates`: as recorded, in World; `soles_W`: per side (T, K, 3) m, points around the sole, NaN where unknown.
    """
    markers = signals.markers
    raw = []
    for plate in plates:
        beside = None
        if plate.outlined:
            beside = np.all([clear_of_plate(plate.corners, sole) for sole in soles_W.values()], axis=0)
        raw.append(plate_wrench(plate, markers.frame_count, markers.rate_hz, beside))
    return with_plates(signals, raw)


def with_zero_from_balance(
    signals: TrialSignals, soles_W: Mapping[Side, FloatArray], fit: Fit, mass_kg: float | None
) -> TrialSignals:
    """Return the signals with the offset of a plate that is never unloaded taken from what the body's motion needs.

    Only of one such plate, only its force (as if it acted at the plate's centre), and only where body mass is known and the
    offset is larger than what mass and motion are uncertain by.
    """
    loaded = [n for n, plate in enumerate(signals.raw_plates) if plate.zero and plate.zero.source == "unknown"]
    if mass_kg is None or len(loaded) != 1 or not all(plate.outlined for plate in signals.raw_plates):
        return signals
    index = loaded[0]
    need, carried = required_wrench(fit), sum(plates_as_motion(signals))
    told = np.isfinite(need).all(axis=1) & _all_on_plates(signals, soles_W)
    if np.count_nonzero(told) < LEAST_S * signals.markers.rate_hz:
        return signals
    surplus = np.mean((carried - need)[told, 3:], axis=0)
    if abs(surplus[1]) < LEAST_SHARE * weight_of(mass_kg):
        return signals
    raw = list(signals.raw_plates)
    plate = raw[index]
    taken_off = np.concatenate([np.cross(plate.corners.mean(axis=0), surplus), surplus])
    told_s = float(np.count_nonzero(told)) / signals.markers.rate_hz
    note = Diagnostic(
        "plate-baseline",
        "warning",
        f"Plate {plate.number} is at no time seen unloaded; over {told_s:.1f} s it reads {surplus[1]:.0f} N more than the motion "
        "of the body needs: removed.",
        value=float(surplus[1]),
        limit=LEAST_SHARE * weight_of(mass_kg),
        unit="N",
        hint="Known to some 5 % of body weight only, moments not at all. Record a moment with nobody on the plate.",
        about=str(plate.number),
    )
    raw[index] = replace(
        plate,
        wrench=plate.wrench - taken_off,
        zero=PlateZero("balance", offset_n=float(surplus[1])),
        diagnostics=(*(d for d in plate.diagnostics if d.code != "plate-zero-unknown"), note),
    )
    return with_plates(signals, raw)


def _all_on_plates(signals: TrialSignals, soles_W: Mapping[Side, FloatArray]) -> BoolArray:
    """Frames (T,) in which every foot that stands does so on plates, and one does."""
    standing = np.zeros(signals.markers.frame_count, dtype=bool)
    elsewhere = np.zeros(len(standing), dtype=bool)
    for points in soles_W.values():
        sole = foot_outline(points, signals.markers.rate_hz)
        to_plates = np.min([sole.distance_to(plate.corners) for plate in signals.raw_plates], axis=0)
        beside = (np.where(sole.low, to_plates, -np.inf) > 0.0).any(axis=1)
        standing |= sole.bearing
        elsewhere |= (sole.bearing & beside) | ~sole.known
    return np.asarray(standing & ~elsewhere)
