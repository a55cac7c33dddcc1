"""The contacts of a trial: the one call of this stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from biodyn.conventions import FloatArray, Side
from biodyn.processing.contacts.balance import BodyBalance, required_wrench
from biodyn.processing.contacts.ground_reaction import Decided, decided, whole_reaction
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
    """Decide every contact of a trial and return it with the ground reaction of both feet; see `contact_decisions`."""
    found = contact_decisions(signals, soles_W, settings, mass_kg, fit)
    return found.contacts, reaction_of(found, signals, settings)


def contact_decisions(
    signals: TrialSignals,
    soles_W: Mapping[Side, FloatArray],
    settings: ContactSettings,
    mass_kg: float | None = None,
    fit: Fit | None = None,
) -> Decided:
    """Decide every contact of a trial.

    Parameters:
        soles_W: per side (T, K, 3) m, points around the sole, NaN where unknown. mass_kg: body mass, where known.
        fit: the motion of the whole body, for the balance of forces on it; None = it is not asked.
    """
    balance = None
    if fit is not None:
        balance = BodyBalance(
            required_wrench(fit), plates_as_motion(signals), fit.model.mass_kg, mass_known=mass_kg is not None
        )
    return decided(
        _plates(signals),
        soles_W,
        signals.markers.rate_hz,
        settings,
        smear_s=signals.force_smear_s,
        mass_kg=mass_kg,
        balance=balance,
    )


def reaction_of(
    found: Decided,
    signals: TrialSignals,
    settings: ContactSettings,
    full_bandwidth: GroundReaction | None = None,
    strikes_s: Mapping[Side, FloatArray] | None = None,
) -> GroundReaction:
    """Return the ground reaction of both feet by the plates' forces as these signals have them.

    full_bandwidth: that at full bandwidth where it is known already. strikes_s: see `ground_reaction.whole_reaction`.
    """
    plates = _plates(signals)
    if full_bandwidth is None:
        full_hz, full = plates_at_full_bandwidth(signals)
        plates = [
            replace(plate, full=wrench, full_cutoff_hz=full_hz) for plate, wrench in zip(plates, full, strict=True)
        ]
    return whole_reaction(
        found,
        plates,
        signals.markers.rate_hz,
        settings,
        smear_s=signals.force_smear_s,
        full_bandwidth=full_bandwidth,
        strikes_s=strikes_s,
    )


def _plates(signals: TrialSignals) -> list[PlateSignals]:
    return [
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
            outlined=plate.outlined,
            side=plate.side,
        )
        for plate, raw in zip(signals.plates, signals.raw_plates, strict=True)
    ]
