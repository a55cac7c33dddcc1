"""OpenSim's tables and external loads: every variant of the header, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.real import recordings, reference_vectors

from biodyn.errors import BiodynError, InputFileError
from biodyn.io.opensim.external_loads import read_external_loads
from biodyn.io.opensim.storage import read_storage

ROWS = "0.0\t1.0\t2.0\n0.1\t1.5\t2.5\n"
HEADERS = {
    "version 1": ("Coordinates\nversion=1\nnRows=2\nnColumns=3\ninDegrees=yes\nendheader\n", True),
    "version 3": ("DataType=double\nversion=3\nendheader\n", None),
    "words": ("x\nnRows=2\nnColumns=3\n\nAngles are in radians.\n\nendheader\n", False),
    "SIMM": ("name x\ndatacolumns 3\ndatarows 2\nrange 0 0.1\nendheader\n", True),
    "other line ends": ("x\r\ninDegrees=no\r\nEndHeader\r\n", False),
}


def _written(tmp_path, text, name="x.mot"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("case", HEADERS)
def test_every_header_is_read(tmp_path, case):
    head, degrees = HEADERS[case]
    table = read_storage(_written(tmp_path, f"{head}time\ta\tb\n{ROWS}"))
    assert table.names == ("a", "b")
    assert table.in_degrees is degrees
    np.testing.assert_array_equal(table.values, [[1.0, 2.0], [1.5, 2.5]])
    np.testing.assert_array_equal(table.time_s, [0.0, 0.1])


def test_states_are_named_by_their_coordinates_and_equal_twins_are_one(tmp_path):
    labels = "time\t/jointset/hip/hip_flexion_r/value\t/jointset/hip/hip_flexion_r/speed\thip_flexion_r\n"
    table = read_storage(_written(tmp_path, f"endheader\n{labels}0\t1\t2\t1\n1\t3\t4\t3\n"))
    assert table.names == ("hip_flexion_r", "/jointset/hip/hip_flexion_r/speed")


def test_unequal_twins_are_refused_only_where_they_are_asked_for(tmp_path):
    table = read_storage(_written(tmp_path, "endheader\ntime a a b\n0 1 2 3\n1 2 3 4\n"))
    np.testing.assert_array_equal(table.column("b"), [3.0, 4.0])
    with pytest.raises(InputFileError, match="several columns named 'a'"):
        table.column("a")


@pytest.mark.parametrize(("second", "noted"), [("1", False), ("7", True)])
def test_a_second_column_called_time_is_none(tmp_path, second, noted):
    """As where the name of another one is lost."""
    table = read_storage(_written(tmp_path, f"endheader\ntime a time\n0 1 0\n1 2 {second}\n"))
    assert table.names == ("a",)
    np.testing.assert_array_equal(table.time_s, [0.0, 1.0])
    assert [note.code for note in table.notes] == ["columns-not-read"] * noted


def test_no_number_is_no_number_in_every_spelling(tmp_path):
    table = read_storage(_written(tmp_path, "endheader\ntime a b\n0 nan -1.#IND\n1 NaN 1.#QNAN00\n"))
    assert np.isnan(table.values).all()


REFUSED = {
    "no header": (f"time\ta\tb\n{ROWS}", "endheader"),
    "no rows": ("endheader\ntime a\n", "no rows"),
    "no time": (f"endheader\na\tb\tc\n{ROWS}", "time"),
    "a short row": ("endheader\ntime a b\n0 1 2\n1 2\n", "Row 2"),
    "a word": ("endheader\ntime a b\n0 1 2\n1 two 3\n", "Row 2"),
    "columns": (f"endheader\ntime\ta\n{ROWS}", "column names"),
    "time stands": ("endheader\ntime a\n0 1\n0 2\n", "increase"),
    "binary": (b"\x00\x01" * 100, "is not a text file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_table_is_refused_in_one_sentence(tmp_path, case):
    text, words = REFUSED[case]
    with pytest.raises(InputFileError, match=words):
        read_storage(_written(tmp_path, text))


def test_loads_name_their_body_and_columns():
    folder = reference_vectors() / "opensim" / "gait2354"
    loads = read_external_loads(folder / "external_loads.xml")
    assert [load.body for load in loads.loads] == ["calcn_r", "calcn_l"]
    assert loads.loads[1].point == tuple(f"1_ground_force_p{axis}" for axis in "xyz")
    assert loads.loads[0].moment == tuple(f"ground_torque_{axis}" for axis in "xyz")
    with pytest.raises(InputFileError, match="the foot on which"):
        read_external_loads(folder / "grf.mot")
    plain = read_external_loads(recordings() / "opensim/arnold2013_synthetic/subject18/trials/walk2/grf.mot")
    assert [load.body for load in plain.loads] == ["calcn_r", "calcn_l"]


def test_loads_that_are_not_there_are_refused(tmp_path):
    table = _written(tmp_path, "endheader\ntime a_vx a_vy\n0 1 2\n1 2 3\n", "grf.mot")
    xml = (
        '<OpenSimDocument Version="40000"><ExternalLoads><objects><ExternalForce name="r">'
        "<applied_to_body>calcn_r</applied_to_body>"
        "<force_identifier>a_v</force_identifier></ExternalForce></objects><datafile>{}</datafile></ExternalLoads></OpenSimDocument>"
    )
    with pytest.raises(InputFileError, match="three are expected for a vector"):
        read_external_loads(_written(tmp_path, xml.format(table.name), "loads.xml"))
    with pytest.raises(InputFileError, match=r"none\.mot"):
        read_external_loads(_written(tmp_path, xml.format("none.mot"), "loads.xml"))
    damaged = {
        "refers to the file '1 1": xml.format("1\t" * 2500),
        "columns that start with 'é'": xml.format(table.name).replace("a_v", "é\u200b"),
        "must be true or false, found 'the'": xml.format(table.name).replace(
            "<applied", "<isDisabled>the</isDisabled><applied"
        ),
    }
    for said, text in damaged.items():
        with pytest.raises(BiodynError, match=said) as refused:
            read_external_loads(_written(tmp_path, text, "loads.xml"))
        assert len(str(refused.value)) < 400


def test_a_refusal_shows_no_control_characters_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.mot"
    path.write_bytes(b"endheader\ntime a\n0 1\n1 \x1b[31m\x00\x07x\n")
    with pytest.raises(InputFileError) as refused:
        read_storage(path)
    assert refused.value.message.isprintable()
