"""Files of MATLAB are read as SciPy reads them."""

from __future__ import annotations

import zlib
from io import BytesIO

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from biodyn.io.matlab import MatlabError, Record, read_variables

RNG = np.random.default_rng(4)
VARIABLES = {
    "numbers": RNG.normal(size=(3, 4, 5)),
    "whole": np.arange(6, dtype=np.int16).reshape(2, 3),
    "bytes": np.arange(3, dtype=np.uint8),
    "single": np.float32([1.5, -2.0]),
    "one": 7.0,
    "text": "Grüße",
    "cells": np.array(["LASI", "a longer label", np.eye(2)], dtype=object),
    "record": {"name": "walk", "inner": {"rate": 100.0, "empty": np.empty((0, 3))}},
    "records": np.array([(1.0, "a"), (2.0, "b")], dtype=[("x", object), ("y", object)]),
}


def written(variables, compressed: bool = False) -> bytes:
    stream = BytesIO()
    savemat(stream, variables, do_compression=compressed)
    return stream.getvalue()


def read_whole(value: object) -> int:
    """Number of values in a record and what it holds."""
    if isinstance(value, Record):
        return sum(read_whole(value[name]) for name in value)
    return sum(map(read_whole, value)) if isinstance(value, list | tuple) else 1


@pytest.mark.parametrize("compressed", [False, True])
def test_variables_are_those_that_were_written(compressed: bool) -> None:
    content = written(VARIABLES, compressed)
    found, other = read_variables(content), loadmat(BytesIO(content))
    for name in ("numbers", "whole", "bytes", "single", "one"):
        np.testing.assert_array_equal(found[name], other[name])
    assert found["text"] == VARIABLES["text"]
    assert found["cells"][:2] == ["LASI", "a longer label"]
    np.testing.assert_array_equal(found["cells"][2], np.eye(2))
    (record,) = found["record"]
    assert record["name"] == "walk"
    assert record["inner"][0]["rate"] == [[100.0]]
    assert record["inner"][0]["empty"].size == 0
    assert [(one["x"].item(), one["y"]) for one in found["records"]] == [(1.0, "a"), (2.0, "b")]


def test_the_other_byte_order() -> None:
    """Written by hand: one 1 x 2 array of doubles."""
    name, numbers = b"q\0\0\0", np.array([3.0, -4.5], ">f8").tobytes()
    words = np.array([6, 8, 6, 0, 5, 8, 1, 2, (1 << 16) | 1], ">u4").tobytes() + name
    inner = words + np.array([9, 16], ">u4").tobytes() + numbers
    content = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x01\x00MI" + np.array([14, len(inner)], ">u4").tobytes() + inner
    np.testing.assert_array_equal(read_variables(content)["q"], [[3.0, -4.5]])


def test_an_object_of_a_class_beside_other_variables_is_nothing() -> None:
    """Written by hand, as MATLAB stores a table: flags, its name, how it is stored, its class; no dimensions."""
    small = b"".join(
        np.array([(len(text) << 16) | 1], "<u4").tobytes() + text.ljust(4, b"\0") for text in (b"tbl", b"MCOS")
    )
    inner = np.array([6, 8, 17, 0], "<u4").tobytes() + small
    inner += np.array([1, 5], "<u4").tobytes() + b"table".ljust(8, b"\0")
    whole = written({"numbers": np.eye(2)})
    found = read_variables(whole + np.array([14, len(inner)], "<u4").tobytes() + inner)
    assert list(found) == ["numbers", "tbl"]
    assert found["tbl"] is None
    assert found.record("tbl") is None
    np.testing.assert_array_equal(found["numbers"], np.eye(2))


@pytest.mark.slow
@pytest.mark.parametrize("compressed", [False, True])
def test_no_damage_ends_otherwise_than_in_a_sentence(compressed: bool) -> None:
    whole = written(VARIABLES, compressed)
    refused = 0
    for _ in range(2000):
        content = bytearray(whole[: RNG.integers(1, len(whole))] if RNG.random() < 0.3 else whole)
        for place in RNG.integers(0, len(content), 3):
            content[place] ^= 1 << int(RNG.integers(8))
        try:
            read_whole(read_variables(bytes(content)))
        except MatlabError:
            refused += 1
    assert refused > 500


@pytest.mark.parametrize(("size", "sentence"), [(1 << 22, "does not contain an array"), (1 << 28, "larger than any")])
def test_a_bomb_is_not_inflated(size: int, sentence: str) -> None:
    packed = zlib.compress(bytes(size), 9)
    content = written({})[:128] + np.array([15, len(packed)], "<u4").tobytes() + packed
    with pytest.raises(MatlabError, match=sentence):
        read_variables(content)


def test_nesting_has_an_end() -> None:
    deep: object = 1.0
    for _ in range(40):
        deep = {"d": deep}
    with pytest.raises(MatlabError, match="too deeply"):
        read_whole(read_variables(written({"v": deep})))


def test_what_nobody_asks_for_is_not_read() -> None:
    content = written(VARIABLES)
    at = content.index(np.float64(VARIABLES["numbers"][0, 0, 0]).tobytes()) - 8
    damaged = content[:at] + np.uint32(99).tobytes() + content[at + 4 :]  # numbers of an unknown type
    found = read_variables(damaged)
    assert found.record("record")["name"] == "walk"
    assert found.record("records") is None  # two
    assert found.record("numbers") is None
    with pytest.raises(MatlabError, match="unknown type"):
        found["numbers"]


def test_a_structure_without_fields_has_no_element() -> None:
    assert read_variables(written({"nothing": {}})).record("nothing") is None
