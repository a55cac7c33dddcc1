"""Forces and moments in a wrong unit: off by a power of ten that no person and no foot can make."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from biodyn.checks.estimators.evidence import Evidence, pressure
from biodyn.diagnostics import Diagnostic
from biodyn.library.load import load_table
from biodyn.recording import PlateWrench

# A smaller factor is no unit: shifted and turned plates and real people stay inside. A force at the sensor, below the
# surface, keeps the pressure moving a little even where the moments are next to nothing.
LARGEST_FACTOR = 7.0
_LEAST_FRAMES = 5
# Lightest and heaviest person, N.
_PEOPLE_N = (80.0, 3000.0)
# Nobody presses a plate harder than this for as long: ten times the heaviest person's weight, a landing.
_MOST_N, _MOST_S = 30e3, 0.1


def force_unit(evidence: Evidence) -> tuple[Diagnostic, ...]:
    """Compare the plates' vertical force with what the body's motion asks for."""
    factor = force_ratio(evidence)
    if not np.isfinite(factor) or 1.0 / LARGEST_FACTOR < factor < LARGEST_FACTOR:
        return ()
    message = f"The plates show {factor:.2g} times the force expected from body weight and motion."
    return (_note("force-unit", message, factor, "forces"),)


def force_ratio(evidence: Evidence) -> float:
    """Vertical force of the plates as a multiple of what the body asks for, median of the steps; NaN without steps."""
    ratios = [
        float(evidence.plates[step.plate].wrench[step.alone, 4].sum() / evidence.required[step.alone, 4].sum())
        for step in evidence.steps
        if step.alone.sum() >= _LEAST_FRAMES
    ]
    if not ratios:
        peaks = [float(evidence.plates[step.plate].wrench[step.first : step.stop, 4].max()) for step in evidence.steps]
        ratios = [max(peaks) / evidence.weight_n] if peaks else []
    return float(np.median(ratios)) if ratios else float("nan")


def moment_unit(evidence: Evidence) -> tuple[Diagnostic, ...]:
    """Compare the reach of the centre of pressure from the middle of its plate with that of the foot."""
    factor = moment_ratio(evidence)
    if not np.isfinite(factor) or 1.0 / LARGEST_FACTOR < factor < LARGEST_FACTOR:
        return ()
    message = f"The centre of pressure moves {factor:.2g} times as far from the middle of its plate as the foot is."
    return (_note("moment-unit", message, factor, "moments"),)


def moment_ratio(evidence: Evidence) -> float:
    """Reach of the centre of pressure as a multiple of the foot's, median of the steps; NaN without steps."""
    share = load_table("checks/checks")["pressure_path"]["share"]
    ratios = []
    for step in evidence.steps:
        firm = np.flatnonzero(step.firm)
        if step.side is None or not step.rolls or len(firm) < _LEAST_FRAMES or not np.isfinite(step.heel).all():
            continue
        plate = evidence.plates[step.plate]
        centre = plate.corners.mean(axis=0)
        along = np.interp(np.linspace(0.0, 1.0, len(firm)), (0.0, 0.5, 1.0), share)[:, None]
        foot = (1.0 - along) * step.heel + along * step.toe + evidence.carried(step, firm) - centre
        foot = foot * (1.0, 0.0, 1.0)
        ratios.append(_size(pressure(plate, firm) - centre) / _size(foot))
    return float(np.median(ratios)) if ratios else float("nan")


def unloaded_cause(plates: Sequence[PlateWrench]) -> str:
    """Likely cause, in a sentence, where no plate was ever loaded like a plate under a person."""
    vertical = [plate.wrench[np.isfinite(plate.wrench[:, 4]), 4] for plate in plates]
    swing = max((float(np.ptp(force)) for force in vertical if len(force)), default=0.0)
    if swing == 0.0:
        return "The force channels are constant: the plates were not recorded or not exported."
    if _PEOPLE_N[0] <= 1000.0 * swing <= _PEOPLE_N[1]:
        return (
            f"The force changes by {swing:.3g} N at most, a thousandth of a person's weight: it seems to be stored in kN or "
            "with a wrong scale."
        )
    return f"The force changes by {swing:.3g} N at most: nobody stepped on the plates, or they were switched off."


def impossible_load(plates: Sequence[PlateWrench]) -> float | None:
    """Return the vertical force (N) some plate carried for longer than anybody could, None where none did."""
    for plate in plates:
        size = np.sort(np.abs(plate.wrench[np.isfinite(plate.wrench[:, 4]), 4]))
        longest = max(1, round(_MOST_S * plate.rate_hz))
        if len(size) >= longest and size[-longest] > _MOST_N:
            return float(size[-longest])
    return None


def _size(vectors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.sum(vectors**2, axis=1))))


def _note(code: str, message: str, factor: float, what: str) -> Diagnostic:
    return Diagnostic(
        code,
        "error",
        f"{message} Nothing was changed.",
        value=factor,
        limit=LARGEST_FACTOR if factor > 1.0 else 1.0 / LARGEST_FACTOR,
        hint=f"The {what} of the plates seem to be in a wrong unit (N and Nmm are usual) or scale: check ANALOG:UNITS, "
        "ANALOG:SCALE and GEN_SCALE, and export the trial again.",
    )
