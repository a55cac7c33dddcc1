"""What tells that plates lie higher or lower than a file says? `python benchmarks/plate_height.py [--first 20] [--stop 60]`

Simulated rough walks of the seeds from `first` to `stop`, and the real recordings of BIODYN_TEST_DATA (folder `gait`): each walk
is analysed once, then its plates are put at other heights, the second one alone or all of them, and the check of the heights is
asked again. A row each: in how many walks it speaks; row 0: false alarms. Largest difference between plates that are sound.

Beside it what forces tell: the height for which the moment about the centre of mass fits best (with the centre's own place free),
and that for which the centre of pressure keeps to its usual path under the foot while the shear force changes. Mean and standard
deviation over the walks, whose plates are where the files say.

The limits of the check were chosen on the seeds 0 to 19 and the walks of biomechzoo, btk_flatfoot and btk_pig.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, Table, parser_of, real_recordings, tell, walks_below
from simulator.rough_walks import class_of, rough_recording

from biodyn.analysis import TrialAnalysis
from biodyn.checks.estimators.plate_evidence import MatchedStep, PlateEvidence, plate_cop
from biodyn.checks.estimators.plate_height import measure_flat_feet, relative_heights, report_plate_heights
from biodyn.checks.plates import PLATE_SHIFT_M
from biodyn.checks.trial_facts import TrialFacts
from biodyn.errors import BiodynError
from biodyn.geometry.rotations import cross
from biodyn.library.toml_files import load_table
from biodyn.trial.run import analyse_trial

QUICK = {"signals": {"method": "butterworth"}, "uncertainty": {"compute": False}}
SHIFTS_MM = (0, 20, -20, 30, -30, 50, -50)
ALL_MM = (20, 30, 50, -30, -40, -50)
CHOSEN_ON = ("biomechzoo", "btk_flatfoot", "btk_pig")
_LEAST_FRAMES = 5


def simulated(seeds: range) -> Iterator[tuple[str, TrialAnalysis]]:
    """Yield the analyses of rough walks."""
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            walk, static = rough_recording(class_of(seed), seed).write(Path(folder))
            yield f"{class_of(seed)} {seed}", analyse_trial(walk, static, settings=QUICK)


def real() -> Iterator[tuple[str, TrialAnalysis]]:
    """Yield the analyses of the real walks that can be analysed."""
    folder = real_recordings() / "gait"
    for path in walks_below(folder):
        try:
            yield str(path.relative_to(folder)), analyse_trial(path, settings=QUICK)
        except BiodynError as error:
            tell(f"{path.name}: {error.message}")


def raised(evidence: PlateEvidence, by_m: float, every: bool) -> PlateEvidence:
    """The evidence with the second plate, or all of them, higher in the file."""
    shift = np.array([0.0, by_m, 0.0])
    plates = [
        replace(plate, corners=plate.corners + shift) if every or n == min(1, len(evidence.plates) - 1) else plate
        for n, plate in enumerate(evidence.plates)
    ]
    return replace(evidence, plates=tuple(plates))


def judge(analysis: TrialAnalysis, evidence: PlateEvidence) -> tuple[bool, float]:
    """Whether the check speaks, and the largest difference between plates, m."""
    facts = TrialFacts(analysis.before_estimate)
    assert analysis.propagation is not None
    static = analysis.static.points if analysis.static.source == "static trial" else {}
    found = measure_flat_feet(
        evidence, analysis.points, analysis.propagation.signals.markers, facts.foot_markers, static
    )
    notes = report_plate_heights(evidence, found, analysis.subject.height_m, PLATE_SHIFT_M)
    return bool(notes), max((abs(higher) for higher in relative_heights(found).values()), default=np.nan)


def by_moments(evidence: PlateEvidence) -> float:
    """Height (m) of the plates over that in the file for which the moments about the centre of mass fit; NaN if not told."""
    rows, values = [], []
    for step in evidence.steps:
        at = step.single_support
        if step.side is None or len(at) < _LEAST_FRAMES:
            continue
        centre, seen, asked = evidence.centre_of_mass[at], evidence.plates[step.plate].wrench[at], evidence.required[at]
        missing = (seen[:, :3] - cross(centre, seen[:, 3:])) - (asked[:, :3] - cross(centre, asked[:, 3:]))
        force, zero = seen[:, 3:], np.zeros(len(at))
        outwards = 1.0 if step.side == "r" else -1.0
        rows += [np.column_stack([force[:, 1], zero, zero, force[:, 0]])]
        rows += [np.column_stack([zero, force[:, 1], outwards * force[:, 1], -force[:, 2]])]
        values += [missing[:, 2], missing[:, 0]]
    if not rows:
        return float("nan")
    solution, _, rank, _ = np.linalg.lstsq(np.vstack(rows), np.concatenate(values), rcond=None)
    return float(solution[3]) if rank == len(solution) else float("nan")


def by_shear(evidence: PlateEvidence) -> float:
    """Height (m) for which the centres of pressure of the whole steps keep to their usual path; NaN without one."""
    own = [
        _of_step(evidence, step)
        for step in evidence.steps
        if step.side is not None and step.fully_measured and step.heel_to_toe
    ]
    return float(np.mean(own)) if own else float("nan")


def _of_step(evidence: PlateEvidence, step: MatchedStep) -> float:
    at, share = step.high_force, load_table("checks/checks")["pressure_path"]["share"]
    plate = evidence.plates[step.plate]
    along = (plate_cop(plate, at) - evidence.belt_displacement(step, at) - step.heel) @ step.axes[0]
    off = along - step.length_m * np.interp(np.linspace(0.0, 1.0, len(at)), (0.0, 0.5, 1.0), share)
    shear = plate.wrench[at, 3:] @ step.axes[0] / plate.wrench[at, 4]
    return float(np.linalg.lstsq(np.column_stack([np.ones(len(at)), shear]), off, rcond=None)[0][1])


def show(name: str, walks: Iterator[tuple[str, TrialAnalysis]], record: Record) -> None:
    """Print the table of one group of walks."""
    cases = [(False, by) for by in SHIFTS_MM] + [(True, by) for by in ALL_MM]
    told = dict.fromkeys(cases, 0)
    apart, moments, shears, count = [], [], [], 0
    for _, analysis in walks:
        evidence = TrialFacts(analysis.before_estimate).evidence
        if evidence is None:
            continue
        count += 1
        for every, by_mm in cases:
            speaks, largest = judge(analysis, raised(evidence, 1e-3 * by_mm, every))
            told[every, by_mm] += speaks
            if by_mm == 0:
                apart.append(1e3 * largest)
        moments.append(1e3 * by_moments(evidence))
        shears.append(1e3 * by_shear(evidence))
    tell(
        f"\n{name}: {count} walks; sound plates differ by {np.nanmedian(apart):.1f} mm (median), {np.nanmax(apart):.1f} mm (most)"
    )
    table = Table(("plates", "mm higher in the file", "told"))
    for (every, by_mm), number in told.items():
        table.row("all" if every else "one", f"{by_mm:+d}" if by_mm else "0", f"{number} of {count}")
        record.add(f"{name}: {'all' if every else 'one'} {by_mm:+d} mm", number / max(count, 1), "of the walks")
    for what, values in (("moments about the centre of mass", moments), ("pressure against shear", shears)):
        tell(
            f"by {what}: {np.nanmean(values):.0f} mm, SD {np.nanstd(values):.0f} mm, {np.isfinite(values).sum()} walks"
        )
        record.add(f"{name}: SD by {what}", float(np.nanstd(values)), "mm")


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--first", type=int, default=20, help="first seed of the simulated walks")
    parser.add_argument("--stop", type=int, default=60, help="seed behind the last one")
    arguments = parser.parse_args()
    record, watch = Record("plate_height", vars(arguments)), Stopwatch()
    show(
        f"simulated, seeds {arguments.first} to {arguments.stop - 1}",
        simulated(range(arguments.first, arguments.stop)),
        record,
    )
    walks = list(real())
    show("real, limits chosen on", (walk for walk in walks if walk[0].startswith(CHOSEN_ON)), record)
    show("real, others", (walk for walk in walks if not walk[0].startswith(CHOSEN_ON)), record)
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
