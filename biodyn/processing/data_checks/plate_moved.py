"""A plate that stands elsewhere than the file says: the shift that would bring its forces back under the feet.

Each whole step tells twice where its force should be: by the place of the footprint, and by the moment about the centre of
mass. Both carry a constant of the person (how the foot rolls, where the trunk's mass lies), known within a spread and shared
by all steps. One plate's shift is then the least-squares answer of all steps together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.diagnostics import Diagnostic
from biodyn.model.library import load_table
from biodyn.processing.data_checks.evidence import Evidence, pressure
from biodyn.processing.data_checks.plate_faults import levers

_LEAST_FRAMES = 5
# The shift must stand out this many times from its own standard deviation, ...
_SIGNIFICANT = 3.0
# ... and explain this much more (in squared deviations) than that no plate was moved.
_LEAST_GAIN = 12.0


@dataclass(frozen=True)
class PlateShift:
    """Estimated shift of one plate against the file, (3,) m World (level), its standard deviation m, and the gain."""

    plate: int
    shift_m: FloatArray
    sd_m: float
    gain: float


def plate_moved(evidence: Evidence, limit_m: float) -> tuple[Diagnostic, ...]:
    """Name the plate that seems shifted by more than `limit_m`, with the shift that would remove the disagreement."""
    found = estimate_shift(evidence)
    if found is None or found.gain < _LEAST_GAIN:
        return ()
    size = float(np.linalg.norm(found.shift_m))
    if size < limit_m or size < _SIGNIFICANT * found.sd_m:
        return ()
    plate = evidence.plates[found.plate]
    own = [step for step in evidence.steps if step.plate == found.plate]
    return (
        Diagnostic(
            "plate-moved",
            "warning",
            f"Plate {plate.number} seems to stand {100 * size:.1f} cm from where the file says "
            f"({100 * found.shift_m[0]:+.1f} cm forward, {100 * found.shift_m[2]:+.1f} cm to the right): moving it there "
            "brings its centre of pressure under the foot and its force to the centre of mass as on the other plates. "
            "Nothing was changed.",
            value=size,
            limit=limit_m,
            unit="m",
            frames=(min(s.first for s in own), max(s.stop for s in own) - 1),
            hint="Measure the plate's corners again, or look for a plate or camera calibration that was moved.",
        ),
    )


def estimate_shift(evidence: Evidence) -> PlateShift | None:
    """The plate whose shift explains most, None without usable steps."""
    table = load_table("checks")
    path, body = table["pressure_path"], table["body"]
    rows: list[tuple[int, FloatArray, float, float, float]] = []  # plate, World direction, person constant, value, sd
    # Person constants: footprint forward, outward, lever forward, outward; with their usual values and spreads.
    usual = np.array([0.0, 0.0, body["lever_forward_m"], 0.0])
    spread = np.array(
        [
            path["person_forward_sd_m"],
            path["person_outward_sd_m"],
            body["lever_person_forward_sd_m"],
            body["lever_person_outward_sd_m"],
        ]
    )
    noise = (
        path["step_sd_m"],
        path["step_sd_m"],
        body["lever_step_forward_sd_m"],
        body["lever_step_outward_sd_m"],
    )
    for step in evidence.steps:
        if step.side is None or not step.whole or not np.isfinite(step.heel).all():
            continue
        plate = evidence.plates[step.plate]
        firm, alone = np.flatnonzero(step.firm), np.flatnonzero(step.alone)
        if len(firm) < _LEAST_FRAMES:
            continue
        local = (pressure(plate, firm) - step.heel) @ step.axes.T
        ends = np.array([local[:2, 0].mean(), local[-2:, 0].mean()]) / step.length_m
        ahead = float(np.mean(ends - (path["share"][0], path["share"][2]))) * step.length_m
        values = [(0, ahead), (1, float(np.median(local[:, 1])))]
        if len(alone) >= _LEAST_FRAMES:
            lever = np.median(levers(evidence, plate, alone) @ step.axes.T, axis=0)
            values += [(2, float(lever[0])), (3, float(lever[1]))]
        for constant, value in values:
            # The centre of pressure moves with the plate; the lever is what is missing and moves against it.
            sense = 1.0 if constant < 2 else -1.0
            rows.append((step.plate, sense * step.axes[constant % 2], constant, value, noise[constant]))
    if not rows:
        return None
    candidates = sorted({plate for plate, *_ in rows})
    base = _solve(rows, None, usual, spread)[0]
    best: PlateShift | None = None
    for candidate in candidates:
        cost, shift, sd = _solve(rows, candidate, usual, spread)
        if best is None or base - cost > best.gain:
            # `shift` is where the centre of pressure was carried by the file's wrong place: the plate is at its opposite.
            best = PlateShift(candidate, np.array([-shift[0], 0.0, -shift[1]]), sd, base - cost)
    return best


def _solve(
    rows: list[tuple[int, FloatArray, float, float, float]], moved: int | None, usual: FloatArray, spread: FloatArray
) -> tuple[float, FloatArray, float]:
    """Weighted least squares for the person's constants and one plate's shift; cost, shift (2,) m, its larger sd."""
    count = len(usual) + (2 if moved is not None else 0)
    A = np.zeros((len(rows) + len(usual), count))
    b = np.zeros(len(A))
    for k, (plate, direction, constant, value, sd) in enumerate(rows):
        A[k, int(constant)] = 1.0 / sd
        if plate == moved:
            A[k, len(usual) :] = direction[::2] / sd
        b[k] = value / sd
    A[len(rows) :, : len(usual)] = np.diag(1.0 / spread)
    b[len(rows) :] = usual / spread
    solution, *_ = np.linalg.lstsq(A, b, rcond=None)
    cost = float(np.sum((A @ solution - b) ** 2))
    if moved is None:
        return cost, np.zeros(2), 0.0
    covariance = np.linalg.inv(A.T @ A)[len(usual) :, len(usual) :]
    shift = np.asarray(solution[len(usual) :], dtype=np.float64)
    return cost, shift, float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))
