"""Test the analog channels of a recording: labels, units, rate and values."""

from __future__ import annotations

from pathlib import Path

import ezc3d
import numpy as np
import pytest

import biodyn
from biodyn.errors import InputFileError
from biodyn.recording import AnalogSignals, Markers, Recording, StoredMotion

SAMPLES = Path(__file__).parents[2] / "sample_data"


def test_analog_channels_are_those_of_ezc3d() -> None:
    path = SAMPLES / "subject01" / "walk01.c3d"
    analog = biodyn.read(path).analog
    assert isinstance(analog, AnalogSignals)
    stored = ezc3d.c3d(str(path))
    group = stored["parameters"]["ANALOG"]
    assert list(analog.labels) == [label.strip() for label in group["LABELS"]["value"]]
    assert list(analog.units) == [unit.strip() for unit in group["UNITS"]["value"]]
    assert analog.rate_hz == pytest.approx(group["RATE"]["value"][0])
    np.testing.assert_allclose(analog.values, stored["data"]["analogs"][0].T, rtol=1e-6, atol=1e-9)
    first = analog.labels[0]
    np.testing.assert_array_equal(analog.channel(first), analog.values[:, 0])
    assert analog.time_s[1] == pytest.approx(1.0 / analog.rate_hz)
    with pytest.raises(KeyError, match="no analog channel"):
        analog.channel("nothing")


def test_a_format_without_analog_channels_says_so(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "walk.trc", "", StoredMotion(Markers(("A",), np.zeros((2, 1, 3)), 100.0)))
    with pytest.raises(InputFileError, match="analog channels"):
        _ = recording.analog
