"""Every consistency check on every trial, and what checks and replay cost: python benchmarks/consistency.py [--replay]

Trials: the sample data, and the recordings of the folder named by BIODYN_TEST_DATA (its `gait` folder). Two tables in Markdown,
one row per trial. Checks: largest relative error of each over all frames; sum of the contributions against the torques;
consistency checks and checks of the data as a share of the computing time. What each check of the data measured, in its
unit, with * where it is a finding. With --replay also how long open-loop windows stay within 1 degree and 1 cm, and the feedback
torques that tracking needs beside the recorded ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from common import Record, Stopwatch, Table, files_below, parser_of, recordings_at_hand, take_turns, tell

from biodyn.checks.registry import CheckDefinition, checks_of_kind
from biodyn.errors import BiodynError
from biodyn.processing.dynamics.actuated_motion import actuated_motion
from biodyn.trial.replay import replay
from biodyn.trial.result import TrialResult
from biodyn.trial.run import run_trial
from biodyn.verification.consistency import check_consistency
from biodyn.verification.contributions import torque_contributions


def trials() -> Iterator[tuple[str, Path]]:
    """Yield name and path of every recording that may be a walk."""
    sample, *real = recordings_at_hand()
    for folder in (sample, *(folder / "gait" for folder in real)):
        for path in files_below(folder):
            yield str(path.relative_to(folder)), path


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__, only="")
    parser.add_argument("--replay", action="store_true", help="replay every trial too (seconds each)")
    arguments = parser.parse_args()
    record, watch = Record("consistency", vars(arguments)), Stopwatch()
    shares: dict[str, list[float]] = {"consistency_share": [], "checks_share": []}
    table: Table | None = None
    worst: dict[str, float] = {}
    checked: list[list[str]] = []
    for name, path in trials():
        if arguments.only not in name:
            continue
        try:
            run_trial(path)  # the first run loads what later ones have
            result = run_trial(path)
        except BiodynError as error:
            tell(f"| {name} | {error.message} |")
            continue
        row, codes = check(result)
        if table is None:
            costs = ("residual, N RMS", "consistency, % of the trial's time", "checks, %")
            table = Table(("trial", "frames", *codes, *costs))
        numbers = [f"{row[code]:.0e}" for code in codes]
        ends = [f"{row['residual']:.1f}", f"{100 * row['consistency_share']:.0f}", f"{100 * row['checks_share']:.0f}"]
        table.row(name, f"{row['frames']:.0f}", *numbers, *ends)
        for share, values in shares.items():
            values.append(100 * row[share])
        for code in codes:
            worst[code] = max(worst.get(code, 0.0), row[code])
        checked.append([name, *data_cells(result)])
        if arguments.replay:
            show_replay(result)
    if table is not None:
        table.row("worst", "", *(f"{value:.0e}" for value in worst.values()))
        tell()
        data = Table(("trial", *(f"{entry.title}{unit_of(entry)}" for entry in checks_of_kind("recording"))))
        for cells in checked:
            data.row(*cells)
        record.add("trials", len(checked), "trials, larger is better")
        for code, value in worst.items():
            record.add(f"{code}, largest", value, "of the value")
        for share, values in shares.items():
            record.add(f"{share.removesuffix('_share')}, median", float(np.median(values)), "% of the trial's time")
    record.add("whole run", watch.seconds)
    record.close()


def unit_of(entry: CheckDefinition) -> str:
    """The unit of a check's number for the head of its column."""
    unit = entry.display_unit[1] if entry.display_unit else ""
    return f", {unit}" if unit else ""


def data_cells(result: TrialResult) -> list[str]:
    """What every check of the data measured, and * where it led to a finding that is more than an information."""
    found = {note.code for note in result.diagnostics if note.severity != "info"}
    records = {entry["key"]: entry for entry in result.record["data_checks"]}
    cells = []
    for entry in checks_of_kind("recording"):
        value = records[entry.code]["value"]
        number = "–" if value is None or entry.display_unit is None else _short(entry.display_unit[0] * value)
        cells.append(number + ("*" if found & set(entry.findings) else ""))
    return cells


def _short(value: float) -> str:
    """Two digits, and nothing below a thousandth."""
    return f"{float(f'{value:.2g}'):g}" if abs(value) >= 1e-3 else "0"


def check(result: TrialResult) -> tuple[dict[str, float], list[str]]:
    """Return the largest relative errors by check, frames and shares of time, and the checks' codes."""
    actuated = actuated_motion(result.analysis.fit, result.analysis.dynamics)
    consistency = check_consistency(actuated)
    spent = take_turns({"verify": lambda: check_consistency(actuated)}, turns=3)["verify"].median
    row = {check.code: check.largest_error for check in consistency.checks}
    known = actuated.known
    parts = torque_contributions(actuated)
    row["parts"] = float(
        np.max(np.abs(sum(parts.values()) - actuated.tau)[known]) / np.max(np.abs(actuated.tau[known]))
    )
    codes = list(row)
    force = result.analysis.dynamics.residual_force[result.analysis.dynamics.residual_valid]
    residual = float(np.sqrt(np.mean(np.sum(force**2, axis=1)))) if len(force) else float("nan")
    timings = result.analysis.timings
    own = sum(seconds for step, seconds in timings.items() if step != "checks")
    shares = {"consistency_share": spent / own, "checks_share": timings["checks"] / own}
    return row | {"frames": float(known.sum()), "residual": residual} | shares, codes


def show_replay(result: TrialResult) -> None:
    """Print the replay's summary below the trial's row."""
    watch = Stopwatch()
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
    print(f"    replayed in {watch.seconds:.1f} s")


if __name__ == "__main__":
    main()
