"""Peaks of the ground reaction in what people are shown, against the plates' own record at 50 Hz.

    python benchmarks/ground_reaction.py [FOLDER ...]      without a folder: folder gait of BIODYN_TEST_DATA

For every whole contact of one foot: the peaks of each axis of the force in the first or second half of stance (medial: in all),
at the plate's own rate through 50 Hz; then how far those that the parameters of a stride say (`spatiotemporal`), of the table at
the plates' rate, of the table at the frames, of the curves over the gait cycle (101 points) and of the force that the dynamics
use are off, in per cent of the peak. Peaks below 2 % of body weight are left out.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from common import Record, Stopwatch, Table, ask, real_recordings, tell, walks_below

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import STANDARD_GRAVITY_M_S2, FloatArray
from biodyn.errors import BiodynError
from biodyn.output.tables.registry import make_table
from biodyn.processing.signals.filtering import butterworth_lowpass
from biodyn.processing.signals.signal_preparation import FULL_BANDWIDTH_HZ
from biodyn.recording import Contact
from biodyn.trial.run import analyse_trial

_PEAKS = {
    "vertical, first": (1, 1.0, 0),
    "vertical, second": (1, 1.0, 1),
    "braking": (0, -1.0, 0),
    "propulsion": (0, 1.0, 1),
    "lateral, first": (2, 1.0, 0),
    "medial": (2, -1.0, None),
}
_COLUMNS = {
    "vertical, first": "vertical_force_first_BW",
    "vertical, second": "vertical_force_second_BW",
    "braking": "braking_force_max_BW",
    "propulsion": "propulsion_force_max_BW",
    "lateral, first": "lateral_force_first_BW",
    "medial": "medial_force_max_BW",
}
_LEAST_BW = 0.02


def main() -> None:
    """Print one table: peaks down, sources across."""
    arguments = ask(__doc__, folders=True)
    record, watch = Record("ground_reaction", vars(arguments)), Stopwatch()
    warnings.simplefilter("ignore", RuntimeWarning)
    off: dict[tuple[str, str], list[float]] = defaultdict(list)
    for path in walks_below(*(arguments.folders or [real_recordings() / "gait"])):
        try:
            analysis = analyse_trial(path, torques_only=True)
        except BiodynError as error:
            tell(f"  {path.name}: {error.message[:100]}")
            continue
        for name, source, per_cent in _differences(analysis):
            off[name, source].append(per_cent)
    sources = tuple(dict.fromkeys(source for _, source in off))
    table = Table(("peak", "n", *(f"{source}: median, within 2 %" for source in sources)))
    for name in _PEAKS:
        cells = [np.array(off[name, source]) for source in sources]
        table.row(
            name, len(cells[0]), *(f"{np.median(e):+.1f} %, {100 * np.mean(np.abs(e) <= 2.0):.0f} %" for e in cells)
        )
    for source in sources:
        every = np.abs(np.concatenate([off[name, source] for name in _PEAKS]))
        record.add(f"{source}: within 2 %", 100.0 * float(np.mean(every <= 2.0)), "% of the peaks, larger is better")
        record.add(f"{source}: median of all", float(np.median(every)), "% of the peak")
    record.add("whole run", watch.seconds)
    record.close()


def _differences(analysis: TrialAnalysis) -> Iterator[tuple[str, str, float]]:
    weight_n = analysis.subject.mass_kg * STANDARD_GRAVITY_M_S2
    rate_hz = analysis.recording.markers.rate_hz
    plates = {plate.number: plate for plate in analysis.propagation.signals.raw_plates}  # type: ignore[union-attr]
    for contact in analysis.contacts:
        if not _alone(contact, analysis):
            continue
        side, plate = contact.side, plates[contact.plate]
        truth = butterworth_lowpass(plate.wrench[:, 3:], plate.rate_hz, FULL_BANDWIDTH_HZ, 4)
        shown = {
            "plates' rate": (analysis.plate_rate_forces.wrench[side][:, 3:], analysis.plate_rate_forces.rate_hz, 0.0),  # type: ignore[union-attr]
            "frames": (analysis.reaction.full_bandwidth_reaction.wrench[side][:, 3:], rate_hz, 0.0),
            "dynamics": (analysis.reaction.wrench[side][:, 3:], rate_hz, 0.0),
        }
        for values in analysis.cycles:
            cycle = values.cycle
            if cycle.side == side and abs(cycle.start_s - contact.start_s) < 0.05:
                curve = weight_n * np.stack([values.curve(f"ground_force_{axis}") for axis in "xyz"], axis=1)
                shown["cycle"] = (curve, 100.0 / cycle.duration_s, cycle.start_s)
        own = _parameters(analysis, contact)
        for name, (axis, sign, half) in _PEAKS.items():
            if side == "l" and axis == 2:
                sign = -sign
            peak = _peak(truth, plate.rate_hz, 0.0, contact, axis, sign, half)
            if peak > _LEAST_BW * weight_n:
                if np.isfinite(own.get(name, np.nan)):
                    yield name, "parameter", 100.0 * (weight_n * own[name] / peak - 1.0)
                for source, (force, hz, begin_s) in shown.items():
                    found = _peak(force, hz, begin_s, contact, axis, sign, half)
                    if np.isfinite(found):
                        yield name, source, 100.0 * (found / peak - 1.0)


def _parameters(analysis: TrialAnalysis, contact: Contact) -> dict[str, float]:
    """The peaks that the table of parameters holds of the stance of a contact, body weights; nothing without a cycle."""
    for values, row in zip(analysis.cycles, make_table(analysis, "spatiotemporal").to_dict("records"), strict=True):
        if values.cycle.side == contact.side and abs(values.cycle.start_s - contact.start_s) < 0.05:
            return {name: float(row[column]) for name, column in _COLUMNS.items()}
    return {}


def _peak(
    force: FloatArray, rate_hz: float, begin_s: float, contact: Contact, axis: int, sign: float, half: int | None
) -> float:
    middle_s = 0.5 * (contact.start_s + contact.end_s)
    whole = (contact.start_s, contact.end_s)
    span = whole if half is None else (whole[0], middle_s) if half == 0 else (middle_s, whole[1])
    first, stop = (round((t - begin_s) * rate_hz) for t in span)
    part = sign * force[max(first, 0) : stop + 1, axis]
    return float(part.max()) if len(part) else float("nan")


def _alone(contact: Contact, analysis: TrialAnalysis) -> bool:
    """A contact that is the whole stance of one foot."""
    same = [c for c in analysis.contacts if c is not contact and c.end_s > contact.start_s - 0.02]
    beside = any(
        c.start_s < contact.end_s + 0.02 and (c.plate == contact.plate or c.side == contact.side) for c in same
    )
    return contact.decision == "assigned" and contact.start_s > 0.0 and not beside


if __name__ == "__main__":
    main()
