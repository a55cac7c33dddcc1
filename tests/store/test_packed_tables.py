"""Packed results hold the same tables in an eighth of the room, and every command reads them like any other."""

from __future__ import annotations

import io
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.stored import DATA
from typer.testing import CliRunner

import biodyn
from biodyn.cli import app
from biodyn.errors import ResultError
from biodyn.output.store.folder import packed_table_path, record_digest
from biodyn.output.store.result_writer import add_files, round_array
from biodyn.output.tables import TABLES
from biodyn.output.tables.csv import read_csv, write_rows
from biodyn.output.tables.parquet_tables import from_packed_version_0_2, from_parquet, to_parquet
from biodyn.trial.result import TrialResult
from biodyn.verification.replay import ReplayOptions


def as_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """What comes back of a table that is written as text."""
    text = io.BytesIO()
    write_rows(frame, text, header=True)
    return read_csv(io.BytesIO(text.getvalue()))


def awkward(rows: int) -> pd.DataFrame:
    """A table with every kind of column, drawn at random."""
    random = np.random.default_rng(rows)
    some = np.cumsum(random.normal(size=rows)) * 10.0 ** random.integers(-5, 6)
    words = np.array(["", "left", "right, or not", '"quoted"', "Ünïcode", "two\nlines"])
    return pd.DataFrame(
        {
            "time_s": np.arange(rows) / 100.0,
            "smooth": np.sin(np.arange(rows) / 7.0) * 321.0,
            "walk": some,
            "gaps": np.where(random.random(rows) < 0.3, np.nan, some),
            "begins late": np.where(np.arange(rows) < rows // 3, np.nan, some),
            "nothing": np.full(rows, np.nan),
            "infinite": np.where(np.arange(rows) % 5 == 3, -np.inf, some),
            "huge": some * 1e22,
            "percent": np.arange(rows, dtype=np.float64),
            "plate": random.integers(-3, 2**40, rows),
            "known": random.random(rows) < 0.5,
            "word": words[random.integers(0, len(words), rows)],
            "side": pd.Categorical.from_codes(random.integers(-1, 2, rows), ["r", "l"]),
            "no words": [""] * rows,
        }
    )


@pytest.mark.parametrize("rows", [1, 2, 5, 101, 4000])
def test_a_packed_table_is_the_table_that_csv_gives(rows: int) -> None:
    made = awkward(rows)
    found, expected = from_parquet(to_parquet(made)), as_csv(made)
    # reading text is off by the last bit now and then; packed numbers never are
    pd.testing.assert_frame_equal(found, expected, rtol=1e-15, atol=0.0)
    np.testing.assert_array_equal(found["smooth"], np.round(made["smooth"], 5))


def test_columns_are_packed_to_as_many_decimals_as_asked_for() -> None:
    made = awkward(101)
    found = from_parquet(to_parquet(made, coarser={"smooth": 2}))
    np.testing.assert_array_equal(found["smooth"], np.round(made["smooth"], 2))
    pd.testing.assert_frame_equal(found.drop(columns="smooth"), from_parquet(to_parquet(made)).drop(columns="smooth"))


def test_a_table_without_rows_keeps_its_columns() -> None:
    assert list(from_parquet(to_parquet(awkward(0))).columns) == list(awkward(0).columns)


def test_half_a_packed_table_is_refused() -> None:
    content = to_parquet(awkward(300))
    for at in np.random.default_rng(1).integers(0, len(content), 20).tolist():
        with pytest.raises(ValueError, match="packed table"):
            from_parquet(content[:at])


def test_a_packed_table_of_version_0_2_is_read() -> None:
    """The stored one is `awkward(101)`, its column "walk" with two decimals."""
    content = (DATA / "table_0_2.packed").read_bytes()
    pd.testing.assert_frame_equal(
        from_packed_version_0_2(content), read_csv(DATA / "table_0_2.csv"), rtol=1e-15, atol=0.0
    )
    for at in np.random.default_rng(1).integers(0, len(content), 20).tolist():
        with pytest.raises(ValueError, match="packed table"):
            from_packed_version_0_2(content[:at])


def test_a_result_of_version_0_2_opens_with_its_packed_tables(both: tuple[Path, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(both[1], tmp_path / "walk"))
    name = "joint_torques"
    with add_files(folder, [f"tables/{name}.packed"]) as new:
        (new / "tables").mkdir()
        shutil.copyfile(DATA / "table_0_2.packed", new / "tables" / f"{name}.packed")
    (folder / packed_table_path(name)).unlink()
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    record["files"] = [entry for entry in record["files"] if entry["path"] != packed_table_path(name)]
    record["record_sha256"] = record_digest(record)
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    assert len(biodyn.load(folder).table(name)) == 101


@pytest.fixture(scope="module")
def both(walk_result: TrialResult, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One walk as text and packed."""
    place = tmp_path_factory.mktemp("both")
    settings = walk_result.analysis.settings
    saved = []
    for tables in ("csv", "packed"):
        output = settings.output.model_copy(update={"figures": False, "report": False, "tables": tables})
        own = settings.model_copy(update={"output": output})
        saved.append(TrialResult(replace(walk_result.analysis, settings=own)).save(place / tables))
    return saved[0], saved[1]


def test_a_packed_result_opens_with_the_same_tables(both: tuple[Path, Path]) -> None:
    text, tight = (biodyn.load(folder) for folder in both)
    left_out = {name for name, table in TABLES.items() if not table.when_packed}
    assert set(text.table_names) - left_out == set(tight.table_names)
    for name in tight.table_names:
        pd.testing.assert_frame_equal(text.table(name), tight.table(name), rtol=1e-15, atol=0.0)
    assert (tight.folder / packed_table_path("joint_torques")).is_file()
    assert (tight.folder / "tables" / "spatiotemporal.csv").is_file(), "small tables stay text"


def test_it_takes_an_eighth_of_the_room(both: tuple[Path, Path]) -> None:
    text, tight = (sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) for folder in both)
    assert tight < text / 5.0, (text, tight)  # the walk is short: what does not grow with it counts more


def test_what_is_added_later_leaves_the_record_as_small(both: tuple[Path, Path], tmp_path: Path) -> None:
    for folder, lines in zip(both, (False, True), strict=True):
        place = Path(shutil.copytree(folder, tmp_path / folder.name))
        with add_files(place, ["report.html"]) as new:
            (new / "report.html").write_text("a page", encoding="utf-8")
        assert ((place / "run.json").read_text(encoding="utf-8").count("\n") == 1) is lines
        assert biodyn.load(place).table_names


def test_arrays_lose_nothing_that_is_known(both: tuple[Path, Path]) -> None:
    whole, kept = (biodyn.load(folder).arrays for folder in both)
    assert whole.keys() == kept.keys()
    for name, values in whole.items():
        if name in ("v", "vdot", "tau"):  # computed from q: round-off of the second derivative of its spline
            np.testing.assert_allclose(kept[name], values, rtol=0.0, atol=1e-11 * np.nanmax(np.abs(values)))
        elif name == "markers_W":  # half a unit of 2^-14 m
            np.testing.assert_allclose(kept[name], values, rtol=0.0, atol=2.0**-15)
            np.testing.assert_array_equal(round_array(kept[name], len(kept["time_s"])), kept[name])
        else:
            np.testing.assert_array_equal(kept[name], values)


def test_a_changed_packed_table_is_refused(both: tuple[Path, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(both[1], tmp_path / "walk"))
    path = folder / packed_table_path("joint_torques")
    path.write_bytes(to_parquet(from_parquet(path.read_bytes()).iloc[::-1]))
    with pytest.raises(ResultError, match="differs from what biodyn wrote"):
        _ = biodyn.load(folder).joint_torques


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
def test_every_command_takes_a_packed_result(both: tuple[Path, Path], tmp_path: Path) -> None:
    tight, text = (Path(shutil.copytree(folder, tmp_path / folder.name)) for folder in reversed(both))
    for command in (
        ["report", tight],
        ["export", tight, "--to", "opensim", "--out", tmp_path / "opensim"],
        ["export", tight, "--to", "xlsx", "--out", tmp_path / "xlsx"],
        ["compare", tight, text, "--out", tmp_path / "compared"],
    ):
        done = CliRunner().invoke(app, [str(word) for word in command])
        assert done.exit_code in (0, 1), (command, done.output)
    short = ReplayOptions(windows_s=(0.05, 0.1), start_every_s=0.2)
    drift = [biodyn.replay(folder, short).tables()["replay_drift"].select_dtypes("number") for folder in (text, tight)]
    # what a replay multiplies errors by in a tenth of a second is far below the five decimals of its tables
    np.testing.assert_allclose(drift[1], drift[0], atol=1e-5)
