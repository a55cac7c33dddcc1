"""A walk whose plates were stored as unsigned counts is analysed like the same walk in floats: no advice to turn a plate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.c3d_corpus import DEC, INTEL, MIPS, Kind, Trial, write_trial
from support.independent_reader import read_plainly

from biodyn.io.formats.c3d.header import read_header
from biodyn.trial.inspection import check_file
from biodyn.trial.run import run_trial

QUICK = {"uncertainty": {"compute": False}}

_WRITTEN_BY_THE_CORPUS = {
    "USED",
    "FRAMES",
    "DATA_START",
    "SCALE",
    "RATE",
    "LABELS",
    "OFFSET",
    "GEN_SCALE",
    "FORMAT",
    "DESCRIPTIONS",
}


def as_counts(path: Path, to: Path, kind: Kind) -> Path:
    """The recording as 16-bit counts around 32768."""
    plain, header = read_plainly(path), read_header(path)
    scale = np.maximum(np.abs(plain.analog).max(axis=0) / 30000.0, 1e-6)
    parameters: dict[str, Any] = {}
    for group, entries in header.groups.items():
        for name, entry in entries.items():
            if group in ("POINT", "ANALOG") and name in _WRITTEN_BY_THE_CORPUS:
                continue
            values, dims = entry["values"], entry["dims"]
            if values and isinstance(values[0], str):
                parameters[f"{group}:{name}"] = values if len(dims) > 1 else values[0]
            elif values:
                dtype = np.int16 if all(isinstance(v, int) for v in values) else float
                parameters[f"{group}:{name}"] = np.array(values, dtype=dtype).reshape(dims[::-1])
    trial = Trial(
        points=plain.points,
        labels=list(header.point_labels),
        rate_hz=plain.rate_hz,
        raw=np.round(plain.analog / scale) + 32768.0,
        offset=np.full(len(scale), 32768.0),
        scale=scale,
        point_scale=0.1,
        parameters=parameters,
    )
    return write_trial(to, trial, kind)


@pytest.mark.parametrize("processor", [INTEL, DEC, MIPS])
def test_the_same_walk_in_unsigned_counts(laboratory, tmp_path: Path, processor: int) -> None:
    kind = Kind(processor, is_float=False, unsigned=True)
    walk = as_counts(laboratory.walk, tmp_path / "walk.c3d", kind)
    expected, found = check_file(laboratory.walk), check_file(walk)
    assert found.lines[1:] == expected.lines[1:]  # the first names the file
    assert {d.code for d in found.diagnostics} <= {d.code for d in expected.diagnostics}


def test_its_torques(laboratory, walk_result, tmp_path: Path) -> None:
    """Steps of 0.1 mm, filtered at 6 Hz, move a body's acceleration by some mm/s2: half a newton, a fiftieth of a torque."""
    walk = as_counts(laboratory.walk, tmp_path / "walk.c3d", Kind(INTEL, is_float=False, unsigned=True))
    found = run_trial(walk, laboratory.static, settings=QUICK)
    for column in walk_result.joint_torques.select_dtypes("number").columns[1:]:
        a, b = walk_result.joint_torques[column].to_numpy(), found.joint_torques[column].to_numpy()
        both = np.isfinite(a) & np.isfinite(b)
        assert both.sum() > 0.95 * np.isfinite(a).sum()
        if both.any():
            assert np.abs(a - b)[both].max() < 0.02 * max(np.ptp(a[both]), 50.0), column
