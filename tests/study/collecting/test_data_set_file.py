"""study.parquet says in other people's readers what the rows of its trials say."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.shards import write_rows

from biodyn.conventions import CYCLE_POINTS
from biodyn.study.collecting.cycles import DATA_SET_SCHEMA, DECIMALS, decode_cycle_table
from biodyn.study.collecting.data_set_reader import read_cycles
from biodyn.study.collecting.result_aggregation import open_data_set, row_groups
from biodyn.study.plan import PlannedTrial
from biodyn.study.trial_record import CYCLES_NAME

WORDS = ("knee", "", 'quoted, "left"', "Knöchel\n", "膝", "x" * 300)
REASONS = ("", "markers missing", 'plate "1", left', "später")


def trial(subject: str, name: str, condition: str = "slow") -> PlannedTrial:
    return PlannedTrial(subject, name, Path(f"{name}.c3d"), condition=condition, group="ß")


def curves(seed: int, count: int, variables: int, missing: str = "some") -> pd.DataFrame:
    random = np.random.default_rng(seed)
    values = np.round(random.normal(size=(count, CYCLE_POINTS)) * 10.0 ** random.integers(-6, 6, (count, 1)), DECIMALS)
    reasons = np.zeros(values.shape, dtype=np.int64)
    if missing == "some":
        gone = random.random(values.shape) < 0.1
        gone[0], gone[-1, 50:] = True, True
    else:
        gone = np.full(values.shape, missing == "all")
    reasons[gone] = random.integers(1, 4, int(gone.sum()))
    values[gone] = np.nan
    names = np.array([*WORDS, *(f"column {n}" for n in range(len(WORDS), variables))][:variables], dtype=object)

    def rows(of_curves: np.ndarray) -> np.ndarray:
        return np.repeat(of_curves, CYCLE_POINTS)

    return pd.DataFrame(
        {
            "cycle": rows(np.sort(random.integers(1, 400, count))),
            "side": rows(np.array(["r", "l"])[random.integers(0, 2, count)]),
            "percent": np.tile(np.arange(float(CYCLE_POINTS)), count),
            "variable": rows(names[random.integers(0, variables, count)]),
            "value": values.reshape(-1),
            "unit": rows(np.array(["deg", "Nm/kg", ""])[random.integers(0, 3, count)]),
            "valid": ~gone.reshape(-1),
            "reason": np.array(REASONS)[reasons.reshape(-1)],
        }
    )


GROUPS = {
    "one curve": [(trial("S01", "walk"), curves(1, 1, 1, "none"))],
    "nothing missing": [(trial("S01", f"walk{n}", WORDS[n]), curves(n, 30, 6, "none")) for n in range(3)],
    "some missing": [(trial("Zoë, 3", f"walk{n}"), curves(n, 20 + n, 6)) for n in range(4)],
    "all missing": [(trial("S02", "walk"), curves(3, 10, 6, "all"))],
    "thousands of columns": [(trial("S03", f"walk{n}"), curves(n, 3000, 2600)) for n in range(2)],
}


def written(groups: list[str], folder: Path) -> Path:
    path = folder / "study.parquet"
    trials = []
    for one, frame in (pair for kind in groups for pair in GROUPS[kind]):
        write_rows(frame, folder)
        trials.append((one, decode_cycle_table((folder / CYCLES_NAME).read_bytes())))
    with open_data_set(path, "test") as file:
        for table in row_groups(trials):
            file.write_table(table, row_group_size=max(table.num_rows, 1))
    return path


def expected(kind: str) -> pd.DataFrame:
    """The rows that were written, with the labels of their trials."""
    return pd.concat(
        [
            frame.assign(**{name: getattr(one, name) for name in ("subject", "condition", "group", "trial")})
            for one, frame in GROUPS[kind]
        ],
        ignore_index=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", GROUPS)
def test_arrow_reads_the_rows_of_the_table(kind: str, tmp_path: Path) -> None:
    found = pq.read_table(written([kind], tmp_path))
    assert found.schema.equals(DATA_SET_SCHEMA)
    rows = expected(kind)
    for name in rows:
        np.testing.assert_array_equal(found[name].to_pandas().to_numpy(), rows[name].to_numpy(), err_msg=str(name))


def test_another_reader_reads_the_same(tmp_path: Path) -> None:
    """DuckDB has a decoder of its own."""
    kinds = ["nothing missing", "some missing", "all missing"]
    path = written(kinds, tmp_path)
    rows = duckdb.sql(f"select * from '{path}'").arrow().read_all()
    mine = pa.Table.from_pandas(pd.concat([expected(kind) for kind in kinds]), preserve_index=False)
    for name in mine.column_names:
        assert rows[name].to_pylist() == mine[name].to_pylist(), name


def test_a_row_group_is_told_by_its_subject(tmp_path: Path) -> None:
    """What readers skip row groups by."""
    kinds = ["nothing missing", "some missing"]
    path = written(kinds, tmp_path)
    found = pq.read_metadata(path)
    assert [found.row_group(n).num_rows for n in range(2)] == [len(expected(kind)) for kind in kinds]
    for n, subject in enumerate(("S01", "Zoë, 3")):
        statistics = found.row_group(n).column(0).statistics
        assert (statistics.min, statistics.max) == (subject, subject)
    only = read_cycles(path, ["value"], subject="Zoë, 3", variable="knee")["value"]
    table = expected(kinds[1])
    np.testing.assert_array_equal(only, table.loc[table["variable"] == "knee", "value"])


def test_no_trial_at_all_is_a_file_too(tmp_path: Path) -> None:
    assert pq.read_table(written([], tmp_path)).num_rows == 0
