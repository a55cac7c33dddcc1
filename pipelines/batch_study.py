"""A batch study in ten lines of Python: run a folder, look at what failed, compare, draw one figure.

    python pipelines/batch_study.py FOLDER|STUDY.toml [--out DIR] [--workers N]

Copy this file and change what comes after the study has run: `study_notebook.py` has the same steps as notebook cells.
Running it again analyses only what is new or changed.
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

# Variable of the data set, its name, the multiple that makes extension and plantarflexion moments point up.
CURVES = {
    "hip_flexion_moment": ("hip extension moment", -1.0),
    "knee_angle_moment": ("knee extension moment", -1.0),
    "ankle_angle_moment": ("ankle plantarflexion moment", -1.0),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the pipeline; returns 0, or 3 where some trials failed."""
    parser = argparse.ArgumentParser(description="Run a study, list its failures, draw mean joint moments.")
    parser.add_argument("source", type=Path, metavar="FOLDER|STUDY.toml")
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--workers", type=int, default=None)
    given = parser.parse_args(arguments)

    study = biodyn.Study.open(given.source)
    out = given.out or Path("reports") / study.plan.name
    result = study.run(out, workers=given.workers)

    print(result.trials["status"].value_counts().to_string())
    for row in result.trials.query("status == 'failed'").itertuples():
        print(f"{row.subject}/{row.trial}: {row.reason}")
    curves = pd.concat([mean_curves(result, variable) for variable in CURVES])
    if curves.empty:
        print("No cycle with a measured stance: no curves to draw.")
    else:
        figure(curves).savefig(out / "mean_moments.png", dpi=120)
        print(f"Written: {out / 'mean_moments.png'}")
    print(f"Begin with {out / 'report.html'}")
    return 3 if (result.trials["status"] == "failed").any() else 0


def mean_curves(result: biodyn.StudyResult, variable: str) -> pd.DataFrame:
    """Mean and SD over subjects of a variable, by condition and percent; a subject counts once however many cycles."""
    rows = result.cycles(variable=variable)
    rows = rows[rows["valid"]]
    of_subject = rows.groupby(["condition", "subject", "percent"], observed=True)["value"].mean()
    over = of_subject.groupby(level=["condition", "percent"]).agg(["mean", "std", "count"]).reset_index()
    return over.assign(variable=variable)


def figure(curves: pd.DataFrame) -> plt.Figure:
    """One panel per variable, one band per condition."""
    drawing, panels = plt.subplots(1, len(CURVES), figsize=(4 * len(CURVES), 3.6), sharex=True, layout="constrained")
    for panel, (variable, (title, sign)) in zip(panels, CURVES.items(), strict=True):
        for condition, rows in curves[curves["variable"] == variable].groupby("condition", observed=True):
            middle, spread = sign * rows["mean"], rows["std"]
            name = str(condition) or "all"
            label = f"{name} ({rows['count'].max()} subjects)"
            line = panel.plot(rows["percent"], middle, label=label)[0]
            panel.fill_between(rows["percent"], middle - spread, middle + spread, color=line.get_color(), alpha=0.2)
        panel.axhline(0.0, color="0.6", linewidth=0.8)
        panel.set_title(title)
        panel.set_xlabel("% of the gait cycle")
    panels[0].set_ylabel("Nm/kg")
    panels[0].legend(frameon=False)
    return drawing


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BiodynError as error:
        print(f"{error.message} {error.hint}", file=sys.stderr)
        sys.exit(2)
