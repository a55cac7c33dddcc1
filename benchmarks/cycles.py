"""How far the kinetics of a gait cycle reach: cycles whose stance was measured, and where their moments end.

    python benchmarks/cycles.py [FOLDER ...]      without a folder: folder gait of BIODYN_TEST_DATA

A cycle counts where a force is known on its foot from strike to foot off. Its moments are whole where hip, knee and ankle
have one at every per cent up to the limit; for the others the reasons of the first missing frame are counted.
"""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
from common import Record, Stopwatch, ask, real_recordings, tell, walks_below

from biodyn.analysis import TrialAnalysis
from biodyn.conventions import CYCLE_POINTS
from biodyn.errors import BiodynError
from biodyn.processing.gait.cycle_values import CycleValues
from biodyn.trial.run import analyse_trial

_JOINTS = ("hip_flexion_moment", "knee_angle_moment", "ankle_angle_moment")
_WHOLE_PERCENT = 97
_LOADED_SHARE = 0.8  # of the stance with a force on the foot


def main() -> None:
    """Print how many cycles with a measured stance have all moments, and where the others end."""
    arguments = ask(__doc__, folders=True)
    record, watch = Record("cycles", vars(arguments)), Stopwatch()
    warnings.simplefilter("ignore", RuntimeWarning)
    ends: list[int] = []
    reasons: Counter[str] = Counter()
    for path in walks_below(*(arguments.folders or [real_recordings() / "gait"])):
        try:
            analysis = analyse_trial(path, torques_only=True)
        except BiodynError as error:
            tell(f"  {path.name}: {error.message[:100]}")
            continue
        for values in analysis.cycles:
            if not _stance_measured(analysis, values):
                continue
            known = np.isfinite(np.stack([values.curve(name) for name in _JOINTS], axis=1)).all(axis=1)
            missing = np.flatnonzero(~known)
            ends.append(int(missing[0]) - 1 if len(missing) else 100)
            if ends[-1] < _WHOLE_PERCENT:
                reasons[_reason(analysis, values, max(ends[-1] + 1, 0))] += 1
    _tell(ends, reasons, record)
    record.add("whole run", watch.seconds)
    record.close()


def _stance_measured(analysis: TrialAnalysis, values: CycleValues) -> bool:
    cycle, reaction = values.cycle, analysis.reaction
    if not np.isfinite(cycle.off_s):
        return False
    rate_hz = analysis.recording.markers.rate_hz
    rows = slice(int(np.ceil(cycle.start_s * rate_hz)), int(cycle.off_s * rate_hz) + 1)
    loaded = np.isfinite(reaction.centre_of_pressure[cycle.side][rows, 0])
    return bool(reaction.measured[cycle.side][rows].all() and np.mean(loaded) > _LOADED_SHARE)


def _reason(analysis: TrialAnalysis, values: CycleValues, percent: int) -> str:
    cycle = values.cycle
    at = cycle.start_s + cycle.duration_s * percent / (CYCLE_POINTS - 1)
    frame = round(at * analysis.recording.markers.rate_hz)
    near = analysis.dynamics.reason[max(frame - 1, 0) : frame + 2]
    return next((text for text in near if text), "taken out: nobody can walk it")


def _tell(ends: list[int], reasons: Counter[str], record: Record) -> None:
    whole = 100.0 * float(np.mean(np.array(ends) >= _WHOLE_PERCENT)) if ends else float("nan")
    record.add("cycles with a measured stance", len(ends), "larger is better")
    record.add(f"moments to {_WHOLE_PERCENT} % of the cycle", whole, "% of them, larger is better")
    record.add(
        "moments reach, median", float(np.median(ends)) if ends else float("nan"), "% of the cycle, larger is better"
    )
    tell(f"ends: {sorted(ends)}")
    for text, count in reasons.most_common():
        tell(f"{count:4} {text}")


if __name__ == "__main__":
    main()
