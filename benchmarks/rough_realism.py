"""Are simulated walks as rough as recorded ones? `python benchmarks/rough_realism.py [FOLDER ...]`

A row each recording of the folders (else those of BIODYN_TEST_DATA), then one for each class of simulated walks: RMS of the
vertical force above 6, 10 and 20 Hz in the first 0.2 s of the stances, fore-aft above 6 Hz, body weights; largest loading rate
through 50 Hz; the first peak above 6 Hz and its time; RMS movement of the markers of pelvis, thigh, shank and foot from 6 to 10
and from 10 to 20 Hz, mm an axis; what the hip's extensor torque gains from 6 to 20 Hz at strikes, Nm/kg; the base residual at 6
and 20 Hz, N.
Recordings whose markers have next to nothing from 20 to 40 Hz were smoothed before they were stored.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, Table, parser_of, recordings_at_hand, tell, walks_below

from biodyn.analysis import TrialAnalysis
from biodyn.errors import BiodynError
from biodyn.simulation.rough_walks import class_names, rough_recording
from biodyn.simulation.roughness import Roughness, roughness_of
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
    """Yield name, walk and static trial (None: looked for beside it) of real walks."""
    for folder in folders or [place / "gait" for place in recordings_at_hand()[1:]]:
        for walk in walks_below(folder):
            yield walk.stem, walk, None


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


def row(name: str, walk: Path, static: Path | None, table: Table) -> Roughness | None:
    """Analyse a recording with both cut-offs and print its row."""
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
    return rough


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__, folders=True, seed=3, only="")
    arguments = parser.parse_args()
    record, watch = Record("rough_realism", {"seed": arguments.seed}), Stopwatch()
    table = Table(HEADS)
    real = [r for name, walk, static in recordings(arguments.folders) if (r := row(name, walk, static, table))]
    simulated = []
    for name in class_names():
        if arguments.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            walk, static = rough_recording(name, arguments.seed).write(Path(folder))
            found = row(f"simulated: {name}", walk, static, table)
        if found is not None and name != "smooth":
            simulated.append(found)
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
