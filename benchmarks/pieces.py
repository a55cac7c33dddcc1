"""Are the pieces of a trajectory told from other markers? `python benchmarks/pieces.py [--count 25] [--seed 0]`

Of every walk of the sample data and of BIODYN_TEST_DATA (folder `gait`), `count` times: a marker is lost for 0.1 to 0.45 s, and a
point that nobody named is seen in that gap, so far from where the marker is. A row each distance: in how many cases it is
joined to that marker, and to another one. Then two markers get one label, the second from a frame on from which on neither keeps
its own: in how many cases the second is taken for a piece of the first, neighbours (nearer than 20 cm) and others.
"""

from __future__ import annotations

import numpy as np
from common import Record, Table, parser_of, real_recordings, sample_walks, tell, walks_below

import biodyn
from biodyn.conventions import FloatArray
from biodyn.io.labels import point_roles
from biodyn.recording import Markers

BESIDE_MM = (0, 5, 10, 15, 20, 30, 50)
NEIGHBOURS_M = 0.2
_AROUND = 10  # frames in which the marker must be seen before and after its gap


def unnamed(markers: Markers, beside_m: float, rng: np.random.Generator) -> tuple[int, int] | None:
    """Return the marker that lost a piece, and the one to which the piece was joined, -1 = none; None where it cannot be lost."""
    frames = len(markers.positions)
    lost, first = int(rng.integers(len(markers.labels))), int(rng.integers(_AROUND, max(frames - 60, _AROUND + 1)))
    stop = min(first + int(rng.integers(10, 45)), frames - _AROUND)
    break_, direction = int(rng.integers(0, 5)), rng.normal(size=3)
    points = markers.positions.copy()
    if not np.isfinite(points[first - _AROUND : stop + _AROUND, lost]).all() or stop - first < 2 * _AROUND:
        return None
    piece: FloatArray = np.full((frames, 1, 3), np.nan)
    inside = slice(first + break_, stop - break_)
    piece[inside, 0] = points[inside, lost] + beside_m * direction / np.linalg.norm(direction)
    points[first:stop, lost] = np.nan
    roles = point_roles((*markers.labels, "*1"), np.concatenate([points, piece], axis=1), {}, ())
    return lost, next((whole for whole, _ in roles.pieces), -1)


def of_another(markers: Markers, rng: np.random.Generator) -> tuple[bool, bool]:
    """Return whether two markers are neighbours, and whether the second, under the label of the first, is joined to it."""
    frames, count = markers.positions.shape[:2]
    one, other = (int(k) for k in rng.choice(count, 2, replace=False))
    first, break_ = int(rng.integers(frames // 4, 3 * frames // 4)), int(rng.integers(0, 30))
    points = markers.positions.copy()
    near = float(np.nanmean(np.linalg.norm(points[:, one] - points[:, other], axis=1))) < NEIGHBOURS_M
    piece: FloatArray = np.full((frames, 1, 3), np.nan)
    piece[first + break_ :, 0] = points[first + break_ :, other]
    points[first:, [one, other]] = np.nan
    roles = point_roles((*markers.labels, markers.labels[one]), np.concatenate([points, piece], axis=1), {}, ())
    return near, (one, count) in roles.pieces


def main() -> None:
    """Print both tables."""
    parser = parser_of(__doc__, count=25, seed=0)
    asked = parser.parse_args()
    record, rng = Record("pieces", vars(asked)), np.random.default_rng(asked.seed)
    walks = [biodyn.read(path).markers for path in (*sample_walks(), *walks_below(real_recordings() / "gait"))]
    table = Table(("mm beside the marker", "pieces", "joined to it", "to another"))
    for beside in BESIDE_MM:
        found = [unnamed(markers, 1e-3 * beside, rng) for markers in walks for _ in range(asked.count)]
        known = [pair for pair in found if pair is not None]
        own = sum(lost == whole for lost, whole in known)
        others = sum(whole not in (lost, -1) for lost, whole in known)
        table.row(beside, len(known), f"{100 * own / len(known):.0f} %", others)
        record.add(f"joined, {beside} mm beside", 100 * own / len(known), "%")
        record.add(f"joined to another marker, {beside} mm", others, "pieces")
    tell()
    pairs = [of_another(markers, rng) for markers in walks for _ in range(2 * asked.count)]
    table = Table(("two markers with one label", "cases", "joined"))
    for name, near in (("neighbours", True), ("others", False)):
        joined = [is_joined for is_near, is_joined in pairs if is_near == near]
        table.row(name, len(joined), sum(joined))
        record.add(f"joined, {name}", sum(joined), "cases")
    record.close()


if __name__ == "__main__":
    main()
