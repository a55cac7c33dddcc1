"""Spreadsheets: exports of other programs, a laboratory's own with a column map, and what is no table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.stick_person import LABELS, person_mm

from biodyn.conventions import FloatArray
from biodyn.errors import InputFileError
from biodyn.io import read
from biodyn.io.tables.spreadsheet import contains_trajectories
from biodyn.io.tables.text_tables import read_sheet

FRAMES = 20
POINTS = person_mm(FRAMES) / 1000.0
FLAT = POINTS.reshape(FRAMES, -1)
AXES = [f"{label}_{axis}" for label in LABELS for axis in "XYZ"]


def _rows(values: FloatArray, separator: str, lead: Callable[[int], list[object]]) -> str:
    return "".join(
        separator.join([*map(str, lead(i)), *(f"{x:.7g}" for x in row)]) + "\n" for i, row in enumerate(values)
    )


def _over(cells: list[str], separator: str) -> str:
    return separator.join(cells) + "\n"


EXPORTS = {
    "one.csv": "time," + _over(AXES, ",") + _rows(FLAT, ",", lambda i: [i / 100]),
    "glued.csv": "time," + _over([name.replace("_", "") for name in AXES], ",") + _rows(FLAT, ",", lambda i: [i / 100]),
    "matlab.csv": "time,"
    + _over([f"{label}_{axis}" for label in LABELS for axis in (1, 2, 3)], ",")
    + _rows(FLAT, ",", lambda i: [i / 100]),
    "matrix.csv": "time,"
    + _over([f"{label}[{axis}]" for label in LABELS for axis in (1, 2, 3)], ",")
    + _rows(FLAT, ",", lambda i: [i / 100]),
    "brackets.csv": "time,"
    + _over([f"{label} ({axis})" for label in LABELS for axis in "XYZ"], ",")
    + _rows(FLAT, ",", lambda i: [i / 100]),
    "millimetres.csv": "Time (s)," + _over(AXES, ",") + _rows(1000 * FLAT, ",", lambda i: [i / 100]),
    "comma.csv": "Zeit;" + _over(AXES, ";") + _rows(FLAT, ";", lambda i: [i / 100]).replace(".", ","),
    "nexus.csv": "Trajectories\n100\n,,"
    + ",,,".join(f"Anna:{label}" for label in LABELS)
    + ",,\nFrame,Sub Frame,"
    + _over([*"XYZ"] * len(LABELS), ",")
    + ",,"
    + _over(["mm"] * 3 * len(LABELS), ",")
    + _rows(1000 * FLAT, ",", lambda i: [i + 1, 0])
    + "\nDevices\n1000\n1,2,3\n",
    "qtm.tsv": f"NO_OF_FRAMES\t{FRAMES}\nNO_OF_MARKERS\t{len(LABELS)}\nFREQUENCY\t100\nDESCRIPTION\t--\nMARKER_NAMES\t"
    + _over(list(LABELS), "\t")
    + _rows(1000 * FLAT, "\t", lambda i: []),
    "qtm_headed.tsv": "FREQUENCY\t100\nMARKER_NAMES\t"
    + _over(list(LABELS), "\t")
    + "Frame\tTime\t"
    + _over([name.replace("_", " ") for name in AXES], "\t")
    + _rows(1000 * FLAT, "\t", lambda i: [i + 1, i / 100]),
    # https://wiki.has-motion.com, "Visual3D ASCII Format": five rows above the numbers, and the time as a signal
    "visual3d_timed.tsv": "\t"
    + _over(["C:\\walks\\walk.c3d"] * (1 + len(AXES)), "\t")
    + "\tTIME\t"
    + _over([label for label in LABELS for _ in "XYZ"], "\t")
    + "\tFRAME_NUMBERS\t"
    + _over(["TARGET"] * len(AXES), "\t")
    + "\t"
    + _over(["ORIGINAL"] * (1 + len(AXES)), "\t")
    + "ITEM\tX\t"
    + _over([*"XYZ"] * len(LABELS), "\t")
    + _rows(FLAT, "\t", lambda i: [i + 1, i / 100]),
    "visual3d.tsv": "\t"
    + _over(["walk.c3d"] * len(AXES), "\t")
    + "\t"
    + _over([label for label in LABELS for _ in "XYZ"], "\t")
    + "\t"
    + _over(["TARGET"] * len(AXES), "\t")
    + "ITEM\t"
    + _over([*"XYZ"] * len(LABELS), "\t")
    + _rows(FLAT, "\t", lambda i: [i + 1]),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_exports_of_other_programs_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(EXPORTS[name])
    if name == "visual3d.tsv":  # says no rate
        (tmp_path / "visual3d.columns.toml").write_text("rate_hz = 100.0\n")
    found = read(tmp_path / name)
    assert found.markers.rate_hz == 100.0
    columns = [LABELS.index(label) for label in found.markers.labels]
    assert len(columns) == len(LABELS)
    np.testing.assert_allclose(found.markers.positions, POINTS[:, columns], atol=1e-5)


@pytest.mark.parametrize("signal", ["TARGET", "LINK_MODEL_BASED"])
def test_an_export_of_visual3d_is_known_as_a_text_file_too(tmp_path: Path, signal: str) -> None:
    """Its usual name; a study takes trajectories, not the results of its model."""
    place = tmp_path / "walk.txt"
    place.write_text(EXPORTS["visual3d_timed.tsv"].replace("TARGET", signal))
    assert contains_trajectories(place) == (signal == "TARGET")
    assert read(place).markers.frame_count == FRAMES
    place.write_text(EXPORTS["visual3d_timed.tsv"].replace(".c3d", ".doc"))
    with pytest.raises(InputFileError, match="not a recording of a known format"):
        read(place)


def test_centimetres_that_nobody_states_are_told(tmp_path: Path) -> None:
    text = "time," + _over(AXES, ",") + _rows(100.0 * FLAT, ",", lambda i: [i / 100])
    (tmp_path / "walk.csv").write_text(text)
    found = read(tmp_path / "walk.csv")
    np.testing.assert_allclose(found.markers.positions, POINTS, atol=1e-5)
    assert "unit-corrected" in [note.code for note in found.diagnostics]


def test_parquet_is_read(tmp_path: Path) -> None:
    columns = dict(zip(AXES, FLAT.T, strict=True))
    pq.write_table(pa.table({"time_s": np.arange(FRAMES) / 100.0, **columns}), tmp_path / "walk.parquet")
    np.testing.assert_array_equal(read(tmp_path / "walk.parquet").markers.positions, POINTS)


MAP = """
rate_hz = 50.0
length = "mm"
angle = "deg"

