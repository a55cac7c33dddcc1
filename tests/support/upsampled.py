"""Markers as an export stores them at a higher rate than the cameras', often at that of the force plates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.interpolate import PchipInterpolator

from biodyn.conventions import FloatArray
from biodyn.io.formats.c3d.write import C3dContent, write_c3d
from biodyn.simulation import SimulatedTrial
from biodyn.simulation.files import analog_channels, trial_parameters

WAYS = ("repeats", "lines", "curves")


def between(positions: FloatArray, every: int, way: str) -> FloatArray:
    """(T * every, M, 3): repeats of each frame; lines or cubics between them, the last frame held where nothing follows."""
    if way == "repeats":
        return np.repeat(positions, every, axis=0)
    frames = np.arange(len(positions)) * every
    at = np.minimum(np.arange(len(positions) * every), frames[-1])
    result = np.full((len(at), *positions.shape[1:]), np.nan)
    for marker in range(positions.shape[1]):
        path = positions[:, marker]
        seen = np.isfinite(path[:, 0])
        if way == "lines":
            result[:, marker] = np.column_stack([np.interp(at, frames[seen], axis) for axis in path[seen].T])
        else:
            result[:, marker] = PchipInterpolator(frames[seen], path[seen])(at)
        low, high = at // every, np.minimum(-(-at // every), len(path) - 1)
        result[~(seen[low] & seen[high]), marker] = np.nan
    return result


def write_upsampled(path: Path, trial: SimulatedTrial, every: int, way: str, trimmed: int = 0) -> Path:
    """Write a trial with `every` frames to each measured one, in mm as single precision, without the first `trimmed` frames."""
    rate_hz = trial.options.rate_hz * every
    channels, labels, units = analog_channels(trial)
    whole = between((1e3 * trial.markers @ trial.options.R_LW.T).astype(np.float32).astype(float), every, way)
    samples = round(trial.options.analog_rate_hz / rate_hz)
    content = C3dContent(
        labels=list(trial.labels),
        positions=whole[trimmed:],
        rate_hz=rate_hz,
        first_frame=1 + trimmed,
        analog=channels[trimmed * samples :],
        analog_labels=labels,
        analog_units=units,
        parameters=trial_parameters(trial, True, ""),
    )
    write_c3d(path, content)
    return path
