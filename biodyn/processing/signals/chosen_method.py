"""Which method smooths a trial, where `signals.method` leaves it open ("auto").

An estimate of motion and forces is never worse than a filter, wherever it can be made (docs/methods.md, section 2). It needs
markers: errors of a segment's measured pose are none of single points. Who names a cut-off or the order of a filter asked for
that filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from biodyn.processing.signals.parameters import SignalSettings
from biodyn.processing.signals.smoothing import SMOOTHING
from biodyn.processing.signals.smoothing.butterworth import BUTTERWORTH
from biodyn.processing.signals.smoothing.estimate import ESTIMATE


@dataclass(frozen=True)
class ChosenMethod:
    """name: of the method. reason: why it is this one, in words for a sentence; "" where the settings name it."""

    name: str
    reason: str = ""

    @property
    def is_estimate(self) -> bool:
        """Whether motion and forces become one estimate."""
        return self.name == ESTIMATE

    @property
    def words(self) -> str:
        """How markers are smoothed by it, for "smoothed by ..."."""
        return SMOOTHING.named(self.name).words


#: Of signals that a filter is asked for by name.
FILTERED = ChosenMethod(BUTTERWORTH)


def chosen_method(settings: SignalSettings, on_poses: bool) -> ChosenMethod:
    """Return the method of the settings, or the one that they leave to the trial."""
    if settings.method != "auto":
        return ChosenMethod(settings.method)
    if on_poses:
        return ChosenMethod(BUTTERWORTH, "an estimate of motion and forces needs markers, and poses were measured")
    named = settings.named_filter
    if named:
        return ChosenMethod(BUTTERWORTH, f"the settings ask for a filter ({named})")
    return ChosenMethod(ESTIMATE, "markers and forces were measured")


def fallen_back(why: str) -> ChosenMethod:
    """Return the filter in place of an estimate that could not be made."""
    why = f"{why[:1].lower()}{why[1:]}"
    return ChosenMethod(BUTTERWORTH, f"motion and forces could not be made one estimate: {why}")


def method_of(record: Mapping[str, Any]) -> str:
    """Return the method that made a result, by its run.json; older versions kept that of the settings, or had but the filter."""
    found = str(record.get("method") or record["settings"].get("signals", {}).get("method", BUTTERWORTH))
    return BUTTERWORTH if found == "auto" else found


def is_filtered(record: Mapping[str, Any]) -> bool:
    """Whether motion and forces of a result passed a Butterworth filter, and nothing else."""
    return method_of(record) == BUTTERWORTH
