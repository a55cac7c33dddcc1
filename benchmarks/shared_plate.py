"""Two feet on one plate: how well is the load shared between them? `python benchmarks/shared_plate.py`.

In the real walks whose feet stand on plates of their own, all plates of a walk are added to one that spans them, and each foot's
force in double support is compared with what its own plate measured. The numbers of `biodyn/library/gait/double_support.toml`
were taken from the first group; nothing was set by the second.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from common import Record, Table, parser_of, real_recordings, walks_below

from biodyn.conventions import SIDES, FloatArray
from biodyn.errors import BiodynError
from biodyn.processing.contacts.ground_reaction import compute_reaction, contact_decisions
from biodyn.processing.signals.signal_preparation import replace_wrenches
from biodyn.recording import PlateWrench
from biodyn.settings import Settings
from biodyn.trial.request import TrialRequest
from biodyn.trial.steps import STEPS, run_steps

TAKEN_FROM = ("biomechzoo", "sydney")
# The same walk in other settings of the laboratory's software, or a turn that puts one foot on a plate.
LEFT_OUT = ("PiG_Motion3_FF_N18", "PiG_Motion3_noFF", "HC032A18")
_BEYOND_M = 0.05


def as_one(plates: tuple[PlateWrench, ...]) -> PlateWrench:
    """One plate that spans all of them and carries their sum."""
    corners = np.concatenate([plate.corners for plate in plates])
    low, high = corners.min(axis=0) - _BEYOND_M, corners.max(axis=0) + _BEYOND_M
    y = corners[:, 1].mean()
    spans = np.array([[high[0], y, high[2]], [low[0], y, high[2]], [low[0], y, low[2]], [high[0], y, low[2]]])
    return replace(plates[0], number=1, corners=spans, wrench=np.sum([plate.wrench for plate in plates], axis=0))


def errors_of(path: Path, cutoff_hz: float) -> tuple[list[FloatArray], list[FloatArray]]:
    """Errors (n, 3) N/kg of both feet's forces while they share the plate, and the same in standard deviations."""
    settings = Settings.model_validate({"signals": {"force_cutoff_hz": cutoff_hz}})
    state = run_steps(TrialRequest(path=path, settings=settings), STEPS, "contacts")
    signals = replace_wrenches(state.signals, [as_one(state.signals.raw_plates)])
    decisions = contact_decisions(signals, state.points.sole, settings.contacts, state.mass_kg, state.fit)
    shared = compute_reaction(decisions, signals, settings.contacts)
    errors, deviations = [], []
    mass = state.mass_kg or float("nan")
    for load in shared.shared:
        if not len(load.sd):
            continue
        rows = slice(load.first_frame, load.first_frame + load.sd.shape[1])
        sd = np.sqrt((load.sd**2).sum(axis=0))[:, 3:]
        known = shared.measured[load.side][rows] & state.reaction.measured[load.side][rows]
        here = known & (sd[:, 1] > 0.3 * sd[:, 1].max())
        if here.any():
            error = (shared.wrench[load.side][rows] - state.reaction.wrench[load.side][rows])[here, 3:]
            errors.append(error / mass)
            deviations.append(error / sd[here])
    assert set(shared.measured) == set(SIDES)
    return errors, deviations


def main() -> None:
    """Print a row per walk and the sums of both groups."""
    parser = parser_of(__doc__)
    parser.add_argument("--cutoff-hz", type=float, default=20.0, help="of the plates' forces")
    arguments = parser.parse_args()
    root = real_recordings() / "gait"
    table = Table(["walk", "group", "vertical", "anterior-posterior", "mediolateral", "all three (N/kg RMS)"])
    groups: dict[str, list[FloatArray]] = {"taken from": [], "not seen": []}
    deviations: list[FloatArray] = []
    for path in walks_below(root):
        if any(name in path.name for name in LEFT_OUT):
            continue
        try:
            errors, ratios = errors_of(path, arguments.cutoff_hz)
        except BiodynError as error:
            table.row(path.stem, "", str(error)[:80])
            continue
        if not errors:
            continue
        group = "taken from" if path.relative_to(root).parts[0] in TAKEN_FROM else "not seen"
        groups[group] += errors
        deviations += ratios
        table.row(path.stem, group, *(f"{value:.2f}" for value in _rms(errors)))
    record = Record("shared_plate", vars(arguments))
    for group, found in groups.items():
        if found:
            for value, axis in zip(_rms(found), ("vertical", "along", "across", "all three"), strict=True):
                record.add(f"{group}: {axis}", value, "N/kg RMS")
    if deviations:
        every = np.concatenate(deviations)
        for number in (1, 2):
            record.add(f"within {number} SD", 100.0 * float(np.mean(np.abs(every) < number)), "%, larger is better")
    record.close()


def _rms(errors: list[FloatArray]) -> tuple[float, float, float, float]:
    """RMS of the vertical force, along and across World X, and of the whole vector."""
    x, y, z = np.sqrt((np.concatenate(errors) ** 2).mean(axis=0))
    return float(y), float(x), float(z), float(np.sqrt(x**2 + y**2 + z**2))


if __name__ == "__main__":
    main()
