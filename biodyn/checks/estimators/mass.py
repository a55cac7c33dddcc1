"""Is the stated mass what the plates carry, while walking and while standing?"""

from __future__ import annotations

import numpy as np

from biodyn.checks.estimators.evidence import Evidence
from biodyn.conventions import STANDARD_GRAVITY_M_S2
from biodyn.diagnostics import Diagnostic
from biodyn.processing.calibration.subject import KG_A_POUND

# Shorter than this, the change of the centre of mass's velocity is not known well enough.
_LEAST_S = 0.35


def walking_mass_kg(evidence: Evidence) -> float | None:
    """Mass for which the plates' impulse equals that of the body's motion, over the frames measured completely.

    m = integral(F) / integral(g + a): the acceleration of the centre of mass does not depend on the mass. None where too
    little was measured.
    """
    # a plate that holds no number for a while tells nothing then
    rows = evidence.complete & np.isfinite(evidence.measured[:, 4]) & np.isfinite(evidence.required[:, 4])
    if rows.sum() < _LEAST_S * evidence.rate_hz:
        return None
    stated = evidence.weight_n / STANDARD_GRAVITY_M_S2
    return float(stated * evidence.measured[rows, 4].sum() / evidence.required[rows, 4].sum())


def mass_mismatch(evidence: Evidence, standing_kg: float | None, limit: float) -> tuple[Diagnostic, ...]:
    """Say where plates and the mass that is used differ by more than the share `limit`; `standing_kg` from the static trial."""
    stated = evidence.weight_n / STANDARD_GRAVITY_M_S2
    walking = walking_mass_kg(evidence)
    known = [mass for mass in (walking, standing_kg) if mass is not None]
    shares = [mass / stated - 1.0 for mass in known]
    if not shares or max(np.abs(shares)) <= limit:
        return ()
    parts = []
    if walking is not None:
        parts.append(f"{walking:.1f} kg in this walk")
    if standing_kg is not None:
        parts.append(f"{standing_kg:.1f} kg in the static trial")
    # Walk and standing agree with each other: it is the number that is wrong. Only one is off: it is that recording.
    if walking is None or standing_kg is None or abs(walking / standing_kg - 1.0) <= limit:
        hint = "Check the stated mass (clothes and shoes count), then the gain of the plates."
        if all(abs(stated * KG_A_POUND / mass - 1.0) <= limit for mass in known):
            hint = f"The stated mass seems to be in pounds: {stated:.1f} lb are {stated * KG_A_POUND:.1f} kg. Give it by --mass."
    elif abs(standing_kg / stated - 1.0) <= limit:
        hint = "Standing agrees: look for a foot partly beside the plates, a support, or the offset of a plate."
    elif abs(walking / stated - 1.0) <= limit:
        hint = "The walk agrees: look at the static trial (a foot partly beside the plate)."
    else:
        hint = "All three differ: weigh the person, then look for a foot partly beside the plates in the static trial."
    worst = float(max(shares, key=abs))
    return (
        Diagnostic(
            "mass-mismatch",
            "warning",
            f"Force plates: {' and '.join(parts)}; mass used: {stated:.1f} kg ({100 * worst:+.1f} %).",
            value=worst,
            limit=limit,
            hint=hint,
        ),
    )
