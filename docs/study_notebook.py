"""A study, cell by cell: open in VS Code, Spyder or (through Jupytext) Jupyter, or run as a script.

Each `# %%` begins a cell. Change SOURCE and OUT, then run the cells in order; running again does only what changed.
"""

from __future__ import annotations

from pathlib import Path

# %% The folder of recordings, and where the results go
import biodyn

SOURCE = Path("sample_data")
OUT = Path("reports") / "sample_study"

# %% Content: each file, its role, and the reason
study = biodyn.Study.open(SOURCE)
for trial in study.plan.trials:
    print(trial.subject, trial.session, trial.condition, trial.trial, trial.static)
for file in study.plan.files:
    print(file.role, file.path, file.reason)

# %% Run it: in processes of this machine; resumes where it stopped
result = study.run(OUT, on_outcome=lambda outcome: print(outcome.subject, outcome.trial, outcome.status))

# %% Which trials can be used?
print(result.trials[["subject", "trial", "status", "reason"]].to_string())

# %% One variable of all cycles, as a pandas table
knee = result.cycles(variable="knee_angle")
print(knee.groupby(["subject", "side"], observed=True)["value"].describe())

# %% Group results: one table each
print(result.group_tables)
parameters = result.group_table("parameters")
print(parameters.groupby(["parameter", "unit"])["value"].agg(["mean", "std", "count"]))

# %% One trial: its report, its replay
folder = result.trial_folder(study.plan.trials[0].subject, study.plan.trials[0].trial)
print(f"biodyn report {folder}")
