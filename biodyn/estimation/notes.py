"""What an estimate gives reason to doubt."""

from __future__ import annotations

import numpy as np

from biodyn.diagnostics import Diagnostic
from biodyn.estimation.account import EstimateAccount

# Farther off than this many standard deviations an unknown is not what people differ in.
_FAR_SD = 3.0


def estimate_notes(account: EstimateAccount) -> list[Diagnostic]:
    """Return a warning for every mass centre, and for the mass, that went farther than people are known to differ."""
    notes = []
    for segment, shift in account.centre_shifts_m.items():
        sd, size = account.centre_sd_m[segment], float(np.abs(shift).max())
        if size > _FAR_SD * sd:
            notes.append(
                Diagnostic(
                    "estimate-mass-centre",
                    "warning",
                    f"To make motion and forces agree the mass centre of {segment} was moved by {100 * size:.1f} cm, more than "
                    "people differ from the tables.",
                    value=size,
                    limit=_FAR_SD * sd,
                    unit="m",
                    hint="Look for a moved plate, a wrong body mass, or a posture that the static trial did not show; the "
                    "residual before the estimate tells how much is at stake.",
                    about=segment,
                )
            )
    if account.mass_sd_kg and abs(account.mass_change_kg) > _FAR_SD * account.mass_sd_kg:
        notes.append(
            Diagnostic(
                "estimate-mass",
                "warning",
                f"To make motion and forces agree the body's mass was changed by {account.mass_change_kg:+.1f} kg.",
                value=abs(account.mass_change_kg),
                limit=_FAR_SD * account.mass_sd_kg,
                unit="kg",
                hint="Check the body mass (--mass) and the scale of the plates.",
            )
        )
    return notes
