"""Contacts and ground reaction of plates' signals in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from biodyn.conventions import FloatArray, Side
from biodyn.processing.contacts.ground_reaction import decisions_from_plates, reaction_from_decisions
from biodyn.processing.contacts.plate_loads import PlateSignals
from biodyn.processing.contacts.settings import ContactSettings
from biodyn.recording import Contact, GroundReaction


def feet_on_plates(
    plates: Sequence[PlateSignals],
    outlines_W: Mapping[Side, FloatArray],
    rate_hz: float,
    settings: ContactSettings,
    *,
    smear_s: float,
    strikes_s: Mapping[Side, FloatArray] | None = None,
    **known: Any,
) -> tuple[tuple[Contact, ...], GroundReaction]:
    """Every contact and the ground reaction of both feet; `strikes_s` of `reaction_from_decisions`, `known` of `decided`."""
    found = decisions_from_plates(plates, outlines_W, rate_hz, settings, smear_s=smear_s, **known)
    return found.contacts, reaction_from_decisions(
        found, plates, rate_hz, settings, smear_s=smear_s, strikes_s=strikes_s
    )
