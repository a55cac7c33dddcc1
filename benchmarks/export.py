"""Exported results, read by others: laboratory channels, C3D samples, and OpenSim's torques.

    BIODYN_OPENSIM=PYTHON python benchmarks/export.py [FOLDER ...]      without a folder: folder gait of BIODYN_TEST_DATA

Every walk is analysed once, as Plug-in Gait does it, and exported. Printed: per component of Plug-in Gait's channels the least
and the median correlation with the file's own over measured stance, and the median ratio of sizes; whether the original samples
are exact in ezc3d and in the package c3d after writing; the largest difference of any torque in any frame to what OpenSim's
inverse dynamics tool (with the interpreter BIODYN_OPENSIM) and biodyn compute from the exported files, as a share of its range.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import c3d
import ezc3d
import numpy as np
from common import Record, Stopwatch, Table, parser_of, real_recordings, tell, walks_below

from biodyn.errors import BiodynError
from biodyn.io.opensim.storage import read_storage
from biodyn.trial.bodies.opensim_motion import coordinate_torques
from biodyn.trial.export import export
from biodyn.trial.export.c3d import convention_channels
from biodyn.trial.result import TrialResult
from biodyn.trial.run import run_trial

_LEAST_FRAMES = 20
_TOOL = "import os,sys,opensim;os.chdir(sys.argv[1]);opensim.InverseDynamicsTool('inverse_dynamics_setup.xml').run()"


def main() -> None:
    """Print the three tables."""
    arguments = parser_of(__doc__, folders=True).parse_args()
    record, watch = Record("export", vars(arguments)), Stopwatch()
    warnings.simplefilter("ignore")
    agreement: dict[str, list[tuple[float, float]]] = defaultdict(list)
    table = Table(("walk", "exact in ezc3d", "exact in c3d", "OpenSim's tool", "biodyn"))
    counts: dict[str, int] = defaultdict(int)
    for path in walks_below(*(arguments.folders or [real_recordings() / "gait"])):
        try:
            result = run_trial(path, preset="plug_in_gait", settings={"uncertainty": {"compute": False}})
        except BiodynError as error:
            tell(f"  {path.name}: {error.message[:100]}")
            continue
        for name, pair in _agreements(result):
            agreement[name].append(pair)
        with tempfile.TemporaryDirectory() as folder:
            new = export(result, "c3d", Path(folder) / "c3d").folder / path.name
            kept = [_words(_same(reader, path, new)) for reader in (_in_ezc3d, _in_c3d)]
            counts["ezc3d"] += kept[0] == "yes"
            counts["c3d"] += kept[1] == "yes"
            counts["walks"] += 1
            worst = _torques(export(result, "opensim", Path(folder) / "opensim").folder)
        table.row(path.stem, *kept, *("-" if x is None else f"{x:.1e}" for x in worst))
        for name, value in zip(("OpenSim's tool", "biodyn"), worst, strict=True):
            if value is not None:
                record.add(f"{path.stem}: {name}", value, "of the range")
    tell()
    table = Table(("channel", "stances", "least r", "median r", "ours / theirs"))
    for name, pairs in sorted(agreement.items()):
        r, ratio = np.array(pairs).T
        table.row(name, len(pairs), f"{r.min():.3f}", f"{np.median(r):.3f}", f"{np.median(ratio):.2f}")
        record.add(f"{name}: median r", float(np.median(r)), "larger is better")
    for name, count in counts.items():
        record.add(f"C3D: {name}", count, "walks")
    record.add("whole run", watch.seconds)
    record.close()


def _agreements(result: TrialResult) -> list[tuple[str, tuple[float, float]]]:
    analysis, found = result.analysis, []
    outputs, time_s = analysis.recording.model_outputs, analysis.time_s
    for channel in convention_channels(result.view, "plug_in_gait"):
        theirs = next((outputs[n].values for n in (channel.name, f"{channel.name}V") if n in outputs), None)
        if theirs is None:
            continue
        stance = np.zeros(len(time_s), dtype=bool)
        for c in analysis.contacts:
            if c.decision == "assigned" and c.side == channel.name[0].lower():
                stance |= (time_s >= c.start_s) & (time_s <= c.end_s)
        for part in channel.components:
            a, b = part.values, theirs[:, part.axis]
            rows = stance & np.isfinite(a) & np.isfinite(b) & (b != 0.0)
            if rows.sum() >= _LEAST_FRAMES:
                pair = float(np.corrcoef(a[rows], b[rows])[0, 1]), float(np.std(a[rows]) / np.std(b[rows]))
                found.append((f"{channel.name[1:]} {'xyz'[part.axis]}", pair))
    return found


Samples = tuple[np.ndarray, np.ndarray]


def _in_ezc3d(path: Path) -> Samples:
    data = ezc3d.c3d(str(path))["data"]
    return np.moveaxis(data["points"], 1, -1), data["analogs"]


def _in_c3d(path: Path) -> Samples:
    with path.open("rb") as stream:
        rows = [(p.copy(), a.copy()) for _, p, a in c3d.Reader(stream).read_frames()]
    return np.array([p.T for p, _ in rows]), np.array([a for _, a in rows])


def _same(reader: Callable[[Path], Samples], old: Path, new: Path) -> bool | None:
    """Whether every original sample is there; None where the reader cannot read the original."""
    try:
        points, analog = reader(old)
    except Exception:
        return None
    more, same = reader(new)
    count = points.shape[-1]
    return np.array_equal(points, more[..., :count], equal_nan=True) and np.array_equal(analog, same, equal_nan=True)


def _words(same: bool | None) -> str:
    return "original not read" if same is None else "yes" if same else "NO"


def _torques(folder: Path) -> tuple[float | None, float]:
    """Largest difference to OpenSim's and to our own torques from the exported files."""
    ours = read_storage(folder / "inverse_dynamics.sto")

    def worst(column: Callable[[str], np.ndarray]) -> float:
        found = []
        for name in ours.names:
            values = ours.column(name)
            known = np.isfinite(values)
            if known.any():
                found.append(np.abs(column(name) - values)[known].max() / np.ptp(values[known]))
        return float(max(found))

    python, theirs = os.environ.get("BIODYN_OPENSIM"), None
    if python:
        subprocess.run([python, "-c", _TOOL, folder], check=True, capture_output=True)
        theirs = worst(read_storage(folder / "inverse_dynamics_opensim.sto").column)
    again = coordinate_torques(
        folder / "coordinates.mot", folder / "model.osim", folder / "external_loads.xml", cutoff_hz=0.0
    )
    names = [f"{c.name}_{'moment' if c.rotational else 'force'}" for c in again.model.coordinates]
    return theirs, worst(lambda name: again.tau[:, names.index(name)])


if __name__ == "__main__":
    main()
