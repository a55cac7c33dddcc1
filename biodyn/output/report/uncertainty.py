"""Which source of error dominates which torque: the summary of `run.json` and of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray
from biodyn.library.load import load_table
from biodyn.model.from_library.user_tables import own_file
from biodyn.output.figures.display import display_table
from biodyn.uncertainty.bands import SOURCES
from biodyn.uncertainty.magnitudes import load_magnitudes
from biodyn.variables import variable

# Torques smaller than this in the whole trial matter to nobody, Nm; their shares would only confuse.
_LEAST_PEAK_NM = 1.0


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
        by_source = {source: _rms(found.by_source[source][known, column]) for source in SOURCES}
        coordinates[name] = {
            "peak_nm": float(np.abs(analysis.dynamics.torques[known, column]).max()),
            "sd_rms_nm": _rms(total[known, column]),
            "sd_largest_nm": float(total[known, column].max()),
            "by_source_rms_nm": by_source,
            "largest_source": max(by_source, key=lambda source: by_source[source]),
        }
    return {
        "sources": {name: str(load_table("uncertainty/magnitudes")[name]["title"]) for name in SOURCES},
        "scale": {str(name): float(factor) for name, factor in chosen.scale.items()},
        "marker_noise_mm": float(1e3 * np.median(found.noise_m)),
        "citations": _citations(magnitudes.citations, own_file(chosen.magnitudes)),
        "coordinates": coordinates,
    }


def _citations(citations: Mapping[str, str], file: str) -> dict[str, str]:
    """By source; for a user's own file the file, and what it says of its source."""
    if not file:
        return dict(citations)
    return {name: f"own table {file}" + (f", after: {text}" if text else "") for name, text in citations.items()}


def uncertainty_rows(record: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Rows for the report, of the torques its figures show: label, peak, standard deviation, per cent of the variance."""
    shown = {name for figure in display_table()["figure"] for name in figure["panels"]}
    rows = []
    for name, entry in (record or {}).get("coordinates", {}).items():
        side = next((side for side in SIDES if name.endswith(f"_{side}")), "")
        curve = f"{name.removesuffix(f'_{side}') if side else name}_moment"
        if curve not in shown or entry["peak_nm"] < _LEAST_PEAK_NM:
            continue
        variance = sum(value**2 for value in entry["by_source_rms_nm"].values()) or 1.0
        rows.append(
            {
                "label": variable(curve).title + (f", {SIDE_NAMES[side]}" if side else ""),
                "peak": f"{entry['peak_nm']:.1f}",
                "sd": f"{entry['sd_rms_nm']:.1f}",
                "largest": f"{entry['sd_largest_nm']:.1f}",
                "share": f"{100.0 * entry['sd_rms_nm'] / entry['peak_nm']:.0f}",
                "sources": {
                    source: f"{100.0 * value**2 / variance:.0f}" for source, value in entry["by_source_rms_nm"].items()
                },
                "largest_source": entry["largest_source"],
            }
        )
    return rows


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
