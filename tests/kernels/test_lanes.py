"""The SIMD number type: its arithmetic is that of doubles, its sine and cosine are accurate everywhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from biodyn.kernels.jit import kernel
from biodyn.kernels.lanes import (
    WIDTH,
    LaneMemory,
    copy_from_frames,
    copy_to_frames,
    lanes_sine_cosine,
    load,
    load_value,
    store,
)


@kernel
def sines(angles, sine, cosine):
    """Fill sine and cosine of the flat angles, WIDTH at a time."""
    for at in range(0, angles.shape[0], WIDTH):
        s, c = lanes_sine_cosine(load(angles, at))
        store(sine, at, s)
        store(cosine, at, c)


@kernel
def arithmetic(a, b, result):
    """Fill result with an expression of every operator, of Lanes with Lanes and with floats."""
    x, y = load(a, 0), load_value(LaneMemory(b), 0)
    store(result, 0, -((x + y) * x - 2.0 * y) / (1.5 + x * 0.25))


@kernel
def copied(frames, there, memory):
    """Move all frames through lane memory."""
    for first in range(0, frames.shape[0], WIDTH):
        copy_from_frames(memory, frames, first)
        copy_to_frames(memory, there, first)


def in_units_of_last_place(found, exact):
    return np.abs(found - exact) / np.spacing(np.maximum(np.abs(exact), 1e-300))


def test_sine_and_cosine():
    rng = np.random.default_rng(0)
    near = np.arange(-64, 64) * (math.pi / 4)
    angles = np.concatenate([rng.uniform(-7, 7, 4096), rng.uniform(-1e5, 1e5, 4096), near, near + 1e-9, [0.0] * 8])
    sine, cosine = np.empty_like(angles), np.empty_like(angles)
    sines(angles, sine, cosine)
    # two units in the last place of one: what forces and positions, sums of many such numbers, can feel
    assert np.abs(sine - np.sin(angles)).max() < 4.5e-16
    assert np.abs(cosine - np.cos(angles)).max() < 4.5e-16
    small = np.abs(angles) < 0.7
    assert in_units_of_last_place(sine[small], np.sin(angles[small])).max() <= 2.0


def test_missing_stays_missing_in_its_lane():
    angles = np.zeros(WIDTH)
    angles[3] = np.nan
    sine, cosine = np.empty(WIDTH), np.empty(WIDTH)
    sines(angles, sine, cosine)
    assert np.isnan(sine[3])
    assert np.isnan(cosine[3])
    np.testing.assert_array_equal(np.delete(cosine, 3), 1.0)


def test_arithmetic_is_that_of_doubles():
    rng = np.random.default_rng(1)
    a, b, result = rng.normal(size=WIDTH), rng.normal(size=WIDTH), np.empty(WIDTH)
    arithmetic(a, b, result)
    expected = -((a + b) * a - 2.0 * b) / (1.5 + a * 0.25)
    np.testing.assert_allclose(result, expected, rtol=1e-14)  # products and sums may be fused


@pytest.mark.parametrize("columns", [0, 1, WIDTH - 1, WIDTH, WIDTH + 1, 3 * WIDTH - 1, 4 * WIDTH, 43, 9 * WIDTH])
def test_frames_survive_the_way_through_lane_memory(columns):
    for count in (0, 1, WIDTH - 1, WIDTH, WIDTH + 1, 3 * WIDTH + 2):
        frames = np.arange(float(count * columns)).reshape(count, columns)
        there = np.full_like(frames, np.nan)
        copied(frames, there, np.zeros(columns * WIDTH))
        np.testing.assert_array_equal(there, frames)


def test_lane_memory_holds_a_number_of_all_frames_side_by_side():
    for count in (3, 2 * WIDTH):
        frames = np.arange(count * 19.0).reshape(count, 19)
        memory = np.zeros(19 * WIDTH)
        copied(frames, np.empty_like(frames), memory)
        last = frames[np.minimum(np.arange(WIDTH) + (count - 1) // WIDTH * WIDTH, count - 1)]
        np.testing.assert_array_equal(memory.reshape(19, WIDTH), last.T)
