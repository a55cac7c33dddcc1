"""What `run.json` says of the bands of the torques: which source of error dominates which torque."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import FloatArray
from biodyn.library.load import load_table
from biodyn.model.from_library.user_tables import own_file
from biodyn.uncertainty.magnitudes import load_magnitudes


def uncertainty_record(analysis: TrialAnalysis) -> dict[str, Any] | None:
    """Return the summary as plain values; None if the bands were switched off.

    Per coordinate: rms over time of one standard deviation, together and by source (Nm), the largest, the peak torque,
    and the source with the largest rms.
    """
    found = analysis.uncertainty
    if found is None:
        return None
    chosen = analysis.settings.uncertainty
    magnitudes = load_magnitudes(chosen.magnitudes)
    coordinates = {}
    total = found.total
    for column, name in enumerate(found.coordinates):
        known = np.isfinite(total[:, column])
        if not known.any():
            continue
        by_source = {source: _rms(sd[known, column]) for source, sd in found.by_source.items()}
        coordinates[name] = {
            "peak_nm": float(np.abs(analysis.dynamics.torques[known, column]).max()),
            "sd_rms_nm": _rms(total[known, column]),
            "sd_largest_nm": float(total[known, column].max()),
            "by_source_rms_nm": by_source,
            "largest_source": max(by_source, key=lambda source: by_source[source]),
        }
    return {
        "sources": {name: str(load_table("uncertainty/magnitudes")[name]["title"]) for name in found.by_source},
        "scale": {str(name): float(factor) for name, factor in chosen.scale.items()},
        "marker_noise_mm": float(1e3 * np.median(found.noise_m)),
        **_attitudes(found.turn_noise_rad),
        "citations": _citations(magnitudes.citations, own_file(chosen.magnitudes)),
        "coordinates": coordinates,
    }


def _attitudes(turn_noise_rad: FloatArray | None) -> dict[str, float]:
    """Noise of measured attitudes; nothing of trials on markers."""
    return {} if turn_noise_rad is None else {"turn_noise_deg": float(np.rad2deg(np.median(turn_noise_rad)))}


def _citations(citations: Mapping[str, str], file: str) -> dict[str, str]:
    """By source; for a user's own file the file, and what it says of its source."""
    if not file:
        return dict(citations)
    return {name: f"own table {file}" + (f", after: {text}" if text else "") for name, text in citations.items()}


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
