"""Faults of channels, axes and corners of plates, detected by the agreement of plate and body after correction of the fault.

Three criteria are independent of the contact decisions: the centre of pressure moves along the footprint from heel to toe, the
horizontal force equals the acceleration of the centre of mass, and the moment about the centre of mass equals the change of
angular momentum. A fault is reported if its correction improves the agreement of all three strongly.

In C3D files the order of the corners defines a z axis of the plate that points down. In the reverse order z points up, and x
and y are exchanged or one of them is reversed. Because some laboratories have z up by design, corners are reordered
(`correct_corner_order`) only if the same criteria require it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from biodyn.checks.estimators.plate_evidence import MatchedStep, PlateEvidence, plate_cop
from biodyn.checks.estimators.plate_signals import force_ratio
from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic, plate_list_text
from biodyn.geometry.rotations import cross
from biodyn.library.toml_files import load_table
from biodyn.processing.signals.plate_wrenches import plate_axes
from biodyn.processing.signals.world_frame import is_plate_z_up
from biodyn.recording import ForcePlate, PlateWrench

# Largest mismatch (mean square of the criteria in standard deviations) of a plate without a fault.
SOUND = 1.5
# Largest mismatch for exchanged plates, whose steps are matched with other feet, which changes the mismatch more.
_REMAINING_SWAPPED = 0.35


@dataclass(frozen=True)
class PlateFault:
    """Correction of a fault: exchange of horizontal forces or moments, factors in plate axes, then `quarter_turns`.

    z_up: True or False if the fault applies only to plates with z up or down; None = both.
    """

    code: str
    what: str
    hint: str
    quarter_turns: int = 0
    exchange: bool = False
    exchange_moments: bool = False
    force: tuple[float, float, float] = (1.0, 1.0, 1.0)
    moment: tuple[float, float, float] = (1.0, 1.0, 1.0)
    z_up: bool | None = None


# Reversed corners turn z up and reverse one horizontal axis or exchange both. After conversion to the reaction, the
# error is a quarter turn and one reversed horizontal axis of force and moment.
_REVERSED = tuple(
    PlateFault(
        "plate-corners-reversed",
        "as if its corners were listed in reverse order",
        "The order of the corners defines an upward z axis, but in C3D corners are listed clockwise seen from "
        "above. Correct FORCE_PLATFORM:CORNERS.",
        quarter_turns=turns,
        force=(-1.0, 1.0, 1.0),
        moment=(-1.0, 1.0, 1.0),
        z_up=True,
    )
    for turns in range(4)
)


def _sign_faults(
    code: str, hints: tuple[str, str], faults: Mapping[str, tuple[float, float, float]]
) -> Iterator[PlateFault]:
    """Yield sign faults of force or moment by channel names; hints: hint for the first fault, and for the others."""
    for names, factors in faults.items():
        hint = hints[0] if names == next(iter(faults)) else hints[1]
        what = f"as if {names} had the opposite sign"
        if code == "plate-force-sign":
            yield PlateFault(code, what, hint, force=factors)
        else:
            yield PlateFault(code, what, hint, moment=factors)


_TURNED = (
    "The corners are listed in a wrong order, or the plate was mounted in another orientation. Correct "
    "FORCE_PLATFORM:CORNERS."
)
_ORDER = "Check the order of the channels in FORCE_PLATFORM:CHANNEL and the cables."
_FAULTS = (
    *(
        PlateFault("plate-rotated", f"as if the plate were rotated by {angle} degrees", _TURNED, quarter_turns=turns)
        for turns, angle in ((1, 90), (3, -90), (2, 180))
    ),
    PlateFault("plate-axes-exchanged", "as if Fx and Fy were swapped", _ORDER, exchange=True),
    PlateFault("plate-axes-exchanged", "as if Mx and My were swapped", _ORDER, exchange_moments=True),
    PlateFault(
        "plate-axes-exchanged",
        "as if Fx and Fy, and Mx and My, were swapped",
        _ORDER,
        exchange=True,
        exchange_moments=True,
        z_up=False,  # for z up equivalent to a reversed order of corners
    ),
    *_sign_faults(
        "plate-moment-sign",
        (
            "Check the sign of the moment channels (ANALOG:SCALE) and the sense in which the file stores the reaction.",
            "Check the sign of the moment channels (ANALOG:SCALE).",
        ),
        {"the moments": (-1.0, -1.0, -1.0), "Mx": (-1.0, 1.0, 1.0), "My": (1.0, -1.0, 1.0)},
    ),
    *_sign_faults(
        "plate-force-sign",
        (
            "Check the sign of the horizontal force channels (ANALOG:SCALE).",
            "Check the sign of the force channels (ANALOG:SCALE).",
        ),
        {"Fx and Fy": (-1.0, -1.0, 1.0), "Fx": (-1.0, 1.0, 1.0), "Fy": (1.0, -1.0, 1.0)},
    ),
    *_REVERSED,
)


def find_swapped_plates(evidence: PlateEvidence) -> tuple[Diagnostic, ...]:
    """Report pairs of plates that agree with the body after exchanging their channels."""
    now = [plate_mismatch(evidence, n, plate) for n, plate in enumerate(evidence.plates)]
    # largest mismatch of exchanged plates after correction, relative to that of plates without a fault
    sound_again = 2.0
    notes: list[Diagnostic] = []
    for first, second in combinations(range(len(evidence.plates)), 2):
        before = sum(value for value in (now[first], now[second]) if value is not None)
        if before <= SOUND:
            continue
        swapped = _swap_plates(evidence, first, second)
        after = [plate_mismatch(swapped, n, swapped.plates[n]) for n in (first, second)]
        remaining = sum(value for value in after if value is not None)
        if remaining > _REMAINING_SWAPPED * before or remaining > sound_again * SOUND:
            continue
        numbers = [evidence.plates[n].number for n in (first, second)]
        steps = [step for step in evidence.steps if step.plate in (first, second)]
        notes.append(
            Diagnostic(
                "plates-swapped",
                "error",
                f"Plates {numbers[0]} and {numbers[1]} measure as if their channels were swapped: a correction would reduce "
                f"the mismatch with feet and body from {before:.1f} to {remaining:.1f} (mean square in standard "
                "deviations). Nothing was changed.",
                value=before,
                limit=SOUND,
                frames=(min(step.first for step in steps), max(step.stop for step in steps) - 1),
                hint="Each plate records the steps on the other plate. Check FORCE_PLATFORM:CHANNEL and the cables.",
            )
        )
    return tuple(notes)


def wrench_change_by_shift(wrench: FloatArray, shift_m: FloatArray) -> FloatArray:
    """Return the change (T, 6) of a wrench by a shift (3,) m of its point of application."""
    force = wrench[:, 3:]
    return np.hstack([cross(shift_m, force), np.zeros_like(force)])


def plate_mismatch(evidence: PlateEvidence, number: int, plate: PlateWrench) -> float | None:
    """Return the mismatch of plate `number` (with the wrench and corners of `plate`) with feet and body; None without a step.

    It is the sum of the mean squares, in standard deviations, of centre of pressure, horizontal force and moment.
    """
    least_frames = 5
    table = load_table("checks/checks")
    path, body = table["pressure_path"], table["body"]
    parts = []
    for step in evidence.steps:
        if step.plate != number or step.side is None or not step.heel_to_toe or not np.isfinite(step.heel).all():
            continue
        high_force, single_support = step.high_force, step.single_support
        if len(high_force) < least_frames:
            continue
        local = (plate_cop(plate, high_force) - evidence.belt_displacement(step, high_force) - step.heel) @ step.axes.T
        expected = step.length_m * np.interp(np.linspace(0.0, 1.0, len(high_force)), (0.0, 0.5, 1.0), path["share"])
        along = (local[:, 0] - expected) / (path["share_sd"] * step.length_m)
        aside = local[:, 1] / path["outward_sd_m"]
        on_foot = float(np.mean(along**2 + aside**2)) / 2.0
        if len(single_support) < least_frames:
            parts.append((on_foot, np.nan, np.nan))
            continue
        force = (
            (plate.wrench[single_support, 3:] - evidence.required[single_support, 3:]) @ step.axes.T / evidence.weight_n
        )
        off = force / (body["forward_force_sd"], body["sideways_force_sd"])
        # horizontal shift of each frame's force required by its moment about the centre of mass
        missing = evidence.required[single_support] - plate.wrench[single_support]
        moment = missing[:, :3] - cross(evidence.centre_of_mass[single_support], missing[:, 3:])
        shift_m = np.column_stack([moment[:, 2], np.zeros(len(moment)), -moment[:, 0]]) / evidence.weight_n
        lever = shift_m @ step.axes.T / body["lever_sd_m"]
        parts.append((on_foot, float(np.mean(off**2)), float(np.mean(lever**2))))
    if not parts:
        return None
    judged = np.array(parts)
    known = np.isfinite(judged).any(axis=0)
    means = np.zeros(3)
    means[known] = np.nanmean(judged[:, known], axis=0)
    return float(means[0] + means[1] + means[2])


def iterate_fault_corrections(plate: PlateWrench) -> Iterator[tuple[PlateFault, PlateWrench]]:
    """Yield every possible fault of the plate with the corrected wrench."""
    R, centre, _ = plate_axes(plate)
    force = plate.wrench[:, 3:]
    moment = (plate.wrench[:, :3] - cross(centre, force)) @ R
    force = force @ R
    for fault in _FAULTS:
        if fault.z_up is not None and fault.z_up != bool(R[1, 2] >= 0.0):
            continue
        f, m = force, moment
        if fault.exchange:
            f = f[:, [1, 0, 2]]
        if fault.exchange_moments:
            m = m[:, [1, 0, 2]]
        f, m = f * fault.force, m * fault.moment
        turn = _quarter_turn_rotation(fault.quarter_turns)
        f_W, m_W = f @ turn.T @ R.T, m @ turn.T @ R.T
        yield fault, replace(plate, wrench=np.hstack([m_W + cross(centre, f_W), f_W]))


def _swap_plates(evidence: PlateEvidence, first: int, second: int) -> PlateEvidence:
    """Return the evidence with exchanged channels of two plates; each load then belongs to the other plate."""
    plates = list(evidence.plates)
    plates[first] = _exchange_corners(evidence.plates[second], evidence.plates[first])
    plates[second] = _exchange_corners(evidence.plates[first], evidence.plates[second])
    place = {first: second, second: first}
    steps: Sequence[MatchedStep] = [replace(step, plate=place.get(step.plate, step.plate)) for step in evidence.steps]
    return replace(evidence, plates=tuple(plates), steps=tuple(steps))


def _exchange_corners(source: PlateWrench, target: PlateWrench) -> PlateWrench:
    """Return the wrench from the channels of one plate with the corners of another."""
    R_from, p_from, _ = plate_axes(source)
    R_to, p_to, _ = plate_axes(target)
    turn = R_to @ R_from.T
    force = source.wrench[:, 3:]
    moment = source.wrench[:, :3] - cross(p_from, force)
    force, moment = force @ turn.T, moment @ turn.T
    return replace(target, wrench=np.hstack([moment + cross(p_to, force), force]))


def _quarter_turn_rotation(count: int) -> FloatArray:
    angle = 0.5 * np.pi * count
    c, s = round(np.cos(angle)), round(np.sin(angle))
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


# Mismatch of plates without a fault under shod feet or feet with few markers (two of nineteen shared walks).
_LIKE_SOUND = 2.0 * SOUND
# Reversed orders of corners, starting with each corner; None: the two horizontal coordinates of each corner are exchanged.
_CORNER_ORDERS = ((0, 3, 2, 1), (1, 0, 3, 2), (2, 1, 0, 3), (3, 2, 1, 0), None)


def _reorder_corners(plate: ForcePlate, order: tuple[int, ...] | None, R_WL: FloatArray) -> ForcePlate:
    """Return the plate (World) with its corners in one of `_CORNER_ORDERS`."""
    if order is not None:
        return replace(plate, corners=plate.corners[list(order)])
    up = int(np.argmax(np.abs(R_WL[1])))
    level = [axis for axis in range(3) if axis != up]
    in_laboratory = plate.corners @ R_WL
    in_laboratory[:, level] = in_laboratory[:, level[::-1]]
    return replace(plate, corners=in_laboratory @ R_WL.T)


def correct_corner_order(
    evidence: PlateEvidence,
    plates: Sequence[ForcePlate],
    wrench_of: Callable[[ForcePlate], PlateWrench],
    R_WL: FloatArray,
) -> tuple[tuple[ForcePlate, ...], tuple[Diagnostic, ...]]:
    """Return the plates (World) with corners in C3D order, and a finding about corrected corners.

    One order applies to all plates with z up. They are corrected if this order nearly removes the mismatch of one plate,
    improves each plate with a step, and is much better than any other order and any other fault. `wrench_of`: filtered wrench
    of a plate at the marker rate. `R_WL`: rotation from laboratory axes to World.
    """
    # Largest mismatch of the corrected order relative to that of the best other fault (0.01 to 0.95 in 72 walks with
    # reversed corners).
    of_fault = 0.8
    up = [n for n, plate in enumerate(plates) if is_plate_z_up(plate)]
    judged = [n for n in up if plate_mismatch(evidence, n, evidence.plates[n]) is not None]
    if not judged:
        return tuple(plates), ()
    now = np.array([_total_mismatch(evidence, n, evidence.plates[n]) for n in judged])
    totals = np.array(
        [
            [
                _total_mismatch(evidence, n, wrench_of(_reorder_corners(plates[n], order, R_WL)))
                for order in _CORNER_ORDERS
            ]
            for n in judged
        ]
    )
    faults = [
        [
            _total_mismatch(evidence, n, plate)
            for fault, plate in iterate_fault_corrections(evidence.plates[n])
            if not fault.z_up
        ]
        for n in judged
    ]
    best, *alternatives = np.argsort(totals.sum(axis=0))
    then = totals[:, best]
    other, fault = totals[:, alternatives].sum(axis=0).min(), np.sum(faults, axis=0).min()
    if then.min() > _LIKE_SOUND or (then > _REMAINING_SWAPPED * now).any():
        return tuple(plates), ()
    if then.sum() > _REMAINING_SWAPPED * other or then.sum() > of_fault * fault:
        return tuple(plates), ()
    order = _CORNER_ORDERS[best]
    corrected = tuple(_reorder_corners(plate, order, R_WL) if n in up else plate for n, plate in enumerate(plates))
    means = tuple(total / len(judged) for total in (now.sum(), then.sum(), min(other, fault)))
    return corrected, (_corner_order_note([plates[n].number for n in up], order, means),)


def with_mass_from_plates(evidence: PlateEvidence) -> PlateEvidence:
    """Return the evidence with the mass scaled to the vertical forces of the plates, if no mass was given."""
    ratio = abs(force_ratio(evidence))
    if not np.isfinite(ratio):
        return evidence
    return replace(evidence, required=ratio * evidence.required, weight_n=ratio * evidence.weight_n)


def _total_mismatch(evidence: PlateEvidence, number: int, plate: PlateWrench) -> float:
    result = plate_mismatch(evidence, number, plate)
    return float("inf") if result is None else result


def _corner_order_note(numbers: Sequence[int], order: tuple[int, ...] | None, means: tuple[float, ...]) -> Diagnostic:
    before, after, nearest = means
    several = len(numbers) > 1
    used = "with the two horizontal coordinates of each corner exchanged"
    if order is not None:
        used = f"in the order {', '.join(str(corner + 1) for corner in order)}"
    return Diagnostic(
        "plate-corners-corrected",
        "warning",
        f"{plate_list_text(numbers)} {('have' if several else 'has')} an upward z axis by the order of "
        f"{('their' if several else 'its')} corners in the file; in C3D it points down. The corners are used "
        f"{used}, which reduces the mismatch with feet and body from {before:.1f} to {after:.1f} (mean "
        f"square in standard deviations); no other change reduces it below {nearest:.1f}.",
        value=before,
        limit=SOUND,
        hint="Correct FORCE_PLATFORM:CORNERS in the export settings: clockwise seen from above.",
        about=", ".join(map(str, numbers)),
    )
