"""From the trials' folders to one data set: whole, in the plan's order, the same bytes every time, no matter what failed."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.shards import write_rows
from support.study_folder import StudyFolder, made_study_folder

import biodyn.study.collecting.data_set_reader as reading
import biodyn.study.collecting.result_aggregation as collecting
from biodyn.errors import ResultError
from biodyn.study.collecting import collect_results, iterate_subjects, read_cycles
from biodyn.study.collecting.cycles import DATA_SET_COLUMNS, metric_columns, read_cycle_table, summary_columns
from biodyn.study.collecting.data_set_reader import _read_rows, read_subject_names
from biodyn.study.collecting.result_aggregation import row_groups
from biodyn.study.trial_record import CYCLES_NAME
from biodyn.trial.result import TrialResult

FILES = ("study.parquet", "study.csv", "summary.csv")


def read_csv(path: Path) -> pd.DataFrame:
    """Texts as texts: "" is not missing, only an empty value is."""
    texts = [name for name in DATA_SET_COLUMNS if name not in ("cycle", "percent", "value", "valid")]
    frame = pd.read_csv(path, dtype=dict.fromkeys(texts, str), keep_default_na=False, na_values={"value": [""]})
    return frame


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def collected(walk_result: TrialResult, tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """A study whose trials are collected; not to be changed."""
    folder = made_study_folder(walk_result, tmp_path_factory.mktemp("collected"))
    collect_results(folder.plan, folder.out)
    return folder


def test_every_row_of_every_trial_in_the_order_of_the_plan(study_folder: StudyFolder) -> None:
    found = collect_results(study_folder.plan, study_folder.out)
    table = pd.read_parquet(study_folder.out / "study.parquet")
    assert tuple(table.columns) == DATA_SET_COLUMNS
    expected = pd.concat(
        [study_folder.rows[trial.subject, trial.trial] for trial in study_folder.done], ignore_index=True
    )
    assert found.rows == len(table) == len(expected)
    for name in DATA_SET_COLUMNS:
        if name == "value":
            np.testing.assert_array_equal(table[name], expected[name])
        else:
            assert table[name].astype(str).tolist() == expected[name].astype(str).tolist(), name


def test_missing_is_missing_for_pandas_and_duckdb(collected: StudyFolder) -> None:
    path = collected.out / "study.parquet"
    table = pd.read_parquet(path)
    assert 0 < (~table["valid"]).sum() < len(table)
    assert (table["value"].isna() == ~table["valid"]).all()
    assert ((table["reason"] == "") == table["valid"]).all()
    counted = duckdb.sql(
        f"select subject, variable, count(*) as rows, count(value) as known, avg(value) as mean from '{path}' "
        "group by all order by all"
    ).df()
    again = table.groupby(["subject", "variable"], observed=True)["value"].agg(["size", "count", "mean"]).reset_index()
    again = again.astype({"subject": str, "variable": str}).sort_values(["subject", "variable"])
    assert counted["subject"].tolist() == again["subject"].tolist()
    assert counted["variable"].tolist() == again["variable"].tolist()
    assert counted["rows"].tolist() == again["size"].tolist()
    assert counted["known"].tolist() == again["count"].tolist()
    # the order of summation differs: round-off of a mean of a few thousand values
    np.testing.assert_allclose(counted["mean"].astype(float), again["mean"], rtol=1e-9, atol=1e-12)


def test_the_text_holds_the_same_numbers_to_the_last_digit(collected: StudyFolder) -> None:
    table = pd.read_parquet(collected.out / "study.parquet")
    text = read_csv(collected.out / "study.csv")
    assert tuple(text.columns) == DATA_SET_COLUMNS
    np.testing.assert_array_equal(text["value"], table["value"])
    for name in DATA_SET_COLUMNS:
        if name != "value":
            other = table[name].astype(text[name].dtype if name in ("cycle", "percent", "valid") else str)
            assert text[name].tolist() == other.tolist(), name


def test_names_with_commas_quotes_and_letters_of_all_kinds_survive(study_folder: StudyFolder) -> None:
    """The third subject of the folder has them in its labels; the labels of the plan count, not those of the run."""
    collect_results(study_folder.plan, study_folder.out)
    text = read_csv(study_folder.out / "study.csv")
    labels = {trial.condition for trial in study_folder.done}
    assert any("," in label for label in labels)
    assert any('"' in label for label in labels)
    assert set(text["condition"]) == labels
    renamed = replace(
        study_folder.plan, trials=tuple(replace(t, condition="naïve, \n2 lines") for t in study_folder.plan.trials)
    )
    collect_results(renamed, study_folder.out)
    for frame in (read_csv(study_folder.out / "study.csv"), pd.read_parquet(study_folder.out / "study.parquet")):
        assert set(frame["condition"]) == {"naïve, \n2 lines"}


def test_failed_trials_are_in_the_summary_only(collected: StudyFolder) -> None:
    summary = pd.read_csv(collected.out / "summary.csv", keep_default_na=False)
    assert tuple(summary.columns) == summary_columns()
    assert list(zip(summary["subject"], summary["trial"], strict=True)) == [
        (trial.subject, trial.trial) for trial in collected.plan.trials
    ]
    failed = summary[summary["status"] == "failed"].iloc[0]
    assert failed["error"] == "PlateError"
    assert failed["reason"] == 'No plate, "none" at all.'
    assert (failed[list(metric_columns())] == "").all()
    assert (summary["status"] == "not run").sum() == 1
    table = pd.read_parquet(collected.out / "study.parquet", columns=["subject", "trial"]).drop_duplicates()
    assert [tuple(row) for row in table.to_numpy()] == [(t.subject, t.trial) for t in collected.done]


def test_figures_come_from_the_records(collected: StudyFolder) -> None:
    summary = pd.read_csv(collected.out / "summary.csv")
    done = summary[summary["status"] == "warn"]
    assert len(done) == len(collected.done)
    for name, value in collected.metrics.items():
        if isinstance(value, float):
            # written with six digits
            np.testing.assert_allclose(done[name].to_numpy(dtype=float), value, rtol=1e-5)


def test_the_columns_do_not_depend_on_what_ran(study_folder: StudyFolder) -> None:
    collect_results(study_folder.plan, study_folder.out)
    header = (study_folder.out / "summary.csv").read_text(encoding="utf-8").splitlines()[0]
    schema = pq.read_schema(study_folder.out / "study.parquet")
    failed = tuple(t for t in study_folder.plan.trials if t not in study_folder.done)
    found = collect_results(replace(study_folder.plan, trials=failed), study_folder.out)
    assert found.rows == found.with_cycles == 0
    assert (study_folder.out / "summary.csv").read_text(encoding="utf-8").splitlines()[0] == header
    assert pq.read_schema(study_folder.out / "study.parquet").equals(schema, check_metadata=True)
    assert len(read_csv(study_folder.out / "study.csv")) == 0
    assert len(read_cycles(study_folder.out)) == 0
    assert list(iterate_subjects(study_folder.out)) == []


def test_two_collections_are_the_same_bytes(study_folder: StudyFolder) -> None:
    collect_results(study_folder.plan, study_folder.out)
    first = bytes_of(study_folder.out)
    collect_results(study_folder.plan, study_folder.out)
    assert bytes_of(study_folder.out) == first


def test_nothing_names_the_place_it_lies_in(collected: StudyFolder) -> None:
    assert not [name for name, data in bytes_of(collected.out).items() if str(collected.out).encode() in data]


@pytest.mark.parametrize("moment", ["parquet", "text", "rename"])
def test_a_crash_leaves_the_old_files(study_folder: StudyFolder, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    collect_results(study_folder.plan, study_folder.out)
    before = bytes_of(study_folder.out)
    fewer = replace(study_folder.plan, trials=study_folder.plan.trials[:1])

    def crash(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left")

    if moment == "parquet":
        monkeypatch.setattr(collecting.pq.ParquetWriter, "write_table", crash)
    elif moment == "text":
        monkeypatch.setattr(collecting, "write_csv_rows", crash)
    else:
        monkeypatch.setattr(collecting.os, "replace", crash)
    with pytest.raises(ResultError, match="No space left"):
        collect_results(fewer, study_folder.out)
    monkeypatch.undo()
    assert bytes_of(study_folder.out) == before
    assert not list(study_folder.out.glob(".*.part"))
    collect_results(fewer, study_folder.out)
    assert bytes_of(study_folder.out) != before


def test_what_a_killed_run_left_is_no_obstacle(study_folder: StudyFolder) -> None:
    for name in FILES:
        (study_folder.out / f".{name}.part").write_bytes(b"half")
    collect_results(study_folder.plan, study_folder.out)
    assert not list(study_folder.out.glob(".*.part"))
    assert len(read_cycles(study_folder.out)) > 0


def test_a_damaged_shard_costs_its_trial_only(study_folder: StudyFolder) -> None:
    whole = collect_results(study_folder.plan, study_folder.out).rows
    victim = study_folder.done[0]
    path = study_folder.out / victim.folder / CYCLES_NAME
    data = path.read_bytes()
    path.unlink()  # written anew: the other trials' files may be links to the same
    path.write_bytes(data[: len(data) // 2])
    found = collect_results(study_folder.plan, study_folder.out)
    assert found.rows == whole - len(study_folder.rows[victim.subject, victim.trial])
    assert [note.code for note in found.diagnostics] == ["trial-unreadable"]
    summary = pd.read_csv(study_folder.out / "summary.csv")
    row = summary[(summary["subject"] == victim.subject) & (summary["trial"] == victim.trial)].iloc[0]
    assert row["status"] == "failed"
    assert "cannot be read" in row["reason"]


@pytest.mark.slow
def test_one_missing_and_one_damaged_trial_among_thousands_of_columns(study_folder: StudyFolder) -> None:
    """Of trials of 2,500 variables one has no folder and one a damaged file: the others' rows are whole, each is told."""
    names = [f"column {n}" for n in range(2500)]
    values = np.random.default_rng(4).normal(size=len(names) * 101).round(6)
    wide = pd.DataFrame(
        {
            "cycle": 1, "side": "r", "percent": np.tile(np.arange(101.0), len(names)),
            "variable": np.repeat(names, 101), "value": values, "unit": "deg", "valid": True, "reason": "",
        }
    )  # fmt: skip
    kept, gone, hurt = study_folder.done[2], study_folder.done[3], study_folder.done[4]
    for trial in study_folder.done:
        write_rows(wide, study_folder.out / trial.folder)
    shutil.rmtree(study_folder.out / gone.folder)
    path = study_folder.out / hurt.folder / CYCLES_NAME
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    found = collect_results(study_folder.plan, study_folder.out)
    assert found.with_cycles == 3
    assert found.rows == 3 * len(wide)
    (note,) = found.diagnostics
    assert note.code == "trial-unreadable"
    assert note.message == f"{hurt.subject}, {hurt.trial}: '{CYCLES_NAME}' of trial '{hurt.trial}' cannot be read."
    assert note.hint == f"Remove the folder '{hurt.trial}' and run the study again."
    summary = pd.read_csv(study_folder.out / "summary.csv", keep_default_na=False).set_index(["subject", "trial"])
    assert summary.loc[(gone.subject, gone.trial), "status"] == "not run"
    assert summary.loc[(hurt.subject, hurt.trial), "status"] == "failed"
    rows = read_cycles(study_folder.out, ["variable", "value"], subject=kept.subject)
    assert rows["variable"].astype(str).tolist() == np.repeat(names, 101).tolist()
    np.testing.assert_array_equal(rows["value"], values)


