"""Write the table of errors on the sample walks in docs/validation.md:  python docs/sample_errors.py

The walks are simulated, their true torques and angles are stored with them (sample_data/README.md). A test computes the table
again and compares.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import biodyn

PAGE = Path(__file__).with_name("validation.md")
SAMPLES = Path(__file__).resolve().parents[1] / "sample_data"
BEGIN, END = "<!-- sample errors: begin -->\n", "<!-- sample errors: end -->\n"
COORDINATES = {"hip flexion": "hip_flexion", "knee flexion": "knee_angle", "ankle dorsiflexion": "ankle_angle"}


def walk_errors(walk: Path) -> dict[str, tuple[float, float]]:
    """RMS error of each coordinate of a sample walk, both sides together: torque (Nm/kg) and angle (degrees)."""
    result = biodyn.run_trial(walk, settings={"uncertainty": {"compute": False}})
    truth = pd.read_csv(walk.parent / "truth" / f"{walk.stem}.csv")
    found = {}
    for words, name in COORDINATES.items():
        torque, angle = (
            _rms(pd.concat([table[f"{name}_{side}{unit}"] - truth[f"{name}_{side}{unit}"] for side in "rl"]))
            for table, unit in ((result.joint_torques, "_Nm"), (result.joint_angles, "_deg"))
        )
        found[words] = (torque / result.analysis.subject.mass_kg, angle)
    return found


def _rms(differences: pd.Series[float]) -> float:
    known = differences.to_numpy(dtype=np.float64)
    return float(np.sqrt(np.mean(known[np.isfinite(known)] ** 2)))


def rows() -> Iterator[str]:
    """A row a walk, in the order of the folders."""
    for walk in sorted(SAMPLES.glob("*/walk*.c3d")):
        cells = [f"{torque:.3f}, {angle:.1f}" for torque, angle in walk_errors(walk).values()]
        yield f"| {walk.parent.name}/{walk.name} | {' | '.join(cells)} |"


def table(day: str) -> str:
    """The table with when and by what it was made."""
    heads = " | ".join(COORDINATES)
    return (
        f"{BEGIN}Made {day} by biodyn {biodyn.__version__}, `python docs/sample_errors.py`; a test computes it again.\n\n"
        f"| walk | {heads} |\n|---|{'---|' * len(COORDINATES)}\n" + "\n".join(rows()) + f"\n{END}"
    )


def main() -> None:
    """Put the table of today in the place of the old one."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + table(datetime.date.today().isoformat()) + after, encoding="utf-8")


if __name__ == "__main__":
    main()
