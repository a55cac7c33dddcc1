"""What `run.json` says of the method: which one smoothed the trial, and why where the settings leave it open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biodyn.analysis import TrialAnalysis
from biodyn.processing.signals.smoothing.butterworth import BUTTERWORTH


def automatic_method_record(analysis: TrialAnalysis) -> dict[str, str] | None:
    """Which method was chosen and why, where the settings left it to the trial."""
    chosen = analysis.method
    return {"method": chosen.name, "reason": chosen.reason} if chosen.reason else None


def method_of(record: Mapping[str, Any]) -> str:
    """The method that made a result; records of older versions have that of the settings, the oldest none but the filter."""
    return str(record.get("method") or record["settings"].get("signals", {}).get("method", BUTTERWORTH))


def is_filtered(record: Mapping[str, Any]) -> bool:
    """Whether motion and forces of a result passed a Butterworth filter, and nothing else."""
    return method_of(record) == BUTTERWORTH
