"""What no sound trial asks an estimate for: markers far from where they were seen, a body or plates that cannot be.

The estimate has not converged then, the model is not of these markers, or something acted that no plate measured: a crutch, a
hand on a rail, a person who helps. It looks like another mass, and like plates that read too much.
"""

from __future__ import annotations

import numpy as np

from biodyn.errors import EstimateError
from biodyn.estimation.account import FAR_SD, EstimateAccount

# An estimate moves the model's markers by half a millimetre; this is the limit of a sound fit itself.
_FARTHEST_M = 0.02
# What is found of plates and of the body's mass is computed to first order: beyond these the second order is some per cent of a
# force. An aid that carries a tenth of the body all the time looks like another mass: the estimate is as good as the filter
# there, and half as good at the hip where it carries a fifth.
_MOST_GAIN, _MOST_MASS, _MOST_PLACE_M = 0.15, 0.15, 0.15
# Tables of segments differ by 8 %, and a prosthesis weighs half of what it stands for. A boot weighs as much as a foot.
_MOST_MASS_SHARE, _MOST_FOOT_SHARE = 0.6, 1.2
# A gross error is believed where motion and forces agree with it. Beyond so many times the expected error of the balance they do
# not: of real walks it comes to 1 to 2.5 times, beside a moved plate as well; with crutches beside the plates to 3 and more.
_MOST_UNBALANCED = 3.0
_LOOK = "Look for a force that no plate measured (an aid, a hand on a rail), a foot on two plates, a wrong body mass or plate."


def require_possible(account: EstimateAccount, force_sd_n: float) -> None:
    """Raise EstimateError where the estimate left the markers, or needs a plate or a body that cannot be.

    force_sd_n: expected error of the balance of forces in a hundredth of a second, N.
    """
    if account.marker_rms_m > _FARTHEST_M:
        raise EstimateError(
            f"It has not converged: it moved the markers of the model by {1e3 * account.marker_rms_m:.0f} mm RMS, more than "
            f"{1e3 * _FARTHEST_M:.0f} mm."
        )
    for plate in account.plates.errors:
        shift_m = float(np.abs(plate.shift_m).max())
        if abs(plate.gain) > _MOST_GAIN:
            much = "much" if plate.gain > 0 else "little"
            raise _impossible(f"plate {plate.number} would have to read {100 * abs(plate.gain):.0f} % too {much}")
        if shift_m > _MOST_PLACE_M:
            raise _impossible(f"plate {plate.number} would have to stand {100 * shift_m:.0f} cm beside its place")
    mass_kg, change_kg = account.raw_fit.model.mass_kg, account.mass_change_kg
    if abs(change_kg) > _MOST_MASS * mass_kg:
        # what is expected of a stated mass draws this towards 0: the true change is larger
        amount = f"at least {abs(change_kg):.0f} kg {'less' if change_kg < 0.0 else 'more'}"
        raise _impossible(f"the body would have to weigh {amount} than the {mass_kg:.0f} kg that are used")
    feet = account.raw_fit.model.sole_body.values()
    for segment, share in account.segment_mass_changes.items():
        if abs(share) > (_MOST_FOOT_SHARE if segment in feet and share > 0.0 else _MOST_MASS_SHARE):
            raise _impossible(f"the mass of {segment} would have to be another one by {100 * share:+.0f} %")
    gross = _gross(account)
    if gross and account.balance_sd[0] > _MOST_UNBALANCED * force_sd_n:
        raise EstimateError(
            f"Motion and forces disagree by {account.residual_unclosed[0]:.0f} N even with {gross}.",
            _LOOK,
        )


def _gross(account: EstimateAccount) -> str:
    """The first error that is found to be far beyond the usual, in words; "" for none."""
    expected = account.plates.expected
    for plate in account.plates.errors:
        shift_m = float(np.abs(plate.shift_m).max())
        if shift_m > FAR_SD * expected.place_m:
            return f"plate {plate.number} {100 * shift_m:.0f} cm beside its place"
        if abs(plate.gain) > FAR_SD * expected.gain:
            return f"another gain of plate {plate.number} by {100 * plate.gain:+.0f} %"
    if abs(account.mass_change_kg) > FAR_SD * account.mass_sd_kg:
        return f"another body mass by {account.mass_change_kg:+.1f} kg"
    return ""


def _impossible(what: str) -> EstimateError:
    return EstimateError(f"For motion and forces to agree {what}.", _LOOK)
