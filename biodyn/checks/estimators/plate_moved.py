"""A plate that stands elsewhere than the file says: the shift that would bring its forces back under the feet.

Each whole step tells twice where its force should be: by the place of the footprint, and by the moment about the centre of
mass. Both carry a constant of the person (how the foot rolls, where the trunk's mass lies), known within a spread and shared
by all steps. One plate's shift is then the least-squares answer of all steps together. A marker of a foot that was moved
displaces the footprints too, but those of that foot on every plate, and the moment knows nothing of it: the rival answer.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from biodyn.checks.estimators.evidence import Evidence, pressure
from biodyn.checks.estimators.plate_faults import levers
from biodyn.conventions import SIDE_NAMES, SIDES, FloatArray, Side
from biodyn.diagnostics import Diagnostic
from biodyn.geometry.points import signed_distance
from biodyn.library.load import load_table
from biodyn.recording import PlateWrench

_LEAST_FRAMES = 5
# The shift must stand out this many times from its own standard deviation, ...
_SIGNIFICANT = 3.0
# ... and explain this much more (in squared deviations) than that no plate was moved.
_LEAST_GAIN = 12.0
# A foot's markers are blamed instead where they explain this much more.
_RIVAL_GAIN = 2.0
# Heel and toe of a footprint are known to about this.
_PRINT_M = 0.02


@dataclass(frozen=True)
class PlateShift:
    """Estimated shift of one plate against the file, (3,) m World (level), its standard deviation m.

    `gain`: how much of `before`, the sum of squared deviations without a shift, it takes away.
    """

    plate: int
    shift_m: FloatArray
    sd_m: float
    gain: float
    before: float


@dataclass(frozen=True)
class FootShift:
    """Estimated place of one foot's pressure on its footprint off the usual one, forward and outward m; and the gain."""

    side: Side
    forward_m: float
    outward_m: float
    gain: float


@dataclass(frozen=True)
class _Row:
    """One observation: which plate and foot, along which World direction, on which person's constant, its sd."""

    plate: int
    side: Side
    direction: FloatArray
    constant: int
    value: float
    sd: float


def plate_moved(evidence: Evidence, limit_m: float) -> tuple[Diagnostic, ...]:
    """Name the plate that seems shifted by more than `limit_m`, with the shift that would remove the disagreement."""
    found = estimate_shift(evidence)
    if found is None or found.gain < _LEAST_GAIN:
        return ()
    foot = estimate_foot(evidence)
    if foot is not None and foot.gain > found.gain + _RIVAL_GAIN:
        size = float(np.hypot(foot.forward_m, foot.outward_m))
        return (_foot_note(foot, size, limit_m),) if size >= limit_m and _on_plate(evidence, foot.side) else ()
    size = float(np.linalg.norm(found.shift_m))
    if size < limit_m or size < _SIGNIFICANT * found.sd_m:
        return ()
    plate = evidence.plates[found.plate]
    own = [step for step in evidence.steps if step.plate == found.plate]
    what, where, cause = _of_plate(plate) if plate.outlined else _of_table(plate, {step.side for step in own})
    return (
        Diagnostic(
            "plate-moved",
            "warning",
            f"{what} {100 * size:.1f} cm from {where} "
            f"({100 * found.shift_m[0]:+.1f} cm forward, {100 * found.shift_m[2]:+.1f} cm to the right): moving it there "
            f"removes {100 * found.gain / found.before:.0f} % of the squared disagreement between feet, body and plates. "
            "Nothing was changed.",
            value=size,
            limit=limit_m,
            unit="m",
            frames=(min(s.first for s in own), max(s.stop for s in own) - 1),
            hint=cause,
        ),
    )


def _of_plate(plate: PlateWrench) -> tuple[str, str, str]:
    """What seems to be elsewhere, where it should be, and what to do."""
    return (
        f"Plate {plate.number} seems to be",
        "its position in the file",
        "Measure the plate's corners again, or look for a plate or camera calibration that was moved.",
    )


def _of_table(plate: PlateWrench, sides: Collection[Side | None]) -> tuple[str, str, str]:
    """The same of forces in a table, which tells no plate: they may be those of several, all on one foot."""
    feet = [SIDE_NAMES[side] for side in SIDES if side in sides]
    return (
        f"The force of the table on the {' and '.join(feet)} foot (plate {plate.number}) seems to act",
        "the point where the table has it",
        "Look whether the table's points of application and the markers share one origin and one time.",
    )


def _on_plate(evidence: Evidence, side: Side) -> bool:
    """Did this foot stand on a plate from heel to toe in any step? Beyond the edge, part of its load is on the floor."""
    return any(
        evidence.plates[step.plate].outlined
        and bool(
            (signed_distance(np.stack([step.heel, step.toe]), evidence.plates[step.plate].corners) < _PRINT_M).all()
        )
        for step in evidence.steps
        if step.side == side and step.whole and np.isfinite(step.heel).all()
    )


