"""Offsets of the plates again, once it is known when a foot was over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from biodyn.conventions import FloatArray, Side
from biodyn.processing.contacts.foot_outline import beside_plate
from biodyn.processing.signals.plates import plate_wrench
from biodyn.processing.signals.prepare import TrialSignals, with_plates
from biodyn.recording import ForcePlate


def with_known_feet(
    signals: TrialSignals, plates: Sequence[ForcePlate], soles_W: Mapping[Side, FloatArray]
) -> TrialSignals:
    """Return the signals with the plates' offsets taken where no foot is over them.

    `plates`: as recorded, in World; `soles_W`: per side (T, K, 3) m, points around the sole, NaN where unknown.
    """
    markers = signals.markers
    raw = []
    for plate in plates:
        beside = np.all([beside_plate(plate.corners, sole) for sole in soles_W.values()], axis=0)
        raw.append(plate_wrench(plate, markers.frame_count, markers.rate_hz, beside))
    return with_plates(signals, raw)
