"""Loads too short for a foot, taken back after all decisions are made."""

from __future__ import annotations

from dataclasses import replace

from biodyn.processing.contacts.load import MIN_SHARED_S, PlateContact


def without_short_loads(found: list[PlateContact], min_contact_s: float) -> list[PlateContact]:
    """Reject what is too short for a foot, unless the same foot stands on another plate at that moment."""
    kept: list[PlateContact] = []
    for item in found:
        contact = item.contact
        length = contact.end_s - contact.start_s
        if length >= min_contact_s or item.cut_before or item.cut_after or contact.decision == "ambiguous":
            kept.append(item)
            continue
        carried = any(
            other.contact.side == contact.side is not None
            and other.contact.decision == "assigned"
            and other.plate != item.plate
            and other.contact.end_s - other.contact.start_s >= min_contact_s
            and other.contact.start_s < contact.end_s + MIN_SHARED_S
            and other.contact.end_s > contact.start_s - MIN_SHARED_S
            for other in found
        )
        if not carried:
            reason = f"loaded for {length:.2f} s only, a foot contact lasts at least {min_contact_s:.2f} s"
            item = replace(item, contact=replace(contact, decision="rejected", side=None, reason=reason), feet=())
        kept.append(item)
    return kept
