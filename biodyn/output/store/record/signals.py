"""What `run.json` says of gaps, plates and contacts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDE_NAMES, SIDES


def gaps_record(analysis: TrialAnalysis) -> dict[str, Any]:
    """How many gaps were filled by each method or left, and the longest of each, s."""
    rate_hz = analysis.recording.markers.rate_hz
    counts = dict.fromkeys(("spline", "rigid", "left"), 0)
    longest = dict.fromkeys(counts, 0.0)
    for gap in analysis.gaps:
        counts[gap.method] += 1
        longest[gap.method] = max(longest[gap.method], (gap.last - gap.first + 1) / rate_hz)
    return {"count": counts, "longest_s": longest}


def automatic_method_record(analysis: TrialAnalysis) -> dict[str, str] | None:
    """Which method was chosen and why, where the settings left it to the trial."""
    chosen = analysis.method
    return {"method": chosen.name, "reason": chosen.reason} if chosen.reason else None


def automatic_cutoff_record(analysis: TrialAnalysis) -> dict[str, Any] | None:
    """What the cut-off was chosen for and why, where the settings left it to the trial."""
    chosen = None if analysis.propagation is None else analysis.propagation.signals.automatic
    return None if chosen is None else {**asdict(chosen), "reason": chosen.reason}


def plates_record(analysis: TrialAnalysis) -> list[dict[str, Any]]:
    """Every plate: corners in World (of its edges only where `outlined`), its side where the file says one, its zero, when it
    was saturated, what was noticed."""
    return [
        {
            "number": plate.number,
            "corners_W_m": plate.corners.tolist(),
            "outlined": plate.outlined,
            "side": plate.side,
            "notes": [d.message for d in plate.diagnostics],
            "zero": None if plate.zero is None else asdict(plate.zero),
            "saturated_s": [list(stretch) for stretch in plate.saturated_s],
            "unrecorded_s": [list(stretch) for stretch in plate.unrecorded_s],
        }
        for plate in analysis.plates
    ]


def contacts_record(analysis: TrialAnalysis) -> list[dict[str, Any]]:
    """Every loading of a plate, whose foot it was and why."""
    return [
        {
            "plate": c.plate,
            "side": c.side,
            "start_s": c.start_s,
            "end_s": c.end_s,
            "decision": c.decision,
            "reason": c.reason,
            "evidence": dict(c.evidence),
        }
        for c in analysis.contacts
    ]


def measured_share(analysis: TrialAnalysis) -> dict[str, float]:
    """By side the share of the frames whose ground contact was measured."""
    measured = analysis.reaction.measured
    return {SIDE_NAMES[side]: float(np.mean(measured[side])) for side in SIDES if side in measured}
