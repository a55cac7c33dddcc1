"""Do two versions give the same numbers? `python benchmarks/same_numbers.py TREE`

TREE is the folder of another version. Every walk of sample_data and of the real recordings (BIODYN_TEST_DATA, its folder gait) is
analysed with both, without options. Of each table: the largest difference over the largest magnitude of its column, and values
that are missing in one of them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from common import REPOSITORY, Record, in_tree, parser_of, real_recordings, sample_walks, tell, walks_below

_NUMBERS = Path(__file__).with_name("numbers_of_walks.py")


def main() -> None:
    """Print the largest differences of every walk."""
    parser = parser_of(__doc__)
    parser.add_argument("tree", type=Path, metavar="TREE", help="folder of another version")
    asked = parser.parse_args()
    record = Record("same_numbers", vars(asked))
    walks = [*sample_walks(), *walks_below(real_recordings() / "gait")]
    largest: dict[str, float] = {}
    missing = refused = 0
    with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there:
        mine, others = (
            in_tree(REPOSITORY, _NUMBERS, here, *walks),
            in_tree(asked.tree.resolve(), _NUMBERS, there, *walks),
        )
        for number, (walk, one, other) in enumerate(zip(walks, mine, others, strict=True)):
            if one[1] or other[1]:
                tell(f"{walk.name}: {'the same refusal' if one[1] == other[1] else f'{one[1]!r} / {other[1]!r}'}")
                refused += 1
                continue
            with np.load(Path(here) / f"{number}.npz") as a, np.load(Path(there) / f"{number}.npz") as b:
                found = {name: apart(a[name], b[name]) for name in a.files}
            missing += sum(lost for _, lost in found.values())
            largest = {name: max(largest.get(name, 0.0), relative) for name, (relative, _) in found.items()}
            tell(f"{walk.name}: " + ", ".join(f"{name} {relative:.1e}" for name, (relative, _) in found.items()))
    record.add("walks", len(walks) - refused, "walks, larger is better")
    record.add("values missing in one of them", missing, "values")
    for name, relative in largest.items():
        record.add(f"{name}, largest difference", relative, "of the column's largest value")
    record.close()


def apart(a: np.ndarray, b: np.ndarray) -> tuple[float, int]:
    """Return the largest difference relative to the largest magnitude of its column, and how many values one of them lacks."""
    if a.shape != b.shape:
        return float("inf"), abs(a.size - b.size)
    scale = np.maximum(np.nanmax(np.abs(a), axis=0, initial=0.0), 1e-300)
    difference = np.abs(a - b) / scale
    return float(np.nanmax(difference, initial=0.0)), int((np.isnan(a) != np.isnan(b)).sum())


if __name__ == "__main__":
    main()
