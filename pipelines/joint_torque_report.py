"""Peak joint moments and powers of one person's walks: a table, one figure, one CSV.

    python pipelines/joint_torque_report.py WALK.c3d [WALK2.c3d ...] [--out DIR] [--settings FILE.toml]

A peak counts only where the whole stance was measured. Moments are internal (what the muscles supply), per body mass.
Copy this file and joint_torque_report.toml, and change PEAKS to what you look for.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import pandas as pd

import biodyn
from biodyn.errors import BiodynError

SETTINGS = Path(__file__).with_suffix(".toml")
SIDES = {"r": "right", "l": "left"}

# Name, variable of the table gait_cycles, and its sign: +1 takes the largest value, -1 the most negative one.
# Coordinates are positive in hip flexion, knee flexion and ankle dorsiflexion; so are their moments.
PEAKS = [
    ("hip extension moment", "hip_flexion_moment", -1),
    ("hip flexion moment", "hip_flexion_moment", +1),
    ("knee extension moment", "knee_angle_moment", -1),
    ("knee flexion moment", "knee_angle_moment", +1),
    ("ankle plantarflexion moment", "ankle_angle_moment", -1),
    ("hip power generation", "hip_power", +1),
    ("knee power absorption", "knee_power", -1),
    ("ankle power generation", "ankle_power", +1),
]
CURVES = ["hip_flexion_moment", "knee_angle_moment", "ankle_angle_moment", "hip_power", "knee_power", "ankle_power"]


def main(arguments: list[str] | None = None) -> int:
    """Run the pipeline; returns 0, or 1 where no whole stance was measured."""
    parser = argparse.ArgumentParser(description="Peak joint moments and powers of one person's walks.")
    parser.add_argument("walks", type=Path, nargs="+", metavar="WALK.c3d")
    parser.add_argument("--settings", type=Path, default=SETTINGS)
    parser.add_argument("--out", type=Path, default=Path("reports") / "joint_torques")
    given = parser.parse_args(arguments)

    results = {walk.stem: biodyn.run_trial(walk, settings=given.settings) for walk in given.walks}
    stances = [measured_stances(result).assign(trial=name) for name, result in results.items()]
    whole = pd.concat(stances, ignore_index=True)
    if whole.empty:
        print("No stance was measured from foot strike to foot off in any of the walks.")
        return 1
    found = peaks(whole)

    given.out.mkdir(parents=True, exist_ok=True)
    found.to_csv(given.out / "peaks.csv", index=False, float_format="%.4f")
    figure(whole).savefig(given.out / "curves.png", dpi=120)
    print(summary(found).to_string(float_format="%.2f"))
    print(f"Written: {given.out / 'peaks.csv'}, {given.out / 'curves.png'}")
    return 0


def measured_stances(result: biodyn.TrialResult) -> pd.DataFrame:
    """Rows of gait_cycles of those cycles whose stance has a value in every percent, for the curves we want."""
    cycles = result.gait_cycles
    cycles = cycles[cycles["variable"].isin(CURVES)]
    stance = result.spatiotemporal[["side", "cycle", "stance_percent"]]
    cycles = cycles.astype({"side": str, "variable": str, "unit": str}).merge(stance, on=["side", "cycle"])
    lost = cycles[(cycles["percent"] <= cycles["stance_percent"]) & cycles["value"].isna()]
    gone = set(zip(lost["side"], lost["cycle"], strict=True))
    return cycles[[key not in gone for key in zip(cycles["side"], cycles["cycle"], strict=True)]]


def peaks(cycles: pd.DataFrame) -> pd.DataFrame:
    """One row per trial, side, cycle and peak: value (positive in the direction of its name), percent of the cycle, unit."""
    rows = []
    for name, variable, sign in PEAKS:
        curves = cycles[cycles["variable"] == variable].dropna(subset="value")
        for (trial, side, cycle), curve in curves.groupby(["trial", "side", "cycle"]):
            top = curve.iloc[int((sign * curve["value"]).argmax())]
            rows.append((trial, SIDES[str(side)], cycle, name, sign * top["value"], top["percent"], top["unit"]))
    return pd.DataFrame(rows, columns=["trial", "side", "cycle", "peak", "value", "percent", "unit"])


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """Mean, standard deviation and number of the peaks of each side."""
    sides = {
        side: rows.groupby(["peak", "unit"], sort=False)["value"].agg(["mean", "std", "count"])
        for side, rows in found.groupby("side")
    }
    return pd.concat(sides, axis=1)


def figure(cycles: pd.DataFrame) -> plt.Figure:
    """Every measured curve over the cycle, one panel per variable, one colour per side."""
    drawing, panels = plt.subplots(2, 3, figsize=(11, 6), sharex=True, layout="constrained")
    for panel, variable in zip(panels.flat, CURVES, strict=True):
        curves = cycles[cycles["variable"] == variable]
        for side, colour in (("r", "#1b7837"), ("l", "#b2182b")):
            wide = curves[curves["side"] == side].pivot(index="percent", columns=["trial", "cycle"], values="value")
            panel.plot(wide.index, wide, color=colour, linewidth=1.2)
            panel.plot([], [], color=colour, label=SIDES[side])
        panel.axhline(0.0, color="0.6", linewidth=0.8)
        panel.set_title(variable.replace("_", " "))
        panel.set_ylabel(curves["unit"].iloc[0] if len(curves) else "")
    for panel in panels[-1]:
        panel.set_xlabel("% of the gait cycle")
    panels[0, 0].legend(frameon=False)
    return drawing


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BiodynError as error:
        print(f"{error.message} {error.hint}", file=sys.stderr)
        sys.exit(2)
