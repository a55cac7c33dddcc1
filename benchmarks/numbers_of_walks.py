"""Joint torques, moments and gait cycles of walks with any version of biodyn: python numbers_of_walks.py OUT WALK ... OUT.json

benchmarks/same_numbers.py starts it with a version on the path; it imports nothing else of the project. Writes OUT/NUMBER.npz a
walk, and a list of [walk, "" or why it was refused].
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

import biodyn


def main() -> None:
    """Analyse every walk without options."""
    out, *walks, answer = sys.argv[1:]
    told = []
    for number, walk in enumerate(walks):
        try:
            result = biodyn.run_trial(walk)
        except biodyn.errors.BiodynError as error:
            told.append([walk, error.message])
            continue
        tables = {name: getattr(result, name) for name in ("joint_torques", "joint_moments", "gait_cycles")}
        numbers = {name: table.select_dtypes("number").to_numpy(dtype=float) for name, table in tables.items()}
        np.savez(Path(out) / f"{number}.npz", **numbers)
        told.append([walk, ""])
    Path(answer).write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main()
