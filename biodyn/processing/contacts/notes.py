"""What the decisions about contacts mean for the trust in a trial, as Diagnostics."""

from __future__ import annotations

import math
from collections.abc import Sequence

from biodyn.diagnostics import Diagnostic
from biodyn.processing.contacts.balance import weight_of
from biodyn.processing.contacts.loading import NOISE_FACTOR
from biodyn.recording.wrenches import Contact

# Force that a recording software cut away for longer than this is worth saying: an event moves by a frame or two.
WORTH_SAYING_S = 0.005
# Vertical force that no plate carries, share of body weight: three times what sound contacts show (`by_balance`).
SUPPORT_SHARE = 0.15


def contact_diagnostics(contacts: Sequence[Contact], rate_hz: float) -> tuple[Diagnostic, ...]:
    """Return a Diagnostic for contacts not assigned, plates noisy beyond the threshold, and forces with edges cut off.

    `rate_hz` is the marker rate, for the frames concerned.
    """
    notes: list[Diagnostic] = []
    for contact in contacts:
        if contact.decision == "assigned":
            continue
        frames = (int(contact.start_s * rate_hz), int(contact.end_s * rate_hz))
        # Said, no more: most trials have a contact that cannot be used. checks/contacts.py warns of a leg without any.
        notes.append(
            Diagnostic(
                code=f"contact-{contact.decision}",
                severity="info",
                message=f"Plate {contact.plate}, {contact.start_s:.2f} to {contact.end_s:.2f} s: {contact.reason}.",
                value=contact.evidence.get("peak_n"),
                unit="N",
                frames=frames,
                hint="No ground reaction of the feet concerned in these frames; no moments for their legs. Where you know "
                "better: [contacts] override (docs/settings.md).",
                about=str(contact.plate),
            )
        )
    notes += _other_supports(contacts, rate_hz)
    notes += _noisy_plates(contacts)
    missed = [max(c.evidence.get("start_missed_s", 0.0), c.evidence.get("end_missed_s", 0.0)) for c in contacts]
    if missed and max(missed) > WORTH_SAYING_S:
        numbers = sorted({c.plate for c, lost in zip(contacts, missed, strict=True) if lost > WORTH_SAYING_S})
        plates = ("plate " if len(numbers) == 1 else "plates ") + ", ".join(str(number) for number in numbers)
        notes.append(
            Diagnostic(
                code="force-cut",
                severity="warning",
                message=f"The force of {plates} was stored as zero below a limit; up to {1000 * max(missed):.0f} ms of "
                "contact are missing at its edges.",
                value=max(missed),
                limit=WORTH_SAYING_S,
                unit="s",
                hint="Export the forces without a threshold; foot strikes and offs were extrapolated.",
            )
        )
    return tuple(notes)


def _other_supports(contacts: Sequence[Contact], rate_hz: float) -> list[Diagnostic]:
    """Name the contacts during which something that no plate measures carries a part of the body."""
    notes = []
    for contact in contacts:
        missing_n = contact.evidence.get("balance_missing_n", math.nan)
        limit_n = SUPPORT_SHARE * weight_of(contact.evidence.get("balance_mass_kg", math.nan))
        if contact.decision == "assigned" and missing_n > limit_n:
            notes.append(
                Diagnostic(
                    code="support-not-measured",
                    severity="warning",
                    message=f"Plate {contact.plate}, {contact.start_s:.2f} to {contact.end_s:.2f} s: the body needs "
                    f"{missing_n:.0f} N more than the plates carry.",
                    value=missing_n,
                    limit=limit_n,
                    unit="N",
                    frames=(int(contact.start_s * rate_hz), int(contact.end_s * rate_hz)),
                    hint="A stick, a rail or a helping hand: the leg's moments stand, those of arms and trunk do not. Or the "
                    "body mass or the plate's scale is wrong.",
                    about=str(contact.plate),
                )
            )
    return notes


def _noisy_plates(contacts: Sequence[Contact]) -> list[Diagnostic]:
    """Name the plates whose noise raised the force that counts as contact."""
    notes = []
    plates = {contact.plate: contact.evidence for contact in contacts}
    for number, evidence in sorted(plates.items()):
        noise, threshold = evidence.get("plate_noise_n", 0.0), evidence.get("threshold_n", math.inf)
        if noise > 0.0 and math.isclose(threshold, NOISE_FACTOR * noise):
            notes.append(
                Diagnostic(
                    code="plate-noise",
                    severity="warning",
                    message=f"Plate {number} has noise of {noise:.1f} N (standard deviation, unloaded): contact counts from "
                    f"{threshold:.0f} N on.",
                    value=noise,
                    unit="N",
                    hint="Check cables, amplifier and mains of the plate; a low-pass filter before recording helps.",
                )
            )
    return notes
