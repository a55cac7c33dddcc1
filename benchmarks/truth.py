"""How well the whole pipeline recovers torques that are known: `python benchmarks/truth.py`.

A simulated laboratory records a simulated walk; biodyn analyses the files; the torques are compared with the true ones in
every frame that biodyn calls valid. Noise-free files tell about errors of the program, the others about the method.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from common import RECORDED, Record, Stopwatch, analyse_session, parser_of, record_session
from simulator import Person, TrialOptions, Walk, embody, solve_walk
from simulator.recovery import Recovery, compare

from biodyn.conventions import STANDARD_GRAVITY_M_S2

PERSON = Person("Truth", height_m=1.78, mass_kg=74.0, sex="male")
CLEAN = TrialOptions(forward="-x")
NOISY = replace(RECORDED, gaps=6)
LEG_JOINTS = ("hip", "knee", "ankle")


def measure(walk: Walk, options: TrialOptions, cutoff_hz: float, folder: Path) -> Recovery:
    """Record a walk and its static trial, analyse the files with a cut-off (0 = no filter) and compare."""
    static, trial = record_session(walk.body.person, options, walk)
    settings = {"signals": {"cutoff_hz": cutoff_hz}}
    return compare(analyse_session(folder, static, trial, settings=settings), trial)


def show(title: str, result: Recovery, record: Record) -> None:
    """Print one table; its worst torque belongs to the record."""
    record.add(f"{title}: worst torque", 100 * result.worst.worst_share, "% of its peak")
    record.add(f"{title}: base residual", result.residual_n, "N")
    weight = result.mass_kg * STANDARD_GRAVITY_M_S2
    print(
        f"\n{title}: marker error {result.marker_rms_mm:.3f} mm rms, base residual <= {result.residual_n:.2f} N "
        f"({100 * result.residual_n / weight:.2f} % of body weight), {result.residual_nm:.2f} Nm"
    )
    heads = ("coordinate", "frames", "peak Nm", "worst Nm", "% of peak", "rms Nm/kg", "angle deg")
    print("{:20s} {:>6s} {:>9s} {:>9s} {:>9s} {:>10s} {:>10s}".format(*heads))
    for row in result.coordinates:
        print(
            f"{row.name:20s} {row.frames:6d} {row.peak_nm:9.3f} {row.worst_nm:9.4f} {100 * row.worst_share:9.3f} "
            f"{row.rms_nm / result.mass_kg:10.4f} {row.angle_rms_deg:10.4f}"
        )
    print(f"worst: {result.worst.name}, {100 * result.worst.worst_share:.3f} % of its peak")
    print("sagittal, rms Nm/kg: " + ", ".join(f"{j} {result.sagittal_rms_nm_kg(j):.4f}" for j in LEG_JOINTS))


def main() -> None:
    """Print the tables for noise-free and for realistic files, without filter and with 6 Hz."""
    parser = parser_of(__doc__, seeds=3)
    parser.add_argument("--marker-set", default="plug_in_gait_full")
    parser.add_argument("--skeleton", default="full_body", help="the true body: full_body or lower_limb")
    arguments = parser.parse_args()
    record, watch = Record("truth", vars(arguments)), Stopwatch()
    person = replace(PERSON, marker_set=arguments.marker_set, skeleton=arguments.skeleton)
    walk = solve_walk(embody(person), CLEAN.speed_m_s, CLEAN.stride_s)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        show("noise-free, no filter", measure(walk, CLEAN, 0.0, folder), record)
        show("noise-free, 6 Hz", measure(walk, CLEAN, 6.0, folder), record)
        results = []
        for seed in range(1, arguments.seeds + 1):
            results.append(measure(walk, replace(NOISY, seed=seed), 6.0, folder))
            show(f"1 mm noise, soft tissue, gaps (seed {seed}), 6 Hz", results[-1], record)
    for joint in LEG_JOINTS if results else ():
        values = np.array([result.sagittal_rms_nm_kg(joint) for result in results])
        print(f"{joint}: sagittal rms {values.mean():.4f} Nm/kg, at most {values.max():.4f} in {len(values)} trials")
        record.add(f"{joint}: sagittal rms, mean of the realistic trials", values.mean(), "Nm/kg")
        record.add(f"{joint}: sagittal rms, largest", values.max(), "Nm/kg")
    record.add("whole run", watch.seconds)
    record.close()


if __name__ == "__main__":
    main()
