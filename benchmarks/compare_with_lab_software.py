"""How far the laboratory software's own channels (Plug-in Gait angles and moments) agree with biodyn, over measured stance.

    python benchmarks/compare_with_lab_software.py FILE.c3d|FOLDER ... [--settings FILE.toml] [--csv FILE.csv]

Folders are searched for walks that hold such channels. Angles lose their constant offset first (neutral positions are defined
differently). "same filter" repeats the comparison after the channel went through biodyn's own low-pass filter.
compare_with_lab_software.toml makes the model as Plug-in Gait makes it.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

import pandas as pd
from common.laboratory_channels import Agreement, compare_with_lab_software, walks_with_lab_outputs
from rich.console import Console
from rich.table import Table

import biodyn
from biodyn.errors import BiodynError

SETTINGS = Path(__file__).with_suffix(".toml")


_FILE_WIDTH = 150


def main(arguments: list[str] | None = None) -> int:
    """Run the pipeline; returns 0 if all targets are met, 1 if some are not, 2 if there was nothing to compare."""
    parser = argparse.ArgumentParser(description="Agreement of laboratory software with biodyn.")
    parser.add_argument("places", nargs="+", type=Path, metavar="FILE.c3d|FOLDER")
    parser.add_argument("--settings", type=Path, default=SETTINGS)
    parser.add_argument("--csv", type=Path, help="write the table of all comparisons here")
    given = parser.parse_args(arguments)

    console, errors = Console(), Console(stderr=True)
    if not console.is_terminal:  # a file has room for the whole table
        console = Console(width=_FILE_WIDTH)
    found: list[Agreement] = []
    for walk in walks_with_lab_outputs(given.places):
        try:
            result = biodyn.run_trial(walk, settings=given.settings)
        except BiodynError as error:
            errors.print(f"{walk.name}: {error.message} {error.hint}", markup=False, highlight=False)
            continue
        agreements = compare_with_lab_software(result.analysis)
        if not agreements:
            errors.print(f"{walk.name}: no measured stance with channels to compare.", markup=False, highlight=False)
        found += agreements
    if not found:
        errors.print("Nothing to compare: expected walks with force plates and Plug-in Gait angles or moments.")
        return 2
    console.print(trial_table(found))
    console.print(summary_table(found))
    if given.csv:
        table = pd.DataFrame([{**asdict(a), "meets_targets": a.meets_targets} for a in found])
        table.to_csv(given.csv, index=False, float_format="%.5g")
        console.print(f"Written: {given.csv}", highlight=False)
    return 0 if all(agreement.meets_targets for agreement in found) else 1


def trial_table(found: list[Agreement]) -> Table:
    """One row per trial, side and variable."""
    table = Table("trial", "side", "variable", "unit", title="Agreement over measured stance")
    for heading in ("r", "RMS", "offset", "peak", "r, same filter", "RMS, same filter", "met"):
        table.add_column(heading, justify="right")
    for a in found:
        digits = 1 if a.kind == "angle" else 3
        numbers = [f"{a.r:.3f}", *(f"{value:.{digits}f}" for value in (a.rms, a.offset, a.peak))]
        same = [f"{a.r_same:.3f}", f"{a.rms_same:.{digits}f}"]
        table.add_row(a.trial, a.side, a.variable, a.unit, *numbers, *same, "yes" if a.meets_targets else "no")
    return table


def summary_table(found: list[Agreement]) -> Table:
    """One row per variable: how many met their targets, median and worst."""
    table = Table("variable", "unit", "targets", title="By variable")
    for heading in ("met", "median r", "worst r", "median RMS", "worst RMS", "median RMS, same filter"):
        table.add_column(heading, justify="right")
    data = pd.DataFrame([{**asdict(a), "met": a.meets_targets} for a in found])
    for variable, rows in data.groupby("variable", sort=False):
        first = rows.iloc[0]
        digits = 1 if first["kind"] == "angle" else 3
        targets = f"RMS <= {first['most_rms']:g}" + (f", r >= {first['least_r']:g}" if first["least_r"] > -1.0 else "")
        table.add_row(
            str(variable),
            first["unit"],
            targets,
            f"{rows['met'].sum()} of {len(rows)}",
            f"{rows['r'].median():.3f}",
            f"{rows['r'].min():.3f}",
            *(f"{value:.{digits}f}" for value in (rows["rms"].median(), rows["rms"].max(), rows["rms_same"].median())),
        )
    return table


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BiodynError as error:
        print(f"{error.message} {error.hint}", file=sys.stderr)
        sys.exit(2)
