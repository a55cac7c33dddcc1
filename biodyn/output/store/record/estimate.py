"""What `run.json` says of the estimate of motion and forces: what was left over before and after, and what was moved for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from biodyn.analysis import TrialAnalysis
from biodyn.processing.signals.rms import rms


def estimate_record(analysis: TrialAnalysis) -> dict[str, Any] | None:
    """Return the account as plain values; None where the fitted motion stands.

    Residuals are RMS (unclosed: before the last step, which brings the motion in balance); per coordinate how far it was moved,
    by how much its torque changed (RMS), and the RMS of one standard deviation of the torque where bands were computed. Plates:
    by how much each stands beside its place, along the laboratory's axes, and reads too much; forces that are late count
    positive; `sd`: what is left of the uncertainty.
    """
    account = analysis.estimate
    if account is None:
        return None
    bands = analysis.uncertainty
    sd = np.full(len(account.coordinates), np.nan) if bands is None else rms(bands.total.T)
    return {
        "residual_raw": _residual(account.residual_before),
        "residual_unclosed": _residual(account.residual_unclosed),
        "residual_left": _residual(account.residual_after),
        "balance_sd": {"force_n": account.balance_sd[0], "moment_nm": account.balance_sd[1]},
        "force_cutoff_hz": account.force_cutoff_hz,
        "markers_moved_mm": {"rms": 1e3 * account.marker_rms_m, "largest": 1e3 * account.marker_max_m},
        "mass_change_kg": account.mass_change_kg,
        "mass_sd_kg": account.mass_sd_kg,
        "segment_masses": [
            {"segment": name, "change_percent": 100.0 * share, "sd_percent": 100.0 * account.segment_mass_sd[name]}
            for name, share in account.segment_mass_changes.items()
        ],
        "mass_centres": [
            {"segment": name, "shift_cm": (100.0 * shift).tolist(), "sd_cm": 100.0 * account.centre_sd_m[name]}
            for name, shift in account.centre_shifts_m.items()
        ],
        "constants_from_walks": account.walks,
        "plates": [
            {
                "plate": error.number,
                "shift_cm": dict(zip(account.plates.axes, (100.0 * error.shift_m).tolist(), strict=True)),
                "shift_sd_cm": dict(zip(account.plates.axes, (100.0 * error.shift_sd_m).tolist(), strict=True)),
                "gain_percent": 100.0 * error.gain,
                "gain_sd_percent": 100.0 * error.gain_sd,
            }
            for error in account.plates.errors
        ],
        "plates_expected": {
            "place_sd_cm": 100.0 * account.plates.expected.place_m,
            "gain_sd_percent": 100.0 * account.plates.expected.gain,
            "delay_sd_ms": 1e3 * account.plates.expected.delay_s,
        },
        "force_delay": {"delay_ms": 1e3 * account.plates.delay_s, "sd_ms": 1e3 * account.plates.delay_sd_s},
        "coordinates": {
            name: {
                "moved_rms_deg": float(np.rad2deg(account.moved_rms_rad[i])),
                "moved_max_deg": float(np.rad2deg(account.moved_max_rad[i])),
                "torque_change_rms_nm": float(account.torque_change[i]),
                "torque_sd_rms_nm": float(sd[i]),
            }
            for i, name in enumerate(account.coordinates)
        },
    }


def _residual(values: tuple[float, float]) -> dict[str, float]:
    return {"force_rms_n": values[0], "moment_rms_nm": values[1]}