def test_a_long_data_set_is_not_written_as_text(study_folder: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    collect_results(study_folder.plan, study_folder.out)
    monkeypatch.setattr(collecting, "MOST_TEXT_ROWS", 1000)
    found = collect_results(study_folder.plan, study_folder.out)
    assert not (study_folder.out / "study.csv").exists()  # an older one would contradict study.parquet
    assert [note.code for note in found.diagnostics] == ["study-table-left-out"]
    assert "study.csv" not in [file["name"] for file in found.files]
    assert found.rows == len(read_cycles(study_folder.out))


# -- reading --------------------------------------------------------------------------------------------------------


def test_a_row_group_holds_one_subject(collected: StudyFolder) -> None:
    found = read_subject_names(collected.out)
    assert found == tuple(dict.fromkeys(trial.subject for trial in collected.done))
    frames = list(iterate_subjects(collected.out))
    assert [frame["subject"].unique().tolist() for frame in frames] == [[subject] for subject in found]
    whole = pd.concat([frame.astype({"reason": str, "trial": str, "subject": str}) for frame in frames])
    table = pd.read_parquet(collected.out / "study.parquet")
    np.testing.assert_array_equal(whole["value"], table["value"])
    assert whole["trial"].tolist() == table["trial"].astype(str).tolist()


def test_long_subjects_are_split_between_trials(study_folder: StudyFolder) -> None:
    trials = [(trial, read_cycle_table(study_folder.out / trial.folder)) for trial in study_folder.done]
    groups = list(row_groups(trials, rows=1))
    assert [group["trial"].unique().to_pylist() for group in groups] == [[trial.trial] for trial, _ in trials]


def test_only_what_is_wanted_is_read(collected: StudyFolder) -> None:
    whole = read_cycles(collected.out)
    variables = ["knee_angle", "ankle_power"]
    trial = collected.done[-1]
    some = read_cycles(collected.out / "study.parquet", subject=trial.subject, variable=variables, valid=True)
    rows = (whole["subject"] == trial.subject) & whole["variable"].isin(variables) & whole["valid"]
    np.testing.assert_array_equal(some["value"], whole.loc[rows, "value"])
    assert set(some["variable"].cat.categories) == set(variables)  # nothing that is not there
    half = read_cycles(collected.out, ["percent", "value"], percent=50)
    assert list(half.columns) == ["percent", "value"]
    assert len(half) == (whole["percent"] == 50).sum()


def test_values_of_other_subjects_are_not_read(collected: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    every = read_cycles(collected.out)
    groups: list[int] = []

    def rows(file: pq.ParquetFile, numbers: Sequence[int], columns: Sequence[str] | None) -> pa.Table:
        groups.extend(numbers if columns is None or "value" in columns else ())
        return _read_rows(file, numbers, columns)

    monkeypatch.setattr(reading, "_read_rows", rows)
    wanted = [str(name) for name in every["subject"].unique()[[0, 2]]]
    values = read_cycles(collected.out, ["value"], subject=wanted)["value"]
    assert groups == [0, 2]
    np.testing.assert_array_equal(values, every.loc[every["subject"].isin(wanted), "value"])


def test_an_unknown_name_is_told(collected: StudyFolder) -> None:
    with pytest.raises(ResultError, match=r"no variable 'knee'.*'knee_angle'"):
        read_cycles(collected.out, variable="knee")
    with pytest.raises(ResultError, match=r"no column 'joint'.*variable"):
        read_cycles(collected.out, joint="knee")
    with pytest.raises(ResultError, match="biodyn study"):
        read_cycles(collected.out / "elsewhere")
    with pytest.raises(ResultError, match="not a value of column 'cycle'"):
        read_cycles(collected.out, cycle="first")


@pytest.mark.slow
def test_a_data_set_of_a_version_without_sites_is_read(study_folder: StudyFolder) -> None:
    collect_results(study_folder.plan, study_folder.out)
    path = study_folder.out / "study.parquet"
    new = read_cycles(path)
    with pq.ParquetFile(path) as file:
        groups = [file.read_row_group(n).drop_columns(["site"]) for n in range(file.num_row_groups)]
    with pq.ParquetWriter(path, groups[0].schema, write_statistics=["subject", "group"]) as old:
        for group in groups:
            old.write_table(group)
    pd.testing.assert_frame_equal(read_cycles(path), new)
    pd.testing.assert_frame_equal(
        read_cycles(path, ["trial"], site="", group="b"), read_cycles(path, ["trial"], group="b")
    )
    with pytest.raises(ResultError, match="site"):
        read_cycles(path, site="Hospital North")
    frames = list(iterate_subjects(path))
    assert list(frames[0].columns) == list(DATA_SET_COLUMNS)
    assert len(frames) == len(read_subject_names(path)) == 3
    assert list(next(iter(iterate_subjects(path, ["trial", "value"]))).columns) == ["trial", "value"]
