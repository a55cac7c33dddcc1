"""The contacts of a trial: the one call of this stage."""

from __future__ import annotations

from collections.abc import Mapping

from biodyn.conventions import FloatArray, Side
from biodyn.processing.contacts.balance import BodyBalance, required_wrench
from biodyn.processing.contacts.ground_reaction import feet_on_plates
from biodyn.processing.contacts.loading import PlateSignals
from biodyn.processing.contacts.parameters import ContactSettings
from biodyn.processing.kinematics.fit import Fit
from biodyn.processing.signals.prepare import TrialSignals, plates_as_motion, plates_at_full_bandwidth
from biodyn.recording import Contact, GroundReaction


def find_contacts(
    signals: TrialSignals,
    soles_W: Mapping[Side, FloatArray],
    settings: ContactSettings,
    mass_kg: float | None = None,
    fit: Fit | None = None,
) -> tuple[tuple[Contact, ...], GroundReaction]:
    """Decide every contact of a trial and return it with the ground reaction of both feet.

    Parameters:
        soles_W: per side (T, K, 3) m, points around the sole, NaN where unknown. mass_kg: body mass, where known.
        fit: the motion of the whole body, for the balance of forces on it; None = it is not asked.
    """
    full_hz, full = plates_at_full_bandwidth(signals)
    plates = [
        PlateSignals(
            number=plate.number,
            corners_W=plate.corners,
            wrench=plate.wrench,
            vertical_force=raw.wrench[:, 4],
            analog_rate_hz=raw.rate_hz,
            zero=raw.zero,
            saturated_s=raw.saturated_s,
            unrecorded_s=raw.unrecorded_s,
            raw=raw.wrench,
            cutoff_hz=signals.force_cutoff_hz,
            order=signals.settings.filter_order,
            full=wrench,
            full_cutoff_hz=full_hz,
            outlined=plate.outlined,
            side=plate.side,
        )
        for plate, raw, wrench in zip(signals.plates, signals.raw_plates, full, strict=True)
    ]
    rate_hz, smear_s = signals.markers.rate_hz, signals.force_smear_s
    balance = None
    if fit is not None:
        balance = BodyBalance(
            required_wrench(fit), plates_as_motion(signals), fit.model.mass_kg, mass_known=mass_kg is not None
        )
    return feet_on_plates(plates, soles_W, rate_hz, settings, smear_s=smear_s, mass_kg=mass_kg, balance=balance)
