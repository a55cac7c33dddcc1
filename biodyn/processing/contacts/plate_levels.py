"""Offsets of the plates again, once it is known when a foot was over them and what the body's motion needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from biodyn.conventions import BoolArray, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.processing.contacts.balance import required_wrench, weight_of
from biodyn.processing.contacts.foot_outline import beside_plate, foot_outline
from biodyn.processing.kinematics.fit import Fit
from biodyn.processing.signals.plates import plate_wrench
from biodyn.processing.signals.prepare import TrialSignals, plates_as_motion, with_plates
from biodyn.recording import ForcePlate, PlateZero

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
            beside = np.all([beside_plate(plate.corners, sole) for sole in soles_W.values()], axis=0)
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
        "plate-zero-from-balance",
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
