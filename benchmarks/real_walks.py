"""Run every walk below a folder of recordings without options and print what came out. Run by hand:

    python benchmarks/real_walks.py [FOLDER ...]      without a folder: folder gait of BIODYN_TEST_DATA

A walk is a C3D file with force plates that is not a static trial (standing still). A line each: static trial taken, mass
and its source, marker error, contacts, base residual while every contact was measured against its limits (docs/methods.md,
section 9). Verdicts and their causes: benchmarks/verdicts.py.
"""

from __future__ import annotations

import warnings

import numpy as np
from common import Record, Stopwatch, ask, real_recordings, tell, walks_below

import biodyn
from biodyn.checks.facts import residual_limits
from biodyn.errors import BiodynError


def main() -> None:
    arguments = ask(__doc__, folders=True)
    record, watch = Record("real_walks", vars(arguments)), Stopwatch()
    warnings.simplefilter("ignore", RuntimeWarning)
    print(
        f"{'walk':<44} {'kg':>5} {'rms mm':>7} {'max mm':>7} {'used':>5} {'F N rms/peak':>14} {'% of limit':>11} "
        f"{'M Nm rms/peak':>14} {'% of limit':>11} {'s':>5}"
    )
    refused, seconds, errors_mm = 0, [], []
    folders = arguments.folders or [real_recordings() / "gait"]
    for folder, path in ((place, walk) for place in folders for walk in walks_below(place)):
        name = str(path.relative_to(folder))
        trial = Stopwatch()
        try:
            result = biodyn.run_trial(path)
        except BiodynError as error:
            tell(f"{name:<44} {error}")
            refused += 1
            continue
        seconds.append(trial.seconds)
        errors_mm.append(1000.0 * float(np.sqrt(np.nanmean(result.analysis.fit.marker_error**2))))
        tell(_line(name, result, seconds[-1]))
        tell(f"{'':<6} static {result.analysis.static.path.name}; mass {result.analysis.subject.mass_source}")
    record.add("analysed", len(seconds), "walks, larger is better")
    record.add("refused", refused, "walks")
    if seconds:
        record.add("a walk, median", float(np.median(seconds)))
        record.add("marker error RMS, median", float(np.median(errors_mm)), "mm")
    record.add("whole run", watch.seconds)
    record.close()


def _line(name: str, result: biodyn.TrialResult, seconds: float) -> str:
    a = result.analysis
    error = 1000.0 * a.fit.marker_error
    used = sum(c.decision == "assigned" for c in a.contacts)
    text = (
        f"{name:<44} {a.subject.mass_kg:5.1f} {np.sqrt(np.nanmean(error**2)):7.1f} {np.nanmax(error):7.1f} "
        f"{used:>2}/{len(a.contacts):<2}"
    )
    if a.dynamics.residual_valid.any():
        limits = residual_limits(a)
        for vectors, limit in (
            (a.dynamics.residual_force, limits.force_n),
            (a.dynamics.residual_moment, limits.moment_nm),
        ):
            size = np.linalg.norm(vectors[a.dynamics.residual_valid], axis=1)
            rms, peak = float(np.sqrt(np.mean(size**2))), float(size.max())
            text += f" {rms:7.1f}/{peak:<6.1f} {100 * rms / limit:5.0f}/{100 * peak / limit:<5.0f}"
    else:
        text += f" {'no frame with every contact measured':<52}"
    return f"{text} {seconds:5.2f}"


if __name__ == "__main__":
    main()
