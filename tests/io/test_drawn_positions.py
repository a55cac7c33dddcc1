"""Straight lines that software drew into gaps, and smooth motion at a high rate that is none."""

from __future__ import annotations

import numpy as np
import pytest

from biodyn.io.drawn_positions import without_drawn

SECONDS = 4.0


def stepping(rate_hz: float) -> np.ndarray:
    """(T, 1, 3) m: a marker that swings hard for 0.3 s and glides nearly evenly for 0.1 s, stored as single precision in mm."""
    fine = np.arange(round(SECONDS * 10_000)) / 10_000
    phase = fine % 0.4
    acceleration = np.where(phase < 0.3, 30.0 * np.sin(2.0 * np.pi * phase / 0.15), 0.25)
    place = np.cumsum(np.cumsum(acceleration - acceleration.mean())) / 10_000**2 + 0.6 * fine
    x = np.interp(np.arange(round(SECONDS * rate_hz)) / rate_hz, fine, place)
    path = np.column_stack([x - x.mean(), 0.3 * x, 0.1 + 0.05 * np.sin(x)])
    return (1e3 * path[:, None]).astype(np.float32).astype(float) / 1e3


@pytest.mark.parametrize("rate_hz", [100.0, 250.0, 500.0, 1000.0])
def test_smooth_motion_is_no_line_at_any_rate(rate_hz):
    positions = stepping(rate_hz)
    found, notes = without_drawn(("T10",), positions, rate_hz)
    assert notes == ()
    np.testing.assert_array_equal(found, positions)


@pytest.mark.parametrize("rate_hz", [100.0, 200.0])
def test_a_line_between_two_frames_is_not_seen(rate_hz):
    positions = stepping(rate_hz)
    first, stop = round(1.0 * rate_hz), round(1.2 * rate_hz)
    share = np.linspace(0.0, 1.0, stop - first + 1)[1:-1, None]
    ends = positions[first, 0], positions[stop, 0]
    positions[first + 1 : stop, 0] = ((1 - share) * ends[0] + share * ends[1]).astype(np.float32)
    found, notes = without_drawn(("T10",), positions, rate_hz)
    assert [note.code for note in notes] == ["gap-drawn"]
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(found[:, 0, 0])), np.arange(first + 1, stop))