[markers]
LASI = ["a", "b", "c"]
RASI = ["d", "e", "f"]
SACR = ["g", "h", "i"]

[[forces]]
side = "left"
force = ["j", "k", "l"]
point = ["m", "n", "o"]

[coordinates]
knee_angle_r = "p"
"""


def _own(folder: Path, text: str) -> Path:
    values = np.tile([100.0, 1000, 100, -100, 1000, 100, 0, 1000, 0, 0, 700, 0, 0, 0, 0, 45, 9], (FRAMES, 1))
    (folder / "own.csv").write_text(_over([*"abcdefghijklmnopq"], ",") + _rows(values, ",", lambda i: []))
    (folder / "own.columns.toml").write_text(text)
    return folder / "own.csv"


def test_a_column_map_says_what_the_columns_are(tmp_path: Path) -> None:
    found = read(_own(tmp_path, MAP))
    assert found.markers.labels == ("LASI", "RASI", "SACR")
    np.testing.assert_allclose(found.markers.positions[3, 0], [0.1, 1.0, 0.1])
    assert found.markers.rate_hz == 50.0
    np.testing.assert_allclose(found.coordinates.column("knee_angle_r"), np.pi / 4.0)
    (plate,) = found.plates
    assert plate.side == "l"
    np.testing.assert_allclose(np.abs(plate.channels[:, 2]), 700.0)
    assert [path.name for path, _ in found.also_read] == ["own.columns.toml"]
    assert "columns-not-read" in [note.code for note in found.diagnostics]


WRONG_MAPS = {
    "a column that is not there": (MAP.replace('"p"', '"zz"'), "'zz', which does not exist"),
    "a misspelt entry": (MAP.replace("rate_hz", "rate"), "rate"),
    "a wrong unit": (MAP.replace('"mm"', '"inch"'), "length"),
    "two columns for a marker": (MAP.replace('["a", "b", "c"]', '["a", "b"]'), "LASI"),
    "no time": (MAP.replace("rate_hz = 50.0", ""), "neither a time column"),
    "no TOML": ("rate_hz =", "TOML"),
}


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("change", ["a cell more", "a cell less", "empty cells more"])
@pytest.mark.parametrize("at", [0, FRAMES - 1])
def test_a_row_of_another_number_of_cells_is_no_row(tmp_path: Path, name: str, change: str, at: int) -> None:
    """A decimal comma where commas separate, or a line that was cut, would shift cells, or stretch the table, in silence."""
    lines = EXPORTS[name].splitlines()
    first = len(lines) - FRAMES - (4 if name == "nexus.csv" else 0)  # another table stands below
    separator = "\t" if name.endswith(".tsv") else ";" if name == "comma.csv" else ","
    cells = lines[first + at].split(separator)
    changed = {"a cell more": [*cells, "5"], "a cell less": cells[:-1], "empty cells more": [*cells, "", ""]}[change]
    lines[first + at] = separator.join(changed)
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    (tmp_path / "visual3d.columns.toml").write_text("rate_hz = 100.0\n")
    if change == "empty cells more":
        assert read(tmp_path / name).markers.frame_count == FRAMES
        return
    with pytest.raises(InputFileError, match=f"Line {first + at + 1} of '{name}' has {len(changed)} cells; "):
        read(tmp_path / name)


def test_rows_that_are_all_wider_than_their_names_are_refused(tmp_path: Path) -> None:
    text = (
        "time," + _over(AXES, ",") + _rows(FLAT, ",", lambda i: ["0", f"{i:02d}"])
    )  # 0,01: a decimal comma in every row
    (tmp_path / "walk.csv").write_text(text)
    with pytest.raises(InputFileError, match=f"Line 2 of 'walk.csv' has {len(AXES) + 2} cells; "):
        read(tmp_path / "walk.csv")


def test_what_stands_in_quotes_is_one_cell(tmp_path: Path) -> None:
    head = ",".join(f'"{name}"' for name in ["time", *AXES])
    rows = _rows(FLAT, ",", lambda i: [f'"{i / 100}"'])
    (tmp_path / "quoted.csv").write_text(f"{head}\n{rows}")
    np.testing.assert_allclose(read(tmp_path / "quoted.csv").markers.positions, POINTS, atol=1e-5)
    (tmp_path / "quoted.csv").write_text(f"{head}\n" + rows.replace('"0.05"', '"0,05"'))
    with pytest.raises(InputFileError, match=r"Line 7 of 'quoted\.csv' holds '0,05'"):
        read(tmp_path / "quoted.csv")


@pytest.mark.parametrize("case", WRONG_MAPS)
def test_a_wrong_map_is_one_sentence(tmp_path: Path, case: str) -> None:
    text, words = WRONG_MAPS[case]
    with pytest.raises(InputFileError, match=words):
        read(_own(tmp_path, text))


HOSTILE = {
    "x.csv": b"just words\nno numbers\n",
    "wide.csv": b"a" + b",a" * 1_000_000 + b"\n1" + b",1" * 1_000_000 + b"\n",
    "nul.csv": b"time,a\n\0\0\0\0",
    "ragged.csv": b"time,a_x,a_y,a_z\n0,1,2,3\n1,2,3,4,5\n",
    "words.csv": b"time,a_x,a_y,a_z\n0,1,2,3\n1,2,three,4\n",
    "back.csv": b"time,a_x,a_y,a_z\n1,1,2,3\n0,1,2,3\n",
    "empty.csv": b"",
    "head.csv": b"time,a_x,a_y,a_z\n",
    "people.csv": b"time,age,height\n0,30,1.8\n1,31,1.7\n",
    "x.parquet": b"PAR1" + b"\xff" * 400 + b"PAR1",
    "short.parquet": b"PAR1",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_table_is_refused_in_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(HOSTILE[name])
    with pytest.raises(InputFileError) as caught:
        read(tmp_path / name)
    assert len(caught.value.message.splitlines()) == 1
    assert len(caught.value.message) < 400


def test_a_damaged_parquet_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "walk.parquet"
    path.write_bytes(b"PAR1" + bytes(200))
    with pytest.raises(InputFileError, match="not a valid Parquet") as refused:
        read(path)
    assert not refused.value.message.endswith("..")


def test_a_parquet_file_whose_names_are_no_text_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "walk.parquet"
    pd.DataFrame({"time": [0.0, 0.01], "MARKER_X": [1.0, 2.0]}).to_parquet(path)
    path.write_bytes(path.read_bytes().replace(b"MARKER_X", b"MARKE\xd3_X"))
    with pytest.raises(InputFileError) as refused:
        read(path)
    assert "not a valid Parquet" in refused.value.message


BLANK_WITHIN = "time,A_x,A_y,A_z\n0.00,1,2,3\n0.01,1,2,3\n{blank}\n0.03,4,5,6\n0.04,4,5,6\n"


@pytest.mark.parametrize("blank", ["", ",,,", "  "])
def test_rows_behind_a_blank_line_belong_to_the_table(blank):
    """They were passed over without a word."""
    sheet = read_sheet("blank.csv", BLANK_WITHIN.format(blank=blank))
    np.testing.assert_array_equal(sheet.values[:, 0], [0.0, 0.01, 0.03, 0.04])
    without_time = "\n".join(line.partition(",")[2] for line in BLANK_WITHIN.format(blank=",,,").splitlines())
    np.testing.assert_array_equal(read_sheet("blank.csv", without_time).values[:, 0], [1.0, 1.0, np.nan, 4.0, 4.0])


def test_a_row_that_is_cut_is_told_where_blank_lines_stand_between_all_rows():
    """As other line ends leave them; the last row was passed over without a word."""
    text = "time,A_x,A_y,A_z\n\n0.0,1,2,3\n\n0.01,1,2,3\n\n0.02,1,2\n"
    with pytest.raises(InputFileError, match=r"Line 7 of 'cut\.csv' has 3 cells"):
        read_sheet("cut.csv", text)


def test_another_table_behind_a_blank_line_is_left_out():
    other = BLANK_WITHIN.format(blank="") + "\nframe,B_x\n1,2\n"
    assert len(read_sheet("two.csv", other).values) == 4
    with pytest.raises(InputFileError, match="Line 6 "):  # blank lines count
        read_sheet("cut.csv", BLANK_WITHIN.format(blank="").replace("0.04,4,5,6", "0.04,4"))


def test_a_force_plate_of_motive_is_refused_as_it_tells_no_place(tmp_path: Path) -> None:
    """Its rows tell mocap and device frames, forces, moments and the centre of pressure in the plate's own axes."""
    head = ["Force plate", *(f"line {k}, value" for k in range(30))]
    names = "MocapFrame, MocapTime, DeviceFrame, Fx, Fy, Fz, Mx, My, Mz, Cx, Cy, Cz"
    rows = [f"{k // 10},{k / 1000:.4f},{k % 10}," + ",".join(["1.0"] * 9) for k in range(50)]
    (tmp_path / "walk_forceplate_1.csv").write_text("\n".join([*head, names, *rows]) + "\n")
    for stated in ("", "rate_hz = 1000.0\n"):
        if stated:
            (tmp_path / "walk_forceplate_1.columns.toml").write_text(stated)
        with pytest.raises(InputFileError, match=r"OptiTrack Motive.*not the position of the plate"):
            read(tmp_path / "walk_forceplate_1.csv")
