"""Joint moments against measurements that need no model and against the laboratory's own software, by method and marker set.

    python benchmarks/laboratory_agreement.py [FOLDER ...] [--set SECTION.KEY=VALUE ...]

Without a folder: folder gait of BIODYN_TEST_DATA. Walks with Plug-in Gait outputs, each analysed with three methods: the default,
which takes plates as in the file; a filter with the automatic cut-off; a filter of 8 Hz for markers and 50 Hz for
forces. `--set` adds a fourth. RMS over the frames of each stance in mNm/kg,
means over stances:

- model-free: size of the ankle moment against that of the measured force and free moment about the ankle centre in the file
  (weight and inertia of the foot are neglected, alike for all methods);
- ankle, knee, hip: sagittal moment against the channel of the file;
- in band: share of the frames in which the channel is within the 95 % band of the moment, per cent;
- between walks: standard deviation of the sagittal moment between the cycles of the walks of one folder, in which all methods
  have it; root mean square over the cycle, mean over folders and sides.

A walk that is stored several times counts once.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from common import Record, Stopwatch, Table, parser_of, real_recordings, tell
from common.laboratory_channels import compare_with_lab_software, walks_with_lab_outputs

import biodyn
from biodyn.errors import BiodynError

METHODS: dict[str, dict[str, dict[str, object]]] = {
    "default": {},
    "filter, automatic": {"signals": {"method": "butterworth"}},
    "8 / 50 Hz": {"signals": {"method": "butterworth", "cutoff_hz": 8.0, "force_cutoff_hz": 50.0}},
}
_ANKLE_CENTRES = {"r": "RTIO", "l": "LTIO"}  # origin of Plug-in Gait's tibia: the ankle centre, mm
_LEAST_FRAMES = 10
_SAGITTAL = {"ankle": "ankle_angle_moment", "knee": "knee_angle_moment", "hip": "hip_flexion_moment"}

Errors = dict[tuple[str, str, str], list[float]]
#: Moments (101,) in mNm/kg by group, folder, side and joint, then by walk and cycle, then by method.
Cycles = dict[tuple[str, Path, str, str], dict[tuple[str, int], dict[str, np.ndarray]]]


def main() -> None:
    """Print a table for walks with and without markers on trunk and arms: quantities down, methods across."""
    parser = parser_of(__doc__, folders=True)
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE", help="a method of your own")
    arguments = parser.parse_args()
    record, watch = Record("laboratory_agreement", vars(arguments)), Stopwatch()
    warnings.simplefilter("ignore", RuntimeWarning)
    methods = {**METHODS, **({"own settings": {}} if arguments.set else {})}
    errors: Errors = defaultdict(list)
    cycles: Cycles = defaultdict(lambda: defaultdict(dict))
    seen: set[bytes] = set()
    for path in walks_with_lab_outputs(arguments.folders or [real_recordings() / "gait"]):
        for method, settings in methods.items():
            entries = arguments.set if method == "own settings" else []
            try:
                result = biodyn.run_trial(path, settings=settings, entries=entries)
            except BiodynError as error:
                tell(f"  {path.name}: {error.message[:100]}")
                break
            motion = result.analysis.recording.markers.positions[::10].round(4).tobytes()
            if method == "default" and motion in seen:
                break
            seen.add(motion)
            group = "full body" if _has_upper_body(result) else "legs only"
            for quantity, value in _differences(result):
                errors[group, quantity, method].append(value)
            for joint, variable in _SAGITTAL.items():
                moments = result.gait_cycles.query(f"variable == '{variable}'")
                for (side, cycle), rows in moments.groupby(["side", "cycle"]):
                    curve = 1e3 * rows["value"].to_numpy()
                    cycles[group, path.parent, str(side), joint][path.name, int(cycle)][method] = curve
    for group, quantity, method, value in _between_walks(cycles, list(methods)):
        errors[group, quantity, method].append(value)
    for group in dict.fromkeys(group for group, _, _ in errors):
        table = Table((f"{group}: mNm/kg, %", "stances", *methods))
        for quantity in dict.fromkeys(name for g, name, _ in errors if g == group):
            means = {method: float(np.nanmean(errors[group, quantity, method])) for method in methods}
            table.row(quantity, len(errors[group, quantity, "default"]), *(f"{mean:.1f}" for mean in means.values()))
            for method, mean in means.items():
                record.add(f"{group}, {quantity}, {method}", mean, "%" if "band" in quantity else "mNm/kg")
    record.add("whole run", watch.seconds)
    record.close()


def _between_walks(cycles: Cycles, methods: list[str]) -> Iterator[tuple[str, str, str, float]]:
    """Yield group, quantity, method and standard deviation in mNm/kg, for each folder with several walks, side and joint."""
    least_percent = 20  # of the cycle
    for (group, _, _, joint), by_cycle in cycles.items():
        complete = {
            name: [curves[m] for m in methods] for name, curves in by_cycle.items() if len(curves) == len(methods)
        }
        if len({walk for walk, _ in complete}) < 2:
            continue
        moments = np.array(list(complete.values()))  # (cycles, methods, 101)
        moments = np.where(np.isfinite(moments).all(axis=1, keepdims=True), moments, np.nan)
        moments = moments[:, :, np.isfinite(moments[:, 0]).sum(axis=0) > 1]
        if moments.shape[2] >= least_percent:
            variance = np.nanvar(moments, axis=0, ddof=1).mean(axis=1)
            for method, value in zip(methods, variance, strict=True):
                yield group, f"{joint} between walks", method, float(np.sqrt(value))


def _has_upper_body(result: biodyn.TrialResult) -> bool:
    """Return whether trunk and both upper arms carry fitted markers."""
    assumed = result.record["model"]["assumed_coordinates"]
    return not any(name.startswith(("lumbar", "arm_")) for name in assumed)


def _differences(result: biodyn.TrialResult) -> Iterator[tuple[str, float]]:
    """Yield the name of a quantity and its RMS difference in mNm/kg or share in %, for each side with a stance."""
    reaction, moments = result.ground_reaction, result.joint_moments
    mass_kg = result.record["subject"]["mass_kg"]
    for side, label in _ANKLE_CENTRES.items():
        outputs = result.analysis.recording.model_outputs
        if label in outputs:
            ankle = 1e-3 * outputs[label].values @ result.analysis.R_WL.T
            measured = np.linalg.norm(_moment_about(reaction, side, ankle), axis=1)
            rows = moments.query(
                f"joint == 'ankle' and side == '{side}' and frame == 'distal' and quantity == 'moment'"
            )
            computed = np.linalg.norm(rows[["x", "y", "z"]].to_numpy(), axis=1)
            stance = _stance(result.contacts, side, reaction["time_s"].to_numpy())
            difference = (computed - measured)[stance]
            difference = difference[np.isfinite(difference)] / mass_kg
            if len(difference) >= _LEAST_FRAMES:
                yield "model-free ankle", 1e3 * float(np.sqrt(np.mean(difference**2)))
    for agreement in compare_with_lab_software(result.analysis):
        if agreement.kind == "moment":
            joint = agreement.variable.split()[0]
            yield joint, 1e3 * agreement.rms
            yield f"{joint} in band", 100.0 * agreement.within_band


def _moment_about(reaction: pd.DataFrame, side: str, point: np.ndarray) -> np.ndarray:
    """Return the moment (T, 3) in Nm, World, of the ground reaction on a foot about a point (T, 3) in m."""
    force = reaction[[f"ground_force_{side}_{axis}_N" for axis in "xyz"]].to_numpy()
    pressure = reaction[[f"centre_of_pressure_{side}_{axis}_m" for axis in "xyz"]].to_numpy()
    moment = np.cross(pressure - point, force)
    moment[:, 1] += reaction[f"free_moment_{side}_Nm"].to_numpy()
    return moment


def _stance(contacts: pd.DataFrame, side: str, time_s: np.ndarray) -> np.ndarray:
    """Return the frames (T,) in which an assigned contact carries the foot."""
    stance = np.zeros(len(time_s), dtype=bool)
    for contact in contacts[(contacts["side"] == side) & (contacts["decision"] == "assigned")].itertuples():
        stance |= (time_s >= contact.start_s) & (time_s <= contact.end_s)
    return stance


if __name__ == "__main__":
    main()
