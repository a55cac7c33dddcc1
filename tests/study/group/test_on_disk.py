"""From study.parquet and the trials' folders to the same results as from memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.made_studies import PERCENT, MadeStudy, MadeSubject, made_study

from biodyn.errors import ResultError
from biodyn.study.collecting.cycles import DATA_SET_SCHEMA, STATISTICS_COLUMN
from biodyn.study.group.group_analysis import analyse_frames, analyse_study
from biodyn.study.options import AnalysisOptions
from biodyn.study.plan import PlannedTrial, StudyPlan
from biodyn.study.trial_record import STRIDES_NAME, read_strides

UNITS = {"knee_angle": "deg", "ground_force_y": "BW"}


def walker(number: int, condition: str, side: str, random: np.random.Generator) -> dict[str, np.ndarray]:
    force = np.where(PERCENT <= 60.0, np.sin(np.pi * PERCENT / 60.0), np.nan)
    knee = 30.0 + 20.0 * np.sin(2.0 * np.pi * PERCENT / 100.0) + number + random.standard_normal()
    return {"knee_angle": knee + (2.0 if condition == "fast" else 0.0), "ground_force_y": force}


def write(study: MadeStudy, out: Path) -> StudyPlan:
    """Write the study as the collecting step and the trials do."""
    trials: list[PlannedTrial] = []
    out.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(out / "study.parquet", DATA_SET_SCHEMA, write_statistics=[STATISTICS_COLUMN]) as file:
        for subject in study.subjects:
            file.write_table(pa.Table.from_pandas(subject.frame, schema=DATA_SET_SCHEMA, preserve_index=False))
            trials += write_strides(subject, out)
    return StudyPlan("made", out, tuple(trials), ())


def write_strides(subject: MadeSubject, out: Path) -> list[PlannedTrial]:
    rows: dict[str, list[dict[str, object]]] = {}
    for (trial, side, cycle), stride in subject.strides.items():
        row = {"side": side, "cycle": cycle, "start_s": 0.1, "foot_off_s": 0.8, "end_s": 1.2, **stride}
        rows.setdefault(trial, []).append(row)
    trials = [PlannedTrial(subject.name, trial, Path("walk.c3d")) for trial in rows]
    for trial in trials:
        path = out / trial.folder / STRIDES_NAME
        path.parent.mkdir(parents=True)
        pd.DataFrame(rows[trial.trial]).to_csv(path, index=False)
    return trials


@pytest.mark.slow
def test_results_from_disk_are_those_from_memory(tmp_path: Path) -> None:
    study = made_study(walker, UNITS, subjects=4, conditions=("normal", "fast"))
    plan = write(study, tmp_path / "disk")
    on_disk = analyse_study(plan, tmp_path / "disk", AnalysisOptions())
    in_memory = analyse_frames(study.frames(), study.strides, tmp_path / "memory")
    for name in ("parameters.csv", "group_curves.csv", "comparisons.csv", "spm.csv", "cycles.csv", "symmetry.csv"):
        assert (on_disk.folder / name).read_bytes() == (in_memory.folder / name).read_bytes(), name
    parameters = pd.read_csv(on_disk.folder / "parameters.csv")
    times = parameters.query("parameter == 'stride_time'")["value"]
    assert (times == 1.1).all()
    impulses = parameters.query("parameter == 'vertical_impulse'")["value"]
    # of a half sine of 60 % of 1.1 s; lines between samples lose a thousandth
    np.testing.assert_allclose(impulses, 2.0 / np.pi * 0.6 * 1.1, rtol=1e-3)


def test_a_trial_without_its_table_of_strides_has_no_impulses_but_peaks(tmp_path: Path) -> None:
    study = made_study(walker, UNITS, subjects=1)
    plan = write(study, tmp_path)
    (tmp_path / plan.trials[0].folder / STRIDES_NAME).unlink()
    results = analyse_study(plan, tmp_path)
    parameters = pd.read_csv(results.folder / "parameters.csv")
    knee = parameters.query("parameter == 'knee_flexion_range'")
    assert knee["value"].notna().all()
    impulse = parameters.query("parameter == 'vertical_impulse'")
    missing = set(impulse[impulse["value"].isna()]["trial"])
    assert missing == {plan.trials[0].trial}
    assert results.parameters.set_index("name").loc["vertical_impulse", "not_known"] == 4


def test_a_study_that_was_not_collected_is_said(tmp_path: Path) -> None:
    with pytest.raises(ResultError):
        analyse_study(StudyPlan("none", tmp_path, (), ()), tmp_path)
    assert not (tmp_path / "group").exists()


def test_an_empty_cell_of_the_strides_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "spatiotemporal.csv"
    path.write_text("side,cycle,start_s,foot_off_s,end_s,stride_time_s,stance_percent\nr,1,0.1,,1.2,1.1,\n")
    found = read_strides(path)
    assert list(found) == [("r", 1)]
    assert found["r", 1]["stride_time_s"] == 1.1
    assert np.isnan(found["r", 1]["stance_percent"])
    assert set(found["r", 1]) == {"stride_time_s", "stance_percent"}  # instants within the trial are no parameters
