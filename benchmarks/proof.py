"""Every identity on every trial, and what proof and replay cost: python benchmarks/proof.py [--replay]

Trials: the sample data, and the recordings of the folder named by BIODYN_TEST_DATA (its `gait` folder). A row a trial: largest
relative error of each identity over all frames; sum of the parts of the torques against the torques; time of the proof as a
share of the trial's own computing time. With --replay also how long open-loop windows stay within 1 degree and 1 cm, and
the feedback torques that tracking needs beside the recorded ones.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from biodyn.errors import BiodynError
from biodyn.processing.driven import driven_by
from biodyn.processing.parts import torque_parts
from biodyn.processing.proof import prove
from biodyn.replaying import replay
from biodyn.result import TrialResult
from biodyn.workflow import run_trial

_SAMPLE = Path(__file__).parents[1] / "sample_data"


def trials() -> Iterator[tuple[str, Path]]:
    """Yield name and path of every recording that may be a walk."""
    folders = [_SAMPLE]
    if os.environ.get("BIODYN_TEST_DATA"):
        folders.append(Path(os.environ["BIODYN_TEST_DATA"]) / "gait")
    for folder in folders:
        for path in sorted(folder.rglob("*.c3d")):
            yield str(path.relative_to(folder)), path


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replay", action="store_true", help="replay every trial too (seconds each)")
    arguments = parser.parse_args()
    titles: list[str] = []
    worst: dict[str, float] = {}
    for name, path in trials():
        try:
            run_trial(path)  # the first run loads what later ones have
            start = time.perf_counter()
            result = run_trial(path)
            own = time.perf_counter() - start
        except BiodynError as error:
            print(f"{name:44s} {error.message}")
            continue
        row, codes = check(result, own)
        if not titles:
            titles = codes
            print(
                f"{'trial':44s} {'frames':>6s} "
                + " ".join(f"{code:>16s}" for code in codes)
                + " residual N (rms)  of trial's time"
            )
        print(
            f"{name[-44:]:44s} {row['frames']:6.0f} "
            + " ".join(f"{row[c]:16.1e}" for c in codes)
            + f" {row['residual']:17.1f} {row['share']:15.1%}"
        )
        for code in codes:
            worst[code] = max(worst.get(code, 0.0), row[code])
        if arguments.replay:
            show_replay(result)
    print(f"{'worst':51s} " + " ".join(f"{worst[code]:16.1e}" for code in titles))


def check(result: TrialResult, own_s: float) -> tuple[dict[str, float], list[str]]:
    """Return the largest relative errors by identity, frames and share of time, and the identities' codes."""
    driven = driven_by(result.analysis.fit, result.analysis.dynamics)
    prove(driven)
    start = time.perf_counter()
    proof = prove(driven)
    spent = time.perf_counter() - start
    row = {identity.code: identity.worst for identity in proof.identities}
    known = driven.known
    parts = torque_parts(driven)
    row["parts"] = float(np.max(np.abs(parts.total - driven.tau)[known]) / np.max(np.abs(driven.tau[known])))
    codes = list(row)
    force = result.analysis.dynamics.residual_force[result.analysis.dynamics.residual_valid]
    residual = float(np.sqrt(np.mean(np.sum(force**2, axis=1)))) if len(force) else float("nan")
    return row | {"frames": float(known.sum()), "share": spent / own_s, "residual": residual}, codes


def show_replay(result: TrialResult) -> None:
    """Print the replay's summary below the trial's row."""
    start = time.perf_counter()
    replayed = replay(result)
    for line in replayed.summary():
        print(f"    {line}")
    for row in replayed.tables()["replay_drift"].itertuples():
        print(
            f"    {row.case} {row.torques:10s} {row.window_s:5.2f} s, {row.ground:8s}: {row.windows:4d} windows, "
            f"{row.lost:3d} lost, "
            f"joint {row.joint_median_deg:9.2g} (median) {row.joint_worst_deg:9.2g} (worst) deg, "
            f"base {row.position_worst_cm:8.2g} cm {row.orientation_worst_deg:8.2g} deg, "
            f"within {row.share_within_tolerance:4.0%}, most {row.most_drifted}"
        )
    print(f"    replayed in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
