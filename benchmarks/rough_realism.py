"""Are simulated walks as rough as recorded ones? `python benchmarks/rough_realism.py [FOLDER ...]`

A row each recording of the folders (else those of BIODYN_TEST_DATA), then one for each class of simulated walks: RMS of the
vertical force above 6, 10 and 20 Hz in the first 0.2 s of the stances, fore-aft above 6 Hz, body weights; largest loading rate
through 50 Hz; the first peak above 6 Hz and its time; RMS movement of the markers of pelvis, thigh, shank and foot from 6 to 10
and from 10 to 20 Hz, mm an axis; what the hip's extensor torque gains from 6 to 20 Hz at strikes, Nm/kg; the base residual at 6
and 20 Hz, N.
Then the heels about the strikes (20 N on the plate), by laboratory and by class of simulated walks: height over where the heel
is 60 ms later, mm, velocity downwards, m/s, and forward, share of its fast speed, at five times; medians of the strikes,
with the middle 80 % of all recorded and of all simulated ones (runners and smooth walks are not among these).
Recordings whose markers have next to nothing from 20 to 40 Hz were smoothed before they were stored.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, Table, parser_of, recordings_at_hand, tell, walks_below
from simulator.rough_walks import class_names, rough_recording
from simulator.roughness import Roughness, roughness_of
from simulator.strikes import TIMES_S, HeelStrikes, heel_strikes

from biodyn.analysis import TrialAnalysis
from biodyn.errors import BiodynError
from biodyn.trial.run import analyse_trial

CUTOFFS_HZ = (6.0, 20.0)
SEGMENTS = ("pelvis", "femur", "tibia", "calcn")
EARLY_S = 0.08
HEADS = (
    "recording",
    "Fz above 6 / 10 / 20 Hz, BW",
    "Fx above 6 Hz",
    "loading, BW/s",
    "first peak, BW at ms",
    *(f"{segment}, mm" for segment in SEGMENTS),
    "hip spike, Nm/kg",
    "residual 6 -> 20 Hz, N",
)


def recordings(folders: list[Path]) -> Iterator[tuple[str, Path, Path | None]]:
    """Yield laboratory (the folder), walk and static trial (None: looked for beside it) of real walks."""
    for folder in folders or [place / "gait" for place in recordings_at_hand()[1:]]:
        for walk in walks_below(folder):
            yield (folder.name, *walk.relative_to(folder).parts[:-1])[:2][-1], walk, None


def hip_spike(slow: TrialAnalysis, fast: TrialAnalysis) -> float:
    """Most that the hip's extensor torque through 20 Hz exceeds that through 6 Hz at strikes, Nm/kg, median of them."""
    rate, names = slow.recording.markers.rate_hz, [c.name for c in slow.model.coordinates]
    spikes = []
    for contact in slow.contacts:
        name = f"hip_flexion_{contact.side}"
        if contact.decision == "assigned" and name in names:
            first = max(round((contact.start_s - 0.02) * rate), 0)
            here = slice(first, first + round(EARLY_S * rate))
            more = (slow.dynamics.torques - fast.dynamics.torques)[here, names.index(name)]
            if np.isfinite(more).any():
                spikes.append(float(np.nanmax(more)) / slow.subject.mass_kg)
    return float(np.median(spikes)) if spikes else float("nan")


def row(name: str, walk: Path, static: Path | None, table: Table) -> tuple[Roughness, HeelStrikes] | None:
    """Analyse a recording with both cut-offs and print its row; how its heels come down is looked at through 20 Hz."""
    try:
        found = [
            analyse_trial(walk, static, settings={"signals": {"cutoff_hz": hz}}, torques_only=True) for hz in CUTOFFS_HZ
        ]
    except BiodynError as error:
        tell(f"| {name} | {error.message} |")
        return None
    rough = roughness_of(found[0])
    residuals = [rough.residual_n, roughness_of(found[1]).residual_n]
    upward, forward = (rough.force_bw[axis] or (np.nan,) * 3 for axis in ("upward", "forward"))
    table.row(
        name,
        " / ".join(f"{value:.3f}" for value in upward),
        f"{forward[0]:.3f}",
        f"{rough.loading_bw_s:.0f}",
        f"{rough.transient_bw:.2f} at {1e3 * rough.transient_s:.0f}",
        *(" / ".join(f"{mm:.2f}" for mm in rough.marker_mm.get(segment, ())[:2]) for segment in SEGMENTS),
        f"{hip_spike(*found):.2f}",
        " -> ".join(f"{value:.0f}" for value in residuals),
    )
    return rough, heel_strikes(found[1])


def show_heels(recorded: Mapping[str, Sequence[HeelStrikes]], simulated: Mapping[str, Sequence[HeelStrikes]]) -> None:
    """Print how heels come down: a row a laboratory or class, and all of them."""
    times = " / ".join(f"{1e3 * t:+.0f}" for t in TIMES_S)
    tell()
    table = Table(
        ("heels", "strikes", f"height, mm, at {times} ms", "downwards, m/s", "forward, share of the fast speed")
    )
    for title, groups in (("recorded", recorded), ("simulated", simulated)):
        for name, strikes in groups.items():
            _heel_row(table, name, strikes)
        every = [strikes for name, group in groups.items() for strikes in group if name not in ("smooth", "running")]
        for part, share in (("median", 50), ("10 %", 10), ("90 %", 90)):
            _heel_row(table, f"all {title}, {part}", every, share)


def _heel_row(table: Table, name: str, strikes: Sequence[HeelStrikes], share: int = 50) -> None:
    if not any(len(found.height_mm) for found in strikes):
        return
    cells = []
    for field, digits in zip(fields(HeelStrikes), (1, 2, 2), strict=True):
        values = np.percentile(np.concatenate([getattr(found, field.name) for found in strikes]), share, axis=0)
        cells.append(" / ".join(f"{value:.{digits}f}" for value in values))
    table.row(name, sum(len(found.height_mm) for found in strikes), *cells)


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__, folders=True, seed=3, only="")
    arguments = parser.parse_args()
    record, watch = Record("rough_realism", {"seed": arguments.seed}), Stopwatch()
    table = Table(HEADS)
    real, simulated = [], []
    heels: dict[bool, dict[str, list[HeelStrikes]]] = {True: defaultdict(list), False: defaultdict(list)}
    for laboratory, walk, static in recordings(arguments.folders):
        if (found := row(walk.stem, walk, static, table)) is not None:
            real.append(found[0])
            heels[True][laboratory].append(found[1])
    for name in class_names():
        if arguments.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            walk, static = rough_recording(name, arguments.seed).write(Path(folder))
            found = row(f"simulated: {name}", walk, static, table)
        if found is not None:
            heels[False][name].append(found[1])
            if name != "smooth":
                simulated.append(found[0])
    show_heels(heels[True], heels[False])
    for title, group in (("recorded", real), ("simulated", simulated)):
        group = [r for r in group if r.force_bw["upward"]]
        if group:
            record.add(
                f"{title}: vertical force above 20 Hz", np.median([r.force_bw["upward"][2] for r in group]), "BW"
            )
            record.add(f"{title}: loading rate", np.median([r.loading_bw_s for r in group]), "BW/s")
            record.add(f"{title}: time of the first peak", 1e3 * np.median([r.transient_s for r in group]), "ms")
            record.add(f"{title}: residual, 6 Hz", np.nanmedian([r.residual_n for r in group]), "N")
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
