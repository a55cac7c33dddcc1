"""What is said of loads that no foot made."""

from __future__ import annotations

from collections.abc import Sequence

from biodyn.diagnostics import Diagnostic
from biodyn.processing.contacts.loading import OtherLoad


def other_load_finding(loads: Sequence[OtherLoad], rate_hz: float) -> Diagnostic:
    """Name the loads; the largest is the value."""
    told = "; ".join(
        f"plate {one.plate}, {one.start_s:.2f} to {one.end_s:.2f} s, up to {one.peak_n:.0f} N" for one in loads
    )
    largest = max(loads, key=lambda one: one.peak_n)
    return Diagnostic(
        "other-load",
        "warning",
        f"A load was on a plate without a foot near it ({told}): a crutch, a walker, a hand or another person. It is given to "
        "no foot.",
        value=largest.peak_n,
        unit="N",
        frames=(round(largest.start_s * rate_hz), round(largest.end_s * rate_hz)),
        hint="The torques of a leg come from its own foot's contact and stay, where the aid was not on the same plate. What the "
        "aid carries is missing in the balance of the whole body: mass and residual are not judged, and the torques of trunk "
        "and arms lack it.",
    )
