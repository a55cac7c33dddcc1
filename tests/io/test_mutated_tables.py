"""Damaged text files never crash the reader: what `check` says of them is findings, or one sentence."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from simulator.trc_writer import write_trc
from support.opensim_tables import write_table
from support.stick_person import LABELS, person_mm

from biodyn.errors import BiodynError
from biodyn.io import read
from biodyn.recording import Markers
from biodyn.trial.inspection import check_file

_WORDS = (
    b"nan",
    b"-1.#IND",
    b"1e308",
    b"-1e-320",
    b"inf",
    b"",
    b"x",
    b"\0",
    b"\t\t\t",
    b"\n\n",
    b"\xff\xfe",
    b"1,5",
    b"endheader",
    b"0",
)


def _flip(data: bytearray, rng: np.random.Generator) -> None:
    for at in rng.integers(0, len(data), int(rng.integers(1, 6))):
        data[at] ^= 1 << int(rng.integers(8))


def _replace(data: bytearray, rng: np.random.Generator) -> None:
    at, length = int(rng.integers(len(data))), int(rng.integers(0, 12))
    data[at : at + length] = _WORDS[int(rng.integers(len(_WORDS)))]


def _cut(data: bytearray, rng: np.random.Generator) -> None:
    del data[int(rng.integers(len(data))) :]


def _swap_lines(data: bytearray, rng: np.random.Generator) -> None:
    lines = bytes(data).split(b"\n")
    a, b = (int(k) for k in rng.integers(0, len(lines), 2))
    lines[a], lines[b] = lines[b], lines[a]
    data[:] = b"\n".join(lines)


def _drop_a_column(data: bytearray, rng: np.random.Generator) -> None:
    lines = bytes(data).split(b"\n")
    row = int(rng.integers(len(lines)))
    lines[row] = lines[row].rpartition(b"\t")[0] or lines[row].rpartition(b",")[0]
    data[:] = b"\n".join(lines)


def _repeat(data: bytearray, rng: np.random.Generator) -> None:
    at = int(rng.integers(len(data)))
    data[at:at] = bytes(data[at : at + 40]) * int(rng.integers(1, 20))


DAMAGES: tuple[Callable[[bytearray, np.random.Generator], None], ...] = (
    _flip,
    _replace,
    _cut,
    _swap_lines,
    _drop_a_column,
    _repeat,
)


def _sound_files(folder: Path) -> list[Path]:
    """A TRC with its forces, coordinates, a spreadsheet: all of twelve frames."""
    points = person_mm(12) / 1000.0
    write_trc(folder / "walk.trc", Markers(tuple(LABELS), points, 100.0))
    times = np.arange(12) / 100.0
    forces = [f"{side}_ground_force_{what}{axis}" for side in "rl" for what in "vp" for axis in "xyz"]
    loads = np.tile([5.0, 2.0, 400.0, 0.1, 0.1, 0.0], (12, 2))
    write_table(folder / "walk_grf.mot", forces, times, loads)
    angles = write_table(folder / "ik.sto", ["pelvis_tilt", "pelvis_tx", "knee_angle_r"], times, np.ones((12, 3)))
    names = ",".join(f"{label}_{axis}" for label in LABELS for axis in "XYZ")
    rows = "\n".join(
        ",".join(f"{x:.5g}" for x in (t, *row)) for t, row in zip(times, points.reshape(12, -1), strict=True)
    )
    (folder / "walk2.csv").write_text(f"time,{names}\n{rows}\n")
    return [folder / "walk.trc", folder / "walk_grf.mot", angles, folder / "walk2.csv"]


def _require_no_crash(folder: Path, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    files = _sound_files(folder)
    outcomes: Counter[str] = Counter()
    for number in range(count):
        path = files[number % len(files)]
        sound = path.read_bytes()
        data = bytearray(sound)
        DAMAGES[int(rng.integers(len(DAMAGES)))](data, rng)
        path.write_bytes(data)
        asked = (
            files[0] if path.name == "walk_grf.mot" and number % 8 < 4 else path
        )  # as the forces of the walk, or by itself
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert check_file(asked).lines if number % 20 == 0 else read(asked)
            outcomes["read"] += 1
        except BiodynError as error:
            outcomes["refused" if "\n" not in error.message else "refused in several lines"] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, number {number} ({path.name}): {bytes(data)!r}") from error
        path.write_bytes(sound)
    assert outcomes["refused in several lines"] == 0
    # void if the damage hit nothing or everything
    assert outcomes["read"] > 0.1 * count
    assert outcomes["refused"] > 0.1 * count


def test_sixty_damaged_tables(tmp_path: Path) -> None:
    _require_no_crash(tmp_path, 60, seed=3)


@pytest.mark.slow
def test_four_hundred_damaged_tables(tmp_path: Path) -> None:
    _require_no_crash(tmp_path, 400, seed=5)