def _foot_note(foot: FootShift, size: float, limit_m: float) -> Diagnostic:
    return Diagnostic(
        "marker-moved",
        "warning",
        f"The {SIDE_NAMES[foot.side]} foot's centre of pressure is {100 * size:.1f} cm off its usual place within the foot "
        f"({100 * foot.forward_m:+.1f} cm forward, {100 * foot.outward_m:+.1f} cm outward), on every plate, while the body "
        "agrees with the plates. Nothing was changed.",
        value=size,
        limit=limit_m,
        unit="m",
        hint="A marker of this foot was elsewhere in the static trial, or the foot outline does not fit the shoe.",
    )


def estimate_shift(evidence: Evidence) -> PlateShift | None:
    """The plate whose shift explains most, None without usable steps."""
    rows = _observations(evidence)
    if not rows:
        return None
    base = _solve(rows, [np.zeros(2)] * len(rows))[0]
    best: PlateShift | None = None
    for candidate in sorted({row.plate for row in rows}):
        # The centre of pressure moves with the plate; the lever is what is missing and moves against it.
        senses = [(1.0 if row.constant < 2 else -1.0) * (row.plate == candidate) for row in rows]
        cost, shift, sd = _solve(rows, [sense * row.direction[::2] for sense, row in zip(senses, rows, strict=True)])
        if best is None or base - cost > best.gain:
            # `shift` is where the file's wrong place carried the centre of pressure: the plate is at its opposite.
            best = PlateShift(candidate, np.array([-shift[0], 0.0, -shift[1]]), sd, base - cost, base)
    return best


def estimate_foot(evidence: Evidence) -> FootShift | None:
    """The foot whose pressure lies elsewhere on its footprints in all steps, if that explains anything."""
    rows = _observations(evidence)
    base = _solve(rows, [np.zeros(2)] * len(rows))[0] if rows else 0.0
    best: FootShift | None = None
    for side in {row.side for row in rows}:
        axes = [np.eye(2)[row.constant % 2] * (row.side == side and row.constant < 2) for row in rows]
        cost, shift, _ = _solve(rows, axes)
        if best is None or base - cost > best.gain:
            best = FootShift(side, float(shift[0]), float(shift[1]), base - cost)
    return best


def _observations(evidence: Evidence) -> list[_Row]:
    """Footprint forward and outward (constants 0, 1), lever forward and outward (2, 3), of every whole step."""
    table = load_table("checks/checks")
    path, body = table["pressure_path"], table["body"]
    noise = (path["step_sd_m"], path["step_sd_m"], body["lever_step_forward_sd_m"], body["lever_step_outward_sd_m"])
    rows: list[_Row] = []
    for step in evidence.steps:
        if step.side is None or not (step.whole and step.rolls) or not np.isfinite(step.heel).all():
            continue
        plate = evidence.plates[step.plate]
        firm, alone = np.flatnonzero(step.firm), np.flatnonzero(step.alone)
        if len(firm) < _LEAST_FRAMES:
            continue
        local = (pressure(plate, firm) - evidence.carried(step, firm) - step.heel) @ step.axes.T
        ends = np.array([local[:2, 0].mean(), local[-2:, 0].mean()]) / step.length_m
        ahead = float(np.mean(ends - (path["share"][0], path["share"][2]))) * step.length_m
        values = [ahead, float(np.median(local[:, 1]))]
        if len(alone) >= _LEAST_FRAMES:
            values += [float(value) for value in np.median(levers(evidence, plate, alone) @ step.axes.T, axis=0)]
        for constant, value in enumerate(values):
            direction = step.axes[constant % 2]
            rows.append(_Row(step.plate, step.side, direction, constant, value, noise[constant]))
    return rows


def _solve(rows: list[_Row], unknown: list[FloatArray]) -> tuple[float, FloatArray, float]:
    """Weighted least squares for the person's constants and two unknowns; cost, the unknowns (2,) m, their larger sd.

    `unknown`: how each row depends on the two; all zero where there are none.
    """
    table = load_table("checks/checks")
    path, body = table["pressure_path"], table["body"]
    # The person's constants: their usual values and spreads.
    usual = np.array([0.0, 0.0, body["lever_forward_m"], 0.0])
    spread = np.array(
        [
            path["person_forward_sd_m"],
            path["person_outward_sd_m"],
            body["lever_person_forward_sd_m"],
            body["lever_person_outward_sd_m"],
        ]
    )
    count = len(usual)
    A = np.zeros((len(rows) + count, count + 2))
    b = np.zeros(len(A))
    for k, (row, depends) in enumerate(zip(rows, unknown, strict=True)):
        A[k, row.constant] = 1.0 / row.sd
        A[k, count:] = depends / row.sd
        b[k] = row.value / row.sd
    A[len(rows) :, :count] = np.diag(1.0 / spread)
    b[len(rows) :] = usual / spread
    solution, *_ = np.linalg.lstsq(A, b, rcond=None)
    covariance = np.linalg.pinv(A.T @ A)[count:, count:]
    sd = float(np.sqrt(np.linalg.eigvalsh(covariance)[-1]))
    return float(np.sum((A @ solution - b) ** 2)), np.asarray(solution[count:], dtype=np.float64), sd
