"""How near a preset comes to what the laboratory's own software stored in the file: moments and powers of the legs.

    python benchmarks/presets.py [--preset plug_in_gait] [FOLDER ...]      without a folder: folder gait of BIODYN_TEST_DATA

Walks with such channels, once without a preset and once with it: medians over all measured stances of the correlation and of the
RMS difference, Nm/kg and W/kg, in the channel's own bandwidth. A walk that is stored several times counts once (same frames).
"""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np
from common import Record, Stopwatch, Table, parser_of, real_recordings, tell
from common.laboratory_channels import compare_with_lab_software, stance_frames, walks_with_lab_outputs

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import SIDES
from biodyn.errors import BiodynError
from biodyn.trial.run import analyse_trial

_JOINTS = ("hip", "knee", "ankle")
_POWER_COMPONENT = 2  # Plug-in Gait stores a joint's power as the last of three numbers
_LEAST_FRAMES = 10


def main() -> None:
    """Print one table: joints down, without and with the preset across."""
    parser = parser_of(__doc__, folders=True)
    parser.add_argument("--preset", default="plug_in_gait", help="a table of biodyn/library/presets/")
    arguments = parser.parse_args()
    record, watch = Record("presets", vars(arguments)), Stopwatch()
    warnings.simplefilter("ignore", RuntimeWarning)
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    seen: set[bytes] = set()
    for path in walks_with_lab_outputs(arguments.folders or [real_recordings() / "gait"]):
        for name, preset in (("default", None), (arguments.preset, arguments.preset)):
            try:
                analysis = analyse_trial(path, preset=preset, torques_only=True)
            except BiodynError as error:
                tell(f"  {path.name}: {error.message[:100]}")
                break
            if preset is None and _known(analysis, seen):
                break
            for agreement in compare_with_lab_software(analysis):
                if agreement.kind == "moment":
                    found[f"{agreement.variable.split()[0]} moment", name].append((agreement.r, agreement.rms))
            for joint, pair in _powers(analysis):
                found[f"{joint} power", name].append(pair)
    names = list(dict.fromkeys(name for _, name in found))
    table = Table(("variable", "stances", *(f"{name}: r, RMS" for name in names)))
    for variable in dict.fromkeys(variable for variable, _ in found):
        middle = {name: np.median(found[variable, name], axis=0) for name in names}
        table.row(variable, len(found[variable, names[0]]), *(f"{r:.4f}, {rms:.3f}" for r, rms in middle.values()))
        for name, (r, rms) in middle.items():
            record.add(f"{variable}, {name}: r", float(r), "larger is better")
            record.add(f"{variable}, {name}: RMS", float(rms), "Nm/kg or W/kg")
    record.add("whole run", watch.seconds)
    record.close()


def _known(analysis: TrialAnalysis, seen: set[bytes]) -> bool:
    """True for a recording whose plates were seen before: the same values to a whole unit (stores round differently)."""
    plates = analysis.recording.plates
    stamp = b"".join(np.round(plate.channels).astype(np.int64).tobytes() for plate in plates)
    again = stamp in seen
    seen.add(stamp)
    return again


def _powers(analysis: TrialAnalysis) -> list[tuple[str, tuple[float, float]]]:
    outputs, rows = analysis.recording.model_outputs, []
    for joint in _JOINTS:
        for side in SIDES:
            channel = outputs.get(f"{side.upper()}{joint.capitalize()}Power")
            load = next((x for x in analysis.dynamics.joints if (x.joint, x.side) == (joint, side)), None)
            if channel is None or load is None:
                continue
            theirs, ours = channel.values[:, _POWER_COMPONENT], load.power / analysis.subject.mass_kg
            known = stance_frames(analysis, side) & np.isfinite(theirs) & np.isfinite(ours) & (theirs != 0.0)
            if known.sum() >= _LEAST_FRAMES:
                difference = (ours - theirs)[known]
                r = float(np.corrcoef(ours[known], theirs[known])[0, 1])
                rows.append((joint, (r, float(np.sqrt(np.mean(difference**2))))))
    return rows


if __name__ == "__main__":
    main()
