"""study.parquet says in other people's readers what the rows of its trials say."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq
import pytest

from biodyn.conventions import CYCLE_POINTS
from biodyn.study.collecting.data_set import DataSetFile, Shard, joined
from biodyn.study.collecting.read import read_cycles
from biodyn.study.collecting.shard import Curves, Words
from biodyn.study.plan import PlannedTrial

WORDS = ("knee", "", 'quoted, "left"', "Knöchel\n", "膝", "x" * 300)


def curves(seed: int, count: int, variables: int, missing: str = "some") -> Curves:
    random = np.random.default_rng(seed)
    values = random.normal(size=(count, CYCLE_POINTS)) * 10.0 ** random.integers(-6, 6, (count, 1))
    reasons = np.zeros(values.shape, dtype=np.int64)
    if missing == "some":
        gone = random.random(values.shape) < 0.1
        gone[0], gone[-1, 50:] = True, True
    else:
        gone = np.full(values.shape, missing == "all")
    reasons[gone] = random.integers(1, 4, int(gone.sum()))
    values[gone] = np.nan
    names = (*WORDS, *(f"column {n}" for n in range(len(WORDS), variables)))[:variables]
    return Curves(
        np.sort(random.integers(1, 400, count)),
        Words(random.integers(0, 2, count), ("r", "l")),
        Words(random.integers(0, variables, count), names),
        Words(random.integers(0, 3, count), ("deg", "Nm/kg", "")),
        values,
        reasons,
        ("", "markers missing", 'plate "1", left', "später"),
    )


def trial(subject: str, name: str, condition: str = "slow") -> PlannedTrial:
    return PlannedTrial(subject, name, Path(f"{name}.c3d"), condition=condition, group="ß")


GROUPS = {
    "one curve": [Shard(trial("S01", "walk"), curves(1, 1, 1, "none"))],
    "nothing missing": [Shard(trial("S01", f"walk{n}", WORDS[n]), curves(n, 30, 6, "none")) for n in range(3)],
    "some missing": [Shard(trial("Zoë, 3", f"walk{n}"), curves(n, 20 + n, 6)) for n in range(4)],
    "all missing": [Shard(trial("S02", "walk"), curves(3, 10, 6, "all"))],
    "thousands of columns": [Shard(trial("S03", f"walk{n}"), curves(n, 3000, 2600)) for n in range(2)],
}


def written(groups: list[list[Shard]], folder: Path) -> Path:
    path = folder / "study.parquet"
    with closing(DataSetFile(path, "test")) as file:
        for shards in groups:
            file.add(joined(shards))
    return path


@pytest.mark.parametrize("kind", GROUPS)
def test_arrow_reads_the_rows_of_the_table(kind: str, tmp_path: Path) -> None:
    shards = GROUPS[kind]
    path = written([shards], tmp_path)
    expected = joined(shards)
    found = pq.read_table(path)
    assert found.schema.equals(expected.schema)
    assert found.combine_chunks().equals(expected)  # to the last bit, the words in the same order


def test_another_reader_reads_the_same(tmp_path: Path) -> None:
    """DuckDB has a decoder of its own."""
    groups = [GROUPS[kind] for kind in ("nothing missing", "some missing", "all missing")]
    path = written(groups, tmp_path)
    rows = duckdb.sql(f"select * from '{path}'").arrow().read_all()
    expected = [table for shards in groups for table in [joined(shards)]]
    for name in rows.column_names:
        mine = [value for table in expected for value in table[name].to_pylist()]
        assert rows[name].to_pylist() == mine, name


def test_a_row_group_is_told_by_its_subject(tmp_path: Path) -> None:
    """What readers skip row groups by."""
    groups = [GROUPS[kind] for kind in ("nothing missing", "some missing")]
    path = written(groups, tmp_path)
    found = pq.read_metadata(path)
    assert [found.row_group(n).num_rows for n in range(2)] == [sum(s.curves.rows for s in shards) for shards in groups]
    for n, subject in enumerate(("S01", "Zoë, 3")):
        statistics = found.row_group(n).column(0).statistics
        assert (statistics.min, statistics.max) == (subject, subject)
    only = read_cycles(path, ["value"], subject="Zoë, 3", variable="knee")["value"]
    table = joined(groups[1]).to_pandas()
    np.testing.assert_array_equal(only, table.loc[table["variable"] == "knee", "value"])


def test_no_trial_at_all_is_a_file_too(tmp_path: Path) -> None:
    assert pq.read_table(written([], tmp_path)).num_rows == 0
